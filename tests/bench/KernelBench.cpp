//===- KernelBench.cpp - kernels against the machine's limits ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles kernels for each variant, checks them against the oracle and prints their speed as a share of the
// limit that is measured in the same run. One core. `KernelBench [part of a kernel's name [variant]]`.

#include "compiler/driver/MachineLimits.h"
#include "compiler/emit/CpuVariant.h"
#include "tests/kernels/KernelHarness.h"
#include "tests/reference/Interpret.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>

using namespace attnc::test;
using attnc::ProductType;
using reference::Array;

namespace {

struct Measurement {
  std::string name, text;
  Sizes sizes;
  double operations; // floating point
  double bytes;      // of weights that the caches near the core do not hold
  int64_t seen = 0;  // attention: keys that the mask, the last input, shows; 0: there is none
  ProductType type = ProductType::F32; // of the weights
  bool readsOwn = false;               // a step: row r reads source r, as the last input says
};

std::string linearText(int in, int out) {
  std::string x = "tensor<?x" + std::to_string(in) + "xf32, #attn.axes<row, width>>";
  std::string y = "tensor<?x" + std::to_string(out) + "xf32, #attn.axes<row, width>>";
  std::string w = "tensor<" + std::to_string(out) + "x" + std::to_string(in) + "xf32, #attn.panels<32>>";
  std::string b = "tensor<" + std::to_string(out) + "xf32>";
  return "attn.kernel @k {\n^bb0(%x: " + x + ", %w: " + w + ", %b: " + b +
         "):\n  %0 = attn.linear %x, %w bias %b : (" + x + ", " + w + ", " + b + ") -> " + y +
         "\n  %1 = attn.activation relu %0 : " + y + "\n  attn.yield %1 : " + y + "\n}\n";
}

/// Attention under a mask from outside: `allowed[batch, query, key] != 0`.
std::string allowedText() {
  std::string heads = "tensor<?x8x?x64xf32, #attn.axes<batch, head, ",
              scores = "tensor<?x8x?x?xf32, #attn.axes<batch, head, query, key>>";
  std::string q = heads + "query, width>>", k = heads + "key, width>>",
              table = "tensor<?x?x?xi32, #attn.axes<batch, query, key>>";
  return "attn.kernel @k {\n^bb0(%q: " + q + ", %k: " + k + ", %v: " + k + ", %allowed: " + table +
         "):\n  %0 = attn.matmul %q, %k transposed : (" + q + ", " + k + ") -> " + scores +
         "\n  %1 = attn.scale %0 by 0.125 : " + scores + "\n  %2 = attn.score_map %1 with (%allowed) : (" +
         scores + ", " + table + ") -> " + scores +
         " {\n  ^bb0(%score: f32, %b: i32, %h: i32, %at: i32, %to: i32, %table: " + table + R"():
    %zero = arith.constant 0 : i32
    %masked = arith.constant 0xFF800000 : f32
    %given = attn.element %table[%b, %at, %to] : )" +
         table + R"(
    %isSeen = arith.cmpi ne, %given, %zero : i32
    %result = arith.select %isSeen, %score, %masked : f32
    attn.yield %result : f32
  }
  %3 = attn.softmax %2 : )" +
         scores + "\n  %4 = attn.matmul %3, %v : (" + scores + ", " + k + ") -> " + q +
         "\n  attn.yield %4 : " + q + "\n}\n";
}

