//===- JoinedWeights.cpp - weights of several linears as one -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Joins declarations along the out axis, names of tensors or literal numbers; a part without a bias stands
// for zeros.

#include "dialect/Transforms/JoinedWeights.h"

using namespace mlir;

namespace attn {

/// The declaration that `weight` comes from, or null.
WeightOp JoinedWeights::find(Value weight) {
  auto get = weight ? weight.getDefiningOp<GetWeightOp>() : GetWeightOp();
  return get ? symbols.lookup<WeightOp>(get.getWeight()) : WeightOp();
}

/// True where both are literal, or both from a file, and shall be of one type; a table of sinusoids is joined
/// with nothing.
static bool areStoredAlike(WeightOp a, WeightOp b) {
  return bool(a.getTensors()) == bool(b.getTensors()) && bool(a.getValue()) == bool(b.getValue()) &&
         !a.getSinusoid() && !b.getSinusoid() && a.getTransposed() == b.getTransposed() &&
         a.getStorage() == b.getStorage();
}

bool JoinedWeights::canJoin(ArrayRef<LinearOp> linears) {
  WeightOp firstWeight, firstBias;
  for (LinearOp linear : linears) {
    WeightOp weight = find(linear.getWeight()), bias = find(linear.getBias());
    if (!weight || (linear.getBias() && !bias))
      return false;
    firstWeight = firstWeight ? firstWeight : weight;
    firstBias = firstBias ? firstBias : bias;
    if (!areStoredAlike(weight, firstWeight) || (bias && !areStoredAlike(bias, firstBias)))
      return false;
  }
  return true;
}

/// The literal numbers of all parts, one after the other.
static ElementsAttr joinValues(ArrayRef<WeightOp> parts, ArrayRef<int64_t> rows, RankedTensorType type) {
  SmallVector<float> numbers;
  for (auto [number, count] : llvm::enumerate(rows)) {
    if (WeightOp part = parts[number])
      llvm::append_range(numbers, cast<DenseElementsAttr>(*part.getValue()).getValues<float>());
    else
      numbers.append(type.getNumElements() / type.getDimSize(0) * count, 0.0f);
  }
  return DenseElementsAttr::get(type, ArrayRef<float>(numbers));
}

WeightOp JoinedWeights::joinSymbols(ArrayRef<WeightOp> parts, ArrayRef<int64_t> rows) {
  std::string key;
  WeightOp first;
  SmallVector<Attribute> tensors;
  SmallVector<int64_t> partRows;
  int64_t out = 0;
  for (auto [number, count] : llvm::enumerate(rows)) {
    WeightOp part = parts[number];
    out += count;
    key += (part ? part.getSymName().str() : std::to_string(count)) + '\n'; // no name begins with a digit
    if (part && !first)
      first = part;
    if (part && part.getTensors())
      llvm::append_range(tensors, *part.getTensors());
    else
      tensors.push_back(StringAttr::get(symbols.getOp()->getContext(), ""));
    if (part && part.getRows())
      llvm::append_range(partRows, *part.getRows());
    else
      partRows.push_back(count);
  }
  if (!first)
    return {};
  WeightOp &joined = known[key];
  if (joined)
    return joined;
  OpBuilder builder(first);
  SmallVector<int64_t> shape(first.getType().getShape());
  shape[0] = out;
  joined = cast<WeightOp>(builder.clone(*first));
  auto type = RankedTensorType::get(shape, first.getType().getElementType());
  joined.setTypeAttr(TypeAttr::get(type));
  if (first.getValue()) {
    joined.setValueAttr(joinValues(parts, rows, type));
  } else {
    joined.setTensorsAttr(builder.getArrayAttr(tensors));
    joined.setRows(partRows);
  }
  joined.setSymName((first.getSymName() + "_joined").str());
  symbols.insert(joined);
  return joined;
}

LinearOp JoinedWeights::join(ArrayRef<LinearOp> linears) {
  SmallVector<WeightOp> weights, biases;
  SmallVector<int64_t> rows;
  SmallVector<Location> locations;
  for (LinearOp linear : linears) {
    weights.push_back(find(linear.getWeight()));
    biases.push_back(find(linear.getBias()));
    rows.push_back(cast<RankedTensorType>(linear.getWeight().getType()).getDimSize(0));
    locations.push_back(linear.getLoc());
  }
  OpBuilder builder(linears.front());
  Location loc = builder.getFusedLoc(locations);
  WeightOp weight = joinSymbols(weights, rows), bias = joinSymbols(biases, rows);
  Value weightValue = GetWeightOp::create(builder, loc, weight.getType(), weight.getSymName());
  Value biasValue =
      bias ? GetWeightOp::create(builder, loc, bias.getType(), bias.getSymName()).getResult() : Value();
  LinearOp first = linears.front();
  return LinearOp::create(builder, loc, first.getInput(), weightValue, biasValue);
}

} // namespace attn
