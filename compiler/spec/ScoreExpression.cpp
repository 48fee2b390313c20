//===- ScoreExpression.cpp - functions of a score written in a spec --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over the text; types are found on the way up.

#include "compiler/spec/ScoreExpression.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace attnc {
namespace {

using enum ScalarType;
using Kind = ScoreExpression::Kind;

struct FunctionRule {
  std::string_view name;
  ScalarFunction function;
  size_t fewest, most; // operands
};

constexpr FunctionRule functionRules[] = {
    {"abs", ScalarFunction::Abs, 1, 1},
    {"bucket", ScalarFunction::Bucket, 3, 3},
    {"causal_bucket", ScalarFunction::CausalBucket, 3, 3},
    {"exp", ScalarFunction::Exp, 1, 1},
    {"floor", ScalarFunction::Floor, 1, 1},
    {"log", ScalarFunction::Log, 1, 1},
    {"max", ScalarFunction::Max, 2, 8},
    {"min", ScalarFunction::Min, 2, 8},
    {"select", ScalarFunction::Select, 3, 3},
    {"sigmoid", ScalarFunction::Sigmoid, 1, 1},
    {"softcap", ScalarFunction::Softcap, 2, 2},
    {"sqrt", ScalarFunction::Sqrt, 1, 1},
    {"tanh", ScalarFunction::Tanh, 1, 1},
};

struct OperatorRule {
  std::string_view text;
  ScalarFunction function;
  int level; // binds tighter the higher it is
};

constexpr OperatorRule operatorRules[] = {
    {"or", ScalarFunction::Or, 0},        {"and", ScalarFunction::And, 1},
    {"<=", ScalarFunction::LessEqual, 3}, {">=", ScalarFunction::GreaterEqual, 3},
    {"==", ScalarFunction::Equal, 3},     {"!=", ScalarFunction::NotEqual, 3},
    {"<", ScalarFunction::Less, 3},       {">", ScalarFunction::Greater, 3},
    {"+", ScalarFunction::Add, 4},        {"-", ScalarFunction::Subtract, 4},
    {"*", ScalarFunction::Multiply, 5},   {"//", ScalarFunction::FloorDivide, 5},
    {"/", ScalarFunction::Divide, 5},     {"%", ScalarFunction::Remainder, 5},
};
constexpr int notLevel = 2, comparisonLevel = 3, unaryLevel = 6;

std::string_view textOf(ScalarType type) {
  return type == Number ? "number" : type == Whole ? "whole number" : "condition";
}

// Whole numbers stay so small that moving terms about in comparisons cannot overflow 32 bits. Places, and the
// whole numbers of tables, are taken to be no larger than these.
constexpr double mostWhole = 1 << 30;
constexpr WholeRange placeRange = {0, 1 << 16}, tableRange = {-(1 << 20), 1 << 20};

WholeRange rangeOfCorners(double a, double b, double c, double d) {
  return {std::min({a, b, c, d}), std::max({a, b, c, d})};
}

/// Of a function with whole operands that gives a whole number.
WholeRange rangeOf(const ScoreExpression &call) {
  const WholeRange a = call.operands[0].range, b = call.operands.back().range;
  const double divisor = call.operands.back().value;
  WholeRange hull = b; // of the operands that may be the result
  for (size_t i = call.function == ScalarFunction::Select ? 1 : 0; i + 1 < call.operands.size(); ++i) {
    hull.low = std::min(hull.low, call.operands[i].range.low);
    hull.high = std::max(hull.high, call.operands[i].range.high);
  }
  switch (call.function) {
  case ScalarFunction::Negate:
    return {-a.high, -a.low};
  case ScalarFunction::Add:
    return {a.low + b.low, a.high + b.high};
  case ScalarFunction::Subtract:
    return {a.low - b.high, a.high - b.low};
  case ScalarFunction::Multiply:
    return rangeOfCorners(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
  case ScalarFunction::FloorDivide:
    return {std::floor(a.low / divisor), std::floor(a.high / divisor)};
  case ScalarFunction::Remainder:
    return {0, divisor - 1};
  case ScalarFunction::Abs:
    return {0, std::max(std::abs(a.low), std::abs(a.high))};
  case ScalarFunction::Floor:
    return tableRange;
  default: // Max, Min, Select
    return hull;
  }
}

bool isNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class ScoreParser {
public:
  ScoreParser(const Located<std::string> &text, const TableTypes &tables, Diagnostics &diagnostics)
      : text(*text), start(text.where), tables(tables), diagnostics(diagnostics) {
    Location quoted{start.line, start.column + 1};
    isInPlace = diagnostics.hasTextAt(start, *text);
    if (!isInPlace && diagnostics.hasTextAt(quoted, *text)) {
      start = quoted;
      isInPlace = true;
    }
  }

  std::optional<ScoreExpression> parse(ScalarType wanted);

private:
  using Result = std::optional<ScoreExpression>;

  std::nullopt_t fail(size_t offset, const std::string &message);
  void skipSpace();
  bool take(std::string_view symbol);
  std::string_view takeName();
  Location at(size_t offset) const {
    return isInPlace ? Location{start.line, start.column + unsigned(offset)} : start;
  }

  Result parseLevel(int level);
  Result parseUnary();
  Result parsePrimary();
  Result parseNumber();
  Result parseName(size_t offset, std::string_view name);
  std::optional<std::vector<ScoreExpression>> parseList(std::string_view close);
  const OperatorRule *takeOperator(int level);

  Result call(size_t offset, const FunctionRule &rule, std::vector<ScoreExpression> operands);
  Result apply(size_t offset, ScalarFunction function, std::string_view name,
               std::vector<ScoreExpression> operands);
  Result applyBucket(size_t offset, ScoreExpression result, std::string_view name);
  bool convert(ScoreExpression &operand, ScalarType wanted, size_t offset, std::string_view reader);
  bool unify(std::vector<ScoreExpression> &operands, size_t first, size_t offset, std::string_view reader);

  std::string_view text;
  Location start;
  bool isInPlace; // a text in several lines, or with escapes, is not in the file as it is here
  const TableTypes &tables;
  Diagnostics &diagnostics;
  size_t position = 0;
  int depth = 0, operations = 0, tablesAround = 0;
};

} // namespace

std::nullopt_t ScoreParser::fail(size_t offset, const std::string &message) {
  diagnostics.error(at(offset), isInPlace ? message
                                          : message + " (character " + std::to_string(offset + 1) +
                                                " of the expression)");
  return std::nullopt;
}

void ScoreParser::skipSpace() {
  while (position < text.size() && std::isspace(static_cast<unsigned char>(text[position])))
    ++position;
}

bool ScoreParser::take(std::string_view symbol) {
  skipSpace();
  if (!text.substr(position).starts_with(symbol))
    return false;
  bool isWord = isNamePart(symbol.back()), goesOn = position + symbol.size() < text.size();
  if (isWord && goesOn && isNamePart(text[position + symbol.size()]))
    return false;
  position += symbol.size();
  return true;
}

std::string_view ScoreParser::takeName() {
  size_t end = position;
  while (end < text.size() && isNamePart(text[end]))
    ++end;
  std::string_view name = text.substr(position, end - position);
  position = end;
  return name;
}

const OperatorRule *ScoreParser::takeOperator(int level) {
  skipSpace();
  for (const OperatorRule &rule : operatorRules) {
    bool isOther = rule.text == "/" && text.substr(position).starts_with("//");
    if (rule.level == level && !isOther && take(rule.text))
      return &rule;
  }
  return nullptr;
}

ScoreParser::Result ScoreParser::parseLevel(int level) {
  if (level == notLevel) {
    skipSpace();
    size_t offset = position;
    if (!take("not"))
      return parseLevel(level + 1);
    Result operand = parseLevel(level);
    return operand ? apply(offset, ScalarFunction::Not, "not", {std::move(*operand)}) : std::nullopt;
  }
  if (level == unaryLevel)
    return parseUnary();
  Result left = parseLevel(level + 1);
  while (left) {
    skipSpace();
    size_t offset = position;
    const OperatorRule *rule = takeOperator(level);
    if (!rule)
      return left;
    Result right = parseLevel(level + 1);
    if (!right)
      return std::nullopt;
    std::vector<ScoreExpression> operands;
    operands.push_back(std::move(*left));
    operands.push_back(std::move(*right));
    left = apply(offset, rule->function, rule->text, std::move(operands));
    if (left && level == comparisonLevel && takeOperator(level))
      return fail(offset, "comparisons do not chain; write 'a < b and b < c'");
  }
  return left;
}

ScoreParser::Result ScoreParser::parseUnary() {
  skipSpace();
  size_t offset = position;
  if (!take("-"))
    return parsePrimary();
  constexpr int deepest = 64;
  if (++depth > deepest)
    return fail(offset, "the expression is nested too deeply");
  Result operand = parseUnary();
  --depth;
  return operand ? apply(offset, ScalarFunction::Negate, "-", {std::move(*operand)}) : std::nullopt;
}

std::optional<std::vector<ScoreExpression>> ScoreParser::parseList(std::string_view close) {
  std::vector<ScoreExpression> items;
  do {
    Result item = parseLevel(0);
    if (!item)
      return std::nullopt;
    items.push_back(std::move(*item));
  } while (take(","));
  if (take(close))
    return items;
  return fail(position, "expected ',' or " + quote(close));
}

ScoreParser::Result ScoreParser::parseNumber() {
  size_t begin = position;
  auto digits = [&] {
    while (position < text.size() && std::isdigit(static_cast<unsigned char>(text[position])))
      ++position;
  };
  digits();
  if (position < text.size() && text[position] == '.') {
    ++position;
    digits();
  }
  if (position < text.size() && (text[position] == 'e' || text[position] == 'E')) {
    ++position;
    position += position < text.size() && (text[position] == '-' || text[position] == '+');
    digits();
  }
  std::string_view written = text.substr(begin, position - begin);
  ScoreExpression constant{Kind::Constant, Number, at(begin)};
  if (written.find_first_not_of("0123456789") == written.npos) {
    std::optional<int64_t> whole = parseInteger(written);
    constant.type = Whole;
    constant.value = constant.range.low = constant.range.high = double(whole.value_or(0));
    if (whole && *whole <= std::numeric_limits<int32_t>::max())
      return constant;
  } else if (std::optional<double> number = attnc::parseNumber(written)) {
    constant.value = *number;
    if (std::isfinite(float(*number)))
      return constant;
  }
  return fail(begin,
              quote(written) + " is not a number that fits: whole ones have 32 bits, others are float32");
}

ScoreParser::Result ScoreParser::parsePrimary() {
  skipSpace();
  size_t offset = position;
  if (position == text.size())
    return fail(offset, "the expression ends where a value is expected");
  char c = text[position];
  if (std::isdigit(static_cast<unsigned char>(c)) || c == '.')
    return parseNumber();
  constexpr int deepest = 64;
  if (++depth > deepest)
    return fail(offset, "the expression is nested too deeply");
  Result result;
  if (isNamePart(c)) {
    result = parseName(offset, takeName());
  } else if (take("(")) {
    result = parseLevel(0);
    if (result && !take(")"))
      result = fail(position, "expected ')'");
  } else {
    size_t end = offset + 1; // of the character, in UTF-8
    while (end < text.size() && (text[end] & 0xc0) == 0x80)
      ++end;
    result = fail(offset, "expected a value, found " + quote(text.substr(offset, end - offset)));
  }
  --depth;
  return result;
}

ScoreParser::Result ScoreParser::parseName(size_t offset, std::string_view name) {
  if (take("(")) {
    std::vector<std::string> names;
    for (const FunctionRule &rule : functionRules) {
      names.emplace_back(rule.name);
      if (rule.name != name)
        continue;
      std::optional<std::vector<ScoreExpression>> operands = parseList(")");
      return operands ? call(offset, rule, std::move(*operands)) : std::nullopt;
    }
    return fail(offset, quote(name) + " is not a function" + didYouMeanOrKnown(name, names));
  }
  if (take("[")) {
    std::optional<ScalarType> type = tables(name);
    if (!type)
      return fail(offset, quote(name) + " is not a table: it is not among the op's operands");
    constexpr int mostTables = 4;
    if (++tablesAround > mostTables)
      return fail(offset,
                  "a table's index is read from a table, whose index is read from a table, and so on: " +
                      std::to_string(mostTables) + " are the most");
    std::optional<std::vector<ScoreExpression>> indices = parseList("]");
    if (!indices)
      return std::nullopt;
    --tablesAround;
    for (ScoreExpression &index : *indices)
      if (!convert(index, Whole, offset, "an index of " + quote(name)))
        return std::nullopt;
    return ScoreExpression{Kind::Element,     *type, at(offset),          0,
                           std::string(name), {},    std::move(*indices), tableRange};
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (name == "inf")
    return ScoreExpression{Kind::Constant, Number, at(offset), infinity};
  if (name == "s")
    return ScoreExpression{Kind::Score, Number, at(offset)};
  const std::vector<std::string> places = {"batch", "head", "query", "key"};
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] == name)
      return ScoreExpression{Kind(size_t(Kind::Batch) + i), Whole, at(offset), 0, {}, {}, {}, placeRange};
  return fail(offset,
              quote(name) + (tables(name) ? " is a table: write " + quote(std::string(name) + "[...]")
                                          : " is not a value; known are s, batch, head, query, key, inf"));
}

