//===- SpecText.cpp - a spec as a person would write it --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/SpecText.h"
#include "compiler/spec/Keys.h"

#include <algorithm>
#include <cassert>
#include <charconv>

namespace attnc {

static size_t placeOf(std::string_view path) {
  auto rules = keyRules();
  auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const KeyRule &rule) { return rule.path == path; });
  assert(rule != rules.end() && "import writes a key that the reference lacks");
  return size_t(rule - rules.begin());
}

void SpecText::setAlways(std::string_view path, std::string value, std::string comment) {
  fields[placeOf(path)] = {std::move(value), std::move(comment)};
}

void SpecText::set(std::string_view path, std::string value, std::string comment) {
  if (keyRules()[placeOf(path)].fallback != value)
    setAlways(path, std::move(value), std::move(comment));
}

void SpecText::set(std::string_view path, int64_t value, std::string comment) {
  set(path, std::to_string(value), std::move(comment));
}

void SpecText::set(std::string_view path, double value, std::string comment) {
  char text[64];
  set(path, std::string(text, std::to_chars(text, text + sizeof text, value).ptr), std::move(comment));
}

void SpecText::set(std::string_view path, bool value, std::string comment) {
  set(path, std::string(value ? "true" : "false"), std::move(comment));
}

void SpecText::setText(std::string_view path, std::string_view value, std::string comment) {
  if (keyRules()[placeOf(path)].fallback == value)
    return;
  std::string quoted = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  setAlways(path, quoted + "\"", std::move(comment));
}

/// `model.norm.place` is `place` in the mapping `model.norm`.
static std::pair<std::string_view, std::string_view> splitPath(std::string_view path) {
  size_t dot = path.rfind('.');
  if (dot == std::string_view::npos)
    return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

/// Opens the mappings on the way to `folder` that are not open yet.
static void openMappings(std::string_view folder, std::vector<std::string_view> &open, std::string &text) {
  auto holds = [&](std::string_view outer) {
    return folder == outer || (folder.starts_with(outer) && folder[outer.size()] == '.');
  };
  while (!open.empty() && !holds(open.back()))
    open.pop_back();
  while (!folder.empty() && (open.empty() || open.back() != folder)) {
    size_t begin = open.empty() ? 0 : open.back().size() + 1;
    std::string_view next = folder.substr(0, std::min(folder.find('.', begin), folder.size()));
    text += std::string(2 * open.size(), ' ') + std::string(next.substr(begin)) + ":\n";
    open.push_back(next);
  }
}

std::string SpecText::print() const {
  std::string text;
  std::vector<std::string_view> open;
  for (const auto &[place, field] : fields) {
    auto [folder, key] = splitPath(keyRules()[place].path);
    openMappings(folder, open, text);
    text += std::string(2 * open.size(), ' ') + std::string(key) + ": " + field.value;
    text += field.comment.empty() ? "\n" : " # " + field.comment + "\n";
  }
  return text;
}

} // namespace attnc
