//===- GraphApi.cpp - the C interface: graphs ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Handles.h"

using namespace attnrt;

namespace {

/// The arena of a call. A thread keeps its last one, as fresh pages take longer than many kernels. While a
/// call has it, another on the same thread, by a pool of the application's, takes one of its own.
class CallArena {
public:
  explicit CallArena(int64_t wanted) : memory(std::move(kept)) {
    if (memory.size() < static_cast<size_t>(wanted))
      memory = Memory(wanted);
  }
  ~CallArena() {
    if (memory.size() <= MostKept)
      kept = std::move(memory);
  }
  CallArena(const CallArena &) = delete;
  CallArena &operator=(const CallArena &) = delete;

  char *data() const { return memory.data(); }

private:
  static constexpr size_t MostKept = 16 << 20; // bytes: of more, pages are the lesser part of a call
  static thread_local Memory kept;
  Memory memory;
};
thread_local Memory CallArena::kept;

/// What a call is given, as attnrt_graph_call() is.
struct GraphCall {
  const attnrt_model *model;
  const char *entry;
  size_t sizeCount;
  const int64_t *sizes;
  size_t tensorCount;
  void *const *tensors;
};

/// The entry's number.
int checkCall(const GraphCall &call) {
  requirePointer(call.model, "model");
  requirePointer(call.entry, "entry");
  const Manifest &manifest = call.model->model->manifest();
  check(!manifest.decoder && !manifest.encoder, ATTNRT_UNSUPPORTED, "'", manifest.name,
        "' is not a graph: open a session");
  const int index = manifest.findEntry(call.entry);
  check(index >= 0, ATTNRT_INVALID_ARGUMENT, "the bundle has no entry '", call.entry, "'");
  const EntryInfo &info = manifest.entries[index];
  const size_t expected = info.arguments.size() + info.results.size();
  check(call.sizeCount == manifest.sizes.size(), ATTNRT_INVALID_ARGUMENT, "the bundle has ",
        manifest.sizes.size(), " sizes, ", call.sizeCount, " are given");
  check(call.sizes || call.sizeCount == 0, ATTNRT_INVALID_ARGUMENT, "'sizes' is null");
  check(call.tensorCount == expected, ATTNRT_INVALID_ARGUMENT, "entry '", call.entry, "' has ", expected,
        " arguments and results, ", call.tensorCount, " are given");
  check(call.tensors || expected == 0, ATTNRT_INVALID_ARGUMENT, "'tensors' is null");
  for (size_t i = 0; i < call.sizeCount; ++i)
    check(call.sizes[i] >= 1 && call.sizes[i] <= INT32_MAX, ATTNRT_OUT_OF_RANGE, "size '", manifest.sizes[i],
          "' is ", call.sizes[i], ", which is not in 1 to ", INT32_MAX);
  for (size_t i = 0; i < expected; ++i)
    check(call.tensors[i] != nullptr, ATTNRT_INVALID_ARGUMENT, "'tensors[", i, "]' is null");
  return index;
}

/// Adds to `kernels`, if there are any, what each did.
void callGraph(const GraphCall &call, int entry, attnrt_pool *pool, attnrt_kernel_profile *kernels) {
  const Model &model = *call.model->model;
  const std::vector<int64_t> sizes(call.sizes, call.sizes + call.sizeCount);
  const CallArena arena(model.arenaBytes(entry, sizes));
  CallersThread alone;
  KernelContext context(pool ? *pool->executor : static_cast<Executor &>(alone));
  if (kernels)
    context.startProfile(model);
  attnrt_invocation invocation{};
  invocation.tensors = call.tensors;
  invocation.sizes = sizes.data();
  invocation.arena = arena.data();
  context.call(model, entry, invocation);
  for (size_t kernel = 0; kernels && kernel < model.manifest().kernelCount; ++kernel)
    addProfile(context.profile(entry, kernel), kernels[kernel]);
}

} // namespace

extern "C" {

const char *attnrt_model_weights(const attnrt_model *model) {
  return model ? model->model->weights().data() : nullptr;
}

attnrt_status attnrt_graph_call(const attnrt_model *model, attnrt_pool *pool, const char *entry,
                                size_t size_count, const int64_t *sizes, size_t tensor_count,
                                void *const *tensors) {
  return guard([&] {
    const GraphCall call{model, entry, size_count, sizes, tensor_count, tensors};
    callGraph(call, checkCall(call), pool, nullptr);
  });
}

attnrt_status attnrt_graph_profile(const attnrt_model *model, attnrt_pool *pool, const char *entry,
                                   size_t size_count, const int64_t *sizes, size_t tensor_count,
                                   void *const *tensors, size_t kernel_count,
                                   attnrt_kernel_profile *kernels) {
  return guard([&] {
    const GraphCall call{model, entry, size_count, sizes, tensor_count, tensors};
    const int index = checkCall(call);
    const size_t expected = model->model->manifest().kernelCount;
    check(kernel_count == expected, ATTNRT_INVALID_ARGUMENT, "the bundle has ", expected, " kernels, ",
          kernel_count, " are given");
    check(kernels || expected == 0, ATTNRT_INVALID_ARGUMENT, "'kernels' is null");
    callGraph(call, index, pool, kernels);
  });
}

} // extern "C"
