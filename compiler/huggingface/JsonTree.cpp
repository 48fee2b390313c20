//===- JsonTree.cpp - a JSON text as a tree with places --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// nlohmann's parser checks the text and reports values; a scanner follows it through the text, because the
// parser tells no places. Neither recurses.

#include "compiler/huggingface/JsonTree.h"
#include "compiler/spec/Words.h"

#include "nlohmann/json.hpp"

#include <unordered_map>

namespace attnc {

namespace {

class JsonTreeBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
  JsonTreeBuilder(std::string_view text, Diagnostics &diagnostics) : text(text), diagnostics(diagnostics) {}

  YamlNode root;

  bool null() override { return place(nextToken(YamlNode::Kind::Null)); }
  bool boolean(bool) override { return placeScalar(); }
  bool number_integer(number_integer_t) override { return placeScalar(); }
  bool number_unsigned(number_unsigned_t) override { return placeScalar(); }
  bool number_float(number_float_t, const string_t &) override { return placeScalar(); }
  bool binary(binary_t &) override { return false; } // JSON text has none
  bool string(string_t &value) override {
    YamlNode node = nextToken(YamlNode::Kind::Scalar);
    node.text = value;
    node.quoted = true;
    return place(std::move(node));
  }
  bool start_object(size_t) override { return open(YamlNode::Kind::Mapping); }
  bool start_array(size_t) override { return open(YamlNode::Kind::List); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &key) override {
    Frame &frame = stack.back();
    frame.key = {key, nextToken(YamlNode::Kind::Scalar).where, {}};
    const auto [known, isNew] = frame.places.try_emplace(key, frame.key.where);
    if (!isNew) {
      diagnostics.error(frame.key.where, quote(key) + " is given twice");
      diagnostics.note(known->second, "it is given here first");
    }
    return true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) override {
    position = std::min(position ? position - 1 : 0, text.size());
    while (at < position)
      step();
    return fail(here, "this is not JSON from here on");
  }

private:
  static constexpr size_t maxDepth = 32;

  struct Frame {
    YamlNode node;
    YamlEntry key;                                    // of the value that comes next
    std::unordered_map<std::string, Location> places; // of its keys
  };

  bool fail(Location where, std::string message) {
    diagnostics.error(where, std::move(message));
    return false;
  }
  void step() {
    here = text[at] == '\n' ? Location{here.line + 1, 1} : Location{here.line, here.column + 1};
    ++at;
  }
  bool isOneOf(std::string_view set) const {
    return at < text.size() && set.find(text[at]) != std::string_view::npos;
  }
  /// Moves past the next token, which the parser has found to be right.
  YamlNode nextToken(YamlNode::Kind kind) {
    while (isOneOf(" \t\r\n,:"))
      step();
    YamlNode node;
    node.kind = kind;
    node.where = here;
    size_t begin = at;
    if (isOneOf("\"")) {
      for (step(); at < text.size() && text[at] != '"'; step())
        if (text[at] == '\\')
          step();
      step();
    } else if (isOneOf("[]{}")) {
      step();
    } else {
      while (at < text.size() && !isOneOf(" \t\r\n,:[]{}"))
        step();
    }
    node.text = text.substr(begin, at - begin);
    return node;
  }
  bool placeScalar() { return place(nextToken(YamlNode::Kind::Scalar)); }
  bool open(YamlNode::Kind kind) {
    YamlNode node = nextToken(kind);
    if (stack.size() == maxDepth)
      return fail(node.where, "lists and objects are nested deeper than " + std::to_string(maxDepth));
    stack.push_back({std::move(node), {}, {}});
    return true;
  }
  bool close() {
    nextToken(YamlNode::Kind::Null); // the bracket
    YamlNode node = std::move(stack.back().node);
    stack.pop_back();
    return place(std::move(node));
  }
  bool place(YamlNode node) {
    if (stack.empty()) {
      root = std::move(node);
      return true;
    }
    Frame &frame = stack.back();
    if (frame.node.isList()) {
      frame.node.items.push_back(std::move(node));
      return true;
    }
    frame.key.value = std::move(node);
    frame.node.entries.push_back(std::move(frame.key));
    return true;
  }

  std::string_view text;
  Diagnostics &diagnostics;
  size_t at = 0;
  Location here{1, 1};
  std::vector<Frame> stack;
};

} // namespace

std::optional<YamlNode> parseJsonObject(const std::string &text, Diagnostics &diagnostics) {
  if (text.size() > maxSpecBytes) {
    diagnostics.error({}, "the file has more than " + std::to_string(maxSpecBytes) + " bytes");
    return std::nullopt;
  }
  JsonTreeBuilder builder(text, diagnostics);
  if (!nlohmann::json::sax_parse(text, &builder))
    return std::nullopt;
  if (!builder.root.isMapping()) {
    diagnostics.error(builder.root.where, "an object is needed, found " + builder.root.describe());
    return std::nullopt;
  }
  return std::move(builder.root);
}

} // namespace attnc
