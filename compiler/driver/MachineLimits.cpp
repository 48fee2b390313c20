//===- MachineLimits.cpp - what this machine can do at most -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Independent instructions in registers, and streams of vector loads.

#include "compiler/driver/MachineLimits.h"
#include "compiler/driver/Timing.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <immintrin.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace attnc {

constexpr int Rounds = 200000;

namespace {
struct Features {
  std::string text;
  bool has(const std::string &feature) const {
    return (" " + text + " ").find(" " + feature + " ") != std::string::npos;
  }
};

/// What a thread does again and again: `work` is as much as `amount`, and takes less than a millisecond.
struct Load {
  double amount;
  std::function<void()> work;
};
} // namespace

// Twelve sums: three for each of four cycles of latency. All registers start at zero (numbers that are not
// normal are slow) and stay there.
static void fuseWide() {
  __asm__ volatile("vzeroall\n vpxorq %%zmm31, %%zmm31, %%zmm31" ::: "memory");
  for (int i = 0; i < Rounds; ++i)
    __asm__ volatile("vfmadd231ps %%zmm31, %%zmm31, %%zmm0\n vfmadd231ps %%zmm31, %%zmm31, %%zmm1\n"
                     "vfmadd231ps %%zmm31, %%zmm31, %%zmm2\n vfmadd231ps %%zmm31, %%zmm31, %%zmm3\n"
                     "vfmadd231ps %%zmm31, %%zmm31, %%zmm4\n vfmadd231ps %%zmm31, %%zmm31, %%zmm5\n"
                     "vfmadd231ps %%zmm31, %%zmm31, %%zmm6\n vfmadd231ps %%zmm31, %%zmm31, %%zmm7\n"
                     "vfmadd231ps %%zmm31, %%zmm31, %%zmm8\n vfmadd231ps %%zmm31, %%zmm31, %%zmm9\n"
                     "vfmadd231ps %%zmm31, %%zmm31, %%zmm10\n vfmadd231ps %%zmm31, %%zmm31, %%zmm11" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                           "xmm10", "xmm11");
}

static void fuseNarrow() {
  __asm__ volatile("vzeroall" ::: "memory");
  for (int i = 0; i < Rounds; ++i)
    __asm__ volatile("vfmadd231ps %%ymm15, %%ymm15, %%ymm0\n vfmadd231ps %%ymm15, %%ymm15, %%ymm1\n"
                     "vfmadd231ps %%ymm15, %%ymm15, %%ymm2\n vfmadd231ps %%ymm15, %%ymm15, %%ymm3\n"
                     "vfmadd231ps %%ymm15, %%ymm15, %%ymm4\n vfmadd231ps %%ymm15, %%ymm15, %%ymm5\n"
                     "vfmadd231ps %%ymm15, %%ymm15, %%ymm6\n vfmadd231ps %%ymm15, %%ymm15, %%ymm7\n"
                     "vfmadd231ps %%ymm15, %%ymm15, %%ymm8\n vfmadd231ps %%ymm15, %%ymm15, %%ymm9\n"
                     "vfmadd231ps %%ymm15, %%ymm15, %%ymm10\n vfmadd231ps %%ymm15, %%ymm15, %%ymm11" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                           "xmm10", "xmm11");
}