/// The same with a matrix of i8 or bf16.
std::string storedText(int in, int out, bool isInt8) {
  std::string x = "tensor<?x" + std::to_string(in) + "xf32, #attn.axes<row, width>>";
  std::string bytes = "tensor<?x" + std::to_string((in + 63) / 64 * 64) + "xui8, #attn.axes<row, width>>";
  std::string y = "tensor<?x" + std::to_string(out) + "xf32, #attn.axes<row, width>>";
  std::string w = "tensor<" + std::to_string(out) + "x" + std::to_string(in) +
                  (isInt8 ? "xi8, #attn.panels<32, 4>>" : "xbf16, #attn.panels<32, 2>>");
  std::string scales = "tensor<2x" + std::to_string((out + 31) / 32 * 32) + "xf32>";
  std::string b = "tensor<" + std::to_string(out) + "xf32>", s = "tensor<?x2xf32, #attn.axes<row, width>>";
  std::string text = "attn.kernel @k {\n^bb0(%x: " + (isInt8 ? bytes + ", %s: " + s : x) + ", %w: " + w +
                     (isInt8 ? ", %ws: " + scales : "") + ", %b: " + b + "):\n  %0 = attn.linear %x";
  text += isInt8 ? " scaled %s, %w scaled %ws bias %b : (" + bytes + ", " + s + ", " + w + ", " + scales
                 : ", %w bias %b : (" + x + ", " + w;
  return text + ", " + b + ") -> " + y + "\n  %1 = attn.activation relu %0 : " + y +
         "\n  attn.yield %1 : " + y + "\n}\n";
}

std::string quantiseText(int in) {
  std::string x = "tensor<?x" + std::to_string(in) + "xf32, #attn.axes<row, width>>";
  std::string bytes = "tensor<?x" + std::to_string((in + 63) / 64 * 64) + "xui8, #attn.axes<row, width>>";
  std::string s = "tensor<?x2xf32, #attn.axes<row, width>>";
  return "attn.kernel @k {\n^bb0(%x: " + x + "):\n  %0:2 = attn.quantise %x : (" + x + ") -> (" + bytes +
         ", " + s + ")\n  attn.yield %0#0, %0#1 : " + bytes + ", " + s + "\n}\n";
}

std::string attentionText(bool causal, bool padded = false, bool rounded = false) {
  std::string q = "tensor<?x8x?x64xf32, #attn.axes<batch, head, query, width>>";
  std::string k = causal ? q : "tensor<?x8x?x64xf32, #attn.axes<batch, head, key, width>>";
  std::string s = causal ? "tensor<?x8x?x?xf32, #attn.axes<batch, head, query, query>>"
                         : "tensor<?x8x?x?xf32, #attn.axes<batch, head, query, key>>";
  std::string lengths = "tensor<?xi32, #attn.axes<batch>>", rounding = rounded ? " rounded" : "";
  std::string text = "attn.kernel @k {\n^bb0(%q: " + q + ", %k: " + k + ", %v: " + k +
                     (padded ? ", %lengths: " + lengths : "") + "):\n  %0 = attn.matmul %q, %k transposed" +
                     rounding + " : (" + q + ", " + k + ") -> " + s +
                     "\n  %1 = attn.scale %0 by 0.125 : " + s + "\n";
  if (causal)
    text += "  %2 = attn.causal_mask %1 : " + s + "\n";
  if (padded)
    text += "  %2 = attn.padding_mask %1, %lengths : (" + s + ", " + lengths + ") -> " + s + "\n";
  return text + "  %3 = attn.softmax " + (causal || padded ? "%2" : "%1") + " : " + s +
         "\n  %4 = attn.matmul %3, %v" + rounding + " : (" + s + ", " + k + ") -> " + q +
         "\n  attn.yield %4 : " + q + "\n}\n";
}

/// One query for each row, as a decoder's step asks: row r reads the keys and values of source `sources[r]`.
std::string stepText(bool rounded) {
  std::string q = "tensor<?x8x1x64xf32, #attn.axes<row, head, query, width>>",
              s = "tensor<?x8x1x?xf32, #attn.axes<row, head, query, key>>",
              ids = "tensor<?xi32, #attn.axes<row>>",
              held = std::string("tensor<?x8x?x64x") + (rounded ? "bf16" : "f32") + ", #attn.axes<",
              source = held + "batch, head, key, width>>", k = held + "row, head, key, width>>";
  std::string take = ", %sources : (" + source + ", " + ids + ") -> " + k + "\n";
  return "attn.kernel @k {\n^bb0(%q: " + q + ", %keys: " + source + ", %values: " + source +
         ", %sources: " + ids + "):\n  %k = attn.take %keys" + take + "  %v = attn.take %values" + take +
         "  %0 = attn.matmul %q, %k transposed : (" + q + ", " + k + ") -> " + s +
         "\n  %1 = attn.scale %0 by 0.125 : " + s + "\n  %2 = attn.softmax %1 : " + s +
         "\n  %3 = attn.matmul %2, %v : (" + s + ", " + k + ") -> " + q + "\n  attn.yield %3 : " + q +
         "\n}\n";
}

