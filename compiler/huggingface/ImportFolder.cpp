//===- ImportFolder.cpp - a Hugging Face folder to a spec ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses the family, writes the files, and reads the spec back: what was written is known to compile.

#include "compiler/huggingface/ImportFolder.h"
#include "compiler/huggingface/ImportJob.h"
#include "compiler/spec/CheckSpec.h"
#include "compiler/spec/ReadSpec.h"
#include "compiler/spec/Words.h"

#include "attnrt/attnrt.h"
#include "nlohmann/json.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>

namespace fs = std::filesystem;

namespace attnc {
namespace {

struct Family {
  std::string_view type; // the config's model_type
  void (*import)(ImportJob &job);
};

constexpr Family families[] = {
    {"bart", importBart},    {"mbart", importBart},
    {"marian", importBart},  {"pegasus", importBart},
    {"m2m_100", importBart}, {"bert", importBert},
    {"t5", importT5},        {"mt5", importT5},
    {"gpt2", importGpt2},    {"encoder-decoder", importBertPair},
};

const Family *findFamily(Config &config) {
  std::string type = config.text("model_type"), known;
  for (const Family &family : families) {
    if (family.type == type)
      return &family;
    known += (known.empty() ? "" : ", ") + std::string(family.type);
  }
  config.reject("model_type", "the families that can be imported are " + known);
  return nullptr;
}

/// A folder that gets new files. They go again unless they are kept; what is there already is left alone.
class OutputFolder {
public:
  explicit OutputFolder(const std::string &path) : folder(path) {}
  OutputFolder(const OutputFolder &) = delete;
  OutputFolder &operator=(const OutputFolder &) = delete;
  ~OutputFolder() {
    std::error_code ignored;
    if (!isKept)
      for (auto path = made.rbegin(); path != made.rend(); ++path)
        fs::remove(*path, ignored);
  }

  /// A file of the folder itself stays where it is.
  void addCopy(const fs::path &from) {
    std::error_code ignored;
    if (!fs::equivalent(from, folder / from.filename(), ignored))
      files.push_back({from.filename(), from, {}});
  }
  void addText(const fs::path &name, const std::string &text) { files.push_back({name, {}, text}); }

  /// Whether each file that was added is new. A link is there, wherever it leads.
  bool isFree(std::ostream &messages) const;
  /// Makes the folder where there is none, and the files.
  void write();
  void keep() { isKept = true; }
  fs::path spec() const { return folder / "model.yaml"; }

private:
  struct NewFile {
    fs::path name;
    fs::path from;    // what it is a copy of; else it holds
    std::string text; // this
  };

  void makeFolder(const fs::path &path);
  void makeFile(const fs::path &path);

  fs::path folder;
  std::vector<NewFile> files;
  std::vector<fs::path> made;
  bool isKept = false;
};

class Importer {
public:
  Importer(const ImportOptions &options, std::ostream &messages) : options(options), messages(messages) {}

  bool run() { return readSource() && describe() && write(); }

private:
  bool readSource();
  bool describe();
  bool write();
  bool check(const fs::path &spec);
  std::optional<Diagnostic> originOf(Location where);
  void printWithOrigins(const Diagnostics &found);
  void printErrorsOfWeights(const Diagnostics &found);
  bool checkTokenizers(const Spec &spec);
  void warnOfUnusedTensors(const Spec &spec);

