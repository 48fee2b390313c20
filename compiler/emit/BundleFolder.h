//===- BundleFolder.h - a folder that appears whole or not at all ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_BUNDLEFOLDER_H
#define ATTNC_COMPILER_EMIT_BUNDLEFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace attnc {

/// A bundle in the making. It is written beside its destination and takes its place at the end; until then an
/// older bundle there is untouched, and whatever goes wrong leaves nothing behind.
class BundleFolder {
public:
  /// Fails where `destination` exists and is not a bundle, or its parent cannot be written.
  static llvm::Expected<BundleFolder> create(llvm::StringRef destination);
  /// Fails where the bundle that would be replaced stands beside files of somebody else, which would be lost;
  /// so does commit() from here on.
  llvm::Error refuseOtherFiles();
  BundleFolder(BundleFolder &&other) noexcept;
  ~BundleFolder();

  const std::string &path() const { return temporary; }
  /// A folder for what the bundle will not hold.
  std::string scratch() const { return temporary + "/scratch"; }

  /// Drops the scratch folder and puts the bundle in its place.
  llvm::Error commit();

private:
  BundleFolder() = default;
  llvm::Error giveBackOtherFiles();

  std::string destination;
  std::string temporary; // empty: nothing to clean up
  bool refusesOthers = false;
};

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_BUNDLEFOLDER_H
