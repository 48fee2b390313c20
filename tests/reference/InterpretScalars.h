//===- InterpretScalars.h - a score map's body in double precision ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers and conditions are doubles as well.

#ifndef ATTNC_TESTS_REFERENCE_INTERPRET_SCALARS_H
#define ATTNC_TESTS_REFERENCE_INTERPRET_SCALARS_H

#include "mlir/IR/Block.h"
#include "tests/reference/ReferenceOps.h"

namespace reference {

/// The yielded score for the score at `at`: batch, head, query, key.
double evaluateScore(mlir::Block &body, double score, const std::array<int64_t, 4> &at,
                     const std::vector<const Array *> &tables);

} // namespace reference

#endif // ATTNC_TESTS_REFERENCE_INTERPRET_SCALARS_H
