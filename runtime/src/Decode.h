//===- Decode.h - from sources to hypotheses ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_DECODE_H
#define ATTNRT_SRC_DECODE_H

#include "DecodeRules.h"

namespace attnrt {

/// Set from any thread to end the decodes that look at it.
struct CancelFlag {
  std::atomic<bool> isSet{false};
};

/// n-best lists, one per source.
std::vector<std::vector<Hypothesis>> decode(Session &session, std::span<const attnrt_ids> sources,
                                            const attnrt_decode_options &options, const CancelFlag *cancel);

} // namespace attnrt

#endif // ATTNRT_SRC_DECODE_H
