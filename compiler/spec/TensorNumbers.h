//===- TensorNumbers.h - the numbers of a stored tensor --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SPEC_TENSORNUMBERS_H
#define ATTNC_SPEC_TENSORNUMBERS_H

#include "compiler/spec/Safetensors.h"

#include <optional>

namespace attnc {

/// The numbers of a tensor of type F32, F16 or BF16; nothing of other types.
std::optional<std::vector<float>> numbersOf(const Tensor &tensor);

} // namespace attnc

#endif // ATTNC_SPEC_TENSORNUMBERS_H
