//===- CheckSpec.h - what a spec's fields must be to each other ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Consistency and ranges that take more than one field. Fields that are not valid are passed over.

#ifndef ATTNC_SPEC_CHECKSPEC_H
#define ATTNC_SPEC_CHECKSPEC_H

#include "compiler/spec/Diagnostics.h"
#include "compiler/spec/Spec.h"
#include "compiler/spec/WeightFiles.h"

namespace attnc {

/// After success the expressions of the model are parsed.
void checkModel(Spec &spec, Diagnostics &diagnostics);

/// What only recurrent models have.
void checkRecurrent(const Spec &spec, Diagnostics &diagnostics);

/// Connects names; after success the ops stand in an order in which each follows its operands.
void checkGraph(GraphSpec &graph, Diagnostics &diagnostics);

/// Compares the exceptions of `types` with the matrices that there are. Needs a spec without errors.
void checkTypes(const Spec &spec, Diagnostics &diagnostics);

/// Tensors of the file that a spec without errors does not read.
std::vector<std::string> unusedTensors(const Spec &spec, const WeightFiles &file);

/// Compares the weights that the spec needs with the weight file's header. Needs a spec without errors.
void checkWeights(const Spec &spec, Diagnostics &diagnostics);

/// Whether `name` may name a bundle, a graph or a value: letters, digits and `_`, not a digit first, at
/// most 64.
bool isIdentifier(const std::string &name);

/// Whether a bundle of this name would have names of the runtime: in its header, as a macro, or as a library.
bool isRuntimesName(const std::string &name);

} // namespace attnc

#endif // ATTNC_SPEC_CHECKSPEC_H
