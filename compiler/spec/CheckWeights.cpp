//===- CheckWeights.cpp - comparing a spec with its weight file ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each weight that the spec asks for must be in the file, with its shape, in a type that can be read.

#include "compiler/spec/CheckSpec.h"
#include "compiler/spec/TensorReference.h"
#include "compiler/spec/WeightNames.h"
#include "compiler/spec/Words.h"

#include <set>

namespace attnc {

namespace {

/// What the spec asks of the file, and where it does.
struct Request {
  std::string tensor;
  std::vector<int64_t> shape; // as the file should have it
  bool mayBeTransposed;
  Location where;
};

} // namespace

static std::vector<Request> requestsOf(const Spec &spec) {
  std::vector<Request> requests;
  auto turned = [](std::vector<int64_t> shape, bool isTransposed) {
    return isTransposed ? std::vector<int64_t>(shape.rbegin(), shape.rend()) : shape;
  };
  if (spec.model)
    for (const WeightUse &use : weightsOf(*spec.model)) {
      const Located<std::string> &pattern = spec.weights.names[size_t(use.role)];
      requests.push_back({expandPattern(*pattern, use),
                          turned(use.shape, isLinear(use.role) && *spec.weights.transposed),
                          isLinear(use.role), pattern.given ? pattern.where : spec.weights.where});
    }
  for (const GraphSpec &graph : spec.graphs)
    for (const GraphWeight &weight : graph.weights)
      if (weight.value.empty() && *weight.sinusoid == GraphSinusoid::None)
        requests.push_back({*weight.tensor, turned(weight.shape, *weight.transposed), true,
                            weight.tensor.given ? weight.tensor.where : weight.name.where});
  return requests;
}

/// Tensors of the file that nothing asks for.
static std::vector<std::string> unusedNames(const WeightFiles &file, const std::vector<Request> &requests) {
  std::set<std::string> unused;
  for (const auto &[name, tensor] : file.tensors())
    unused.insert(name);
  for (const Request &request : requests)
    for (const TensorTerm &term : readReference(request.tensor, file))
      unused.erase(term.tensor);
  return {unused.begin(), unused.end()};
}

/// What the tensor of `term` is, and should be, where it does not fit.
static std::string describeShapes(const Request &request, const TensorTerm &term, const Tensor &tensor) {
  std::string is = quote(term.tensor) + " is " + shapeText(tensor.shape) + " in the weight file; ";
  if (term.parts == 0)
    return is + "its row " + std::to_string(term.index) + " should be as wide as the rows of " +
           shapeText(request.shape);
  if (term.parts > 1)
    return is + "one of its " + std::to_string(term.parts) + " parts should be " + shapeText(request.shape);
  bool isTurned = request.shape.size() == 2 && request.mayBeTransposed &&
                  tensor.shape == std::vector<int64_t>(request.shape.rbegin(), request.shape.rend());
  return is + "the spec makes it " + shapeText(request.shape) +
         (isTurned ? "; 'transposed' tells whether the file has it in x out" : "");
}

/// What is wrong with one summand of a request, or an empty text.
static std::string compare(const Request &request, const TensorTerm &term, const WeightFiles &file,
                           const std::vector<std::string> &unused) {
  const Tensor *tensor = file.find(term.tensor);
  if (!tensor)
    return "the weight file lacks " + quote(term.tensor) + didYouMean(term.tensor, unused);
  if (!sliceOf(term, *tensor, request.shape))
    return describeShapes(request, term, *tensor);
  if (!isReadable(*tensor))
    return quote(term.tensor) + " has type " + tensor->type + "; F32, F16 and BF16 can be read";
  return {};
}

static void compareAll(const Spec &spec, const std::vector<Request> &requests, const WeightFiles &file,
                       Diagnostics &diagnostics) {
  // A wrong pattern misses hundreds of names; the first few tell it all.
  constexpr size_t shown = 10;
  std::vector<std::string> unused = unusedNames(file, requests);
  size_t problems = 0; // of which an unused tensor may be the remedy
  for (const Request &request : requests) {
    std::string problem;
    for (const TensorTerm &term : readReference(request.tensor, file))
      problem = problem.empty() ? compare(request, term, file, unused) : problem;
    if (problem.empty() || ++problems > shown)
      continue;
    diagnostics.error(request.where, problem);
    diagnostics.note({}, "the weight file is " + quote(spec.weights.file));
  }
  if (problems > shown)
    diagnostics.error(spec.weights.where,
                      std::to_string(problems - shown) + " more weights are missing or differ");
}

/// A file with more layers is right only if the first ones are all that is wanted.
static void warnOfFurtherLayers(const Spec &spec, const WeightFiles &file, Diagnostics &diagnostics) {
  const std::pair<WeightRole, const LocatedInteger &> sides[] = {
      {WeightRole::EncoderFeedForward, spec.model->encoder.layers},
      {WeightRole::DecoderFeedForward, spec.model->decoder.layers}};
  for (const auto &[role, layers] : sides) {
    std::string next = expandPattern(*spec.weights.names[size_t(role)], {role, *layers});
    if (layers.given && file.find(next))
      diagnostics.report(Severity::Warning, layers.where,
                         "'layers' is " + std::to_string(*layers) +
                             ", but the weight file has more: " + quote(next) + " is not used");
  }
}

std::vector<std::string> unusedTensors(const Spec &spec, const WeightFiles &file) {
  return unusedNames(file, requestsOf(spec));
}

void checkWeights(const Spec &spec, Diagnostics &diagnostics) {
  if (spec.weights.kind == WeightSourceKind::Random)
    return;
  std::vector<Request> requests = requestsOf(spec);
  if (requests.empty())
    return;
  if (spec.weights.kind == WeightSourceKind::None) {
    diagnostics.error(requests.front().where,
                      "no weights are given: set 'weights.file' or 'weights.random', or use --weights");
    return;
  }
  std::string error;
  std::unique_ptr<WeightFiles> file = WeightFiles::open(spec.weights.file, error);
  if (!file)
    diagnostics.error(spec.weights.where, error);
  else
    compareAll(spec, requests, *file, diagnostics);
  if (file && spec.model)
    warnOfFurtherLayers(spec, *file, diagnostics);
}

} // namespace attnc
