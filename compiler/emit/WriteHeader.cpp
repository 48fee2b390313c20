//===- WriteHeader.cpp - the bundle's C header -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WriteHeader.h"

#include "compiler/emit/shim/EmbeddedFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

#include <set>

using Json = nlohmann::ordered_json;
using llvm::StringRef;

namespace attnc {
namespace {

/// `/* batch x head x 64 */`, and where there are any, `, strides rows, 64, 1`.
std::string shapeComment(const Json &tensor) {
  std::vector<std::string> axes, strides;
  for (const Json &axis : tensor["shape"])
    axes.push_back(axis.is_string() ? axis.get<std::string>() : std::to_string(axis.get<int64_t>()));
  if (tensor.contains("strides"))
    strides = tensor["strides"].get<std::vector<std::string>>();
  std::string inMemory = strides.empty() ? "" : ", strides " + llvm::join(strides, ", ");
  return axes.empty() ? "" : " /* " + llvm::join(axes, " x ") + inMemory + " */";
}

std::string typeName(const Json &tensor) { return tensor["type"] == "f32" ? "float" : "int32_t"; }

void writeBestVariant(llvm::raw_ostream &out, StringRef bundle) {
  out << "/* The most demanding variant that this machine can run; null where it can run none. */\n"
      << "static inline const attnrt_variant *" << bundle << "_best_variant(void) {\n"
      << "  uint32_t call_number = " << bundle << "_descriptor.variant_count;\n"
      << "  while (call_number-- > 0)\n"
      << "    if (attnrt_cpu_runs(" << bundle << "_descriptor.variants[call_number].features))\n"
      << "      return &" << bundle << "_descriptor.variants[call_number];\n"
      << "  return 0;\n}\n\n";
}

/// Macros of the C library are written so (NULL, INT_MAX), but for a few words; one letter is a matrix.
bool mayBeMacro(StringRef word) {
  return word.size() > 1 && llvm::none_of(word, llvm::isLower) && llvm::any_of(word, llvm::isAlpha);
}

std::set<StringRef> splitWords(StringRef text) {
  auto words = llvm::split(text, ' ');
  return {words.begin(), words.end()};
}

/// Words that mean something in C or C++, or in the header itself; a bundle's own begin with its name.
bool isReserved(StringRef word, StringRef bundle) {
  static const std::set<StringRef> words = splitWords(
      "alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char char16_t "
      "char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval "
      "constexpr constinit continue contract_assert decltype default delete do double dynamic_cast "
      "else enum errno explicit export extern false float for friend goto if inline int int32_t "
      "int64_t linux long mutable namespace new noexcept not not_eq nullptr offsetof operator or "
      "or_eq private protected public register reinterpret_cast requires restrict return short "
      "signed sizeof static static_assert static_cast stderr stdin stdout struct switch template "
      "this thread_local throw true try typedef typeid typename typeof typeof_unqual union unix "
      "unsigned using virtual void volatile wchar_t while xor xor_eq");
  return words.count(word) || mayBeMacro(word) || word.starts_with("_") || word.starts_with("call_") ||
         word.starts_with("attnrt_") || word.starts_with((bundle + "_").str());
}

/// A name of the spec as a C parameter: reserved words get an underscore, and as different names must stay
/// different, so do reserved words with underscores behind them.
std::string parameterName(const Json &name, StringRef bundle) {
  std::string text = name.get<std::string>();
  return isReserved(text, bundle) || isReserved(StringRef(text).rtrim('_'), bundle) ? text + "_" : text;
}

/// The names in the shapes and strides of a graph's tensors: the sizes among them are the graph's own.
std::set<std::string> namesInShapes(const Json &entry) {
  std::set<std::string> names;
  auto insert = [&](const Json &formula) {
    if (!formula.is_string())
      return;
    for (StringRef word : llvm::split(formula.get_ref<const std::string &>(), ' '))
      names.insert(word.str());
  };
  for (const char *side : {"arguments", "results"})
    for (const Json &tensor : entry[side]) {
      llvm::for_each(tensor["shape"], insert);
      if (tensor.contains("strides"))
        llvm::for_each(tensor["strides"], insert);
    }
  return names;
}

/// What a graph's functions take, in C.
struct GraphSignature {
  std::vector<std::string> sizes;                // `int64_t batch`: the graph's own
  std::vector<std::string> sizeValues;           // `batch`, or 0 for another graph's
  std::vector<std::string> tensors, tensorNames; // `const float *x /* batch x 4 */`, `(void *)x`

