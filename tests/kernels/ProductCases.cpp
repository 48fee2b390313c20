//===- ProductCases.cpp - products of two inputs, and weights as results ----===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/kernels/KernelText.h"

#include <cmath>

namespace attnc::test {

namespace {

/// Types of matrices of one batch and head.
struct Matrices {
  int heads = 2, ofRight = 2; // on the left, on the right
  std::string width(int columns, const std::string &rows = "query", int of = 0) const {
    return "tensor<?x" + std::to_string(of ? of : heads) + "x?x" + std::to_string(columns) +
           "xf32, #attn.axes<batch, head, " + rows + ", width>>";
  }
  std::string keys(int columns) const { return width(columns, "key", ofRight); }
  std::string turnedKeys(int columns) const {
    return "tensor<?x" + std::to_string(ofRight) + "x" + std::to_string(columns) +
           "x?xf32, #attn.axes<batch, head, width, key>>";
  }
  std::string scores() const {
    return "tensor<?x" + std::to_string(heads) + "x?x?xf32, #attn.axes<batch, head, query, key>>";
  }
};

} // namespace

static const std::string lengthType = "tensor<?xi32, #attn.axes<batch>>";

static std::vector<Sizes> productSizes(std::initializer_list<std::array<int64_t, 3>> all) {
  std::vector<Sizes> sizes;
  for (const auto &[batch, query, key] : all)
    sizes.push_back({{"batch", batch}, {"query", query}, {"key", key}});
  return sizes;
}

/// Elements lie in [-1, 1], so the sum of absolute products is less than `terms`. Chunks have at most 128
/// terms, and each term goes through the additions of its chunk and of the chunks after it, each of which
/// errs by u.
static double productTolerance(double terms) { return (std::min(terms, 128.0) + terms / 64 + 1) * terms * U; }

static KernelCase productOf(const std::string &name, const std::string &left, const std::string &right,
                            const std::string &result, bool isTransposed, double terms,
                            std::vector<Sizes> sizes) {
  return {"product_" + name,
          "attn.kernel @k {\n^bb0(%a: " + left + ", %b: " + right + "):\n  %0 = attn.matmul %a, %b " +
              (isTransposed ? "transposed " : "") + ": (" + left + ", " + right + ") -> " + result +
              "\n  attn.yield %0 : " + result + "\n}\n",
          std::move(sizes),
          productTolerance(terms),
          {},
          {}};
}

/// Scores, with a scale and masks in the kernel's end.
static KernelCase maskedScores(int width, const Matrices &types) {
  std::string q = types.width(width), k = types.keys(width), s = types.scores();
  return {"product_masked_" + std::to_string(width) + "_" + std::to_string(types.ofRight),
          "attn.kernel @k {\n^bb0(%q: " + q + ", %k: " + k + ", %lengths: " + lengthType +
              "):\n  %0 = attn.matmul %q, %k transposed : (" + q + ", " + k + ") -> " + s +
              "\n  %1 = attn.scale %0 by 0.25 : " + s + "\n  %2 = attn.causal_mask %1 : " + s +
              "\n  %3 = attn.padding_mask %2, %lengths : (" + s + ", " + lengthType + ") -> " + s +
              "\n  attn.yield %3 : " + s + "\n}\n",
          productSizes({{1, 1, 1}, {3, 7, 37}, {2, 70, 130}}),
          productTolerance(width),
          {},
          {},
          {{2, "key"}}};
}

/// Weights are at most 1; errors of scores (scaled to at most sqrt(width)) move them by as much, relatively.
static KernelCase weightsOf(const std::string &name, const std::string &left, const std::string &right,
                            const std::string &scores, const std::string &products, int width) {
  std::string factor = std::to_string(1 / std::sqrt(double(width)));
  return {"weights_" + name,
          "attn.kernel @k {\n^bb0(%a: " + left + ", %b: " + right + ", %lengths: " + lengthType +
              ", %v: tensor<" + std::to_string(width) + "xf32>):\n  %0 = " + products + " : (" + left + ", " +
              right +
              (products.find("additive") != std::string::npos ? ", tensor<" + std::to_string(width) + "xf32>"
                                                              : "") +
              ") -> " + scores + "\n  %1 = attn.scale %0 by " + factor + " : " + scores +
              "\n  %2 = attn.padding_mask %1, %lengths : (" + scores + ", " + lengthType + ") -> " + scores +
              "\n  %3 = attn.softmax %2 : " + scores + "\n  attn.yield %3 : " + scores + "\n}\n",
          productSizes({{1, 1, 1}, {3, 7, 37}, {2, 65, 513}, {4, 3, 16}}),
          productTolerance(width) / std::sqrt(double(width)) + 2e-6,
          {},
          {},
          {{2, "key"}}};
}

std::vector<KernelCase> productCases() {
  const Matrices two, grouped{.heads = 6, .ofRight = 2};
  const std::vector<Sizes> all =
      productSizes({{1, 1, 1}, {3, 3, 37}, {1, 7, 513}, {2, 65, 33}, {1, 140, 64}});
  std::vector<KernelCase> cases;
  for (int width : {3, 4, 20, 64, 72, 80}) {
    std::string suffix = std::to_string(width);
    cases.push_back(
        productOf("scores_" + suffix, two.width(width), two.keys(width), two.scores(), true, width, all));
    cases.push_back(
        productOf("context_" + suffix, two.scores(), two.keys(width), two.width(width), false, 513, all));
  }
  for (int width : {200, 1088, 2048}) // several chunks, with and without a rest
    cases.push_back(productOf("scores_" + std::to_string(width), two.width(width), two.keys(width),
                              two.scores(), true, width, productSizes({{1, 1, 1}, {2, 9, 37}})));
  cases.push_back(
      productOf("grouped_scores", grouped.width(64), grouped.keys(64), grouped.scores(), true, 64, all));
  cases.push_back(
      productOf("grouped_context", grouped.scores(), grouped.keys(64), grouped.width(64), false, 513, all));
  cases.push_back(productOf("turned_keys", two.width(64), two.turnedKeys(64), two.scores(), false, 64, all));
  std::string square = "tensor<?x?xf32, #attn.axes<query, key>>";
  cases.push_back(productOf("of_two_axes", square, "tensor<?x20xf32, #attn.axes<key, width>>",
                            "tensor<?x20xf32, #attn.axes<query, width>>", false, 513, all));
  auto ofThree = [](const std::string &rows, const std::string &columns) {
    return "tensor<?x?x" + (columns == "key" ? "?" : columns) + "xf32, #attn.axes<batch, " + rows + ", " +
           (columns == "key" ? "key" : "width") + ">>";
  };
  cases.push_back(productOf("scores_of_three_axes", ofThree("query", "20"), ofThree("key", "20"),
                            ofThree("query", "key"), true, 20, all));
  cases.push_back(productOf("context_of_three_axes", ofThree("query", "key"), ofThree("key", "50"),
                            ofThree("query", "50"), false, 513, all));
  for (int rows : {3, 7, 70}) { // nothing is left to choose when it is called
    std::string count = std::to_string(rows);
    cases.push_back(productOf("scores_of_" + count, "tensor<" + count + "x64xf32>", "tensor<40x64xf32>",
                              "tensor<" + count + "x40xf32>", true, 64, {{}}));
    cases.push_back(productOf("context_of_" + count, "tensor<" + count + "x40xf32>", "tensor<40x50xf32>",
                              "tensor<" + count + "x50xf32>", false, 40, {{}}));
  }
  cases.push_back(maskedScores(64, two));
  cases.push_back(maskedScores(20, grouped));
  return cases;
}

std::vector<KernelCase> weightCases() {
  const Matrices two, grouped{.heads = 6, .ofRight = 2};
  std::vector<KernelCase> cases;
  for (int width : {4, 20, 64, 80})
    cases.push_back(weightsOf(std::to_string(width), two.width(width), two.keys(width), two.scores(),
                              "attn.matmul %a, %b transposed", width));
  cases.push_back(weightsOf("grouped", grouped.width(64), grouped.keys(64), grouped.scores(),
                            "attn.matmul %a, %b transposed", 64));
  cases.push_back(
      weightsOf("turned_keys", two.width(64), two.turnedKeys(64), two.scores(), "attn.matmul %a, %b", 64));
  cases.push_back(weightsOf("additive", two.width(20), two.keys(20), two.scores(),
                            "attn.additive_scores %a, %b by %v", 20));
  const std::string one = "tensor<?x2x1x20xf32, #attn.axes<batch, head, query, width>>",
                    ofOne = "tensor<?x2x1x?xf32, #attn.axes<batch, head, query, key>>";
  cases.push_back(weightsOf("of_one_query", one, two.keys(20), ofOne, "attn.matmul %a, %b transposed", 20));
  return cases;
}

} // namespace attnc::test
