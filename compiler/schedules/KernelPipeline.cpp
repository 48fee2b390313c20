//===- KernelPipeline.cpp - a scheduled kernel, ready to be compiled --------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per archetype: inputs from the region, stages from kernels/, parameters from ChooseSchedule.

#include "compiler/schedules/KernelPipeline.h"

#include "compiler/kernels/Archetype.h"
#include "compiler/kernels/Math.h"
#include "compiler/kernels/Region.h"
#include "compiler/kernels/ScalarBuilder.h"
#include "compiler/schedules/cpu/Schedules.h"

using Halide::Expr;
using Halide::Func;
using Halide::Var;
using mlir::RankedTensorType;

namespace attnc {

static RankedTensorType typeOf(mlir::Value value) { return llvm::cast<RankedTensorType>(value.getType()); }
static int widthOf(mlir::Value value) {
  int64_t width = typeOf(value).getShape().back();
  assert(!mlir::ShapedType::isDynamic(width) && "loops are made for a width");
  return int(width);
}

static std::vector<Var> axisVars(mlir::Value value) {
  std::vector<Var> vars;
  for (int axis = 0; axis < typeOf(value).getRank(); ++axis)
    vars.push_back(Var("axis" + std::to_string(axis)));
  return vars;
}

namespace {
/// Builds the pipeline of one kernel; members are shared by the archetypes.
class PipelineBuilder {
public:
  PipelineBuilder(attn::KernelOp kernel, const CpuTarget &cpu, const ScheduleChoice &choice)
      : kernel(kernel), cpu(cpu), choice(choice), region(kernel) {
    pipeline.arguments = region.arguments();
  }

  llvm::Expected<KernelPipeline> build();

private:
  MatmulSchedule matmulSchedule(const LinearInputs &inputs);
  template <typename Choose> auto chooseTuned(Choose choose);
  void buildMatmul(const MatmulMatch &match);
  void addLinearResult(const MatmulMatch &match, mlir::Value value, const LinearInputs &inputs);
  void addNormResult(mlir::Operation *norm, mlir::Value value);
  AttentionInputs attentionInputs(const AttentionMatch &match);
  void readCaches(mlir::Value key, mlir::Value value, AttentionInputs &inputs);
  void boundKeys(const AttentionMatch &match, AttentionInputs &inputs);
  std::vector<AttentionSchedule> chooseWays(const AttentionInputs &inputs, RankedTensorType queries,
                                            const ScheduleChoice &choice) const;
  void buildAttentionKernel(const AttentionMatch &match);
  void addProduct(attn::MatmulOp matmul, mlir::Value value);
  void buildWeightsKernel(attn::SoftmaxOp softmax);
  llvm::Error buildVocabularyKernel(const VocabularyMatch &match);
  RowLogSumStages buildLogits(const VocabularyMatch &match, const LinearInputs &inputs);
  void buildLogSum(const VocabularyMatch &match, const LinearInputs &inputs);
  void buildLogProbabilities(const VocabularyMatch &match, const LinearInputs &inputs);
  Tensor logitsAgain(const VocabularyMatch &match, const LinearInputs &inputs);
  void addPick(const VocabularyMatch &match, const LinearInputs &inputs, VocabularyStages &stages);
  void addTop(const LinearInputs &inputs, VocabularyStages &stages);
  void buildCellKernel(const CellMatch &match);
  void addCellStage(const CellStage &stage);
  void buildAppend(attn::AppendOp append);
  void buildQuantise(attn::QuantiseOp quantise);
  void buildConcat(attn::ConcatOp concat);
  void addRows(mlir::Value value);
  void buildRows();
  void addResult(Func result, mlir::Value value);
  void addResults(Func result, llvm::ArrayRef<mlir::Value> values);
  Expr elementOf(mlir::Value value, const Coordinates &at);

