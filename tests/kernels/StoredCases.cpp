//===- StoredCases.cpp - kernels under test whose weights are i8 or bf16 ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Tolerances, u = 2^-24: sums of integers are exact. A sum as a float, the product of both scales, its
// product with the sum and the bias round once each: 4 u of a number that stays below sqrt(k) (k products of
// numbers in [-1, 1] and [-1, 1] / sqrt(k)). A matrix of bf16 is widened and gives what KernelCases.cpp says
// of f32. Where matrix instructions round the rows to bf16 as well, each of the k products is off by 2^-9,
// one way or the other: 2^-9 times the root of the sum of their squares, which is below 1/3, with factor 6.

#include "tests/kernels/KernelText.h"

#include <cmath>
#include <regex>

namespace attnc::test {

static int roundUp(int number, int unit) { return (number + unit - 1) / unit * unit; }

namespace {
/// A linear of rows `in` wide: the arguments it needs and the operation.
struct StoredLinear {
  StoredLinear(int in, int out, bool isInt8, bool hasBias, const std::string &suffix = "")
      : in(in), out(out), isInt8(isInt8), hasBias(hasBias), suffix(suffix),
        matrix("tensor<" + std::to_string(out) + "x" + std::to_string(in) +
               (isInt8 ? "xi8, #attn.panels<32, 4>>" : "xbf16, #attn.panels<32, 2>>")),
        scales("tensor<2x" + std::to_string(roundUp(out, 32)) + "xf32>") {}

  std::string inputType() const {
    return isInt8 ? "tensor<?x" + std::to_string(roundUp(in, 64)) + "xui8, #attn.axes<row, width>>"
                  : rows(in);
  }
  /// The rows, with their scales.
  std::string input() const { return "%x: " + inputType() + (isInt8 ? ", %s: " + rows(2) : std::string()); }
  std::string weights() const {
    return "%w" + suffix + ": " + matrix + (isInt8 ? ", %ws" + suffix + ": " + scales : std::string()) +
           (hasBias ? ", %b" + suffix + ": " + vector(out) : std::string());
  }
  std::string op(const std::string &result) const {
    return "  " + result + " = attn.linear %x" + (isInt8 ? " scaled %s" : "") + ", %w" + suffix +
           (isInt8 ? " scaled %ws" + suffix : "") + (hasBias ? " bias %b" + suffix : "") + " : (" +
           inputType() + (isInt8 ? ", " + rows(2) : std::string()) + ", " + matrix +
           (isInt8 ? ", " + scales : std::string()) + (hasBias ? ", " + vector(out) : std::string()) +
           ") -> " + rows(out) + "\n";
  }
  std::string name() const {
    return std::string(isInt8 ? "int8_" : "bf16_") + std::to_string(in) + "x" + std::to_string(out);
  }
  double tolerance() const { return (isInt8 ? 4 * std::sqrt(double(in)) : double(in)) * U + 2e-6; }
  double roundedRows() const { return isInt8 ? 0 : 6 * std::ldexp(1.0, -9) / 3; }

