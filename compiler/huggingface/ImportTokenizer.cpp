//===- ImportTokenizer.cpp - a folder's tokenizer for the spec -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tokenizer.json is copied. Older files become what the runtime reads: a pair of vocabulary and merges, or
// a list of word pieces, a tokenizer.json; a SentencePiece model one with a file of ids. What stands around a
// text becomes `source_start` and `source_end`.

#include "attnrt/attnrt.h"
#include "compiler/huggingface/ImportJob.h"
#include "compiler/huggingface/Languages.h"
#include "compiler/huggingface/TokenizerFile.h"
#include "compiler/spec/Keys.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <sentencepiece_processor.h>

namespace fs = std::filesystem;
using nlohmann::json;

namespace attnc {
namespace {

/// A token as a comment, where it is fit for one.
std::string commentOf(const std::string &token) {
  bool isPlain = std::all_of(token.begin(), token.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  return isPlain ? token : std::string();
}

class TokenizerImporter {
public:
  TokenizerImporter(ImportJob &job, Config &config) : job(job), config(config) {}

  void run();

private:
  bool has(const char *name) const { return fs::is_regular_file(job.folder / name); }

  void importJson(const fs::path &path, const json &tokenizer);
  void importMarian();
  void importM2M();
  void importSentencePiece(const char *name);
  void importFairseqPieces(const char *name, const LanguageStyle &style);
  void addFileTokens(TokenIds &added);
  void importBytePairs();
  void importWordPieces();

  void writePieces(const std::string &key, const std::string &name, const TokenIds &pieces,
                   const TokenIds &added);
  void setKind(const std::string &key, const char *kind, const std::string &file) {
    job.spec.set(key + "kind", kind);
    job.spec.setText(key + "file", file);
  }
  void setAround(const AroundText &around);
  /// One token's id, which must be there.
  int64_t require(const TokenIds &ids, const std::string &token, const fs::path &path) const;
  void setUnknown(const TokenIds &ids) {
    if (auto found = ids.find("<unk>"); found != ids.end())
      job.spec.set("model.tokens.unknown", found->second, "<unk>");
  }
  const LanguageStyle *languageStyle();
  void importLanguages(const TokenIds &ids, const fs::path &path);

  ImportJob &job;
  Config &config; // tokenizer_config.json
};

int64_t TokenizerImporter::require(const TokenIds &ids, const std::string &token,
                                   const fs::path &path) const {
  auto found = ids.find(token);
  if (found == ids.end())
    throw TokenizerError{path.string() + ": lacks the token " + quote(token)};
  return found->second;
}

/// A decoder that stands alone may put one token before its prompt.
void TokenizerImporter::setAround(const AroundText &around) {
  if (job.config.text("model_type") != "gpt2") {
    job.spec.set("model.tokens.source_start", listText(around.before));
    job.spec.set("model.tokens.source_end", listText(around.after));
  } else if (around.before.size() > 1 || !around.after.empty()) {
    throw TokenizerError{
        "the tokenizer puts more than one token around a prompt; a spec takes one before it"};
  } else if (!around.before.empty()) {
    job.spec.set("model.tokens.start", around.before.front());
  }
}

void TokenizerImporter::run() {
  const char *pieces = nullptr;
  for (const char *name : {"spiece.model", "sentencepiece.bpe.model", "sentencepiece.model"})
    pieces = !pieces && has(name) ? name : pieces;
  if (has("source.spm"))
    importMarian();
  else if (has("tokenizer.json"))
    importJson(job.folder / "tokenizer.json", readJsonFile(job.folder / "tokenizer.json"));
  else if (has("vocab.json") && has("merges.txt"))
    importBytePairs();
  else if (has("vocab.json") && pieces)
    importM2M();
  else if (pieces)
    importSentencePiece(pieces);
  else if (has("vocab.txt"))
    importWordPieces();
  else
    job.warnings.push_back(std::string("no tokenizer was found: the spec takes token ids") +
                           (job.hasMaskToken ? ", and nothing tells 'tokens.mask'" : ""));
}

const LanguageStyle *TokenizerImporter::languageStyle() {
  return findLanguageStyle(config.text("tokenizer_class", job.config.text("tokenizer_class")));
}

/// The source's language goes around the source, the target's begins the target.
void TokenizerImporter::importLanguages(const TokenIds &ids, const fs::path &path) {
  const LanguageStyle *style = languageStyle();
  const ImportLanguages &wanted = job.languages;
  if (!style && (!wanted.source.empty() || !wanted.target.empty()))
    throw TokenizerError{path.string() + ": this tokenizer's class has no languages"};
  if (!style)
    return;
  auto tokenOf = [&](const std::string &code) {
    return ids.contains(code) ? code : std::string(style->around) + code + std::string(style->around);
  };
  std::string languages;
  for (const std::string &code : wordsOf(style->codes))
    if (auto found = ids.find(tokenOf(code)); found != ids.end())
      languages += (languages.empty() ? "" : ", ") + ("\"" + code + "\": ") + std::to_string(found->second);
  job.spec.set("model.tokens.languages", "{" + languages + "}", "which a request may choose");
  std::string source = wanted.source.empty() ? config.text("src_lang") : wanted.source;
  std::string target = wanted.target.empty() ? config.text("tgt_lang") : wanted.target;
  if (!source.empty()) {
    int64_t language = require(ids, tokenOf(source), path), end = require(ids, "</s>", path);
    bool comesFirst = style->comesFirst && !config.boolean("legacy_behaviour", false);
    setAround(comesFirst ? AroundText{{language}, {end}} : AroundText{{}, {end, language}});
  } else {
    job.warnings.push_back("no source language is known: --source-language names one");
  }
  if (!target.empty())
    job.spec.set(style->startsTarget ? "model.tokens.start" : "model.decoding.forced_bos_token_id",
                 require(ids, tokenOf(target), path), commentOf(tokenOf(target)));
  else if (!job.isFirstTokenKnown && !style->startsTarget)
    job.warnings.push_back("no target language is known: --target-language names one");
}

void TokenizerImporter::importJson(const fs::path &path, const json &tokenizer) {
  TokenIds ids = tokensOf(tokenizer, path);
  setAround(postProcessing(tokenizer, path));
  setKind("model.tokenizer.", "tokenizer_json", "tokenizer.json");
  if (fs::exists(path))
    job.copies.push_back(path);
  if (job.hasMaskToken)
    job.spec.set("model.tokens.mask", require(ids, config.text("mask_token", "[MASK]"), path), "mask_token");
  importLanguages(ids, path);
}

void TokenizerImporter::writePieces(const std::string &key, const std::string &name, const TokenIds &pieces,
                                    const TokenIds &added) {
  job.spec.setText(key + "vocabulary", name);
  job.texts[name] = json{{"pieces", pieces}, {"added", added}}.dump(1) + "\n";
}

/// Tokenizers of OPUS-MT: one model a side, and ids that may be common to both. A text may begin with the
/// target's language, as in `>>fra<<`.
void TokenizerImporter::importMarian() {
  bool isSeparate = config.boolean("separate_vocabs", false);
  for (std::string side : {"source", "target"}) {
    bool hasOwn = isSeparate && side == "target";
    fs::path path = job.folder / (hasOwn ? "target_vocab.json" : "vocab.json");
    TokenIds pieces = readTokenIds(readJsonFile(path), path), added;
    for (const auto &[token, id] : pieces)
      if ((token.starts_with(">>") && token.ends_with("<<")) || token == "</s>" || token == "<unk>" ||
          token == "<pad>")
        added[token] = id;
    std::string key = "model.tokenizer." + side + ".";
    setKind(key, "sentencepiece", side + ".spm");
    job.copies.push_back(job.folder / (side + ".spm"));
    writePieces(key, isSeparate ? side + "-pieces.json" : "pieces.json", pieces, added);
    if (side == "source")
      setAround({{}, {require(pieces, "</s>", path)}});
    if (side == "target")
      setUnknown(pieces);
    else if (isSeparate)
      job.spec.set("model.tokens.source_unknown", require(pieces, "<unk>", path), "<unk>");
  }
}

void TokenizerImporter::importM2M() {
  fs::path path = job.folder / "vocab.json";
  TokenIds pieces = readTokenIds(readJsonFile(path), path), added;
  int64_t next = int64_t(pieces.size());
  bool isWmt21 = config.text("language_codes", "m2m100") == "wmt21";
  const LanguageStyle &style = *findLanguageStyle("M2M100Tokenizer");
  for (const std::string &language : wordsOf(isWmt21 ? wmt21Languages : style.codes))
    added["__" + language + "__"] = next++;
  for (const char *special : {"<s>", "<pad>", "</s>", "<unk>"})
    added[special] = require(pieces, special, path);
  const char *model = has("sentencepiece.bpe.model") ? "sentencepiece.bpe.model" : "spiece.model";
  setKind("model.tokenizer.", "sentencepiece", model);
  job.copies.push_back(job.folder / model);
  writePieces("model.tokenizer.", "pieces.json", pieces, added);
  setUnknown(pieces);
  setAround({{}, {require(pieces, "</s>", path)}});
  importLanguages(added, path);
}

/// The runtime looks first at what the library trusts.
void loadPieces(sentencepiece::SentencePieceProcessor &processor, const fs::path &path) {
  const std::string folder = path.parent_path().string();
  const json description = {{"kind", "sentencepiece"}, {"file", path.filename().string()}};
  if (const std::string text = description.dump();
      attnrt_check_tokenizer(folder.c_str(), text.size(), text.data(), INT32_MAX) != ATTNRT_OK)
    throw TokenizerError{attnrt_last_error()};
  if (auto status = processor.Load(path.string()); !status.ok())
    throw TokenizerError{path.string() + ": is not a SentencePiece model: " + status.ToString()};
}

/// Tokens of tokenizer_config.json: where it numbers them, it is right.
void TokenizerImporter::addFileTokens(TokenIds &added) {
  fs::path path = job.folder / "tokenizer_config.json";
  json file = fs::exists(path) ? readJsonFile(path) : json::object();
  if (auto tokens = file.find("added_tokens_decoder"); tokens != file.end() && tokens->is_object())
    for (const auto &[id, token] : tokens->items()) {
      std::optional<int64_t> number = parseInteger(id);
      if (!number || !token.is_object() || !token.contains("content") || !token["content"].is_string())
        throw TokenizerError{path.string() + ": 'added_tokens_decoder' must give each id its 'content'"};
      added[token["content"].get<std::string>()] = *number;
    }
}

/// mBART and NLLB number pieces as fairseq does: four tokens of its own first, then those of the model but
/// its first three, then languages and the mask.
void TokenizerImporter::importFairseqPieces(const char *name, const LanguageStyle &style) {
  fs::path path = job.folder / name;
  sentencepiece::SentencePieceProcessor processor;
  loadPieces(processor, path);
  TokenIds pieces, added = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
  for (int id = 3; id < processor.GetPieceSize(); ++id)
    pieces[processor.IdToPiece(id)] = id + 1;
  pieces["<unk>"] = 3;
  int64_t next = processor.GetPieceSize() + 1;
  for (const std::string &language : wordsOf(style.codes))
    added[language] = next++;
  added["<mask>"] = next;
  addFileTokens(added);
  setKind("model.tokenizer.", "sentencepiece", name);
  job.copies.push_back(path);
  writePieces("model.tokenizer.", "pieces.json", pieces, added);
  setUnknown(pieces);
  setAround({{}, {require(added, "</s>", path)}});
  importLanguages(added, path);
}

/// T5, mT5 and Pegasus number their extra tokens by rule.
void TokenizerImporter::importSentencePiece(const char *name) {
  fs::path path = job.folder / name;
  std::string type = job.config.text("model_type");
  bool isT5 = type == "t5" || type == "mt5", isPegasus = type == "pegasus";
  if (const LanguageStyle *style = languageStyle(); style && !isT5 && !isPegasus)
    return importFairseqPieces(name, *style);
  if (!isT5 && !isPegasus)
    throw TokenizerError{path.string() +
                         ": this file does not say which ids its pieces have; 'tokenizer_class' in "
                         "tokenizer_config.json (MBartTokenizer, MBart50Tokenizer, NllbTokenizer) or a "
                         "tokenizer.json does: AutoTokenizer.from_pretrained(folder).save_pretrained(folder) "
                         "of transformers writes both"};
  sentencepiece::SentencePieceProcessor processor;
  loadPieces(processor, path);
  TokenIds pieces, added;
  int64_t offset = isPegasus ? config.integer("offset", {0, 1 << 20}, 103) : 0,
          size = processor.GetPieceSize();
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    bool isControl = processor.IsControl(id) || processor.IsUnknown(id);
    (isControl ? added : pieces)[processor.IdToPiece(id)] = isPegasus && id < 2 ? id : id + offset;
    if (processor.IsUnknown(id))
      pieces[processor.IdToPiece(id)] = id + offset;
  }
  if (isPegasus) {
    added["<mask_1>"] = 2;
    added["<mask_2>"] = 3;
    for (int64_t i = 2; i < offset; ++i)
      added["<unk_" + std::to_string(i) + ">"] = i + 2;
  }
  int64_t extra = isT5 ? config.integer("extra_ids", {0, 1 << 20}, 100) : 0;
  for (int64_t i = 0; i < extra; ++i)
    added["<extra_id_" + std::to_string(i) + ">"] = size + extra - 1 - i;
  setKind("model.tokenizer.", "sentencepiece", name);
  job.copies.push_back(path);
  writePieces("model.tokenizer.", "pieces.json", pieces, added);
  setUnknown(pieces);
  setAround({{}, {require(added, "</s>", path)}});
}

json addedToken(const std::string &content, int64_t id, bool stripsLeft) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", stripsLeft},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// vocab.json and merges.txt of BART, and of GPT-2, which puts nothing around a text.
void TokenizerImporter::importBytePairs() {
  fs::path path = job.folder / "vocab.json";
  TokenIds vocabulary = readTokenIds(readJsonFile(path), path);
  json merges = json::array(), added = json::array();
  for (const std::string &line : readLines(job.folder / "merges.txt"))
    if (!line.empty() && !line.starts_with("#version"))
      merges.push_back(line);
  bool isGpt2 = job.config.text("model_type") == "gpt2";
  for (const char *special :
       isGpt2 ? std::vector{"<|endoftext|>"} : std::vector{"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    if (auto found = vocabulary.find(special); found != vocabulary.end())
      added.push_back(addedToken(special, found->second, found->first == "<mask>"));
  json byteLevel = {{"type", "ByteLevel"},
                    {"add_prefix_space", config.boolean("add_prefix_space", false)},
                    {"trim_offsets", true},
                    {"use_regex", true}};
  json around = byteLevel;
  if (!isGpt2)
    around = {{"type", "RobertaProcessing"},
              {"cls", {"<s>", require(vocabulary, "<s>", path)}},
              {"sep", {"</s>", require(vocabulary, "</s>", path)}},
              {"trim_offsets", true},
              {"add_prefix_space", byteLevel["add_prefix_space"]}};
  json tokenizer = {{"version", "1.0"},
                    {"added_tokens", added},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", byteLevel},
                    {"post_processor", around},
                    {"decoder", byteLevel},
                    {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
  job.texts["tokenizer.json"] = tokenizer.dump(1) + "\n";
  importJson(job.folder / "tokenizer.json", tokenizer);
}

/// vocab.txt of BERT.
void TokenizerImporter::importWordPieces() {
  fs::path path = job.folder / "vocab.txt";
  TokenIds vocabulary;
  for (const std::string &line : readLines(path))
    vocabulary.emplace(line, int64_t(vocabulary.size()));
  json added = json::array();
  for (const char *special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    added.push_back(addedToken(special, require(vocabulary, special, path), false));
  json normalizer = {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", config.boolean("tokenize_chinese_chars", true)},
                     {"strip_accents", nullptr},
                     {"lowercase", config.boolean("do_lower_case", true)}};
  if (config.has("strip_accents"))
    normalizer["strip_accents"] = config.boolean("strip_accents", false);
  json tokenizer = {{"version", "1.0"},
                    {"added_tokens", added},
                    {"normalizer", normalizer},
                    {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                    {"post_processor",
                     {{"type", "BertProcessing"},
                      {"cls", {"[CLS]", vocabulary["[CLS]"]}},
                      {"sep", {"[SEP]", vocabulary["[SEP]"]}}}},
                    {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                    {"model",
                     {{"type", "WordPiece"},
                      {"unk_token", "[UNK]"},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", vocabulary}}}};
  job.texts["tokenizer.json"] = tokenizer.dump(1) + "\n";
  importJson(job.folder / "tokenizer.json", tokenizer);
}

} // namespace

void importTokenizer(ImportJob &job) {
  ConfigFile file;
  file.read((job.folder / "tokenizer_config.json").string(), /*isOptional=*/true);
  Config config = file.top();
  try {
    TokenizerImporter(job, config).run();
  } catch (const TokenizerError &error) {
    job.errors.push_back(error.message);
  }
  if (file.hasErrors()) {
    std::ostringstream messages;
    file.print(messages);
    job.errors.push_back(messages.str());
  }
}

} // namespace attnc
