//===- SafetensorsImage.h - weight files made by tests ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_SPEC_SAFETENSORSIMAGE_H
#define ATTNC_TESTS_SPEC_SAFETENSORSIMAGE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attnc::tests {

/// A file with this header and zeros for data.
inline std::string safetensorsImage(const std::string &header, size_t dataBytes) {
  std::string image;
  for (unsigned i = 0; i < 8; ++i)
    image += char(uint64_t(header.size()) >> (8 * i));
  return image + header + std::string(dataBytes, '\0');
}

/// A file of float32 tensors, all zeros.
inline std::string zeroTensors(const std::vector<std::pair<std::string, std::vector<int64_t>>> &tensors,
                               const std::string &type = "F32") {
  std::string header = "{";
  size_t offset = 0;
  for (const auto &[name, shape] : tensors) {
    size_t bytes = 4;
    std::string extents;
    for (int64_t extent : shape) {
      bytes *= extent;
      extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    }
    header += (offset ? ",\"" : "\"") + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + extents +
              "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + bytes) + "]}";
    offset += bytes;
  }
  return safetensorsImage(header + "}", offset);
}

} // namespace attnc::tests

#endif // ATTNC_TESTS_SPEC_SAFETENSORSIMAGE_H