static void multiplyAndAdd() {
  __asm__ volatile(
      "xorps %%xmm4, %%xmm4\n xorps %%xmm5, %%xmm5\n xorps %%xmm6, %%xmm6\n xorps %%xmm7, %%xmm7\n"
      "xorps %%xmm8, %%xmm8\n xorps %%xmm9, %%xmm9\n xorps %%xmm10, %%xmm10\n xorps %%xmm11, %%xmm11\n"
      "xorps %%xmm15, %%xmm15" ::
          : "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm15");
  for (int i = 0; i < Rounds; ++i)
    __asm__ volatile("movaps %%xmm15, %%xmm0\n mulps %%xmm15, %%xmm0\n addps %%xmm0, %%xmm4\n"
                     "movaps %%xmm15, %%xmm1\n mulps %%xmm15, %%xmm1\n addps %%xmm1, %%xmm5\n"
                     "movaps %%xmm15, %%xmm2\n mulps %%xmm15, %%xmm2\n addps %%xmm2, %%xmm6\n"
                     "movaps %%xmm15, %%xmm3\n mulps %%xmm15, %%xmm3\n addps %%xmm3, %%xmm7\n"
                     "movaps %%xmm15, %%xmm0\n mulps %%xmm15, %%xmm0\n addps %%xmm0, %%xmm8\n"
                     "movaps %%xmm15, %%xmm1\n mulps %%xmm15, %%xmm1\n addps %%xmm1, %%xmm9\n"
                     "movaps %%xmm15, %%xmm2\n mulps %%xmm15, %%xmm2\n addps %%xmm2, %%xmm10\n"
                     "movaps %%xmm15, %%xmm3\n mulps %%xmm15, %%xmm3\n addps %%xmm3, %%xmm11" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                           "xmm10", "xmm11");
}

#define ATTNC_ADD(add, vector, sum) add " %%" vector "15, %%" vector "15, %%" vector #sum "\n "
#define ATTNC_SUM_LOOP(name, add, vector)                                                                    \
  static void name() {                                                                                       \
    __asm__ volatile("vzeroall" ::: "memory");                                                               \
    for (int i = 0; i < Rounds; ++i)                                                                         \
      __asm__ volatile(ATTNC_ADD(add, vector, 0) ATTNC_ADD(add, vector, 1) ATTNC_ADD(add, vector, 2) /**/    \
                       ATTNC_ADD(add, vector, 3) ATTNC_ADD(add, vector, 4) ATTNC_ADD(add, vector, 5) /**/    \
                       ATTNC_ADD(add, vector, 6) ATTNC_ADD(add, vector, 7) ATTNC_ADD(add, vector, 8) /**/    \
                       ATTNC_ADD(add, vector, 9) ATTNC_ADD(add, vector, 10) ATTNC_ADD(add, vector, 11)::     \
                           : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                             "xmm10", "xmm11");                                                              \
  }
ATTNC_SUM_LOOP(sumProductsWide, "vpdpbusd", "zmm")
ATTNC_SUM_LOOP(sumProducts, "%{vex%} vpdpbusd", "ymm")
ATTNC_SUM_LOOP(sumPairs, "vdpbf16ps", "zmm")

// Pairs in 16 bits, pairs of those in 32, and a sum.
#define ATTNC_SUM_PAIRS(vector, product, sum)                                                                \
  "vpmaddubsw %%" vector "15, %%" vector "15, %%" vector product "\n vpmaddwd %%" vector                     \
  "15, %%" vector product ", %%" vector product "\n vpaddd %%" vector product ", %%" vector sum              \
  ", %%" vector sum "\n "
#define ATTNC_SUM_PAIRS_LOOP(name, vector)                                                                   \
  static void name() {                                                                                       \
    __asm__ volatile("vzeroall" ::: "memory");                                                               \
    for (int i = 0; i < Rounds; ++i)                                                                         \
      __asm__ volatile(ATTNC_SUM_PAIRS(vector, "0", "4") ATTNC_SUM_PAIRS(vector, "1", "5") /**/              \
                       ATTNC_SUM_PAIRS(vector, "2", "6") ATTNC_SUM_PAIRS(vector, "3", "7") /**/              \
                       ATTNC_SUM_PAIRS(vector, "0", "8") ATTNC_SUM_PAIRS(vector, "1", "9") /**/              \
                       ATTNC_SUM_PAIRS(vector, "2", "10") ATTNC_SUM_PAIRS(vector, "3", "11")::               \
                           : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                             "xmm10", "xmm11");                                                              \
  }
ATTNC_SUM_PAIRS_LOOP(sumSaturatingProducts, "ymm")
ATTNC_SUM_PAIRS_LOOP(sumSaturatingProductsWide, "zmm")

