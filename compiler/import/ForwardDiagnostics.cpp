//===- ForwardDiagnostics.cpp - MLIR's errors among the spec's -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the file and line in whatever location an op has, and names the op as a spec does.

#include "compiler/import/ForwardDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace attnc {

static Severity severityOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return Severity::Error;
  case DiagnosticSeverity::Warning:
    return Severity::Warning;
  case DiagnosticSeverity::Remark:
    return Severity::Remark;
  case DiagnosticSeverity::Note:
    return Severity::Note;
  }
  return Severity::Error;
}

/// `'attn.linear' op TEXT`, as verifiers begin, in the words of a spec: `'linear': TEXT`.
static std::string inSpecWords(StringRef text) {
  StringRef rest = text;
  if (!rest.consume_front("'attn."))
    return text.str();
  auto [name, after] = rest.split("' op ");
  return after.empty() ? text.str() : ("'" + name + "': " + after).str();
}

static void forward(mlir::Diagnostic &found, Severity severity, Diagnostics &diagnostics) {
  attnc::Diagnostic result{severity, {}, {}, inSpecWords(found.str())};
  if (auto where = found.getLocation()->findInstanceOf<FileLineColLoc>()) {
    result.file = where.getFilename().str();
    result.where = {where.getLine(), where.getColumn()};
  }
  diagnostics.report(std::move(result));
}

ForwardDiagnostics::ForwardDiagnostics(MLIRContext &context, Diagnostics &diagnostics)
    : ScopedDiagnosticHandler(&context) {
  context.printOpOnDiagnostic(false);
  setHandler([&diagnostics](mlir::Diagnostic &found) {
    forward(found, severityOf(found.getSeverity()), diagnostics);
    for (mlir::Diagnostic &note : found.getNotes())
      forward(note, Severity::Note, diagnostics);
    return success();
  });
}

} // namespace attnc
