//===- Spec.cpp - fuzzes a spec --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/ReadSpec.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  attnc::Diagnostics diagnostics;
  const bool isRead = bool(attnc::parseSpec("/none/model.yaml", text, {.weights = "random:1"}, diagnostics));
  if (isRead == diagnostics.hasErrors())
    abort(); // refused without a word, or taken with errors
  std::ostringstream out;
  diagnostics.print(out);
  return 0;
}
