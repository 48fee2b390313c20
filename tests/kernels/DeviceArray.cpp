//===- DeviceArray.cpp - memory of one value as a kernel sees it ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rows of plain values lie apart, so that a kernel that ignores strides or writes past a row is found.

#include "tests/kernels/KernelHarness.h"

#include <HalideRuntime.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <new>

namespace attnc::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr int64_t Guard = 0; // the sanitizer's own guards are right at the elements then, and catch reads
#else
constexpr int64_t Guard = 256; // bytes
#endif
constexpr uint8_t GuardBits[4] = {0xc3, 0xb2, 0xa1, 0x7f}; // a NaN: reading it as a float shows

/// Memory as the runtime gives it: aligned to 64 bytes (the guard before the first element keeps that).
template <typename T> struct AlignedAllocator {
  using value_type = T;
  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(64)));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory, std::align_val_t(64)); }
  bool operator==(const AlignedAllocator &) const = default;
};

struct DeviceArray::Layout {
  std::vector<uint8_t, AlignedAllocator<uint8_t>> memory;
  std::vector<uint8_t> isElement; // by byte
  std::vector<int64_t> places;    // of each element of the array, in its order, in bytes
  std::vector<int64_t> shape;
  halide_type_t type;                   // of one element; bfloat16 are bits to kernels
  std::vector<halide_dimension_t> dims; // fastest first
  halide_buffer_t buffer = {};
};

/// Strides of a dense value, fastest first, rows `padding` apart; `first` is the fastest axis's.
static std::vector<int64_t> stridesOf(const std::vector<int64_t> &shape, int64_t padding, int64_t first) {
  std::vector<int64_t> strides;
  int64_t stride = first;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides.push_back(stride);
    stride = stride * shape[axis] + (axis + 1 == shape.size() && shape.size() > 1 ? padding : 0);
  }
  return strides;
}

static halide_type_t halideType(mlir::Type element) {
  if (element.isBF16())
    return {halide_type_bfloat, 16};
  if (element.isF32())
    return {halide_type_float, 32};
  return {element.isUnsignedInteger() ? halide_type_uint : halide_type_int,
          uint8_t(element.getIntOrFloatBitWidth())};
}

static void write(uint8_t *place, halide_type_t type, double value) {
  if (type.code == halide_type_bfloat || type.code == halide_type_float) {
    float number = float(value);
    std::memcpy(place, reinterpret_cast<uint8_t *>(&number) + 4 - type.bytes(),
                type.bytes()); // the upper half
    return;
  }
  int32_t whole = int32_t(value);
  std::memcpy(place, &whole, type.bytes()); // little endian
}

static double read(const uint8_t *place, halide_type_t type) {
  int32_t word = 0; // little endian; bytes have no sign, and weights are not read back
  std::memcpy(&word, place, type.bytes());
  if (type.code == halide_type_bfloat) // the upper half
    return std::bit_cast<float>(word << 16);
  return type.code == halide_type_float ? std::bit_cast<float>(word) : word;
}

/// Where the elements of a matrix (outputs x inputs) in panels lie, in its order, in elements.
static std::vector<int64_t> placesInPanels(const std::vector<int64_t> &shape,
                                           const std::vector<int64_t> &extents) {
  const int64_t columns = extents[2], group = extents.size() > 3 ? extents[3] : 1;
  std::vector<int64_t> places;
  for (int64_t out = 0; out < shape[0]; ++out) {
    const int64_t first = (out / columns * extents[1] * columns + out % columns) * group;
    for (int64_t in = 0; in < shape[1]; ++in)
      places.push_back(first + in / group * columns * group + in % group);
  }
  return places;
}

/// The same of any other value; `strides` begin with the last axis's.
static std::vector<int64_t> placesByStrides(const std::vector<int64_t> &shape,
                                            const std::vector<int64_t> &strides) {
  std::vector<int64_t> places = {0};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<int64_t> finer;
    for (int64_t place : places)
      for (int64_t i = 0; i < shape[axis]; ++i)
        finer.push_back(place + i * strides[shape.size() - 1 - axis]);
    places = std::move(finer);
  }
  return places;
}

