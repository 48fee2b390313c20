//===- Cores.cpp - how many threads this process may keep busy ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What Linux tells in files (its documentation of cputopology and cgroup-v2, proc(5), cgroups(7)); one that
// cannot be read limits nothing.

#include "Cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <sched.h>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace attnrt {
namespace {

namespace fs = std::filesystem;

std::vector<int> processorsOfThisThread() {
  std::vector<int> found;
  for (int most = 1024; most <= 1 << 16 && found.empty(); most *= 2) { // fails where the system has more
    std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(most) / sizeof(cpu_set_t));
    const size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0)
      continue;
    for (int processor = 0; processor < most; ++processor)
      if (CPU_ISSET_S(processor, bytes, set.data()))
        found.push_back(processor);
  }
  if (found.empty()) {
    found.resize(std::max(1u, std::thread::hardware_concurrency()));
    std::iota(found.begin(), found.end(), 0);
  }
  return found;
}

/// Processors that share a core name the same ones.
int countCoresOf(const fs::path &root, const std::vector<int> &processors) {
  std::set<std::string> cores;
  for (const int processor : processors) {
    const fs::path folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(processor));
    std::ifstream file(folder / "topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings))
      siblings = std::to_string(processor);
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

constexpr double noLimit = std::numeric_limits<double>::infinity();

/// Processors that a group may keep busy all the time: its quota of each period.
double limitOfGroup(const fs::path &folder) {
  double quota = 0, period = 0;
  std::ifstream unified(folder / "cpu.max");                                                // "max" is none
  std::ifstream quotas(folder / "cpu.cfs_quota_us"), periods(folder / "cpu.cfs_period_us"); // -1 is none
  const bool isKnown = bool(unified >> quota >> period) || (quotas >> quota && periods >> period);
  return isKnown && quota > 0 && period > 0 ? quota / period : noLimit;
}

/// The least of a group and those that it is in. In a container `group` may be its name outside, and
/// `hierarchy` what is inside.
double limitOfGroups(const fs::path &hierarchy, const std::string &group) {
  fs::path folder = hierarchy;
  double least = limitOfGroup(folder);
  for (const fs::path &name : fs::path(group).lexically_normal().relative_path()) {
    folder /= name;
    least = std::min(least, limitOfGroup(folder));
  }
  return least;
}

bool hasController(const std::string &controllers, const std::string &name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

/// Of this process. Lines are NUMBER:CONTROLLERS:GROUP, without controllers where all are in one hierarchy.
double limitOfProcess(const fs::path &root) {
  const fs::path groups = root / "sys/fs/cgroup";
  double least = noLimit;
  std::ifstream file(root / "proc/self/cgroup");
  std::string number, controllers, group;
  for (std::string line; std::getline(file, line);) {
    std::istringstream parts(line);
    if (!std::getline(parts, number, ':') || !std::getline(parts, controllers, ':') ||
        !std::getline(parts, group))
      continue;
    if (controllers.empty())
      least = std::min(least, limitOfGroups(groups, group));
    else if (hasController(controllers, "cpu"))
      least = std::min(least, limitOfGroups(groups / "cpu", group));
  }
  return least;
}

} // namespace

int countCores(const fs::path &root, const std::vector<int> &processors) {
  const double limit = std::ceil(limitOfProcess(root));
  const int cores = countCoresOf(root, processors);
  return std::max(1, limit < cores ? static_cast<int>(limit) : cores);
}

int countCores() { return countCores("/", processorsOfThisThread()); }

} // namespace attnrt
