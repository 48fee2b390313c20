//===- LoadTest.cpp - bundles loaded from folders ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

#include <thread>

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

  /// Returns its hash, which code must name.
  std::string writeManifest(const nlohmann::ordered_json &json) {
    const std::string text = toy::sealed(json.dump(1));
    folder.write("manifest.json", text);
    char hash[33];
    attnrt::api::check(attnrt_manifest_hash(text.size(), text.data(), hash));
    return hash;
  }

  /// The toy as a graph whose entries run `run`.
  attnrt::api::Model graphOf(int32_t (*run)(const attnrt_invocation *)) {
    nlohmann::ordered_json json = toy::manifest();
    json["kind"] = "graph";
    hash = writeManifest(json);
    code = toy::withHash(hash.c_str());
    entries.assign(code.entries, code.entries + code.entry_count);
    for (attnrt_entry &entry : entries)
      entry.run = run;
    code.entries = entries.data();
    return attnrt::api::Model(&code, folder.path());
  }

private:
  std::string hash; // the graph's code, which outlives it
  std::vector<attnrt_entry> entries;
  attnrt_descriptor code;
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

TEST_F(Load, WhatCannotBeLoadedIsNamedByItsPath) {
  const std::string path = folder.path() + "/libtoy.so";
  std::filesystem::resize_file(path, 40); // less than the header
  EXPECT_NE(std::string::npos, loadError(folder.path()).find("cannot be loaded: " + path + ": "));
}

TEST_F(Load, ALibraryThatWasReplacedIsNotTakenForTheOneThatIsOpen) {
  const attnrt::api::Model open(folder.path()), twice(folder.path());
  const std::string path = folder.path() + "/libtoy.so";
  std::filesystem::remove(path);
  std::filesystem::copy_file(ATTNRT_REBUILT_TOY_LIBRARY, path);
  EXPECT_NE(std::string::npos,
            loadError(folder.path()).find("the code was made for 00000000000000000000000000000000"));
}

TEST_F(Load, ALibraryThatWasCutShortIsRefused) {
  const std::string path = folder.path() + "/libtoy.so";
  const uintmax_t whole = std::filesystem::file_size(path);
  for (uintmax_t size : {whole - 1, whole / 2, uintmax_t{1000}, uintmax_t{64}}) {
    std::filesystem::resize_file(path, size);
    const std::string error = loadError(folder.path());
    EXPECT_NE(std::string::npos,
              error.find(path + ": is cut short: it has " + std::to_string(size) + " bytes"))
        << error;
  }
}

TEST_F(Load, OptionsOfAnotherSizeAreRefused) {
  attnrt_model_options options{};
  options.size = 1000;
  attnrt_model *loaded = nullptr;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_model_load(folder.path().c_str(), &options, &loaded));
  options.size = offsetof(attnrt_model_options, variant) + 4; // half a pointer
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_model_load(folder.path().c_str(), &options, &loaded));
  options.size = sizeof(size_t); // an older program, which knows none of the fields
  EXPECT_EQ(ATTNRT_OK, attnrt_model_load(folder.path().c_str(), &options, &loaded));
  attnrt_model_destroy(loaded);
}

TEST_F(Load, AGraphsEntryIsCalledWithTensorsOfTheCaller) {
  nlohmann::ordered_json json = toy::manifest();
  json["kind"] = "graph";
  const std::string hash = writeManifest(json);
  const attnrt_descriptor code = toy::withHash(hash.c_str());
  const attnrt::api::Model graph(&code, folder.path());

  int64_t sizes[] = {1, 1, 1, 1, 1, 3, 1, 1, 1, 3, 2}; // batch .. source 3, target 2
  float attention[6];
  int32_t ids[] = {1, 3}, lengths[] = {3};
  void *tensors[] = {ids, lengths, attention};
  const attnrt::api::Pool pool(2);
  for (const attnrt::api::Pool *threads : {static_cast<const attnrt::api::Pool *>(nullptr), &pool}) {
    std::fill(std::begin(attention), std::end(attention), -1.f);
    graph.call("attend", sizes, tensors, threads);
    EXPECT_EQ((std::vector<float>{1, 0, 0, 0, 1, 0}), std::vector<float>(attention, attention + 6));
  }
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
            attnrt_graph_call(graph.handle(), nullptr, "attend", 11, sizes, 2, tensors));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
            attnrt_graph_call(graph.handle(), nullptr, "look", 11, sizes, 3, tensors));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
            attnrt_graph_call(graph.handle(), nullptr, "attend", 11, nullptr, 3, tensors));
  EXPECT_STREQ("'sizes' is null", attnrt_last_error());
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
            attnrt_graph_call(graph.handle(), nullptr, "attend", 11, sizes, 3, nullptr));
  EXPECT_STREQ("'tensors' is null", attnrt_last_error());
  tensors[1] = nullptr;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
            attnrt_graph_call(graph.handle(), nullptr, "attend", 11, sizes, 3, tensors));
  EXPECT_STREQ("'tensors[1]' is null", attnrt_last_error());
  tensors[1] = lengths;
  sizes[9] = -3;
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, attnrt_graph_call(graph.handle(), nullptr, "attend", 11, sizes, 3, tensors));
  EXPECT_EQ(ATTNRT_UNSUPPORTED, attnrt_graph_call(model.handle(), nullptr, "attend", 11, sizes, 3, tensors));
  EXPECT_EQ(3, attnrt_model_weights(graph.handle())[3]); // the toy's bytes count up
  EXPECT_THROW(attnrt::api::Session(graph, graph.sessionOptions()), attnrt::api::Error);
}

