//===- CpuVariant.cpp - what `--target` may name ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/CpuVariant.h"

#include "attnrt/cpu.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <set>

using llvm::StringRef;

namespace attnc {
namespace {

/// A feature of Halide's target strings, and what the CPU must have for the code that comes out. Halide names
/// a CPU to LLVM for some, whose instructions beside those of vectors may be in the code, too: Penryn for
/// SSE4.1, Sandy Bridge for AVX, Haswell for AVX2, Zen 4 and Sapphire Rapids for the last two. (Of Zen 4's,
/// SSE4A is not asked for, which Intel's lack: driver.instructions finds no code with it.)
struct Feature {
  StringRef name;
  StringRef cpu;
  StringRef more = ""; // the feature whose CPU has these instructions, too
};

constexpr StringRef skylake = "avx512f avx512cd avx512vl avx512dq avx512bw";
const Feature features[] = {
    {"sse41", "ssse3 sse4_1"},
    {"avx", "avx sse4_2 popcnt", "sse41"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"avx2", "avx2 f16c fma bmi1 bmi2 abm movbe", "avx"},
    {"avxvnni", "avx_vnni"},
    {"avx512", "avx512f avx512cd", "avx2"},
    {"avx512_skylake", skylake, "avx2"},
    {VnniFeature, "avx512_vnni"},
    {"avx512_cannonlake", "avx512ifma avx512vbmi", "avx512_skylake"},
    {"avx512_zen4", "avx512_bf16 avx512_vnni avx512_bitalg avx512_vbmi2 avx512_vpopcntdq gfni",
     "avx512_cannonlake"},
    {"avx512_sapphirerapids", "avx512_fp16 avx_vnni amx_tile amx_int8 amx_bf16", "avx512_zen4"},
    {"tune_znver4", "sse4a"},          // which AMD's have and no others
    {"tune_znver5", "sse4a avx_vnni"}, // the second of which Zen 4 lacks; no kernel needs it
};

const Feature *findFeature(StringRef name) {
  const Feature *found = llvm::find_if(features, [&](const Feature &each) { return each.name == name; });
  return found == std::end(features) ? nullptr : found;
}

/// What the CPU must have for `feature`, the features that it builds on included.
void addWhatIsNeeded(const Feature *feature, std::set<std::string> &cpu) {
  for (; feature; feature = findFeature(feature->more))
    for (StringRef word : llvm::split(feature->cpu, ' '))
      cpu.insert(word.str());
}

struct NamedTarget {
  StringRef name;
  StringRef target;
  bool forIntegers = false, forBfloats = false; // better than those before for such weights only

  bool suits(NarrowWeights narrow) const {
    bool isForAll = !forIntegers && !forBfloats;
    return isForAll || (forIntegers && narrow.integers) || (forBfloats && narrow.bfloats);
  }
};
const NamedTarget defaults[] = {
    {"x86-64", "x86-64-linux"},
    {"avx2", "x86-64-linux-avx-avx2-f16c-fma-sse41"},
    {"avxvnni", "x86-64-linux-avx-avx2-avxvnni-f16c-fma-sse41", true},
    {"avx512", "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41"},
    {"cascadelake", "x86-64-linux-avx-avx2-avx512-avx512_skylake-avx512_vnni-f16c-fma-sse41", true},
    {"vnni", "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_skylake-avx512_zen4-f16c-fma-sse41",
     true},
    // Intel's take twice the time for an instruction that adds up pairs of bfloat16, and other tiles.
    {"zen4",
     "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_skylake-avx512_zen4-f16c-fma-sse41-tune_znver4"},
    {"zen5",
     "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_skylake-avx512_zen4-f16c-fma-sse41-tune_znver5"},
    {"amx",
     "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_sapphirerapids-avx512_skylake-avx512_zen4-f16c-"
     "fma-sse41",
     true, true},
};

/// Reads a Halide target string, `x86-64[-linux][-FEATURE...]`.
llvm::Expected<CpuVariant> parseTarget(StringRef text) {
  StringRef rest = text;
  if (!rest.consume_front("x86-64"))
    return llvm::createStringError("target '" + text +
                                   "' is unknown or not built yet; this version takes host, " +
                                   targetNames() + " and x86-64-linux-FEATURE...");
  rest.consume_front("-linux");
  std::set<std::string> cpu, names; // sorted, so the order on the command line does not matter
  llvm::SmallVector<StringRef> words;
  rest.split(words, '-', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    const Feature *known = findFeature(word);
    if (!known)
      return llvm::createStringError(
          "target '" + text + "' has the feature '" + word +
          "', which this version does not know; it knows " +
          llvm::join(llvm::map_range(features, [](const Feature &feature) { return feature.name.str(); }),
                     ", "));
    names.insert(word.str());
    addWhatIsNeeded(known, cpu);
  }
  if (names.count("avx512") && !names.count("avx512_skylake"))
    return llvm::createStringError("target '" + text +
                                   "' has the feature 'avx512', which this version takes only beside "
                                   "'avx512_skylake'");
  CpuVariant variant;
  variant.target = "x86-64-linux";
  for (const std::string &name : names)
    variant.target += "-" + name;
  variant.name = names.empty() ? "x86-64" : llvm::join(names, "-");
  variant.features = llvm::join(cpu, " ");
  for (const NamedTarget &named : defaults)
    if (named.target == variant.target)
      variant.name = named.name.str();
    else if (named.name == variant.name) // which asks for more than the feature of that name
      variant.name = "x86-64-" + variant.name;
  return variant;
}

llvm::Expected<CpuVariant> parseOne(StringRef text, NarrowWeights narrow) {
  if (text == "host") {
    for (const NamedTarget &named : llvm::reverse(defaults)) {
      if (!named.suits(narrow))
        continue;
      llvm::Expected<CpuVariant> variant = parseTarget(named.target);
      if (!variant || runsHere(*variant))
        return variant;
    }
    return llvm::createStringError("this machine is not x86-64: this version compiles for no other");
  }
  for (const NamedTarget &named : defaults)
    if (named.name == text)
      return parseTarget(named.target);
  return parseTarget(text);
}

} // namespace

std::string targetNames() {
  return llvm::join(llvm::map_range(defaults, [](const NamedTarget &named) { return named.name; }), ", ");
}

llvm::Expected<std::vector<CpuVariant>> parseTargets(StringRef list, NarrowWeights narrow) {
  llvm::SmallVector<StringRef> words;
  list.split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (list.empty())
    for (const NamedTarget &named : defaults)
      if (named.suits(narrow))
        words.push_back(named.name);
  if (words.empty())
    return llvm::createStringError("targets '" + list + "' name no target");
  std::vector<CpuVariant> variants;
  for (StringRef word : words) {
    llvm::Expected<CpuVariant> variant = parseOne(word.trim(), narrow);
    if (!variant)
      return variant.takeError();
    if (llvm::none_of(variants, [&](const CpuVariant &other) { return other.name == variant->name; }))
      variants.push_back(std::move(*variant));
  }
  auto demands = [](const CpuVariant &variant) {
    return llvm::count(variant.features, ' ') + !variant.features.empty();
  };
  llvm::stable_sort(variants, [&](const auto &a, const auto &b) { return demands(a) < demands(b); });
  return variants;
}

bool runsHere(const CpuVariant &variant) {
  return llvm::Triple(llvm::sys::getProcessTriple()).getArch() == llvm::Triple::x86_64 &&
         attnrt_cpu_runs(variant.features.c_str());
}

std::string halidesTarget(StringRef target) {
  auto [before, after] = target.split(("-" + VnniFeature).str());
  return (before + after).str();
}

} // namespace attnc
