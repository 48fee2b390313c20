//===- AttnVerify.cpp - rules of attn operations ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One labelled check for each constraint that AttnOps.td lists. That result types follow from operands is
// checked by the inference interface; rules about symbols stand in AttnSymbols.cpp.

#include "dialect/IR/Attn.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace attn {
namespace {

/// One axis of an operand, as an error calls it.
struct Axis {
  RankedTensorType type;
  unsigned number;
  StringRef called;

  bool isDynamic() const { return type.isDynamicDim(number); }
  std::string extent() const {
    StringRef name = axisNames(type)[number];
    return isDynamic() ? (name.empty() ? "?" : name.str()) : std::to_string(type.getDimSize(number));
  }
};

/// Whether `op` is of a `graph:`. Its sizes are the caller's, and nothing compares them to extents when it
/// calls.
bool isOfGraph(Operation *op) {
  auto entry = op->getParentOfType<func::FuncOp>();
  return entry && entry->hasAttr("attn.graph");
}

/// Two axes that must have one extent. Known extents must be equal, and so must the names of two sizes; a
/// size may turn out to be a known extent, but not in a graph, and a size without a name to be any other.
LogicalResult verifySame(Operation *op, const Axis &a, const Axis &b) {
  std::string left = a.extent(), right = b.extent();
  if (left == right || left == "?" || right == "?")
    return success();
  if (a.isDynamic() == b.isDynamic())
    return op->emitOpError() << a.called << " is " << left << ", but " << b.called << " is " << right;
  if (!isOfGraph(op))
    return success();
  (a.isDynamic() ? left : right) = "the size '" + (a.isDynamic() ? left : right) + "'";
  return op->emitOpError() << a.called << " is " << left << ", but " << b.called << " is " << right
                           << ": write both alike";
}

Axis axisOf(Value value, int number, StringRef called) {
  RankedTensorType type = tensorOf(value);
  return {type, unsigned(number < 0 ? type.getRank() + number : number), called};
}

/// Kernels have loops, and vectors, made for this extent.
LogicalResult verifyKnown(Operation *op, const Axis &axis) {
  if (!axis.isDynamic())
    return success();
  return op->emitOpError() << axis.called << " is the size '" << axis.extent() << "', but has to be a number";
}

LogicalResult verifyRank(Operation *op, Value value, int64_t rank, StringRef axes) {
  if (tensorOf(value).getRank() == rank)
    return success();
  return op->emitOpError() << "needs an input with the axes " << axes << ", but it has rank "
                           << tensorOf(value).getRank();
}

/// One start for each batch element; no starts are right as well.
LogicalResult verifyStarts(Operation *op, Value starts, Value input, StringRef called) {
  if (!starts)
    return success();
  return verifySame(op, axisOf(starts, 0, "the number of starts"), axisOf(input, 0, called));
}

LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (!epsilon.isNegative() && !epsilon.isNaN())
    return success();
  return op->emitOpError() << "'epsilon' is " << epsilon.convertToFloat() << ", but must not be negative";
}

} // namespace

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// weight_c3, weight_c4
static LogicalResult verifyParts(WeightOp op, RankedTensorType type) {
  std::optional<ArrayRef<int64_t>> rows = op.getRows();
  size_t parts = op.getTensors()->size(), named = rows ? rows->size() : 1;
  if (parts != named || parts == 0)
    return op.emitOpError() << "has " << parts << " tensors, but 'rows' for " << named;
  int64_t sum = 0;
  if (rows) {
    for (int64_t count : *rows)
      sum += count;
    if (!op.getScales() && (type.getRank() == 0 || sum != type.getDimSize(0)))
      return op.emitOpError() << "has 'rows' that sum to " << sum << ", but is of type " << type;
  }
  if (parts == 1 && cast<StringAttr>((*op.getTensors())[0]).empty())
    return op.emitOpError("has a single tensor without a name");
  return success();
}

/// weight_c5
static LogicalResult verifySinusoid(WeightOp op, RankedTensorType type) {
  int64_t least = op.getSinusoid()->getInclusive() ? 4 : 2;
  if (type.getRank() == 2 && type.getDimSize(1) % 2 == 0 && type.getDimSize(1) >= least)
    return success();
  return op.emitOpError() << "needs a matrix of even width of at least " << least
                          << " for sinusoids, but is of type " << type;
}

