//===- PrintSpec.cpp - phase `spec` as text --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/PrintSpec.h"

#include <ostream>
#include <sstream>

namespace attnc {
namespace {

std::string wordOf(ModelKind) { return "encoder_decoder"; }
std::string wordOf(Activation kind) {
  static const char *const words[] = {"relu", "gelu", "gelu_tanh", "silu"};
  return words[int(kind)];
}
std::string wordOf(NormKind kind) { return kind == NormKind::Layer ? "layer" : "rms"; }
std::string wordOf(NormPlace place) { return place == NormPlace::Pre ? "pre" : "post"; }
std::string wordOf(PositionKind kind) {
  static const char *const words[] = {"none", "sinusoidal", "learned"};
  return words[int(kind)];
}
std::string wordOf(SinusoidLayout layout) {
  return layout == SinusoidLayout::Interleaved ? "interleaved" : "concatenated";
}
std::string wordOf(Tied tied) {
  static const char *const words[] = {"none", "target_output", "source_target", "all"};
  return words[int(tied)];
}
std::string wordOf(TokenizerKind kind) {
  static const char *const words[] = {"ids", "sentencepiece", "vocabulary", "characters"};
  return words[int(kind)];
}
std::string wordOf(EarlyStopping rule) {
  static const char *const words[] = {"true", "false", "never"};
  return words[int(rule)];
}
std::string wordOf(ElementKind kind) { return kind == ElementKind::F32 ? "f32" : "i32"; }
std::string wordOf(GraphOpKind kind) {
  static const char *const words[] = {"linear",        "matmul",      "scale",      "add",
                                      "mul",           "activation",  "layer_norm", "rms_norm",
                                      "split_heads",   "merge_heads", "slice",      "causal_mask",
                                      "padding_mask",  "softmax",     "mean_heads", "embed",
                                      "add_positions", "log_softmax", "pick",       "take"};
  return words[int(kind)];
}
std::string wordOf(PointwiseKind kind) {
  static const char *const words[] = {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"};
  return words[int(kind)];
}
std::string wordOf(bool value) { return value ? "true" : "false"; }
std::string wordOf(int64_t value) { return std::to_string(value); }
std::string wordOf(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
std::string wordOf(const std::string &value) { return "'" + value + "'"; }
template <typename T> std::string wordOf(const std::optional<T> &value) {
  return value ? wordOf(*value) : "null";
}

/// Writes indented keys.
class Printer {
public:
  explicit Printer(std::ostream &out) : out(out) {}

  /// `key: value  # line 3`, the place where the file gives it.
  template <typename T> void field(const char *key, const Located<T> &value) {
    indent() << key << ": " << wordOf(*value);
    if (value.given)
      out << "  # line " << value.where.line;
    out << "\n";
  }
  template <typename Body> void mapping(const std::string &key, Body body) {
    indent() << key << ":\n";
    ++depth;
    body();
    --depth;
  }
  std::ostream &indent() { return out << std::string(2 * depth, ' '); }

private:
  std::ostream &out;
  int depth = 0;
};

void printTokenizer(Printer &print, const char *key, const TokenizerSpec &tokenizer) {
  print.mapping(key, [&] {
    print.field("kind", tokenizer.kind);
    if (!tokenizer.file->empty())
      print.field("file", tokenizer.file);
  });
}

void printNetwork(Printer &print, const ModelSpec &model) {
  print.field("kind", model.kind);
  print.field("width", model.width);
  print.field("heads", model.heads);
  print.field("attention_scale", model.attentionScale);
  print.mapping("encoder", [&] { print.field("layers", model.encoder.layers); });
  print.mapping("decoder", [&] { print.field("layers", model.decoder.layers); });
  print.mapping("feed_forward", [&] {
    print.field("width", model.feedForward.width);
    print.field("activation", model.feedForward.activation);
  });
  print.mapping("norm", [&] {
    print.field("kind", model.norm.kind);
    print.field("place", model.norm.place);
    print.field("epsilon", model.norm.epsilon);
    print.field("final", model.norm.final);
    print.field("embedding", model.norm.embedding);
  });
  print.mapping("biases", [&] {
    print.field("attention", model.biases.attention);
    print.field("feed_forward", model.biases.feedForward);
    print.field("norm", model.biases.norm);
    print.field("output", model.biases.output);
  });
  print.mapping("positions", [&] {
    const PositionsSpec &positions = model.positions;
    print.field("kind", positions.kind);
    if (*positions.kind == PositionKind::None)
      return;
    if (*positions.kind == PositionKind::Sinusoidal) {
      print.field("layout", positions.layout);
      print.field("inclusive", positions.inclusive);
    }
    print.field("start", positions.start);
    print.field("max_length", positions.maxLength);
  });
  print.mapping("embedding", [&] {
    print.field("scale", model.embedding.scale);
    print.field("tied", model.embedding.tied);
  });
}

void printText(Printer &print, const ModelSpec &model) {
  print.mapping("vocabulary", [&] {
    print.field("source", model.vocabulary.source);
    print.field("target", model.vocabulary.target);
  });
  print.mapping("tokens", [&] {
    print.field("start", model.tokens.start);
    print.field("end", model.tokens.end);
    print.field("pad", model.tokens.pad);
    print.field("unknown", model.tokens.unknown);
    print.field("source_unknown", model.tokens.sourceUnknown);
    print.field("source_start", model.tokens.sourceStart);
    print.field("source_end", model.tokens.sourceEnd);
  });
  print.mapping("tokenizer", [&] {
    printTokenizer(print, "source", model.sourceTokenizer);
    printTokenizer(print, "target", model.targetTokenizer);
  });
  print.mapping("decoding", [&] {
    print.field("beam", model.decoding.beam);
    print.field("length_penalty", model.decoding.lengthPenalty);
    print.field("min_length", model.decoding.minLength);
    print.field("max_length", model.decoding.maxLength);
    print.field("early_stopping", model.decoding.earlyStopping);
  });
}

std::string listOf(const std::vector<Located<std::string>> &names) {
  std::string list;
  for (const Located<std::string> &name : names)
    list += (list.empty() ? "" : ", ") + *name;
  return "[" + list + "]";
}

/// `scores: {scale: [products], by: 0.5}`
void printOp(std::ostream &out, const GraphOp &op) {
  out << *op.name << ": {" << wordOf(*op.kind) << ": " << listOf(op.operands);
  auto option = [&](const char *key, const auto &value) {
    if (value.given)
      out << ", " << key << ": " << wordOf(*value);
  };
  option("transposed", op.transposed);
  option("by", op.by);
  option("with", op.with);
  option("epsilon", op.epsilon);
  option("heads", op.heads);
  option("at", op.at);
  option("width", op.width);
  option("offset", op.offset);
  out << "}  # line " << op.name.where.line << "\n";
}

std::string shapeOf(const GraphInput &input) {
  std::string shape;
  for (const GraphAxis &axis : input.shape)
    shape +=
        (shape.empty() ? "" : ", ") + *axis.name + (axis.extent ? ": " + std::to_string(*axis.extent) : "");
  return "[" + shape + "]";
}

std::string shapeOf(const GraphWeight &weight) {
  std::string shape;
  for (int64_t extent : weight.shape)
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + shape + "]";
}

void printGraph(Printer &print, const GraphSpec &graph) {
  print.field("name", graph.name);
  print.mapping("inputs", [&] {
    for (const GraphInput &input : graph.inputs)
      print.indent() << *input.name << ": {type: " << wordOf(*input.type) << ", shape: " << shapeOf(input)
                     << "}\n";
  });
  print.mapping("weights", [&] {
    for (const GraphWeight &weight : graph.weights)
      print.indent() << *weight.name << ": {shape: " << shapeOf(weight) << "}\n";
  });
  print.mapping("ops", [&] {
    for (const GraphOp &op : graph.ops)
      printOp(print.indent(), op);
  });
  print.indent() << "outputs: " << listOf(graph.outputs) << "\n";
}

} // namespace

void printSpec(const Spec &spec, std::ostream &out) {
  Printer print(out);
  if (!spec.name->empty())
    print.field("name", spec.name);
  if (spec.model)
    print.mapping("model", [&] {
      printNetwork(print, *spec.model);
      printText(print, *spec.model);
    });
  for (const GraphSpec &graph : spec.graphs)
    print.mapping("graph", [&] { printGraph(print, graph); });
}

} // namespace attnc
