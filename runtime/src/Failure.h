//===- Failure.h - how the runtime's inside reports what went wrong ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Inside the runtime a failure is an exception with a status; the C interface turns it into a return code.

#ifndef ATTNRT_SRC_FAILURE_H
#define ATTNRT_SRC_FAILURE_H

#include "attnrt/attnrt.h"

#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace attnrt {

struct Failure : std::runtime_error {
  Failure(attnrt_status status, const std::string &message) : std::runtime_error(message), status(status) {}
  attnrt_status status;
};

/// Throws a Failure whose message is the parts put together.
template <typename... Parts> [[noreturn]] void fail(attnrt_status status, const Parts &...parts) {
  std::ostringstream message;
  message.imbue(std::locale::classic()); // numbers are not grouped, whatever the host's locale
  (message << ... << parts);
  throw Failure(status, message.str());
}

/// As `fail`, where `holds` is false.
template <typename... Parts> void check(bool holds, attnrt_status status, const Parts &...parts) {
  if (!holds)
    fail(status, parts...);
}

/// Throws where a model's kernels gave something else than numbers; minus infinity is the logarithm of one.
template <typename Numbers> void checkComputed(const Numbers &numbers, const char *what) {
  bool areNumbers = true;
  for (const float number : numbers)
    areNumbers &= number < std::numeric_limits<float>::infinity();
  check(areNumbers, ATTNRT_KERNEL_FAILED, "the model computed no ", what, ": are its weights damaged?");
}

} // namespace attnrt

#endif // ATTNRT_SRC_FAILURE_H
