//===- KernelHarness.h - compiles, runs and checks single kernels -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel comes as text of the dialect; what it must compute comes from the reference interpreter.

#ifndef ATTNC_TESTS_KERNELS_KERNEL_HARNESS_H
#define ATTNC_TESTS_KERNELS_KERNEL_HARNESS_H

#include "compiler/schedules/ScheduleChoice.h"
#include "dialect/IR/Attn.h"
#include "tests/reference/ReferenceOps.h"

#include <map>
#include <memory>
#include <random>
#include <string>

namespace attnc::test {

struct Variant {
  std::string name;
  std::string halide;
  bool asserts;

  /// Kernels with weights of bfloat16 round their rows as well.
  bool roundsRows() const { return name.starts_with("amx") || name.starts_with("zen"); }

  /// Whether no variant before this one has the same schedules for attention in float32.
  bool hasOwnFloatAttention() const {
    return name.starts_with("baseline") || name.starts_with("avx2") || name.starts_with("avx512");
  }

  /// The same for linears in float32.
  bool hasOwnFloatLinears() const { return hasOwnFloatAttention() || name.starts_with("zen"); }
};

/// The variants that this machine can run, with ATTNC_EMULATE_TILES in the environment `amx` even where only
/// the matrix instructions, and what its kernels do not use, are lacking. The best one of floats, and those
/// that round rows, come twice, with Halide's own bounds checks the second time.
std::vector<Variant> runnableVariants();

/// How tests name the variant they ran.
void PrintTo(const Variant &variant, std::ostream *out);

using Sizes = std::map<std::string, int64_t>;

/// Threads that run a kernel's parallel loops.
void setThreads(int threads);

/// Memory of one value as a kernel sees it: float32 or int32, rows `rowGap` elements apart, guards around.
class DeviceArray {
public:
  DeviceArray(mlir::RankedTensorType type, const reference::Array &array, int64_t rowGap);
  ~DeviceArray();
  DeviceArray(DeviceArray &&) noexcept;

  /// The halide_buffer_t of the value.
  void *buffer();
  reference::Array read() const;
  /// True where nothing outside the elements has been written.
  bool isIntact() const;

private:
  struct Layout;
  std::unique_ptr<Layout> layout;
};

class TestKernel {
public:
  /// `text`: one attn.kernel. Fails the running test on any error.
  explicit TestKernel(const std::string &text);
  ~TestKernel();

  attn::KernelOp op() const;
  /// Compiles, with what is chosen instead of by rules, and loads; false after a recorded failure.
  bool load(const Variant &variant, const ScheduleChoice &choice = {});
  /// Whether what was loaded last has another schedule than that of rules.
  bool isTuned() const;
  std::vector<reference::Array> run(const std::vector<reference::Array> &inputs, const Sizes &sizes);
  /// The results, then the scratch.
  std::vector<reference::Array> runWithScratch(const std::vector<reference::Array> &inputs,
                                               const Sizes &sizes);
  /// Seconds of the fastest of many runs on dense rows, for about a third of a second.
  double fastestRun(const std::vector<reference::Array> &inputs, const Sizes &sizes);

  /// Random inputs: floats in [-1, 1], weights in [-1, 1] / sqrt(in), ids in [0, limit of the argument).
  std::vector<reference::Array> randomInputs(const Sizes &sizes, const std::map<int, int64_t> &idLimits,
                                             unsigned seed) const;
  /// Undefined symbols of the object that was loaded last.
  std::vector<std::string> undefinedSymbols() const;

private:
  struct Call;
  Call prepare(const std::vector<reference::Array> &inputs, const Sizes &sizes, int64_t rowGap);
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Largest difference of two arrays of one shape; infinities must agree.
double largestDifference(const reference::Array &a, const reference::Array &b);

} // namespace attnc::test

#endif // ATTNC_TESTS_KERNELS_KERNEL_HARNESS_H
