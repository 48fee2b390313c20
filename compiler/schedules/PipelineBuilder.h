//===- PipelineBuilder.h - the pipeline of one kernel -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per archetype, in a file of its own (Build*.cpp): inputs from the region, stages from
// kernels/, parameters from ChooseSchedule.h.

#ifndef ATTNC_SCHEDULES_PIPELINE_BUILDER_H
#define ATTNC_SCHEDULES_PIPELINE_BUILDER_H

#include "compiler/kernels/Archetype.h"
#include "compiler/kernels/Region.h"
#include "compiler/schedules/KernelPipeline.h"
#include "compiler/schedules/cpu/Schedules.h"

namespace attnc {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// The extent of a value's last axis, which is known: loops are made for it.
int widthOf(mlir::Value value);

/// A variable for each of a value's axes, fastest first.
std::vector<Halide::Var> axisVars(mlir::Value value);

/// Builds the pipeline of one kernel; members are shared by the archetypes.
class PipelineBuilder {
public:
  PipelineBuilder(attn::KernelOp kernel, const CpuTarget &cpu, const ScheduleChoice &choice)
      : kernel(kernel), cpu(cpu), choice(choice), region(kernel) {
    pipeline.arguments = region.arguments();
  }

  llvm::Expected<KernelPipeline> build();

private:
  /// Adds a result and lets what follows read it from memory.
  void addResult(Halide::Func result, mlir::Value value) { addResults(result, {value}); }
  /// As addResult, of a tuple.
  void addResults(Halide::Func result, llvm::ArrayRef<mlir::Value> values);
  /// What `choose` gives for the choice at hand; notes whether rules alone would give something else.
  template <typename Choose> auto chooseTuned(Choose choose) {
    auto schedule = choose(choice);
    pipeline.isTuned |= schedule != choose({});
    return schedule;
  }

  // BuildMatmul.cpp
  MatmulSchedule matmulSchedule(const LinearInputs &inputs);
  void buildMatmul(const MatmulMatch &match);
  void addLinearResult(const MatmulMatch &match, mlir::Value value, const LinearInputs &inputs);

  // BuildAttention.cpp
  AttentionInputs attentionInputs(const AttentionMatch &match);
  void readCaches(mlir::Value key, mlir::Value value, AttentionInputs &inputs);
  void boundKeys(const AttentionMatch &match, AttentionInputs &inputs);
  std::vector<AttentionSchedule> chooseWays(const AttentionInputs &inputs, mlir::RankedTensorType queries,
                                            const ScheduleChoice &choice) const;
  void buildAttentionKernel(const AttentionMatch &match);

  // BuildVocabulary.cpp
  llvm::Error buildVocabularyKernel(const VocabularyMatch &match);
  RowLogSumStages buildLogits(const VocabularyMatch &match, const LinearInputs &inputs);
  void buildLogSum(const VocabularyMatch &match, const LinearInputs &inputs);
  void buildLogProbabilities(const VocabularyMatch &match, const LinearInputs &inputs);
  void addPick(const VocabularyMatch &match, const LinearInputs &inputs, VocabularyStages &stages);
  void addTop(const LinearInputs &inputs, VocabularyStages &stages);

  // BuildCell.cpp
  void buildCellKernel(const CellMatch &match);
  void addCellStage(const CellStage &stage);

  // BuildRows.cpp
  void addProduct(attn::MatmulOp matmul, mlir::Value value);
  void buildWeightsKernel(attn::SoftmaxOp softmax);
  void addNormResult(mlir::Operation *norm, mlir::Value value);
  void buildAppend(attn::AppendOp append);
  void buildQuantise(attn::QuantiseOp quantise);
  void buildConcat(attn::ConcatOp concat);
  void addRows(mlir::Value value);
  void buildRows();
  Halide::Expr elementOf(mlir::Value value, const Coordinates &at);

  attn::KernelOp kernel;
  const CpuTarget &cpu;
  const ScheduleChoice &choice;
  Region region;
  KernelPipeline pipeline;
};

} // namespace attnc

#endif // ATTNC_SCHEDULES_PIPELINE_BUILDER_H
