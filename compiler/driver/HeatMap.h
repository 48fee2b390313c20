//===- HeatMap.h - attention weights as an SVG picture -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_HEATMAP_H
#define ATTNC_COMPILER_DRIVER_HEATMAP_H

#include <string>
#include <vector>

namespace attnc {

struct HeatMap {
  std::vector<std::string> rows;    // target tokens
  std::vector<std::string> columns; // source tokens
  std::vector<float> values;        // rows x columns, from 0 to 1
};

/// The picture as text. Labels may hold anything.
std::string drawHeatMap(const HeatMap &map);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_HEATMAP_H
