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
#include <memory>
#include <span>

namespace attnrt {

class EntryCaller {
public:
  const Model &model() const { return *owner; }
  const attnrt_session_options &capacity() const { return room; }
  size_t arenaBytes() const { return arena.size(); }
  size_t stateBytes() const { return state.size(); }
  KernelContext &kernelContext() { return context; }
  const KernelContext &kernelContext() const { return context; }

  /// Held while a call runs: a second one fails.
  class Guard {
  public:
    explicit Guard(const EntryCaller &session);
    ~Guard();

  private:
    const EntryCaller &session;
  };

protected:
  /// `executor` null: a pool of the session's own.
  EntryCaller(std::shared_ptr<const Model> model, const attnrt_session_options &options, Executor *executor);

  /// A session is created with room for `value`, from 1 to `limit`.
  static void requireRoom(const char *what, int64_t value, int64_t limit);

  /// Bytes for the present sizes; 0 where the bundle has no such entry.
  int64_t arenaFor(const char *entry) const;
  void call(const char *entry, std::vector<void *> tensors);

  /// Tokens, with padding, that are encoded together at most: so few that what one kernel computes of them is
  /// still in the second cache when the next one reads it, so many that reading the weights for them pays.
  int64_t tokensTogether() const;

  /// The largest arena that `entry` needs for some sentences of `batch`, none of more than `length` tokens,
  /// that are encoded together. `setSizes(sentences, tokens of each)` sets the sizes of a call.
  template <typename SetSizes>
  int64_t arenaForParts(const char *entry, int64_t batch, int64_t length, SetSizes setSizes) {
    const int64_t tokens = tokensTogether();
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
  std::vector<int64_t> sizes; // of the request, in the manifest's order
  Memory arena, state;

private:
  std::unique_ptr<Executor> ownExecutor;
  KernelContext context;
  mutable std::atomic<bool> isBusy{false};
};

} // namespace attnrt

#endif // ATTNRT_SRC_ENTRYCALLER_H