/// weight_c8
static LogicalResult verifyStorage(WeightOp op, RankedTensorType type) {
  if (op.getStorage() && (type.getRank() != 2 || !op.getTensors() || !type.getElementType().isF32()))
    return op.emitOpError() << "is not a matrix of f32 from tensors, so it cannot be stored as "
                            << stringifyStorage(*op.getStorage());
  if (!op.getScales())
    return success();
  int64_t rows = op.getRows() ? std::accumulate(op.getRows()->begin(), op.getRows()->end(), int64_t(0)) : 0;
  if (type.getRank() == 2 && type.getDimSize(0) == 2 && rows > 0 &&
      type.getDimSize(1) == int64_t(llvm::alignTo(rows, panelColumns)) && *op.getScales() > 0)
    return success();
  return op.emitOpError() << "holds the scales of " << rows << " outputs, but is of type " << type;
}

LogicalResult WeightOp::verify() {
  if (int(bool(getTensors())) + int(bool(getSinusoid())) + int(bool(getValue())) != 1)
    return emitOpError("needs exactly one of 'from', 'sinusoid' and 'value'"); // weight_c1
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape())
    return emitOpError() << "needs a static shape, but is of type " << type; // weight_c2
  if (getTensors() && failed(verifyParts(*this, type)))
    return failure();
  if (getSinusoid() && failed(verifySinusoid(*this, type)))
    return failure();
  if (getValue() && cast<ShapedType>(getValue()->getType()).getShape() != type.getShape())
    return emitOpError() << "has a value of type " << getValue()->getType() << ", but is of type "
                         << type; // weight_c6
  bool isMatrix = type.getRank() == 2;
  if (!isMatrix && (getTransposed() || isa_and_nonnull<PanelsAttr>(type.getEncoding())))
    return emitOpError() << "is not a matrix, so it cannot be transposed or in panels: " << type; // weight_c7
  return verifyStorage(*this, type);
}

LogicalResult StateOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!bytesOf(type))
    return emitOpError() << "needs a name for each dynamic axis, but is of type " << type; // state_c1
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult AddPositionsOp::verify() {
  if (failed(verifyRank(*this, getInput(), 3, "batch, query, width"))) // add_positions_c1
    return failure();
  if (failed(verifySame(*this, axisOf(getInput(), 2, "the input's width"),
                        axisOf(getTable(), 1, "the table's width"))))
    return failure(); // add_positions_c2
  if (failed(verifyStarts(*this, getStarts(), getInput(), "the input's batch axis")))
    return failure(); // add_positions_c3
  int64_t rows = tensorOf(getTable()).getDimSize(0), offset = getOffset();
  if (offset < 0 || (!ShapedType::isDynamic(rows) && offset >= rows))
    return emitOpError() << "'offset' is " << offset << ", but the table has " << rows
                         << " rows"; // add_positions_c4
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("has nothing to put side by side"); // concat_c1
  RankedTensorType first = tensorOf(getInputs().front());
  for (Value input : getInputs()) {
    if (tensorOf(input).getRank() != first.getRank())
      return emitOpError() << "has inputs of rank " << first.getRank() << " and "
                           << tensorOf(input).getRank(); // concat_c1
    for (int64_t axis = 0; axis + 1 < first.getRank(); ++axis)
      if (failed(verifySame(*this, axisOf(getInputs().front(), axis, "an axis of the first input"),
                            axisOf(input, axis, "another's"))))
        return failure(); // concat_c1
    if (ShapedType::isDynamic(tensorOf(input).getShape().back()))
      return emitOpError() << "needs known widths, but has " << input.getType(); // concat_c2
  }
  return success();
}

LogicalResult QuantiseOp::verify() {
  if (ShapedType::isDynamic(tensorOf(getInput()).getShape().back()))
    return emitOpError() << "needs rows of a known width, but has " << getInput().getType(); // quantise_c1
  return success();
}

LogicalResult EmbedOp::verify() {
  if (tensorOf(getTable()).getElementType().isInteger(8) != bool(getScales()))
    return emitOpError("needs scales for a table of i8, and for no other"); // embed_c1
  return verifyKnown(*this, axisOf(getTable(), 1, "the table's width"));    // embed_c2
}

