//===- RunEncoder.h - attnc run on an encoder that stands alone ---------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_RUNENCODER_H
#define ATTNC_COMPILER_DRIVER_RUNENCODER_H

#include "compiler/driver/SentenceLines.h"

namespace attnc {

struct EncoderRunOptions {
  BundleOptions bundle;
  std::string vectors = "mean"; // mean, first, pooled or tokens
  bool fillsMasks = false;      // instead of vectors
  int nBest = 1;                // fillings of a line
  bool scores = false, json = false, skipsBadLines = false;
  size_t batch = 32;
};

/// Reads lines from stdin and prints their vectors, or their masks filled. Returns the exit code.
int runEncoder(const EncoderRunOptions &options, const Model &model);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_RUNENCODER_H