/// Numbers as in real work: zeros would run faster. Any bits but those of exponents at the end of the range
/// do for bfloat16.
constexpr int TileBytes = 1024;
struct TileData {
  alignas(64) unsigned char rows[2][8][TileBytes], columns[2][8][TileBytes];
  TileData() {
    unsigned state = 1;
    unsigned char *bytes = &rows[0][0][0];
    for (size_t i = 0; i < sizeof(TileData); ++i)
      bytes[i] =
          static_cast<unsigned char>((state = state * 1664525 + 1013904223) >> 24) & (i % 2 ? 0xbf : 0xff);
  }
};

#define ATTNC_TILE_LOOP(name, multiply)                                                                      \
  __attribute__((target("amx-tile,amx-int8,amx-bf16"))) static void name(const TileData &data) {             \
    for (int i = 0; i < Rounds / 64; ++i)                                                                    \
      for (int step = 0; step < 8; ++step) {                                                                 \
        _tile_loadd(6, data.columns[0][step], 64);                                                           \
        _tile_loadd(4, data.rows[0][step], 64);                                                              \
        multiply(0, 4, 6);                                                                                   \
        _tile_loadd(5, data.rows[1][step], 64);                                                              \
        multiply(2, 5, 6);                                                                                   \
        _tile_loadd(7, data.columns[1][step], 64);                                                           \
        multiply(1, 4, 7);                                                                                   \
        multiply(3, 5, 7);                                                                                   \
      }                                                                                                      \
  }
ATTNC_TILE_LOOP(multiplyByteTiles, _tile_dpbusd)
ATTNC_TILE_LOOP(multiplyBfloatTiles, _tile_dpbf16ps)

