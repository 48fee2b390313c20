//===- CellCases.cpp - recurrent cells under test ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tolerances: a gate sums `in` products (see KernelCases.cpp), or twice as many where the input's matmul is
// inside; functions of gates have slopes of at most 1, and what they give is at most 1. The states and inputs
// are in [-1, 1], so an error of a gate moves a result by at most twice itself; a GRU that resets before its
// second matmul passes it on once more.

#include "tests/kernels/KernelText.h"

#include <cmath>

namespace attnc::test {

static const char *ids = "tensor<?xi32, #attn.axes<row>>";

/// Writes the operations of a cell of `width`.
class CellText {
public:
  explicit CellText(int width) : width(width) {}

  std::string linear(const std::string &input, int in, const std::string &name, int out) {
    return op("attn.linear " + input + ", %w" + name + " bias %b" + name,
              "(" + rows(in) + ", " + matrix(out, in) + ", " + vector(out) + ") -> " + rows(out));
  }
  std::string slice(const std::string &whole, int gate, int gates) {
    return op("attn.slice " + whole + " at " + std::to_string(gate * width) + " width " +
                  std::to_string(width),
              "(" + rows(gates * width) + ") -> " + rows(width));
  }
  std::string add(const std::string &a, const std::string &b) { return op("attn.add " + a + ", " + b); }
  std::string mul(const std::string &a, const std::string &b) { return op("attn.mul " + a + ", " + b); }
  std::string activation(const std::string &kind, const std::string &a) {
    return op("attn.activation " + kind + " " + a);
  }
  std::string select(const std::string &fresh, const std::string &kept) {
    return kept.empty()
               ? op("attn.where %live, " + fresh,
                    "(" + std::string(ids) + ", " + rows(width) + ") -> " + rows(width))
               : op("attn.where %live, " + fresh + " else " + kept,
                    "(" + std::string(ids) + ", " + rows(width) + ", " + rows(width) + ") -> " + rows(width));
  }
  /// n + z * (h - n)
  std::string interpolate(const std::string &z, const std::string &h, const std::string &n) {
    std::string minus = op("attn.scale " + n + " by -1.0");
    return add(n, mul(z, add(h, minus)));
  }

  std::string text;

private:
  std::string op(const std::string &what) { return op(what, rows(width)); }
  std::string op(const std::string &what, const std::string &type) {
    std::string name = "%" + std::to_string(count++);
    text += "  " + name + " = " + what + " : " + type + "\n";
    return name;
  }

  int width;
  int count = 0;
};

static KernelCase finish(const std::string &name, const std::string &arguments, const CellText &cell,
                         const std::vector<std::string> &results, int width, double tolerance) {
  std::string values, types;
  for (const std::string &result : results) {
    values += (values.empty() ? "" : ", ") + result;
    types += (types.empty() ? "" : ", ") + rows(width);
  }
  std::vector<Sizes> sizes;
  for (int64_t count : {1, 3, 7, 8, 9, 37})
    sizes.push_back({{"row", count}});
  KernelCase result{name + "_" + std::to_string(width),
                    "attn.kernel @k {\n^bb0(" + arguments + "):\n" + cell.text + "  attn.yield " + values +
                        " : " + types + "\n}\n",
                    sizes,
                    tolerance,
                    {},
                    {}};
  return result;
}

static double toleranceOf(int in) { return 4 * in * std::ldexp(1.0, -24) + 4e-6; }

/// Reset after its matmul, the input's matmul inside (Cho et al. 2014 as PyTorch has it).
static KernelCase gru(int in, int width) {
  CellText cell(width);
  std::string x = cell.linear("%x", in, "i", 3 * width), s = cell.linear("%h", width, "h", 3 * width);
  auto gate = [&](int number) { return cell.add(cell.slice(x, number, 3), cell.slice(s, number, 3)); };
  std::string r = cell.activation("sigmoid", gate(0)), z = cell.activation("sigmoid", gate(1));
  std::string reset = cell.mul(r, cell.slice(s, 2, 3));
  std::string n = cell.activation("tanh", cell.add(cell.slice(x, 2, 3), reset));
  std::string next = cell.interpolate(z, "%h", n);
  return finish("gru_" + std::to_string(in),
                "%x: " + rows(in) + ", %h: " + rows(width) + ", %wi: " + matrix(3 * width, in) + ", %bi: " +
                    vector(3 * width) + ", %wh: " + matrix(3 * width, width) + ", %bh: " + vector(3 * width),
                cell, {next}, width, toleranceOf(in + width));
}

/// Reset before its matmul: the reset state is a result of its own.
static KernelCase gruResetBefore(int width) {
  CellText cell(width);
  std::string s = cell.linear("%h", width, "h", 2 * width);
  auto gate = [&](int number) {
    std::string sum = cell.add(cell.slice("%x", number, 3), cell.slice(s, number, 2));
    return cell.activation("sigmoid", sum);
  };
  std::string reset = cell.mul(gate(0), "%h"), z = gate(1);
  std::string candidate = cell.add(cell.slice("%x", 2, 3), cell.linear(reset, width, "n", width));
  std::string next = cell.interpolate(z, "%h", cell.activation("tanh", candidate));
  return finish("gru_reset_before",
                "%x: " + rows(3 * width) + ", %h: " + rows(width) + ", %wh: " + matrix(2 * width, width) +
                    ", %bh: " + vector(2 * width) + ", %wn: " + matrix(width, width) +
                    ", %bn: " + vector(width),
                cell, {reset, next}, width, 2 * toleranceOf(2 * width));
}

/// The input's part is given; rows may have ended.
static KernelCase maskedLstm(int width) {
  CellText cell(width);
  std::string s = cell.linear("%h", width, "h", 4 * width);
  auto gate = [&](int number, const char *kind) {
    std::string sum = cell.add(cell.slice("%x", number, 4), cell.slice(s, number, 4));
    return cell.activation(kind, sum);
  };
  std::string i = gate(0, "sigmoid"), f = gate(1, "sigmoid"), g = gate(2, "tanh"), o = gate(3, "sigmoid");
  std::string memory = cell.add(cell.mul(f, "%c"), cell.mul(i, g));
  std::string next = cell.mul(o, cell.activation("tanh", memory));
  std::vector<std::string> results{cell.select(next, ""), cell.select(next, "%h"), cell.select(memory, "%c")};
  KernelCase result =
      finish("lstm_masked",
             "%x: " + rows(4 * width) + ", %h: " + rows(width) + ", %c: " + rows(width) + ", %live: " + ids +
                 ", %wh: " + matrix(4 * width, width) + ", %bh: " + vector(4 * width),
             cell, results, width, toleranceOf(width));
  result.idLimits[3] = 2;
  return result;
}

std::vector<KernelCase> cellCases() {
  std::vector<KernelCase> cases{gru(64, 96), gru(20, 20), gru(7, 4), gru(72, 80), gru(256, 256)};
  for (int width : {4, 20, 32, 72, 80, 256})
    cases.push_back(maskedLstm(width));
  for (int width : {20, 64, 72})
    cases.push_back(gruResetBefore(width));
  return cases;
}

} // namespace attnc::test
