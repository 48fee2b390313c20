//===- Golden.h - decodings recorded in a bundle, to be repeated anywhere -----===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_GOLDEN_H
#define ATTNRT_SRC_GOLDEN_H

#include "Model.h"

#include <memory>

namespace attnrt {

/// Decodes a few made-up sources greedily and gives the manifest's `golden` as JSON text.
std::string recordGolden(const std::shared_ptr<const Model> &model);

/// Verifies library and weights and repeats the recorded decodings; fails where they differ.
void selfCheck(const std::shared_ptr<const Model> &model);

} // namespace attnrt

#endif // ATTNRT_SRC_GOLDEN_H
