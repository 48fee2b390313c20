//===- HostileBundleTest.cpp - damaged and lying files ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Json = nlohmann::ordered_json;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

AssertionResult saysAbout(const std::string &message, const std::string &part) {
  if (message.find(part) != std::string::npos)
    return AssertionSuccess();
  return AssertionFailure() << "the message is '" << message << "', without '" << part << "'";
}

/// A manifest that the compiler itself might have written wrong: it ends with the right hash.
std::string changedManifest(const std::function<void(Json &)> &change) {
  Json json = toy::manifest();
  change(json);
  return toy::sealed(json.dump(1));
}

/// A safetensors file of this header around 128 bytes of data.
std::string weightFile(std::string header) {
  header.resize(64 * ((header.size() + 8 + 63) / 64) - 8, ' ');
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), sizeof size) + header + std::string(128, '\0');
}

TEST(HostileBundle, TheGoodOneLoads) { EXPECT_EQ("", toy::Folder().loadError()); }

TEST(HostileBundle, AManifestOfOtherCodeIsRefused) {
  const toy::Folder folder;
  folder.write("manifest.json", changedManifest([](Json &m) { m["tokens"]["start"] = 2; }));
  EXPECT_TRUE(saysAbout(folder.loadError(), "does not belong to the bundle's code"));
}

TEST(HostileBundle, EveryWrongFieldIsNamed) {
  const struct {
    const char *part;
    std::function<void(Json &)> change;
  } cases[] = {
      {"format is 2", [](Json &m) { m["format"] = 2; }},
      {"'state' is missing", [](Json &m) { m.erase("state"); }},
      {"'bacth' is none of the sizes", [](Json &m) { m["state"] = "64 * bacth"; }},
      {"formula", [](Json &m) { m["state"] = "64 * batch + "; }},
      {"formula", [](Json &m) { m["state"] = "64 - batch"; }},
      {"formula", [](Json &m) { m["state"] = "99999999999999999999"; }},
      {"entries[0].arena: must be a string", [](Json &m) { m["entries"][0]["arena"] = 7; }},
      {"the entry 'step' is missing", [](Json &m) { m["entries"][1]["name"] = "stop"; }},
      {"is not the expected", [](Json &m) { m["entries"][1]["arguments"][0]["type"] = "f32"; }},
      {"is not the expected", [](Json &m) { m["entries"][1]["results"][0]["shape"][2] = "target"; }},
      {"has a name twice", [](Json &m) { m["sizes"][0] = "candidate"; }},
      {"tokens.end: must be a whole number from 0 to 6", [](Json &m) { m["tokens"]["end"] = 7; }},
      {"tokens.end", [](Json &m) { m["tokens"]["end"] = 1.5; }},
      {"vocabulary.source", [](Json &m) { m["vocabulary"]["source"] = -1; }},
      {"vocabulary.target", [](Json &m) { m["vocabulary"]["target"] = 18446744073709551615u; }},
      {"must be the name of a file", [](Json &m) { m["weights"]["file"] = "../../etc/passwd"; }},
      {"must be the name of a file", [](Json &m) { m["tokenizer"]["source"]["file"] = ".."; }},
      {"kind 'magic'", [](Json &m) { m["tokenizer"]["source"]["kind"] = "magic"; }},
      {"offset", [](Json &m) { m["weights"]["tensors"][1]["offset"] = 0; }},
      {"offset", [](Json &m) { m["weights"]["tensors"][1]["offset"] = 128; }},
      {"bytes", [](Json &m) { m["weights"]["tensors"][1]["bytes"] = 4096; }},
      {"type: is 'int4'", [](Json &m) { m["weights"]["tensors"][1]["type"] = "int4"; }},
      {"type: must be a string", [](Json &m) { m["weights"]["tensors"][1]["type"] = 8; }},
      {"end at", [](Json &m) { m["weights"]["tensors"].erase(1); }},
      {"decoding.max_length", [](Json &m) { m["decoding"]["max_length"] = 0; }},
      {"decoding.early_stopping", [](Json &m) { m["decoding"]["early_stopping"] = "maybe"; }},
      {"decoding.repetition_penalty", [](Json &m) { m["decoding"]["repetition_penalty"] = 0; }},
      {"decoding.patience", [](Json &m) { m["decoding"]["patience"] = "much"; }},
      {"decoding.num_beam_groups", [](Json &m) { m["decoding"]["num_beam_groups"] = 2; }},
      {"decoding.suppress_tokens[1]", [](Json &m) { m["decoding"]["suppress_tokens"] = {3, 7}; }},
      {"decoding.bad_words_ids[0]: is empty",
       [](Json &m) { m["decoding"]["bad_words_ids"] = {Json::array()}; }},
      {"decoding.forced_bos_token_id", [](Json &m) { m["decoding"]["forced_bos_token_id"] = -1; }},
      {"log_probabilities[0]: is 1e+300, but must be from -3.40282e+38 to 3.40282e+38",
       [](Json &m) {
         const Json one = {
             {"source", {3}}, {"target", Json::array()}, {"ended", true}, {"log_probabilities", {1e300}}};
         m["golden"] = {{"variant", "plain"}, {"cases", Json::array({one})}};
       }},
      {"not the same in manifest.json", [](Json &m) { m["variants"][0]["features"] = "avx2"; }},
      {"variants[0].bf16_kernels[0]: 'another' is none of the bundle's kernels",
       [](Json &m) { m["variants"][0]["bf16_kernels"] = {"another"}; }},
      {"variants[0].tuned_kernels[0]: 'another' is none of the bundle's kernels",
       [](Json &m) { m["variants"][0]["tuned_kernels"] = {"another"}; }},
      {"int8_kernels[0]: 'another' is none of the bundle's kernels",
       [](Json &m) { m["int8_kernels"] = {"another"}; }},
      {"'code' is missing", [](Json &m) { m.erase("code"); }},
      {"code: must be 32 hexadecimal digits", [](Json &m) { m["code"] = "new"; }},
      {"number of entries, variants or kernels", [](Json &m) { m["kernels"].push_back("another"); }},
  };
  const toy::Folder folder;
  for (const auto &one : cases)
    EXPECT_TRUE(saysAbout(folder.loadErrorOfTrusted(changedManifest(one.change)), one.part));
}