DeviceArray::DeviceArray(mlir::RankedTensorType type, const reference::Array &array, int64_t rowGap)
    : layout(std::make_unique<Layout>()) {
  Layout &l = *layout;
  l.shape = array.shape;
  l.type = halideType(type.getElementType());
  bool isPanels = llvm::isa_and_nonnull<attn::PanelsAttr>(type.getEncoding());
  std::vector<int64_t> extents = array.shape;
  if (isPanels) {
    auto inMemory = attn::panelExtents(type);
    extents.assign(inMemory.begin(), inMemory.end());
  }
  bool weight = isPanels || (!type.getEncoding() && type.getRank() <= 2);
  bool isList = l.type.code == halide_type_int && extents.size() == 1;
  std::vector<int64_t> strides = stridesOf(extents, weight ? 0 : rowGap, isList ? 1 + rowGap : 1);
  int64_t rank = extents.size(), span = 1, bytes = l.type.bytes();
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t extent = extents[rank - 1 - axis];
    l.dims.push_back(halide_dimension_t(0, int32_t(extent), int32_t(strides[axis])));
    span += (extent - 1) * strides[axis];
  }
  span = std::max<int64_t>(span, 0);
  if (weight && rank == 1)
    span = llvm::alignTo(span, 32);
  l.memory.resize(span * bytes + 2 * Guard);
  for (size_t i = 0; i < l.memory.size(); ++i)
    l.memory[i] = GuardBits[i % 4];
  l.isElement.assign(l.memory.size(), false);
  if (isPanels || (weight && rank == 1)) // the weight file pads with zeros
    std::fill(l.memory.begin() + Guard, l.memory.end() - Guard, 0);
  l.places = isPanels ? placesInPanels(array.shape, extents) : placesByStrides(array.shape, strides);
  for (size_t i = 0; i < l.places.size(); ++i) {
    int64_t &place = l.places[i] = Guard + l.places[i] * bytes;
    std::fill_n(l.isElement.begin() + place, bytes, 1);
    write(&l.memory[place], l.type, array.values[i]);
  }
  l.buffer.host = l.memory.data() + Guard;
  l.buffer.type = l.type;
  bool isBfloat = l.type.code == halide_type_bfloat;
  if (isBfloat)
    l.buffer.type = halide_type_t(halide_type_uint, 16);
  if (isBfloat && isPanels) { // pairs are words
    l.dims.erase(l.dims.begin());
    for (halide_dimension_t &dim : l.dims)
      dim.stride /= 2;
    l.buffer.type = halide_type_t(halide_type_int, 32);
  }
  l.buffer.dimensions = int32_t(l.dims.size());
  l.buffer.dim = l.dims.data();
}

DeviceArray::~DeviceArray() = default;
DeviceArray::DeviceArray(DeviceArray &&) noexcept = default;

void *DeviceArray::buffer() { return &layout->buffer; }

reference::Array DeviceArray::read() const {
  reference::Array result = reference::zeros(layout->shape);
  for (int64_t i = 0; i < result.size(); ++i)
    result.values[i] = test::read(&layout->memory[layout->places[i]], layout->type);
  return result;
}

bool DeviceArray::isIntact() const {
  for (size_t place = 0; place < layout->memory.size(); ++place)
    if (!layout->isElement[place] && layout->memory[place] != GuardBits[place % 4] &&
        layout->memory[place] != 0)
      return false;
  return true;
}

double largestDifference(const reference::Array &a, const reference::Array &b) {
  double largest = a.shape == b.shape ? 0 : INFINITY;
  for (int64_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a.values[i] != b.values[i]) { // equal infinities differ by nothing
      double difference = std::abs(a.values[i] - b.values[i]);
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
  return largest;
}

} // namespace attnc::test