  int in, out;
  bool isInt8, hasBias;
  std::string suffix, matrix, scales;
};
} // namespace

static KernelCase linearCase(int in, int out, bool isInt8, const std::string &activation) {
  StoredLinear linear(in, out, isInt8, !activation.empty());
  std::string text =
      "attn.kernel @k {\n^bb0(" + linear.input() + ", " + linear.weights() + "):\n" + linear.op("%0");
  if (!activation.empty())
    text += "  %1 = attn.activation " + activation + " %0 : " + rows(out) + "\n";
  text += "  attn.yield " + std::string(activation.empty() ? "%0" : "%1") + " : " + rows(out) + "\n}\n";
  return {linear.name() + (activation.empty() ? "" : "_" + activation),
          text,
          rowSizes({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 17, 25, 33, 37, 70}),
          linear.tolerance(),
          {},
          {},
          {},
          {},
          linear.roundedRows()};
}

static KernelCase normCase(int in, int out, bool isInt8) {
  StoredLinear linear(in, out, isInt8, true);
  std::string y = rows(out), g = vector(out);
  std::string text = "attn.kernel @k {\n^bb0(" + linear.input() + ", " + linear.weights() + ", %r: " + y +
                     ", %g: " + g + ", %c: " + g + "):\n" + linear.op("%0") +
                     "  %1 = attn.add %0, %r : " + y +
                     "\n  %2 = attn.layer_norm %1, %g bias %c epsilon 1.0e-5 : (" + y + ", " + g + ", " + g +
                     ") -> " + y + "\n  attn.yield %1, %2 : " + y + ", " + y + "\n}\n";
  return {linear.name() + "_norm", text, rowSizes({1, 3, 9, 37}), 6 * linear.tolerance(), {}, {}, {}, {},
          6 * linear.roundedRows()};
}

/// Rows that are rounded already.
static KernelCase roundedRowsCase(int in, int out) {
  KernelCase result = linearCase(in, out, false, in == 512 ? "relu" : "");
  const std::string exact = rows(in), rounded = std::regex_replace(exact, std::regex("xf32"), "xbf16");
  for (size_t at = 0; (at = result.text.find(exact, at)) != std::string::npos;)
    result.text.replace(at, exact.size(), rounded);
  result.name += "_of_bf16";
  result.roundedRows = 0;
  return result;
}

/// As queries, keys and values: rounded rows make rounded ones, numbers below 4.
static KernelCase roundedToRoundedCase(int in, int out) {
  KernelCase result = roundedRowsCase(in, out);
  const std::string exact = rows(out), rounded = std::regex_replace(exact, std::regex("xf32"), "xbf16");
  const size_t yield = result.text.find("  attn.yield"), value = result.text.find('%', yield);
  const std::string name = result.text.substr(value, result.text.find(' ', value) - value);
  result.text.resize(yield);
  result.text += "  %9 = attn.round " + name + " : (" + exact + ") -> " + rounded +
                 "\n  attn.yield %9 : " + rounded + "\n}\n";
  result.name += "_rounded";
  result.tolerance += 0x1p-6;
  return result;
}

/// relu(x w + b) * (x v + c), as two linears of one input.
static KernelCase gatedCase(int in, int out, bool isInt8) {
  StoredLinear first(in, out, isInt8, true), second(in, out, isInt8, true, "2");
  std::string y = rows(out);
  std::string text = "attn.kernel @k {\n^bb0(" + first.input() + ", " + first.weights() + ", " +
                     second.weights() + "):\n" + first.op("%0") + "  %1 = attn.activation relu %0 : " + y +
                     "\n" + second.op("%2") + "  %3 = attn.mul %1, %2 : " + y + "\n  attn.yield %3 : " + y +
                     "\n}\n";
  return {first.name() + "_gated", text, rowSizes({1, 3, 9, 37}), 8 * first.tolerance(), {}, {}, {}, {},
          8 * first.roundedRows()};
}

std::vector<KernelCase> storedMatmulCases() {
  std::vector<KernelCase> cases;
  for (bool isInt8 : {true, false}) {
    for (auto [in, out] : {std::pair(512, 512),
                           {4, 74},
                           {20, 5},
                           {43, 20},
                           {72, 43},
                           {80, 544},
                           {513, 64},
                           {32, 96},
                           {32, 32},
                           {128, 32},
                           {8, 74},
                           {16, 74},
                           {32, 64}})
      cases.push_back(linearCase(in, out, isInt8, in == 512 ? "relu" : in == 43 ? "gelu" : ""));
    cases.push_back(linearCase(2048, 64, isInt8, "silu"));
    cases.push_back(normCase(64, 512, isInt8));
    cases.push_back(normCase(20, 74, isInt8));
    cases.push_back(normCase(32, 32, isInt8));
    cases.push_back(normCase(128, 32, isInt8));
    cases.push_back(gatedCase(72, 80, isInt8));
    if (!isInt8)
      for (auto [in, out] : {std::pair(512, 96), {72, 43}, {2048, 64}, {512, 544}, {64, 160}})
        cases.push_back(roundedRowsCase(in, out));
    if (!isInt8)
      cases.push_back(roundedToRoundedCase(64, 192));
  }
  return cases;
}

/// Ends in `last`: nothing, pick or top_k. Errors as in KernelCases.cpp: those of logits, and of a logarithm
/// of a sum.
static KernelCase vocabularyCase(int in, int words, bool isInt8, const std::string &last) {
  StoredLinear linear(in, words, isInt8, true);
  std::string panels = "tensor<?x" + std::to_string((words + 31) / 32) + "xf32, #attn.axes<row, panel>>";
  std::string ids = "tensor<?xi32, #attn.axes<row>>", picked = "tensor<?xf32, #attn.axes<row>>";
  std::string best = "tensor<?x?xf32, #attn.axes<row, candidate>>",
              bestIds = "tensor<?x?xi32, #attn.axes<row, candidate>>";
  std::string text = "attn.kernel @k" + (last.empty() ? "" : " scratch [" + panels + ", " + panels + "]") +
                     " {\n^bb0(" + linear.input() + ", " + linear.weights() +
                     (last == "pick" ? ", %i: " + ids : "") + "):\n" + linear.op("%0") +
                     "  %1 = attn.log_softmax %0 : " + rows(words) + "\n";
  if (last.empty())
    text += "  attn.yield %1 : " + rows(words) + "\n}\n";
  else if (last == "pick")
    text += "  %2 = attn.pick %1, %i : (" + rows(words) + ", " + ids + ") -> " + picked +
            "\n  attn.yield %2 : " + picked + "\n}\n";
  else
    text += "  %2:2 = attn.top_k %1 : (" + rows(words) + ") -> (" + best + ", " + bestIds +
            ")\n  attn.yield %2#0, %2#1 : " + best + ", " + bestIds + "\n}\n";
  KernelCase result{linear.name() + "_vocabulary_" + last,
                    text,
                    {},
                    2 * linear.tolerance() + 8e-6,
                    {},
                    {},
                    {},
                    {},
                    2 * linear.roundedRows()};
  for (int64_t count : {1, 3, 9, 37})
    result.sizes.push_back({{"row", count}, {"candidate", count % 2 ? 5 : 1}});
  if (last == "pick")
    result.idLimits[isInt8 ? 5 : 3] = words;
  return result;
}

std::vector<KernelCase> storedVocabularyCases() {
  std::vector<KernelCase> cases;
  for (bool isInt8 : {true, false})
    for (const char *last : {"", "pick", "top_k"})
      for (auto [in, words] : {std::pair(64, 515), {20, 74}, {32, 43}})
        cases.push_back(vocabularyCase(in, words, isInt8, last));
  return cases;
}

std::vector<KernelCase> storedEmbeddingCases() {
  std::vector<KernelCase> cases;
  for (bool isInt8 : {true, false})
    for (int width : {20, 64, 72}) {
      StoredLinear table(width, 43, isInt8, false);
      std::string ids = "tensor<?xi32, #attn.axes<row>>", x = rows(width);
      std::string text = "attn.kernel @k {\n^bb0(%i: " + ids + ", " + table.weights() +
                         "):\n  %0 = attn.embed %i, %w" + (isInt8 ? " scaled %ws" : "") + " : (" + ids +
                         ", " + table.matrix + (isInt8 ? ", " + table.scales : std::string()) + ") -> " + x +
                         "\n  %1 = attn.scale %0 by 4.0 : " + x + "\n  attn.yield %1 : " + x + "\n}\n";
      cases.push_back({table.name() + "_embedding", text, rowSizes({1, 5}), 4 * U, {{0, 43}}, {}});
    }
  return cases;
}

} // namespace attnc::test
