//===- EntryTable.h - what the runtime expects of a model's entries --------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_ENTRYTABLE_H
#define ATTNRT_SRC_ENTRYTABLE_H

#include "Manifest.h"

namespace attnrt {

/// Fails unless the manifest's entries and sizes are those of docs/architecture.md.
void checkDecoderEntries(const Manifest &manifest);
void checkEncoderEntries(const Manifest &manifest);

} // namespace attnrt

#endif // ATTNRT_SRC_ENTRYTABLE_H
