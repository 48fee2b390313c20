//===- PlannedModule.cpp - what memory planning recorded -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/PlannedModule.h"

using namespace mlir;

namespace attnc {

FailureOr<PlannedModule> readPlannedModule(ModuleOp module) {
  PlannedModule planned;
  auto sizes = module->getAttrOfType<ArrayAttr>("attn.sizes");
  auto state = module->getAttrOfType<attn::SizeAttr>("attn.state_bytes");
  auto weights = module->getAttrOfType<IntegerAttr>("attn.weight_bytes");
  if (!sizes || !state || !weights)
    return module.emitError("is not planned: attn-plan-memory has not run");
  for (StringAttr name : sizes.getAsRange<StringAttr>())
    planned.sizes.push_back(name.str());
  planned.state = state;
  planned.weightBytes = weights.getInt();
  PlannedSymbols symbols(module);
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    auto arena = function->getAttrOfType<attn::SizeAttr>("attn.arena");
    if (!arena)
      return function.emitError("is not planned: attn-plan-memory has not run");
    FailureOr<EntryCalls> code = followViews(function, symbols);
    if (failed(code))
      return failure();
    FailureOr<std::vector<SizeBound>> bounds = findBounds(code->calls, symbols);
    if (failed(bounds))
      return failure();
    planned.entries.push_back(
        {function.getName().str(), function, arena, std::move(*code), std::move(*bounds)});
  }
  for (attn::KernelOp kernel : module.getOps<attn::KernelOp>())
    planned.kernels.push_back(kernel.getSymName().str());
  return planned;
}

} // namespace attnc
