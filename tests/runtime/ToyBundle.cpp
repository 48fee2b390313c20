//===- ToyBundle.cpp - a hand-made bundle with made-up probabilities ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyBundle.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <unistd.h>

namespace toy {
namespace {

using Json = nlohmann::ordered_json;

// The sizes in the order of the manifest.
enum { Batch, Candidate, Capacity, First, History, Length, Part, Row, Slot, Source, Target };

/// Logits from a number: spread widely enough that searches differ, and never equal.
std::vector<float> spreadLogits(uint64_t seed) {
  std::vector<float> logits(targetVocabulary);
  for (int32_t v = 0; v < targetVocabulary; ++v)
    logits[v] = static_cast<float>(XXH3_64bits_withSeed(&v, sizeof v, seed) % 10007) / 10007 * 4;
  logits[pad] = logits[start] = -20; // as trained models have it
  return logits;
}

float logSumOf(const std::vector<float> &logits) {
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit));
  return static_cast<float>(std::log(sum));
}

/// Their log-probabilities.
std::vector<float> spread(uint64_t seed) {
  std::vector<float> result = spreadLogits(seed);
  const float logSum = logSumOf(result);
  for (float &value : result)
    value -= logSum;
  return result;
}

uint64_t hashIds(const int32_t *ids, size_t count) { return XXH3_64bits(ids, count * sizeof *ids); }

/// State: batch hashes of sources (in 64 bytes each), then slot x capacity ids.
struct State {
  explicit State(const attnrt_invocation &call)
      : sources(reinterpret_cast<uint64_t *>(call.state)),
        cache(reinterpret_cast<int32_t *>(call.state + 64 * call.sizes[Batch])),
        capacity(call.sizes[Capacity]) {}
  uint64_t &source(int64_t b) { return sources[8 * b]; }
  int32_t &cached(int64_t slot, int64_t position) { return cache[slot * capacity + position]; }

private:
  uint64_t *sources;
  int32_t *cache;
  int64_t capacity;
};

template <typename Element> Element *tensor(const attnrt_invocation &call, int index) {
  return static_cast<Element *>(call.tensors[index]);
}

int32_t encode(const attnrt_invocation *call) {
  State state(*call);
  const int32_t *ids = tensor<int32_t>(*call, 0), *lengths = tensor<int32_t>(*call, 1);
  for (int64_t b = 0; b < call->sizes[Part]; ++b)
    state.source(call->sizes[First] + b) = hashIds(ids + b * call->sizes[Length], lengths[b]);
  trace().encoded += call->sizes[Part] * call->sizes[Length];
  const int number = trace().encodes++;
  std::memset(call->arena, 0xa5,
              64 + 4 * call->sizes[Part] * call->sizes[Length]); // all of what was promised
  if (number == trace().failAtEncode) {
    call->context->report_error(call->context, "the toy was told to fail while it encodes");
    return 5;
  }
  return 0;
}

/// What a step's row knows: its source and its history, gathered through `ancestors`.
uint64_t rowHash(const attnrt_invocation &call, State &state, int64_t row) {
  const int32_t *positions = tensor<int32_t>(call, 1), *sources = tensor<int32_t>(call, 2);
  const int32_t *ancestors = tensor<int32_t>(call, 3) + row * call.sizes[Capacity];
  Ids history;
  for (int32_t k = 0; k <= positions[row]; ++k)
    history.push_back(state.cached(ancestors[k], k));
  return state.source(sources[row]) ^ hashIds(history.data(), history.size());
}

int failedTask(attnrt_kernel_context *context, int index, uint8_t *) {
  if (index == 2)
    context->report_error(context, "the toy was told to fail");
  return index == 2 ? 7 : 0;
}

