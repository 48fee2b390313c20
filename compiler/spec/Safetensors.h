//===- Safetensors.h - reading weight files --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Maps a safetensors file and lists its tensors. The header is not trusted: sizes, types, overlaps and holes
// are checked before any tensor is handed out.

#ifndef ATTNC_SPEC_SAFETENSORS_H
#define ATTNC_SPEC_SAFETENSORS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

struct Tensor {
  std::string type; // as the file has it: F32, F16, I8, ...
  std::vector<int64_t> shape;
  const std::byte *data = nullptr; // may be unaligned: copy elements out with memcpy
  size_t bytes = 0;
};

/// `[43, 32]`.
std::string shapeText(const std::vector<int64_t> &shape);

/// A mapped weight file. Tensors point into it and live as long as it does. Any thread may read.
class SafetensorsFile {
public:
  /// Opens and checks `path`. On failure the pointer is null and `error` says why, starting with the path.
  static std::unique_ptr<SafetensorsFile> open(const std::string &path, std::string &error);

  /// Checks an image in memory, which must outlive the result.
  static std::unique_ptr<SafetensorsFile> parse(std::string_view image, std::string &error);

  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile &) = delete;
  SafetensorsFile &operator=(const SafetensorsFile &) = delete;

  /// The tensor, or null.
  const Tensor *find(const std::string &name) const;
  const std::map<std::string, Tensor> &tensors() const { return byName; }

private:
  SafetensorsFile() = default;
  bool readHeader(std::string_view image, std::string &error);

  void *mapping = nullptr;
  size_t mappedBytes = 0;
  std::map<std::string, Tensor> byName;
};

} // namespace attnc

#endif // ATTNC_SPEC_SAFETENSORS_H
