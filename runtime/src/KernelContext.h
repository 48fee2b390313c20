//===- KernelContext.h - what kernels ask of the runtime ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_KERNELCONTEXT_H
#define ATTNRT_SRC_KERNELCONTEXT_H

#include "Model.h"
#include "ThreadPool.h"

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

namespace attnrt {

/// Adds to `sum` what a kernel did elsewhere, but of its time that share only.
void addProfile(const attnrt_kernel_profile &one, attnrt_kernel_profile &sum, double share = 1);

/// What kernels get as their user context.
class KernelContext : public attnrt_kernel_context {
public:
  explicit KernelContext(Executor &executor);

  int threadCount() const { return executor.threadCount(); }

  /// Runs entry number `entry` of the model; a code other than 0 becomes a failure with the first message.
  void call(const Model &model, int entry, attnrt_invocation invocation);

  /// Counts from here on what each kernel does, anew.
  void startProfile(const Model &model);
  bool isProfiled() const { return watch; }
  int64_t profiledNanoseconds() const;
  /// Adds the profile of a context whose calls ran beside those of others, with that share of its times.
  void addProfile(const KernelContext &one, double share);
  const attnrt_kernel_profile &profile(size_t entry, size_t kernel) const {
    return profiles[entry * kernels + kernel];
  }

private:
  static int runLoop(attnrt_kernel_context *context, attnrt_task task, int begin, int count,
                     uint8_t *closure);
  static void keepError(attnrt_kernel_context *context, const char *text);
  static void countKernel(attnrt_kernel_context *context, int32_t kernel, int64_t operations, int64_t bytes);

  Executor &executor;
  std::mutex mutex;
  std::array<char, 256> message{}; // of the first error of a call, as long as the bundle's shim writes
  std::atomic<int> loopFailure{0}; // of a call: kernels do not look at what their loops return

  std::vector<attnrt_kernel_profile> profiles; // entry x kernel
  size_t kernels = 0, entry = 0;               // the entry that runs
  std::chrono::steady_clock::time_point last;  // when the entry began, or its last kernel ended
};

} // namespace attnrt

#endif // ATTNRT_SRC_KERNELCONTEXT_H
