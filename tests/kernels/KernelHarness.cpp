//===- KernelHarness.cpp - compiles, runs and checks single kernels ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Objects are linked with Halide's runtime into a shared library, whose parallel loops and errors come back
// here.

#include "tests/kernels/KernelHarness.h"

#include "compiler/emit/CompileKernel.h"
#include "compiler/emit/CpuVariant.h"
#include "compiler/emit/shim/EmbeddedFiles.h"
#include "tests/kernels/TileEmulator.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"

#include <Halide.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

static int parallelThreads = 1;
static std::string lastError;

// Kernels' loads of these symbols find the program's own before the runtime's.
extern "C" int halide_do_par_for(void *context, halide_task_t task, int begin, int count, uint8_t *closure) {
  std::atomic<int> next = begin, failure = 0;
  auto work = [&] {
    for (int index = next++; index < begin + count; index = next++)
      if (int code = task(context, index, closure))
        failure = code;
  };
  std::vector<std::thread> others;
  for (int i = 1; i < parallelThreads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  return failure;
}

extern "C" void halide_error(void *, const char *message) { lastError = message; }

namespace attnc::test {

using reference::Array;

void setThreads(int threads) { parallelThreads = threads; }

/// What a variant asks for beside features that begin so.
static attnc::CpuVariant without(attnc::CpuVariant variant, llvm::StringRef prefix) {
  std::vector<llvm::StringRef> kept;
  for (llvm::StringRef feature : llvm::split(variant.features, ' '))
    if (!feature.starts_with(prefix))
      kept.push_back(feature);
  variant.features = llvm::join(kept, " ");
  return variant;
}

static bool hasMatrixTiles(const attnc::CpuVariant &variant) {
  return llvm::is_contained(llvm::split(variant.features, ' '), "amx_tile");
}

/// Without what a variant asks for and its kernels do not use: Zen 5's asks for AVX-VNNI to tell it from Zen
/// 4, that of matrix instructions for what the CPU has that Halide names to LLVM.
static attnc::CpuVariant whatIsUsed(const attnc::CpuVariant &variant) {
  if (variant.name == "zen5")
    return without(variant, "avx_vnni");
  return hasMatrixTiles(variant) ? without(without(variant, "avx_vnni"), "avx512_fp16") : variant;
}

/// Whether this machine runs a variant, matrix instructions one by one if the environment asks for that.
static bool isRunnable(const attnc::CpuVariant &asked) {
  const attnc::CpuVariant variant = whatIsUsed(asked);
  if (attnc::runsHere(variant))
    return true;
  return hasMatrixTiles(variant) && getenv("ATTNC_EMULATE_TILES") &&
         attnc::runsHere(without(variant, "amx")) && emulateTiles();
}

/// Whether that is so of its kernels with Halide's checks, too, in which LLVM takes more of what it may.
static bool isRunnableWithChecks(const attnc::CpuVariant &variant) {
  return attnc::runsHere(hasMatrixTiles(variant) ? without(variant, "amx") : variant);
}

void PrintTo(const Variant &variant, std::ostream *out) { *out << variant.name; }

std::vector<Variant> runnableVariants() {
  std::vector<Variant> variants = {{"baseline", "x86-64-linux", false}};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    variants.push_back({"avx2", "x86-64-linux-avx-avx2-f16c-fma-sse41", false});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    variants.push_back({"avx512", "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41", false});
  std::vector<Variant> checked = {variants.back()};
  for (const attnc::CpuVariant &typed :
       llvm::cantFail(attnc::parseTargets("avxvnni,cascadelake,vnni,zen4,zen5,amx"))) {
    if (!isRunnable(typed))
      continue;
    variants.push_back({typed.name, typed.target, false});
    if (variants.back().roundsRows() && isRunnableWithChecks(typed) &&
        typed.name != "zen5") // whose sums are Zen 4's
      checked.push_back(variants.back());
  }
  for (const Variant &variant : checked)
    variants.push_back({variant.name + "_asserts", variant.halide, true});
  return variants;
}

struct TestKernel::Impl {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  attn::KernelOp kernel;
  std::string text, object;
  void *library = nullptr;
  void *function = nullptr;
  bool isTuned = false;
};

/// The most arguments of a kernel under test. The x86-64 calling convention lets a function ignore arguments,
/// so one type serves all kernels.
constexpr size_t MostArguments = 16;
template <size_t... Index>
static int call(void *function, void *const *arguments, std::index_sequence<Index...>) {
  using Function = int (*)(decltype(static_cast<void>(Index), static_cast<void *>(nullptr))...);
  return reinterpret_cast<Function>(function)(arguments[Index]...);
}

/// A folder for this process's objects, removed at its end.
static const std::string &testFolder() {
  struct Folder {
    Folder() {
      path = (std::filesystem::temp_directory_path() / "attnc-kernels-XXXXXX").string();
      if (!mkdtemp(path.data()))
        abort();
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
  };
  static const Folder folder;
  return folder.path;
}

TestKernel::TestKernel(const std::string &text) : impl(std::make_unique<Impl>()) {
  impl->context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect>();
  impl->module = mlir::parseSourceString<mlir::ModuleOp>(text, &impl->context);
  impl->text = text;
  if (!impl->module) {
    ADD_FAILURE() << "the kernel's text does not parse:\n" << text;
    return;
  }
  for (auto kernel : impl->module->getOps<attn::KernelOp>())
    impl->kernel = kernel;
}

TestKernel::~TestKernel() {
  if (impl->library)
    dlclose(impl->library);
}

attn::KernelOp TestKernel::op() const { return impl->kernel; }

static std::string runtimeObject(const std::string &halide) {
  std::string path = testFolder() + "/" + halide + ".o";
  if (!std::filesystem::exists(path))
    Halide::compile_standalone_runtime(path, Halide::Target(attnc::halidesTarget(halide)));
  return path;
}

/// What bundles carry for kernels to call. What Halide's runtime has is taken from there.
static std::string carriedFile() {
  std::string path = testFolder() + "/carried.a";
  if (!std::filesystem::exists(path))
    std::ofstream(path, std::ios::binary) << attnc::carriedLibrary();
  return path;
}

namespace {
struct CompiledKernel {
  std::string files; // less .o and .so
  bool isTuned = false;
};
} // namespace

/// The object and the library of a kernel; compiled once, whatever number of tests look at it.
static std::optional<CompiledKernel> compiled(attn::KernelOp kernel, const std::string &text,
                                              const Variant &variant, const ScheduleChoice &choice) {
  static std::map<std::string, CompiledKernel> done;
  auto [place, isNew] = done.try_emplace(variant.name + choiceText(choice) + text,
                                         CompiledKernel{testFolder() + "/" + std::to_string(done.size())});
  if (!isNew)
    return place->second;
  std::string object = place->second.files + ".o", library = place->second.files + ".so";
  llvm::Expected<bool> isTuned =
      compileKernel(kernel, {variant.halide, variant.asserts, choice}, "kernel_under_test", object);
  if (!isTuned) {
    ADD_FAILURE() << llvm::toString(isTuned.takeError());
    return std::nullopt;
  }
  place->second.isTuned = *isTuned;
  std::string command = std::string(ATTNC_LINKER) + " -shared -o " + library + " " + object + " " +
                        runtimeObject(variant.halide) + " " + carriedFile();
  if (std::system(command.c_str()) != 0) {
    ADD_FAILURE() << "cannot link: " << command;
    return std::nullopt;
  }
  return place->second;
}

bool TestKernel::load(const Variant &variant, const ScheduleChoice &choice) {
  if (!impl->kernel)
    return false;
  std::optional<CompiledKernel> found = compiled(impl->kernel, impl->text, variant, choice);
  if (!found)
    return false;
  impl->isTuned = found->isTuned;
  impl->object = found->files + ".o";
  if (impl->library)
    dlclose(impl->library);
  impl->library = dlopen((found->files + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!impl->library) {
    ADD_FAILURE() << dlerror();
    return false;
  }
  impl->function = dlsym(impl->library, "kernel_under_test");
  return impl->function != nullptr;
}

static std::vector<int64_t> shapeOf(mlir::RankedTensorType type, const Sizes &sizes) {
  std::vector<int64_t> shape;
  auto names = attn::axisNames(type);
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    bool dynamic = type.isDynamicDim(axis);
    shape.push_back(dynamic ? sizes.at(names[axis].str()) : type.getDimSize(axis));
  }
  return shape;
}

/// Arguments of one call: inputs, results, scratch.
struct TestKernel::Call {
  std::vector<DeviceArray> arrays;
  std::vector<size_t> results;   // places in `arrays`; the cache for an append, which works in place
  size_t scratch = 0;            // how many: the last of `arrays`
  std::vector<void *> arguments; // user context, then buffers
};

TestKernel::Call TestKernel::prepare(const std::vector<Array> &inputs, const Sizes &sizes, int64_t rowGap) {
  mlir::Block &body = impl->kernel.getBody().front();
  Call call;
  std::vector<size_t> order;
  auto add = [&](mlir::Type type, const Array *array) {
    auto ranked = llvm::cast<mlir::RankedTensorType>(type);
    order.push_back(call.arrays.size());
    call.arrays.emplace_back(ranked, array ? *array : reference::zeros(shapeOf(ranked, sizes)), rowGap);
  };
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    add(argument.getType(), &input);
  for (mlir::Value value : body.getTerminator()->getOperands()) {
    if (auto append = value.getDefiningOp<attn::AppendOp>())
      order.push_back(llvm::cast<mlir::BlockArgument>(append.getCache()).getArgNumber());
    else
      add(value.getType(), nullptr);
    call.results.push_back(order.back());
  }
  if (auto scratch = impl->kernel.getScratch())
    for (mlir::Attribute type : *scratch) {
      add(llvm::cast<mlir::TypeAttr>(type).getValue(), nullptr);
      ++call.scratch;
    }
  call.arguments.push_back(nullptr); // no user context
  for (size_t place : order)
    call.arguments.push_back(call.arrays[place].buffer());
  call.arguments.resize(MostArguments);
  return call;
}

static int callKernel(void *function, const std::vector<void *> &arguments) {
  return call(function, arguments.data(), std::make_index_sequence<MostArguments>());
}

std::vector<Array> TestKernel::run(const std::vector<Array> &inputs, const Sizes &sizes) {
  std::vector<Array> results = runWithScratch(inputs, sizes);
  results.resize(impl->kernel.getBody().front().getTerminator()->getNumOperands());
  return results;
}

std::vector<Array> TestKernel::runWithScratch(const std::vector<Array> &inputs, const Sizes &sizes) {
  Call call = prepare(inputs, sizes, 3);
  lastError.clear();
  EXPECT_EQ(callKernel(impl->function, call.arguments), 0) << lastError;
  std::vector<Array> results;
  for (size_t place : call.results)
    results.push_back(call.arrays[place].read());
  for (size_t i = call.arrays.size() - call.scratch; i < call.arrays.size(); ++i)
    results.push_back(call.arrays[i].read());
  for (size_t i = 0; i < call.arrays.size(); ++i)
    EXPECT_TRUE(call.arrays[i].isIntact()) << "written outside of array " << i;
  return results;
}

double TestKernel::fastestRun(const std::vector<Array> &inputs, const Sizes &sizes) {
  using Clock = std::chrono::steady_clock;
  Call call = prepare(inputs, sizes, 0);
  double fastest = 1e9;
  for (auto end = Clock::now() + std::chrono::milliseconds(300); Clock::now() < end;) {
    auto start = Clock::now();
    callKernel(impl->function, call.arguments);
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return fastest;
}

/// A number in [-1, 1] as an element of this type: whole numbers take their range, 127 standing for 1.
static double asStored(mlir::Type element, double value) {
  if (element.isInteger(8))
    return std::round(value * 127) + (element.isUnsignedInteger() ? 128 : 0);
  float number = float(value);
  if (!element.isBF16())
    return number;
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  bits &= 0xffff0000; // any bfloat16 will do
  std::memcpy(&number, &bits, 4);
  return number;
}

/// Scales that make numbers in [-1, 1] / sqrt(in) of a matrix of integers, its sums, and scales of rows that
/// make numbers in [-1, 2] of bytes.
static void setScales(std::vector<Array> &inputs, mlir::Value matrix, mlir::Value scales, mlir::Value rows) {
  auto at = [&](mlir::Value value) -> Array & {
    return inputs[llvm::cast<mlir::BlockArgument>(value).getArgNumber()];
  };
  Array &weight = at(matrix), &companion = at(scales);
  int64_t in = weight.extent(1), padded = companion.extent(1);
  for (int64_t out = 0; out < padded; ++out) {
    double sum = 0;
    for (int64_t k = 0; out < weight.extent(0) && k < in; ++k)
      sum += weight.values[weight.at({out, k})];
    double unit = std::abs(companion.values[out]);
    companion.values[out] = float((unit + 0.5) / 1.5 / 127 / std::sqrt(double(in)));
    companion.values[padded + out] = sum;
  }
  if (rows)
    for (int64_t i = 0; i < at(rows).size(); ++i) {
      double unit = (std::abs(at(rows).values[i]) + 0.5) / 1.5;
      at(rows).values[i] = i % 2 == 0 ? float(unit / 127) : std::round(unit * 128); // scale, zero
    }
}

std::vector<Array> TestKernel::randomInputs(const Sizes &sizes, const std::map<int, int64_t> &idLimits,
                                            unsigned seed) const {
  std::mt19937 random(seed);
  std::vector<Array> inputs;
  for (mlir::BlockArgument argument : impl->kernel.getBody().getArguments()) {
    auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
    Array array = reference::zeros(shapeOf(type, sizes));
    bool isMatrix = type.getRank() == 2 && type.hasStaticShape() && attn::axisNames(type)[0].empty();
    double scale = isMatrix ? 1 / std::sqrt(double(array.extent(1))) : 1;
    auto limit = idLimits.find(argument.getArgNumber());
    for (double &value : array.values) {
      double unit = std::uniform_real_distribution<float>(-1, 1)(random);
      if (limit != idLimits.end())
        value = std::floor((unit + 1) / 2 * double(limit->second) * 0.9999);
      else
        value = asStored(type.getElementType(), type.getElementType().isInteger() ? unit : unit * scale);
    }
    inputs.push_back(array);
  }
  impl->kernel.walk([&](attn::LinearOp linear) {
    if (linear.getInputScales())
      setScales(inputs, linear.getWeight(), linear.getWeightScales(), linear.getInputScales());
  });
  impl->kernel.walk([&](attn::EmbedOp embed) {
    if (embed.getScales())
      setScales(inputs, embed.getTable(), embed.getScales(), {});
  });
  return inputs;
}

bool TestKernel::isTuned() const { return impl->isTuned; }

std::vector<std::string> TestKernel::undefinedSymbols() const {
  std::vector<std::string> names;
  auto object = llvm::object::ObjectFile::createObjectFile(impl->object);
  if (!object) {
    ADD_FAILURE() << llvm::toString(object.takeError());
    return names;
  }
  for (const llvm::object::SymbolRef &symbol : object->getBinary()->symbols())
    if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
      names.push_back(llvm::cantFail(symbol.getName()).str());
  return names;
}

} // namespace attnc::test