/// Tells of as many operations as the entry's last size says, and of thrice the bytes, after some time.
int32_t runWatched(const attnrt_invocation *invocation) {
  std::this_thread::sleep_for(std::chrono::microseconds(1));
  if (invocation->context->watch)
    invocation->context->watch(invocation->context, 0, invocation->sizes[10], 3 * invocation->sizes[10]);
  return 0;
}

TEST_F(Load, ProfiledCallsOfAGraphAddUpWhatKernelsDid) {
  const attnrt::api::Model graph = graphOf(runWatched);

  std::vector<attnrt_kernel_profile> kernels(1); // the toy's
  int64_t sizes[] = {1, 1, 1, 1, 1, 3, 1, 1, 1, 3, 2};
  char tensor[64];
  void *tensors[] = {tensor, tensor, tensor};
  graph.profile("attend", sizes, tensors, kernels);
  sizes[10] = 5;
  const attnrt::api::Pool pool(2);
  graph.profile("attend", sizes, tensors, kernels, &pool);
  EXPECT_EQ(2, kernels[0].calls);
  EXPECT_EQ(7, kernels[0].operations);
  EXPECT_EQ(21, kernels[0].bytes);
  EXPECT_LE(2000, kernels[0].nanoseconds);
}

TEST_F(Load, MistakesInAProfiledCallAreTold) {
  const attnrt::api::Model graph = graphOf(runWatched);
  attnrt_kernel_profile kernels[2] = {};
  const int64_t sizes[] = {1, 1, 1, 1, 1, 3, 1, 1, 1, 3, 2};
  char tensor[64];
  void *tensors[] = {tensor, tensor, tensor};
  const auto profile = [&](size_t count, attnrt_kernel_profile *all) {
    return attnrt_graph_profile(graph.handle(), nullptr, "attend", 11, sizes, 3, tensors, count, all);
  };
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, profile(2, kernels));
  EXPECT_STREQ("the bundle has 1 kernels, 2 are given", attnrt_last_error());
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, profile(1, nullptr));
  EXPECT_STREQ("'kernels' is null", attnrt_last_error());
  EXPECT_EQ(ATTNRT_UNSUPPORTED,
            attnrt_graph_profile(model.handle(), nullptr, "attend", 11, sizes, 3, tensors, 1, kernels));
  EXPECT_EQ(0, kernels[0].calls);
}

TEST_F(Load, CallsOfNoGraphOrNoEntryAreRefused) {
  const attnrt::api::Model graph = graphOf(runWatched);
  for (const auto &[handle, entry, message] :
       {std::tuple<const attnrt_model *, const char *, const char *>{nullptr, "attend", "'model' is null"},
        {graph.handle(), nullptr, "'entry' is null"}}) {
    EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_graph_call(handle, nullptr, entry, 0, nullptr, 0, nullptr));
    EXPECT_STREQ(message, attnrt_last_error());
    EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
              attnrt_graph_profile(handle, nullptr, entry, 0, nullptr, 0, nullptr, 0, nullptr));
    EXPECT_STREQ(message, attnrt_last_error());
  }
}

/// Calls of a graph whose entry notes where its arena is and whether an earlier call has written to it, and
/// calls it again on the same thread while `nested` is above zero.
struct ArenaCalls {
  static inline std::vector<char *> arenas;
  static inline std::vector<bool> written; // fresh pages are zero
  static inline const attnrt_model *model = nullptr;
  static inline int nested = 0;

  static void call() {
    int64_t sizes[] = {1, 1, 1, 1, 1, 3, 1, 1, 1, 3, 2};
    char tensor[64];
    void *tensors[] = {tensor, tensor, tensor};
    attnrt::api::check(attnrt_graph_call(model, nullptr, "attend", 11, sizes, 3, tensors));
  }

  static int32_t run(const attnrt_invocation *invocation) {
    arenas.push_back(invocation->arena);
    written.push_back(invocation->arena[0] != 0);
    invocation->arena[0] = 1;
    if (nested-- > 0)
      call();
    return 0;
  }
};

TEST_F(Load, AThreadKeepsItsArenaForTheNextCallOfAGraph) {
  const attnrt::api::Model graph = graphOf(ArenaCalls::run);
  ArenaCalls::model = graph.handle();

  ArenaCalls::call();
  ArenaCalls::call();
  std::thread(ArenaCalls::call).join();
  ArenaCalls::nested = 1;
  ArenaCalls::call();
  const std::vector<char *> &arenas = ArenaCalls::arenas;
  ASSERT_EQ(5u, arenas.size());
  EXPECT_TRUE(ArenaCalls::written[1]);
  EXPECT_EQ(arenas[0], arenas[1]);
  EXPECT_NE(arenas[0], arenas[2]) << "another thread's";
  EXPECT_EQ(arenas[0], arenas[3]);
  EXPECT_NE(arenas[3], arenas[4]) << "that of a call within the call";
}

} // namespace
