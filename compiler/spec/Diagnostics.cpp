//===- Diagnostics.cpp - errors about a spec -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorting, quoting and printing of diagnostics.

#include "compiler/spec/Diagnostics.h"

#include "compiler/spec/Words.h"

#include <algorithm>
#include <ostream>
#include <string_view>

namespace attnc {

void Diagnostics::setSource(std::string file, std::string text) {
  sourceFile = std::move(file);
  sourceText = std::move(text);
}

void Diagnostics::report(Severity severity, Location where, std::string message) {
  report({severity, {}, where, std::move(message)});
}

void Diagnostics::report(Diagnostic diagnostic) {
  errorCount += diagnostic.severity == Severity::Error;
  if (!isFull())
    diagnostics.push_back(std::move(diagnostic));
  else if (diagnostics.size() == maxDiagnostics)
    diagnostics.push_back({Severity::Error, {}, {}, "more follows, which is not shown"});
}

static std::string_view severityText(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  case Severity::Note:
    return "note";
  }
  return "";
}

/// The line counted from 1, without its end; empty past the last.
static std::string_view lineOf(std::string_view text, unsigned line) {
  for (unsigned i = 1; i < line; ++i) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

bool Diagnostics::hasTextAt(Location where, std::string_view text) const {
  std::string_view line = lineOf(sourceText, where.line);
  return where.line && where.column && where.column <= line.size() &&
         line.substr(where.column - 1).starts_with(text);
}

/// `text` without what a terminal might obey or cannot show: a hostile file is quoted, not played.
static std::string printable(std::string_view text) {
  std::string result(text);
  for (size_t i = 0, length; i < result.size(); i += std::max<size_t>(length, 1)) {
    char &c = result[i];
    length = utf8Length(std::string_view(result).substr(i));
    if (length == 0 || (c >= 0 && c < ' ' && c != '\t' && c != '\n') || c == 0x7f)
      c = '?';
  }
  return result;
}

/// Prints `line` and a caret under its byte `column`. A long line (a literal weight) is cut to what surrounds
/// it.
static void printLine(std::ostream &out, std::string_view line, unsigned column) {
  constexpr size_t shown = 120;
  size_t at = std::min<size_t>(column ? column - 1 : 0, line.size());
  size_t begin = at > shown / 2 && line.size() > shown ? at - shown / 2 : 0;
  auto continues = [&](size_t i) { return i < line.size() && (line[i] & 0xc0) == 0x80; };
  while (continues(begin))
    ++begin;
  size_t end = std::min(line.size(), begin + shown);
  while (continues(end))
    ++end;
  out << printable(line.substr(begin, end - begin)) << '\n';
  for (size_t i = begin; i < at; ++i)
    if (!continues(i))
      out << (line[i] == '\t' ? '\t' : ' ');
  out << "^\n";
}

void Diagnostics::printOne(std::ostream &out, const Diagnostic &diagnostic) const {
  out << (diagnostic.file.empty() ? sourceFile : diagnostic.file) << ':';
  if (diagnostic.where.line)
    out << diagnostic.where.line << ':' << diagnostic.where.column << ':';
  out << ' ' << severityText(diagnostic.severity) << ": " << printable(diagnostic.message) << '\n';
  bool isInSource = diagnostic.file.empty() || diagnostic.file == sourceFile;
  if (!diagnostic.where.line || !isInSource || diagnostic.severity == Severity::Note)
    return;
  if (std::string_view line = lineOf(sourceText, diagnostic.where.line); !line.empty())
    printLine(out, line, diagnostic.where.column);
}

void Diagnostics::print(std::ostream &out) const {
  // A group is a diagnostic and the notes after it.
  std::vector<size_t> groups;
  for (size_t i = 0; i < diagnostics.size(); ++i)
    if (i == 0 || diagnostics[i].severity != Severity::Note)
      groups.push_back(i);
  auto key = [&](size_t i) { return std::pair(diagnostics[i].where.line, diagnostics[i].where.column); };
  auto comesBefore = [&](size_t a, size_t b) {
    bool placed = diagnostics[a].where.line && diagnostics[b].where.line;
    return placed ? key(a) < key(b) : diagnostics[a].where.line > diagnostics[b].where.line;
  };
  std::stable_sort(groups.begin(), groups.end(), comesBefore);
  for (size_t group : groups) {
    printOne(out, diagnostics[group]);
    for (size_t i = group + 1; i < diagnostics.size() && diagnostics[i].severity == Severity::Note; ++i)
      printOne(out, diagnostics[i]);
  }
}

} // namespace attnc
