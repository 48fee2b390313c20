//===- TokenizerFile.cpp - files that tokenizers are saved in --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/TokenizerFile.h"
#include "compiler/spec/Words.h"

#include <fstream>

namespace fs = std::filesystem;
using nlohmann::json;

namespace attnc {

static std::string readText(const fs::path &path) {
  constexpr uintmax_t largestFile = 64 << 20; // four times the largest that is known
  std::error_code failure;
  if (!fs::is_regular_file(path, failure))
    throw TokenizerError{path.string() + ": is not a file"};
  uintmax_t size = fs::file_size(path, failure);
  if (failure || size > largestFile)
    throw TokenizerError{path.string() + ": has more than " + std::to_string(largestFile) + " bytes"};
  std::string text(size, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(text.data(), std::streamsize(size)))
    throw TokenizerError{path.string() + ": cannot be read"};
  return text;
}

json readJsonFile(const fs::path &path) {
  constexpr int deepest = 16;
  std::string text = readText(path);
  auto watch = [&](int depth, json::parse_event_t, json &) {
    if (depth > deepest)
      throw TokenizerError{path.string() + ": is nested more than " + std::to_string(deepest) + " deep"};
    return true;
  };
  try {
    json parsed = json::parse(text, watch);
    if (!parsed.is_object())
      throw TokenizerError{path.string() + ": must hold a JSON object"};
    return parsed;
  } catch (const json::exception &error) { // its text has the line and the column
    throw TokenizerError{path.string() + ": is not JSON: " + error.what()};
  }
}

std::vector<std::string> readLines(const fs::path &path) {
  std::vector<std::string> lines;
  std::string text = readText(path);
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r'))
      lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

static int64_t idOf(const json &value, const std::string &token, const fs::path &path) {
  constexpr int64_t largest = (1 << 24) - 1;
  bool isId = value.is_number_integer() && value >= 0 && value <= largest;
  if (!isId)
    throw TokenizerError{path.string() + ": the id of " + quote(token) + " is " + value.dump() +
                         ", no whole number from 0 to " + std::to_string(largest)};
  return value.get<int64_t>();
}

TokenIds readTokenIds(const json &object, const fs::path &path) {
  if (!object.is_object())
    throw TokenizerError{path.string() + ": must be an object of tokens and ids"};
  TokenIds ids;
  for (const auto &[token, id] : object.items())
    ids[token] = idOf(id, token, path);
  return ids;
}

/// A member of an object; null where there is none.
static const json &memberOf(const json &object, const char *key) {
  static const json null;
  return object.is_object() && object.contains(key) ? object[key] : null;
}

static std::string textOf(const json &value, const std::string &what, const fs::path &path) {
  if (!value.is_string())
    throw TokenizerError{path.string() + ": " + what + " must be a text, found " + value.dump()};
  return value.get<std::string>();
}

TokenIds tokensOf(const json &tokenizer, const fs::path &path) {
  const json &vocabulary = memberOf(memberOf(tokenizer, "model"), "vocab");
  TokenIds ids;
  if (vocabulary.is_array())
    for (size_t id = 0; id < vocabulary.size(); ++id)
      ids[textOf(vocabulary[id].is_array() && !vocabulary[id].empty() ? vocabulary[id][0] : json(),
                 "a piece of the vocabulary", path)] = int64_t(id);
  else
    ids = readTokenIds(vocabulary, path);
  for (const json &added : memberOf(tokenizer, "added_tokens")) {
    std::string token = textOf(memberOf(added, "content"), "an added token", path);
    ids[token] = idOf(memberOf(added, "id"), token, path);
  }
  return ids;
}

namespace {

class PostProcessor {
public:
  explicit PostProcessor(const fs::path &path) : path(path) {}

  AroundText around;

  void read(const json &processor) {
    if (processor.is_null())
      return;
    std::string type = textOf(memberOf(processor, "type"), "the post-processor's type", path);
    if (type == "TemplateProcessing")
      readTemplate(processor);
    else if (type == "BertProcessing" || type == "RobertaProcessing")
      readPair(processor);
    else if (type == "Sequence")
      for (const json &inner : memberOf(processor, "processors"))
        read(inner);
    else if (type != "ByteLevel") // which only moves offsets
      throw TokenizerError{path.string() + ": the post-processor " + quote(type) + " is not supported"};
  }

private:
  /// `[CLS] $A [SEP]`: the items of "single".
  void readTemplate(const json &processor) {
    AroundText read;
    std::vector<int64_t> *side = &read.before;
    for (const json &item : memberOf(processor, "single")) {
      if (!memberOf(item, "Sequence").is_null()) {
        side = &read.after;
        continue;
      }
      std::string name = textOf(memberOf(memberOf(item, "SpecialToken"), "id"), "a special token", path);
      for (const json &id : memberOf(memberOf(memberOf(processor, "special_tokens"), name.c_str()), "ids"))
        side->push_back(idOf(id, name, path));
    }
    wrap(read);
  }
  void readPair(const json &processor) {
    auto id = [&](const char *key) {
      const json &pair = memberOf(processor, key);
      return idOf(pair.is_array() && pair.size() == 2 ? pair[1] : json(), key, path);
    };
    wrap({{id("cls")}, {id("sep")}});
  }
  void wrap(const AroundText &outer) {
    around.before.insert(around.before.begin(), outer.before.begin(), outer.before.end());
    around.after.insert(around.after.end(), outer.after.begin(), outer.after.end());
  }

  const fs::path &path;
};

} // namespace

AroundText postProcessing(const json &tokenizer, const fs::path &path) {
  PostProcessor processor(path);
  processor.read(memberOf(tokenizer, "post_processor"));
  return processor.around;
}

} // namespace attnc
