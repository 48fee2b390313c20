//===- OracleFixture.h - decodes compared with the oracle's -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_RUNTIME_ORACLEFIXTURE_H
#define ATTNC_TESTS_RUNTIME_ORACLEFIXTURE_H

#include "Oracle.h"
#include "ToyFixture.h"

#include <functional>

namespace toy {

class OracleFixture : public Fixture {
protected:
  /// The n-best lists of all test sources, decoded together, must be the oracle's.
  void expectOracle(const attnrt_decode_options &options) {
    const auto lists = session(8, options.beam, 12).decode(testSources(), options);
    for (size_t s = 0; s < lists.size(); ++s) {
      SCOPED_TRACE("source " + std::to_string(s));
      expectLists(oracleBeam(testSources()[s], options), lists[s], options.length_penalty);
    }
  }

  static void expectLists(const std::vector<OracleHypothesis> &wanted,
                          const std::vector<attnrt::api::Hypothesis> &got, float penalty) {
    ASSERT_EQ(wanted.size(), got.size());
    for (size_t rank = 0; rank < wanted.size(); ++rank)
      expectEqual(wanted[rank], got[rank], penalty);
  }

  static void expectEqual(const OracleHypothesis &wanted, const attnrt::api::Hypothesis &got, float penalty) {
    Ids ids = got.ids;
    if (got.ended)
      ids.push_back(end);
    EXPECT_EQ(wanted.ids, ids);
    // At most 12 scores of at most 30, each rounded to 2^-24 of itself.
    EXPECT_NEAR(wanted.score(penalty), got.score, 3e-5);
  }
};

} // namespace toy

#endif // ATTNC_TESTS_RUNTIME_ORACLEFIXTURE_H