int32_t beginStep(const attnrt_invocation &call) {
  State state(call);
  for (int64_t r = 0; r < call.sizes[Row]; ++r)
    state.cached(r, tensor<int32_t>(call, 1)[r]) = tensor<int32_t>(call, 0)[r];
  const int number = trace().steps++;
  trace().rows += call.sizes[Row];
  return number == trace().failAtStep ? call.context->parallel_for(call.context, failedTask, 0, 4, nullptr)
                                      : 0;
}

/// The `count` best tokens of a row.
void writeBest(const std::vector<float> &all, int64_t count, float *scores, int32_t *candidates) {
  std::vector<int32_t> order(targetVocabulary);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return all[a] != all[b] ? all[a] > all[b] : a < b; });
  for (int64_t c = 0; c < count; ++c) {
    const bool isListed = c < trace().listed;
    scores[c] = isListed ? all[order[c]] + trace().shift : -2e30f;
    candidates[c] = isListed ? order[c] : -1;
  }
}

/// One row of `step`, as a task of a parallel loop.
int stepRow(attnrt_kernel_context *, int row, uint8_t *closure) {
  const attnrt_invocation &call = **reinterpret_cast<const attnrt_invocation **>(closure);
  State state(call);
  const int64_t count = call.sizes[Candidate];
  writeBest(spread(rowHash(call, state, row)), count, tensor<float>(call, 5) + row * count,
            tensor<int32_t>(call, 6) + row * count);
  return 0;
}

int32_t step(const attnrt_invocation *call) {
  if (const int32_t code = beginStep(*call))
    return code;
  return call->context->parallel_for(call->context, stepRow, 0, static_cast<int>(call->sizes[Row]),
                                     reinterpret_cast<uint8_t *>(&call));
}

/// Without a source: `positions` are where prompts begin, 0; each is read into a slot of its own.
int32_t prefill(const attnrt_invocation *call) {
  State state(*call);
  const int64_t length = call->sizes[Length];
  for (int64_t b = 0; b < call->sizes[Part]; ++b)
    for (int64_t k = 0; k < length; ++k)
      state.cached(call->sizes[First] + b, tensor<int32_t>(*call, 1)[b] + k) =
          tensor<int32_t>(*call, 0)[b * length + k];
  return 0;
}

int32_t promptStep(const attnrt_invocation *call) {
  State state(*call);
  const int64_t capacity = call->sizes[Capacity], count = call->sizes[Candidate];
  const int32_t *positions = tensor<int32_t>(*call, 1), *ancestors = tensor<int32_t>(*call, 2);
  for (int64_t row = 0; row < call->sizes[Row]; ++row)
    state.cached(row, positions[row]) = tensor<int32_t>(*call, 0)[row];
  for (int64_t row = 0; row < call->sizes[Row]; ++row) {
    Ids history;
    for (int32_t k = 0; k <= positions[row]; ++k)
      history.push_back(state.cached(ancestors[row * capacity + k], k));
    writeBest(nextLogProbabilities(history), count, tensor<float>(*call, 3) + row * count,
              tensor<int32_t>(*call, 4) + row * count);
  }
  return 0;
}

int32_t promptScore(const attnrt_invocation *call) {
  const int64_t length = call->sizes[Target];
  const int32_t *ids = tensor<int32_t>(*call, 0), *labels = tensor<int32_t>(*call, 1);
  for (int64_t b = 0; b < call->sizes[Batch]; ++b)
    for (int64_t t = 0; t < length; ++t) {
      const Ids history(ids + b * length, ids + b * length + t + 1);
      tensor<float>(*call, 2)[b * length + t] = nextLogProbabilities(history)[labels[b * length + t]];
    }
  return 0;
}

int32_t logits(const attnrt_invocation *call) {
  if (const int32_t code = beginStep(*call))
    return code;
  State state(*call);
  for (int64_t row = 0; row < call->sizes[Row]; ++row) {
    const std::vector<float> all = spreadLogits(rowHash(*call, state, row));
    std::copy(all.begin(), all.end(), tensor<float>(*call, 5) + row * targetVocabulary);
    tensor<float>(*call, 6)[row] = logSumOf(all);
  }
  return 0;
}

