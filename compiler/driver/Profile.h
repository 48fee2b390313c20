//===- Profile.h - where the time of requests goes, kernel by kernel -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A graph's request is a call.

#ifndef ATTNC_COMPILER_DRIVER_PROFILE_H
#define ATTNC_COMPILER_DRIVER_PROFILE_H

#include "compiler/driver/MachineLimits.h"

#include <map>
#include <string>
#include <vector>

namespace attnc {

/// One kernel in one entry, summed over a request.
struct KernelLine {
  std::string entry, kernel;
  ProductType type = ProductType::F32;
  double calls = 0, milliseconds = 0, operations = 0, bytes = 0;
};

struct Profile {
  std::string title;
  std::vector<KernelLine> kernels;     // the slowest first
  double milliseconds = 0;             // of a request, what is outside of kernels included
  double arithmeticLimit = 0;          // operations per second
  double int8Limit = 0, bf16Limit = 0; // operations on such numbers; 0: not measured
  std::map<double, double> readLimits; // bytes per second, by how many are read again and again

  /// The part of a kernel's time that the machine needs for its sums, or for its bytes if that is longer.
  /// More than one where a cache keeps a part of what is read in between.
  double shareOfLimit(const KernelLine &line) const;

private:
  double arithmeticLimitOf(const KernelLine &line) const;
  double workingSet(const KernelLine &line) const;
  double readLimitOf(const KernelLine &line) const;
};

std::string printProfile(const Profile &profile);

/// Bars of time, their dark part the time that the limit allows.
std::string drawProfile(const Profile &profile);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_PROFILE_H
