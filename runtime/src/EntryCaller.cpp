//===- EntryCaller.cpp - calls of a bundle's entries -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "EntryCaller.h"
#include "Failure.h"

namespace attnrt {

EntryCaller::Guard::Guard(const EntryCaller &session) : session(session) {
  check(!session.isBusy.exchange(true), ATTNRT_BUSY, "the session serves another call; open one per thread");
}

EntryCaller::Guard::~Guard() { session.isBusy = false; }

EntryCaller::EntryCaller(std::shared_ptr<const Model> model, const attnrt_session_options &options,
                         Executor *executor)
    : owner(std::move(model)), room(options), sizes(owner->manifest().sizes.size(), 1),
      ownExecutor(executor ? nullptr : makeThreadPool(options.threads)),
      context(executor ? *executor : *ownExecutor) {}

void EntryCaller::requireRoom(const char *what, int64_t value, int64_t limit) {
  check(value >= 1 && value <= limit, ATTNRT_OUT_OF_RANGE, "a session's ", what, " must be from 1 to ", limit,
        ", but is ", value);
}

int64_t EntryCaller::arenaFor(const char *entry) const {
  const int index = owner->manifest().findEntry(entry);
  return index < 0 ? 0 : owner->arenaBytes(index, sizes);
}

int64_t EntryCaller::tokensTogether() const {
  constexpr int64_t ofFloats = 512, ofNarrow = 192; // docs/tuning-notes.md
  return (owner->manifest().weights.areFloats() ? ofFloats : ofNarrow) * context.threadCount();
}

void EntryCaller::call(const char *entry, std::vector<void *> tensors) {
  const int index = owner->manifest().findEntry(entry);
  check(index >= 0, ATTNRT_UNSUPPORTED, "the bundle has no entry '", entry, "'");
  const int64_t needed = owner->arenaBytes(index, sizes);
  check(static_cast<uint64_t>(needed) <= arena.size(), ATTNRT_INTERNAL, "entry '", entry, "' needs ", needed,
        " bytes of arena, but the session has ", arena.size());
  attnrt_invocation invocation{};
  invocation.tensors = tensors.data();
  invocation.sizes = sizes.data();
  invocation.arena = arena.data();
  invocation.state = state.data();
  context.call(*owner, index, invocation);
}

void EntryCaller::checkSources(std::span<const attnrt_ids> sources, int32_t vocabulary) const {
  for (size_t s = 0; s < sources.size(); ++s) {
    check(sources[s].count > 0, ATTNRT_INVALID_ARGUMENT, "source ", s, " has no tokens");
    check(sources[s].count <= static_cast<size_t>(room.source), ATTNRT_OUT_OF_RANGE, "source ", s, " has ",
          sources[s].count, " tokens, the session has room for ", room.source);
    for (size_t i = 0; i < sources[s].count; ++i)
      check(sources[s].ids[i] >= 0 && sources[s].ids[i] < vocabulary, ATTNRT_INVALID_ARGUMENT, "token ", i,
            " of source ", s, " is ", sources[s].ids[i], ", but the vocabulary's ids are 0 to ",
            vocabulary - 1);
  }
}

} // namespace attnrt
