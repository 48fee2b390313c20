//===- WriteHeader.cpp - the bundle's C header -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WriteHeader.h"

#include "compiler/emit/shim/EmbeddedFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;
using llvm::StringRef;

namespace attnc {
namespace {

/// `/* batch x head x 64 */`
std::string shapeComment(const Json &tensor) {
  std::vector<std::string> axes;
  for (const Json &axis : tensor["shape"])
    axes.push_back(axis.is_string() ? axis.get<std::string>() : std::to_string(axis.get<int64_t>()));
  return axes.empty() ? "" : " /* " + llvm::join(axes, " x ") + " */";
}

std::string typeName(const Json &tensor) { return tensor["type"] == "f32" ? "float" : "int32_t"; }

/// The compiler's built-in test spells a few features otherwise than /proc/cpuinfo.
std::string builtinFeature(StringRef feature) {
  if (feature == "sse4_1")
    return "sse4.1";
  std::string name = feature.str();
  if (feature.starts_with("amx"))
    std::replace(name.begin(), name.end(), '_', '-');
  else
    name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
  return name;
}

void writeBestVariant(llvm::raw_ostream &out, StringRef bundle, llvm::ArrayRef<CpuVariant> variants) {
  out << "/* The most demanding variant that this machine can run; null where it can run none. */\n"
      << "static inline const attnrt_variant *" << bundle << "_best_variant(void) {\n"
      << "#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))\n";
  for (size_t i = variants.size(); i-- > 0;) {
    std::vector<std::string> tests;
    for (StringRef feature : llvm::split(variants[i].features, ' '))
      if (!feature.empty())
        tests.push_back("__builtin_cpu_supports(\"" + builtinFeature(feature) + "\")");
    std::string result = "return &" + (bundle + "_descriptor.variants[").str() + std::to_string(i) + "];\n";
    if (tests.empty())
      out << "  " << result;
    else
      out << "  if (" << llvm::join(tests, " && ") << ")\n    " << result;
  }
  if (llvm::none_of(variants, [](const CpuVariant &variant) { return variant.features.empty(); }))
    out << "  return 0;\n";
  out << "#else\n  return " << (variants.front().features.empty() ? "&" + (bundle + "_descriptor.variants[0]").str() : "0")
      << ";\n#endif\n}\n\n";
}

/// One graph as `NAME_run_GRAPH` and `NAME_arena_GRAPH`.
void writeGraph(llvm::raw_ostream &out, const Json &manifest, size_t number) {
  StringRef bundle = manifest["name"].get_ref<const std::string &>();
  const Json &entry = manifest["entries"][number];
  std::string name = entry["name"].get<std::string>();
  std::vector<std::string> sizes, sizeNames, tensors, tensorNames;
  for (const Json &size : manifest["sizes"]) {
    sizeNames.push_back(size.get<std::string>());
    sizes.push_back("int64_t " + sizeNames.back());
  }
  for (const Json &tensor : entry["arguments"]) {
    tensorNames.push_back("(void *)" + tensor["name"].get<std::string>());
    tensors.push_back("const " + typeName(tensor) + " *" + tensor["name"].get<std::string>() + shapeComment(tensor));
  }
  for (const Json &tensor : entry["results"]) {
    tensorNames.push_back(tensor["name"].get<std::string>());
    tensors.push_back(typeName(tensor) + " *" + tensor["name"].get<std::string>() + shapeComment(tensor));
  }
  std::string sizeVector = "const int64_t attnrt_sizes[] = {" + (sizeNames.empty() ? "0" : llvm::join(sizeNames, ", ")) + "};";
  out << "/* Bytes of the arena that " << bundle << "_run_" << name << " works in: " << entry["arena"].get<std::string>()
      << ". */\nstatic inline int64_t " << bundle << "_arena_" << name << "("
      << (sizes.empty() ? "void" : llvm::join(sizes, ", ")) << ") {\n  " << sizeVector << "\n  return " << bundle
      << "_descriptor.entries[" << number << "].arena_bytes(attnrt_sizes);\n}\n\n"
      << "/* Runs graph '" << name << "'; 0, or an error code. `arena` is aligned to 64 bytes; `weights` is the data part of\n"
      << " * weights.safetensors, aligned likewise, or null where the bundle has none; `context` may be null. */\n"
      << "static inline int32_t " << bundle << "_run_" << name
      << "(attnrt_kernel_context *context, const attnrt_variant *variant, const char *weights, char *arena";
  for (const std::string &size : sizes)
    out << ",\n    " << size;
  for (const std::string &tensor : tensors)
    out << ",\n    " << tensor;
  out << ") {\n  " << sizeVector << "\n  void *const attnrt_tensors[] = {" << llvm::join(tensorNames, ", ") << "};\n"
      << "  const attnrt_invocation attnrt_call = {context, attnrt_tensors, attnrt_sizes, arena, 0, weights, "
         "variant->kernels};\n"
      << "  return " << bundle << "_descriptor.entries[" << number << "].run(&attnrt_call);\n}\n\n";
}

} // namespace

std::string headerText(const Json &manifest, llvm::ArrayRef<CpuVariant> variants) {
  std::string text;
  llvm::raw_string_ostream out(text);
  StringRef bundle = manifest["name"].get_ref<const std::string &>();
  std::string guard = bundle.upper() + "_H";
  out << "/* " << bundle << ".h - generated by attnc; belongs to lib" << bundle << ".so and lib" << bundle << ".a. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n\n"
      << "/* What follows is attnrt/bundle.h. */\n"
      << llvm::StringRef(bundleHeader().data(), bundleHeader().size()) << "\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "extern const attnrt_descriptor " << bundle << "_descriptor;\n\n";
  if (manifest["kind"] == "graph") {
    writeBestVariant(out, bundle, variants);
    for (size_t number = 0; number < manifest["entries"].size(); ++number)
      writeGraph(out, manifest, number);
  }
  out << "#ifdef __cplusplus\n}\n#endif\n#endif /* " << guard << " */\n";
  return text;
}

} // namespace attnc
