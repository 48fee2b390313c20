//===- BodyAttention.h - attention in the body of a recurrence --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where each position of a loop asks, what it asks lies outside, and its weights leave the loop as an output.

#ifndef ATTNC_DIALECT_TRANSFORMS_BODYATTENTION_H
#define ATTNC_DIALECT_TRANSFORMS_BODYATTENTION_H

#include "dialect/IR/Attn.h"

namespace attn {

/// What a view in a recurrence's body looks at outside of it, if that is the same at each position.
mlir::Value findOutside(mlir::Value value);

/// Makes the mean over the heads of `softmax`, in the body of `recurrence`, an output of a recurrence that
/// takes its place.
mlir::Value addMeanOutput(RecurrenceOp recurrence, SoftmaxOp softmax);

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_BODYATTENTION_H
