//===- PrintSpec.h - phase `spec` as text ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_PRINTSPEC_H
#define ATTNC_COMPILER_DRIVER_PRINTSPEC_H

#include "compiler/spec/Spec.h"

#include <iosfwd>

namespace attnc {

/// Prints a checked spec as YAML with every default filled in. What the file itself says is followed by its place.
void printSpec(const Spec &spec, std::ostream &out);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_PRINTSPEC_H