int32_t score(const attnrt_invocation *call) {
  State state(*call);
  const int64_t length = call->sizes[Target];
  for (int64_t b = 0; b < call->sizes[Batch]; ++b)
    for (int64_t t = 0; t < length; ++t) {
      const uint64_t hash = state.source(b) ^ hashIds(tensor<int32_t>(*call, 0) + b * length, t + 1);
      tensor<float>(*call, 3)[b * length + t] = spread(hash)[tensor<int32_t>(*call, 1)[b * length + t]];
    }
  return 0;
}

/// Target position t looks at source position t, or at the last one.
int32_t attend(const attnrt_invocation *call) {
  const int64_t targets = call->sizes[Target], sources = call->sizes[Source];
  for (int64_t b = 0; b < call->sizes[Batch]; ++b)
    for (int64_t t = 0; t < targets; ++t)
      for (int64_t s = 0; s < sources; ++s)
        tensor<float>(*call, 2)[(b * targets + t) * sources + s] =
            s == std::min<int64_t>(t, tensor<int32_t>(*call, 1)[b] - 1) ? 1 : 0;
  return 0;
}

int64_t encodeArena(const int64_t *sizes) { return 64 + 4 * sizes[Part] * sizes[Length]; }
int64_t stepArena(const int64_t *sizes) { return 64 * sizes[Row] * sizes[Candidate]; }
int64_t otherArena(const int64_t *) { return 64; }
int64_t stateBytes(const int64_t *sizes) { return 64 * sizes[Batch] + 4 * sizes[Capacity] * sizes[Slot]; }

std::string hashText(const std::string &bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

/// Two tensors of 16 floats; the header is padded so that the data part is aligned.
std::string weightFile() {
  std::string header = R"({"a":{"dtype":"F32","shape":[16],"data_offsets":[0,64]},)"
                       R"("b":{"dtype":"F32","shape":[4,4],"data_offsets":[64,128]}})";
  header.resize(64 * ((header.size() + 8 + 63) / 64) - 8, ' ');
  const uint64_t size = header.size();
  std::string file(reinterpret_cast<const char *>(&size), sizeof size);
  file += header;
  for (int i = 0; i < 128; ++i)
    file += static_cast<char>(i);
  return file;
}

Json tensorInfo(const char *name, const char *type, const Json &shape) {
  return {{"name", name}, {"type", type}, {"shape", shape}};
}

Json entryInfo(const char *name, const Json &arguments, const Json &results, const char *arena) {
  return {{"name", name},
          {"arguments", arguments},
          {"results", results},
          {"arena", arena},
          {"bounds", Json::array()}};
}

Json entryList() {
  const Json lengths = tensorInfo("source_lengths", "i32", {"batch"});
  const Json targets = tensorInfo("target_ids", "i32", {"batch", "target"});
  const Json rowArguments = {tensorInfo("ids", "i32", {"row", 1}), tensorInfo("positions", "i32", {"row"}),
                             tensorInfo("sources", "i32", {"row"}),
                             tensorInfo("ancestors", "i32", {"row", "capacity"}), lengths};
  return {entryInfo("encode",
                    {tensorInfo("source_ids", "i32", {"part", "length"}),
                     tensorInfo("source_lengths", "i32", {"part"})},
                    Json::array(), "64 + 4 * part * length"),
          entryInfo("step", rowArguments,
                    {tensorInfo("scores", "f32", {"row", 1, "candidate"}),
                     tensorInfo("candidates", "i32", {"row", 1, "candidate"})},
                    "64 * candidate * row"),
          entryInfo("logits", rowArguments,
                    {tensorInfo("logits", "f32", {"row", 1, targetVocabulary}),
                     tensorInfo("log_sums", "f32", {"row", 1})},
                    "64"),
          entryInfo("score", {targets, tensorInfo("labels", "i32", {"batch", "target"}), lengths},
                    Json::array({tensorInfo("log_probabilities", "f32", {"batch", "target"})}), "64"),
          entryInfo("attend", {targets, lengths},
                    Json::array({tensorInfo("attention", "f32", {"batch", "target", "source"})}), "64")};
}

/// Of the toy without a source.
Json promptEntryList() {
  const Json targets = tensorInfo("target_ids", "i32", {"batch", "target"});
  return {entryInfo(
              "prefill",
              {tensorInfo("source_ids", "i32", {"part", "length"}), tensorInfo("positions", "i32", {"part"})},
              Json::array(), "64"),
          entryInfo("step",
                    {tensorInfo("ids", "i32", {"row", 1}), tensorInfo("positions", "i32", {"row"}),
                     tensorInfo("ancestors", "i32", {"row", "capacity"})},
                    {tensorInfo("scores", "f32", {"row", 1, "candidate"}),
                     tensorInfo("candidates", "i32", {"row", 1, "candidate"})},
                    "64"),
          entryInfo("score", {targets, tensorInfo("labels", "i32", {"batch", "target"})},
                    Json::array({tensorInfo("log_probabilities", "f32", {"batch", "target"})}), "64")};
}

constexpr attnrt_entry promptEntries[] = {
    {"prefill", prefill, otherArena}, {"step", promptStep, otherArena}, {"score", promptScore, otherArena}};
constexpr attnrt_entry entries[] = {{"encode", encode, encodeArena},
                                    {"step", step, stepArena},
                                    {"logits", logits, otherArena},
                                    {"score", score, otherArena},
                                    {"attend", attend, otherArena}};
void *const kernels[] = {nullptr};
const attnrt_variant variants[] = {{"plain", "", kernels}, {"future", "no_such_feature", kernels}};

uint64_t hashOf(const Ids &source, const Ids &history) {
  return hashIds(source.data(), source.size()) ^ hashIds(history.data(), history.size());
}

} // namespace

