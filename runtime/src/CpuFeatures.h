//===- CpuFeatures.h - what this machine can run -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_CPUFEATURES_H
#define ATTNRT_SRC_CPUFEATURES_H

#include <string>

namespace attnrt {

/// The first of `features` (names as in /proc/cpuinfo, separated by spaces) that this machine lacks, or its
/// operating system does not let this process use, which is said behind the name: for messages. Empty where
/// it has them all. Unknown names count as lacking.
std::string findMissingFeature(const std::string &features);

} // namespace attnrt

#endif // ATTNRT_SRC_CPUFEATURES_H
