//===- OutputPrinter.h - decoded lines as text or JSON -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_OUTPUTPRINTER_H
#define ATTNC_COMPILER_DRIVER_OUTPUTPRINTER_H

#include "compiler/driver/SentenceLines.h"

namespace attnc {

struct OutputFormat {
  bool scores = false, alignments = false, json = false;
};

/// Prints `count` lines for each line of the input (an empty one where there is no output), or one JSON
/// object.
class OutputPrinter {
public:
  OutputPrinter(const Model &model, const LineCodec &codec, OutputFormat format, int count)
      : model(model), codec(codec), format(format), count(count) {}

  void print(size_t lineNumber, const std::vector<attnrt::api::Hypothesis> &nBest) const;

private:
  void printJson(size_t lineNumber, const std::vector<attnrt::api::Hypothesis> &nBest) const;

  const Model &model;
  const LineCodec &codec;
  OutputFormat format;
  size_t count;
};

/// The source position that each token of the output (the end token left out) looks at most.
std::vector<size_t> alignmentOf(const attnrt::api::Hypothesis &hypothesis);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_OUTPUTPRINTER_H
