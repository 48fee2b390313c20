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

} // namespace

extern "C" {

const char *attnrt_model_weights(const attnrt_model *model) {
  return model ? model->model->weights().data() : nullptr;
}

attnrt_status attnrt_graph_call(const attnrt_model *model, attnrt_pool *pool, const char *entry,
                                size_t size_count, const int64_t *sizes, size_t tensor_count,
                                void *const *tensors) {
  return guard([&] {
    requirePointer(model, "model");
    requirePointer(entry, "entry");
    const Manifest &manifest = model->model->manifest();
    check(!manifest.decoder && !manifest.encoder, ATTNRT_UNSUPPORTED, "'", manifest.name,
          "' is not a graph: open a session");
    const int index = manifest.findEntry(entry);
    check(index >= 0, ATTNRT_INVALID_ARGUMENT, "the bundle has no entry '", entry, "'");
    const EntryInfo &info = manifest.entries[index];
    const size_t expected = info.arguments.size() + info.results.size();
    check(size_count == manifest.sizes.size(), ATTNRT_INVALID_ARGUMENT, "the bundle has ",
          manifest.sizes.size(), " sizes, ", size_count, " are given");
    check(sizes || size_count == 0, ATTNRT_INVALID_ARGUMENT, "'sizes' is null");
    check(tensor_count == expected, ATTNRT_INVALID_ARGUMENT, "entry '", entry, "' has ", expected,
          " arguments and results, ", tensor_count, " are given");
    check(tensors || expected == 0, ATTNRT_INVALID_ARGUMENT, "'tensors' is null");
    for (size_t i = 0; i < size_count; ++i)
      check(sizes[i] >= 1 && sizes[i] <= INT32_MAX, ATTNRT_OUT_OF_RANGE, "size '", manifest.sizes[i], "' is ",
            sizes[i], ", which is not in 1 to ", INT32_MAX);
    for (size_t i = 0; i < expected; ++i)
      check(tensors[i] != nullptr, ATTNRT_INVALID_ARGUMENT, "'tensors[", i, "]' is null");

    const std::vector<int64_t> all(sizes, sizes + size_count);
    const CallArena arena(model->model->arenaBytes(index, all));
    CallersThread alone;
    KernelContext context(pool ? *pool->executor : static_cast<Executor &>(alone));
    attnrt_invocation invocation{};
    invocation.tensors = tensors;
    invocation.sizes = all.data();
    invocation.arena = arena.data();
    context.call(*model->model, index, invocation);
  });
}

} // extern "C"
