//===- WeightErrors.cpp - the table of what rounding weights lost ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/WeightErrors.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace attnc {

void printWeightErrors(const std::vector<WeightError> &errors, std::ostream &out) {
  size_t widest = 6;
  for (const WeightError &error : errors)
    widest = std::max(widest, error.tensor.size());
  auto print = [&](const std::string &tensor, const char *rest) {
    out << tensor << std::string(widest - tensor.size(), ' ') << rest << "\n";
  };
  if (!errors.empty())
    print("weight", "  type  error    worst output");
  std::set<std::string> printed; // a tensor may be a part of several weights
  for (const WeightError &error : errors) {
    if (!printed.insert(error.tensor).second)
      continue;
    char rest[96];
    std::snprintf(rest, sizeof rest, "  %-4s  %6.3f%%  %6.3f%% (%lld)", error.type.c_str(), 100 * error.error,
                  100 * error.worstError, static_cast<long long>(error.worstOutput));
    print(error.tensor, rest);
  }
}

} // namespace attnc