std::vector<float> nextLogProbabilities(const Ids &source, const Ids &history) {
  return spread(hashOf(source, history));
}

std::vector<float> nextLogProbabilities(const Ids &history) {
  return spread(hashIds(history.data(), history.size()));
}

float nextLogSum(const Ids &source, const Ids &history) {
  return logSumOf(spreadLogits(hashOf(source, history)));
}

Trace &trace() {
  static Trace one;
  return one;
}

void resetTrace() {
  trace().encodes = trace().steps = 0;
  trace().rows = trace().encoded = 0;
  trace().failAtStep = trace().failAtEncode = -1;
  trace().listed = targetVocabulary;
  trace().shift = 0;
}

attnrt_descriptor withHash(const char *hash) {
  return {ATTNRT_ABI_VERSION, 5, 2, 1, "toy", entries, variants, stateBytes, hash};
}

attnrt_descriptor promptDescriptor(const char *hash) {
  return {ATTNRT_ABI_VERSION, 3, 2, 1, "toy", promptEntries, variants, stateBytes, hash};
}

const attnrt_descriptor *descriptor() {
  static const std::string hash = [] {
    const std::string text = manifest().dump(1);
    char digits[33];
    attnrt::api::check(attnrt_manifest_hash(text.size(), text.data(), digits));
    return std::string(digits);
  }();
  static const attnrt_descriptor one = withHash(hash.c_str());
  return &one;
}

