//===- Vocabulary.h - log-probabilities of a vocabulary projection ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Logits of every word are summed up panel by panel: a panel leaves its maximum and the sum of exponentials,
// no logit is written. The best words lie in the panels of the best maxima; only those panels are computed
// again.

#ifndef ATTNC_KERNELS_VOCABULARY_H
#define ATTNC_KERNELS_VOCABULARY_H

#include "compiler/kernels/Linear.h"

namespace attnc {

/// What each panel of logits leaves.
struct PanelSums {
  Halide::Func logits;       // word x row
  Halide::Func maximum, sum; // panel x row
  Halide::Var word, row, panel, lane;
  std::vector<std::pair<Halide::Func, int>> halves =
      {}; // lane x panel x row, and how many lanes: see combineHalves
};

/// The same of a tile of words and rows.
struct PanelStages : PanelSums {
  Accumulator accumulator;
};

/// Per-row stages between panels and results.
struct LogSumStages {
  Halide::Func paddedMaxima, paddedSums; // panel x row, filled up to whole lanes
  Halide::Func laneMaxima, laneSums;     // lane x row
  Halide::Func maximum, logSum;          // row
  Halide::Var lane{"lane"}, row, panel;
  int padded = 0;
};

struct VocabularyStages {
  Halide::Func panels; // panel x row: maximum and sum, the kernel's scratch
  Halide::Var panel{"panel"}, row{"row"};
  Halide::Expr rows;
  int panelCount = 0;
  std::vector<PanelStages> classes; // of tiles[i]
  LogSumStages logSum;
};

/// Lanes in which the maxima of panels are kept apart to bound the best ones from below.
constexpr int MaximumLanes = 64;

VocabularyStages buildVocabulary(const LinearInputs &inputs, const std::vector<MatmulTile> &tiles);

struct TopStages {
  Halide::Func threshold; // row: a panel whose maximum is below holds none of the best
  Halide::Func sums;      // word in panel x panel x row: logits computed again
  Halide::Func result;    // candidate x row: (log-probability, word)
  Halide::Var word{"word"}, row, candidate{"candidate"}, panel;
  Halide::RDom k;         // of sums
  int group;              // steps of k whose weights lie side by side
  bool addsGroups;        // one instruction takes them together
  Halide::RDom insertion; // x: candidate from the last, y: word in panel, z: panel
};

TopStages buildTop(const LinearInputs &inputs, const VocabularyStages &vocabulary);

/// log(sum(exp(logits))) of rows that lie in memory, with the bits that it has where no logit is written.
struct RowLogSumStages {
  PanelSums sums;
  Halide::Func panels; // panel x row: maximum and sum
  LogSumStages logSum;
};

RowLogSumStages buildRowLogSum(const Tensor &logits, int words);

} // namespace attnc

#endif // ATTNC_KERNELS_VOCABULARY_H
