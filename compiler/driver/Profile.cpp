//===- Profile.cpp - where the time of requests goes, kernel by kernel ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Profile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace attnc {

/// That of floats where the type's own was not measured.
double Profile::arithmeticLimitOf(const KernelLine &line) const {
  const double own = line.type == ProductType::Int8   ? int8Limit
                     : line.type == ProductType::Bf16 ? bf16Limit
                                                      : arithmeticLimit;
  return own > 0 ? own : arithmeticLimit;
}

/// Bytes that are read until a kernel comes back to its own. One with products does so when its entry is
/// called again, as each layer has weights and caches of its own: then all such kernels of the entry have
/// read theirs, once for each call of the rarest one. Others read what the kernel before them has just
/// written.
double Profile::workingSet(const KernelLine &line) const {
  if (line.operations == 0)
    return line.bytes / line.calls;
  double rounds = line.calls, bytes = 0;
  for (const KernelLine &other : kernels)
    if (other.entry == line.entry && other.operations > 0) {
      rounds = std::min(rounds, other.calls);
      bytes += other.bytes;
    }
  return bytes / rounds;
}

/// That of the largest size that is not larger than the working set. Fewer bytes are read as fast as more
/// are, also where measurements were disturbed.
double Profile::readLimitOf(const KernelLine &line) const {
  auto size = readLimits.upper_bound(workingSet(line));
  if (size != readLimits.begin())
    --size;
  return std::max_element(size, readLimits.end(),
                          [](const auto &a, const auto &b) { return a.second < b.second; })
      ->second;
}

double Profile::shareOfLimit(const KernelLine &line) const {
  const double seconds = std::max(line.operations / arithmeticLimitOf(line), line.bytes / readLimitOf(line));
  return line.milliseconds > 0 ? seconds * 1000 / line.milliseconds : 0;
}

static double millisecondsOfKernels(const Profile &profile) {
  return std::accumulate(profile.kernels.begin(), profile.kernels.end(), 0.0,
                         [](double sum, const KernelLine &line) { return sum + line.milliseconds; });
}

/// A number with `digits` after the point, or more where it is small: its first three, down to the sixth.
static std::string amount(double value, int digits) {
  const double needed = value > 0 ? std::ceil(2 - std::log10(value)) : 0;
  std::ostringstream text;
  text << std::fixed << std::setprecision(int(std::clamp<double>(needed, digits, 6))) << value;
  return text.str();
}

static void printLimits(std::ostream &text, const Profile &profile) {
  text << std::setprecision(1) << "limits: " << profile.arithmeticLimit * 1e-9 << " GFLOP/s";
  if (profile.int8Limit > 0)
    text << ", " << profile.int8Limit * 1e-9 << " of int8";
  if (profile.bf16Limit > 0)
    text << ", " << profile.bf16Limit * 1e-9 << " of bf16";
  for (const auto &[bytes, limit] : profile.readLimits)
    text << (bytes == profile.readLimits.begin()->first ? "; GB/s by KiB read again and again: " : ", ")
         << limit * 1e-9 << " (" << int64_t(bytes) / 1024 << ')';
  text << '\n';
}

std::string printProfile(const Profile &profile) {
  size_t widestEntry = 12, widest = 6;
  for (const KernelLine &line : profile.kernels) {
    widestEntry = std::max(widestEntry, line.entry.size());
    widest = std::max(widest, line.kernel.size());
  }
  std::ostringstream text;
  text << std::fixed << std::left << std::setw(int(widestEntry) + 2) << "entry" << std::setw(int(widest))
       << "kernel" << std::right << std::setw(9) << "calls" << std::setw(11) << "ms" << std::setw(8) << "time"
       << std::setw(12) << "MFLOP" << std::setw(11) << "MB" << std::setw(10) << "GFLOP/s" << std::setw(8)
       << "GB/s" << std::setw(8) << "limit" << '\n';
  for (const KernelLine &line : profile.kernels) {
    const double perSecond = 1e-6 / std::max(line.milliseconds, 1e-6);
    text << std::left << std::setw(int(widestEntry) + 2) << line.entry << std::setw(int(widest))
         << line.kernel << std::right << std::setprecision(0) << std::setw(9) << line.calls << std::setw(11)
         << amount(line.milliseconds, 3) << std::setprecision(1) << std::setw(7)
         << 100 * line.milliseconds / profile.milliseconds << '%' << std::setw(12)
         << amount(line.operations * 1e-6, 1) << std::setw(11) << amount(line.bytes * 1e-6, 2)
         << std::setw(10) << line.operations * perSecond << std::setw(8) << line.bytes * perSecond
         << std::setprecision(0) << std::setw(7) << 100 * profile.shareOfLimit(line) << "%\n";
  }
  const double outside = profile.milliseconds - millisecondsOfKernels(profile);
  text << "outside of kernels: " << amount(outside, 3) << " of " << amount(profile.milliseconds, 3)
       << " ms\n";
  printLimits(text, profile);
  return text.str();
}

std::string drawProfile(const Profile &profile) {
  constexpr int row = 22, left = 420, longest = 400, top = 48;
  const double slowest = profile.kernels.empty() ? 0 : profile.kernels.front().milliseconds;
  const double scale = slowest > 0 ? longest / slowest : 0;
  std::ostringstream svg;
  svg << std::fixed << std::setprecision(2) << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""
      << left + longest + 420 << "\" height=\"" << top + row * int(profile.kernels.size()) + 12
      << "\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n"
      << "<text x=\"8\" y=\"20\">" << profile.title << "</text>\n<text x=\"8\" y=\"38\" fill=\"#666\">"
      << "ms, MFLOP and MB of a request, or of a graph's call, by kernel; dark: what the machine's limit "
         "allows</text>\n";
  for (size_t i = 0; i < profile.kernels.size(); ++i) {
    const KernelLine &line = profile.kernels[i];
    const int y = top + row * int(i);
    const double share = profile.shareOfLimit(line), width = line.milliseconds * scale;
    svg << "<text x=\"" << left - 8 << "\" y=\"" << y + 14 << "\" text-anchor=\"end\">" << line.entry << ": "
        << line.kernel << "</text>\n<rect x=\"" << left << "\" y=\"" << y << "\" width=\"" << width
        << "\" height=\"16\" fill=\"#9ecae1\"/>\n<rect x=\"" << left << "\" y=\"" << y << "\" width=\""
        << width * std::min(share, 1.0) << "\" height=\"16\" fill=\"#08519c\"/>\n<text x=\""
        << left + width + 6 << "\" y=\"" << y + 14 << "\">" << amount(line.milliseconds, 2) << " ms, "
        << amount(line.operations * 1e-6, 2) << " MFLOP, " << amount(line.bytes * 1e-6, 2) << " MB, "
        << int(100 * share + 0.5) << "% of the limit</text>\n";
  }
  svg << "</svg>\n";
  return svg.str();
}

} // namespace attnc