std::vector<Measurement> measurements() {
  std::vector<Measurement> all;
  auto linear = [&](int64_t rows, int in, int out) {
    std::string name =
        "linear " + std::to_string(rows) + " x " + std::to_string(in) + " x " + std::to_string(out);
    double bytes = 4.0 * in * out;
    all.push_back(
        {name, linearText(in, out), {{"row", rows}}, bytes * double(rows) / 2, bytes > 1e7 ? bytes : 0});
  };
  for (int64_t rows : {256, 37, 9, 8, 4})
    linear(rows, 512, 512);
  linear(256, 512, 2048);
  linear(256, 2048, 512);
  for (int64_t rows : {64, 32, 24, 8, 4, 1}) // more weights than the second cache holds
    linear(rows, 512, 32000);
  for (bool isInt8 : {true, false}) {
    auto stored = [&](int64_t rows, int in, int out) {
      std::string name = std::string(isInt8 ? "int8 " : "bf16 ") + std::to_string(rows) + " x " +
                         std::to_string(in) + " x " + std::to_string(out);
      double weights = double(in) * out, bytes = weights * (isInt8 ? 1 : 2);
      all.push_back({name,
                     storedText(in, out, isInt8),
                     {{"row", rows}},
                     2 * weights * double(rows),
                     bytes > 4e6 ? bytes : 0,
                     0,
                     isInt8 ? ProductType::Int8 : ProductType::Bf16});
    };
    for (int64_t rows : {256, 37, 32, 9, 8, 4, 1})
      stored(rows, 512, 512);
    stored(256, 512, 2048);
    stored(256, 2048, 512);
    for (int64_t rows : {64, 32, 8, 4, 1})
      stored(rows, 512, 32000);
  }
  for (int64_t rows : {1, 256})
    all.push_back(
        {"quantise " + std::to_string(rows) + " x 512", quantiseText(512), {{"row", rows}}, 512.0 * rows, 0});
  for (bool rounded : {false, true})
    for (int64_t length : {512, 513, 128, 33})
      for (bool causal : {false, true}) {
        double pairs = double(length) * double(length) * (causal ? 0.5 : 1);
        all.push_back({std::string(rounded ? "bf16 " : "") + (causal ? "causal attention " : "attention ") +
                           std::to_string(length) + " x 8 x 64",
                       attentionText(causal, false, rounded),
                       {{"batch", 1}, {"query", length}, {"key", length}},
                       4.0 * 8 * 64 * pairs,
                       0,
                       0,
                       rounded ? ProductType::Bf16 : ProductType::F32});
      }
  for (bool rounded : {false, true})
    for (auto [rows, keys] : {std::pair(1, 16), std::pair(1, 32), std::pair(1, 512), std::pair(64, 32)}) {
      double operations = 4.0 * 8 * 64 * rows * keys, bytes = operations * (rounded ? 1 : 2);
      all.push_back({std::string(rounded ? "bf16 " : "") + "step attention " + std::to_string(rows) +
                         " x 8 x 64, " + std::to_string(keys) + " keys",
                     stepText(rounded),
                     {{"row", rows}, {"batch", rows}, {"key", keys}},
                     operations,
                     bytes > 4e6 ? bytes : 0});
      all.back().readsOwn = true;
    }
  for (int64_t seen : {2048, 1024, 128})
    all.push_back({"padded attention 2048, " + std::to_string(seen) + " seen",
                   attentionText(false, true),
                   {{"batch", 1}, {"query", 2048}, {"key", 2048}},
                   4.0 * 8 * 64 * 2048 * double(seen),
                   0,
                   seen});
  for (auto [length, seen] : {std::pair(512, 512), std::pair(2048, 2048), std::pair(2048, 128)})
    all.push_back({"masked attention " + std::to_string(length) + ", " + std::to_string(seen) + " seen",
                   allowedText(),
                   {{"batch", 1}, {"query", length}, {"key", length}},
                   4.0 * 8 * 64 * length * double(seen),
                   0,
                   seen});
  return all;
}

