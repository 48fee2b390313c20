//===- PrintSpec.cpp - spec to YAML ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Words come from the table of keys, so that what is printed is what is read.

#include "compiler/spec/PrintSpec.h"
#include "compiler/spec/Keys.h"
#include "compiler/spec/ReadGraph.h"
#include "compiler/spec/WeightNames.h"

#include <charconv>
#include <cmath>
#include <ostream>

namespace attnc {

/// The text in double quotes.
static std::string escaped(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    constexpr std::string_view digits = "0123456789abcdef";
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += std::string("\\x") + digits[c >> 4] + digits[c & 15];
    else
      result += c;
  }
  return result + "\"";
}

/// The shortest text that reads back as `value`.
template <typename T> static std::string numberText(T value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

static std::string textOrNull(const std::string &text) { return text.empty() ? "null" : escaped(text); }
static std::string valueText(const std::string &value) { return escaped(value); }
static std::string valueText(bool value) { return value ? "true" : "false"; }
static std::string valueText(int64_t value) { return std::to_string(value); }
static std::string valueText(double value) { return numberText(value); }
template <typename T> static std::string valueText(const std::optional<T> &value) {
  return value ? valueText(*value) : "null";
}
template <typename T> static std::string valueText(const std::vector<T> &values) {
  std::string text;
  for (const T &value : values)
    text += (text.empty() ? "" : ", ") + valueText(value);
  return "[" + text + "]";
}

namespace {

class SpecPrinter {
public:
  SpecPrinter(const Spec &spec, std::ostream &out) : spec(spec), out(out) {}

  void print();

private:
  /// Opens a mapping whose keys are looked up under `newPath`.
  void open(std::string_view key, std::string newPath) {
    line(key, "");
    path = std::move(newPath);
    indent += 2;
  }
  void close() {
    indent -= 2;
    path = path.substr(0, std::min(path.rfind('.'), path.size()));
  }
  void line(std::string_view key, const std::string &value) {
    out << std::string(indent, ' ') << key << (value.empty() ? ":" : ": ") << value << '\n';
  }
  /// A key with its value, and the line where the file gives it.
  template <typename T> void field(std::string_view key, const Located<T> &value) {
    place(key, valueText(*value), value.given ? value.where.line : 0);
  }
  template <typename Enum> std::string wordText(std::string_view key, Enum value) {
    return wordsOf(keyRule(path, key).allowed)[size_t(value)];
  }
  template <typename Enum> void word(std::string_view key, const Located<Enum> &value) {
    place(key, wordText(key, *value), value.given ? value.where.line : 0);
  }
  void place(std::string_view key, const std::string &value, unsigned lineNumber) {
    line(key, lineNumber ? value + " # line " + std::to_string(lineNumber) : value);
  }

  void printTypes();
  void printWeights();
  void printModel(const ModelSpec &model);
  void printShape(const ModelSpec &model);
  void printSide(std::string_view key, const SideSpec &side);
  void printBlocks(const ModelSpec &model);
  void printBiases(const ModelSpec &model);
  void printCells(const ModelSpec &model);
  void printAttention(const RecurrentAttentionSpec &attention);
  void printPositions(const PositionsSpec &positions);
  void printTokens(const ModelSpec &model);
  void printTokenizer(const TokenizerSpec &tokenizer);
  void printTokenizers(const ModelSpec &model);
  void printDecoding(const DecodingSpec &decoding);
  void printGraph(const GraphSpec &graph);
  std::string inputText(const GraphInput &input);
  std::string weightText(const GraphWeight &weight);
  std::string opText(const GraphOp &op);

  const Spec &spec;
  std::ostream &out;
  std::string path;
  size_t indent = 0;
};

} // namespace

void SpecPrinter::printTypes() {
  const TypesSpec &types = spec.types;
  if (*types.fallback == WeightType::F32 && *types.attention == AttentionType::Auto && types.layers.empty())
    return;
  open("types", "types");
  word("default", types.fallback);
  word("attention", types.attention);
  if (!types.layers.empty()) {
    open("layers", "types.layers");
    for (const TypeException &layer : types.layers)
      place(escaped(*layer.pattern), wordsOf(keyRule("types", "default").allowed)[size_t(*layer.type)],
            layer.pattern.where.line);
    close();
  }
  close();
}

void SpecPrinter::printWeights() {
  open("weights", "weights");
  if (spec.weights.kind == WeightSourceKind::File)
    line("file", escaped(spec.weights.file));
  if (spec.weights.kind == WeightSourceKind::Random)
    line("random", std::to_string(spec.weights.seed));
  field("transposed", spec.weights.transposed);
  if (spec.weights.gates.given)
    field("gates", spec.weights.gates);
  if (spec.model) {
    open("names", "weights.names");
    for (size_t role = 0; role < weightRoleCount; ++role)
      place(roleKey(WeightRole(role)), escaped(*spec.weights.names[role]),
            spec.weights.names[role].given ? spec.weights.names[role].where.line : 0);
    close();
  }
  close();
}

void SpecPrinter::printSide(std::string_view key, const SideSpec &side) {
  open(key, "model." + std::string(key));
  field("layers", side.layers);
  field("heads", side.heads);
  field("feed_forward_width", side.feedForwardWidth);
  field("window", side.window);
  place("score", textOrNull(*side.score), side.score.given ? side.score.where.line : 0);
  if (key == "decoder" && hasEncoder(*spec.model))
    place("cross_score", textOrNull(*spec.model->decoder.crossScore),
          spec.model->decoder.crossScore.given ? spec.model->decoder.crossScore.where.line : 0);
  if (key == "encoder" && !hasDecoder(*spec.model)) {
    field("token_types", spec.model->encoder.tokenTypes);
    field("pooler", spec.model->encoder.pooler);
    word("masked_token_head", spec.model->encoder.maskedTokenHead);
  }
  close();
}

void SpecPrinter::printBlocks(const ModelSpec &model) {
  field("heads", model.heads);
  field("key_heads", model.keyHeads);
  field("head_width", model.headWidth);
  field("attention_scale", model.attentionScale);
  if (hasEncoder(model))
    printSide("encoder", model.encoder);
  if (hasDecoder(model))
    printSide("decoder", model.decoder);
  open("feed_forward", "model.feed_forward");
  field("width", model.feedForward.width);
  word("activation", model.feedForward.activation);
  field("gated", model.feedForward.gated);
  close();
  open("norm", "model.norm");
  word("kind", model.norm.kind);
  word("place", model.norm.place);
  field("epsilon", model.norm.epsilon);
  field("final", model.norm.final);
  field("embedding", model.norm.embedding);
  close();
  printPositions(model.positions);
}

void SpecPrinter::printAttention(const RecurrentAttentionSpec &attention) {
  open("attention", "model.decoder.attention");
  word("score", attention.score);
  word("place", attention.place);
  if (*attention.place == AttentionPlace::After)
    field("input_feeding", attention.inputFeeding);
  if (*attention.score == AttentionScore::Additive)
    field("width", attention.width);
  close();
}

void SpecPrinter::printCells(const ModelSpec &model) {
  const RecurrentSpec &recurrent = model.recurrent;
  word("cell", recurrent.cell);
  if (*recurrent.cell == Cell::Gru)
    word("reset", recurrent.reset);
  if (recurrent.attention)
    field("attention_scale", model.attentionScale);
  open("encoder", "model.encoder");
  field("layers", model.encoder.layers);
  field("width", recurrent.encoderWidth);
  field("bidirectional", recurrent.bidirectional);
  close();
  open("decoder", "model.decoder");
  field("layers", model.decoder.layers);
  field("width", recurrent.decoderWidth);
  if (recurrent.attention)
    printAttention(*recurrent.attention);
  close();
  open("bridge", "model.bridge");
  word("kind", recurrent.bridge.kind);
  if (*recurrent.bidirectional && *recurrent.bridge.kind != BridgeKind::Zeros)
    word("direction", recurrent.bridge.direction);
  close();
}

void SpecPrinter::printBiases(const ModelSpec &model) {
  open("biases", "model.biases");
  field("attention", model.biases.attention);
  if (isRecurrent(model)) {
    word("cell", model.recurrent.biases);
  } else {
    field("feed_forward", model.biases.feedForward);
    field("norm", model.biases.norm);
  }
  field("output", model.biases.output);
  close();
}

void SpecPrinter::printShape(const ModelSpec &model) {
  word("kind", model.kind);
  field("width", model.width);
  isRecurrent(model) ? printCells(model) : printBlocks(model);
  printBiases(model);
}

void SpecPrinter::printPositions(const PositionsSpec &positions) {
  open("positions", "model.positions");
  word("kind", positions.kind);
  bool isSinusoidal = *positions.kind == PositionKind::Sinusoidal,
       isRotary = *positions.kind == PositionKind::Rotary;
  if (isSinusoidal || isRotary)
    word("layout", positions.layout);
  if (isSinusoidal)
    field("inclusive", positions.inclusive);
  if (isSinusoidal || *positions.kind == PositionKind::Learned)
    field("start", positions.start);
  if (limitsLength(*positions.kind))
    field("max_length", positions.maxLength);
  if (isSinusoidal || isRotary)
    field("base", positions.base);
  if (isRotary)
    field("rotated_width", positions.rotatedWidth);
  if (*positions.kind == PositionKind::Relative) {
    field("buckets", positions.buckets);
    field("max_distance", positions.maxDistance);
  }
  close();
}

void SpecPrinter::printTokens(const ModelSpec &model) {
  open("vocabulary", "model.vocabulary");
  if (hasEncoder(model))
    field("source", model.vocabulary.source);
  if (hasDecoder(model))
    field("target", model.vocabulary.target);
  close();
  open("tokens", "model.tokens");
  if (hasDecoder(model)) {
    field("start", model.tokens.start);
    field("end", model.tokens.ends);
  }
  field("pad", model.tokens.pad);
  field("unknown", model.tokens.unknown);
  if (hasMaskedTokenHead(model))
    field("mask", model.tokens.mask);
  if (hasEncoder(model)) {
    field("source_unknown", model.tokens.sourceUnknown);
    field("source_start", model.tokens.sourceStart);
    field("source_end", model.tokens.sourceEnd);
  }
  if (!model.tokens.languages.empty()) {
    open("languages", "model.tokens.languages");
    for (const LanguageSpec &language : model.tokens.languages)
      place(escaped(*language.code), std::to_string(*language.id), language.id.where.line);
    close();
  }
  close();
}

void SpecPrinter::printTokenizer(const TokenizerSpec &tokenizer) {
  word("kind", tokenizer.kind);
  if (*tokenizer.kind != TokenizerKind::Ids)
    place("file", escaped(spec.resolve(*tokenizer.file)), tokenizer.file.where.line);
  if (!tokenizer.vocabulary->empty())
    place("vocabulary", escaped(spec.resolve(*tokenizer.vocabulary)), tokenizer.vocabulary.where.line);
}

/// One for both sides where the model has one side only.
void SpecPrinter::printTokenizers(const ModelSpec &model) {
  open("tokenizer", "model.tokenizer");
  if (*model.kind != ModelKind::EncoderDecoder) {
    printTokenizer(model.sourceTokenizer);
  } else {
    open("source", "model.tokenizer.source");
    printTokenizer(model.sourceTokenizer);
    close();
    open("target", "model.tokenizer.target");
    printTokenizer(model.targetTokenizer);
    close();
  }
  close();
}

void SpecPrinter::printDecoding(const DecodingSpec &decoding) {
  open("decoding", "model.decoding");
  field("beam", decoding.beam);
  field("n_best", decoding.nBest);
  field("length_penalty", decoding.lengthPenalty);
  field("min_length", decoding.minLength);
  field("max_length", decoding.maxLength);
  word("early_stopping", decoding.earlyStopping);
  field("patience", decoding.patience);
  field("num_beam_groups", decoding.beamGroups);
  field("diversity_penalty", decoding.diversityPenalty);
  field("coverage_penalty", decoding.coveragePenalty);
  field("repetition_penalty", decoding.repetitionPenalty);
  field("no_repeat_ngram_size", decoding.ngramSize);
  field("suppress_tokens", decoding.suppressed);
  field("begin_suppress_tokens", decoding.beginSuppressed);
  field("bad_words_ids", decoding.badWords);
  field("forced_bos_token_id", decoding.forcedFirst);
  field("forced_eos_token_id", decoding.forcedLast);
  field("shortlist", decoding.shortlist);
  field("renormalize_logits", decoding.renormalizes);
  field("return_alternatives", decoding.alternatives);
  field("min_alternative_probability", decoding.minAlternativeProbability);
  field("do_sample", decoding.samples);
  field("temperature", decoding.temperature);
  field("top_k", decoding.topK);
  field("top_p", decoding.topP);
  field("min_p", decoding.minP);
  field("typical_p", decoding.typicalP);
  close();
}

void SpecPrinter::printModel(const ModelSpec &model) {
  open("model", "model");
  printShape(model);
  open("embedding", "model.embedding");
  if (isRecurrent(model))
    field("width", model.recurrent.embeddingWidth);
  field("scale", model.embedding.scale);
  word("tied", model.embedding.tied);
  close();
  if (hasDecoder(model)) {
    open("output", "model.output");
    if (isRecurrent(model)) {
      if (model.recurrent.attention)
        field("context", model.recurrent.readsContext);
      field("embedding", model.recurrent.readsEmbedding);
    } else {
      word("transform", model.output.transform);
      field("scale", model.output.scale);
    }
    close();
  }
  printTokens(model);
  printTokenizers(model);
  if (hasDecoder(model))
    printDecoding(model.decoding);
  close();
}

//===----------------------------------------------------------------------===//
// Graphs: one line for each input, weight and op
//===----------------------------------------------------------------------===//

std::string SpecPrinter::inputText(const GraphInput &input) {
  path = "graph.inputs.NAME";
  std::string text = "{type: " + wordText("type", *input.type) + ", shape: [";
  for (size_t axis = 0; axis < input.shape.size(); ++axis) {
    text += (axis ? ", " : "") + *input.shape[axis].name;
    if (input.shape[axis].extent)
      text += ": " + std::to_string(*input.shape[axis].extent);
  }
  return text + "]}";
}

std::string SpecPrinter::weightText(const GraphWeight &weight) {
  path = "graph.weights.NAME";
  if (weight.value.empty()) {
    std::string shape;
    for (int64_t extent : weight.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    if (*weight.sinusoid != GraphSinusoid::None)
      return "{shape: [" + shape + "], sinusoid: " + wordText("sinusoid", *weight.sinusoid) +
             ", base: " + valueText(*weight.base) + "}";
    return "{shape: [" + shape + "], tensor: " + escaped(*weight.tensor) +
           ", transposed: " + (*weight.transposed ? "true}" : "false}");
  }
  bool isMatrix = weight.shape.size() == 2;
  size_t columns = weight.shape.back();
  std::string text = isMatrix ? "{value: [[" : "{value: [";
  for (size_t i = 0; i < weight.value.size(); ++i) {
    text += i == 0 ? "" : i % columns ? ", " : "], [";
    text += numberText(weight.value[i]);
  }
  return text + (isMatrix ? "]]}" : "]}");
}

std::string SpecPrinter::opText(const GraphOp &op) {
  path = "graph.ops.NAME";
  std::string text = "{" + std::string(graphOpRules()[size_t(*op.kind)].key) + ": [";
  for (size_t i = 0; i < op.operands.size(); ++i)
    text += (i ? ", " : "") + *op.operands[i];
  text += "]";
  for (const std::string &key : wordsOf(graphOpRules()[size_t(*op.kind)].attributes)) {
    text += ", " + key + ": ";
    if (key == "transposed" || key == "interleaved")
      text += valueText(key == "transposed" ? *op.transposed : *op.interleaved);
    else if (key == "score" || key == "mask")
      text += textOrNull(key == "score" ? *op.score : *op.mask);
    else if (key == "before" || key == "after")
      text += valueText(key == "before" ? *op.before : *op.after);
    else if (key == "with")
      text += wordText(key, *op.with);
    else if (key == "by" || key == "epsilon")
      text += numberText(key == "by" ? *op.by : *op.epsilon);
    else
      text += std::to_string(*(key == "heads"   ? op.heads
                               : key == "at"    ? op.at
                               : key == "width" ? op.width
                                                : op.offset));
  }
  return text + "}";
}

void SpecPrinter::printGraph(const GraphSpec &graph) {
  line("  - name", *graph.name);
  indent = 4;
  open("inputs", "graph.inputs");
  for (const GraphInput &input : graph.inputs)
    line(*input.name, inputText(input));
  close();
  line("weights", graph.weights.empty() ? "{}" : "");
  indent += 2;
  for (const GraphWeight &weight : graph.weights)
    line(*weight.name, weightText(weight));
  indent -= 2;
  open("ops", "graph.ops");
  for (const GraphOp &op : graph.ops)
    line(*op.name, opText(op));
  close();
  std::string outputs;
  for (const Located<std::string> &output : graph.outputs)
    outputs += (outputs.empty() ? "" : ", ") + *output;
  line("outputs", "[" + outputs + "]");
  if (!graph.strides.empty())
    line("strides", "");
  indent += 2;
  for (const GraphStrides &strides : graph.strides) {
    std::string text;
    for (const GraphAxis &stride : strides.strides)
      text += (text.empty() ? "" : ", ") + *stride.name;
    line(*strides.tensor, "[" + text + "]");
  }
  indent = 0;
}

void SpecPrinter::print() {
  if (!spec.name->empty())
    line("name", *spec.name);
  printTypes();
  printWeights();
  if (spec.model)
    printModel(*spec.model);
  if (!spec.graphs.empty())
    out << "graph:\n";
  for (const GraphSpec &graph : spec.graphs)
    printGraph(graph);
}

void printSpec(const Spec &spec, std::ostream &out) { SpecPrinter(spec, out).print(); }

} // namespace attnc
