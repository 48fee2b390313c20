//===- OutputPrinter.cpp - decoded lines as text or JSON ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/OutputPrinter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace attnc {

using attnrt::api::Hypothesis;
using Json = nlohmann::ordered_json;

std::vector<size_t> alignmentOf(const Hypothesis &hypothesis) {
  std::vector<size_t> alignment;
  const size_t rows = hypothesis.logProbabilities.size();
  const size_t columns = rows > 0 ? hypothesis.attention.size() / rows : 0;
  for (size_t target = 0; target < hypothesis.ids.size(); ++target) {
    const auto row = hypothesis.attention.begin() + static_cast<std::ptrdiff_t>(target * columns);
    alignment.push_back(std::max_element(row, row + static_cast<std::ptrdiff_t>(columns)) - row);
  }
  return alignment;
}

void OutputPrinter::print(size_t lineNumber, const std::vector<Hypothesis> &nBest) const {
  if (format.json)
    return printJson(lineNumber, nBest);
  for (size_t rank = 0; rank < count; ++rank) {
    if (rank < nBest.size()) {
      const Hypothesis &hypothesis = nBest[rank];
      std::cout << codec.write(hypothesis.ids);
      if (format.scores)
        std::cout << '\t' << formatFloat(hypothesis.score);
      const std::vector<size_t> alignment =
          format.alignments ? alignmentOf(hypothesis) : std::vector<size_t>();
      for (size_t target = 0; target < alignment.size(); ++target)
        std::cout << (target ? ' ' : '\t') << alignment[target] << '-' << target;
    }
    std::cout << '\n';
  }
}

void OutputPrinter::printJson(size_t lineNumber, const std::vector<Hypothesis> &nBest) const {
  Json outputs = Json::array();
  for (const Hypothesis &hypothesis : nBest) {
    Json tokens = Json::array(), pairs = Json::array();
    for (const int32_t id : hypothesis.ids)
      tokens.push_back(model.tokenText(ATTNRT_TARGET, id));
    Json output = {{"text", codec.text(hypothesis.ids)}, {"ids", hypothesis.ids},
                   {"tokens", std::move(tokens)},        {"log_probabilities", hypothesis.logProbabilities},
                   {"total", hypothesis.total},          {"score", hypothesis.score},
                   {"ended", hypothesis.ended}};
    if (format.alignments) {
      for (const size_t source : alignmentOf(hypothesis))
        pairs.push_back({source, pairs.size()});
      output["alignment"] = std::move(pairs);
    }
    outputs.push_back(std::move(output));
  }
  attnc::printJson({{"line", lineNumber}, {"outputs", std::move(outputs)}});
}

} // namespace attnc
