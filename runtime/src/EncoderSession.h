//===- EncoderSession.h - sessions of encoders that stand alone --------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_ENCODERSESSION_H
#define ATTNRT_SRC_ENCODERSESSION_H

#include "EntryCaller.h"

namespace attnrt {

/// Sentences and, where they are given, the types of their tokens.
struct EncoderInput {
  std::span<const attnrt_ids> sources;
  const attnrt_ids *types; // one list per source; or null: all are of type 0
};

class EncoderSession : public EntryCaller {
public:
  /// `executor` null: a pool of the session's own.
  EncoderSession(std::shared_ptr<const Model> model, const attnrt_session_options &options,
                 Executor *executor);

  /// `hidden`: the rows of the first source's tokens, then of the second's; `pooled`: a row per source.
  /// Either may be null. Sources of similar length are encoded together, some at a time.
  void encode(const EncoderInput &input, float *hidden, float *pooled);

  /// The best `count` tokens at each place (place x count, best first); `ids` null: the log-probabilities of
  /// all tokens (place x vocabulary).
  void predict(const EncoderInput &input, std::span<const attnrt_place> places, int count, int32_t *ids,
               float *logProbabilities);

private:
  /// Tokens and types in range.
  void checkInput(const EncoderInput &input) const;
  void checkTypes(const EncoderInput &input) const;
  void checkPlaces(const EncoderInput &input, std::span<const attnrt_place> places) const;
  struct Outputs {
    float *hidden, *pooled;
    std::vector<size_t> firstRow; // of each source, in `hidden`
  };
  /// Arguments of the entries for a part's sources, without the results.
  std::vector<void *> place(const EncoderInput &input, const Part &part, Lane &lane);
  void encodePart(const EncoderInput &input, const Part &part, Lane &lane, const Outputs &outputs);
  void setSize(Lane &lane, const char *name, int64_t value) const;

  int64_t rowsOfLane = 0; // of `results`, of width numbers each
  Memory results;         // batch x source x width, batch x width: encoded together, or in each lane
  std::vector<int32_t> ids, types, lengths, rows; // batch x source, batch x source, batch, row
  std::vector<float> logSums;                     // row
};

} // namespace attnrt

#endif // ATTNRT_SRC_ENCODERSESSION_H
