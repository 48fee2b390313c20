//===- ScoreCases.cpp - attention with other scores, masks and heads --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tolerances as in KernelCases.cpp: errors of scores move weights by as much, relatively, and a weighted mean
// of values in [-1, 1] by as much.

#include "tests/kernels/KernelCases.h"

#include <cmath>

namespace attnc::test {

static const double U = std::ldexp(1.0, -24);

namespace {

/// Puts the text of one attention together; axes have the names that kernels use.
class AttentionText {
public:
  int heads = 2, keyHeads = 2, width = 20, valueWidth = 20;
  bool oneQuery = false;           // one query per row, as in a step
  std::vector<std::string> inputs; // after query, key and value: "%name: type"

  std::string query() const { return value(heads, oneQuery ? "" : "query", width); }
  std::string key() const { return value(keyHeads, "key", width); }
  std::string scores() const {
    return "tensor<?x" + std::to_string(heads) + (oneQuery ? "x1x?xf32" : "x?x?xf32") +
           ", #attn.axes<batch, head, query, key>>";
  }
  static std::string ids() { return "tensor<?xi32, #attn.axes<batch>>"; }

  std::string products() const {
    return "  %0 = attn.matmul %q, %k transposed : (" + query() + ", " + key() + ") -> " + scores() + "\n";
  }

  /// `lines` compute %s from the queries %q and the keys %k.
  std::string kernel(const std::string &lines) const {
    std::string v = value(keyHeads, "key", valueWidth),
                result = value(heads, oneQuery ? "" : "query", valueWidth);
    std::string text = "attn.kernel @k {\n^bb0(%q: " + query() + ", %k: " + key() + ", %v: " + v;
    for (const std::string &input : inputs)
      text += ", " + input;
    return text + "):\n" + lines + "  %w = attn.softmax %s : " + scores() +
           "\n  %c = attn.matmul %w, %v : (" + scores() + ", " + v + ") -> " + result +
           "\n  attn.yield %c : " + result + "\n}\n";
  }

private:
  static std::string value(int head, const std::string &length, int width) {
    return "tensor<?x" + std::to_string(head) + "x" + (length.empty() ? "1" : "?") + "x" +
           std::to_string(width) + "xf32, #attn.axes<batch, head, " + (length.empty() ? "query" : length) +
           ", width>>";
  }
};

} // namespace

static std::vector<Sizes> sizesOf(std::initializer_list<std::array<int64_t, 3>> all, bool oneQuery = false) {
  std::vector<Sizes> sizes;
  for (const std::array<int64_t, 3> &size : all) {
    sizes.push_back({{"batch", size[0]}, {"key", size[2]}});
    if (!oneQuery)
      sizes.back()["query"] = size[1];
  }
  return sizes;
}

/// Terms weight * tanh(q + k), weights at most 1: each is off by 5e-7 (tanhFast) and its sum's rounding.
static KernelCase additiveCase(int width, bool perHead, bool oneQuery) {
  AttentionText text;
  text.width = width, text.oneQuery = oneQuery;
  std::string weight =
      perHead ? "tensor<2x" + std::to_string(width) + "xf32>" : "tensor<" + std::to_string(width) + "xf32>";
  text.inputs = {"%weight: " + weight, "%lengths: " + AttentionText::ids()};
  std::string lines = "  %0 = attn.additive_scores %q, %k by %weight : (" + text.query() + ", " + text.key() +
                      ", " + weight + ") -> " + text.scores() +
                      "\n  %s = attn.padding_mask %0, %lengths : (" + text.scores() + ", " +
                      AttentionText::ids() + ") -> " + text.scores() + "\n";
  KernelCase result{"attention_additive_" + std::to_string(width) + (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    sizesOf({{1, 1, 1}, {3, 7, 37}, {2, 33, 140}, {1, 3, 513}}, oneQuery),
                    width * (5e-7 + width * U) + 2e-6,
                    {},
                    {{4, "key"}}};
  return result;
}

/// softcap(s, 3) + slope[head] * (key - query): distances up to 150 times slopes up to 1 make large scores,
/// but equal roundings of inputs are exact; the product and sum each round once (150 u).
static KernelCase mapCase(int width, bool oneQuery) {
  AttentionText text;
  text.width = width, text.oneQuery = oneQuery;
  text.inputs = {"%slopes: tensor<2xf32>"};
  if (oneQuery)
    text.inputs.push_back("%starts: " + AttentionText::ids());
  std::string starts = oneQuery ? " from %starts" : "",
              startType = oneQuery ? ", " + AttentionText::ids() : "";
  std::string lines = text.products() + "  %s = attn.score_map %0" + starts + " with (%slopes) : (" +
                      text.scores() + startType + ", tensor<2xf32>) -> " + text.scores() + R"( {
  ^bb0(%score: f32, %b: i32, %h: i32, %at: i32, %to: i32, %table: tensor<2xf32>):
    %cap = arith.constant 3.0 : f32
    %part = arith.divf %score, %cap : f32
    %bent = math.tanh %part : f32
    %capped = arith.mulf %bent, %cap : f32
    %slope = attn.element %table[%h] : tensor<2xf32>
    %after = arith.subi %to, %at : i32
    %distance = arith.sitofp %after : i32 to f32
    %bias = arith.mulf %slope, %distance : f32
    %sum = arith.addf %capped, %bias : f32
    attn.yield %sum : f32
  }
)";
  KernelCase result{"attention_map_" + std::to_string(width) + (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    sizesOf({{1, 1, 1}, {2, 37, 150}}, oneQuery),
                    3 * width * U + 300 * U + 5e-6,
                    {},
                    {}};
  if (oneQuery)
    result.idSizes[4] = "key";
  return result;
}

/// A mask from outside and one by a condition: `allowed[b, q, k] != 0 and (k % 3 != 1)`.
static KernelCase conditionCase() {
  AttentionText text;
  std::string table = "tensor<?x?x?xi32, #attn.axes<batch, query, key>>";
  text.inputs = {"%allowed: " + table};
  std::string lines = text.products() + "  %s = attn.score_map %0 with (%allowed) : (" + text.scores() +
                      ", " + table + ") -> " + text.scores() + R"( {
  ^bb0(%score: f32, %b: i32, %h: i32, %at: i32, %to: i32, %table: )" +
                      table + R"():
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %masked = arith.constant 0xFF800000 : f32
    %given = attn.element %table[%b, %at, %to] : )" +
                      table + R"(
    %isAllowed = arith.cmpi ne, %given, %zero : i32
    %whole = arith.floordivsi %to, %three : i32
    %product = arith.muli %whole, %three : i32
    %rest = arith.subi %to, %product : i32
    %isThird = arith.cmpi ne, %rest, %one : i32
    %isSeen = arith.andi %isAllowed, %isThird : i1
    %result = arith.select %isSeen, %score, %masked : f32
    attn.yield %result : f32
  }
)";
  return {"attention_condition", text.kernel(lines), sizesOf({{1, 1, 1}, {2, 7, 137}}),
          2 * 20 * U + 2e-6,     {{3, 1}},           {}};
}

