//===- ProfileKernels.cpp - profiles of a bundle's kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/ProfileKernels.h"

#include <algorithm>
#include <set>

namespace attnc {
namespace {

/// The variant that runs, as the manifest describes it.
const nlohmann::json &variantOf(const Model &model, const nlohmann::json &manifest) {
  const nlohmann::json &variants = manifest["variants"];
  return *std::find_if(variants.begin(), variants.end(),
                       [&](const nlohmann::json &variant) { return variant["name"] == model.variant(); });
}

/// Weights of int8 are multiplied by every variant; products of bfloat16 are added up by those that can.
std::vector<ProductType> productsOfKernels(const Model &model, const nlohmann::json &manifest) {
  using Names = std::set<std::string>;
  const Names rounding = variantOf(model, manifest).value("bf16_kernels", Names()),
              bytes = manifest.value("int8_kernels", Names());
  std::vector<ProductType> products;
  for (const nlohmann::json &name : manifest["kernels"]) {
    const auto kernel = name.get<std::string>();
    products.push_back(rounding.count(kernel) ? ProductType::Bf16
                       : bytes.count(kernel)  ? ProductType::Int8
                                              : ProductType::F32);
  }
  return products;
}

const char *nameOf(ProductType type) {
  return type == ProductType::Int8 ? "int8" : type == ProductType::Bf16 ? "bf16" : "f32";
}

} // namespace

// Each thread reads its part of the bytes.
Profile measureLimits(const Model &model, const nlohmann::json &manifest, int threads) {
  const std::string features = variantOf(model, manifest)["features"];
  const std::vector<ProductType> products = productsOfKernels(model, manifest);
  const auto multiplies = [&](ProductType type) {
    return std::find(products.begin(), products.end(), type) != products.end();
  };
  Profile profile;
  const auto limitOf = [&](ProductType type) { return productLimit(threads, type, features); };
  profile.arithmeticLimit = limitOf(ProductType::F32);
  if (multiplies(ProductType::Int8))
    profile.int8Limit = limitOf(ProductType::Int8);
  if (multiplies(ProductType::Bf16))
    profile.bf16Limit = limitOf(ProductType::Bf16);
  const size_t largest = std::max<size_t>(size_t(128) << 20, manifest["weights"]["bytes"]);
  for (size_t bytes = size_t(512) << 10; bytes <= largest; bytes *= 4) // from the second caches to memory
    profile.readLimits[double(bytes)] = readLimit(threads, bytes);
  return profile;
}

std::vector<KernelLine> readKernels(const Model &model, const nlohmann::json &manifest, int requests,
                                    const KernelCounts &counts) {
  const std::vector<ProductType> products = productsOfKernels(model, manifest);
  const nlohmann::json &entries = manifest["entries"], &kernels = manifest["kernels"];
  std::vector<KernelLine> lines;
  for (size_t entry = 0; entry < entries.size(); ++entry)
    for (size_t kernel = 0; kernel < kernels.size(); ++kernel)
      if (const attnrt_kernel_profile one = counts(entry, kernel); one.calls > 0)
        lines.push_back({entries[entry]["name"], kernels[kernel], products[kernel],
                         double(one.calls) / requests, double(one.nanoseconds) * 1e-6 / requests,
                         double(one.operations) / requests, double(one.bytes) / requests});
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto &a, const auto &b) { return a.milliseconds > b.milliseconds; });
  return lines;
}

nlohmann::ordered_json describe(const Profile &profile) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const KernelLine &line : profile.kernels)
    kernels.push_back({{"entry", line.entry},
                       {"kernel", line.kernel},
                       {"products", nameOf(line.type)},
                       {"calls", line.calls},
                       {"ms", line.milliseconds},
                       {"operations", line.operations},
                       {"bytes", line.bytes},
                       {"share_of_limit", profile.shareOfLimit(line)}});
  return kernels;
}

} // namespace attnc
