//===- Manifest.cpp - fuzzes a bundle's manifest ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The input is a manifest without its seal, which is put behind it.

#include "runtime/src/Manifest.h"
#include "runtime/src/Failure.h"
#include "runtime/src/Hash.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  text += ",\n \"hash\": \"" + attnrt::hash128(text) + "\"\n}\n";
  try {
    const attnrt::Manifest manifest = attnrt::readManifest(text, "manifest.json");
    const std::vector<int64_t> sizes(manifest.sizes.size(), 3);
    for (const attnrt::EntryInfo &entry : manifest.entries)
      (void)entry.arena.evaluate(sizes);
    (void)manifest.state.evaluate(sizes);
  } catch (const attnrt::Failure &) {
  }
  return 0;
}
