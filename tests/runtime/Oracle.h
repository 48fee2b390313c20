//===- Oracle.h - the search rules once more, plainly -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Beam search written straight from the rule, hypothesis by hypothesis and without models, batches or caches.

#ifndef ATTNC_TESTS_RUNTIME_ORACLE_H
#define ATTNC_TESTS_RUNTIME_ORACLE_H

#include "ToyBundle.h"

namespace toy {

struct OracleHypothesis {
  Ids ids; // with the end token
  double total = 0;
  double score(double penalty) const;
  bool ended() const { return !ids.empty() && ids.back() == end; }
};

/// n-best list of one source.
std::vector<OracleHypothesis> oracleBeam(const Ids &source, const attnrt_decode_options &options);

/// All that finished, in the order in which they did.
std::vector<OracleHypothesis> oracleFinished(const Ids &source, const attnrt_decode_options &options);

/// n-best list of a diverse beam search.
std::vector<OracleHypothesis> oracleDiverse(const Ids &source, const attnrt_decode_options &options);

/// The best continuation of each of the n_best first tokens that are not forced.
std::vector<OracleHypothesis> oracleAlternatives(const Ids &source, const attnrt_decode_options &options);

/// The best of all outputs of at most `length` tokens, found by trying every one.
OracleHypothesis oracleExhaustive(const Ids &source, int length, double penalty);

} // namespace toy

#endif // ATTNC_TESTS_RUNTIME_ORACLE_H