bool ScoreParser::convert(ScoreExpression &operand, ScalarType wanted, size_t offset,
                          std::string_view reader) {
  if (operand.type == wanted)
    return true;
  if (operand.type == Whole && wanted == Number) {
    Location where = operand.where;
    if (operand.kind == Kind::Constant) {
      operand.type = Number;
      return true;
    }
    ScoreExpression whole = std::move(operand);
    operand = {Kind::Function, Number, where, 0, {}, ScalarFunction::ToNumber, {}};
    operand.operands.push_back(std::move(whole));
    return true;
  }
  fail(offset, std::string(reader) + " takes a " + std::string(textOf(wanted)) + ", found a " +
                   std::string(textOf(operand.type)));
  return false;
}

/// Makes operands from `first` on one type: whole numbers if all are, numbers otherwise.
bool ScoreParser::unify(std::vector<ScoreExpression> &operands, size_t first, size_t offset,
                        std::string_view reader) {
  bool areWhole = std::all_of(operands.begin() + first, operands.end(),
                              [](const ScoreExpression &operand) { return operand.type == Whole; });
  return areWhole || std::all_of(operands.begin() + first, operands.end(), [&](ScoreExpression &operand) {
           return convert(operand, Number, offset, reader);
         });
}

ScoreParser::Result ScoreParser::call(size_t offset, const FunctionRule &rule,
                                      std::vector<ScoreExpression> operands) {
  size_t count = operands.size();
  if (count < rule.fewest || count > rule.most)
    return fail(offset, quote(rule.name) + " has " + counted(count, "operand") + "; it takes " +
                            std::to_string(rule.fewest) +
                            (rule.most > rule.fewest ? " to " + std::to_string(rule.most) : ""));
  return apply(offset, rule.function, rule.name, std::move(operands));
}

