//===- LoadTest.cpp - bundles loaded from folders ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

namespace {

class Load : public toy::Fixture {
protected:
  Load() { std::filesystem::copy_file(ATTNRT_TOY_LIBRARY, folder.path() + "/libtoy.so"); }

  static std::string loadError(const std::string &path) {
    attnrt_model *loaded = nullptr;
    const attnrt_status status = attnrt_model_load(path.c_str(), nullptr, &loaded);
    EXPECT_EQ(status == ATTNRT_OK, loaded != nullptr);
    attnrt_model_destroy(loaded);
    return status == ATTNRT_OK ? "" : attnrt_last_error();
  }
};

TEST_F(Load, ALoadedLibraryAnswersAsLinkedCodeDoes) {
  const attnrt::api::Model loaded(folder.path());
  attnrt_session_options room = loaded.sessionOptions();
  room.batch = 8;
  const auto got = attnrt::api::Session(loaded, room).decode(toy::testSources(), loaded.decodeOptions());
  const auto wanted = session(8, 1, 12).decode(toy::testSources(), model.decodeOptions());
  for (size_t s = 0; s < wanted.size(); ++s)
    EXPECT_EQ(wanted[s][0].ids, got[s][0].ids);
}

TEST_F(Load, WhatIsMissingIsNamed) {
  EXPECT_NE(std::string::npos, loadError("/no/such/bundle").find("/no/such/bundle/manifest.json"));
  std::filesystem::remove(folder.path() + "/libtoy.so");
  EXPECT_NE(std::string::npos, loadError(folder.path()).find("libtoy.so"));
  folder.write("libtoy.so", "no library");
  EXPECT_NE(std::string::npos, loadError(folder.path()).find("libtoy.so"));
}

TEST_F(Load, OptionsOfAnotherSizeAreRefused) {
  attnrt_model_options options{};
  options.size = 1000;
  attnrt_model *loaded = nullptr;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_model_load(folder.path().c_str(), &options, &loaded));
  options.size = sizeof(size_t); // an older program, which knows none of the fields
  EXPECT_EQ(ATTNRT_OK, attnrt_model_load(folder.path().c_str(), &options, &loaded));
  attnrt_model_destroy(loaded);
}

} // namespace
