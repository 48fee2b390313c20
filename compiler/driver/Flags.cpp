//===- Flags.cpp - flags that commands have in common ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Flags.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/ReadSpec.h"
#include "compiler/spec/Words.h"

#include <filesystem>
#include <sstream>

namespace attnc {

std::string rangeText(attnrt::Range range) {
  std::ostringstream text;
  text.precision(16); // whole numbers up to 2^53
  text << range.low << " to " << range.high;
  return text.str();
}

namespace {

CLI::Validator makeValidator(attnrt::Range range, bool isWhole) {
  const auto check = [=](std::string &given) -> std::string {
    const std::optional<double> value = parseNumber(given);
    if (!value || (isWhole && !parseInteger(given)))
      return quote(given) + (isWhole ? " is not a whole number from " : " is not a number from ") +
             rangeText(range);
    return range.holds(*value) ? "" : quote(given) + " is not in " + rangeText(range);
  };
  return {check, rangeText(range)};
}

} // namespace

CLI::Validator wholeIn(attnrt::Range range) { return makeValidator(range, true); }

CLI::Validator numberIn(attnrt::Range range) { return makeValidator(range, false); }

CLI::Validator weightSource() {
  const auto check = [](std::string &given) -> std::string {
    WeightSource source;
    Diagnostics diagnostics;
    readWeightOption(given, source, diagnostics);
    return diagnostics.hasErrors() ? diagnostics.all().front().message : "";
  };
  return {check, ""};
}

void addCacheFlag(CLI::App &command, std::string &folder) {
  command
      .add_option("--cache", folder,
                  "Take kernels that were compiled before from this folder, and keep new ones there")
      ->envname("ATTNC_CACHE")
      ->type_name("FOLDER");
}

CLI::Validator bundleFolder() {
  const auto check = [](std::string &given) -> std::string {
    std::error_code none;
    if (!std::filesystem::is_regular_file(given, none))
      return "";
    return "'" + given + "' is a file; a bundle is the folder that 'attnc compile SPEC -o FOLDER' writes";
  };
  return {check, ""};
}

void checkKindFlags(const std::vector<KindFlag> &flags, const std::string &what, const std::string &kind) {
  for (const KindFlag &flag : flags)
    if (flag.rule == (flag.isGiven ? KindFlag::Refused : KindFlag::Needed))
      throw CLI::ValidationError(std::string(flag.name) +
                                 (flag.isGiven ? " has no meaning for " : " is needed for ") + what +
                                 ", whose kind is " + kind);
}

void addBundleFlags(CLI::App &command, BundleOptions &options, const std::string &group) {
  command.add_option("BUNDLE", options.folder, "Folder written by 'attnc compile'")
      ->required()
      ->check(bundleFolder())
      ->type_name("FOLDER");
  command
      .add_option("--threads", options.threads,
                  "Threads; 0: one per core, or as many as the container may keep busy")
      ->check(wholeIn(attnrt::ranges::threads))
      ->group(group);
  command
      .add_option("--variant", options.variant, "Kernels to use; the best this machine can run if not given")
      ->group(group);
}

} // namespace attnc
