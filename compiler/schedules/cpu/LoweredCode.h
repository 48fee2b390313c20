//===- LoweredCode.h - what passes over lowered code share ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SCHEDULES_CPU_LOWERED_CODE_H
#define ATTNC_SCHEDULES_CPU_LOWERED_CODE_H

#include "Halide.h"

#include <string>
#include <utility>
#include <vector>

namespace attnc {

/// A name and its value; those around a statement are in order, the outermost one first.
using Let = std::pair<std::string, Halide::Expr>;

/// `value` in terms of what is known outside of `lets`.
inline Halide::Expr withLets(Halide::Expr value, const std::vector<Let> &lets) {
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    value = Halide::Internal::substitute(let->first, let->second, value);
  return value;
}

/// The loop with another body.
inline Halide::Internal::Stmt withBody(const Halide::Internal::For *loop,
                                       const Halide::Internal::Stmt &body) {
  return Halide::Internal::For::make(loop->name, loop->min, loop->extent, loop->for_type,
                                     loop->partition_policy, loop->device_api, body);
}

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_LOWERED_CODE_H
