//===- TypesSpec.h - types of weights --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The section `types`: what the matrices of linears are stored as, and so what kernels multiply; and what
// attention reads and multiplies.

#ifndef ATTNC_SPEC_TYPESSPEC_H
#define ATTNC_SPEC_TYPESSPEC_H

#include "compiler/spec/Located.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

enum class WeightType { F32, Bf16, Int8 }; // in the order of the table's words

/// The type of what attention multiplies, and of keys and values that a decoder keeps. Auto: by the matrices'
/// default; if that is int8, what is kept is bf16, but multiplied as float32.
enum class AttentionType { Auto, F32, Bf16 };

/// The type of the tensors whose names fit.
struct TypeException {
  Located<std::string> pattern; // a name; `*` stands for any characters
  Located<WeightType> type;
};

struct TypesSpec {
  Located<WeightType> fallback;
  Located<AttentionType> attention;
  std::vector<TypeException> layers; // of several that fit the last one counts

  WeightType typeOf(std::string_view tensor) const;
  bool roundsCaches() const;
  bool roundsProducts() const; // of attention
};

/// Whether `name` is what `pattern` says, where `*` stands for any characters.
bool fits(std::string_view pattern, std::string_view name);

} // namespace attnc

#endif // ATTNC_SPEC_TYPESSPEC_H
