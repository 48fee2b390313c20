//===- ranges.hpp - what numbers the decoding options may have ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One table for specs, manifests, flags of attnc and options of attnrt_decode(). Bounds keep every sum of
// scores finite. Both ends are allowed.

#ifndef ATTNRT_RANGES_HPP
#define ATTNRT_RANGES_HPP

namespace attnrt {

struct Range {
  double low, high;

  /// Compared in the option's own type: 0.001f is a little more than 0.001.
  template <typename Number> constexpr bool holds(Number value) const {
    return value >= static_cast<Number>(low) && value <= static_cast<Number>(high);
  }
};

namespace ranges {

inline constexpr Range beam{1, 1024}; // and n_best, num_beam_groups, hypotheses of a sentence
inline constexpr Range lengthPenalty{-10, 10};
inline constexpr Range minLength{0, 1 << 20};
inline constexpr Range maxLength{1, 1 << 20};
inline constexpr Range batch{1, 1 << 20};         // of a session, so sources of a decode
inline constexpr Range sessionLength{1, 1 << 24}; // source and target, where the model has no limit
inline constexpr Range threads{0, 1024};          // of a pool; 0: attnrt_core_count()
inline constexpr Range suppressed{0, 1 << 16};    // of a session
inline constexpr Range badWords{0, 1 << 20};      // sequences, and tokens of each: prompts are read as well
inline constexpr Range patience{0.001, 1024};
inline constexpr Range penalty{0, 1e6}; // diversity_penalty, coverage_penalty
inline constexpr Range repetitionPenalty{1e-6, 1e6};
inline constexpr Range ngramSize{0, 1 << 20};
inline constexpr Range temperature{1e-6, 1e6};
inline constexpr Range topK{0, 1 << 24};
inline constexpr Range share{1e-6, 1}; // top_p, typical_p
inline constexpr Range ids{0, (1 << 24) - 1};
inline constexpr Range idOrNone{-1, (1 << 24) - 1};
inline constexpr Range seed{0, 9007199254740991}; // whole numbers that a double holds
inline constexpr Range probability{0, 1};         // min_p, min_alternative_probability

} // namespace ranges
} // namespace attnrt

#endif // ATTNRT_RANGES_HPP
