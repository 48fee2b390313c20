//===- TokenizeLines.cpp - a bundle's tokenizer without a bundle -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// usage: tokenize-lines FOLDER DESCRIPTION VOCABULARY [UNKNOWN]
// DESCRIPTION is what a manifest has under tokenizer.source. Reads a JSON text a line; writes [ids, the text
// decoded from them] a line.

#include "runtime/src/Tokenizer.h"

#include <iostream>

int main(int count, char **arguments) {
  if (count < 4 || count > 5)
    return 2;
  try {
    const nlohmann::json description = attnrt::parseJson(arguments[2], "tokenizer");
    attnrt::Vocabulary vocabulary{std::stoi(arguments[3]), std::nullopt};
    if (count == 5)
      vocabulary.unknown = std::stoi(arguments[4]);
    const auto tokenizer = attnrt::makeTokenizer(attnrt::readTokenizerInfo({description, "tokenizer"}),
                                                 arguments[1], vocabulary);
    for (std::string line; std::getline(std::cin, line);) {
      const std::vector<int32_t> ids = tokenizer->encode(nlohmann::json::parse(line).get<std::string>());
      std::cout << nlohmann::json{ids, tokenizer->decode(ids)} << "\n";
    }
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