/// linear_c3; of quantised rows, linear_c1.
static LogicalResult verifyQuantised(LinearOp op) {
  RankedTensorType input = tensorOf(op.getInput()), weight = tensorOf(op.getWeight());
  bool isQuantised = input.getElementType().isInteger();
  if (isQuantised != weight.getElementType().isInteger() || isQuantised != bool(op.getInputScales()) ||
      isQuantised != bool(op.getWeightScales()))
    return op.emitOpError("needs rows of bytes, a weight of i8 and the scales of both, or none of them");
  if (isQuantised && input.getShape().back() != int64_t(llvm::alignTo(weight.getDimSize(1), rowBytes)))
    return op.emitOpError() << "has rows of " << input.getShape().back() << " bytes for a weight of "
                            << weight.getDimSize(1) << " inputs";
  return success();
}

LogicalResult LinearOp::verify() {
  Axis in = axisOf(getWeight(), 1, "the weight's in axis"),
       out = axisOf(getWeight(), 0, "the weight's out axis");
  if (failed(verifyKnown(*this, in)) || failed(verifyKnown(*this, out))) // linear_c4
    return failure();
  if (failed(verifyQuantised(*this)))
    return failure();
  if (!getInputScales() && failed(verifySame(*this, axisOf(getInput(), -1, "the input's width"), in)))
    return failure(); // linear_c1
  if (!getBias())
    return success();
  return verifySame(*this, axisOf(getBias(), 0, "the bias's width"), out); // linear_c2
}

LogicalResult LayerNormOp::verify() {
  Axis width = axisOf(getInput(), -1, "the input's width");
  if (failed(verifySame(*this, axisOf(getWeight(), 0, "the weight's width"), width))) // layer_norm_c1
    return failure();
  if (failed(verifyKnown(*this, width))) // layer_norm_c3
    return failure();
  if (getBias() && failed(verifySame(*this, axisOf(getBias(), 0, "the bias's width"), width)))
    return failure();
  return verifyEpsilon(*this, getEpsilon()); // layer_norm_c2
}

LogicalResult RmsNormOp::verify() {
  Axis width = axisOf(getInput(), -1, "the input's width");
  if (failed(verifySame(*this, axisOf(getWeight(), 0, "the weight's width"), width))) // rms_norm_c1
    return failure();
  if (failed(verifyKnown(*this, width))) // rms_norm_c3
    return failure();
  return verifyEpsilon(*this, getEpsilon()); // rms_norm_c2
}

LogicalResult L2NormOp::verify() {
  if (getEpsilon().isNegative() || getEpsilon().isZero() || getEpsilon().isNaN())
    return emitOpError() << "'epsilon' is " << getEpsilon().convertToFloat()
                         << ", but must be positive"; // l2_norm_c1
  return success();
}

