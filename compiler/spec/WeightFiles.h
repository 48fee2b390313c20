//===- WeightFiles.h - the tensors of one safetensors file or of many -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A large model is cut into several files with an index, as Hugging Face writes them
// (`model.safetensors.index.json`).

#ifndef ATTNC_SPEC_WEIGHTFILES_H
#define ATTNC_SPEC_WEIGHTFILES_H

#include "compiler/spec/Safetensors.h"

namespace attnc {

/// Mapped weight files. Tensors point into them and live as long as this does. Any thread may read.
class WeightFiles {
public:
  /// Opens a safetensors file, an index (`*.json`) or a folder that holds model.safetensors or its index. On
  /// failure the pointer is null and `error` says why, starting with the path.
  static std::unique_ptr<WeightFiles> open(const std::string &path, std::string &error);

  /// The tensor, or null.
  const Tensor *find(const std::string &name) const;
  const std::map<std::string, Tensor> &tensors() const { return byName; }
  /// The files that `path` stands for, the index included; with their folder.
  const std::vector<std::string> &paths() const { return allPaths; }

private:
  WeightFiles() = default;
  bool addFile(const std::string &path, std::string &error);
  bool addIndex(const std::string &path, std::string &error);

  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::vector<std::string> allPaths;
  std::map<std::string, Tensor> byName;
};

/// Whether `tensor` can be read as `shape`: it has that shape, or is a vector stored as one row.
bool canBeReadAs(const Tensor &tensor, const std::vector<int64_t> &shape);

/// Whether the numbers of `tensor` can be read: F32, F16 or BF16.
bool isReadable(const Tensor &tensor);

} // namespace attnc

#endif // ATTNC_SPEC_WEIGHTFILES_H
