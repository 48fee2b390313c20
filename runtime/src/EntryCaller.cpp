//===- EntryCaller.cpp - calls of a bundle's entries -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "EntryCaller.h"
#include "Batches.h"
#include "Failure.h"

#include <exception>
#include <mutex>
#include <numeric>

namespace attnrt {
namespace {

/// Parts that lanes take one after the other until there are none, or one has failed.
class PartQueue {
public:
  using Work = std::function<void(int part, int lane)>;

  PartQueue(int parts, Work work) : parts(parts), work(std::move(work)) {}

  int take(int lane) noexcept {
    try {
      for (int part; (part = next.fetch_add(1)) < parts;)
        work(part, lane);
    } catch (...) {
      next = parts;
      const std::lock_guard lock(mutex);
      if (!failure)
        failure = std::current_exception();
      return -1;
    }
    return 0;
  }

  void finish(int code) const {
    if (failure)
      std::rethrow_exception(failure);
    check(code == 0 && next >= parts, ATTNRT_KERNEL_FAILED, "the pool of threads did not run all tasks");
  }

private:
  const int parts;
  const Work work;
  std::atomic<int> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
};

} // namespace

EntryCaller::Guard::Guard(const EntryCaller &session) : session(session) {
  check(!session.isBusy.exchange(true), ATTNRT_BUSY, "the session serves another call; open one per thread");
}

EntryCaller::Guard::~Guard() { session.isBusy = false; }

EntryCaller::EntryCaller(std::shared_ptr<const Model> model, const attnrt_session_options &options,
                         Executor *executor)
    : owner(std::move(model)), room(options),
      ownExecutor(executor ? nullptr : makeThreadPool(options.threads)),
      executor(executor ? *executor : *ownExecutor),
      whole(0, owner->manifest().sizes.size(), this->executor) {}

void EntryCaller::requireRoom(const char *what, int64_t value, int64_t limit) {
  check(value >= 1 && value <= limit, ATTNRT_OUT_OF_RANGE, "a session's ", what, " must be from 1 to ", limit,
        ", but is ", value);
}

int64_t EntryCaller::arenaFor(const char *entry) const {
  const int index = owner->manifest().findEntry(entry);
  return index < 0 ? 0 : owner->arenaBytes(index, whole.sizes);
}

int64_t EntryCaller::tokensOfThread() const {
  constexpr int64_t ofByte = 128; // docs/tuning-notes.md
  return ofByte * owner->manifest().weights.narrowestBytes();
}

void EntryCaller::allocateArena(int64_t bytes, int64_t laneBytes, int64_t mostParts) {
  constexpr int64_t page = 4096;
  const int64_t count = threadCount(), apart = (laneBytes + page - 1) / page * page;
  const bool hasLanes = count > 1 && count <= mostParts && laneBytes > 0;
  arena = Memory(std::max(bytes, hasLanes ? count * apart : 0));
  whole.arena = {arena.data(), arena.size()};
  for (int lane = 0; hasLanes && lane < count; ++lane)
    lanes.emplace_back(lane, whole.sizes.size(), executor).arena = whole.arena.subspan(lane * apart, apart);
}

/// Tokens that are encoded in about the time in which the weights are read once more. More padding than that
/// is worth a part of its own.
constexpr size_t TokensOfWeights = 32;

std::vector<EntryCaller::Part> EntryCaller::divide(std::span<const size_t> lengths, int64_t tokens,
                                                   std::span<size_t> order) const {
  std::vector<size_t> ends(order.size());
  ends.resize(makeBatches(lengths, room.batch, tokens, order.data(), ends.data()));
  std::vector<Part> parts;
  size_t first = 0, token = 0;
  for (const size_t endOfBatch : ends)
    for (size_t end = first + 1; end <= endOfBatch; ++end) {
      const size_t longest = lengths[order[end - 1]];
      if (end < endOfBatch && (end - first) * (lengths[order[end]] - longest) <= TokensOfWeights)
        continue;
      parts.push_back({order.subspan(first, end - first), longest, first, token});
      token += parts.back().tokens();
      first = end;
    }
  return parts;
}

std::vector<EntryCaller::Part> EntryCaller::divideForLanes(std::span<const size_t> lengths,
                                                           std::span<size_t> order) const {
  const auto tokens = static_cast<int64_t>(std::reduce(lengths.begin(), lengths.end()));
  if (lanes.empty() || tokens == 0)
    return {};
  const auto count = static_cast<int64_t>(lanes.size());
  const int64_t turns = (tokens + tokensOfThread() * count - 1) / (tokensOfThread() * count);
  const int64_t wanted = turns * count;
  std::vector<Part> parts;
  int64_t largestPart = (tokens + wanted - 1) / wanted; // with no padding
  do {
    parts = divide(lengths, std::min(largestPart, tokensOfThread()), order);
    largestPart += 1 + largestPart / 16;
  } while (static_cast<int64_t>(parts.size()) > wanted && largestPart <= tokensOfThread());
  size_t largest = 0;
  for (const Part &part : parts)
    largest = std::max(largest, part.tokens());
  const size_t padded = parts.back().firstToken + parts.back().tokens();
  if (!areForLanes(parts.size(), static_cast<int64_t>(largest), static_cast<int64_t>(padded)))
    parts.clear();
  return parts;
}

void EntryCaller::encodeByParts(std::span<const size_t> lengths, std::span<size_t> order,
                                const std::function<void(const Part &part, Lane &lane)> &encode) {
  if (order.empty())
    return;
  const std::vector<Part> parts = divideForLanes(lengths, order);
  if (!parts.empty())
    return runInLanes(static_cast<int>(parts.size()),
                      [&](int part, Lane &lane) { encode(parts[part], lane); });
  for (const Part &part : divide(lengths, tokensTogether(), order))
    encode(part, whole);
}

bool EntryCaller::areForLanes(int64_t parts, int64_t largest, int64_t tokens) const {
  const auto count = static_cast<int64_t>(lanes.size());
  if (count == 0 || parts < count || largest > tokensOfLane())
    return false;
  const int64_t turns = (parts + count - 1) / count;
  const int64_t worst = std::min(turns * count * largest, tokens + (count - 1) * largest); // all lanes' time
  return worst * 5 <= tokens * 6 && tokens / parts >= tokensOfThread() / 2;
}

void EntryCaller::runInLanes(int parts, const std::function<void(int part, Lane &lane)> &work) {
  for (Lane &lane : lanes) {
    lane.sizes = whole.sizes;
    if (whole.context.isProfiled())
      lane.context.startProfile(*owner);
  }
  PartQueue queue(parts, [&](int part, int lane) { work(part, lanes[lane]); });
  const auto take = [](attnrt_kernel_context *, int lane, uint8_t *queue) {
    return reinterpret_cast<PartQueue *>(queue)->take(lane);
  };
  const auto start = std::chrono::steady_clock::now();
  queue.finish(executor.run({&whole.context, take, 0, static_cast<int>(lanes.size()),
                             reinterpret_cast<uint8_t *>(&queue), /*isShared=*/true}));
  if (whole.context.isProfiled())
    addProfiles(std::chrono::steady_clock::now() - start);
}

/// Lanes' times become their shares of the time that passed.
void EntryCaller::addProfiles(std::chrono::nanoseconds passed) {
  int64_t worked = 0;
  for (const Lane &lane : lanes)
    worked += lane.context.profiledNanoseconds();
  const double share = worked > 0 ? static_cast<double>(passed.count()) / static_cast<double>(worked) : 0;
  for (const Lane &lane : lanes)
    whole.context.addProfile(lane.context, share);
}

int EntryCaller::findEntry(const char *entry) const {
  const int index = owner->manifest().findEntry(entry);
  check(index >= 0, ATTNRT_UNSUPPORTED, "the bundle has no entry '", entry, "'");
  return index;
}

void EntryCaller::callIn(Lane &lane, const char *entry, const std::vector<void *> &tensors) {
  const int index = findEntry(entry);
  const int64_t needed = owner->arenaBytes(index, lane.sizes);
  check(static_cast<uint64_t>(needed) <= lane.arena.size(), ATTNRT_INTERNAL, "entry '", entry, "' needs ",
        needed, " bytes of arena, but the session has ", lane.arena.size());
  attnrt_invocation invocation{};
  invocation.tensors = tensors.data();
  invocation.sizes = lane.sizes.data();
  invocation.arena = lane.arena.data();
  invocation.state = state.data();
  lane.context.call(*owner, index, invocation);
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
