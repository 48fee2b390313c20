//===- TypesSpec.h - types of weights --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The section `types`: what the matrices of linears are stored as, and so what kernels multiply; and caches.

#ifndef ATTNC_SPEC_TYPESSPEC_H
#define ATTNC_SPEC_TYPESSPEC_H

#include "compiler/spec/Located.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

enum class WeightType { F32, Bf16, Int8 }; // in the order of the table's words

/// The type of keys and values that a decoder keeps. Auto: bf16 unless the matrices' default is f32.
enum class CacheType { Auto, F32, Bf16 };

/// The type of the tensors whose names fit.
struct TypeException {
  Located<std::string> pattern; // a name; `*` stands for any characters
  Located<WeightType> type;
};

struct TypesSpec {
  Located<WeightType> fallback;
  Located<CacheType> caches;
  std::vector<TypeException> layers; // of several that fit the last one counts

  WeightType typeOf(std::string_view tensor) const;
  bool roundsCaches() const;
};

/// Whether `name` is what `pattern` says, where `*` stands for any characters.
bool fits(std::string_view pattern, std::string_view name);

} // namespace attnc

#endif // ATTNC_SPEC_TYPESSPEC_H
