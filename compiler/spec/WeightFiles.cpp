//===- WeightFiles.cpp - the tensors of one safetensors file or of many -----===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/WeightFiles.h"
#include "compiler/spec/Words.h"

#include "nlohmann/json.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace fs = std::filesystem;

namespace attnc {

bool canBeReadAs(const Tensor &tensor, const std::vector<int64_t> &shape) {
  return tensor.shape == shape || (shape.size() == 1 && tensor.shape == std::vector<int64_t>{1, shape[0]});
}

bool isReadable(const Tensor &tensor) {
  return tensor.type == "F32" || tensor.type == "F16" || tensor.type == "BF16";
}

bool WeightFiles::addFile(const std::string &path, std::string &error) {
  std::unique_ptr<SafetensorsFile> file = SafetensorsFile::open(path, error);
  if (!file)
    return false;
  byName.insert(file->tensors().begin(), file->tensors().end());
  files.push_back(std::move(file));
  allPaths.push_back(path);
  return true;
}

/// The files of an index by what they hold. Nothing is returned, and `error` says why, where it is not an
/// index.
static std::optional<std::map<std::string, std::string>> readIndex(const std::string &path,
                                                                   std::string &error) {
  constexpr size_t mostBytes = 64 << 20;
  constexpr int deepest = 4;
  std::error_code failure;
  const bool isFile = fs::is_regular_file(path, failure); // a FIFO would keep the reader waiting
  std::ifstream in(isFile ? path : "", std::ios::binary);
  if (!in || fs::file_size(path, failure) > mostBytes || failure) {
    error = path + ": is not a file that can be read, or is too large";
    return std::nullopt;
  }
  auto isFlat = [](int depth, nlohmann::json::parse_event_t, nlohmann::json &) { return depth <= deepest; };
  nlohmann::json index = nlohmann::json::parse(in, isFlat, /*allow_exceptions=*/false);
  const nlohmann::json map =
      index.is_object() ? index.value("weight_map", nlohmann::json()) : nlohmann::json();
  auto isName = [](const nlohmann::json &file) { return file.is_string(); };
  if (!map.is_object() || map.empty() || !std::all_of(map.begin(), map.end(), isName)) {
    error = path + ": is not an index: it needs an object 'weight_map' from tensors to file names";
    return std::nullopt;
  }
  const auto fileOf = map.get<std::map<std::string, std::string>>();
  for (const auto &[tensor, file] : fileOf)
    if (fs::path(file).filename() != file) {
      error = path + ": " + quote(file) + " is not a file beside the index";
      return std::nullopt;
    }
  return fileOf;
}

bool WeightFiles::addIndex(const std::string &path, std::string &error) {
  std::optional<std::map<std::string, std::string>> fileOf = readIndex(path, error);
  if (!fileOf)
    return false;
  allPaths.push_back(path);
  std::set<std::string> names;
  for (const auto &[tensor, file] : *fileOf)
    if (names.insert(file).second && !addFile((fs::path(path).parent_path() / file).string(), error))
      return false;
  for (const auto &[tensor, file] : *fileOf)
    if (!find(tensor)) {
      error = path + ": " + quote(file) + " lacks " + quote(tensor);
      return false;
    }
  return true;
}

std::unique_ptr<WeightFiles> WeightFiles::open(const std::string &path, std::string &error) {
  std::string file = path;
  std::error_code failure;
  if (fs::is_directory(path, failure)) {
    file = (fs::path(path) / "model.safetensors").string();
    if (!fs::exists(file, failure) && fs::exists(file + ".index.json", failure))
      file += ".index.json";
  }
  std::unique_ptr<WeightFiles> opened(new WeightFiles);
  bool isOpen = file.ends_with(".json") ? opened->addIndex(file, error) : opened->addFile(file, error);
  return isOpen ? std::move(opened) : nullptr;
}

const Tensor *WeightFiles::find(const std::string &name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &found->second;
}

} // namespace attnc
