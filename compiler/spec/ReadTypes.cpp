//===- ReadTypes.cpp - the section `types` ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads it, and checks that each exception is one for some matrix.

#include "compiler/spec/CheckSpec.h"
#include "compiler/spec/ReadSpec.h"
#include "compiler/spec/WeightNames.h"
#include "compiler/spec/Words.h"

#include <algorithm>

namespace attnc {

bool fits(std::string_view pattern, std::string_view name) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == name;
  if (!name.starts_with(pattern.substr(0, star)))
    return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // What stands between two stars is best found as early as possible: more is left for what follows.
  while ((star = pattern.find('*')) != std::string_view::npos) {
    size_t found = name.find(pattern.substr(0, star));
    if (found == std::string_view::npos)
      return false;
    name.remove_prefix(found + star);
    pattern.remove_prefix(star + 1);
  }
  return name.ends_with(pattern);
}

WeightType TypesSpec::typeOf(std::string_view tensor) const {
  auto found = std::find_if(layers.rbegin(), layers.rend(),
                            [&](const TypeException &layer) { return fits(*layer.pattern, tensor); });
  return found == layers.rend() ? *fallback : *found->type;
}

bool TypesSpec::roundsCaches() const {
  return *attention == AttentionType::Bf16 ||
         (*attention == AttentionType::Auto && *fallback != WeightType::F32);
}

bool TypesSpec::roundsProducts() const {
  return *attention == AttentionType::Bf16 ||
         (*attention == AttentionType::Auto && *fallback == WeightType::Bf16);
}

TypesSpec readTypes(MapReader reader, Diagnostics &diagnostics) {
  TypesSpec types;
  types.fallback = reader.choice<WeightType>("default");
  types.attention = reader.choice<AttentionType>("attention");
  MapReader layers = reader.mapping("layers");
  if (layers.map())
    for (const YamlEntry &entry : layers.map()->entries) {
      std::vector<std::string> words = wordsOf(keyRule("types", "default").allowed);
      auto word = std::find(words.begin(), words.end(), entry.value.text);
      if (!entry.value.isScalar() || word == words.end())
        diagnostics.error(entry.value.where, quote(entry.key) + " is " + entry.value.describe() +
                                                 "; allowed are " + listed(words));
      else
        types.layers.push_back({{entry.key, entry.where, true, true},
                                {WeightType(word - words.begin()), entry.value.where, true, true}});
    }
  return types;
}

/// The tensors that may have a type of their own: matrices of linears.
static std::vector<std::string> matricesOf(const Spec &spec) {
  std::vector<std::string> names;
  if (spec.model)
    for (const WeightUse &use : weightsOf(*spec.model))
      if (isMatrixOfLinear(*spec.model, use))
        names.push_back(expandPattern(*spec.weights.names[size_t(use.role)], use));
  for (const GraphSpec &graph : spec.graphs)
    for (const GraphWeight &weight : graph.weights)
      if (weight.shape.size() == 2 && weight.value.empty() && *weight.sinusoid == GraphSinusoid::None)
        names.push_back(*weight.tensor);
  return names;
}

void checkTypes(const Spec &spec, Diagnostics &diagnostics) {
  std::vector<std::string> names = matricesOf(spec);
  for (const TypeException &layer : spec.types.layers)
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string &name) { return fits(*layer.pattern, name); }))
      diagnostics.error(layer.pattern.where, quote(*layer.pattern) + " is not a matrix of a linear" +
                                                 didYouMean(*layer.pattern, names));
}

} // namespace attnc
