//===- AttnAttributes.cpp - attributes of the attn dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Text form of axis names and size formulas, arithmetic on sizes, and what tensor types say about extents.

#include "dialect/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace attn {

bool operator==(const SizeTerm &a, const SizeTerm &b) {
  return a.coefficient == b.coefficient && a.names == b.names;
}

llvm::hash_code hash_value(const SizeTerm &term) { return llvm::hash_combine(term.coefficient, term.names); }

/// Compares products by degree, then by names: constants come first, `batch` before `batch * source`.
static bool isBefore(const SizeTerm &a, const SizeTerm &b) {
  if (a.names.size() != b.names.size())
    return a.names.size() < b.names.size();
  for (auto [left, right] : llvm::zip(a.names, b.names))
    if (left != right)
      return cast<StringAttr>(left).getValue() < cast<StringAttr>(right).getValue();
  return false;
}

static SizeTerm makeTerm(MLIRContext *context, int64_t coefficient, SmallVector<Attribute> names) {
  llvm::sort(names, [](Attribute a, Attribute b) {
    return cast<StringAttr>(a).getValue() < cast<StringAttr>(b).getValue();
  });
  return {coefficient, ArrayAttr::get(context, names)};
}

SizeAttr SizeAttr::getCanonical(MLIRContext *context, ArrayRef<SizeTerm> terms) {
  SmallVector<SizeTerm> sorted(terms);
  llvm::stable_sort(sorted, isBefore);
  SmallVector<SizeTerm> sums;
  for (const SizeTerm &term : sorted) {
    if (!sums.empty() && sums.back().names == term.names)
      sums.back().coefficient += term.coefficient;
    else
      sums.push_back(term);
  }
  llvm::erase_if(sums, [](const SizeTerm &term) { return term.coefficient == 0; });
  return get(context, sums);
}

SizeAttr SizeAttr::getConstant(MLIRContext *context, int64_t value) {
  return getCanonical(context, makeTerm(context, value, {}));
}

SizeAttr SizeAttr::getNamed(MLIRContext *context, StringRef name) {
  return getCanonical(context, makeTerm(context, 1, {StringAttr::get(context, name)}));
}

SizeAttr SizeAttr::plus(SizeAttr other) const {
  SmallVector<SizeTerm> terms(getTerms());
  llvm::append_range(terms, other.getTerms());
  return getCanonical(getContext(), terms);
}

/// Coefficients saturate: no buffer is that large, and what checks sizes says so.
static int64_t saturatingProduct(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

SizeAttr SizeAttr::times(SizeAttr other) const {
  SmallVector<SizeTerm> terms;
  for (const SizeTerm &a : getTerms())
    for (const SizeTerm &b : other.getTerms()) {
      SmallVector<Attribute> names(a.names.getValue());
      llvm::append_range(names, b.names);
      terms.push_back(
          makeTerm(getContext(), saturatingProduct(a.coefficient, b.coefficient), std::move(names)));
    }
  return getCanonical(getContext(), terms);
}

SizeAttr SizeAttr::times(int64_t factor) const { return times(getConstant(getContext(), factor)); }

std::string SizeAttr::str() const {
  if (getTerms().empty())
    return "0";
  return llvm::join(llvm::map_range(getTerms(),
                                    [](const SizeTerm &term) {
                                      SmallVector<std::string> factors;
                                      if (term.coefficient != 1 || term.names.empty())
                                        factors.push_back(std::to_string(term.coefficient));
                                      for (Attribute name : term.names)
                                        factors.push_back(cast<StringAttr>(name).str());
                                      return llvm::join(factors, " * ");
                                    }),
                    " + ");
}

/// Reads one product: whole numbers and names with `*` between them.
static FailureOr<SizeTerm> parseTerm(AsmParser &parser) {
  int64_t coefficient = 1;
  SmallVector<Attribute> names;
  do {
    int64_t number;
    StringRef name;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      if (failed(*isNumber))
        return failure();
      coefficient *= number;
      continue;
    }
    if (failed(parser.parseKeyword(&name)))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
  } while (succeeded(parser.parseOptionalStar()));
  return makeTerm(parser.getContext(), coefficient, std::move(names));
}

