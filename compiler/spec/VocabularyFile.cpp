//===- VocabularyFile.cpp - files that list tokens -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A file whose name ends in '.json' is a JSON list; others have a token a line. The runtime reads them alike.

#include "compiler/spec/VocabularyFile.h"

#include "nlohmann/json.hpp"

#include <fstream>
#include <sstream>

namespace attnc {

static std::optional<std::vector<std::string>> parseList(const std::string &text, std::string &error) {
  nlohmann::json list = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) {
    error = "it is not a JSON list";
    return std::nullopt;
  }
  std::vector<std::string> tokens;
  for (const nlohmann::json &item : list) {
    if (!item.is_string()) {
      error = "entry " + std::to_string(tokens.size()) + " is not text";
      return std::nullopt;
    }
    tokens.push_back(item.get<std::string>());
  }
  return tokens;
}

std::optional<std::vector<std::string>> readVocabulary(const std::string &path, std::string &error) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream buffer;
  buffer << in.rdbuf();
  std::string text = buffer.str();
  if (text.empty()) {
    error = "it cannot be read, or is empty";
    return std::nullopt;
  }
  if (path.ends_with(".json"))
    return parseList(text, error);
  if (text[0] == '[' && nlohmann::json::accept(text)) {
    error = "it is a JSON list; the name of such a file ends in '.json'";
    return std::nullopt;
  }
  std::vector<std::string> tokens;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    tokens.push_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
  return tokens;
}

} // namespace attnc
