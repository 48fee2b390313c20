//===- Vocabulary.cpp - log-probabilities of a vocabulary projection --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Panels, the sum over them, and the search for the best words.

#include "compiler/kernels/Vocabulary.h"

#include "compiler/kernels/Math.h"

using namespace Halide;

namespace attnc {

/// Below every logit, masked ones included.
constexpr float BelowAll = 2 * MaskedScore;

/// Tiles of logits have up to so many words.
constexpr int WidestTile = 2 * PanelsAtOnce * PanelColumns;

// The bias of words past the end is not in memory; their logits are masked.
static Expr maskedLogit(const LinearInputs &inputs, const Tensor &linear, Expr word, Expr row) {
  int words = inputs.weight.out;
  if (words % WidestTile == 0)
    return linear.at({word, row});
  return select(word < words, linear.at({word, row}), MaskedScore);
}

// Tiles of logits are whole (external ones in words alone): what they read of words and rows past the end is
// what they read of the last.
static LinearInputs withReadableEnds(LinearInputs inputs) {
  if (inputs.scales) {
    Tensor exact = inputs.scales->rows;
    inputs.scales->rows.at = [exact](Coordinates at) {
      at[1] = min(at[1], exact.extents[1] - 1);
      return exact.at(at);
    };
  }
  if (inputs.weight.out % WidestTile == 0)
    return inputs;
  int last = inputs.weight.out - 1;
  auto within = [last](std::function<Expr(Expr)> vector) {
    return [=](Expr word) { return vector(min(word, last)); };
  };
  if (inputs.bias)
    inputs.bias = within(inputs.bias);
  if (inputs.scales) {
    inputs.scales->columns = within(inputs.scales->columns);
    inputs.scales->sums = within(inputs.scales->sums);
  }
  return inputs;
}

using Combine = std::function<Expr(Expr, Expr)>;

/// Combines the halves of `whole`'s lanes, halves of those, and so on, down to four lanes and then one. Every
/// stage is a vector: a reduction over lanes would be made of single numbers.
static Expr combineHalves(PanelSums &stages, Func whole, const Combine &combine, const std::string &name) {
  Var lane = stages.lane, panel = stages.panel, row = stages.row;
  for (int lanes = PanelColumns / 2; lanes >= 4; lanes /= 2) {
    Func half(name + std::to_string(lanes));
    half(lane, panel, row) = combine(whole(lane, panel, row), whole(lane + lanes, panel, row));
    stages.halves.push_back({half, lanes});
    whole = half;
  }
  auto element = [&](int number) -> Expr { return whole(number, panel, row); };
  return combine(combine(element(0), element(2)), combine(element(1), element(3)));
}

static void addPanelMaximum(PanelSums &stages, const std::string &suffix) {
  Func words("words" + suffix);
  words(stages.lane, stages.panel, stages.row) =
      stages.logits(stages.panel * PanelColumns + stages.lane, stages.row);
  Expr largest =
      combineHalves(stages, words, [](Expr a, Expr b) { return max(a, b); }, "larger" + suffix + "of");
  stages.maximum(stages.panel, stages.row) = max(largest, BelowAll); // a bias may be minus infinity
}

// Exponentials are taken and halves added with no freedom left to the compiler: a panel's sum has the same
// bits in every class of row counts.
static void addPanelSum(PanelSums &stages, const std::string &suffix) {
  Var lane = stages.lane, panel = stages.panel, row = stages.row;
  Func exponentials("exponentials" + suffix);
  exponentials(lane, panel, row) =
      expFast(strict_float(stages.logits(panel * PanelColumns + lane, row) - stages.maximum(panel, row)));
  stages.halves.push_back({exponentials, PanelColumns});
  stages.sum(panel, row) = combineHalves(
      stages, exponentials, [](Expr a, Expr b) { return strict_float(a + b); }, "half" + suffix + "of");
}

static PanelSums makePanelSums(const std::string &suffix, const Var &row, const Var &panel) {
  return {Func("logits" + suffix),
          Func("panelMaximum" + suffix),
          Func("panelSum" + suffix),
          Var("word"),
          row,
          panel,
          Var("lane")};
}

static PanelStages buildPanels(const LinearInputs &inputs, MatmulTile tile,
                               const VocabularyStages &vocabulary) {
  std::string suffix = std::to_string(vocabulary.classes.size());
  PanelStages stages{makePanelSums(suffix, vocabulary.row, vocabulary.panel),
                     buildAccumulator(inputs, tile, "sums" + suffix)};
  stages.logits(stages.word, stages.row) =
      maskedLogit(inputs, linearResult(inputs, stages.accumulator), stages.word, stages.row);
  addPanelMaximum(stages, suffix);
  addPanelSum(stages, suffix);
  return stages;
}

// Filled up with neutral elements to whole lanes, so that one order of summation serves every vocabulary. The
// compiler has no freedom here either: the code of one row need not be that of many.
static LogSumStages buildLogSum(Func panels, const Var &panel, const Var &row, int panelCount) {
  LogSumStages s;
  s.row = row;
  s.panel = panel;
  s.padded = (panelCount + MaximumLanes - 1) / MaximumLanes * MaximumLanes;
  RDom copied(0, panelCount, "copied"), weighted(0, panelCount, "weighted");
  RDom compared(0, s.padded / MaximumLanes, "compared"), summed(0, s.padded / MaximumLanes, "summed");
  s.paddedMaxima = Func("paddedMaxima");
  s.paddedMaxima(s.panel, s.row) = BelowAll;
  s.paddedMaxima(copied, s.row) = panels(copied, s.row)[0];
  s.laneMaxima = Func("laneMaxima");
  s.laneMaxima(s.lane, s.row) = BelowAll;
  s.laneMaxima(s.lane, s.row) =
      max(s.laneMaxima(s.lane, s.row), s.paddedMaxima(compared * MaximumLanes + s.lane, s.row));
  s.maximum = Func("rowMaximum");
  s.maximum(s.row) = maxPairwise([&](int lane) -> Expr { return s.laneMaxima(lane, s.row); }, MaximumLanes);
  s.paddedSums = Func("paddedSums");
  s.paddedSums(s.panel, s.row) = 0.f;
  s.paddedSums(weighted, s.row) =
      strict_float(panels(weighted, s.row)[1] * expFast(panels(weighted, s.row)[0] - s.maximum(s.row)));
  s.laneSums = Func("laneSums");
  s.laneSums(s.lane, s.row) = 0.f;
  s.laneSums(s.lane, s.row) =
      strict_float(s.laneSums(s.lane, s.row) + s.paddedSums(summed * MaximumLanes + s.lane, s.row));
  s.logSum = Func("logSum");
  s.logSum(s.row) = strict_float(
      s.maximum(s.row) +
      logFast(sumPairwise([&](int lane) -> Expr { return s.laneSums(lane, s.row); }, MaximumLanes)));
  return s;
}

VocabularyStages buildVocabulary(const LinearInputs &plain, const std::vector<MatmulTile> &tiles) {
  LinearInputs inputs = withReadableEnds(plain);
  VocabularyStages stages;
  stages.panels = Func("panels");
  stages.rows = inputs.input.extents[1];
  stages.panelCount = inputs.weight.panels();
  std::vector<Expr> maxima, sums;
  for (MatmulTile tile : tiles) {
    stages.classes.push_back(buildPanels(inputs, tile, stages));
    maxima.push_back(stages.classes.back().maximum(stages.panel, stages.row));
    sums.push_back(stages.classes.back().sum(stages.panel, stages.row));
  }
  stages.panels(stages.panel, stages.row) =
      Tuple(selectByRows(stages.rows, tiles, maxima), selectByRows(stages.rows, tiles, sums));
  stages.logSum = buildLogSum(stages.panels, stages.panel, stages.row, stages.panelCount);
  return stages;
}

// The largest of the lanes' maxima, one a round, down to the one that as many panels reach as words are
// wanted. Equal maxima count once, which only lowers the threshold.
static Func buildThreshold(const LogSumStages &logSum, Expr candidates) {
  Func threshold("threshold");
  RDom round(0, MaximumLanes, 0, min(candidates, MaximumLanes), "round");
  threshold(logSum.row) = Tuple(-BelowAll, -BelowAll);
  Expr first = round.x == 0;
  Expr limit = select(first, threshold(logSum.row)[1], threshold(logSum.row)[0]);
  Expr best = select(first, BelowAll, threshold(logSum.row)[1]);
  Expr value = logSum.laneMaxima(round.x, logSum.row);
  threshold(logSum.row) = Tuple(limit, max(best, select(value < limit, value, BelowAll)));
  return threshold;
}

static Expr comesBefore(Expr value, Expr word, Tuple other) {
  return value > other[0] || (value == other[0] && word < other[1]);
}

TopStages buildTop(const LinearInputs &inputs, const VocabularyStages &vocabulary) {
  const LogSumStages &logSum = vocabulary.logSum;
  TopStages s;
  s.row = vocabulary.row;
  s.panel = vocabulary.panel;
  s.result = Func("best");
  s.result(s.candidate, s.row) = Tuple(BelowAll, -1);
  Expr candidates = s.result.output_buffers()[0].dim(0).extent();
  s.threshold = buildThreshold(logSum, candidates);

  LinearInputs readable = withReadableEnds(inputs);
  Expr limit = select(candidates <= MaximumLanes, s.threshold(s.row)[1], BelowAll);
  s.k = RDom(0, inputs.weight.depth(), "again");
  s.group = inputs.weight.group;
  s.addsGroups = inputs.scales.has_value();
  s.k.where(vocabulary.panels(s.panel, s.row)[0] >= limit); // panels that are not visited cost no sums
  s.sums = Func("again");
  s.sums(s.word, s.panel, s.row) = initialSum(inputs);
  s.sums(s.word, s.panel, s.row) += sumTerm(inputs, {s.k, s.row}, s.word, s.panel);

  // Insertion from the last place up: place i takes the place before it, the new word, or stays. Most words
  // are no better than the last one: they cost a comparison.
  s.insertion = RDom(0, candidates, 0, PanelColumns, 0, vocabulary.panelCount, "insertion");
  s.insertion.where(vocabulary.panels(s.insertion.z, s.row)[0] >= limit);
  Expr place = candidates - 1 - s.insertion.x;
  Expr word = s.insertion.z * PanelColumns + s.insertion.y;
  Expr sum = s.sums(s.insertion.y, s.insertion.z, s.row);
  Expr logit = resultOf(readable, wholeSum(readable, sum, {word, s.row}), {word, s.row});
  Expr value = select(word < inputs.weight.out, strict_float(logit - logSum.logSum(s.row)), BelowAll);
  s.insertion.where(comesBefore(value, word, s.result(candidates - 1, s.row)));
  Tuple before = s.result(max(place - 1, 0), s.row), here = s.result(place, s.row);
  Expr shifts = place > 0 && comesBefore(value, word, before), enters = comesBefore(value, word, here);
  s.result(place, s.row) = Tuple(select(shifts, before[0], enters, value, here[0]),
                                 select(shifts, before[1], enters, word, here[1]));
  return s;
}

RowLogSumStages buildRowLogSum(const Tensor &logits, int words) {
  RowLogSumStages s{makePanelSums("OfRow", Var("row"), Var("panel")), Func("panels"), {}};
  PanelSums &sums = s.sums;
  sums.logits(sums.word, sums.row) =
      select(sums.word < words, logits.at({min(sums.word, words - 1), sums.row}), MaskedScore);
  addPanelMaximum(sums, "OfRow");
  addPanelSum(sums, "OfRow");
  s.panels(sums.panel, sums.row) = Tuple(sums.maximum(sums.panel, sums.row), sums.sum(sums.panel, sums.row));
  s.logSum = buildLogSum(s.panels, sums.panel, sums.row, (words + PanelColumns - 1) / PanelColumns);
  return s;
}

} // namespace attnc