Json manifest() {
  const std::string weights = weightFile();
  const std::string data = weights.substr(weights.size() - 128);
  const auto weight = [&](const char *name, int offset) {
    return Json{{"name", name},
                {"shape", {16}},
                {"offset", offset},
                {"bytes", 64},
                {"hash", hashText(data.substr(offset, 64))},
                {"panels", 0},
                {"tensors", {name}},
                {"rows", {16}},
                {"transposed", false}};
  };
  return {
      {"format", 1},
      {"name", "toy"},
      {"kind", "encoder_decoder"},
      {"sizes",
       {"batch", "candidate", "capacity", "first", "history", "length", "part", "row", "slot", "source",
        "target"}},
      {"entries", entryList()},
      {"state", "64 * batch + 4 * capacity * slot"},
      {"limits", {{"source", 32}, {"target", 24}}},
      {"vocabulary", {{"source", sourceVocabulary}, {"target", targetVocabulary}}},
      {"tokens",
       {{"start", start},
        {"end", end},
        {"pad", pad},
        {"unknown", 6},
        {"source_unknown", 10},
        {"source_start", nullptr},
        {"source_end", end}}},
      {"tokenizer",
       {{"source", {{"kind", "characters"}, {"file", "source.json"}}},
        {"target", {{"kind", "vocabulary"}, {"file", "target.txt"}}}}},
      {"decoding",
       {{"beam", 1},
        {"length_penalty", 1.0},
        {"max_length", 12},
        {"min_length", 0},
        {"early_stopping", true}}},
      {"variants",
       {{{"name", "plain"}, {"features", ""}}, {{"name", "future"}, {"features", "no_such_feature"}}}},
      {"kernels", {"nothing"}},
      {"code", std::string(32, '0')},
      {"weights",
       {{"file", "weights.safetensors"},
        {"bytes", 128},
        {"hash", hashText(weights)},
        {"tensors", {weight("a", 0), weight("b", 64)}}}},
      {"golden", Json::object()},
  };
}

Json promptManifest() {
  Json json = manifest();
  json["kind"] = "decoder";
  json["entries"] = promptEntryList();
  json["vocabulary"]["source"] = targetVocabulary;
  json["tokenizer"]["source"] = json["tokenizer"]["target"];
  json["tokens"]["start"] = json["tokens"]["source_unknown"] = json["tokens"]["source_end"] = nullptr;
  return json;
}

std::string sealed(std::string text) {
  if (text.ends_with("\n}"))
    text.resize(text.size() - 2);
  return text + ",\n \"hash\": \"" + hashText(text) + "\"\n}\n";
}

Folder::Folder() {
  static std::atomic<int> count{0};
  folder = std::filesystem::temp_directory_path() /
           ("attnrt-toy-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  std::filesystem::create_directory(folder);
  write("manifest.json", sealed(manifest().dump(1)));
  write("weights.safetensors", weightFile());
  write("source.json", R"(["_", "<s>", "</s>", "a", "b", "c", "한", "국", "é", "d", "?"])");
  write("target.txt", "_\n<s>\n</s>\nx\ny\nz\n?\n");
}

Folder::~Folder() {
  std::error_code ignored; // a folder that stays behind is no reason to fail
  std::filesystem::remove_all(folder, ignored);
}

std::string Folder::read(const std::string &file) const {
  std::ifstream stream(folder / file, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

void Folder::write(const std::string &file, const std::string &content) const {
  std::ofstream(folder / file, std::ios::binary) << content;
}

std::string Folder::loadError(const attnrt_model_options *options) const {
  attnrt_model *model = nullptr;
  const attnrt_status status = attnrt_model_create(descriptor(), path().c_str(), options, &model);
  attnrt_model_destroy(model);
  return status == ATTNRT_OK ? "" : attnrt_last_error();
}

std::string Folder::loadErrorOfTrusted(const std::string &text) const {
  write("manifest.json", text);
  char hash[33] = "";
  if (attnrt_manifest_hash(text.size(), text.data(), hash) != ATTNRT_OK)
    return attnrt_last_error();
  const attnrt_descriptor trusting = withHash(hash);
  attnrt_model *model = nullptr;
  const attnrt_status status = attnrt_model_create(&trusting, path().c_str(), nullptr, &model);
  attnrt_model_destroy(model);
  return status == ATTNRT_OK ? "" : attnrt_last_error();
}

} // namespace toy