TEST(HostileBundle, AFormulaThatTheCodeDoesNotShareIsRefused) {
  const toy::Folder folder;
  const std::string text = changedManifest([](Json &m) { m["state"] = "8 * batch"; });
  folder.write("manifest.json", text);
  char hash[33];
  attnrt::api::check(attnrt_manifest_hash(text.size(), text.data(), hash));
  const attnrt_descriptor trusting = toy::withHash(hash);
  const attnrt::api::Model model(&trusting, folder.path());
  EXPECT_THROW(attnrt::api::Session(model, model.sessionOptions()), attnrt::api::Error);
  EXPECT_TRUE(saysAbout(attnrt_last_error(), "by manifest.json, but"));
}

TEST(HostileBundle, DeepNestingIsAnError) {
  const toy::Folder folder;
  folder.write("manifest.json", toy::sealed(std::string(100000, '[')));
  EXPECT_TRUE(saysAbout(folder.loadError(), "nested"));
}

TEST(HostileBundle, AKeyTwiceIsAnError) {
  const toy::Folder folder;
  folder.write("manifest.json", toy::sealed("{\"golden\": {}," + toy::manifest().dump(1).substr(1)));
  EXPECT_TRUE(saysAbout(folder.loadError(), "has the key \"golden\" twice"));
}

TEST(HostileBundle, AFifoIsNoFile) {
  for (const char *file : {"manifest.json", "weights.safetensors"}) {
    const toy::Folder folder;
    const std::string path = folder.path() + "/" + file;
    ASSERT_EQ(0, unlink(path.c_str()));
    ASSERT_EQ(0, mkfifo(path.c_str(), 0600));
    EXPECT_TRUE(saysAbout(folder.loadError(), "is not a regular file"));
  }
}

TEST(HostileBundle, EveryTruncationIsAnError) {
  for (const char *file : {"manifest.json", "weights.safetensors", "source.json"}) {
    const toy::Folder folder;
    const std::string whole = folder.read(file);
    for (size_t size = 0; size + 1 < whole.size(); size += 23) {
      folder.write(file, whole.substr(0, size));
      EXPECT_NE("", folder.loadError()) << file << " cut to " << size;
    }
  }
}

