//===- Safetensors.cpp - reading weight files ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The format: 8 bytes little-endian length, a JSON header of that length, then the tensors without holes
// (github.com/huggingface/safetensors).

#include "compiler/spec/Safetensors.h"
#include "compiler/spec/Words.h"

#include "nlohmann/json.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc {

// The format's own bound on the header.
static constexpr uint64_t maxHeaderBytes = 100'000'000;

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Bytes of one element, or 0 for a type that the format lacks.
static uint64_t elementBytes(const std::string &type) {
  if (type == "F64" || type == "I64" || type == "U64")
    return 8;
  if (type == "F32" || type == "I32" || type == "U32")
    return 4;
  if (type == "F16" || type == "BF16" || type == "I16" || type == "U16")
    return 2;
  bool isByte = type == "I8" || type == "U8" || type == "BOOL" || type == "F8_E4M3" || type == "F8_E5M2";
  return isByte ? 1 : 0;
}

namespace {

/// One tensor as the header describes it.
struct HeaderEntry {
  std::string name;
  std::optional<std::string> type;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

/// Takes the header apart as it is parsed: depth and repeated names are seen here, which a JSON value would
/// hide.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
  std::vector<HeaderEntry> entries;
  std::string problem;

  bool start_object(size_t) override {
    if (depth == 2 || inArray)
      return fail("an object stands where none belongs");
    ++depth;
    return true;
  }
  bool end_object() override {
    --depth;
    isMetadata = false;
    return true;
  }
  bool key(string_t &key) override {
    if (depth == 1)
      return startTensor(key);
    field = key;
    return true;
  }
  bool start_array(size_t) override {
    if (depth != 2 || isMetadata || inArray)
      return fail("a list stands where none belongs");
    inArray = true;
    if (field == "shape")
      entries.back().shape.emplace();
    else if (field == "data_offsets")
      entries.back().offsets.emplace();
    else
      return fail("unknown list " + quote(field));
    return true;
  }
  bool end_array() override {
    inArray = false;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!inArray)
      return fail("a number stands where none belongs");
    std::vector<uint64_t> &list = field == "shape" ? *entries.back().shape : *entries.back().offsets;
    list.push_back(value);
    return list.size() <= 32 || fail("a list has more than 32 numbers");
  }
  bool string(string_t &value) override {
    if (isMetadata && depth == 2)
      return true;
    if (depth != 2 || inArray || field != "dtype")
      return fail("a text stands where none belongs");
    entries.back().type = value;
    return true;
  }
  bool number_integer(number_integer_t) override { return fail("a number is negative"); }
  bool number_float(number_float_t, const string_t &) override { return fail("a number is not whole"); }
  bool boolean(bool) override { return fail("a truth value stands where none belongs"); }
  bool null() override { return fail("a null stands where none belongs"); }
  bool binary(binary_t &) override { return fail("binary data stands where none belongs"); }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) override {
    return fail("it is not JSON from byte " + std::to_string(position) + " on");
  }

private:
  bool startTensor(const std::string &name) {
    isMetadata = name == "__metadata__";
    if (!isMetadata)
      entries.push_back({name, {}, {}, {}});
    return true;
  }
  bool fail(std::string what) {
    if (problem.empty())
      problem = std::move(what);
    return false;
  }

  int depth = 0;
  bool inArray = false;
  bool isMetadata = false;
  std::string field;
};

} // namespace

/// The bytes that the entry's type and shape ask for; nothing where they overflow or the entry is not whole.
static std::optional<uint64_t> expectedBytes(const HeaderEntry &entry) {
  if (!entry.type || !entry.shape || !entry.offsets || entry.offsets->size() != 2)
    return std::nullopt;
  uint64_t bytes = elementBytes(*entry.type);
  if (bytes == 0)
    return std::nullopt;
  for (uint64_t extent : *entry.shape)
    if (extent > uint64_t(INT64_MAX) || __builtin_mul_overflow(bytes, extent, &bytes))
      return std::nullopt;
  return bytes;
}

