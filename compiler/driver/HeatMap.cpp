//===- HeatMap.cpp - attention weights as an SVG picture ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/HeatMap.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace attnc {
namespace {

constexpr int cell = 28, fontSize = 14;

/// Text that may stand between tags. Characters that XML does not know become the replacement character.
std::string escapeXml(const std::string &text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20)
        escaped += "\xEF\xBF\xBD";
      else
        escaped += c;
    }
  }
  return escaped;
}

/// Bytes that begin a character; a wide character (from U+1100, Hangul and on) counts twice.
int labelWidth(const std::vector<std::string> &labels) {
  size_t widest = 1;
  for (const std::string &label : labels) {
    size_t width = 0;
    for (const char c : label) {
      const auto byte = static_cast<unsigned char>(c);
      width += (byte & 0xc0) == 0x80 ? 0 : byte >= 0xe1 ? 2 : 1;
    }
    widest = std::max(widest, width);
  }
  return static_cast<int>(widest) * fontSize * 6 / 10 + 12;
}

/// White for 0, dark blue for 1; the square root keeps small weights visible.
std::string colour(float value) {
  const float depth = std::sqrt(std::clamp(std::isnan(value) ? 0.f : value, 0.f, 1.f));
  const auto mix = [&](int dark) {
    return std::to_string(static_cast<int>(std::lround(255 + (dark - 255) * depth)));
  };
  return "rgb(" + mix(8) + "," + mix(48) + "," + mix(107) + ")";
}

} // namespace

std::string drawHeatMap(const HeatMap &map) {
  const int left = labelWidth(map.rows), top = labelWidth(map.columns);
  const int width = left + cell * static_cast<int>(map.columns.size()) + 8;
  const int height = top + cell * static_cast<int>(map.rows.size()) + 8;
  std::ostringstream svg;
  svg << std::fixed << std::setprecision(5); // variants differ in further digits
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
      << "\" font-family=\"sans-serif\" font-size=\"" << fontSize << "\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (size_t c = 0; c < map.columns.size(); ++c) {
    const int x = left + static_cast<int>(c) * cell + cell / 2 + fontSize / 3;
    svg << "<text transform=\"translate(" << x << "," << top - 6 << ") rotate(-90)\">"
        << escapeXml(map.columns[c]) << "</text>\n";
  }
  for (size_t r = 0; r < map.rows.size(); ++r) {
    const int y = top + static_cast<int>(r) * cell;
    svg << "<text x=\"" << left - 6 << "\" y=\"" << y + cell / 2 + fontSize / 3 << "\" text-anchor=\"end\">"
        << escapeXml(map.rows[r]) << "</text>\n";
    for (size_t c = 0; c < map.columns.size(); ++c) {
      const float value = map.values[r * map.columns.size() + c];
      svg << "<rect x=\"" << left + static_cast<int>(c) * cell << "\" y=\"" << y << "\" width=\"" << cell
          << "\" height=\"" << cell << "\" fill=\"" << colour(value) << "\" stroke=\"#ddd\"><title>" << value
          << "</title></rect>\n";
    }
  }
  svg << "</svg>\n";
  return svg.str();
}

} // namespace attnc