static KernelCase windowCase(int64_t before, const std::string &after, bool oneQuery) {
  AttentionText text;
  text.width = text.valueWidth = 64, text.oneQuery = oneQuery;
  if (oneQuery)
    text.inputs = {"%starts: " + AttentionText::ids()};
  std::string lines = text.products() + "  %s = attn.window_mask %0" + (oneQuery ? " from %starts" : "") +
                      " before " + std::to_string(before) + (after.empty() ? "" : " after " + after) +
                      " : (" + text.scores() + (oneQuery ? ", " + AttentionText::ids() : "") + ") -> " +
                      text.scores() + "\n";
  KernelCase result{"attention_window_" + std::to_string(before) + "_" + after + (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    sizesOf({{1, 1, 1}, {2, 37, 37}, {1, 513, 513}, {2, 300, 7}}, oneQuery),
                    2 * 64 * U + 2e-6,
                    {},
                    {}};
  if (oneQuery)
    result.idSizes[3] = "key";
  return result;
}

static KernelCase prefixCase() {
  AttentionText text;
  text.inputs = {"%lengths: " + AttentionText::ids()};
  std::string lines = text.products() + "  %s = attn.prefix_mask %0, %lengths : (" + text.scores() + ", " +
                      AttentionText::ids() + ") -> " + text.scores() + "\n";
  return {"attention_prefix",
          text.kernel(lines),
          sizesOf({{1, 1, 1}, {3, 40, 40}, {2, 150, 150}}),
          2 * 20 * U + 2e-6,
          {},
          {{3, "key"}}};
}

static KernelCase groupedCase(int heads, int keyHeads, int width, int valueWidth, bool oneQuery) {
  AttentionText text;
  text.heads = heads, text.keyHeads = keyHeads, text.width = width, text.valueWidth = valueWidth;
  text.oneQuery = oneQuery;
  std::string lines = text.products() + "  %s = attn.scale %0 by 2.5e-1 : " + text.scores() + "\n";
  return {"attention_" + std::to_string(heads) + "_over_" + std::to_string(keyHeads) + "_" +
              std::to_string(width) + "x" + std::to_string(valueWidth) + (oneQuery ? "_step" : ""),
          text.kernel(lines),
          sizesOf({{1, 1, 1}, {2, 7, 130}, {1, 3, 513}}, oneQuery),
          2 * width * U + 2e-6,
          {},
          {}};
}

std::vector<KernelCase> scoreCases() {
  std::vector<KernelCase> cases = {additiveCase(20, false, false),
                                   additiveCase(64, true, false),
                                   additiveCase(3, false, false),
                                   additiveCase(20, true, true),
                                   additiveCase(64, false, true),
                                   mapCase(20, false),
                                   mapCase(64, true),
                                   conditionCase(),
                                   windowCase(3, "0", false),
                                   windowCase(140, "5", false),
                                   windowCase(200, "", false),
                                   windowCase(130, "0", true),
                                   prefixCase(),
                                   groupedCase(8, 2, 64, 64, false),
                                   groupedCase(4, 1, 20, 20, false),
                                   groupedCase(6, 3, 72, 72, true),
                                   groupedCase(2, 2, 20, 72, false),
                                   groupedCase(2, 1, 72, 4, true)};
  return cases;
}

//===----------------------------------------------------------------------===//
// Rows of heads
//===----------------------------------------------------------------------===//

static const char *const headsType = "tensor<?x2x?x20xf32, #attn.axes<batch, head, query, width>>";

/// Sine and cosine in the table are in [-1, 1]: two products and a sum of elements in [-1, 1].
static KernelCase rotaryCase(int turned, bool interleaved, bool hasStarts) {
  std::string type = headsType, table = "tensor<64x" + std::to_string(turned) + "xf32>";
  std::string ids = "tensor<?xi32, #attn.axes<batch>>";
  std::string text = "attn.kernel @k {\n^bb0(%x: " + type + ", %table: " + table +
                     (hasStarts ? ", %starts: " + ids : "") + "):\n  %y = attn.rotary %x, %table" +
                     (hasStarts ? " from %starts" : "") + (interleaved ? " interleaved" : "") + " : (" +
                     type + ", " + table + (hasStarts ? ", " + ids : "") + ") -> " + type +
                     "\n  attn.yield %y : " + type + "\n}\n";
  KernelCase result{"rotary_" + std::to_string(turned) + (interleaved ? "_interleaved" : "_halves") +
                        (hasStarts ? "_starts" : ""),
                    text,
                    {{{"batch", 1}, {"query", 1}}, {{"batch", 3}, {"query", 7}}},
                    1e-6,
                    {},
                    {}};
  if (hasStarts)
    result.idLimits[2] = 50;
  return result;
}

static KernelCase l2NormCase(const std::string &type, std::vector<Sizes> sizes, const std::string &name) {
  std::string text = "attn.kernel @k {\n^bb0(%x: " + type +
                     "):\n  %y = attn.l2_norm %x epsilon 1.0e-6 : " + type + "\n  attn.yield %y : " + type +
                     "\n}\n";
  return {name, text, std::move(sizes), 2e-6, {}, {}};
}

std::vector<KernelCase> headCases() {
  std::vector<Sizes> few = {{{"batch", 1}, {"query", 1}}, {{"batch", 3}, {"query", 7}}};
  return {
      rotaryCase(20, true, false),
      rotaryCase(20, false, true),
      rotaryCase(8, true, true),
      rotaryCase(12, false, false),
      l2NormCase(headsType, few, "l2_norm_heads"),
      l2NormCase("tensor<?x72xf32, #attn.axes<row, width>>", {{{"row", 1}}, {{"row", 37}}}, "l2_norm_rows")};
}

} // namespace attnc::test
