//===- CountAllocations.cpp - entries and steps allocate nothing --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// usage: CountAllocations BUNDLE...
// Calls every entry of each bundle on one thread and on two, and decodes with models. After the first call of
// an entry, and between two steps of a request, no function that gives memory may be called, by any thread.
// This program's definitions of those functions count.

#include "attnrt/attnrt.h"
#include "runtime/src/KernelContext.h"
#include "runtime/src/Memory.h"

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace attnrt;

namespace {

std::atomic<bool> isCounting{false};
std::atomic<long> allocations{0};

void note() {
  if (isCounting.load(std::memory_order_relaxed))
    ++allocations;
}

} // namespace

// The C library's own, under the names it keeps for those who replace them. operator new calls malloc.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  note();
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
}

namespace {

int failures = 0;

/// How many allocations `body` makes.
template <typename Body> long count(Body body) {
  allocations = 0;
  isCounting = true;
  body();
  isCounting = false;
  return allocations;
}

/// The counters count: each way to get memory is seen.
template <typename Allocate> void expectSeen(const char *name, Allocate allocate) {
  void *memory = nullptr;
  if (count([&] { memory = allocate(); }) == 0) {
    std::cout << name << " is not counted\n";
    ++failures;
  }
  asm volatile("" ::"r"(memory) : "memory"); // or the compiler may leave the allocation out
}

// What is allocated here is not given back: the program ends soon.
void checkCounters() {
  expectSeen("malloc", [] { return malloc(100); });
  expectSeen("calloc", [] { return calloc(10, 10); });
  expectSeen("realloc", [] { return realloc(nullptr, 100); });
  expectSeen("aligned_alloc", [] { return aligned_alloc(64, 128); });
  expectSeen("posix_memalign", [] {
    void *memory = nullptr;
    return posix_memalign(&memory, 64, 128) == 0 ? memory : nullptr;
  });
  expectSeen("mmap", [] { return mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); });
  expectSeen("operator new", [] { return ::operator new(100); });
  expectSeen("operator new with an alignment", [] { return ::operator new(128, std::align_val_t(64)); });
}

/// Zeros, which are good ids and positions; lengths are all of the source.
Memory makeTensor(const TensorInfo &info, const Manifest &manifest, int64_t size) {
  int64_t elements = 1;
  for (const std::string &axis : info.shape)
    elements *= manifest.findSize(axis) >= 0 ? size : std::stoll(axis);
  Memory tensor(elements * 4);
  if (info.name.find("lengths") != std::string::npos)
    std::fill_n(tensor.as<int32_t>(), elements, static_cast<int32_t>(size));
  return tensor;
}

/// Calls an entry with every size `size`.
void checkEntry(const Model &model, int index, int64_t size, int threads) {
  const EntryInfo &entry = model.manifest().entries[index];
  const std::vector<int64_t> sizes(model.manifest().sizes.size(), size);
  std::vector<Memory> memory;
  std::vector<void *> tensors;
  for (const auto *list : {&entry.arguments, &entry.results})
    for (const TensorInfo &info : *list)
      tensors.push_back(memory.emplace_back(makeTensor(info, model.manifest(), size)).data());
  const Memory arena(model.arenaBytes(index, sizes)), state(model.stateBytes(sizes));
  attnrt_invocation invocation{};
  invocation.tensors = tensors.data();
  invocation.sizes = sizes.data();
  invocation.arena = arena.data();
  invocation.state = state.data();
  ThreadPool pool(threads);
  KernelContext context(pool);
  context.call(model, index, invocation);
  const long found = count([&] {
    for (int i = 0; i < 3; ++i)
      context.call(model, index, invocation);
  });
  if (found != 0) {
    std::cout << model.manifest().name << ": entry '" << entry.name << "' allocates " << found
              << " times with sizes of " << size << " and " << threads << " threads\n";
    ++failures;
  }
}

void require(attnrt_status status) { check(status == ATTNRT_OK, status, attnrt_last_error()); }

/// How many allocations a request of 8 sentences with outputs of `length` tokens makes.
long countOfDecode(attnrt_session *session, attnrt_decode_options options, int length) {
  options.max_length = length;
  const int32_t ids[] = {4, 5, 6};
  const std::vector<attnrt_ids> sources(8, {3, ids});
  attnrt_result *result = nullptr;
  const long found =
      count([&] { require(attnrt_decode(session, sources.size(), sources.data(), &options, &result)); });
  attnrt_hypothesis best;
  require(attnrt_result_get(result, 0, 0, &best));
  check(best.ids.count == static_cast<size_t>(length), ATTNRT_INTERNAL, "an output is short");
  attnrt_result_destroy(result);
  return found;
}

/// A way to decode.
struct Way {
  const char *name;
  int beam;
  void (*set)(attnrt_decode_options &);
};

constexpr Way ways[] = {
    {"greedy search", 1, [](auto &) {}},
    {"a beam of 4", 4, [](auto &) {}},
    {"greedy search and rules that look back", 1,
     [](auto &o) { o.no_repeat_ngram_size = 3, o.repetition_penalty = 1.5F; }},
    {"a beam of 4 and rules that look back", 4,
     [](auto &o) { o.no_repeat_ngram_size = 3, o.repetition_penalty = 1.5F; }},
    {"samples", 1, [](auto &o) { o.sample = 1; }},
    {"two samples of a nucleus", 2, [](auto &o) { o.sample = 1, o.n_best = 2, o.top_p = 0.9F; }},
    {"typical samples of the best 20", 1, [](auto &o) { o.sample = 1, o.top_k = 20, o.typical_p = 0.9F; }},
};

/// Steps 32 to 64 allocate nothing but what each sentence's tree of hypotheses and the three lists of the rules
/// grow by: they double once or twice.
void checkDecode(const Model &model, const char *bundle, const Way &way) {
  attnrt_model *handle;
  require(attnrt_model_load(bundle, nullptr, &handle));
  attnrt_session_options room;
  attnrt_session_options_init(handle, &room);
  room.batch = 8, room.beam = way.beam, room.source = 8, room.target = 64, room.threads = 2;
  room.uses |= ATTNRT_USE_SAMPLE;
  attnrt_session *session;
  require(attnrt_session_create(handle, &room, &session));
  attnrt_decode_options options;
  attnrt_decode_options_init(handle, &options);
  options.beam = way.beam;
  options.suppressed_count = model.decoder().tokens.ends.size();
  options.suppressed = model.decoder().tokens.ends.data();
  way.set(options);
  countOfDecode(session, options, 64);
  const long found = countOfDecode(session, options, 64) - countOfDecode(session, options, 32);
  if (found > 2 * (8 + 3)) {
    std::cout << model.manifest().name << ": 32 steps of " << way.name << " allocate " << found << " times\n";
    ++failures;
  }
  attnrt_session_destroy(session);
  attnrt_model_destroy(handle);
}

} // namespace

int main(int argc, char **argv) {
  checkCounters();
  try {
    for (int i = 1; i < argc; ++i) {
      attnrt_model_options options{};
      const Model model(argv[i], nullptr, options);
      for (const int64_t size : {1, 5, 37})
        for (const int threads : {1, 2})
          for (size_t entry = 0; entry < model.manifest().entries.size(); ++entry)
            checkEntry(model, static_cast<int>(entry), size, threads);
      for (const Way &way : ways)
        if (model.manifest().findEntry("step") >= 0)
          checkDecode(model, argv[i], way);
    }
  } catch (const std::exception &error) {
    isCounting = false;
    std::cout << error.what() << "\n";
    return 1;
  }
  return failures != 0;
}
