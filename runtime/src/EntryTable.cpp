//===- EntryTable.cpp - what the runtime expects of an encoder-decoder's entries -===//
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

std::vector<ExpectedEntry> expectedEntries(const std::string &vocabulary) {
  const TensorInfo lengths{"source_lengths", "i32", {"batch"}};
  const TensorInfo targets{"target_ids", "i32", {"batch", "target"}};
  const std::vector<TensorInfo> step = {{"ids", "i32", {"row", "1"}},
                                        {"positions", "i32", {"row"}},
                                        {"sources", "i32", {"row"}},
                                        {"ancestors", "i32", {"row", "capacity"}},
                                        lengths};
  return {
      {"encode", {{"source_ids", "i32", {"batch", "source"}}, lengths}, {}},
      {"step",
       step,
       {{"scores", "f32", {"row", "1", "candidate"}}, {"candidates", "i32", {"row", "1", "candidate"}}}},
      {"probabilities", step, {{"log_probabilities", "f32", {"row", "1", vocabulary}}}},
      {"score",
       {targets, {"labels", "i32", {"batch", "target"}}, lengths},
       {{"log_probabilities", "f32", {"batch", "target"}}}},
      {"attend", {targets, lengths}, {{"attention", "f32", {"batch", "target", "source"}}}},
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

} // namespace

void checkDecoderEntries(const Manifest &manifest) {
  for (const char *size : {"batch", "candidate", "capacity", "history", "row", "slot", "source", "target"})
    check(manifest.findSize(size) >= 0, ATTNRT_BAD_BUNDLE, "manifest.json: the size '", size, "' is missing");
  for (const ExpectedEntry &expected : expectedEntries(std::to_string(manifest.decoder->targetVocabulary))) {
    const int index = manifest.findEntry(expected.name);
    const bool isNeeded =
        expected.name == "encode" || expected.name == "step"; // the others serve single calls
    check(index >= 0 || !isNeeded, ATTNRT_BAD_BUNDLE, "manifest.json: the entry '", expected.name,
          "' is missing");
    if (index < 0)
      continue;
    checkTensors(expected.name, expected.arguments, manifest.entries[index].arguments);
    checkTensors(expected.name, expected.results, manifest.entries[index].results);
  }
}

} // namespace attnrt