  attn::KernelOp kernel;
  const CpuTarget &cpu;
  const ScheduleChoice &choice;
  Region region;
  KernelPipeline pipeline;
};
} // namespace

/// What `choose` gives for the choice at hand; notes whether rules alone would give something else.
template <typename Choose> auto PipelineBuilder::chooseTuned(Choose choose) {
  auto schedule = choose(choice);
  pipeline.isTuned |= schedule != choose({});
  return schedule;
}

MatmulSchedule PipelineBuilder::matmulSchedule(const LinearInputs &inputs) {
  return chooseTuned([&](const ScheduleChoice &choice) { return chooseMatmul(cpu, inputs, choice); });
}

/// Adds a result and lets what follows read it from memory.
void PipelineBuilder::addResult(Func result, mlir::Value value) { addResults(result, {value}); }

/// As addResult, of a tuple.
void PipelineBuilder::addResults(Func result, llvm::ArrayRef<mlir::Value> values) {
  region.constrain(result, typeOf(values.front()));
  pipeline.outputs.push_back(result);
  for (auto [number, value] : llvm::enumerate(values)) {
    Tensor stored = region.tensor(value);
    int element = values.size() > 1 ? int(number) : -1;
    stored.at = [result, element](const Coordinates &at) -> Expr {
      Halide::FuncRef found = result(std::vector<Expr>(at));
      return element < 0 ? Expr(found) : found[element];
    };
    region.bind(value, loaded(value, stored));
  }
}

//===----------------------------------------------------------------------===//
// Matmul with epilogue
//===----------------------------------------------------------------------===//

void PipelineBuilder::addLinearResult(const MatmulMatch &match, mlir::Value value,
                                      const LinearInputs &inputs) {
  MatmulSchedule schedule = matmulSchedule(inputs);
  mlir::Value linear = attn::LinearOp(match.linear).getResult();
  auto epilogue = [&](const Tensor &result, const Coordinates &at) {
    region.bind(linear, result);
    return storable(value, region.tensor(value).at(at));
  };
  std::string name = "result" + std::to_string(pipeline.outputs.size());
  LinearStages stages = buildLinear(inputs, schedule.tiles, epilogue, name);
  region.bind(linear, {});
  scheduleMatmul(stages, schedule);
  stages.result.compute_root();
  addResult(stages.result, value);
}

/// The norm may be written where the sum lies that it reads (EntryPlan::findOnlyNorm): a row's statistics
/// come before its elements, each of which is read once, before it is written.
void PipelineBuilder::addNormResult(mlir::Operation *norm, mlir::Value value) {
  auto layer = llvm::dyn_cast<attn::LayerNormOp>(norm);
  int width = widthOf(norm->getResult(0));
  RowNormInputs inputs;
  inputs.input = region.tensor(norm->getOperand(0));
  inputs.weight = region.vector(norm->getOperand(1));
  inputs.bias = layer ? region.vector(layer.getBias()) : nullptr;
  inputs.epsilon = norm->getAttrOfType<mlir::FloatAttr>("epsilon").getValue().convertToFloat();
  inputs.centred = static_cast<bool>(layer);
  inputs.width = width;
  inputs.lanes = lanesDividing(width, cpu.lanes);
  std::string name = "result" + std::to_string(pipeline.outputs.size());
  RowNormStages stages = buildRowNorm(inputs, name);
  region.bind(norm->getResult(0), stages.result);
  std::vector<Var> vars = axisVars(value);
  Func result(name);
  result(vars) = elementOf(value, {vars.begin(), vars.end()});
  scheduleRows(result.compute_root(), vars, cpu.lanes);
  scheduleRowNorm(stages, inputs.lanes, result, vars[1]);
  region.bind(norm->getResult(0), {});
  addResult(result, value);
}

void PipelineBuilder::buildMatmul(const MatmulMatch &match) {
  LinearInputs inputs = region.linear(match.linear);
  // What a norm reads has to be in memory before it; results keep the order of the yield.
  llvm::DenseMap<mlir::Value, Func> made;
  for (bool second : {false, true})
    for (mlir::Value value : region.results())
      if (second == (match.norm && dependsOn(value, match.norm)) && !made.count(value)) {
        if (second)
          addNormResult(match.norm, value);
        else
          addLinearResult(match, value, inputs);
        made[value] = pipeline.outputs.back();
      }
  pipeline.outputs.clear();
  for (mlir::Value value : region.results())
    pipeline.outputs.push_back(made[value]);
}

//===----------------------------------------------------------------------===//
// Recurrent cell
//===----------------------------------------------------------------------===//

void PipelineBuilder::addCellStage(const CellStage &stage) {
  CellInputs inputs;
  inputs.columns = widthOf(stage.results.front());
  int steps = 0;
  for (mlir::Value gate : stage.gates) {
    auto slice = gate.getDefiningOp<attn::SliceOp>();
    auto linear = (slice ? slice.getInput() : gate).getDefiningOp<attn::LinearOp>();
    LinearInputs whole = region.linear(linear);
    inputs.gates.push_back(sliceLinear(whole, slice ? slice.getOffset() : 0, inputs.columns));
    inputs.rows = whole.input.extents[1];
    steps += whole.weight.in / whole.weight.group;
  }
  inputs.elements = [&](const std::vector<Tensor> &gates, const Coordinates &at) {
    for (auto [value, gate] : llvm::zip(stage.gates, gates))
      region.bind(value, gate);
    std::vector<Expr> elements;
    for (mlir::Value result : stage.results)
      elements.push_back(storable(result, region.tensor(result).at(at)));
    for (mlir::Value value : stage.gates)
      region.bind(value, {});
    return elements;
  };
  const LinearInputs &first = inputs.gates.front();
  const MatmulShape shape{steps, first.weight.group, inputs.columns, first.scales.has_value()};
  MatmulSchedule schedule =
      chooseTuned([&](const ScheduleChoice &choice) { return chooseGates(cpu, shape, choice); });
  CellStages stages = buildCell(inputs, schedule.tiles, "result" + std::to_string(pipeline.outputs.size()));
  scheduleCell(stages, schedule);
  addResults(stages.result, stage.results);
}

void PipelineBuilder::buildCellKernel(const CellMatch &match) {
  for (const CellStage &stage : match.stages)
    addCellStage(stage);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

void PipelineBuilder::readCaches(mlir::Value key, mlir::Value value, AttentionInputs &inputs) {
  inputs.memory = region.cachedMemory(key, value);
  if (inputs.memory.empty())
    return;
  inputs.slots = inputs.memory.back();
  inputs.memory.pop_back();
  inputs.keyAxis = key.getDefiningOp<attn::LookupOp>() ? 2 : 1;
}

AttentionInputs PipelineBuilder::attentionInputs(const AttentionMatch &match) {
  mlir::Value query = match.products->getOperand(0), key = match.products->getOperand(1);
  attn::MatmulOp context = match.context;
  const RankedTensorType queries = typeOf(query);
  AttentionInputs inputs;
  inputs.query = region.tensor(query);
  inputs.key = region.tensor(key);
  inputs.value = region.tensor(context.getRhs());
  inputs.keyGroup = headsPerGroup(query, key);
  inputs.valueGroup = headsPerGroup(context.getLhs(), context.getRhs());
  if (auto additive = llvm::dyn_cast<attn::AdditiveScoresOp>(match.products))
    inputs.term = region.additiveTerm(additive);
  if (match.isRounded())
    inputs.memory = region.memory({key, context.getRhs()});
  else if (queries.getDimSize(2) == 1)
    readCaches(key, context.getRhs(), inputs);
  inputs.queryFactor = match.onlyBounded ? match.factor * Log2E : match.factor;
  inputs.onlyBounded = match.onlyBounded;
  inputs.headsAreTasks =
      queries.isDynamicDim(1) || (kernel->hasAttr("attn.graph") && queries.getDimSize(1) > 1);
  inputs.width = widthOf(query);
  inputs.valueWidth = widthOf(context.getRhs());
  return inputs;
}

/// The keys that some query sees: what each mask shows, and no more than there are.
void PipelineBuilder::boundKeys(const AttentionMatch &match, AttentionInputs &inputs) {
  Expr keys = inputs.key.extents[1];
  inputs.keyEnd = [this, keys, &match](Expr lastQuery, Expr batch) {
    Expr end = keys;
    for (mlir::Operation *mask : match.masks)
      if (Expr limit = region.visibleKeys(mask, lastQuery, lastQuery, batch).end; limit.defined())
        end = Halide::min(end, limit);
    return end;
  };
  auto hasStart = [](mlir::Operation *mask) {
    auto window = llvm::dyn_cast<attn::WindowMaskOp>(mask);
    return window && window.getBefore();
  };
  if (llvm::none_of(match.masks, hasStart))
    return;
  inputs.keyStart = [this, &match](Expr firstQuery, Expr batch) {
    Expr start = 0;
    for (mlir::Operation *mask : match.masks)
      if (Expr limit = region.visibleKeys(mask, firstQuery, firstQuery, batch).first; limit.defined())
        start = Halide::max(start, limit);
    return start;
  };
}

/// One by one, in blocks, or, where that may depend on how many there are, both.
std::vector<AttentionSchedule> PipelineBuilder::chooseWays(const AttentionInputs &inputs,
                                                           RankedTensorType queries,
                                                           const ScheduleChoice &choice) const {
  const bool isOfGraph = kernel->hasAttr("attn.graph"), isOneQuery = queries.getDimSize(2) == 1;
  const int heads = inputs.headsAreTasks ? 1 : int(queries.getDimSize(1));
  std::vector<AttentionSchedule> ways;
  // In a model, what a query gives must not depend on how many there are.
  if (isOneQuery || (queries.isDynamicDim(2) && isOfGraph))
    ways = chooseStepAttention(cpu, inputs, heads, choice);
  if (!isOneQuery)
    llvm::append_range(ways, chooseAttention(cpu, inputs, choice));
  return ways;
}

void PipelineBuilder::buildAttentionKernel(const AttentionMatch &match) {
  AttentionInputs inputs = attentionInputs(match);
  attn::SoftmaxOp softmax = match.softmax;
  inputs.score = [&](Expr product, const Coordinates &at) {
    region.bind(match.scaled, {at, [product](const Coordinates &) { return product; }});
    Expr score = region.tensor(softmax.getScores()).at(at);
    region.bind(match.scaled, {});
    return match.onlyBounded ? score : score * Log2E;
  };
  boundKeys(match, inputs);
  inputs.mayBeSeen = [&](const Coordinates &at) { return region.mayBeSeen(softmax.getScores(), at); };
  const RankedTensorType queries = typeOf(match.products->getOperand(0));
  const std::vector<AttentionSchedule> schedules =
      chooseTuned([&](const ScheduleChoice &choice) { return chooseWays(inputs, queries, choice); });
  std::vector<AttentionTiles> tiles;
  for (const AttentionSchedule &schedule : schedules)
    tiles.push_back(schedule.tiles);
  AttentionKernel attention = buildAttention(inputs, tiles);
  scheduleAttention(attention, schedules);
  attn::MatmulOp context = match.context;
  addResult(attention.result, context.getResult());
}

//===----------------------------------------------------------------------===//
// Products of two inputs
//===----------------------------------------------------------------------===//

/// Adds what `element` makes of `value`, which is made of a product.
void PipelineBuilder::addProduct(attn::MatmulOp matmul, mlir::Value value) {
  auto known = [](int64_t extent) { return mlir::ShapedType::isDynamic(extent) ? 0 : int(extent); };
  ProductInputs inputs;
  inputs.lhs = region.tensor(matmul.getLhs());
  inputs.rhs = region.tensor(matmul.getRhs());
  inputs.isTransposed = matmul.getTransposed();
  inputs.group = headsPerGroup(matmul.getLhs(), matmul.getRhs());
  inputs.terms = known(typeOf(matmul.getLhs()).getShape().back());
  inputs.columns = known(typeOf(matmul.getResult()).getShape().back());
  inputs.element = [&](const Tensor &product, const Coordinates &at) {
    region.bind(matmul.getResult(), product);
    Expr element = elementOf(value, at);
    region.bind(matmul.getResult(), {});
    return element;
  };
  const ProductTiles tiles = chooseProduct(cpu, inputs);
  ProductStages stages = buildProduct(inputs, tiles, "result" + std::to_string(pipeline.outputs.size()));
  scheduleProduct(stages, tiles);
  addResult(stages.result, value);
}

/// Scores are the result's memory first, weights then.
void PipelineBuilder::buildWeightsKernel(attn::SoftmaxOp softmax) {
  mlir::Value scores = softmax.getScores();
  if (auto product = matchProduct(scores))
    addProduct(*product, scores);
  else
    addRows(scores);
  addRows(softmax.getWeights());
  pipeline.firstSharesSecond = true;
}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

/// The logits of all words, and how their sums are reached.
RowLogSumStages PipelineBuilder::buildLogits(const VocabularyMatch &match, const LinearInputs &inputs) {
  attn::LinearOp linear = match.linear;
  MatmulSchedule schedule = matmulSchedule(inputs);
  auto logit = [](const Tensor &result, const Coordinates &at) { return result.at(at); };
  LinearStages logits = buildLinear(inputs, schedule.tiles, logit, "logits");
  scheduleMatmul(logits, schedule);
  logits.result.compute_root();
  addResult(logits.result, linear.getResult());
  return buildRowLogSum(region.tensor(linear.getResult()), inputs.weight.out);
}

void PipelineBuilder::buildLogSum(const VocabularyMatch &match, const LinearInputs &inputs) {
  attn::LogSumExpOp logSum = match.logSum;
  RowLogSumStages sums = buildLogits(match, inputs);
  Var row("row");
  Func result("logSums");
  result(row) = sums.logSum.logSum(row);
  result.compute_root().parallel(row);
  scheduleRowLogSum(sums, cpu.lanes, result, row);
  addResult(result, logSum.getResult());
}

// Logits are the result's memory first, log-probabilities then.
void PipelineBuilder::buildLogProbabilities(const VocabularyMatch &match, const LinearInputs &inputs) {
  attn::LogSoftmaxOp logSoftmax = match.logSoftmax;
  RowLogSumStages sums = buildLogits(match, inputs);
  std::vector<Var> vars = axisVars(logSoftmax.getLogits());
  Func result("result");
  result(vars) = region.tensor(logSoftmax.getLogits()).at({vars[0], vars[1]}) - sums.logSum.logSum(vars[1]);
  scheduleRows(result, vars, cpu.lanes);
  scheduleRowLogSum(sums, cpu.lanes, result, vars[1]);
  addResult(result, logSoftmax.getResult());
  pipeline.firstSharesSecond = true;
}

/// A logit summed up again, where it is asked for.
Tensor PipelineBuilder::logitsAgain(const VocabularyMatch &match, const LinearInputs &inputs) {
  attn::LogSoftmaxOp logSoftmax = match.logSoftmax;
  return inputs.weight.group == 1 ? region.tensor(logSoftmax.getLogits()) : inlineLinear(inputs);
}

void PipelineBuilder::addPick(const VocabularyMatch &match, const LinearInputs &inputs,
                              VocabularyStages &stages) {
  attn::LogSoftmaxOp logSoftmax = match.logSoftmax;
  Func logSum = stages.logSum.logSum;
  Tensor logits = logitsAgain(match, inputs);
  logits.at = [logits, logSum](const Coordinates &at) { return logits.at(at) - logSum(at[1]); };
  region.bind(logSoftmax.getResult(), logits);
  mlir::Value picked = region.results()[0];
  Var row("row");
  Func result("picked");
  result(row) = region.tensor(picked).at({row});
  result.parallel(row);
  scheduleLogSum(stages.logSum, cpu.lanes, result, row);
  addResult(result, picked);
}

void PipelineBuilder::addTop(const LinearInputs &inputs, VocabularyStages &stages) {
  TopStages top = buildTop(inputs, stages);
  scheduleTop(top, stages, cpu.lanes);
  region.constrain(top.result, typeOf(region.results()[0]));
  pipeline.outputs.push_back(top.result);
}

llvm::Error PipelineBuilder::buildVocabularyKernel(const VocabularyMatch &match) {
  LinearInputs inputs = region.linear(match.linear);
  if (!match.top && !match.pick) {
    if (match.logSum)
      buildLogSum(match, inputs);
    else
      buildLogProbabilities(match, inputs);
    return llvm::Error::success();
  }
  std::optional<mlir::ArrayAttr> scratch = kernel.getScratch();
  if (!scratch || scratch->size() != 2)
    return llvm::createStringError("scratch is needed for the maximum and the sum of each panel");
  MatmulSchedule schedule =
      chooseTuned([&](const ScheduleChoice &choice) { return chooseVocabulary(cpu, inputs, choice); });
  VocabularyStages stages = buildVocabulary(inputs, schedule.tiles);
  scheduleVocabulary(stages, schedule);
  auto scratchType = llvm::cast<RankedTensorType>(llvm::cast<mlir::TypeAttr>((*scratch)[0]).getValue());
  region.constrain(stages.panels, scratchType);
  // Sums that are made again have the same terms.
  LinearInputs again = inputs;
  if (cpu.roundsRows() && schedule.tiles.back().isExternal() && inputs.weight.group == 2)
    again = withRoundedRows(inputs);
  if (match.top)
    addTop(again, stages);
  else
    addPick(match, again, stages);
  pipeline.outputs.push_back(stages.panels);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Append and rows
//===----------------------------------------------------------------------===//

// Only the new positions are written; the rest of the cache is the same memory as the input.
void PipelineBuilder::buildAppend(attn::AppendOp append) {
  Tensor fresh = region.tensor(append.getFresh()), positions = region.tensor(append.getPositions());
  Tensor cache = region.tensor(append.getCache());
  Var width("width"), key("key"), head("head"), row("row");
  Halide::RDom written(0, fresh.extents[1], 0, positions.extents[0], "written"); // query x row
  // Never outside, whatever the position.
  Expr position = (positions.at({written.y}) + written.x) % cache.extents[2];
  Func result("cache");
  Expr element = storable(append.getResult(), fresh.at({width, written.x, head, written.y}));
  result(width, head, key, row) = Halide::undef(element.type());
  result(width, head, position, written.y) = element;
  result.update()
      .reorder(width, head, written.x, written.y)
      .vectorize(width, lanesDividing(widthOf(append.getFresh()), cpu.lanes));
  scheduleAppendedRows(result.update(), written.x, written.y);
  addResult(result, append.getResult());
}

void PipelineBuilder::buildQuantise(attn::QuantiseOp quantise) {
  Tensor input = region.tensor(quantise.getInput());
  int width = widthOf(quantise.getInput());
  QuantisedRowsStages stages =
      buildQuantisedRows(input, width, widthOf(quantise.getBytes()), lanesDividing(width, cpu.lanes));
  scheduleQuantisedRows(stages, cpu.lanes);
  addResult(stages.scales, quantise.getScales());
  addResult(stages.bytes, quantise.getBytes());
  std::swap(pipeline.outputs[0], pipeline.outputs[1]);
}

void PipelineBuilder::buildConcat(attn::ConcatOp concat) {
  std::vector<Var> vars = axisVars(concat.getResult());
  Func result("concat");
  result(vars) = Halide::undef<float>();
  int offset = 0;
  for (auto [number, input] : llvm::enumerate(concat.getInputs())) {
    Tensor part = region.tensor(input);
    Halide::RDom column(0, widthOf(input), "column" + std::to_string(number));
    Coordinates to(vars.begin(), vars.end()), from = to;
    to[0] = column + offset;
    from[0] = column;
    result(to) = part.at(from);
    result.update(number).vectorize(column, lanesDividing(widthOf(input), cpu.lanes));
    scheduleRowGroups(result.update(number), vars);
    offset += widthOf(input);
  }
  addResult(result, concat.getResult());
}

/// The element of a result as memory holds it: masked scores are minus infinity there, made as bits because
/// the compiler may assume that no float is infinite.
Expr PipelineBuilder::elementOf(mlir::Value value, const Coordinates &at) {
  Expr element = region.tensor(value).at(at);
  if (mayBeMasked(value)) {
    Expr bits = Halide::reinterpret<int32_t>(element);
    element =
        Halide::reinterpret<float>(Halide::select(element < 0.5f * MaskedScore, int32_t(0xff800000), bits));
  }
  return storable(value, element);
}

/// Elements one by one, but for rows' values.
void PipelineBuilder::addRows(mlir::Value value) {
  std::vector<Var> vars = axisVars(value);
  Func result("result" + std::to_string(pipeline.outputs.size()));
  region.rowStages.clear();
  region.laneStages.clear();
  result(vars) = elementOf(value, {vars.begin(), vars.end()});
  scheduleRows(result, vars, cpu.lanes);
  const Var row = vars.size() > 1 ? vars[1] : vars[0];
  for (Func stage : region.rowStages)
    stage.compute_at(result, row).store_in(Halide::MemoryType::Stack);
  for (Func stage : region.laneStages)
    scheduleLaneReduction(stage, cpu.lanes, result, row);
  result.compute_root();
  addResult(result, value);
}

void PipelineBuilder::buildRows() {
  for (mlir::Value value : region.results()) {
    mlir::Operation *norm = nullptr;
    kernel.walk([&](mlir::Operation *op) {
      if (!llvm::isa<attn::LayerNormOp, attn::RmsNormOp>(op) || !dependsOn(value, op))
        return mlir::WalkResult::advance();
      norm = op;
      return mlir::WalkResult::interrupt();
    });
    if (norm && typeOf(value).getRank() > 1)
      addNormResult(norm, value);
    else if (auto product = matchProduct(value))
      addProduct(*product, value);
    else
      addRows(value);
  }
}

static bool isSupported(mlir::Operation *op) {
  return attn::isView(op) || attn::makesScores(op) || attn::actsOnScores(op) ||
         llvm::isa<attn::EmbedOp, attn::RoundOp, attn::AddPositionsOp, attn::RotaryOp, attn::LinearOp,
                   attn::LayerNormOp, attn::RmsNormOp, attn::L2NormOp, attn::SoftmaxOp, attn::MeanHeadsOp,
                   attn::AppendOp, attn::RecallOp, attn::LiveOp, attn::WhereOp, attn::QuantiseOp,
                   attn::ZerosOp, attn::ConcatOp, attn::LookupOp, attn::TakeOp, attn::IncrementOp,
                   attn::LogSoftmaxOp, attn::LogSumExpOp, attn::PickOp, attn::TopKOp>(op);
}

/// The first operation that no kernel can be built for, or null; bodies of score maps are looked into.
static mlir::Operation *findUnsupported(attn::KernelOp kernel) {
  for (mlir::Operation &op : kernel.getBody().front().without_terminator()) {
    if (!isSupported(&op))
      return &op;
    if (auto map = llvm::dyn_cast<attn::ScoreMapOp>(op))
      for (mlir::Operation &scalar : map.getBody().front())
        if (!isScalarSupported(&scalar))
          return &scalar;
  }
  return nullptr;
}

static bool isAlone(mlir::Operation *op) {
  return llvm::hasSingleElement(op->getBlock()->without_terminator());
}

llvm::Expected<KernelPipeline> PipelineBuilder::build() {
  if (mlir::Operation *op = findUnsupported(kernel))
    return llvm::createStringError("no kernel can be built for '" + op->getName().getStringRef() + "' yet");
  if (auto match = matchVocabulary(kernel)) {
    if (llvm::Error error = buildVocabularyKernel(*match))
      return error;
  } else if (findOnly<attn::TopKOp>(kernel)) {
    return llvm::createStringError("'attn.top_k' needs the linear and log_softmax before it");
  } else if (auto match = matchMatmul(kernel)) {
    buildMatmul(*match);
  } else if (auto match = matchCell(kernel)) {
    buildCellKernel(*match);
  } else if (auto quantise = findOnly<attn::QuantiseOp>(kernel); quantise && isAlone(quantise)) {
    buildQuantise(quantise);
  } else if (!kernel.getBody().front().getOps<attn::QuantiseOp>().empty()) {
    return llvm::createStringError("'attn.quantise' must stand alone");
  } else if (auto concat = findOnly<attn::ConcatOp>(kernel); concat && isAlone(concat)) {
    buildConcat(concat);
  } else if (!kernel.getBody().front().getOps<attn::ConcatOp>().empty()) {
    return llvm::createStringError("'attn.concat' must stand alone");
  } else if (auto match = matchAttention(kernel)) {
    buildAttentionKernel(*match);
  } else if (auto softmax = matchWeights(kernel)) {
    buildWeightsKernel(*softmax);
  } else if (llvm::all_of(region.results(),
                          [](mlir::Value value) { return value.getDefiningOp<attn::AppendOp>(); })) {
    for (mlir::Value value : region.results())
      buildAppend(value.getDefiningOp<attn::AppendOp>());
  } else if (!kernel.getBody().front().getOps<attn::AppendOp>().empty()) {
    return llvm::createStringError("'attn.append' must be the last operation of each result");
  } else {
    buildRows();
  }
  return std::move(pipeline);
}

llvm::Expected<KernelPipeline> buildKernelPipeline(attn::KernelOp kernel, const CpuTarget &cpu,
                                                   const ScheduleChoice &choice) {
  return PipelineBuilder(kernel, cpu, choice).build();
}

} // namespace attnc
