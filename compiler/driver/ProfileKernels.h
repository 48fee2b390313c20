//===- ProfileKernels.h - profiles of a bundle's kernels ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From what the runtime counts, the manifest and the machine to a Profile.

#ifndef ATTNC_COMPILER_DRIVER_PROFILEKERNELS_H
#define ATTNC_COMPILER_DRIVER_PROFILEKERNELS_H

#include "compiler/driver/BundleCommand.h"
#include "compiler/driver/Profile.h"

#include <nlohmann/json.hpp>

#include <functional>

namespace attnc {

/// A profile without kernels: what the machine can do with what those of the model's variant multiply, with
/// all threads at once.
Profile measureLimits(const Model &model, const nlohmann::json &manifest, int threads);

using KernelCounts = std::function<attnrt_kernel_profile(size_t entry, size_t kernel)>;

/// The kernels that were called, the mean of `requests`, the slowest first.
std::vector<KernelLine> readKernels(const Model &model, const nlohmann::json &manifest, int requests,
                                    const KernelCounts &counts);

nlohmann::ordered_json describe(const Profile &profile);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_PROFILEKERNELS_H
