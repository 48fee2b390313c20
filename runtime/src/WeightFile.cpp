//===- WeightFile.cpp - the mapped weights of a bundle -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "WeightFile.h"
#include "Hash.h"
#include "Json.h"

#include <cstring>

namespace attnrt {

WeightFile::WeightFile(const std::string &folder, const WeightsInfo &info)
    : path(folder + "/" + info.file), info(info), file(path) {
  const std::string_view content = file.content();
  uint64_t headerBytes = 0;
  check(content.size() >= sizeof headerBytes, ATTNRT_BAD_BUNDLE, path,
        ": is too short for a safetensors file");
  std::memcpy(&headerBytes, content.data(), sizeof headerBytes);
  const size_t rest = content.size() - sizeof headerBytes;
  check(headerBytes <= rest, ATTNRT_BAD_BUNDLE, path, ": the header claims ", headerBytes, " bytes, but ",
        rest, " are there");
  const uint64_t mostHeaderBytes =
      4096 + 1024 * uint64_t(info.tensors.size()); // what attnc writes has half of it
  check(headerBytes <= mostHeaderBytes, ATTNRT_BAD_BUNDLE, path, ": the header has ", headerBytes,
        " bytes, more than the manifest's tensors need");
  dataPart = content.substr(sizeof headerBytes + headerBytes);
  check(dataPart.size() == static_cast<uint64_t>(info.bytes), ATTNRT_BAD_BUNDLE, path, ": has ",
        dataPart.size(), " bytes of data, but the manifest says ", info.bytes);
  check(reinterpret_cast<uintptr_t>(dataPart.data()) % 64 == 0, ATTNRT_BAD_BUNDLE, path,
        ": the data part is not aligned to 64 bytes");
  checkHeader(content.substr(sizeof headerBytes, headerBytes));
}

void WeightFile::checkHeader(std::string_view header) const {
  const nlohmann::json parsed = parseJson(header, path);
  const JsonReader json(parsed, path);
  if (!parsed.is_object() || parsed.size() - parsed.count("__metadata__") != info.tensors.size())
    json.reject("must list the manifest's ", info.tensors.size(), " tensors");
  for (const WeightInfo &tensor : info.tensors) {
    const JsonReader entry = json.at(tensor.name.c_str());
    if (entry.at("dtype").string() != tensor.type)
      entry.reject("dtype must be ", tensor.type);
    int64_t bytes = tensor.elementBytes;
    for (const JsonReader &extent : entry.at("shape").elements())
      if (__builtin_mul_overflow(bytes, extent.integer(0, INT64_MAX), &bytes))
        extent.reject("the shape is absurd");
    const std::vector<JsonReader> offsets = entry.at("data_offsets").elements();
    if (offsets.size() != 2 || offsets[0].integer(0, info.bytes) != tensor.offset ||
        offsets[1].integer(0, info.bytes) != tensor.offset + tensor.bytes || bytes != tensor.bytes)
      entry.reject("shape and data_offsets must give the manifest's ", tensor.bytes, " bytes at ",
                   tensor.offset);
  }
}

void WeightFile::verify() const {
  for (const WeightInfo &tensor : info.tensors)
    check(hash128(dataPart.substr(tensor.offset, tensor.bytes)) == tensor.hash, ATTNRT_BAD_BUNDLE, path,
          ": the bytes of tensor '", tensor.name, "' do not match their hash");
  check(hash128(file.content()) == info.hash, ATTNRT_BAD_BUNDLE, path, ": does not match its hash");
}

} // namespace attnrt
