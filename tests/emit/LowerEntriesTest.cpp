//===- LowerEntriesTest.cpp - generated entries, run -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Toy.mlir is lowered, linked with kernels written in C, loaded and compared with plain loops.

#include "Toy.h"

#include "compiler/emit/LowerEntries.h"
#include "compiler/emit/PlannedModule.h"

#include <array>
#include <cmath>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace {

/// The toy, loaded, with memory for `batch` x `source` positions.
class LoweredEntry : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new ScratchFolder;
    buildToy("toy", folder->path, folder->path);
    void *library = dlopen((folder->path + "/libtoy.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    toy = static_cast<const attnrt_descriptor *>(dlsym(library, "toy_descriptor"));
    ASSERT_TRUE(toy);
  }
  static void TearDownTestSuite() { delete folder; }

  static ScratchFolder *folder;
  static const attnrt_descriptor *toy;

  static constexpr int out = 40, in = 64;

  void SetUp() override {
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::sin(float(i));
  }

  /// Calls entry `number` with one tensor, or one and its result.
  int32_t run(int number, float *tensor, attnrt_kernel_context *context = nullptr, float *result = nullptr) {
    void *tensors[] = {tensor, result};
    arena.resize(toy->entries[number].arena_bytes(sizes) / sizeof(float));
    state.resize(toy->state_bytes(sizes) / sizeof(float));
    attnrt_invocation call = {context,
                              tensors,
                              sizes,
                              reinterpret_cast<char *>(arena.data()),
                              reinterpret_cast<char *>(state.data()),
                              reinterpret_cast<const char *>(weights.data()),
                              toy->variants[0].kernels};
    return toy->entries[number].run(&call);
  }

  /// What `encode`, then `recall` compute of `x` for one position: 8 times columns 8 .. 39 of the linear.
  std::vector<double> expected(const float *x) {
    std::vector<double> row;
    for (int o = 8; o < out; ++o) {
      double sum = weights[4096 + o];
      for (int i = 0; i < in; ++i)
        sum += double(x[i]) * weights[(o / 32 * in + i) * 32 + o % 32];
      row.push_back(8 * sum);
    }
    return row;
  }

  int64_t sizes[3] = {3, 7, 5}; // batch, capacity, source
  std::vector<float> arena, state, weights = std::vector<float>(16640 / sizeof(float));
};

ScratchFolder *LoweredEntry::folder;
const attnrt_descriptor *LoweredEntry::toy;

TEST_F(LoweredEntry, ComputesThroughViewsArenaStateAndWeights) {
  std::vector<float> x(3 * 5 * in), y(3 * 5 * 32);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::cos(float(i));
  ASSERT_EQ(run(0, x.data()), 0);
  ASSERT_EQ(run(1, y.data()), 0);
  for (int position = 0; position < 15; ++position) {
    std::vector<double> row = expected(x.data() + position * in);
    // 65 terms of at most 1 in float32, then exact doublings: 8 * 65 * 65 * 2^-24.
    for (int i = 0; i < 32; ++i)
      ASSERT_NEAR(y[position * 32 + i], row[i], 2.1e-3) << "position " << position << " column " << i;
  }
}

TEST_F(LoweredEntry, RunsARecurrenceFromItsLastPositionToTheFirst) {
  std::vector<float> x(3 * 5 * 32), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 7); // small whole numbers, so that all sums are exact
  ASSERT_EQ(run(2, x.data(), nullptr, y.data()), 0);
  for (int batch = 0; batch < 3; ++batch)
    for (int i = 0; i < 32; ++i) {
      float state = 2 * x[batch * 160 + i];
      for (int position = 5; position-- > 0; state *= 2) {
        state += x[batch * 160 + position * 32 + i];
        ASSERT_EQ(y[batch * 160 + position * 32 + i], state) << "position " << position << " column " << i;
      }
    }
}

TEST_F(LoweredEntry, RunsNoPositionOfAnEmptyRecurrence) {
  sizes[2] = 0;
  std::vector<float> x(3 * 32), y(1, 5.f);
  EXPECT_EQ(run(2, x.data(), nullptr, y.data()), 0);
  EXPECT_EQ(y[0], 5.f);
}

TEST_F(LoweredEntry, RunsLoopsOnTheCallersThreads) {
  struct Pool {
    attnrt_kernel_context context = {};
    int tasks = 0;
  } pool;
  pool.context.parallel_for = [](attnrt_kernel_context *context, attnrt_task task, int begin, int count,
                                 uint8_t *closure) {
    reinterpret_cast<Pool *>(context)->tasks += count;
    for (int i = begin + count; i-- > begin;)
      if (int code = task(context, i, closure))
        return code;
    return 0;
  };
  std::vector<float> x(15 * in);
  EXPECT_EQ(run(0, x.data(), &pool.context), 0);
  EXPECT_EQ(pool.tasks, 15);
}

TEST_F(LoweredEntry, ReturnsTheFirstKernelsErrorAndItsMessage) {
  struct Sink {
    attnrt_kernel_context context = {};
    std::string message;
  } sink;
  sink.context.report_error = [](attnrt_kernel_context *context, const char *message) {
    reinterpret_cast<Sink *>(context)->message = message;
  };
  sizes[0] = 13, sizes[2] = 1;
  std::vector<float> x(13 * in);
  EXPECT_EQ(run(0, x.data(), &sink.context), -27);
  EXPECT_EQ(sink.message, "a kernel failed: requirement does not hold (rows)");
}