  GraphSignature(const Json &manifest, const Json &entry) {
    StringRef bundle = manifest["name"].get_ref<const std::string &>();
    auto parameter = [&](const Json &name) { return parameterName(name, bundle); };
    const std::set<std::string> own = namesInShapes(entry);
    for (const Json &size : manifest["sizes"]) {
      bool isOwn = own.count(size.get<std::string>());
      sizeValues.push_back(isOwn ? parameter(size) : "0");
      if (isOwn)
        sizes.push_back("int64_t " + sizeValues.back());
    }
    for (const Json &tensor : entry["arguments"]) {
      tensorNames.push_back("(void *)" + parameter(tensor["name"]));
      tensors.push_back("const " + typeName(tensor) + " *" + parameter(tensor["name"]) +
                        shapeComment(tensor));
    }
    for (const Json &tensor : entry["results"]) {
      tensorNames.push_back(parameter(tensor["name"]));
      tensors.push_back(typeName(tensor) + " *" + tensorNames.back() + shapeComment(tensor));
    }
  }
  /// The vector of all sizes of the bundle; C has no empty arrays.
  std::string sizeVector() const {
    return "  const int64_t call_sizes[] = {" + (sizeValues.empty() ? "0" : llvm::join(sizeValues, ", ")) +
           "};\n";
  }
};

/// One graph as `NAME_arena_GRAPH` and `NAME_run_GRAPH`.
void writeGraph(llvm::raw_ostream &out, const Json &manifest, size_t number) {
  StringRef bundle = manifest["name"].get_ref<const std::string &>();
  const Json &entry = manifest["entries"][number];
  GraphSignature signature(manifest, entry);
  std::string name = entry["name"].get<std::string>();
  std::string record = (bundle + "_descriptor.entries[").str() + std::to_string(number) + "]";
  out << "/* Bytes of the arena that " << bundle << "_run_" << name
      << " works in: " << entry["arena"].get<std::string>() << ". */\n"
      << "static inline int64_t " << bundle << "_arena_" << name << "("
      << (signature.sizes.empty() ? "void" : llvm::join(signature.sizes, ", ")) << ") {\n"
      << signature.sizeVector() << "  return " << record << ".arena_bytes(call_sizes);\n}\n\n";

  std::vector<std::string> parameters = {"attnrt_kernel_context *call_context",
                                         "const attnrt_variant *call_variant", "const char *call_weights",
                                         "char *call_arena"};
  llvm::append_range(parameters, signature.sizes);
  llvm::append_range(parameters, signature.tensors);
  out << "/* Runs graph '" << name
      << "'; 0, or an error code. The arena is aligned to 64 bytes; the weights are the data part\n"
      << " * of weights.safetensors, aligned likewise, or null where the bundle has none; the context may be "
         "null.\n"
      << " * Ids and lengths are not checked: one out of range reads the nearest element, of at least one. "
         "*/\n"
      << "static inline int32_t " << bundle << "_run_" << name << "(\n    "
      << llvm::join(parameters, ",\n    ") << ") {\n"
      << signature.sizeVector() << "  void *const call_tensors[] = {"
      << llvm::join(signature.tensorNames, ", ")
      << "};\n  const attnrt_invocation call_all = {call_context, call_tensors, call_sizes, call_arena, 0, "
         "call_weights,\n"
      << "                                      call_variant->kernels};\n  return " << record
      << ".run(&call_all);\n}\n\n";
}

} // namespace

std::string headerText(const Json &manifest) {
  std::string text;
  llvm::raw_string_ostream out(text);
  StringRef bundle = manifest["name"].get_ref<const std::string &>();
  const std::string guard = bundle.upper() + "_H";
  const bool isGraph = manifest["kind"] == "graph";
  out << "/* " << bundle << ".h - generated by attnc; belongs to lib" << bundle << ".so and lib" << bundle
      << ".a. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n\n"
      << "/* What follows is attnrt/bundle.h. */\n"
      << StringRef(bundleHeader()) << "\n";
  if (isGraph)
    out << "/* What follows is attnrt/cpu.h. */\n" << StringRef(cpuHeader()) << "\n";
  out << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "extern const attnrt_descriptor " << bundle << "_descriptor;\n\n";
  if (isGraph) {
    writeBestVariant(out, bundle);
    for (size_t number = 0; number < manifest["entries"].size(); ++number)
      writeGraph(out, manifest, number);
  }
  out << "#ifdef __cplusplus\n}\n#endif\n#endif /* " << guard << " */\n";
  return text;
}

} // namespace attnc
