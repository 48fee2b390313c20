//===- KernelContext.cpp - what kernels ask of the runtime -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelContext.h"
#include "Failure.h"

namespace attnrt {

KernelContext::KernelContext(Executor &executor)
    : attnrt_kernel_context{runLoop, keepError}, executor(executor) {}

int KernelContext::runLoop(attnrt_kernel_context *context, attnrt_task task, int begin, int count,
                           uint8_t *closure) {
  return static_cast<KernelContext *>(context)->executor.run({context, task, begin, count, closure});
}

void KernelContext::keepError(attnrt_kernel_context *context, const char *text) {
  auto &self = *static_cast<KernelContext *>(context);
  const std::lock_guard lock(self.mutex);
  if (self.message.empty())
    self.message = text;
}

void KernelContext::call(const Model &model, int entry, attnrt_invocation invocation) {
  message.clear();
  invocation.context = this;
  invocation.weights = model.weights().data();
  invocation.kernels = model.kernels();
  const int32_t code = model.entry(entry).run(&invocation);
  check(code == 0, ATTNRT_KERNEL_FAILED, "entry '", model.manifest().entries[entry].name,
        "' failed with code ", code, message.empty() ? "" : ": ", message);
}

} // namespace attnrt
