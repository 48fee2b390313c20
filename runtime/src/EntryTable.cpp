//===- EntryTable.cpp - what the runtime expects of a model's entries --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The runtime passes tensors by place, so names, types and shapes must be exactly these.

#include "EntryTable.h"
#include "Failure.h"

namespace attnrt {
namespace {

struct ExpectedEntry {
  std::string name;
  std::vector<TensorInfo> arguments, results;
};

/// Of a model that decodes; the first two are always there.
std::vector<ExpectedEntry> expectedEntries(const std::string &vocabulary, bool hasParts) {
  const std::string sentences = hasParts ? "part" : "batch", length = hasParts ? "length" : "source";
  const TensorInfo lengths{"source_lengths", "i32", {"batch"}};
  const TensorInfo targets{"target_ids", "i32", {"batch", "target"}};
  const std::vector<TensorInfo> step = {{"ids", "i32", {"row", "1"}},
                                        {"positions", "i32", {"row"}},
                                        {"sources", "i32", {"row"}},
                                        {"ancestors", "i32", {"row", "capacity"}},
                                        lengths};
  return {
      {"encode", {{"source_ids", "i32", {sentences, length}}, {"source_lengths", "i32", {sentences}}}, {}},
      {"step",
       step,
       {{"scores", "f32", {"row", "1", "candidate"}}, {"candidates", "i32", {"row", "1", "candidate"}}}},
      {"logits", step, {{"logits", "f32", {"row", "1", vocabulary}}, {"log_sums", "f32", {"row", "1"}}}},
      {"score",
       {targets, {"labels", "i32", {"batch", "target"}}, lengths},
       {{"log_probabilities", "f32", {"batch", "target"}}}},
      {"attend", {targets, lengths}, {{"attention", "f32", {"batch", "target", "source"}}}},
  };
}

/// Of a decoder without a source; the first two are always there.
std::vector<ExpectedEntry> expectedPromptEntries(const std::string &vocabulary) {
  const TensorInfo targets{"target_ids", "i32", {"batch", "target"}};
  const std::vector<TensorInfo> step = {
      {"ids", "i32", {"row", "1"}}, {"positions", "i32", {"row"}}, {"ancestors", "i32", {"row", "capacity"}}};
  return {
      {"prefill", {{"source_ids", "i32", {"part", "length"}}, {"positions", "i32", {"part"}}}, {}},
      {"step",
       step,
       {{"scores", "f32", {"row", "1", "candidate"}}, {"candidates", "i32", {"row", "1", "candidate"}}}},
      {"logits", step, {{"logits", "f32", {"row", "1", vocabulary}}, {"log_sums", "f32", {"row", "1"}}}},
      {"score",
       {targets, {"labels", "i32", {"batch", "target"}}},
       {{"log_probabilities", "f32", {"batch", "target"}}}},
  };
}

/// Of an encoder that stands alone; the first are always there.
std::vector<ExpectedEntry> expectedEncoderEntries(const EncoderInfo &encoder) {
  const std::string width = std::to_string(encoder.width), vocabulary = std::to_string(encoder.vocabulary);
  std::vector<TensorInfo> sources = {{"source_ids", "i32", {"batch", "source"}},
                                     {"source_lengths", "i32", {"batch"}}};
  if (encoder.tokenTypes > 0)
    sources.push_back({"source_types", "i32", {"batch", "source"}});
  std::vector<TensorInfo> hidden = {{"hidden", "f32", {"batch", "source", width}}};
  if (encoder.hasPooler)
    hidden.push_back({"pooled", "f32", {"batch", width}});
  std::vector<TensorInfo> places = sources;
  places.push_back({"rows", "i32", {"row"}});
  return {
      {"encode", sources, hidden},
      {"predict",
       places,
       {{"scores", "f32", {"row", "candidate"}}, {"candidates", "i32", {"row", "candidate"}}}},
      {"logits", places, {{"logits", "f32", {"row", vocabulary}}, {"log_sums", "f32", {"row"}}}},
  };
}

void checkTensors(const std::string &entry, const std::vector<TensorInfo> &expected,
                  const std::vector<TensorInfo> &found) {
  check(expected.size() == found.size(), ATTNRT_BAD_BUNDLE, "manifest.json: entry '", entry, "' has ",
        found.size(), " arguments or results where ", expected.size(), " are expected");
  for (size_t i = 0; i < expected.size(); ++i)
    check(expected[i].name == found[i].name && expected[i].type == found[i].type &&
              expected[i].shape == found[i].shape,
          ATTNRT_BAD_BUNDLE, "manifest.json: '", found[i].name, "' of entry '", entry,
          "' is not the expected '", expected[i].name, "' in type or shape");
}

void checkSizes(const Manifest &manifest, std::initializer_list<const char *> names) {
  for (const char *name : names)
    check(manifest.findSize(name) >= 0, ATTNRT_BAD_BUNDLE, "manifest.json: the size '", name,
          "' is missing: compile the bundle again if another version did");
}

/// The first `needed` must be there; the others serve single calls.
void checkEntries(const Manifest &manifest, const std::vector<ExpectedEntry> &entries, size_t needed) {
  for (size_t number = 0; number < entries.size(); ++number) {
    const ExpectedEntry &expected = entries[number];
    const int index = manifest.findEntry(expected.name);
    check(index >= 0 || number >= needed, ATTNRT_BAD_BUNDLE, "manifest.json: the entry '", expected.name,
          "' is missing");
    if (index < 0)
      continue;
    checkTensors(expected.name, expected.arguments, manifest.entries[index].arguments);
    checkTensors(expected.name, expected.results, manifest.entries[index].results);
  }
}

} // namespace

void checkDecoderEntries(const Manifest &manifest) {
  checkSizes(manifest, {"batch", "candidate", "capacity", "history", "row", "slot", "target"});
  const std::string vocabulary = std::to_string(manifest.decoder->targetVocabulary);
  const bool hasSource = manifest.decoder->hasSource, hasParts = manifest.findSize("part") >= 0;
  if (hasSource)
    checkSizes(manifest, {"source"});
  if (hasParts || !hasSource)
    checkSizes(manifest, {"first", "length", "part"});
  checkEntries(manifest,
               hasSource ? expectedEntries(vocabulary, hasParts) : expectedPromptEntries(vocabulary), 2);
}

void checkEncoderEntries(const Manifest &manifest) {
  checkSizes(manifest, {"batch", "source"});
  if (manifest.findEntry("predict") >= 0 || manifest.findEntry("logits") >= 0)
    checkSizes(manifest, {"candidate", "row"});
  checkEntries(manifest, expectedEncoderEntries(*manifest.encoder), 1);
}

} // namespace attnrt
