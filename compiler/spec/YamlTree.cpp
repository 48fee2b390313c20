//===- YamlTree.cpp - a YAML text as a tree with places --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the tree from yaml-cpp's events. The parser recurses in step with the events, so the depth limit
// here bounds its stack too.

#include "compiler/spec/YamlTree.h"
#include "compiler/spec/Words.h"

#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

#include <sstream>
#include <unordered_map>

namespace attnc {

// A spec's own depth is 5; a literal matrix adds 2.
static constexpr size_t maxDepth = 32;
static constexpr size_t maxNodes = 4'000'000;

const YamlEntry *YamlNode::findEntry(std::string_view key) const {
  for (const YamlEntry &entry : entries)
    if (entry.key == key)
      return &entry;
  return nullptr;
}

const YamlNode *YamlNode::find(std::string_view key) const {
  const YamlEntry *entry = findEntry(key);
  return entry ? &entry->value : nullptr;
}

std::string YamlNode::describe() const {
  switch (kind) {
  case Kind::Null:
    return "nothing";
  case Kind::Scalar:
    return quoted ? "the text " + quote(text) : quote(text);
  case Kind::List:
    return items.empty() ? "an empty list" : "a list of " + std::to_string(items.size());
  case Kind::Mapping:
    return "a mapping";
  }
  return {};
}

static std::string tooDeep() {
  return "lists and mappings are nested deeper than " + std::to_string(maxDepth);
}

static Location locationOf(const YAML::Mark &mark) {
  if (mark.is_null())
    return {};
  return {static_cast<unsigned>(mark.line) + 1, static_cast<unsigned>(mark.column) + 1};
}

namespace {

/// Thrown through yaml-cpp to end parsing; it never leaves this file.
struct StopParsing {
  Location where;
  std::string message;
  bool isKey = false; // a list or mapping stands where a key is needed
};

class TreeBuilder : public YAML::EventHandler {
public:
  explicit TreeBuilder(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  YamlNode root;

  void OnDocumentStart(const YAML::Mark &mark) override {
    if (documents++)
      throw StopParsing{locationOf(mark), "the file is one YAML document; a second one starts here"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    place(makeNode(YamlNode::Kind::Null, mark, "", anchor));
  }

  void OnAlias(const YAML::Mark &mark, YAML::anchor_t) override {
    throw StopParsing{locationOf(mark), "aliases ('*') are not supported"};
  }

  void OnScalar(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor,
                const std::string &value) override {
    YamlNode node = makeNode(YamlNode::Kind::Scalar, mark, tag, anchor);
    node.text = value;
    node.quoted = tag == "!";
    place(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(makeNode(YamlNode::Kind::List, mark, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(makeNode(YamlNode::Kind::Mapping, mark, tag, anchor));
  }
  void OnMapEnd() override { close(); }

private:
  /// A list or mapping that is still open, and the key whose value comes next.
  struct Frame {
    YamlNode node;
    std::optional<YamlEntry> pending;
    std::unordered_map<std::string, Location> keys;
  };

  YamlNode makeNode(YamlNode::Kind kind, const YAML::Mark &mark, const std::string &tag,
                    YAML::anchor_t anchor) {
    YamlNode node;
    node.kind = kind;
    node.where = locationOf(mark);
    if (!node.where.line)
      node.where = lastPlace;
    lastPlace = node.where;
    if (anchor)
      throw StopParsing{node.where, "anchors ('&') are not supported"};
    if (!tag.empty() && tag != "?" && tag != "!")
      throw StopParsing{node.where, "tags are not supported, found " + quote(tag)};
    if (++nodes > maxNodes)
      throw StopParsing{node.where, "the file has more than " + std::to_string(maxNodes) + " values"};
    return node;
  }

  void open(YamlNode node) {
    if (stack.size() == maxDepth)
      throw StopParsing{node.where, tooDeep()};
    if (!stack.empty() && stack.back().node.isMapping() && !stack.back().pending)
      throw StopParsing{node.where,
                        std::string("a key must be a word of up to 1,024 characters, found ") +
                            (node.isList() ? "a list" : "a mapping"),
                        true};
    stack.push_back({std::move(node), {}, {}});
  }

  void close() {
    YamlNode node = std::move(stack.back().node);
    stack.pop_back();
    place(std::move(node));
  }

  void place(YamlNode node) {
    if (stack.empty()) {
      root = std::move(node);
      return;
    }
    Frame &frame = stack.back();
    if (frame.node.isList())
      frame.node.items.push_back(std::move(node));
    else if (!frame.pending)
      startEntry(frame, std::move(node));
    else
      finishEntry(frame, std::move(node));
  }

  void startEntry(Frame &frame, YamlNode key) {
    if (!key.isScalar())
      throw StopParsing{key.where, "a key must be a word of up to 1,024 characters, found " + key.describe()};
    frame.pending = YamlEntry{std::move(key.text), key.where, {}};
  }

  /// Of a key given twice the first value stays, so that the rest can still be checked.
  void finishEntry(Frame &frame, YamlNode value) {
    YamlEntry entry = std::move(*frame.pending);
    frame.pending.reset();
    auto [known, isNew] = frame.keys.try_emplace(entry.key, entry.where);
    if (!isNew) {
      diagnostics.error(entry.where, quote(entry.key) + " is given twice");
      diagnostics.note(known->second, "it is given here first");
      return;
    }
    if (value.isNull()) // yaml-cpp places a missing value at the line after
      value.where = entry.where;
    entry.value = std::move(value);
    frame.node.entries.push_back(std::move(entry));
  }

  Diagnostics &diagnostics;
  std::vector<Frame> stack;
  Location lastPlace{1, 1};
  size_t nodes = 0;
  unsigned documents = 0;
};

} // namespace

/// Finds bytes that no YAML text has. yaml-cpp would guess at other encodings.
static bool isText(const std::string &text, Diagnostics &diagnostics) {
  Location where{1, 1};
  for (size_t i = 0; i < text.size();) {
    unsigned char c = text[i];
    size_t length = utf8Length(std::string_view(text).substr(i, 4));
    bool isControl = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    if (length == 0 || isControl) {
      const std::string what =
          length == 0 ? "this is not UTF-8 text" : "the file cannot hold control characters";
      diagnostics.error(where, what + ": byte " + std::to_string(c) + (c == 0 ? " (NUL)" : "") +
                                   " at offset " + std::to_string(i));
      return false;
    }
    where = c == '\n' ? Location{where.line + 1, 1} : Location{where.line, where.column + unsigned(length)};
    i += length;
  }
  return true;
}

/// What is wrong with the bracket at `where`, or nothing where it is closed: yaml-cpp takes one that is never
/// closed for a key.
static std::string describeUnclosed(std::string_view text, Location where) {
  Location here{1, 1};
  size_t depth = 0;
  char opened = 0, quoted = 0;
  for (char c : text) {
    const bool isBefore = std::pair(here.line, here.column) < std::pair(where.line, where.column);
    here = c == '\n' ? Location{here.line + 1, 1} : Location{here.line, here.column + 1};
    if (isBefore)
      continue;
    if (quoted) {
      quoted = c == quoted ? 0 : quoted;
    } else if (c == '"') {
      quoted = c;
    } else if (c == '[' || c == '{') {
      opened = depth == 0 ? c : opened;
      if (++depth > maxDepth)
        return tooDeep();
    } else if ((c == ']' || c == '}') && (depth == 0 || --depth == 0)) {
      return {};
    }
  }
  return depth == 0 ? "" : quote(std::string_view(&opened, 1)) + " is never closed";
}

std::optional<YamlNode> parseYaml(const std::string &text, Diagnostics &diagnostics) {
  if (text.size() > maxSpecBytes) {
    diagnostics.error({}, "the file has more than " + std::to_string(maxSpecBytes) + " bytes");
    return std::nullopt;
  }
  if (!isText(text, diagnostics))
    return std::nullopt;
  TreeBuilder builder(diagnostics);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const StopParsing &stop) {
    const std::string unclosed = stop.isKey ? describeUnclosed(text, stop.where) : "";
    diagnostics.error(stop.where, unclosed.empty() ? stop.message : unclosed);
    return std::nullopt;
  } catch (const YAML::Exception &exception) {
    diagnostics.error(locationOf(exception.mark), "this is not YAML: " + exception.msg);
    return std::nullopt;
  }
  if (builder.root.isNull()) {
    diagnostics.error({1, 1}, "the file is empty");
    return std::nullopt;
  }
  if (!builder.root.isMapping()) {
    diagnostics.error(builder.root.where, "the file is a mapping, found " + builder.root.describe());
    return std::nullopt;
  }
  return std::move(builder.root);
}

} // namespace attnc