/// The number of buckets and the largest distance are constants: the buckets' bounds are computed here.
ScoreParser::Result ScoreParser::applyBucket(size_t offset, ScoreExpression result, std::string_view name) {
  bool isCausal = result.function == ScalarFunction::CausalBucket;
  for (ScoreExpression &operand : result.operands)
    if (!convert(operand, Whole, offset, quote(name)))
      return std::nullopt;
  constexpr double mostBuckets = 256, mostDistance = 65536;
  const ScoreExpression &buckets = result.operands[1], &distance = result.operands[2];
  double own = isCausal ? buckets.value : buckets.value / 2; // of one direction
  bool isRight = buckets.kind == Kind::Constant && distance.kind == Kind::Constant && own >= 2 &&
                 own == std::floor(own) && buckets.value <= mostBuckets &&
                 distance.value > std::floor(own / 2) && distance.value <= mostDistance;
  if (!isRight)
    return fail(offset,
                quote(name) + " takes a distance, a number of buckets (" +
                    (isCausal ? "2" : "an even one in 4") +
                    " to 256) and a largest distance (up to 65536, past the buckets of one distance each)");
  result.type = Whole;
  result.range = {0, buckets.value - 1};
  return result;
}

ScoreParser::Result ScoreParser::apply(size_t offset, ScalarFunction function, std::string_view name,
                                       std::vector<ScoreExpression> operands) {
  constexpr int mostOperations = 256;
  if (++operations > mostOperations)
    return fail(offset, "the expression has more than " + std::to_string(mostOperations) + " operations");
  ScoreExpression result{Kind::Function, Number, at(offset), 0, {}, function, std::move(operands)};
  auto all = [&](ScalarType type) {
    return std::all_of(result.operands.begin(), result.operands.end(),
                       [&](ScoreExpression &operand) { return convert(operand, type, offset, quote(name)); });
  };
  bool isRight = true;
  switch (function) {
  case ScalarFunction::Not:
  case ScalarFunction::And:
  case ScalarFunction::Or:
    isRight = all(Condition);
    result.type = Condition;
    break;
  case ScalarFunction::Less:
  case ScalarFunction::LessEqual:
  case ScalarFunction::Greater:
  case ScalarFunction::GreaterEqual:
  case ScalarFunction::Equal:
  case ScalarFunction::NotEqual:
    isRight = unify(result.operands, 0, offset, quote(name));
    result.type = Condition;
    break;
  case ScalarFunction::Negate:
  case ScalarFunction::Add:
  case ScalarFunction::Subtract:
  case ScalarFunction::Multiply:
  case ScalarFunction::Abs:
  case ScalarFunction::Max:
  case ScalarFunction::Min:
    isRight = unify(result.operands, 0, offset, quote(name));
    result.type = result.operands[0].type;
    break;
  case ScalarFunction::Select:
    isRight = convert(result.operands[0], Condition, offset, "the first operand of 'select'") &&
              unify(result.operands, 1, offset, quote(name));
    result.type = result.operands[1].type;
    break;
  case ScalarFunction::FloorDivide:
  case ScalarFunction::Remainder:
    isRight = all(Whole);
    if (isRight && (result.operands[1].kind != Kind::Constant || result.operands[1].value < 1))
      return fail(offset, "the right side of " + quote(name) + " must be a positive constant");
    result.type = Whole;
    break;
  case ScalarFunction::Bucket:
  case ScalarFunction::CausalBucket:
    return applyBucket(offset, std::move(result), name);
  case ScalarFunction::Floor:
    isRight = all(Number);
    result.type = Whole;
    break;
  default:
    isRight = all(Number);
  }
  if (!isRight)
    return std::nullopt;
  if (result.type == Whole) {
    result.range = rangeOf(result);
    if (result.range.low < -mostWhole || result.range.high > mostWhole)
      return fail(offset, quote(name) +
                              " may leave what whole numbers can be, -2^30 to 2^30, where places are up to " +
                              "2^16; write a constant with a point to use numbers");
  }
  return result;
}

