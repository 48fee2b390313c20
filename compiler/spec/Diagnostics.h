//===- Diagnostics.h - errors about a spec ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collects errors with their places and prints them with the offending line and a caret.

#ifndef ATTNC_SPEC_DIAGNOSTICS_H
#define ATTNC_SPEC_DIAGNOSTICS_H

#include "compiler/spec/Located.h"

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

enum class Severity { Error, Warning, Remark, Note };

struct Diagnostic {
  Severity severity;
  std::string file; // empty: the spec itself
  Location where;
  std::string message;
};

/// The errors of one spec. Not for use by several threads at once.
class Diagnostics {
public:
  /// Sets the spec's name and text, which `print` quotes.
  void setSource(std::string file, std::string text);

  void report(Severity severity, Location where, std::string message);
  void report(Diagnostic diagnostic);
  void error(Location where, std::string message) { report(Severity::Error, where, std::move(message)); }

  /// Adds to the diagnostic before it.
  void note(Location where, std::string message) { report(Severity::Note, where, std::move(message)); }

  bool hasErrors() const { return errorCount != 0; }

  /// Whether more diagnostics would only be counted: a file of nothing but mistakes is not worth more lines.
  bool isFull() const { return diagnostics.size() >= maxDiagnostics; }
  const std::vector<Diagnostic> &all() const { return diagnostics; }
  const std::string &file() const { return sourceFile; }

  /// Whether the source has `text` at this place.
  bool hasTextAt(Location where, std::string_view text) const;

  /// Prints everything in the order of the file, each with its line and a caret; notes follow what they add
  /// to.
  void print(std::ostream &out) const;

private:
  static constexpr size_t maxDiagnostics = 100;
  void printOne(std::ostream &out, const Diagnostic &diagnostic) const;

  std::string sourceFile;
  std::string sourceText;
  std::vector<Diagnostic> diagnostics;
  unsigned errorCount = 0;
};

} // namespace attnc

#endif // ATTNC_SPEC_DIAGNOSTICS_H
