//===- KernelCases.cpp - kernels under test, by archetype -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tolerances: with inputs in [-1, 1] and weights in [-1, 1] / sqrt(k), a sum of k products has terms of 1/4
// sqrt(k) in all, and its rounding error stays below 4 sqrt(k) u times that (Higham and Mary 2019 with factor
// 4) = k u, u = 2^-24. What follows adds its own: a norm divides by the spread of the row (about 1/3),
// functions add a few u.

#include "tests/kernels/KernelText.h"

#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <stdexcept>

namespace attnc::test {

using reference::Array;

//===----------------------------------------------------------------------===//
// Matmul with epilogue
//===----------------------------------------------------------------------===//

static KernelCase linearCase(int in, int out, const std::string &activation) {
  std::string suffix = activation.empty() ? "" : "_" + activation;
  std::string text = "attn.kernel @k {\n^bb0(%x: " + rows(in) + ", %w: " + matrix(out, in) +
                     ", %b: " + vector(out) + "):\n  %0 = attn.linear %x, %w bias %b : (" + rows(in) + ", " +
                     matrix(out, in) + ", " + vector(out) + ") -> " + rows(out) + "\n";
  std::string last = "%0";
  if (!activation.empty()) {
    text += "  %1 = attn.activation " + activation + " %0 : " + rows(out) + "\n";
    last = "%1";
  }
  text += "  attn.yield " + last + " : " + rows(out) + "\n}\n";
  return {"linear_" + std::to_string(in) + "x" + std::to_string(out) + suffix,
          text,
          rowSizes({1, 3, 7, 8, 9, 16, 17, 37}),
          in * U + 2e-6,
          {},
          {}};
}

/// A type whose elements are bfloat16.
static std::string rounded(const std::string &type) {
  return std::regex_replace(type, std::regex("xf32"), "xbf16");
}

static KernelCase linearWithoutBias(int in, int out) {
  std::string text = "attn.kernel @k {\n^bb0(%x: " + rows(in) + ", %w: " + matrix(out, in) +
                     "):\n  %0 = attn.linear %x, %w : (" + rows(in) + ", " + matrix(out, in) + ") -> " +
                     rows(out) + "\n  %1 = attn.scale %0 by 5.0e-1 : " + rows(out) +
                     "\n  attn.yield %0, %1 : " + rows(out) + ", " + rows(out) + "\n}\n";
  return {"linear_two_results", text, rowSizes({1, 9}), in * U + 1e-6, {}, {}};
}

static KernelCase linearNorm(int in, int out, bool layer) {
  std::string norm = layer ? "attn.layer_norm %1, %g bias %c epsilon 1.0e-5 : (" + rows(out) + ", " +
                                 vector(out) + ", " + vector(out) + ") -> " + rows(out)
                           : "attn.rms_norm %1, %g epsilon 1.0e-6 : (" + rows(out) + ", " + vector(out) +
                                 ") -> " + rows(out);
  std::string text = "attn.kernel @k {\n^bb0(%x: " + rows(in) + ", %w: " + matrix(out, in) +
                     ", %b: " + vector(out) + ", %r: " + rows(out) + ", %g: " + vector(out) +
                     ", %c: " + vector(out) + "):\n  %0 = attn.linear %x, %w bias %b : (" + rows(in) + ", " +
                     matrix(out, in) + ", " + vector(out) + ") -> " + rows(out) +
                     "\n  %1 = attn.add %0, %r : " + rows(out) + "\n  %2 = " + norm +
                     "\n  attn.yield %1, %2 : " + rows(out) + ", " + rows(out) + "\n}\n";
  return {std::string(layer ? "linear_layer_norm_" : "linear_rms_norm_") + std::to_string(out),
          text,
          rowSizes({1, 3, 9, 37}),
          6 * (in * U + 1e-6),
          {},
          {}};
}

/// activation(x w + b) * (x v + c): errors of both linears, each grown by the other's size (about 3 here).
static KernelCase gatedCase(int in, int out, const std::string &activation, bool hasBias) {
  std::string types =
      "(" + rows(in) + ", " + matrix(out, in) + (hasBias ? ", " + vector(out) : "") + ") -> " + rows(out);
  std::string text = "attn.kernel @k {\n^bb0(%x: " + rows(in) + ", %w: " + matrix(out, in) +
                     (hasBias ? ", %b: " + vector(out) : "") + ", %v: " + matrix(out, in) +
                     (hasBias ? ", %c: " + vector(out) : "") + "):\n  %0 = attn.linear %x, %w" +
                     (hasBias ? " bias %b" : "") + " : " + types + "\n  %1 = attn.activation " + activation +
                     " %0 : " + rows(out) + "\n  %2 = attn.linear %x, %v" + (hasBias ? " bias %c" : "") +
                     " : " + types + "\n  %3 = attn.mul %1, %2 : " + rows(out) +
                     "\n  attn.yield %3 : " + rows(out) + "\n}\n";
  return {"gated_" + std::to_string(in) + "x" + std::to_string(out) + "_" + activation,
          text,
          rowSizes({1, 3, 7, 9, 37, 513}),
          8 * (in * U + 1e-6),
          {},
          {}};
}

/// A case whose last result is rounded. What is next to the middle of two bfloat16 may go either way, which
/// makes a difference of `step`.
static KernelCase withRoundedResult(KernelCase kernelCase, const std::string &type, double step) {
  std::string &text = kernelCase.text;
  size_t yield = text.find("  attn.yield"), colon = text.find(" : ", yield), last = text.rfind('%', colon);
  const std::string value = text.substr(last, colon - last);
  text.replace(text.rfind(type), type.size(), rounded(type));
  text.replace(last, value.size(), "%rounded");
  text.insert(yield, "  %rounded = attn.round " + value + " : (" + type + ") -> " + rounded(type) + "\n");
  kernelCase.name += "_rounded";
  kernelCase.tolerance += step;
  return kernelCase;
}

/// Of rows of numbers below 8.
static KernelCase withRoundedRows(KernelCase kernelCase, int width) {
  return withRoundedResult(std::move(kernelCase), rows(width), 0x1p-5);
}

/// Of attention's context, means of numbers in [-1, 1].
static KernelCase withRoundedContext(KernelCase kernelCase, const std::string &type) {
  return withRoundedResult(std::move(kernelCase), type, 0x1p-8);
}

std::vector<KernelCase> matmulCases() {
  return {linearCase(512, 512, "relu"),
          linearCase(520, 516, ""), // more than 1 MiB of weights: tiles of their own
          linearCase(20, 5, ""),
          linearCase(1, 40, ""),
          linearCase(3, 33, ""),
          linearCase(16, 40, ""),
          linearCase(557, 40, ""), // of floats a block of inputs and a short one
          withRoundedRows(linearCase(72, 43, ""), 43),
          withRoundedRows(linearNorm(72, 80, true), 80),
          withRoundedRows(gatedCase(64, 43, "silu", true), 43),
          linearCase(43, 20, "gelu"),
          linearCase(72, 43, "silu"),
          linearCase(64, 72, "tanh"),
          linearCase(5, 544, "gelu_tanh"),
          linearCase(2048, 64, "sigmoid"),
          linearWithoutBias(20, 43),
          linearNorm(64, 512, true),
          linearNorm(20, 20, true),
          linearNorm(72, 43, false),
          gatedCase(20, 43, "relu", true),
          gatedCase(72, 80, "gelu_tanh", false),
          gatedCase(64, 544, "silu", true)};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static std::string heads(const std::string &batch, int head, const std::string &length, int width) {
  std::string extent = length.empty() ? "1" : "?";
  return "tensor<?x" + std::to_string(head) + "x" + extent + "x" + std::to_string(width) +
         "xf32, #attn.axes<" + batch + ", head, " + (length.empty() ? "query" : length) + ", width>>";
}
static std::string cacheOf(int head, int width) {
  return "tensor<?x?x" + std::to_string(head) + "x" + std::to_string(width) +
         "xf32, #attn.axes<slot, capacity, head, width>>";
}
static std::string scores(const std::string &batch, int head, const std::string &query,
                          const std::string &key) {
  return "tensor<?x" + std::to_string(head) + "x" + (query.empty() ? "1" : "?") + "x?xf32, #attn.axes<" +
         batch + ", head, " + (query.empty() ? "query" : query) + ", " + key + ">>";
}

/// Scale, masks and softmax from %0 on; the result is %5.
static std::string softmaxText(const std::string &type, int width, bool causal, const std::string &lengths) {
  std::string factor = std::to_string(1 / std::sqrt(double(width)));
  std::string text = "  %1 = attn.scale %0 by " + factor + " : " + type + "\n";
  std::string last = "%1";
  if (causal) {
    text += "  %2 = attn.causal_mask %1 : " + type + "\n";
    last = "%2";
  }
  if (!lengths.empty()) {
    text +=
        "  %3 = attn.padding_mask " + last + ", %lengths : (" + type + ", " + lengths + ") -> " + type + "\n";
    last = "%3";
  }
  return text + "  %5 = attn.softmax " + last + " : " + type + "\n";
}

/// A weighted mean of values in [-1, 1]: errors of scores (at most 1 after scaling, width products) move
/// weights by as much, relatively; the sum over keys of positive weights adds a few u.
static double attentionTolerance(int width) { return 2 * width * U + 2e-6; }

static KernelCase attentionCase(int width, bool causal, bool padding, std::vector<Sizes> sizes) {
  std::string q = heads("batch", 2, "query", width), k = heads("batch", 2, causal ? "query" : "key", width);
  std::string s = scores("batch", 2, "query", causal ? "query" : "key");
  std::string lengths = padding ? "tensor<?xi32, #attn.axes<batch>>" : "";
  std::string text = "attn.kernel @k {\n^bb0(%q: " + q + ", %k: " + k + ", %v: " + k +
                     (padding ? ", %lengths: " + lengths : "") +
                     "):\n  %0 = attn.matmul %q, %k transposed : (" + q + ", " + k + ") -> " + s + "\n" +
                     softmaxText(s, width, causal, lengths) + "  %6 = attn.matmul %5, %v : (" + s + ", " + k +
                     ") -> " + q + "\n  attn.yield %6 : " + q + "\n}\n";
  KernelCase result{"attention_" + std::to_string(width) + (causal ? "_causal" : "") +
                        (padding ? "_padding" : ""),
                    text,
                    std::move(sizes),
                    attentionTolerance(width),
                    {},
                    {}};
  if (padding)
    result.idSizes[3] = causal ? "query" : "key";
  return result;
}

namespace {
struct StepHeads {
  int width = 64;
  bool isRounded = false;
  int heads = 2, ofKeys = 2, valueWidth = width;
  int before = -1; // keys that a window shows before a row's own; none: all
};
} // namespace

static KernelCase selfStep(const StepHeads &step) {
  std::string q = heads("row", step.heads, "", step.width), keys = cacheOf(step.ofKeys, step.width),
              values = cacheOf(step.ofKeys, step.valueWidth),
              seen = heads("row", step.ofKeys, "history", step.width),
              mixed = heads("row", step.ofKeys, "history", step.valueWidth),
              context = heads("row", step.heads, "", step.valueWidth),
              s = scores("row", step.heads, "", "history");
  if (step.isRounded)
    for (std::string *held : {&keys, &values, &seen, &mixed})
      *held = rounded(*held);
  std::string table = "tensor<?x?xi32, #attn.axes<row, capacity>>", ids = "tensor<?xi32, #attn.axes<row>>";
  std::string softmax = softmaxText(s, step.width, false, ids);
  if (step.before >= 0)
    softmax.replace(softmax.find("%5 = attn.softmax %3"), 20,
                    "%4 = attn.window_mask %3 from %starts before " + std::to_string(step.before) + " : (" +
                        s + ", " + ids + ") -> " + s + "\n  %5 = attn.softmax %4");
  std::string text = "attn.kernel @k {\n^bb0(%q: " + q + ", %keys: " + keys + ", %values: " + values +
                     ", %a: " + table + ", %lengths: " + ids + ", %starts: " + ids +
                     "):\n  %k = attn.lookup %keys, %a : (" + keys + ", " + table + ") -> " + seen +
                     "\n  %v = attn.lookup %values, %a : (" + values + ", " + table + ") -> " + mixed +
                     "\n  %0 = attn.matmul %q, %k transposed : (" + q + ", " + seen + ") -> " + s + "\n" +
                     softmax + "  %6 = attn.matmul %5, %v : (" + s + ", " + mixed + ") -> " + context +
                     "\n  attn.yield %6 : " + context + "\n}\n";
  std::string name = "attention_step_" + std::to_string(step.width);
  if (step.valueWidth != step.width)
    name += "x" + std::to_string(step.valueWidth);
  if (step.heads != 2)
    name += "_" + std::to_string(step.heads) + "_over_" + std::to_string(step.ofKeys);
  if (step.before >= 0)
    name += "_window_" + std::to_string(step.before);
  return {name + (step.isRounded ? "_bf16" : ""),
          text,
          {{{"row", 1}, {"slot", 2}, {"capacity", 1}, {"history", 1}},
           {{"row", 3}, {"slot", 5}, {"capacity", 40}, {"history", 40}},
           {{"row", 2}, {"slot", 3}, {"capacity", 300}, {"history", 300}},
           {{"row", 5}, {"slot", 5}, {"capacity", 513}, {"history", 513}}},
          attentionTolerance(step.width),
          {},
          {{3, "row"}, {4, "capacity"}, {5, "capacity"}}};
}

static KernelCase crossStep(int width, bool isRounded) {
  std::string q = heads("row", 2, "", width), source = heads("batch", 2, "source", width);
  std::string taken = heads("row", 2, "source", width);
  if (isRounded)
    source = rounded(source), taken = rounded(taken);
  std::string s = scores("row", 2, "", "source");
  std::string ids = "tensor<?xi32, #attn.axes<row>>", perBatch = "tensor<?xi32, #attn.axes<batch>>";
  std::string text = "attn.kernel @k {\n^bb0(%q: " + q + ", %keys: " + source + ", %values: " + source +
                     ", %sources: " + ids + ", %all: " + perBatch +
                     "):\n  %k = attn.take %keys, %sources : (" + source + ", " + ids + ") -> " + taken +
                     "\n  %v = attn.take %values, %sources : (" + source + ", " + ids + ") -> " + taken +
                     "\n  %lengths = attn.take %all, %sources : (" + perBatch + ", " + ids + ") -> " + ids +
                     "\n  %0 = attn.matmul %q, %k transposed : (" + q + ", " + taken + ") -> " + s + "\n" +
                     softmaxText(s, width, false, ids) + "  %6 = attn.matmul %5, %v : (" + s + ", " + taken +
                     ") -> " + q + "\n  attn.yield %6 : " + q + "\n}\n";
  return {"attention_cross_step_" + std::to_string(width) + (isRounded ? "_bf16" : ""),
          text,
          {{{"row", 1}, {"batch", 1}, {"source", 7}},
           {{"row", 3}, {"batch", 2}, {"source", 257}},
           {{"row", 6}, {"batch", 3}, {"source", 130}}},
          attentionTolerance(width),
          {},
          {{3, "batch"}, {4, "source"}}};
}

static KernelCase attendCase() {
  std::string q = heads("batch", 2, "target", 20), k = heads("batch", 2, "source", 20);
  std::string s = scores("batch", 2, "target", "source"), lengths = "tensor<?xi32, #attn.axes<batch>>";
  std::string mean = "tensor<?x?x?xf32, #attn.axes<batch, target, source>>";
  std::string text = "attn.kernel @k {\n^bb0(%q: " + q + ", %k: " + k + ", %lengths: " + lengths +
                     "):\n  %0 = attn.matmul %q, %k transposed : (" + q + ", " + k + ") -> " + s + "\n" +
                     softmaxText(s, 20, false, lengths) + "  %6 = attn.mean_heads %5 : (" + s + ") -> " +
                     mean + "\n  attn.yield %6 : " + mean + "\n}\n";
  return {"attend",
          text,
          {{{"batch", 3}, {"target", 5}, {"source", 37}}, {{"batch", 1}, {"target", 1}, {"source", 1}}},
          attentionTolerance(20),
          {},
          {{2, "source"}}};
}

std::vector<KernelCase> attentionCases() {
  auto lengths = [](int64_t batch, int64_t query, int64_t key) {
    return Sizes{{"batch", batch}, {"query", query}, {"key", key}};
  };
  std::vector<KernelCase> cases;
  for (int width : {4, 20, 72, 80, 128})
    cases.push_back(attentionCase(
        width, false, true, {lengths(1, 1, 1), lengths(1, 3, 513), lengths(3, 7, 37), lengths(3, 33, 140)}));
  cases.push_back(attentionCase(64, false, true, {lengths(1, 1, 1), lengths(4, 37, 37), lengths(2, 5, 513)}));
  cases.push_back(attentionCase(64, false, false, {lengths(1, 3, 3), lengths(2, 40, 129)}));
  cases.push_back(
      attentionCase(64, true, false, {lengths(1, 1, 1), lengths(2, 37, 37), lengths(1, 513, 513)}));
  cases.push_back(attentionCase(20, true, true, {lengths(1, 8, 8), lengths(4, 150, 150)}));
  cases.push_back(attentionCase(3, true, false, {lengths(2, 7, 7)}));
  for (bool isRounded : {false, true}) {
    for (int width : {4, 20, 64, 80})
      cases.push_back(selfStep({width, isRounded}));
    cases.push_back(selfStep({.isRounded = isRounded, .heads = 20, .ofKeys = 4}));
    for (int heads : {7, 17}) // tasks do not divide them
      cases.push_back(selfStep({.isRounded = isRounded, .heads = heads, .ofKeys = heads}));
    cases.push_back(selfStep({.width = 96, .isRounded = isRounded, .valueWidth = 160}));
    for (int before : {5, 140})
      cases.push_back(selfStep({.isRounded = isRounded, .before = before}));
    for (int width : {72, 128})
      cases.push_back(crossStep(width, isRounded));
    for (int width : {20, 64})
      cases.push_back(withRoundedContext(selfStep({width, isRounded}), heads("row", 2, "", width)));
    cases.push_back(withRoundedContext(crossStep(72, isRounded), heads("row", 2, "", 72)));
  }
  cases.push_back(attendCase());
  return cases;
}

/// Both products may be of bfloat16 (u = 2^-8). Elements are even in [-1, 1], so products of two rounded ones
/// err by a third of sqrt(2 / 3) u in the mean (square), and scores, sums of `width` of them by 1 /
/// sqrt(width), by as much: six times that are 1.6 u. Weights err by as much, relatively, and by u, and
/// values by u: in a mean of values in [-1, 1] these are less than 4 u.
static KernelCase rounded(KernelCase kernelCase) {
  size_t at = 0;
  while ((at = kernelCase.text.find("attn.matmul", at)) != std::string::npos) {
    at = kernelCase.text.find(" : ", at);
    kernelCase.text.insert(at, " rounded");
  }
  kernelCase.name += "_rounded";
  kernelCase.roundedRows = 0x1p-6;
  return kernelCase;
}

/// Queries, keys, values and the context lie in memory as bfloat16.
static KernelCase ofRounded(const KernelCase &exact, int width) {
  const std::string q = heads("batch", 2, "query", width);
  KernelCase result = rounded(withRoundedContext(exact, q));
  const std::regex held("xf32, #attn.axes<batch, head, (query|key), width>>");
  result.text = std::regex_replace(result.text, held, "xbf16, #attn.axes<batch, head, $1, width>>");
  // But what is rounded into it is a sum of floats.
  for (const char *of : {"attn.matmul %5, %v", "attn.round %6"}) {
    size_t at = result.text.find(of), end = result.text.find('\n', at);
    size_t sum = std::string(of) == "attn.round %6" ? result.text.find("xbf16", at)
                                                    : result.text.find("xbf16", result.text.find("->", at));
    if (at == std::string::npos || sum > end)
      throw std::logic_error("no context is rounded");
    result.text.replace(sum, 5, "xf32");
  }
  result.name += "_of_bf16";
  return result;
}

std::vector<KernelCase> roundedAttentionCases() {
  std::vector<KernelCase> cases;
  for (const KernelCase &kernelCase : attentionCases())
    if (kernelCase.sizes.front().count("query"))
      cases.push_back(rounded(kernelCase));
  // Keys that have a start, masks that are looked at, scores that are changed, and heads that share keys.
  const std::set<std::string> others = {"attention_window_64_140_5", "attention_documents_window_64",
                                        "attention_alibi_72",        "attention_prefix_80",
                                        "attention_8_over_2_64x64",  "attention_2_over_2_20x72"};
  size_t found = 0;
  for (const KernelCase &kernelCase : scoreCases())
    if (others.count(kernelCase.name)) {
      cases.push_back(rounded(kernelCase));
      ++found;
    }
  if (found != others.size())
    throw std::logic_error("a case that is to be rounded has another name");
  // Keys and values that are rounded in memory.
  const std::regex key("xf32, #attn.axes<batch, head, key, width>>");
  for (size_t i = 0, count = cases.size(); i < count; ++i)
    if (std::string text =
            std::regex_replace(cases[i].text, key, "xbf16, #attn.axes<batch, head, key, width>>");
        text != cases[i].text) {
      cases.push_back(cases[i]);
      cases.back().name += "_of_bf16";
      cases.back().text = text;
    }
  auto lengths = [](int64_t batch, int64_t query) {
    return Sizes{{"batch", batch}, {"query", query}, {"key", query}};
  };
  for (int width : {3, 72, 64, 20})
    for (bool causal : {false, true})
      cases.push_back(ofRounded(
          attentionCase(width, causal, !causal, {lengths(1, 1), lengths(3, 37), lengths(2, 300)}), width));
  return cases;
}

/// As a graph's attention, with up to four queries, which are worked on one by one, and with one more; over
/// keys that fill tiles and blocks, and that do not.
static KernelCase ofGraph(KernelCase kernelCase) {
  const std::string kernel = "attn.kernel @k ";
  kernelCase.text.insert(kernelCase.text.find(kernel) + kernel.size(), "attributes {attn.graph} ");
  kernelCase.name += "_of_graph";
  const bool hasKeys = kernelCase.sizes.front().count("key");
  kernelCase.sizes.clear();
  for (const std::array<int64_t, 3> &size :
       {std::array<int64_t, 3>{1, 1, 1}, {3, 1, 37}, {1, 4, 128}, {3, 3, 513}, {2, 5, 140}}) {
    kernelCase.sizes.push_back({{"batch", size[0]}, {"query", size[1]}});
    if (hasKeys)
      kernelCase.sizes.back()["key"] = size[2];
  }
  return kernelCase;
}

std::vector<KernelCase> graphAttentionCases() {
  const std::set<std::string> names = {
      "attention_4_padding",           "attention_20_padding", "attention_72_padding",
      "attention_80_padding",          "attention_3_causal",   "attention_window_64_140_5",
      "attention_documents_window_64", "attention_alibi_72",   "attention_8_over_2_64x64",
      "attention_additive_20"};
  std::vector<KernelCase> cases;
  for (const std::vector<KernelCase> &all : {attentionCases(), scoreCases()})
    for (const KernelCase &kernelCase : all)
      if (names.count(kernelCase.name))
        cases.push_back(ofGraph(kernelCase));
  if (cases.size() != names.size())
    throw std::logic_error("a case that is to be of a graph has another name");
  return cases;
}

std::vector<KernelCase> roundedGraphAttentionCases() {
  std::vector<KernelCase> cases;
  for (const KernelCase &kernelCase : graphAttentionCases())
    for (const char *name : {"attention_80_padding", "attention_window_64", "attention_8_over_2"})
      if (kernelCase.name.rfind(name, 0) == 0)
        cases.push_back(rounded(kernelCase));
  return cases;
}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

KernelCase vocabularyCase(int in, int words, const std::string &what) {
  std::string x = rows(in), w = matrix(words, in), l = rows(words), b = vector(words);
  std::string panels = std::to_string((words + 31) / 32);
  std::string scratch = "tensor<?x" + panels + "xf32, #attn.axes<row, panel>>";
  std::string head = "attn.kernel @k ";
  if (what == "top_k" || what == "pick")
    head += "scratch [" + scratch + ", " + scratch + "] ";
  std::string ids = "tensor<?xi32, #attn.axes<row>>", picked = "tensor<?xf32, #attn.axes<row>>";
  std::string best = "tensor<?x?xf32, #attn.axes<row, candidate>>",
              words32 = "tensor<?x?xi32, #attn.axes<row, candidate>>";
  std::string text = head + "{\n^bb0(%x: " + x + ", %w: " + w + ", %b: " + b +
                     (what == "pick" ? ", %ids: " + ids : "") + "):\n  %0 = attn.linear %x, %w bias %b : (" +
                     x + ", " + w + ", " + b + ") -> " + l + "\n";
  text += what == "log_sum_exp" ? "  %1 = attn.log_sum_exp %0 : (" + l + ") -> " + picked + "\n"
                                : "  %1 = attn.log_softmax %0 : " + l + "\n";
  if (what == "log_sum_exp")
    text += "  attn.yield %0, %1 : " + l + ", " + picked + "\n}\n";
  else if (what == "top_k")
    text += "  %2, %3 = attn.top_k %1 : (" + l + ") -> (" + best + ", " + words32 +
            ")\n  attn.yield %2, %3 : " + best + ", " + words32 + "\n}\n";
  else if (what == "pick")
    text += "  %2 = attn.pick %1, %ids : (" + l + ", " + ids + ") -> " + picked +
            "\n  attn.yield %2 : " + picked + "\n}\n";
  else
    text += "  attn.yield %1 : " + l + "\n}\n";
  KernelCase result{"vocabulary_" + std::to_string(words) + (what.empty() ? "" : "_" + what),
                    text,
                    {},
                    2 * in * U + 4e-6,
                    {},
                    {}};
  std::vector<int64_t> most = {1, 5, 43};
  if (words > 70) // more than the search bounds from below
    most.push_back(70);
  for (int64_t count : {1, 3, 9, 19})
    for (int64_t candidates : most) {
      if (what != "top_k" && candidates != 1)
        continue;
      result.sizes.push_back({{"row", count}, {"candidate", candidates}});
    }
  if (what == "pick")
    result.idLimits[3] = words;
  return result;
}

std::vector<KernelCase> vocabularyCases() {
  std::vector<KernelCase> cases;
  for (const char *what : {"", "top_k", "pick", "log_sum_exp"}) {
    cases.push_back(vocabularyCase(20, 43, what));
    cases.push_back(vocabularyCase(64, 3200, what));
  }
  // So many panels that what a row's search keeps of each is more than Halide puts on the stack by itself.
  cases.push_back(vocabularyCase(4, 131105, "top_k"));
  cases.back().sizes = {{{"row", 3}, {"candidate", 5}}};
  return cases;
}

std::vector<KernelCase> narrowVocabularyCases() {
  return {vocabularyCase(20, 33, "pick"),       vocabularyCase(20, 40, ""),
          vocabularyCase(20, 5, "log_sum_exp"), vocabularyCase(20, 43, "top_k"),
          vocabularyCase(20, 64, "pick"),       vocabularyCase(20, 100, "top_k"),
          vocabularyCase(256, 74, "top_k"),     vocabularyCase(272, 1010, "top_k")};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static KernelCase embeddingCase(bool packed, bool step) {
  std::string batch = step ? "row" : "batch", query = step ? "1" : "?";
  std::string ids = "tensor<?x" + query + "xi32, #attn.axes<" + batch + ", query>>";
  std::string x = "tensor<?x" + query + "x20xf32, #attn.axes<" + batch + ", query, width>>";
  std::string starts = "tensor<?xi32, #attn.axes<row>>";
  std::string table = matrix(43, 20, packed), positions = matrix(64, 20, false);
  std::string add = step ? "%table from %starts : (" + x + ", " + positions + ", " + starts + ")"
                         : "%table {offset = 2 : i64} : (" + x + ", " + positions + ")";
  std::string text = "attn.kernel @k {\n^bb0(%ids: " + ids + ", %w: " + table + ", %table: " + positions +
                     ", %g: tensor<20xf32>, %c: tensor<20xf32>" + (step ? ", %starts: " + starts : "") +
                     "):\n  %0 = attn.embed %ids, %w : (" + ids + ", " + table + ") -> " + x +
                     "\n  %1 = attn.scale %0 by 4.0 : " + x + "\n  %2 = attn.add_positions %1, " + add +
                     " -> " + x + "\n  %3 = attn.layer_norm %2, %g bias %c epsilon 1.0e-5 : (" + x +
                     ", tensor<20xf32>, tensor<20xf32>) -> " + x + "\n  attn.yield %2, %3 : " + x + ", " + x +
                     "\n}\n";
  KernelCase result{std::string("embedding") + (packed ? "_packed" : "") + (step ? "_step" : ""),
                    text,
                    {},
                    4e-6,
                    {{0, 43}, {5, 64}},
                    {}};
  result.sizes = step ? rowSizes({1, 5})
                      : std::vector<Sizes>{{{"batch", 1}, {"query", 1}}, {{"batch", 3}, {"query", 19}}};
  return result;
}

static KernelCase simple(const std::string &name, const std::string &arguments, const std::string &body,
                         std::vector<Sizes> sizes, double tolerance) {
  return {
      name, "attn.kernel @k {\n^bb0(" + arguments + "):\n" + body + "}\n", std::move(sizes), tolerance, {},
      {}};
}

/// What a recurrence needs besides its cell.
static std::vector<KernelCase> stateCases() {
  std::string x = rows(20), y = rows(72), ids = "tensor<?xi32, #attn.axes<row>>";
  std::vector<KernelCase> cases;
  cases.push_back(simple("concat", "%x: " + x + ", %y: " + y,
                         "  %0 = attn.concat %x, %y, %x : (" + x + ", " + y + ", " + x + ") -> " + rows(112) +
                             "\n  attn.yield %0 : " + rows(112) + "\n",
                         rowSizes({1, 3, 37}), 0));
  std::string initial = "tensor<?x1x20xf32, #attn.axes<row, query, width>>";
  std::string ring = "tensor<?x2x1x20xf32, #attn.axes<slot, ring, head, width>>";
  std::string table = "tensor<?x?xi32, #attn.axes<row, capacity>>";
  std::vector<Sizes> sizes = {{{"row", 1}, {"slot", 2}, {"capacity", 1}},
                              {{"row", 5}, {"slot", 5}, {"capacity", 17}}};
  cases.push_back(simple("recall", "%c: " + ring + ", %a: " + table + ", %p: " + ids + ", %i: " + initial,
                         "  %0 = attn.recall %c, %a at %p else %i : (" + ring + ", " + table + ", " + ids +
                             ", " + initial + ") -> " + initial + "\n  attn.yield %0 : " + initial + "\n",
                         sizes, 0));
  cases.back().idSizes = {{1, "row"}, {2, "capacity"}};
  std::string fresh = "tensor<?x1x1x20xf32, #attn.axes<row, head, query, width>>";
  cases.push_back(simple("append_to_ring", "%f: " + fresh + ", %c: " + ring + ", %p: " + ids,
                         "  %0 = attn.append %f, %c at %p : (" + fresh + ", " + ring + ", " + ids + ") -> " +
                             ring + "\n  attn.yield %0 : " + ring + "\n",
                         {{{"row", 3}, {"slot", 5}}}, 0));
  cases.back().idLimits[2] = 17;
  std::string sequence = "tensor<?x?x4xf32, #attn.axes<batch, source, width>>";
  std::string lengths = "tensor<?xi32, #attn.axes<batch>>",
              mask = "tensor<?x?xi32, #attn.axes<batch, source>>";
  cases.push_back(simple("live", "%x: " + sequence + ", %l: " + lengths,
                         "  %0 = attn.live %x, %l : (" + sequence + ", " + lengths + ") -> " + mask +
                             "\n  attn.yield %0 : " + mask + "\n",
                         {{{"batch", 1}, {"source", 1}}, {{"batch", 5}, {"source", 7}}}, 0));
  cases.back().idSizes[1] = "source";
  std::string zeros = "tensor<?x1x20xf32, #attn.axes<batch, query, width>>";
  cases.push_back(simple("zeros", "%l: " + lengths,
                         "  %0 = attn.zeros for %l width 20 : (" + lengths + ") -> " + zeros +
                             "\n  attn.yield %0 : " + zeros + "\n",
                         {{{"batch", 1}}, {{"batch", 5}}}, 0));
  cases.back().idLimits[0] = 9;
  return cases;
}

std::vector<KernelCase> rowCases() {
  std::string x = rows(72), g = vector(72), s = scores("batch", 2, "query", "key");
  std::string l = "tensor<?xi32, #attn.axes<batch>>";
  std::vector<Sizes> keys = {{{"batch", 1}, {"query", 1}, {"key", 1}},
                             {{"batch", 3}, {"query", 5}, {"key", 37}}};
  std::vector<KernelCase> cases = {embeddingCase(false, false), embeddingCase(true, false),
                                   embeddingCase(true, true)};
  cases.push_back(simple("layer_norm", "%x: " + x + ", %g: " + g,
                         "  %0 = attn.layer_norm %x, %g epsilon 1.0e-5 : (" + x + ", " + g + ") -> " + x +
                             "\n  attn.yield %0 : " + x + "\n",
                         rowSizes({1, 3, 37}), 4e-6));
  cases.push_back(simple("rms_norm", "%x: " + x + ", %g: " + g,
                         "  %0 = attn.rms_norm %x, %g epsilon 1.0e-6 : (" + x + ", " + g + ") -> " + x +
                             "\n  attn.yield %0 : " + x + "\n",
                         rowSizes({1, 37}), 4e-6));
  cases.push_back(simple("pointwise", "%x: " + x + ", %y: " + x,
                         "  %0 = attn.activation gelu %x : " + x + "\n  %1 = attn.mul %0, %y : " + x +
                             "\n  attn.yield %1 : " + x + "\n",
                         rowSizes({1, 37}), 2e-6));
  cases.push_back(simple("softmax", "%x: " + s,
                         "  %0 = attn.softmax %x : " + s + "\n  attn.yield %0 : " + s + "\n", keys, 1e-6));
  std::string mean = "tensor<?x?x?xf32, #attn.axes<batch, query, key>>";
  cases.push_back(
      simple("mean_heads", "%x: " + s,
             "  %0 = attn.mean_heads %x : (" + s + ") -> " + mean + "\n  attn.yield %0 : " + mean + "\n",
             keys, 1e-6));
  cases.push_back(simple("log_softmax", "%x: " + x,
                         "  %0 = attn.log_softmax %x : " + x + "\n  attn.yield %0 : " + x + "\n",
                         rowSizes({1, 9}), 4e-6));
  cases.push_back(simple("log_sum_exp", "%x: " + x,
                         "  %0 = attn.log_sum_exp %x : (" + x + ") -> tensor<?xf32, #attn.axes<row>>\n" +
                             "  attn.yield %0 : tensor<?xf32, #attn.axes<row>>\n",
                         rowSizes({1, 9}), 4e-6));
  cases.push_back(simple("masks", "%x: " + s + ", %lengths: " + l,
                         "  %0 = attn.causal_mask %x : " + s + "\n  %1 = attn.padding_mask %0, %lengths : (" +
                             s + ", " + l + ") -> " + s + "\n  attn.yield %1 : " + s + "\n",
                         keys, 0));
  cases.back().idSizes[1] = "key";
  std::string q = heads("batch", 2, "query", 20), k = heads("batch", 2, "key", 20);
  cases.push_back(simple("matmul_transposed", "%q: " + q + ", %k: " + k,
                         "  %0 = attn.matmul %q, %k transposed : (" + q + ", " + k + ") -> " + s +
                             "\n  attn.yield %0 : " + s + "\n",
                         keys, 20 * 20 * U));
  cases.push_back(
      simple("matmul", "%s: " + s + ", %k: " + k,
             "  %0 = attn.matmul %s, %k : (" + s + ", " + k + ") -> " + q + "\n  attn.yield %0 : " + q + "\n",
             keys, 40 * 40 * U));
  std::string ids = "tensor<?xi32, #attn.axes<row>>";
  cases.push_back(simple("increment", "%x: " + ids,
                         "  %0 = attn.increment %x : " + ids + "\n  attn.yield %0 : " + ids + "\n",
                         rowSizes({1, 5, 37}), 0));
  cases.back().idLimits[0] = 1000;
  std::string fresh = heads("row", 2, "", 20), cache = cacheOf(2, 20);
  cases.push_back(
      simple("append", "%f: " + fresh + ", %c: " + cache + ", %p: " + ids,
             "  %0 = attn.append %f, %c at %p : (" + fresh + ", " + cache + ", " + ids + ") -> " + cache +
                 "\n  attn.yield %0 : " + cache + "\n",
             {{{"row", 1}, {"slot", 1}, {"capacity", 3}}, {{"row", 3}, {"slot", 5}, {"capacity", 17}}}, 0));
  cases.back().idSizes[2] = "capacity";
  std::string half = rounded(fresh), halves = rounded(cache);
  cases.push_back(simple(
      "round_append", "%f: " + fresh + ", %c: " + halves + ", %p: " + ids,
      "  %0 = attn.round %f : (" + fresh + ") -> " + half + "\n  %1 = attn.append %0, %c at %p : (" + half +
          ", " + halves + ", " + ids + ") -> " + halves + "\n  attn.yield %1 : " + halves + "\n",
      {{{"row", 1}, {"slot", 1}, {"capacity", 3}}, {{"row", 3}, {"slot", 5}, {"capacity", 17}}}, 0));
  cases.back().idSizes[2] = "capacity";
  std::string prompts = heads("row", 2, "source", 20);
  cases.push_back(simple("append_prompts", "%f: " + prompts + ", %c: " + cache + ", %p: " + ids,
                         "  %0 = attn.append %f, %c at %p : (" + prompts + ", " + cache + ", " + ids +
                             ") -> " + cache + "\n  attn.yield %0 : " + cache + "\n",
                         {{{"row", 1}, {"source", 1}, {"slot", 1}, {"capacity", 1}},
                          {{"row", 3}, {"source", 13}, {"slot", 5}, {"capacity", 17}}},
                         0));
  cases.back().idLimits[2] = 1;
  std::vector<KernelCase> states = stateCases();
  cases.insert(cases.end(), states.begin(), states.end());
  return cases;
}

std::vector<Array> inputsOf(const TestKernel &kernel, const KernelCase &kernelCase, const Sizes &sizes,
                            unsigned seed) {
  std::map<int, int64_t> limits = kernelCase.idLimits;
  for (auto &[argument, size] : kernelCase.idSizes)
    limits[argument] = sizes.at(size);
  for (auto &[argument, size] : kernelCase.lengths)
    limits[argument] = sizes.at(size) + 1;
  std::vector<Array> inputs = kernel.randomInputs(sizes, limits, seed);
  for (auto &[argument, size] : kernelCase.lengths) {
    std::vector<double> &lengths = inputs[size_t(argument)].values;
    lengths[0] = double(sizes.at(size));
    if (lengths.size() > 1)
      lengths[1] = 0;
  }
  for (size_t argument : kernelCase.hidden) {
    Array &mask = inputs[argument];
    bool isWhole = kernelCase.idLimits.count(int(argument)) != 0;
    for (int64_t i = 0; i < mask.size(); ++i) {
      int64_t key = i % mask.extent(-1);
      if (i % 3 == 1 || i == key || (key >= FirstHiddenKey && key < HiddenKeysEnd))
        mask.values[size_t(i)] = isWhole ? 0 : -std::numeric_limits<double>::infinity();
    }
  }
  return inputs;
}

} // namespace attnc::test