Attribute SizeAttr::parse(AsmParser &parser, Type) {
  SmallVector<SizeTerm> terms;
  if (parser.parseLess())
    return {};
  do {
    FailureOr<SizeTerm> term = parseTerm(parser);
    if (failed(term))
      return {};
    terms.push_back(*term);
  } while (succeeded(parser.parseOptionalPlus()));
  if (parser.parseGreater())
    return {};
  return getCanonical(parser.getContext(), terms);
}

void SizeAttr::print(AsmPrinter &printer) const { printer << '<' << str() << '>'; }

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  auto parseName = [&]() -> ParseResult {
    FailureOr<SizeTerm> term = parseTerm(parser);
    if (failed(term))
      return failure();
    names.push_back(
        parser.getBuilder().getStringAttr(SizeAttr::getCanonical(parser.getContext(), *term).str()));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseName))
    return {};
  return parser.getChecked<AxesAttr>(parser.getCurrentLocation(), parser.getContext(), names);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getNames(), printer, [&](StringAttr name) { printer << name.getValue(); });
  printer << '>';
}

LogicalResult AxesAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names) {
  for (StringAttr name : names)
    if (!name || name.empty())
      return emitError() << "an axis needs a name";
  return success();
}

SmallVector<StringRef> axisNames(RankedTensorType type) {
  auto axes = dyn_cast_or_null<AxesAttr>(type.getEncoding());
  if (!axes)
    return SmallVector<StringRef>(type.getRank());
  return llvm::map_to_vector(axes.getNames(), [](StringAttr name) { return name.getValue(); });
}

RankedTensorType namedTensor(MLIRContext *context, ArrayRef<int64_t> shape, ArrayRef<StringRef> names,
                             Type element) {
  auto attributes =
      llvm::map_to_vector(names, [&](StringRef name) { return StringAttr::get(context, name); });
  return RankedTensorType::get(shape, element, AxesAttr::get(context, attributes));
}

SizeAttr sizeNamed(MLIRContext *context, StringRef name) {
  SizeAttr size = SizeAttr::getConstant(context, 1);
  SmallVector<StringRef> factors;
  name.split(factors, " * ");
  for (StringRef factor : factors) {
    int64_t number;
    size = factor.getAsInteger(10, number) ? size.times(SizeAttr::getNamed(context, factor))
                                           : size.times(number);
  }
  return size;
}

RankedTensorType partOf(RankedTensorType type) {
  SmallVector<StringRef> names = axisNames(type);
  if (names.empty() || (names.front() != batchAxis && names.front() != slotAxis) ||
      llvm::is_contained(llvm::drop_begin(names, 2), sourceAxis))
    return {};
  names.front() = partAxis;
  if (names.size() > 1 && names[1] == sourceAxis)
    names[1] = lengthAxis;
  return namedTensor(type.getContext(), type.getShape(), names, type.getElementType());
}

SizeAttr extentOf(RankedTensorType type, unsigned axis) {
  MLIRContext *context = type.getContext();
  if (!type.isDynamicDim(axis))
    return SizeAttr::getConstant(context, type.getDimSize(axis));
  StringRef name = axisNames(type)[axis];
  return name.empty() ? SizeAttr() : sizeNamed(context, name);
}

SmallVector<int64_t> panelExtents(RankedTensorType type) {
  auto panels = cast<PanelsAttr>(type.getEncoding());
  int64_t elementBytes = type.getElementTypeBitWidth() / 8, group = panels.getGroup();
  int64_t count = llvm::divideCeil(type.getDimSize(0), panels.getColumns());
  SmallVector<int64_t> extents{count, type.getDimSize(1), panels.getColumns()};
  if (group > 1) {
    extents[1] = llvm::alignTo(type.getDimSize(1), rowBytes / elementBytes) / group;
    extents.push_back(group);
  }
  return extents;
}

SizeAttr bytesOf(RankedTensorType type) {
  SizeAttr bytes = SizeAttr::getConstant(type.getContext(), type.getElementTypeBitWidth() / 8);
  for (unsigned axis = 0; bytes && axis < type.getRank(); ++axis) {
    SizeAttr extent = extentOf(type, axis);
    bytes = extent ? bytes.times(extent) : extent;
  }
  return bytes;
}

} // namespace attn

#include "dialect/IR/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/IR/AttnAttributes.cpp.inc"

void attn::AttnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/IR/AttnAttributes.cpp.inc"
      >();
}
