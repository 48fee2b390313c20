//===- ReadModel.h - the `model:` level from YAML --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Structure and types only; CheckModel compares the fields with each other.

#ifndef ATTNC_SPEC_READMODEL_H
#define ATTNC_SPEC_READMODEL_H

#include "compiler/spec/MapReader.h"
#include "compiler/spec/ModelSpec.h"

namespace attnc {

ModelSpec readModel(MapReader model, Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_SPEC_READMODEL_H
