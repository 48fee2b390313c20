//===- ScoreCases.cpp - attention with other scores, masks and heads --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tolerances as in KernelCases.cpp: errors of scores move weights by as much, relatively, and a weighted mean
// of values in [-1, 1] by as much.

#include "tests/kernels/KernelText.h"

#include <cmath>

namespace attnc::test {

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

/// One key and 513 of them; 1, 3 and 7 queries; of three lengths one is 0.
static std::vector<Sizes> oddSizes(bool oneQuery) {
  return sizesOf({{1, 1, 1}, {3, 3, 137}, {1, 1, 513}, {3, 7, 513}}, oneQuery);
}

static std::string padding(const AttentionText &text, const std::string &scores) {
  return "  %s = attn.padding_mask " + scores + ", %lengths : (" + text.scores() + ", " +
         AttentionText::ids() + ") -> " + text.scores() + "\n";
}

static std::string windowMask(const AttentionText &text, const std::string &result, const std::string &scores,
                              int64_t before, const std::string &after) {
  return "  " + result + " = attn.window_mask " + scores + (text.oneQuery ? " from %starts" : "") +
         " before " + std::to_string(before) + (after.empty() ? "" : " after " + after) + " : (" +
         text.scores() + (text.oneQuery ? ", " + AttentionText::ids() : "") + ") -> " + text.scores() + "\n";
}

/// Terms weight * tanh(q + k), weights at most 1: each is off by 5e-7 (tanhFast) and its sum's rounding.
static KernelCase additiveCase(int width, bool perHead, bool oneQuery) {
  AttentionText text;
  text.width = text.valueWidth = width, text.oneQuery = oneQuery;
  std::string weight =
      perHead ? "tensor<2x" + std::to_string(width) + "xf32>" : "tensor<" + std::to_string(width) + "xf32>";
  text.inputs = {"%weight: " + weight, "%lengths: " + AttentionText::ids()};
  std::string lines = "  %0 = attn.additive_scores %q, %k by %weight : (" + text.query() + ", " + text.key() +
                      ", " + weight + ") -> " + text.scores() + "\n" + padding(text, "%0");
  KernelCase result{"attention_additive_" + std::to_string(width) + (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    oddSizes(oneQuery),
                    width * (5e-7 + width * U) + 2e-6,
                    {},
                    {}};
  result.lengths[4] = "key";
  return result;
}

/// A score map with one table, then padding. In a step each row counts from its own position.
struct MapText {
  std::string name, tableType, body; // the body computes %sum from %score, %h, %at, %to and %table
};

/// Distances up to 512 times slopes up to 1 make large scores, but equal roundings of inputs are exact; the
/// product and sum each round once (512 u).
static KernelCase mapCase(const MapText &map, int width, bool oneQuery) {
  AttentionText text;
  text.width = text.valueWidth = width, text.oneQuery = oneQuery;
  text.inputs = {"%table: " + map.tableType, "%lengths: " + AttentionText::ids()};
  if (oneQuery)
    text.inputs.push_back("%starts: " + AttentionText::ids());
  std::string starts = oneQuery ? " from %starts" : "",
              startType = oneQuery ? ", " + AttentionText::ids() : "";
  std::string lines =
      text.products() + "  %1 = attn.score_map %0" + starts + " with (%table) : (" + text.scores() +
      startType + ", " + map.tableType + ") -> " + text.scores() +
      " {\n  ^bb0(%score: f32, %b: i32, %h: i32, %at: i32, %to: i32, %table_: " + map.tableType + "):\n" +
      map.body + "    attn.yield %sum : f32\n  }\n" + padding(text, "%1");
  KernelCase result{map.name + "_" + std::to_string(width) + (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    oddSizes(oneQuery),
                    3 * width * U + 1024 * U + 5e-6,
                    {},
                    {}};
  result.lengths[4] = "key";
  if (oneQuery)
    result.idSizes[5] = "key";
  return result;
}

/// softcap(s, 3) + slope[head] * (key - query)
static MapText softcapMap() {
  return {"attention_map", "tensor<2xf32>", R"(
    %cap = arith.constant 3.0 : f32
    %part = arith.divf %score, %cap : f32
    %bent = math.tanh %part : f32
    %capped = arith.mulf %bent, %cap : f32
    %slope = attn.element %table_[%h] : tensor<2xf32>
    %after = arith.subi %to, %at : i32
    %distance = arith.sitofp %after : i32 to f32
    %bias = arith.mulf %slope, %distance : f32
    %sum = arith.addf %capped, %bias : f32
)"};
}

/// ALiBi (Press et al. 2022): s - slope[head] * abs(key - query)
static MapText alibiMap() {
  return {"attention_alibi", "tensor<2xf32>", R"(
    %slope = attn.element %table_[%h] : tensor<2xf32>
    %after = arith.subi %to, %at : i32
    %length = math.absi %after : i32
    %distance = arith.sitofp %length : i32 to f32
    %bias = arith.mulf %slope, %distance : f32
    %sum = arith.subf %score, %bias : f32
)"};
}

/// T5 (Raffel et al. 2020): s + table[bucket(key - query, 8, 20), head]. Far distances pass one bound more
/// for each bucket: 2 * 10^(i/2) where each direction has four buckets, 4 * 5^(i/4) in a decoder.
static MapText bucketMap(bool causal) {
  std::string body = R"(
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %forward = arith.subi %to, %at : i32
    %back = arith.subi %at, %to : i32
)";
  auto constant = [&](const std::string &name, int value) {
    body += "    " + name + " = arith.constant " + std::to_string(value) + " : i32\n";
  };
  constant("%half", 4);
  constant("%exact", causal ? 4 : 2);
  body += causal ? "    %distance = arith.maxsi %back, %zero : i32\n"
                   "    %direction = arith.constant 0 : i32\n"
                 : "    %distance = arith.maxsi %back, %forward : i32\n"
                   "    %isAfter = arith.cmpi sgt, %forward, %zero : i32\n"
                   "    %direction = arith.select %isAfter, %half, %zero : i32\n";
  body += "    %near = arith.minsi %distance, %exact : i32\n"
          "    %bucket0 = arith.addi %near, %direction : i32\n";
  int count = 0;
  for (int bound : causal ? std::vector<int>{6, 9, 14} : std::vector<int>{7}) {
    std::string number = std::to_string(count), next = std::to_string(++count);
    constant("%bound" + number, bound);
    body += "    %isPast" + number + " = arith.cmpi sge, %distance, %bound" + number + " : i32\n    %more" +
            number + " = arith.select %isPast" + number + ", %one, %zero : i32\n    %bucket" + next +
            " = arith.addi %bucket" + number + ", %more" + number + " : i32\n";
  }
  body += "    %bias = attn.element %table_[%bucket" + std::to_string(count) +
          ", %h] : tensor<8x2xf32>\n    %sum = arith.addf %score, %bias : f32\n";
  return {causal ? "attention_causal_buckets" : "attention_buckets", "tensor<8x2xf32>", body};
}

/// A bias for each score, some of it minus infinity: {add: [scores, bias]}.
static KernelCase addedCase(int width, bool oneQuery) {
  AttentionText text;
  text.width = text.valueWidth = width, text.oneQuery = oneQuery;
  text.inputs = {"%bias: " + text.scores()};
  std::string lines = text.products() + "  %s = attn.add %0, %bias : " + text.scores() + "\n";
  KernelCase result{"attention_added_" + std::to_string(width) + (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    oddSizes(oneQuery),
                    3 * width * U + 2e-6,
                    {},
                    {}};
  result.hidden = {3};
  return result;
}

/// A condition for keys to be seen; the body computes %isSeen from %b, %h, %at, %to and %table.
struct ConditionText {
  std::string name, tableType, body;
  bool inWindow = false; // under a window mask as well
};

static KernelCase conditionCase(const ConditionText &condition, int width, bool oneQuery) {
  AttentionText text;
  text.width = text.valueWidth = width, text.oneQuery = oneQuery;
  std::string table = condition.tableType;
  text.inputs = {"%table: " + table, "%lengths: " + AttentionText::ids()};
  if (oneQuery)
    text.inputs.push_back("%starts: " + AttentionText::ids());
  std::string lines = text.products() + "  %1 = attn.score_map %0" + (oneQuery ? " from %starts" : "") +
                      " with (%table) : (" + text.scores() + (oneQuery ? ", " + AttentionText::ids() : "") +
                      ", " + table + ") -> " + text.scores() +
                      " {\n  ^bb0(%score: f32, %b: i32, %h: i32, %at: i32, %to: i32, %table_: " + table +
                      "):\n" + condition.body + R"(
    %masked = arith.constant 0xFF800000 : f32
    %result = arith.select %isSeen, %score, %masked : f32
    attn.yield %result : f32
  }
)";
  if (condition.inWindow)
    lines += windowMask(text, "%2", "%1", 140, "5");
  lines += padding(text, condition.inWindow ? "%2" : "%1");
  KernelCase result{condition.name + "_" + std::to_string(width) + (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    oddSizes(oneQuery),
                    3 * width * U + 2e-6,
                    {{3, 2}},
                    {}};
  result.lengths[4] = "key";
  if (oneQuery)
    result.idSizes[5] = "key";
  return result;
}

/// A mask from outside and one by a condition: `allowed[b, q, k] != 0 and (k % 3 != 1)`.
static KernelCase allowedCase(int width, bool oneQuery) {
  std::string type = oneQuery ? "tensor<?x1x?xi32, #attn.axes<batch, query, key>>"
                              : "tensor<?x?x?xi32, #attn.axes<batch, query, key>>";
  KernelCase result = conditionCase({"attention_condition", type, R"(
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %given = attn.element %table_[%b, %at, %to] : )" + type + R"(
    %isAllowed = arith.cmpi ne, %given, %zero : i32
    %whole = arith.floordivsi %to, %three : i32
    %product = arith.muli %whole, %three : i32
    %rest = arith.subi %to, %product : i32
    %isThird = arith.cmpi ne, %rest, %one : i32
    %isSeen = arith.andi %isAllowed, %isThird : i1
)"},
                                    width, oneQuery);
  result.hidden = {3};
  return result;
}

/// Documents of 150 positions, one after the other: `q // 150 == k // 150`. Queries from 150 on do not see
/// one of three keys.
static KernelCase documentsCase(int width, bool oneQuery, bool inWindow = false) {
  KernelCase result =
      conditionCase({inWindow ? "attention_documents_window" : "attention_documents", "tensor<1xi32>", R"(
    %length = arith.constant 150 : i32
    %own = arith.floordivsi %at, %length : i32
    %other = arith.floordivsi %to, %length : i32
    %isSeen = arith.cmpi eq, %own, %other : i32
)",
                     inWindow},
                    width, oneQuery);
  if (!oneQuery)
    for (Sizes sizes : sizesOf({{1, 300, 3}, {1, 513, 513}}))
      result.sizes.push_back(sizes);
  return result;
}

/// An expression that hides keys by its value: `select(k - q > 40, -inf, min(s, table[h])) + table[h]`, table
/// not above 1. Few of 7 queries' keys are in the first block, none in others.
static KernelCase selectedCase(int width) {
  return mapCase({"attention_selected", "tensor<2xf32>", R"(
    %far = arith.constant 40 : i32
    %infinity = arith.constant 0x7F800000 : f32
    %masked = arith.negf %infinity : f32
    %most = attn.element %table_[%h] : tensor<2xf32>
    %least = arith.minimumf %score, %most : f32
    %after = arith.subi %to, %at : i32
    %isFar = arith.cmpi sgt, %after, %far : i32
    %chosen = arith.select %isFar, %masked, %least : f32
    %sum = arith.addf %chosen, %most : f32
)"},
                 width, false);
}

static KernelCase windowCase(int width, int64_t before, const std::string &after, bool oneQuery) {
  AttentionText text;
  text.width = text.valueWidth = width, text.oneQuery = oneQuery;
  if (oneQuery)
    text.inputs = {"%starts: " + AttentionText::ids()};
  std::string lines = text.products() + windowMask(text, "%s", "%0", before, after);
  KernelCase result{"attention_window_" + std::to_string(width) + "_" + std::to_string(before) + "_" + after +
                        (oneQuery ? "_step" : ""),
                    text.kernel(lines),
                    sizesOf({{1, 1, 1}, {3, 7, 37}, {1, 513, 513}, {2, 300, 3}}, oneQuery),
                    2 * width * U + 2e-6,
                    {},
                    {}};
  if (oneQuery)
    result.idSizes[3] = "key";
  return result;
}

static KernelCase prefixCase(int width) {
  AttentionText text;
  text.width = text.valueWidth = width;
  text.inputs = {"%lengths: " + AttentionText::ids()};
  std::string lines = text.products() + "  %s = attn.prefix_mask %0, %lengths : (" + text.scores() + ", " +
                      AttentionText::ids() + ") -> " + text.scores() + "\n";
  KernelCase result{"attention_prefix_" + std::to_string(width),
                    text.kernel(lines),
                    sizesOf({{1, 1, 1}, {3, 3, 40}, {1, 7, 513}, {3, 150, 150}}),
                    2 * width * U + 2e-6,
                    {},
                    {}};
  result.lengths[3] = "key";
  return result;
}

static KernelCase groupedCase(int heads, int keyHeads, int width, int valueWidth, bool oneQuery) {
  AttentionText text;
  text.heads = heads, text.keyHeads = keyHeads, text.width = width, text.valueWidth = valueWidth;
  text.oneQuery = oneQuery;
  std::string lines = text.products() + "  %s = attn.scale %0 by 2.5e-1 : " + text.scores() + "\n";
  return {"attention_" + std::to_string(heads) + "_over_" + std::to_string(keyHeads) + "_" +
              std::to_string(width) + "x" + std::to_string(valueWidth) + (oneQuery ? "_step" : ""),
          text.kernel(lines),
          sizesOf({{1, 1, 1}, {1, 3, 513}, {2, 7, 130}}, oneQuery),
          2 * width * U + 2e-6,
          {},
          {}};
}

std::vector<KernelCase> scoreCases() {
  std::vector<KernelCase> cases = {
      additiveCase(3, false, false),    additiveCase(64, true, false),    additiveCase(64, false, true),
      windowCase(64, 3, "0", false),    windowCase(64, 140, "5", false),  windowCase(20, 200, "", false),
      windowCase(4, 130, "0", true),    windowCase(72, 2, "0", true),     windowCase(80, 0, "3", false),
      groupedCase(8, 2, 64, 64, false), groupedCase(4, 1, 20, 20, false), groupedCase(6, 3, 72, 72, true),
      groupedCase(4, 2, 80, 80, true),  groupedCase(2, 1, 4, 4, false),   groupedCase(2, 2, 20, 72, false),
      groupedCase(2, 1, 72, 4, true)};
  for (int width : {4, 20, 72, 80}) {
    // One query has kernels of its own; two of the widths go to them.
    bool oneQuery = width == 20 || width == 80;
    cases.push_back(additiveCase(width, width > 20, oneQuery));
    for (const MapText &map : {softcapMap(), alibiMap(), bucketMap(false), bucketMap(true)}) {
      cases.push_back(mapCase(map, width, oneQuery));
      if (width == 20)
        cases.push_back(mapCase(map, width, false));
    }
    cases.push_back(addedCase(width, oneQuery));
    cases.push_back(allowedCase(width, oneQuery));
    cases.push_back(documentsCase(width, oneQuery));
    cases.push_back(prefixCase(width));
  }
  cases.push_back(additiveCase(20, false, false));
  for (int width : {20, 64}) {
    cases.push_back(addedCase(width, false));
    cases.push_back(allowedCase(width, false));
    cases.push_back(documentsCase(width, false));
    cases.push_back(selectedCase(width));
    cases.push_back(documentsCase(width, width == 20, true));
  }
  return cases;
}

//===----------------------------------------------------------------------===//
// Rows of heads
//===----------------------------------------------------------------------===//

static std::string headsType(int width) {
  return "tensor<?x2x?x" + std::to_string(width) + "xf32, #attn.axes<batch, head, query, width>>";
}

static const std::vector<Sizes> headSizes = {
    {{"batch", 1}, {"query", 1}}, {{"batch", 3}, {"query", 7}}, {{"batch", 1}, {"query", 513}}};

/// Sine and cosine in the table are in [-1, 1]: two products and a sum of elements in [-1, 1].
static KernelCase rotaryCase(int width, int turned, bool interleaved, bool hasStarts) {
  std::string type = headsType(width), table = "tensor<600x" + std::to_string(turned) + "xf32>";
  std::string ids = "tensor<?xi32, #attn.axes<batch>>";
  std::string text = "attn.kernel @k {\n^bb0(%x: " + type + ", %table: " + table +
                     (hasStarts ? ", %starts: " + ids : "") + "):\n  %y = attn.rotary %x, %table" +
                     (hasStarts ? " from %starts" : "") + (interleaved ? " interleaved" : "") + " : (" +
                     type + ", " + table + (hasStarts ? ", " + ids : "") + ") -> " + type +
                     "\n  attn.yield %y : " + type + "\n}\n";
  KernelCase result{"rotary_" + std::to_string(turned) + "_of_" + std::to_string(width) +
                        (interleaved ? "_interleaved" : "_halves") + (hasStarts ? "_starts" : ""),
                    text,
                    headSizes,
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
  std::vector<KernelCase> cases = {
      rotaryCase(20, 20, true, false),
      rotaryCase(20, 20, false, true),
      rotaryCase(20, 8, true, true),
      rotaryCase(20, 12, false, false),
      rotaryCase(4, 4, true, true),
      rotaryCase(72, 36, false, true),
      rotaryCase(80, 80, true, false),
      l2NormCase("tensor<?x72xf32, #attn.axes<row, width>>", {{{"row", 1}}, {{"row", 37}}}, "l2_norm_rows")};
  for (int width : {4, 20, 72, 80})
    cases.push_back(l2NormCase(headsType(width), headSizes, "l2_norm_heads_" + std::to_string(width)));
  return cases;
}

} // namespace attnc::test
