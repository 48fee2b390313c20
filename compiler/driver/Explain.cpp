//===- Explain.cpp - attnc explain -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints what the passes fused, what they did not and why, in the order of the spec's lines.

#include "compiler/driver/Commands.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/Frontend.h"

#include "mlir/IR/Location.h"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <map>

using namespace attnc;

namespace {

/// Layers of one block come from one line of the spec, and entries from one decoder: equal remarks are
/// counted.
class Remarks {
public:
  void add(mlir::Location where, const std::string &text) {
    std::tuple<unsigned, unsigned, std::string> key{0, 0, text};
    if (auto place = where->findInstanceOf<mlir::FileLineColLoc>())
      key = {place.getLine(), place.getColumn(), text};
    ++counts[key];
  }

  void print(const std::string &file) const {
    for (const auto &[key, count] : counts) {
      const auto &[line, column, text] = key;
      std::cout << file;
      if (line != 0)
        std::cout << ":" << line << ":" << column;
      std::cout << ": " << text;
      if (count > 1)
        std::cout << " (" << count << " times)";
      std::cout << "\n";
    }
    if (std::none_of(counts.begin(), counts.end(),
                     [](const auto &remark) { return isUnfused(std::get<2>(remark.first)); }))
      std::cout << "nothing that could be fused was left apart\n";
  }

private:
  static bool isUnfused(const std::string &text) {
    return text.starts_with("not fused") || text.starts_with("not merged");
  }

  std::map<std::tuple<unsigned, unsigned, std::string>, int> counts;
};

/// Each kernel, how often it is called, and by which entries where there are several.
void printKernels(mlir::ModuleOp module) {
  std::map<std::string, std::vector<std::pair<std::string, int>>> calls;
  int entries = 0;
  for (auto entry : module.getOps<mlir::func::FuncOp>()) {
    ++entries;
    entry.walk([&](attn::CallOp call) {
      auto &counts = calls[call.getKernel().str()];
      if (counts.empty() || counts.back().first != entry.getName())
        counts.emplace_back(entry.getName(), 0);
      ++counts.back().second;
    });
  }
  std::cout << "\n" << calls.size() << (calls.size() == 1 ? " kernel:\n" : " kernels:\n");
  for (const auto &[kernel, counts] : calls) {
    int total = 0;
    std::string perEntry;
    for (const auto &[entry, count] : counts) {
      total += count;
      perEntry += (perEntry.empty() ? ": " : ", ") + entry + " " + std::to_string(count);
    }
    std::cout << "  " << kernel << ", called in " << total << (total == 1 ? " place" : " places")
              << (entries > 1 ? perEntry : "") << "\n";
  }
}

int explain(const std::string &spec, const std::string &weights) {
  Frontend frontend;
  if (!frontend.load(spec, {weights}))
    return 1;
  Remarks remarks;
  frontend.onRemark = [&](mlir::Location where, const std::string &text) { remarks.add(where, text); };
  if (!frontend.run(attn::Phase::Outlined))
    return 1;
  remarks.print(spec);
  printKernels(frontend.module());
  return 0;
}

} // namespace

void addExplainCommand(CLI::App &app, int &exitCode) {
  auto spec = std::make_shared<std::string>(), weights = std::make_shared<std::string>();
  CLI::App *command = app.add_subcommand("explain", "Tell what fused with what, what did not, and why");
  command->add_option("SPEC", *spec, "The model's YAML file")->required()->type_name("FILE");
  command->add_option("--weights", *weights, "As for compile: random:SEED needs no file")
      ->check(weightSource())
      ->type_name("FILE");
  command->callback([=, &exitCode] { exitCode = explain(*spec, *weights); });
}