/// Checks that the tensors, taken by their places, follow each other from 0 to `dataBytes`.
static bool checkPlaces(const std::vector<HeaderEntry> &entries, uint64_t dataBytes, std::string &error) {
  for (const HeaderEntry &entry : entries) {
    std::optional<uint64_t> bytes = expectedBytes(entry);
    if (!bytes) {
      error = "tensor " + quote(entry.name) + " lacks a type, shape or place that can be";
      return false;
    }
    uint64_t begin = (*entry.offsets)[0], end = (*entry.offsets)[1];
    if (begin > end || end > dataBytes || end - begin != *bytes) {
      error = "tensor " + quote(entry.name) + " says bytes " + std::to_string(begin) + " to " +
              std::to_string(end) + ", but has " + std::to_string(*bytes) + " bytes in a file with " +
              std::to_string(dataBytes);
      return false;
    }
  }
  std::vector<const HeaderEntry *> byPlace;
  for (const HeaderEntry &entry : entries)
    byPlace.push_back(&entry);
  std::sort(byPlace.begin(), byPlace.end(),
            [](const HeaderEntry *a, const HeaderEntry *b) { return *a->offsets < *b->offsets; });
  uint64_t next = 0;
  for (const HeaderEntry *entry : byPlace) {
    if ((*entry->offsets)[0] != next) {
      error = "tensor " + quote(entry->name) + " starts at byte " + std::to_string((*entry->offsets)[0]) +
              ", but the one before it ends at " + std::to_string(next);
      return false;
    }
    next = (*entry->offsets)[1];
  }
  if (next != dataBytes)
    error =
        "the tensors end at byte " + std::to_string(next) + ", but the file has " + std::to_string(dataBytes);
  return next == dataBytes;
}

bool SafetensorsFile::readHeader(std::string_view image, std::string &error) {
  uint64_t headerBytes = 0;
  if (image.size() < sizeof headerBytes) {
    error = "the file has only " + std::to_string(image.size()) + " bytes";
    return false;
  }
  for (unsigned i = 0; i < sizeof headerBytes; ++i)
    headerBytes |= uint64_t(static_cast<unsigned char>(image[i])) << (8 * i);
  if (headerBytes > maxHeaderBytes || headerBytes > image.size() - sizeof headerBytes) {
    error = "the header says it has " + std::to_string(headerBytes) + " bytes, in a file of " +
            std::to_string(image.size());
    return false;
  }
  std::string_view header = image.substr(sizeof headerBytes, headerBytes);
  std::string_view data = image.substr(sizeof headerBytes + headerBytes);
  HeaderReader reader;
  bool isParsed = header.starts_with('{') && nlohmann::json::sax_parse(header.begin(), header.end(), &reader);
  if (!isParsed) {
    error = "the header is wrong: " + (reader.problem.empty() ? "it is not a JSON object" : reader.problem);
    return false;
  }
  if (!checkPlaces(reader.entries, data.size(), error))
    return false;
  for (const HeaderEntry &entry : reader.entries) {
    Tensor tensor{*entry.type, std::vector<int64_t>(entry.shape->begin(), entry.shape->end()),
                  reinterpret_cast<const std::byte *>(data.data()) + (*entry.offsets)[0],
                  size_t((*entry.offsets)[1] - (*entry.offsets)[0])};
    if (!byName.try_emplace(entry.name, std::move(tensor)).second) {
      error = "tensor " + quote(entry.name) + " is listed twice";
      return false;
    }
  }
  return true;
}

std::unique_ptr<SafetensorsFile> SafetensorsFile::parse(std::string_view image, std::string &error) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  return file->readHeader(image, error) ? std::move(file) : nullptr;
}

std::unique_ptr<SafetensorsFile> SafetensorsFile::open(const std::string &path, std::string &error) {
  auto fail = [&](const std::string &what) {
    error = path + ": " + what;
    return nullptr;
  };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fail(std::strerror(errno));
  struct stat status;
  bool isFile = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  void *mapping =
      isFile ? ::mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);
  if (mapping == MAP_FAILED)
    return fail(isFile ? "cannot be mapped" : "is not a file with content");
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->mapping = mapping;
  file->mappedBytes = status.st_size;
  std::string problem;
  if (!file->readHeader({static_cast<const char *>(mapping), file->mappedBytes}, problem))
    return fail(problem);
  return file;
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping)
    ::munmap(mapping, mappedBytes);
}

const Tensor *SafetensorsFile::find(const std::string &name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &found->second;
}

} // namespace attnc
