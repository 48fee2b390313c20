//===- Handles.h - what the C interface's handles hold -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// And the border: no exception passes guard().

#ifndef ATTNRT_SRC_HANDLES_H
#define ATTNRT_SRC_HANDLES_H

#include "Decode.h"
#include "EncoderSession.h"
#include "Failure.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>

struct attnrt_model {
  std::shared_ptr<const attnrt::Model> model;
};

struct attnrt_pool {
  std::unique_ptr<attnrt::Executor> executor;
};

/// One of the two, by the model's kind.
struct attnrt_session {
  std::unique_ptr<attnrt::Session> decoder;
  std::unique_ptr<attnrt::EncoderSession> encoder;

  const attnrt::EntryCaller &caller() const {
    return decoder ? static_cast<const attnrt::EntryCaller &>(*decoder) : *encoder;
  }
  attnrt::EntryCaller &caller() { return decoder ? static_cast<attnrt::EntryCaller &>(*decoder) : *encoder; }
};

struct attnrt_cancel {
  attnrt::CancelFlag flag;
};

struct attnrt_result {
  std::vector<std::vector<attnrt::Hypothesis>> sentences;
};

namespace attnrt {

/// Keeps the message for attnrt_last_error() on this thread.
attnrt_status setLastError(attnrt_status status, const char *message) noexcept;

/// Runs `body`, and turns what it throws into a status and a message.
template <typename Body> attnrt_status guard(Body body) noexcept {
  try {
    body();
    return ATTNRT_OK;
  } catch (const Failure &failure) {
    return setLastError(failure.status, failure.what());
  } catch (const std::bad_alloc &) {
    return setLastError(ATTNRT_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error &) {
    return setLastError(ATTNRT_OUT_OF_MEMORY, "out of memory: a size is absurd");
  } catch (const std::exception &error) {
    return setLastError(ATTNRT_INTERNAL, error.what());
  } catch (...) {
    return setLastError(ATTNRT_INTERNAL, "unknown exception");
  }
}

inline void requirePointer(const void *pointer, const char *name) {
  check(pointer != nullptr, ATTNRT_INVALID_ARGUMENT, "'", name, "' is null");
}

inline Session &decoderOf(attnrt_session *session) {
  requirePointer(session, "session");
  check(session->decoder != nullptr, ATTNRT_UNSUPPORTED,
        "the session is of an encoder, which does not decode");
  return *session->decoder;
}

inline EncoderSession &encoderOf(attnrt_session *session) {
  requirePointer(session, "session");
  check(session->encoder != nullptr, ATTNRT_UNSUPPORTED,
        "the session is of a model that decodes: it gives no hidden states or predictions");
  return *session->encoder;
}

inline std::span<const attnrt_ids> viewIds(size_t count, const attnrt_ids *lists, const char *name) {
  check(lists || count == 0, ATTNRT_INVALID_ARGUMENT, "'", name, "' is null");
  for (size_t i = 0; i < count; ++i)
    check(lists[i].ids || lists[i].count == 0, ATTNRT_INVALID_ARGUMENT, "'", name, "[", i, "].ids' is null");
  return {lists, count};
}

/// A batch's sequences, no more than the session has room for.
inline std::span<const attnrt_ids> viewBatch(const EntryCaller &session, size_t count,
                                             const attnrt_ids *lists, const char *name) {
  const int32_t batch = session.capacity().batch;
  check(count <= static_cast<size_t>(batch), ATTNRT_OUT_OF_RANGE, "there are ", count, " ", name,
        ", the session has room for a batch of ", batch);
  return viewIds(count, lists, name);
}

/// The caller's options, whose struct may be older and shorter: what it lacks keeps the default.
template <typename Options> Options readOptions(const Options *given, Options defaults) {
  if (!given)
    return defaults;
  // Every version's struct is whole words, so no field is cut.
  check(given->size >= sizeof(size_t) && given->size <= sizeof(Options) &&
            given->size % alignof(Options) == 0,
        ATTNRT_INVALID_ARGUMENT, "an options struct of ", given->size,
        " bytes is unknown: fill it with its init function");
  std::copy_n(reinterpret_cast<const char *>(given), given->size, reinterpret_cast<char *>(&defaults));
  return defaults;
}

} // namespace attnrt

#endif // ATTNRT_SRC_HANDLES_H