std::optional<ScoreExpression> ScoreParser::parse(ScalarType wanted) {
  constexpr size_t longest = 4096;
  if (text.size() > longest)
    return fail(0, "the expression has " + std::to_string(text.size()) + " characters; the most is 4096");
  Result result = parseLevel(0);
  if (!result)
    return std::nullopt;
  skipSpace();
  if (position < text.size())
    return fail(position, "expected an operator or the end, found " + quote(text.substr(position)));
  return convert(*result, wanted, 0, "the whole expression") ? result : std::nullopt;
}

std::optional<ScoreExpression> parseScore(const Located<std::string> &text, ScalarType wanted,
                                          const TableTypes &tables, Diagnostics &diagnostics) {
  return ScoreParser(text, tables, diagnostics).parse(wanted);
}

/// In float32 and in this order, as the models were trained (`_relative_position_bucket` of Transformers).
static int64_t bucketOf(int64_t distance, int64_t buckets, int64_t mostDistance) {
  int64_t exact = buckets / 2;
  if (distance < exact)
    return distance;
  float share =
      std::log(float(distance) / float(exact)) / float(std::log(double(mostDistance) / double(exact)));
  return std::min(exact + int64_t(share * float(buckets - exact)), buckets - 1);
}

std::vector<int64_t> bucketStarts(int64_t buckets, int64_t mostDistance) {
  std::vector<int64_t> starts;
  for (int64_t distance = 1; int64_t(starts.size()) + 1 < buckets; ++distance)
    while (int64_t(starts.size()) < bucketOf(distance, buckets, mostDistance))
      starts.push_back(distance);
  return starts;
}

} // namespace attnc
