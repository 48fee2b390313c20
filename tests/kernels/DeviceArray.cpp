//===- DeviceArray.cpp - memory of one value as a kernel sees it ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rows of plain values lie apart, so that a kernel that ignores strides or writes past a row is found.

#include "tests/kernels/KernelHarness.h"

#include <HalideRuntime.h>

#include <cmath>
#include <cstring>
#include <new>

namespace attnc::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr int64_t Guard = 0; // the sanitizer's own guards are right at the elements then, and catch reads
#else
constexpr int64_t Guard = 64;
#endif
constexpr uint32_t GuardBits = 0x7fa1b2c3; // a NaN: reading it as a float shows

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
  std::vector<uint32_t, AlignedAllocator<uint32_t>> memory;
  std::vector<bool> isElement;
  std::vector<int64_t> places; // of each element of the array, in its order
  std::vector<int64_t> shape;
  bool isFloat = true;
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

DeviceArray::DeviceArray(mlir::RankedTensorType type, const reference::Array &array, int64_t rowGap)
    : layout(std::make_unique<Layout>()) {
  Layout &l = *layout;
  l.shape = array.shape;
  l.isFloat = type.getElementType().isF32();
  auto panels = llvm::dyn_cast_or_null<attn::PanelsAttr>(type.getEncoding());
  std::vector<int64_t> extents = array.shape;
  if (panels)
    extents = {(array.shape[0] + panels.getColumns() - 1) / panels.getColumns(), array.shape[1],
               panels.getColumns()};
  bool weight = panels || (!type.getEncoding() && type.getRank() <= 2);
  std::vector<int64_t> strides =
      stridesOf(extents, weight ? 0 : rowGap, !l.isFloat && extents.size() == 1 ? 1 + rowGap : 1);
  int64_t rank = extents.size(), span = 1;
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t extent = extents[rank - 1 - axis];
    l.dims.push_back(halide_dimension_t(0, int32_t(extent), int32_t(strides[axis])));
    span += (extent - 1) * strides[axis];
  }
  span = std::max<int64_t>(span, 0);
  if (weight && rank == 1)
    span = llvm::alignTo(span, 32);
  l.memory.assign(span + 2 * Guard, GuardBits);
  l.isElement.assign(l.memory.size(), false);
  if (panels || (weight && rank == 1)) // the weight file pads with zeros
    std::fill(l.memory.begin() + Guard, l.memory.end() - Guard, 0);
  for (int64_t i = 0; i < array.size(); ++i) {
    int64_t rest = i, place = Guard;
    if (panels) {
      int64_t out = i / array.shape[1], in = i % array.shape[1], columns = panels.getColumns();
      place += out % columns + in * strides[1] + out / columns * strides[2];
    } else {
      for (int64_t axis = 0; axis < rank; ++axis) {
        place += rest % extents[rank - 1 - axis] * strides[axis];
        rest /= extents[rank - 1 - axis];
      }
    }
    l.places.push_back(place);
    l.isElement[place] = true;
    float number = float(array.values[i]);
    int32_t whole = int32_t(array.values[i]);
    std::memcpy(&l.memory[place], l.isFloat ? static_cast<void *>(&number) : &whole, 4);
  }
  l.buffer.host = reinterpret_cast<uint8_t *>(l.memory.data() + Guard);
  l.buffer.type = l.isFloat ? halide_type_t(halide_type_float, 32) : halide_type_t(halide_type_int, 32);
  l.buffer.dimensions = int32_t(rank);
  l.buffer.dim = l.dims.data();
}

DeviceArray::~DeviceArray() = default;
DeviceArray::DeviceArray(DeviceArray &&) noexcept = default;

void *DeviceArray::buffer() { return &layout->buffer; }

reference::Array DeviceArray::read() const {
  reference::Array result = reference::zeros(layout->shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    float number;
    int32_t whole;
    std::memcpy(&number, &layout->memory[layout->places[i]], 4);
    std::memcpy(&whole, &layout->memory[layout->places[i]], 4);
    result.values[i] = layout->isFloat ? number : whole;
  }
  return result;
}

bool DeviceArray::isIntact() const {
  for (size_t place = 0; place < layout->memory.size(); ++place)
    if (!layout->isElement[place] && layout->memory[place] != GuardBits && layout->memory[place] != 0)
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
