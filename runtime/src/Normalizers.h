//===- Normalizers.h - the `normalizer` of a tokenizer.json ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_NORMALIZERS_H
#define ATTNRT_SRC_NORMALIZERS_H

#include "Json.h"
#include "TextPart.h"

#include <functional>

namespace attnrt {

using Normalizer = std::function<void(TextPart &)>;

/// Null gives one that does nothing. A component that is not supported is a failure that names it.
Normalizer makeNormalizer(const JsonReader &json);

/// `text` with each occurrence of `old` replaced.
std::string replaceAll(std::string_view text, std::string_view old, std::string_view by);

} // namespace attnrt

#endif // ATTNRT_SRC_NORMALIZERS_H
