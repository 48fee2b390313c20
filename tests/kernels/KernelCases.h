//===- KernelCases.h - kernels under test, by archetype ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Text of kernels, sizes to run them with and what inputs they take.

#ifndef ATTNC_TESTS_KERNELS_KERNEL_CASES_H
#define ATTNC_TESTS_KERNELS_KERNEL_CASES_H

#include "tests/kernels/KernelHarness.h"

namespace attnc::test {

/// Blocks of keys, the second and the third one.
constexpr int64_t FirstHiddenKey = 128, HiddenKeysEnd = 384;

struct KernelCase {
  std::string name;
  std::string text;
  std::vector<Sizes> sizes;
  double tolerance;
  std::map<int, int64_t> idLimits; // argument -> ids are below this
  /// Arguments whose elements are set per size: argument -> size name whose extent bounds them (exclusive).
  std::map<int, std::string> idSizes;
  /// Lengths: argument -> size name. The first row has all of it, the second nothing, others up to all.
  std::map<int, std::string> lengths = {};
  /// Masks, which hide keys with minus infinity or 0: a third of them, all of the first query, and the hidden
  /// blocks of keys.
  std::vector<size_t> hidden = {};
  double roundedRows = 0; // more tolerance, where matrix instructions round a kernel's rows to bfloat16
};

std::vector<KernelCase> matmulCases();
std::vector<KernelCase> attentionCases();
/// Attention of many queries whose products may be of bfloat16.
std::vector<KernelCase> roundedAttentionCases();
/// Attention with other scores, masks and heads.
std::vector<KernelCase> scoreCases();
/// Of these, some of graphs, which have a way of their own for few queries.
std::vector<KernelCase> graphAttentionCases();
/// Of these, some whose products may be of bfloat16.
std::vector<KernelCase> roundedGraphAttentionCases();
/// Work on the rows of heads.
std::vector<KernelCase> headCases();
/// `what`: top_k, pick, log_sum_exp, or nothing for all log-probabilities.
KernelCase vocabularyCase(int in, int words, const std::string &what);
std::vector<KernelCase> vocabularyCases();
/// Vocabularies of two to four panels, the last one full or not: tiles wider than they are must be cut down.
std::vector<KernelCase> narrowVocabularyCases();
std::vector<KernelCase> rowCases();
/// Products of two inputs that no attention has.
std::vector<KernelCase> productCases();
/// Attention's weights as results; arguments 1 and 2 are keys and lengths.
std::vector<KernelCase> weightCases();
/// Linears, vocabularies and embeddings whose matrices are of i8 or bf16.
std::vector<KernelCase> storedMatmulCases();
std::vector<KernelCase> storedVocabularyCases();
std::vector<KernelCase> storedEmbeddingCases();
std::vector<KernelCase> cellCases();

/// The inputs of a case at `sizes`: random ones within its limits.
std::vector<reference::Array> inputsOf(const TestKernel &kernel, const KernelCase &kernelCase,
                                       const Sizes &sizes, unsigned seed);

inline void PrintTo(const KernelCase &kernelCase, std::ostream *out) { *out << kernelCase.name; }

} // namespace attnc::test

#endif // ATTNC_TESTS_KERNELS_KERNEL_CASES_H
