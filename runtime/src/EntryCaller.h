//===- EntryCaller.h - calls of a bundle's entries ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What every session has: threads, the vector of sizes, and memory that is allocated once.

#ifndef ATTNRT_SRC_ENTRYCALLER_H
#define ATTNRT_SRC_ENTRYCALLER_H

#include "KernelContext.h"
#include "Memory.h"
#include "Model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <span>

namespace attnrt {

class EntryCaller {
public:
  const Model &model() const { return *owner; }
  const attnrt_session_options &capacity() const { return room; }
  size_t arenaBytes() const { return arena.size(); }
  size_t stateBytes() const { return state.size(); }
  KernelContext &kernelContext() { return whole.context; }
  const KernelContext &kernelContext() const { return whole.context; }

  /// Held while a call runs: a second one fails.
  class Guard {
  public:
    explicit Guard(const EntryCaller &session);
    ~Guard();

  private:
    const EntryCaller &session;
  };

protected:
  /// What a call works in.
  struct Lane {
    Lane(int number, size_t sizeCount, Executor &executor)
        : number(number), sizes(sizeCount, 1), context(executor) {}

    int number;
    std::vector<int64_t> sizes; // of the request, in the manifest's order
    std::span<char> arena;
    KernelContext context;
  };

  /// `executor` null: a pool of the session's own.
  EntryCaller(std::shared_ptr<const Model> model, const attnrt_session_options &options, Executor *executor);

  /// A session is created with room for `value`, from 1 to `limit`.
  static void requireRoom(const char *what, int64_t value, int64_t limit);

  /// The number of an entry; fails where the bundle has none of that name.
  int findEntry(const char *entry) const;
  /// Bytes for the sizes of `whole`; 0 where the bundle has no such entry.
  int64_t arenaFor(const char *entry) const;
  void call(const char *entry, const std::vector<void *> &tensors) { callIn(whole, entry, tensors); }
  void callIn(Lane &lane, const char *entry, const std::vector<void *> &tensors);

  /// Tokens, with padding, that one thread encodes together at most: so few that what one kernel computes of
  /// them is still in the second cache when the next one reads it, so many that reading the weights for them
  /// pays.
  int64_t tokensOfThread() const;
  /// The same for all threads, which share each kernel's loops.
  int64_t tokensTogether() const { return tokensOfThread() * threadCount(); }
  /// What a lane has room for: longer sentences are encoded by all threads.
  int64_t tokensOfLane() const { return 4 * tokensOfThread(); }
  int threadCount() const { return whole.context.threadCount(); }

  /// Gives an arena of `bytes` to `whole`, and `laneBytes` each to as many lanes as there are threads. There
  /// are none for one thread, nor where requests have fewer parts than threads.
  void allocateArena(int64_t bytes, int64_t laneBytes, int64_t mostParts);

  /// Sources that are encoded in one call.
  struct Part {
    std::span<const size_t> numbers;
    size_t longest;           // of them
    size_t first, firstToken; // sentences, and tokens with padding, of the parts before

    size_t tokens() const { return numbers.size() * longest; }
  };

  /// `encode(part, lane)` for parts that are all sources: those of similar length together, the shortest
  /// first. `order`: room for the numbers.
  void encodeByParts(std::span<const size_t> lengths, std::span<size_t> order,
                     const std::function<void(const Part &part, Lane &lane)> &encode);

  /// Whether `parts` of `tokens` in all are worked on sooner in lanes, each by a thread of its own, than one
  /// after the other by all threads. Threads that share loops read half of what others wrote, from another
  /// core's cache: two of them take a fifth longer. Lanes wait for the last one, and read all weights each.
  bool areForLanes(int64_t parts, int64_t largest, int64_t tokens) const;

  /// `work(part, lane)` for each of `parts`, on a thread for each lane. Passes on the first exception.
  void runInLanes(int parts, const std::function<void(int part, Lane &lane)> &work);

  /// The largest arena that `entry` needs for some sentences of `batch`, none of more than `length` tokens,
  /// of which `tokens` are encoded together. `setSizes(sentences, tokens of each)` sets the sizes of a call.
  template <typename SetSizes>
  int64_t arenaForParts(const char *entry, int64_t tokens, int64_t batch, int64_t length, SetSizes setSizes) {
    int64_t most = 0;
    for (int64_t sentences = 1; sentences <= std::min(batch, tokens); ++sentences) {
      setSizes(sentences, sentences == 1 ? length : std::min(length, tokens / sentences));
      most = std::max(most, arenaFor(entry));
    }
    return most;
  }

  /// None empty or too long, all ids below `vocabulary`.
  void checkSources(std::span<const attnrt_ids> sources, int32_t vocabulary) const;

  std::shared_ptr<const Model> owner;
  attnrt_session_options room;
  Memory arena, state;
  std::unique_ptr<Executor> ownExecutor;
  Executor &executor;
  Lane whole; // all of the arena, and loops that threads share
  std::deque<Lane> lanes;

private:
  /// Parts of at most so many tokens with padding.
  std::vector<Part> divide(std::span<const size_t> lengths, int64_t tokens, std::span<size_t> order) const;
  /// Parts of similar size, as many for each lane; none where lanes are no faster.
  std::vector<Part> divideForLanes(std::span<const size_t> lengths, std::span<size_t> order) const;
  void addProfiles(std::chrono::nanoseconds passed);

  mutable std::atomic<bool> isBusy{false};
};

} // namespace attnrt

#endif // ATTNRT_SRC_ENTRYCALLER_H