TEST(HostileBundle, AnyFlippedBitOfTheManifestIsAnError) {
  const toy::Folder folder;
  const std::string whole = folder.read("manifest.json");
  // In place: a file that is cut and written anew waits for the disk.
  std::fstream file(folder.path() + "/manifest.json", std::ios::in | std::ios::out | std::ios::binary);
  const auto write = [&](size_t byte, int value) {
    file.seekp(byte).put(static_cast<char>(value)).flush();
    ASSERT_TRUE(file.good());
  };
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    write(byte, whole[byte] ^ 1 << byte % 8);
    EXPECT_TRUE(saysAbout(folder.loadError(),
                          folder.path() + "/manifest.json: does not end with the hash of its text"))
        << "byte " << byte;
    write(byte, whole[byte]);
  }
  EXPECT_EQ("", folder.loadError());
}

TEST(HostileBundle, FlippedBitsInTheWeightHeaderAreErrorsOrMeanTheSame) {
  const toy::Folder folder;
  const std::string whole = folder.read("weights.safetensors");
  const auto meaning = [](const std::string &file) {
    return nlohmann::json::parse(file.substr(8, file.size() - 8 - 128), nullptr, false);
  };
  for (size_t bit = 0; bit < 8 * (whole.size() - 128); bit += 5) { // each place of a byte comes up
    std::string damaged = whole;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    folder.write("weights.safetensors", damaged);
    if (folder.loadError().empty()) {
      EXPECT_EQ(meaning(whole), meaning(damaged)) << "bit " << bit;
    }
  }
}

TEST(HostileBundle, LyingWeightHeadersAreRefused) {
  const std::string b = R"("b":{"dtype":"F32","shape":[16],"data_offsets":[64,128]}})";
  const char *first[] = {
      R"({"a":{"dtype":"F32","shape":[16],"data_offsets":[0,128]},)",  // overlaps b
      R"({"a":{"dtype":"F32","shape":[16],"data_offsets":[64,0]},)",   // backwards
      R"({"a":{"dtype":"F32","shape":[32],"data_offsets":[0,64]},)",   // more elements than bytes
      R"({"a":{"dtype":"F16","shape":[16],"data_offsets":[0,64]},)",   // another type
      R"({"a":{"dtype":"I8","shape":[64],"data_offsets":[0,64]},)",    // another type of as many bytes
      R"({"a":{"dtype":"F32","shape":[16],"data_offsets":[0,64,9]},)", // three offsets
      R"({"a":{"dtype":"F32","shape":[-16],"data_offsets":[0,64]},)",  // negative
      R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,64]},)", // overflows
      R"({"c":{"dtype":"F32","shape":[16],"data_offsets":[0,64]},)",                    // another name
      R"({"a":{"dtype":"F32","shape":[16]},)",                                          // no offsets
      R"({)", // one tensor is missing
  };
  const toy::Folder folder;
  folder.write("weights.safetensors",
               weightFile(R"({"a":{"dtype":"F32","shape":[16],"data_offsets":[0,64]},)" + b));
  EXPECT_EQ("", folder.loadError());
  for (const char *lie : first) {
    folder.write("weights.safetensors", weightFile(lie + b));
    EXPECT_NE("", folder.loadError()) << lie;
  }
}

TEST(HostileBundle, AHeaderLengthBeyondTheFileIsAnError) {
  const toy::Folder folder;
  std::string file = folder.read("weights.safetensors");
  for (const uint64_t size : {uint64_t(file.size()), UINT64_MAX, UINT64_MAX - 7, uint64_t(1) << 63}) {
    std::memcpy(file.data(), &size, sizeof size);
    folder.write("weights.safetensors", file);
    EXPECT_TRUE(saysAbout(folder.loadError(), "header claims"));
  }
}

