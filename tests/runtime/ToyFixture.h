//===- ToyFixture.h - a loaded toy bundle for a test --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_RUNTIME_TOYFIXTURE_H
#define ATTNC_TESTS_RUNTIME_TOYFIXTURE_H

#include "ToyBundle.h"

#include <gtest/gtest.h>

namespace toy {

/// Sources of different lengths.
inline const std::vector<Ids> &testSources() {
  static const std::vector<Ids> sources{{3, 4, 2}, {5},       {9, 8, 7, 6, 5, 4, 3, 2},
                                        {10, 10},  {6, 3, 2}, {4, 4, 4, 4, 2}};
  return sources;
}

class Fixture : public testing::Test {
protected:
  Fixture() : model(descriptor(), folder.path()) { resetTrace(); }

  attnrt::api::Session session(int batch, int beam, int target, int threads = 1) const {
    attnrt_session_options options = model.sessionOptions();
    options.batch = batch;
    options.beam = beam;
    options.source = 16;
    options.target = target;
    options.threads = threads;
    return {model, options};
  }

  /// The status that `call` fails with; the message is in attnrt_last_error().
  template <typename Call> static attnrt_status statusOf(Call call) {
    try {
      call();
    } catch (const attnrt::api::Error &error) {
      return error.status;
    }
    return ATTNRT_OK;
  }

  Folder folder;
  attnrt::api::Model model;
};

} // namespace toy

#endif // ATTNC_TESTS_RUNTIME_TOYFIXTURE_H
