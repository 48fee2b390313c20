//===- WeightFile.h - the mapped weights of a bundle -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_WEIGHTFILE_H
#define ATTNRT_SRC_WEIGHTFILE_H

#include "Manifest.h"
#include "MappedFile.h"

namespace attnrt {

/// weights.safetensors, whose header has been found to say what the manifest says.
class WeightFile {
public:
  WeightFile(const std::string &folder, const WeightsInfo &info);

  /// The data part, aligned to 64 bytes.
  const char *data() const { return dataPart.data(); }

  /// Compares every byte to the manifest's hashes; a failure names the tensor.
  void verify() const;

private:
  void checkHeader(std::string_view header) const;

  std::string path;
  const WeightsInfo &info;
  MappedFile file;
  std::string_view dataPart;
};

} // namespace attnrt

#endif // ATTNRT_SRC_WEIGHTFILE_H
