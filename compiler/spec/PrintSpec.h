//===- PrintSpec.h - spec to YAML ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The phase `spec` as text: every key with its value, defaults filled in.

#ifndef ATTNC_SPEC_PRINTSPEC_H
#define ATTNC_SPEC_PRINTSPEC_H

#include "compiler/spec/Spec.h"

#include <iosfwd>

namespace attnc {

/// Prints a spec that reads back as the same spec; what the file itself gave is followed by `# line N`.
void printSpec(const Spec &spec, std::ostream &out);

} // namespace attnc

#endif // ATTNC_SPEC_PRINTSPEC_H