  const ImportOptions &options;
  std::ostream &messages;
  ConfigFile configFile, generationFile;
  const Family *family = nullptr;
  std::unique_ptr<WeightFiles> weights;
  std::string specText;
  std::vector<fs::path> copies;             // besides the weights
  std::map<std::string, std::string> texts; // and model.yaml
  std::set<std::string> passedOver;         // tensors
};

} // namespace

bool OutputFolder::isFree(std::ostream &messages) const {
  bool isFree = true;
  for (const NewFile &file : files)
    if (fs::path path = folder / file.name; fs::symlink_status(path).type() != fs::file_type::not_found) {
      messages << path.string() << ": error: it is there already; move it away first\n";
      isFree = false;
    }
  return isFree;
}

void OutputFolder::makeFolder(const fs::path &path) {
  if (path.empty() || fs::is_directory(path))
    return;
  makeFolder(path.parent_path());
  if (fs::create_directory(path))
    made.push_back(path);
}

/// Fails where the file has come to be there meanwhile.
void OutputFolder::makeFile(const fs::path &path) {
  std::FILE *file = std::fopen(path.c_str(), "wbx");
  if (!file)
    throw fs::filesystem_error("cannot be made", path, std::error_code(errno, std::generic_category()));
  std::fclose(file);
  made.push_back(path);
}

void OutputFolder::write() {
  makeFolder(folder);
  for (const NewFile &file : files) {
    fs::path path = folder / file.name;
    makeFile(path);
    if (!file.from.empty()) {
      fs::copy_file(file.from, path, fs::copy_options::overwrite_existing);
      continue;
    }
    std::ofstream out(path, std::ios::binary);
    out << file.text;
    if (!out.flush())
      throw fs::filesystem_error("cannot be written", path, std::make_error_code(std::errc::io_error));
  }
}

bool Importer::readSource() {
  fs::path folder = options.source;
  configFile.read((folder / "config.json").string(), /*isOptional=*/false);
  generationFile.read((folder / "generation_config.json").string(), /*isOptional=*/true);
  if (!configFile.hasErrors()) {
    Config config = configFile.top();
    family = findFamily(config); // before the weights, which may have to be converted first
  }
  configFile.print(messages);
  generationFile.print(messages);
  if (configFile.hasErrors() || generationFile.hasErrors())
    return false;
  std::string error;
  weights = WeightFiles::open(options.source, error);
  if (!weights)
    messages << error << "\n";
  if (!weights && fs::exists(folder / "pytorch_model.bin"))
    messages << "note: pytorch_model.bin cannot be read: save the model with safetensors first\n";
  return weights != nullptr;
}

bool Importer::describe() {
  Config config = configFile.top(), generation = generationFile.top();
  ImportJob job{
      options.source, config, generation, *weights, {options.sourceLanguage, options.targetLanguage}};
  job.spec.setText("weights.file", fs::path(weights->paths().front()).filename().string());
  passOverBookkeeping(config);
  passOverBookkeeping(generation);
  if (config.has("quantization_config"))
    config.reject("quantization_config", "weights that are quantized cannot be read");
  family->import(job);
  importTokenizer(job);
  config.warnOfUnread();
  generation.warnOfUnread();
  configFile.print(messages);
  generationFile.print(messages);
  specText =
      "# Made by attnc import from a model of Hugging Face's family '" + config.text("model_type") +
      "'. Yours to edit: docs/yaml-reference.md explains\n# every key; keys that have their default are left "
      "out. Names after # are those of config.json.\n" +
      job.spec.print();
  for (const std::string &warning : job.warnings)
    messages << "warning: " << warning << "\n";
  for (const std::string &error : job.errors)
    messages << "error: " << error << "\n";
  copies = std::move(job.copies);
  texts = std::move(job.texts);
  passedOver = std::move(job.passedOver);
  return !configFile.hasErrors() && !generationFile.hasErrors() && job.errors.empty();
}

/// Whether the runtime can read the tokenizers.
bool Importer::checkTokenizers(const Spec &spec) {
  const ModelSpec &model = *spec.model;
  for (auto [tokenizer, vocabulary] : {std::pair(&model.sourceTokenizer, &model.vocabulary.source),
                                       std::pair(&model.targetTokenizer, &model.vocabulary.target)}) {
    if (*tokenizer->kind == TokenizerKind::Ids || !vocabulary->given)
      continue;
    std::string kind = *tokenizer->kind == TokenizerKind::TokenizerJson ? "tokenizer_json" : "sentencepiece";
    nlohmann::json description = {{"kind", kind}, {"file", *tokenizer->file}};
    if (!tokenizer->vocabulary->empty())
      description["vocabulary"] = *tokenizer->vocabulary;
    std::string text = description.dump();
    if (attnrt_check_tokenizer(options.output.c_str(), text.size(), text.data(), int32_t(**vocabulary)) ==
        ATTNRT_OK)
      continue;
    messages << "error: " << attnrt_last_error() << "\n";
    return false;
  }
  return true;
}

/// Tensors that nothing reads may be a part of the network that the config does not tell of.
void Importer::warnOfUnusedTensors(const Spec &spec) {
  std::vector<std::string> names;
  for (const std::string &name : unusedTensors(spec, *weights))
    if (!passedOver.contains(name))
      names.push_back(quote(name));
  if (!names.empty())
    messages << "warning: nothing reads these tensors of the weights: " << listed(names) << "\n";
}

/// Where in the source a line of the spec, `key: value # comment`, comes from: the comment's first word is a
/// key of the source, or the key is the same there.
std::optional<Diagnostic> Importer::originOf(Location where) {
  std::istringstream lines(specText);
  std::string line;
  for (unsigned i = 0; i < where.line; ++i)
    std::getline(lines, line);
  auto wordAt = [&](size_t begin) {
    begin = std::min(line.find_first_not_of(' ', begin), line.size());
    return line.substr(begin, line.find_first_of(" :", begin) - begin);
  };
  size_t comment = line.find(" # ");
  for (const std::string &key : {comment == line.npos ? std::string() : wordAt(comment + 3), wordAt(0)})
    for (ConfigFile *file : {&generationFile, &configFile})
      if (Location place = file->top().placeOf(key); place.line)
        return Diagnostic{Severity::Note, file->path(), place, "it comes from " + quote(key)};
  return std::nullopt;
}

/// Prints what is wrong with a spec that is not kept, with the places in the source that it comes from.
void Importer::printWithOrigins(const Diagnostics &found) {
  Diagnostics diagnostics;
  diagnostics.setSource(found.file(), specText);
  for (const Diagnostic &one : found.all()) {
    diagnostics.report(one);
    if (std::optional<Diagnostic> origin = originOf(one.where); origin && one.severity == Severity::Error)
      diagnostics.report(*origin);
  }
  diagnostics.print(messages);
  messages << found.file() << ": note: after these errors it is not kept\n";
}

/// Prints what is wrong with the weights, at the file in the source: neither its copy nor the spec is kept. A
/// tensor of which several weights are parts is told once.
void Importer::printErrorsOfWeights(const Diagnostics &found) {
  Diagnostics diagnostics;
  std::set<std::string> told;
  for (const Diagnostic &one : found.all())
    if (one.severity == Severity::Error && told.insert(one.message).second)
      diagnostics.report({one.severity, weights->paths().front(), {}, one.message});
  diagnostics.print(messages);
}

/// Whether what was written can be compiled.
bool Importer::check(const fs::path &spec) {
  Diagnostics diagnostics;
  std::optional<Spec> loaded = loadSpec(spec.string(), {}, diagnostics);
  if (!loaded) {
    Diagnostics others;
    bool isSpecGood = loadSpec(spec.string(), {"random:1"}, others).has_value();
    if (isSpecGood)
      printErrorsOfWeights(diagnostics);
    else
      printWithOrigins(diagnostics);
    return false;
  }
  diagnostics.print(messages);
  warnOfUnusedTensors(*loaded);
  return checkTokenizers(*loaded);
}

bool Importer::write() {
  OutputFolder output(options.output);
  for (const std::string &path : weights->paths())
    output.addCopy(path);
  for (const fs::path &path : copies)
    output.addCopy(path);
  for (const auto &[name, text] : texts)
    output.addText(name, text);
  output.addText("model.yaml", specText);
  if (!output.isFree(messages))
    return false;
  output.write();
  if (!check(output.spec()))
    return false;
  output.keep();
  return true;
}

bool importFolder(const ImportOptions &options, std::ostream &messages) {
  try {
    return Importer(options, messages).run();
  } catch (const std::exception &error) { // a disk that is full, a folder that cannot be written
    messages << error.what() << "\n";
    return false;
  }
}

} // namespace attnc