/// As `--target` names it.
std::string nameOf(const Variant &variant) { return variant.name == "baseline" ? "x86-64" : variant.name; }

/// What `variant` can do, per second.
struct Limits {
  std::map<ProductType, double> operations;
  double bytes;
};

Limits limitsOf(const Variant &variant) {
  const std::string features = llvm::cantFail(attnc::parseTargets(variant.halide)).front().features;
  Limits limits{{}, attnc::readLimit(1, 4 * 512 * 32000)};
  for (ProductType type : {ProductType::F32, ProductType::Bf16, ProductType::Int8})
    limits.operations[type] = attnc::productLimit(1, type, features);
  if (!variant.roundsRows()) // it widens bfloat16, whatever its processors have
    limits.operations[ProductType::Bf16] = limits.operations[ProductType::F32];
  return limits;
}

void measure(const Measurement &what, const Variant &variant, const Limits &limits) {
  const double arithmetic = limits.operations.at(what.type);
  double bandwidth = limits.bytes;
  TestKernel kernel(what.text);
  auto start = std::chrono::steady_clock::now();
  if (!kernel.load(variant))
    return;
  double compiling = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<Array> inputs = kernel.randomInputs(what.sizes, {}, 1);
  if (Array &mask = inputs.back(); what.seen != 0)
    for (int64_t i = 0; i < mask.size(); ++i) // lengths, or ones and zeros
      mask.values[size_t(i)] =
          mask.shape.size() == 1 ? double(what.seen) : double(i % mask.extent(-1) < what.seen);
  if (what.readsOwn)
    std::iota(inputs.back().values.begin(), inputs.back().values.end(), 0);
  double difference =
      largestDifference(reference::interpret(kernel.op(), inputs, 0)[0], kernel.run(inputs, what.sizes)[0]);
  double seconds = kernel.fastestRun(inputs, what.sizes);
  // Other programs share the memory's bandwidth: the limit is taken right after the kernel as well.
  if (what.bytes > 0)
    bandwidth = std::max(bandwidth, attnc::readLimit(1, size_t(what.bytes)));
  // What takes longer at the limit, sums or reading, is what the kernel is held against.
  bool reads = what.bytes / bandwidth > what.operations / arithmetic;
  double rate = (reads ? what.bytes : what.operations) / seconds;
  std::printf("%-9s %-30s %9.1f us %7.1f %s %5.1f%% of the limit, error %.1e, built in %.2f s\n",
              nameOf(variant).c_str(), what.name.c_str(), seconds * 1e6, rate * 1e-9,
              reads ? "GB/s    " : "GFLOP/s ", 100 * rate / (reads ? bandwidth : arithmetic), difference,
              compiling);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  const std::string wanted = argc > 1 ? argv[1] : "", wantedVariant = argc > 2 ? argv[2] : "";
  std::vector<Measurement> chosen = measurements();
  std::erase_if(chosen, [&](const Measurement &what) { return what.name.find(wanted) == std::string::npos; });
  if (chosen.empty()) {
    std::fprintf(stderr, "KernelBench: no kernel's name has '%s' in it\n", wanted.c_str());
    return 2;
  }
  std::string variants; // that there are
  bool isFound = false;
  for (const Variant &variant : runnableVariants()) {
    const std::string name = nameOf(variant);
    if (variant.asserts)
      continue;
    variants += " " + name;
    if (!wantedVariant.empty() && name != wantedVariant)
      continue;
    isFound = true;
    const Limits limits = limitsOf(variant);
    std::printf("%-9s limits: %.1f GFLOP/s, %.1f GB/s\n", name.c_str(),
                limits.operations.at(ProductType::F32) * 1e-9, limits.bytes * 1e-9);
    for (const Measurement &what : chosen)
      measure(what, variant, limits);
  }
  if (isFound)
    return 0;
  std::fprintf(stderr, "KernelBench: no variant '%s' runs here; those that do:%s\n", wantedVariant.c_str(),
               variants.c_str());
  return 2;
}
