//===- WeightErrors.h - the table of what rounding weights lost ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_WEIGHTERRORS_H
#define ATTNC_COMPILER_DRIVER_WEIGHTERRORS_H

#include "compiler/emit/StoredWeights.h"

#include <ostream>

namespace attnc {

/// One line for each tensor that was rounded; nothing where none was.
void printWeightErrors(const std::vector<WeightError> &errors, std::ostream &out);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_WEIGHTERRORS_H
