//===- KernelContext.cpp - what kernels ask of the runtime -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelContext.h"
#include "Failure.h"

#include <cstdio>

namespace attnrt {

void addProfile(const attnrt_kernel_profile &one, attnrt_kernel_profile &sum, double share) {
  sum.calls += one.calls;
  sum.operations += one.operations;
  sum.bytes += one.bytes;
  sum.nanoseconds += static_cast<int64_t>(static_cast<double>(one.nanoseconds) * share);
}

KernelContext::KernelContext(Executor &executor)
    : attnrt_kernel_context{runLoop, keepError, nullptr}, executor(executor) {}

int KernelContext::runLoop(attnrt_kernel_context *context, attnrt_task task, int begin, int count,
                           uint8_t *closure) {
  auto &self = *static_cast<KernelContext *>(context);
  const int failure = self.executor.run({context, task, begin, count, closure});
  if (failure != 0)
    self.loopFailure = failure;
  return failure;
}

void KernelContext::keepError(attnrt_kernel_context *context, const char *text) {
  auto &self = *static_cast<KernelContext *>(context);
  const std::lock_guard lock(self.mutex);
  if (self.message[0] == 0) // no memory is taken: C code, which called, cannot pass on an exception
    std::snprintf(self.message.data(), self.message.size(), "%s", text);
}

void KernelContext::startProfile(const Model &model) {
  kernels = model.manifest().kernelCount;
  profiles.assign(model.manifest().entries.size() * kernels, {});
  watch = countKernel;
}

int64_t KernelContext::profiledNanoseconds() const {
  int64_t sum = 0;
  for (const attnrt_kernel_profile &profile : profiles)
    sum += profile.nanoseconds;
  return sum;
}

void KernelContext::addProfile(const KernelContext &one, double share) {
  for (size_t i = 0; i < profiles.size(); ++i)
    attnrt::addProfile(one.profiles[i], profiles[i], share);
}

// Kernels of one entry follow each other without a pause: one reading of the clock serves two of them.
void KernelContext::countKernel(attnrt_kernel_context *context, int32_t kernel, int64_t operations,
                                int64_t bytes) {
  auto &self = *static_cast<KernelContext *>(context);
  const auto now = std::chrono::steady_clock::now();
  attnrt_kernel_profile &profile = self.profiles[self.entry * self.kernels + static_cast<size_t>(kernel)];
  ++profile.calls;
  profile.operations += operations;
  profile.bytes += bytes;
  profile.nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(now - self.last).count();
  self.last = now;
}

void KernelContext::call(const Model &model, int entry, attnrt_invocation invocation) {
  message[0] = 0;
  loopFailure = 0;
  if (watch) {
    this->entry = static_cast<size_t>(entry);
    last = std::chrono::steady_clock::now();
  }
  invocation.context = this;
  invocation.weights = model.weights().data();
  invocation.kernels = model.kernels();
  const int32_t returned = model.entry(entry).run(&invocation);
  const int32_t code = returned != 0 ? returned : loopFailure.load();
  check(code == 0, ATTNRT_KERNEL_FAILED, "entry '", model.manifest().entries[entry].name,
        "' failed with code ", code, message[0] == 0 ? "" : ": ", message.data());
}

} // namespace attnrt
