//===- KernelText.h - what texts of kernels under test are made of ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_KERNELS_KERNELTEXT_H
#define ATTNC_TESTS_KERNELS_KERNELTEXT_H

#include "tests/kernels/KernelCases.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace attnc::test {

/// The unit roundoff of float32.
constexpr double U = 0x1p-24;

inline std::string rows(int width) {
  return "tensor<?x" + std::to_string(width) + "xf32, #attn.axes<row, width>>";
}
inline std::string matrix(int out, int in, bool packed = true) {
  return "tensor<" + std::to_string(out) + "x" + std::to_string(in) + "xf32" +
         (packed ? ", #attn.panels<32>>" : ">");
}
inline std::string vector(int width) { return "tensor<" + std::to_string(width) + "xf32>"; }

inline std::vector<Sizes> rowSizes(std::initializer_list<int64_t> counts) {
  std::vector<Sizes> sizes;
  for (int64_t count : counts)
    sizes.push_back({{"row", count}});
  return sizes;
}

} // namespace attnc::test

#endif // ATTNC_TESTS_KERNELS_KERNELTEXT_H