TEST(HostileBundle, AHeaderThatIsTooLongForItsTensorsIsAnError) {
  const toy::Folder folder;
  const std::string header = folder.read("weights.safetensors").substr(8);
  const std::string object = header.substr(0, header.find_last_of('}') + 1);
  folder.write("weights.safetensors", weightFile(object));
  EXPECT_EQ("", folder.loadError());
  folder.write("weights.safetensors",
               weightFile(R"({"__metadata__":{"x":")" + std::string(9000, 'x') + "\"}," + object.substr(1)));
  EXPECT_TRUE(saysAbout(folder.loadError(), "more than the manifest's tensors need"));
}

TEST(HostileBundle, FlippedWeightBytesAreFoundWhenAskedFor) {
  const toy::Folder folder;
  std::string file = folder.read("weights.safetensors");
  file[file.size() - 10] ^= 4;
  folder.write("weights.safetensors", file);
  attnrt_model_options options;
  attnrt_model_options_init(&options);
  EXPECT_EQ("", folder.loadError(&options));
  options.verify_weights = 1;
  EXPECT_TRUE(saysAbout(folder.loadError(&options), "tensor 'b'"));
  const attnrt::api::Model model(toy::descriptor(), folder.path());
  EXPECT_THROW(model.selfCheck(), attnrt::api::Error);
}

TEST(HostileBundle, ATokenizerThatDoesNotMatchItsHashIsRefused) {
  const toy::Folder folder;
  const std::string text =
      changedManifest([](Json &m) { m["tokenizer"]["source"]["hash"] = std::string(32, '0'); });
  EXPECT_TRUE(saysAbout(folder.loadErrorOfTrusted(text), "does not match its hash"));
}

TEST(HostileBundle, AVocabularyLargerThanTheModelIsRefused) {
  const toy::Folder folder;
  folder.write("target.txt", "a\nb\nc\nd\ne\nf\ng\nh\n");
  EXPECT_TRUE(saysAbout(folder.loadError(), "has 8 tokens"));
}

TEST(HostileBundle, AVocabularyThatIsNoUtf8IsRefused) {
  const toy::Folder folder;
  folder.write("target.txt", "a\nb\n\xff\n");
  EXPECT_TRUE(saysAbout(folder.loadError(), "is not UTF-8"));
}

TEST(HostileBundle, ANumberThatNoDoubleHoldsIsToldAsSuch) {
  const std::string text = "[1e999]";
  char hash[33];
  EXPECT_EQ(ATTNRT_BAD_BUNDLE, attnrt_manifest_hash(text.size(), text.data(), hash));
  EXPECT_TRUE(saysAbout(attnrt_last_error(), "has a number that no double holds"));
}

TEST(Variants, OneThatTheMachineCannotRunIsSkippedOrRefused) {
  const toy::Folder folder;
  const attnrt::api::Model model(toy::descriptor(), folder.path());
  EXPECT_EQ("plain", model.variant());
  attnrt_model_options options;
  attnrt_model_options_init(&options);
  options.variant = "future";
  EXPECT_TRUE(saysAbout(folder.loadError(&options), "future needs no_such_feature"));
  options.variant = "past";
  EXPECT_TRUE(saysAbout(folder.loadError(&options), "no variant 'past'; it has future, plain"));
}

TEST(Golden, WhatWasRecordedIsRepeated) {
  const toy::Folder folder;
  Json json = toy::manifest();
  const attnrt::api::Model plain(toy::descriptor(), folder.path());
  json["golden"] = Json::parse(plain.recordGolden());
  ASSERT_EQ(3u, json["golden"]["cases"].size());
  folder.write("manifest.json", toy::sealed(json.dump(1)));
  attnrt::api::Model(toy::descriptor(), folder.path()).selfCheck();

  json["golden"]["cases"][1]["log_probabilities"][0] = -9.0;
  folder.write("manifest.json", toy::sealed(json.dump(1)));
  EXPECT_THROW(attnrt::api::Model(toy::descriptor(), folder.path()).selfCheck(), attnrt::api::Error);
  EXPECT_TRUE(saysAbout(attnrt_last_error(), "golden case 1"));

  json["golden"]["variant"] = "pale";
  folder.write("manifest.json", toy::sealed(json.dump(1)));
  EXPECT_TRUE(saysAbout(folder.loadError(), "golden: variant 'pale' is none of the bundle's"));
}

} // namespace
