//===- Cores.h - how many threads this process may keep busy ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_CORES_H
#define ATTNRT_SRC_CORES_H

#include <filesystem>
#include <vector>

namespace attnrt {

/// The cores that the calling thread may run on, each once however many threads it runs at a time, for those
/// share what multiplies; and no more than the processors' time that its control groups grant, rounded up. At
/// least 1.
int countCores();

/// The same where `processors` are those that the thread may run on, and `root` has proc and sys.
int countCores(const std::filesystem::path &root, const std::vector<int> &processors);

} // namespace attnrt

#endif // ATTNRT_SRC_CORES_H