TEST_F(LoweredEntry, TellsTheWatcherWhatEachKernelHasToDo) {
  struct Watcher {
    attnrt_kernel_context context = {};
    std::vector<std::array<int64_t, 3>> told; // kernel, operations, bytes
  } watcher;
  watcher.context.watch = [](attnrt_kernel_context *context, int32_t kernel, int64_t operations,
                             int64_t bytes) {
    reinterpret_cast<Watcher *>(context)->told.push_back({kernel, operations, bytes});
  };
  std::vector<float> x(15 * in);
  ASSERT_EQ(run(0, x.data(), &watcher.context), 0);
  const std::vector<std::array<int64_t, 3>> expected = {
      {0, 2 * 15 * in * out, 4 * (15 * in + 64 * in + out + 15 * out)}, // panels are whole: 64 columns
      {1, 0, 4 * 3 * 15 * 32},
      {2, 0, 4 * 3 * 15 * 32}}; // input, result, scratch
  EXPECT_EQ(watcher.told, expected);
}

TEST_F(LoweredEntry, ReturnsErrorsWithoutAContext) {
  sizes[0] = 13, sizes[2] = 1;
  std::vector<float> x(13 * in);
  EXPECT_EQ(run(0, x.data()), -27);
}

/// Neither the arena nor a tensor exists: an entry that went on would crash.
TEST_F(LoweredEntry, DoesNothingForSizesOutOfItsBounds) {
  for (auto [batch, source] :
       {std::pair<int64_t, int64_t>{1 << 20, 1 << 20}, {INT64_MAX, INT64_MAX}, {-1, 5}, {3, -5}}) {
    const int64_t broken[] = {batch, 7, source};
    attnrt_invocation call{};
    call.sizes = broken;
    EXPECT_EQ(toy->entries[0].run(&call), ATTNRT_SIZES_OUT_OF_RANGE) << batch << " x " << source;
  }
}

TEST_F(LoweredEntry, FormulasAreEvaluated) {
  EXPECT_EQ(toy->entries[0].arena_bytes(sizes), 448 * 15);
  EXPECT_EQ(toy->entries[1].arena_bytes(sizes), 128 * 15);
  EXPECT_EQ(toy->state_bytes(sizes), 64 + 128 * 3 * 7);
}

TEST_F(LoweredEntry, DescriptorTellsWhatIsInside) {
  EXPECT_EQ(toy->abi_version, uint32_t(ATTNRT_ABI_VERSION));
  EXPECT_EQ(toy->entry_count, 3u);
  EXPECT_EQ(toy->variant_count, 1u);
  EXPECT_EQ(toy->kernel_count, 3u);
  EXPECT_STREQ(toy->name, "toy");
  EXPECT_STREQ(toy->entries[0].name, "encode");
  EXPECT_STREQ(toy->entries[1].name, "recall");
  EXPECT_STREQ(toy->entries[2].name, "accumulate");
  EXPECT_STREQ(toy->variants[0].name, "x86-64");
  EXPECT_STREQ(toy->variants[0].features, "");
  EXPECT_STREQ(toy->manifest_hash, "0123456789abcdef0123456789abcdef");
}

/// Lowers the toy with one piece of its text replaced, and gives the error.
std::string errorAfter(const std::string &from, const std::string &to) {
  std::string text = toyText();
  size_t found = text.find(from);
  EXPECT_NE(found, std::string::npos);
  ParsedModule parsed(text.replace(found, from.size(), to));
  EXPECT_FALSE(attnc::lowerEntries(*parsed.module, "toy"));
  return parsed.errors;
}

TEST(SizeBounds, KeepTheLargestOfFormulasThatFollowFromEachOther) {
  ParsedModule parsed(toyText());
  mlir::FailureOr<attnc::PlannedModule> planned = attnc::readPlannedModule(*parsed.module);
  ASSERT_TRUE(succeeded(planned)) << parsed.errors;
  // The widest buffer is the argument, 64 floats a position.
  ASSERT_EQ(planned->entries[0].bounds.size(), 1u);
  EXPECT_EQ(planned->entries[0].bounds[0].formula.str(), "64 * batch * source");
  EXPECT_EQ(planned->entries[0].bounds[0].most, INT32_MAX);
}

TEST(LowerEntries, RejectsAModuleThatIsNotPlanned) {
  EXPECT_NE(errorAfter("attn.weight_bytes = 16640 : i64", "attn.other = 0 : i64").find("is not planned"),
            std::string::npos);
}

TEST(LowerEntries, RejectsAMergeOfHeadsThatLieApart) {
  EXPECT_NE(errorAfter(", [0, 2, 1, 3]>", ">").find("heads are not stored side by side"), std::string::npos);
}

TEST(LowerEntries, RejectsAStateWrittenElsewhere) {
  EXPECT_NE(errorAfter("places [#attn.place<state, #attn.size<64>>]",
                       "places [#attn.place<state, #attn.size<128>>]")
                .find("not in the state's place"),
            std::string::npos);
}

TEST(LowerEntries, RejectsAStateThatIsNotWhereItIsReadFrom) {
  std::string errors = errorAfter("%9 = attn.call @twice(%8) places [#attn.place<arena, #attn.size<0>>]",
                                  "%9 = attn.call @twice(%8) places [#attn.place<arena, #attn.size<64>>]");
  EXPECT_NE(errors.find("yields a value that is not in the place of result 1"), std::string::npos) << errors;
}

TEST(LowerEntries, RejectsAnOutputThatARecurrenceLacks) {
  std::string errors = errorAfter("#attn.place<output, #attn.size<0>>", "#attn.place<output, #attn.size<1>>");
  EXPECT_NE(errors.find("writes output 1, which is none of its recurrence"), std::string::npos) << errors;
}

TEST(LowerEntries, RejectsASizeThatTheModuleDoesNotHave) {
  EXPECT_NE(errorAfter("attn.arena = #attn.size<128 * batch * source>", "attn.arena = #attn.size<128 * row>")
                .find("'row', which is not a size"),
            std::string::npos);
}

} // namespace
