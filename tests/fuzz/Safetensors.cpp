//===- Safetensors.cpp - fuzzes a file of weights --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every byte of every tensor must be readable.

#include "compiler/spec/Safetensors.h"

#include <cstddef>
#include <cstdint>
#include <string>

static volatile std::byte sink;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string error;
  const auto file = attnc::SafetensorsFile::parse({reinterpret_cast<const char *>(data), size}, error);
  if (!file)
    return 0;
  for (const auto &[name, tensor] : file->tensors())
    for (size_t i = 0; i < tensor.bytes; ++i)
      sink = tensor.data[i];
  return 0;
}
