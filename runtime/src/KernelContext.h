//===- KernelContext.h - what kernels ask of the runtime ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_KERNELCONTEXT_H
#define ATTNRT_SRC_KERNELCONTEXT_H

#include "Model.h"
#include "ThreadPool.h"

#include <mutex>

namespace attnrt {

/// What kernels get as their user context.
class KernelContext : public attnrt_kernel_context {
public:
  explicit KernelContext(Executor &executor);

  /// Runs entry number `entry` of the model; a code other than 0 becomes a failure with the first message.
  void call(const Model &model, int entry, attnrt_invocation invocation);

private:
  static int runLoop(attnrt_kernel_context *context, attnrt_task task, int begin, int count,
                     uint8_t *closure);
  static void keepError(attnrt_kernel_context *context, const char *text);

  Executor &executor;
  std::mutex mutex;
  std::string message;
};

} // namespace attnrt

#endif // ATTNRT_SRC_KERNELCONTEXT_H