LogicalResult RotaryOp::verify() {
  int64_t turned = tensorOf(getTable()).getDimSize(1), width = tensorOf(getInput()).getDimSize(3);
  if (ShapedType::isDynamic(turned) || ShapedType::isDynamic(width) || turned % 2 != 0 || turned > width)
    return emitOpError() << "turns " << axisOf(getTable(), 1, "").extent() << " columns of "
                         << axisOf(getInput(), 3, "").extent()
                         << ", but needs an even number of at most all";         // rotary_c1
  return verifyStarts(*this, getStarts(), getInput(), "the input's batch axis"); // rotary_c2
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult SplitHeadsOp::verify() {
  if (failed(verifyRank(*this, getInput(), 3, "batch, query, width"))) // split_heads_c1
    return failure();
  int64_t width = tensorOf(getInput()).getDimSize(2), heads = getHeads();
  if (ShapedType::isDynamic(width) || heads < 1 || width % heads != 0)
    return emitOpError() << "the width is " << axisOf(getInput(), 2, "").extent() << ", which 'heads' ("
                         << heads << ") does not divide"; // split_heads_c2
  return success();
}

LogicalResult MergeHeadsOp::verify() {
  if (tensorOf(getInput()).isDynamicDim(1) || tensorOf(getInput()).isDynamicDim(3))
    return emitOpError() << "needs known heads and width, but merges " << axisOf(getInput(), 1, "").extent()
                         << " heads of width " << axisOf(getInput(), 3, "").extent(); // merge_heads_c1
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType type = tensorOf(getInput());
  int64_t width = type.getRank() == 0 ? 0 : type.getShape().back(), offset = getOffset(), taken = getWidth();
  bool isKnown = !ShapedType::isDynamic(width);
  if (!isKnown || offset < 0 || taken < 1 || offset > width || taken > width - offset)
    return emitOpError() << "takes " << taken << " elements from " << offset
                         << " on, but the input's width is "
                         << (isKnown ? std::to_string(width) : "not known"); // slice_c1
  return success();
}

LogicalResult SelectOp::verify() {
  RankedTensorType type = tensorOf(getInput());
  if (type.getRank() != 3)
    return emitOpError() << "needs the axes batch, query and width, but has " << type; // select_c1
  int64_t position = getPosition();
  if (position < 0 || (!type.isDynamicDim(1) && position >= type.getDimSize(1)))
    return emitOpError() << "selects position " << position << " of " << type; // select_c2
  return success();
}

LogicalResult CollapseOp::verify() {
  if (tensorOf(getInput()).getRank() < 2)
    return emitOpError() << "needs two axes to collapse, but has " << getInput().getType(); // collapse_c1
  return success();
}

LogicalResult ExpandOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  if (result.getRank() < 2 || collapsedType(result) != getInput().getType())
    return emitOpError() << "gives " << result << ", which does not collapse to "
                         << getInput().getType(); // expand_c1
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Heads of queries and of keys or values: each of the latter serves a group of the former.
static LogicalResult verifyHeads(Operation *op, Value left, Value right) {
  Axis queries = axisOf(left, 1, "the number of heads on the left"),
       keys = axisOf(right, 1, "the number of heads on the right");
  if (queries.isDynamic() || keys.isDynamic())
    return verifySame(op, queries, keys);
  int64_t count = tensorOf(left).getDimSize(1), shared = tensorOf(right).getDimSize(1);
  if (shared < 1 || count % shared != 0)
    return op->emitOpError() << queries.called << " is " << count << ", which " << keys.called << " ("
                             << shared << ") does not divide";
  return success();
}

LogicalResult MatmulOp::verify() {
  int64_t rank = tensorOf(getLhs()).getRank(), rhsRank = tensorOf(getRhs()).getRank();
  if (rank != rhsRank || rank < 2)
    return emitOpError() << "has sides of rank " << rank << " and " << rhsRank
                         << ", but needs the same, at least two"; // matmul_c1
  for (int64_t axis = 0; axis + 2 < rank; ++axis) {
    bool isHead = rank == 4 && axis == 1;
    if (failed(isHead ? verifyHeads(*this, getLhs(), getRhs())
                      : verifySame(*this, axisOf(getLhs(), axis, "an axis of the left side"),
                                   axisOf(getRhs(), axis, "the same axis of the right side"))))
      return failure(); // matmul_c2
  }
  if (failed(verifySame(*this, axisOf(getLhs(), -1, "the left side's last axis"),
                        axisOf(getRhs(), getTransposed() ? -1 : -2, "the right side's axis to sum over"))))
    return failure(); // matmul_c3
  if (tensorOf(getLhs()).getElementType().isBF16() && !getRounded())
    return emitOpError() << "has a left side of bf16, but is not 'rounded'"; // matmul_c4
  return success();
}

LogicalResult AdditiveScoresOp::verify() {
  if (failed(verifySame(*this, axisOf(getQuery(), 0, "the queries' batch axis"),
                        axisOf(getKey(), 0, "the keys'"))) ||
      failed(verifyHeads(*this, getQuery(), getKey())))
    return failure(); // additive_scores_c1
  Axis width = axisOf(getQuery(), 3, "the queries' width");
  if (failed(verifySame(*this, axisOf(getKey(), 3, "the keys' width"), width)) ||
      failed(verifySame(*this, axisOf(getWeight(), -1, "the weight's width"), width)))
    return failure(); // additive_scores_c2
  if (tensorOf(getWeight()).getRank() == 1)
    return success();
  return verifySame(*this, axisOf(getWeight(), 0, "the weight's number of rows"),
                    axisOf(getQuery(), 1, "the number of heads")); // additive_scores_c3
}

/// score_map_c2
static LogicalResult verifyMapTypes(ScoreMapOp op) {
  Builder builder(op.getContext());
  SmallVector<Type> arguments{builder.getF32Type()};
  arguments.append(ScoreMapOp::indexArguments - 1, builder.getI32Type());
  llvm::append_range(arguments, op.getTables().getTypes());
  if (op.getBody().getArgumentTypes() != ArrayRef<Type>(arguments))
    return op.emitOpError("needs a body with a score, batch, head, query, key and the tables as arguments");
  auto yield = op.getBody().front().empty() ? YieldOp() : dyn_cast<YieldOp>(op.getBody().front().back());
  if (!yield || yield.getValues().size() != 1 || !yield.getValues()[0].getType().isF32())
    return op.emitOpError("needs a body that yields one score");
  return success();
}

/// score_map_c4
static LogicalResult verifyOwnIndices(ScoreMapOp op, ElementOp element) {
  auto table = dyn_cast<BlockArgument>(element.getTable());
  if (!table || table.getArgNumber() < ScoreMapOp::indexArguments)
    return success();
  for (auto [axis, index] : llvm::enumerate(element.getIndices())) {
    auto own = dyn_cast<BlockArgument>(index);
    int number = own ? int(own.getArgNumber()) - 1 : -1; // batch, head, query, key
    bool isShifted = number == 2 && op.getStarts();
    if (number < 0 || number > 3 || isShifted)
      continue;
    Axis ofTable{tensorOf(element.getTable()), unsigned(axis), "an axis of a table"};
    Axis ofScores = axisOf(op.getScores(), number, "the scores' axis that indexes it");
    bool isKnown = !ofTable.isDynamic() && !ofScores.isDynamic();
    if (isKnown && failed(verifySame(element, ofTable, ofScores)))
      return failure();
  }
  return success();
}

LogicalResult ScoreMapOp::verify() {
  if (failed(verifyStarts(*this, getStarts(), getScores(), "the scores' batch axis"))) // score_map_c1
    return failure();
  return verifyMapTypes(*this); // score_map_c2
}

// After the operations inside have been verified: an element has an index for each axis.
LogicalResult ScoreMapOp::verifyRegions() {
  auto isScalar = [](Type type) { return type.isF32() || type.isInteger(32) || type.isInteger(1); };
  for (Operation &inner : getBody().front().without_terminator()) {
    StringRef dialect = inner.getName().getDialectNamespace();
    auto element = dyn_cast<ElementOp>(inner);
    bool isPlain = (dialect == "arith" || dialect == "math") && inner.getNumRegions() == 0 &&
                   llvm::all_of(inner.getOperandTypes(), isScalar) &&
                   llvm::all_of(inner.getResultTypes(), isScalar);
    if (!element && !isPlain)
      return inner.emitOpError("is not a scalar operation of a score map"); // score_map_c3
    if (element && failed(verifyOwnIndices(*this, element)))
      return failure(); // score_map_c4
  }
  return success();
}

LogicalResult ElementOp::verify() {
  if (int64_t(getIndices().size()) != tensorOf(getTable()).getRank())
    return emitOpError() << "has " << getIndices().size() << " indices for a table of "
                         << tensorOf(getTable()).getRank() << " axes"; // element_c1
  return success();
}

LogicalResult PaddingMaskOp::verify() {
  return verifySame(*this, axisOf(getLengths(), 0, "the number of lengths"),
                    axisOf(getScores(), 0, "the scores' batch axis")); // padding_mask_c1
}

LogicalResult WindowMaskOp::verify() {
  constexpr int64_t most = int64_t(1) << 30;
  int64_t before = getBefore().value_or(0), after = getAfter().value_or(0);
  if ((!getBefore() && !getAfter()) || std::min(before, after) < 0 || std::max(before, after) > most)
    return emitOpError() << "needs 'before' or 'after', both in 0 to " << most;   // window_mask_c1
  return verifyStarts(*this, getStarts(), getScores(), "the scores' batch axis"); // window_mask_c2
}

LogicalResult PrefixMaskOp::verify() {
  return verifySame(*this, axisOf(getLengths(), 0, "the number of lengths"),
                    axisOf(getScores(), 0, "the scores' batch axis")); // prefix_mask_c1
}

LogicalResult SoftmaxOp::verify() {
  if (tensorOf(getScores()).getDimSize(3) == 0)
    return emitOpError("has an empty key axis"); // softmax_c1
  return success();
}

LogicalResult MeanHeadsOp::verify() {
  if (tensorOf(getWeights()).isDynamicDim(1) || tensorOf(getWeights()).getDimSize(1) < 1)
    return emitOpError() << "needs a known number of heads, but averages "
                         << axisOf(getWeights(), 1, "").extent(); // mean_heads_c1
  return success();
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

LogicalResult AppendOp::verify() {
  int64_t fresh = tensorOf(getFresh()).getDimSize(2), room = tensorOf(getCache()).getDimSize(1);
  if (!ShapedType::isDynamic(fresh) && !ShapedType::isDynamic(room) && fresh > room)
    return emitOpError() << "appends " << fresh << " positions to a cache of " << room; // append_c1
  if (failed(verifySame(*this, axisOf(getFresh(), 1, "the number of new heads"),
                        axisOf(getCache(), 2, "the cache's"))) ||
      failed(verifySame(*this, axisOf(getFresh(), 3, "the new width"), axisOf(getCache(), 3, "the cache's"))))
    return failure(); // append_c2
  if (failed(verifySame(*this, axisOf(getPositions(), 0, "the number of positions"),
                        axisOf(getFresh(), 0, "the number of rows"))))
    return failure(); // append_c3
  Type element = tensorOf(getFresh()).getElementType(), held = tensorOf(getCache()).getElementType();
  if (element != held)
    return emitOpError() << "appends elements of " << element << " to a cache of " << held; // append_c4
  return success();
}

LogicalResult LookupOp::verify() {
  return verifySame(*this, axisOf(getAncestors(), 1, "the ancestors' position axis"),
                    axisOf(getCache(), 1, "the cache's")); // lookup_c1
}

LogicalResult RecallOp::verify() {
  RankedTensorType cache = tensorOf(getCache());
  if (cache.getDimSize(2) != 1)
    return emitOpError() << "needs a cache of one head, but has " << cache; // recall_c1
  if (failed(verifySame(*this, axisOf(getCache(), 3, "the cache's width"),
                        axisOf(getInitial(), -1, "the initial state's"))))
    return failure(); // recall_c1
  for (Value rows : {getAncestors(), getInitial()})
    if (failed(verifySame(*this, axisOf(getPositions(), 0, "the number of positions"),
                          axisOf(rows, 0, "the number of rows"))))
      return failure(); // recall_c2
  return success();
}

LogicalResult TakeOp::verify() {
  if (tensorOf(getInput()).getRank() == 0)
    return emitOpError("needs an axis to select from"); // take_c1
  return success();
}

LogicalResult PickOp::verify() {
  int64_t rank = tensorOf(getIds()).getRank();
  if (rank + 1 != tensorOf(getInput()).getRank())
    return emitOpError() << "needs ids for the axes before the last, but has " << getIds().getType()
                         << " for " << getInput().getType(); // pick_c1
  for (int64_t axis = 0; axis < rank; ++axis)
    if (failed(verifySame(*this, axisOf(getIds(), axis, "an axis of the ids"),
                          axisOf(getInput(), axis, "the input's"))))
      return failure(); // pick_c1
  return success();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Checks types inside of a region against those outside.
static LogicalResult verifyTypes(Operation *op, TypeRange inside, TypeRange outside, StringRef what) {
  if (inside.size() != outside.size())
    return op->emitOpError() << "has " << outside.size() << " " << what << ", but its region has "
                             << inside.size();
  for (auto [number, types] : llvm::enumerate(llvm::zip(inside, outside)))
    if (std::get<0>(types) != std::get<1>(types))
      return op->emitOpError() << "has " << std::get<1>(types) << " as number " << number << " of its "
                               << what << ", but its region has " << std::get<0>(types);
  return success();
}

static YieldOp findYield(Region &body) {
  return body.front().empty() ? YieldOp() : dyn_cast<YieldOp>(body.front().back());
}

LogicalResult RecurrenceOp::verify() {
  auto isRows = [](Type type) { return cast<RankedTensorType>(type).getRank() == 3; };
  auto isSequence = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getElementType().isInteger(32) ? tensor.getRank() == 2 : isRows(type);
  };
  if (getSequences().empty() || !llvm::all_of(getSequences().getTypes(), isSequence) ||
      !llvm::all_of(getOutputs().getTypes(), isRows))
    return emitOpError(
        "needs at least one sequence, and sequences with the axes batch, query, width or ids of "
        "batch and query"); // recurrence_c1
  for (Type state : getInitial().getTypes())
    if (!isRows(state) || cast<RankedTensorType>(state).getDimSize(1) != 1 ||
        getInitial().size() > getNumResults())
      return emitOpError() << "has " << getInitial().size() << " states, among them " << state << ", and "
                           << getNumResults()
                           << " results; each state has one position and a result"; // recurrence_c4
  SmallVector<Type> arguments = llvm::map_to_vector<4>(
      getSequences().getTypes(), [](Type type) -> Type { return positionOf(cast<RankedTensorType>(type)); });
  llvm::append_range(arguments, getInitial().getTypes());
  llvm::append_range(arguments, getConstants().getTypes());
  if (failed(verifyTypes(*this, getBody().getArgumentTypes(), arguments, "arguments"))) // recurrence_c2
    return failure();
  SmallVector<Type> yielded = llvm::map_to_vector<4>(
      getOutputs().getTypes(), [](Type type) -> Type { return positionOf(cast<RankedTensorType>(type)); });
  llvm::append_range(yielded, getLast().getTypes());
  YieldOp yield = findYield(getBody());
  return verifyTypes(*this, yield ? TypeRange(yield.getValues()) : TypeRange(), yielded,
                     "results"); // recurrence_c3
}

LogicalResult ZerosOp::verify() {
  if (static_cast<int64_t>(getWidth()) < 1)
    return emitOpError() << "'width' is " << getWidth() << ", but must be at least 1"; // zeros_c1
  return success();
}

LogicalResult LiveOp::verify() {
  return verifySame(*this, axisOf(getLengths(), 0, "the number of lengths"),
                    axisOf(getSequence(), 0, "the sequence's batch axis")); // live_c1
}

LogicalResult WhereOp::verify() {
  int64_t rank = tensorOf(getLive()).getRank();
  if (rank + 1 != tensorOf(getFresh()).getRank())
    return emitOpError() << "chooses rows of " << getFresh().getType() << " by "
                         << getLive().getType(); // where_c1
  for (int64_t axis = 0; axis < rank; ++axis)
    if (failed(verifySame(*this, axisOf(getLive(), axis, "an axis of what tells rows apart"),
                          axisOf(getFresh(), axis, "the rows'"))))
      return failure(); // where_c1
  if (getKept() && getKept().getType() != getFresh().getType())
    return emitOpError() << "keeps " << getKept().getType() << " in place of "
                         << getFresh().getType(); // where_c2
  return success();
}

LogicalResult FusedOp::verify() {
  if (failed(verifyTypes(*this, getBody().getArgumentTypes(), getInputs().getTypes(), "inputs"))) // fused_c1
    return failure();
  YieldOp yield = findYield(getBody());
  return verifyTypes(*this, yield ? TypeRange(yield.getValues()) : TypeRange(), getResultTypes(),
                     "results"); // fused_c2
}

LogicalResult KernelOp::verify() {
  YieldOp yield = findYield(getBody());
  if (!yield || yield.getValues().empty())
    return emitOpError("yields nothing"); // kernel_c1
  if (getScratch())
    for (Type type : getScratch()->getAsValueRange<TypeAttr>())
      if (!isa<RankedTensorType>(type))
        return emitOpError() << "has scratch of type " << type
                             << ", which is not a ranked tensor"; // kernel_c2
  return success();
}

LogicalResult CallOp::verify() {
  if (getPlaces() && getPlaces()->size() != getNumResults())
    return emitOpError() << "has " << getPlaces()->size() << " places for " << getNumResults()
                         << " results"; // call_c3
  return success();
}

} // namespace attn
