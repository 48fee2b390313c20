//===- TokenDecoders.h - the `decoder` of a tokenizer.json -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_TOKENDECODERS_H
#define ATTNRT_SRC_TOKENDECODERS_H

#include "Json.h"

#include <functional>

namespace attnrt {

/// Rewrites the tokens, so that put together they are the text.
using TokenDecoder = std::function<void(std::vector<std::string> &)>;

/// Null gives one that puts spaces between tokens. A component that is not supported is a failure that names
/// it.
TokenDecoder makeTokenDecoder(const JsonReader &json);

} // namespace attnrt

#endif // ATTNRT_SRC_TOKENDECODERS_H