/// Tiles come from the first cache: two and two for four products.
__attribute__((target("amx-tile"))) static void multiplyTiles(ProductType type) {
  static const TileData data;
  struct {
    unsigned char palette = 1, start = 0, reserved[14] = {};
    unsigned short bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shape;
  __asm__ volatile("" ::: "memory"); // the compiler does not know that all of it is read
  _tile_loadconfig(&shape);
  (type == ProductType::Int8 ? multiplyByteTiles : multiplyBfloatTiles)(data);
  _tile_release();
}

static Load tileLoad(ProductType type) {
  double products = 16.0 * 16 * (type == ProductType::Int8 ? 64 : 32);
  return {double(Rounds / 64) * 8 * 4 * 2 * products, [=] { multiplyTiles(type); }};
}

static Load floatLoad(const Features &features) {
  if (features.has("avx512f"))
    return {Rounds * 12.0 * 2 * 16, fuseWide};
  if (features.has("fma"))
    return {Rounds * 12.0 * 2 * 8, fuseNarrow};
  return {Rounds * 8.0 * 2 * 4, multiplyAndAdd};
}

static std::optional<Load> bfloatLoad(const Features &features) {
  if (features.has("amx_bf16"))
    return tileLoad(ProductType::Bf16);
  if (features.has("avx512_bf16"))
    return Load{Rounds * 12.0 * 2 * 32, sumPairs};
  return std::nullopt;
}

/// Sums of 32 bits: by three instructions, the first of which may saturate, or by VNNI's one.
static std::optional<Load> byteLoad(const Features &features) {
  if (features.has("amx_int8"))
    return tileLoad(ProductType::Int8);
  if (features.has("avx512_vnni"))
    return Load{Rounds * 12.0 * 2 * 64, sumProductsWide};
  if (features.has("avx512bw"))
    return Load{Rounds * 8.0 * 2 * 64, sumSaturatingProductsWide};
  if (features.has("avx_vnni"))
    return Load{Rounds * 12.0 * 2 * 32, sumProducts};
  if (features.has("avx2"))
    return Load{Rounds * 8.0 * 2 * 32, sumSaturatingProducts};
  return std::nullopt;
}

/// Bytes that lie one after the other, read in parts.
class ReadBytes {
public:
  explicit ReadBytes(size_t bytes) {
    const size_t size = (bytes + HugePage - 1) / HugePage * HugePage, stream = bytes / Streams;
    parts = std::max<size_t>(1, stream / UsualPart);
    part = std::max<size_t>(1, stream / parts / AtOnce) * AtOnce;
    memory.reset(static_cast<char *>(std::aligned_alloc(HugePage, size)));
    if (!memory)
      return;
    madvise(memory.get(), size, MADV_HUGEPAGE); // where it is refused, the limit is that of small pages
    std::memset(memory.get(), 1, size);
  }

  double bytesOfPart() const { return memory ? double(part * Streams) : 0; }

  void readPart() {
    if (!memory)
      return;
    const char *start = memory.get() + next * part;
    next = (next + 1) % parts;
    for (size_t at = 0; at < part; at += AtOnce)
      for (size_t stream = 0; stream < Streams; ++stream)
        for (size_t line = 0; line < AtOnce; line += 64)
          __asm__ volatile(
              "movups (%0), %%xmm0\n movups 16(%0), %%xmm1\n"
              "movups 32(%0), %%xmm2\n movups 48(%0), %%xmm3" ::"r"(start + stream * parts * part + at + line)
              : "xmm0", "xmm1", "xmm2", "xmm3");
  }

private:
  /// Read side by side, so that the prefetchers of many pages work at once: one stream alone is slower than a
  /// matmul's tiles.
  static constexpr size_t Streams = 8;
  static constexpr size_t HugePage = 2 << 20, UsualPart = 32 << 10, AtOnce = 256;

  std::unique_ptr<char, decltype(&std::free)> memory{nullptr, &std::free};
  size_t part, parts, next = 0; // of each stream
};

/// How much of `load` is done in a second, for a while.
static double rateOf(const Load &load) {
  const auto start = Clock::now();
  Clock::duration taken;
  double done = 0;
  do {
    load.work();
    done += load.amount;
    taken = Clock::now() - start;
  } while (taken < std::chrono::milliseconds(10));
  return done / std::chrono::duration<double>(taken).count();
}

/// What all threads do in a second together, each with a load of its own that `prepare` makes: the most of
/// several times, in each of which they begin at once.
static double rateTogether(int threads, const std::function<Load()> &prepare) {
  constexpr int times = 10;
  std::vector<std::array<double, times>> rates(threads);
  std::promise<bool> allStarted;
  std::shared_future<bool> mayBegin = allStarted.get_future().share();
  std::barrier together(threads);
  auto measure = [&](std::array<double, times> &own) {
    if (!mayBegin.get())
      return;
    const Load load = prepare();
    for (double &rate : own) {
      together.arrive_and_wait();
      rate = rateOf(load);
    }
  };
  std::vector<std::thread> running;
  running.reserve(rates.size());
  try {
    for (auto &own : rates)
      running.emplace_back(measure, std::ref(own));
  } catch (const std::exception &) { // said below
  }
  allStarted.set_value(running.size() == rates.size());
  for (std::thread &thread : running)
    thread.join();
  if (running.size() < rates.size())
    throw std::runtime_error("only " + std::to_string(running.size()) + " of " + std::to_string(threads) +
                             " threads could be started to measure the machine's limits");
  double most = 0;
  for (int time = 0; time < times; ++time) {
    double sum = 0;
    for (const auto &own : rates)
      sum += own[time];
    most = std::max(most, sum);
  }
  return most;
}

double productLimit(int threads, ProductType type, std::string_view text) {
  const Features features{std::string(text)};
  auto limit = [&](const Load &load) { return rateTogether(threads, [&] { return load; }); };
  const double floats = limit(floatLoad(features));
  if (type == ProductType::F32)
    return floats;
  const std::optional<Load> narrow = type == ProductType::Bf16 ? bfloatLoad(features) : byteLoad(features);
  return narrow ? std::max(floats, limit(*narrow)) : floats;
}

double readLimit(int threads, size_t bytes) {
  return rateTogether(threads, [=]() -> Load {
    auto memory = std::make_shared<ReadBytes>(bytes / threads);
    return {memory->bytesOfPart(), [memory] { memory->readPart(); }};
  });
}

} // namespace attnc
