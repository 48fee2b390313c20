//===- CpuFeatures.cpp - what this machine can run ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CpuFeatures.h"

#include "attnrt/cpu.h"

namespace attnrt {

std::string findMissingFeature(const std::string &features) {
  size_t length = 0;
  attnrt_cpu_answer why = ATTNRT_CPU_YES;
  const char *missing = attnrt_cpu_missing(features.c_str(), &length, &why);
  if (!missing)
    return "";
  const std::string name(missing, length);
  return why == ATTNRT_CPU_FORBIDDEN ? name + " (which the system does not let this process use)" : name;
}

} // namespace attnrt
