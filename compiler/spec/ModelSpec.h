//===- ModelSpec.h - the `model:` level of a spec --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A Transformer (encoder-decoder, encoder or decoder) or a recurrent encoder-decoder as the YAML gives it,
// with defaults filled in. Each key is explained in docs/yaml-reference.md.

#ifndef ATTNC_SPEC_MODELSPEC_H
#define ATTNC_SPEC_MODELSPEC_H

#include "compiler/spec/Located.h"
#include "compiler/spec/RecurrentSpec.h"
#include "compiler/spec/ScoreExpression.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

enum class ModelKind { EncoderDecoder, Encoder, Decoder };
enum class Activation { Relu, Gelu, GeluTanh, Silu };
enum class HeadActivation { None, Relu, Gelu, GeluTanh, Silu }; // `None`: there is no head
enum class NormKind { Layer, Rms };
enum class NormPlace { Pre, Post };
enum class PositionKind { None, Sinusoidal, Learned, Relative, Alibi, Rotary };
enum class SinusoidLayout { Interleaved, Concatenated };
enum class Tied { None, TargetOutput, SourceTarget, All };
enum class TokenizerKind { Ids, SentencePiece, TokenizerJson, Vocabulary, Characters };
enum class EarlyStopping { True, False, Never };

using LocatedInteger = Located<int64_t>;
using LocatedId = Located<std::optional<int64_t>>;

/// What a side leaves out is the model's: heads, width of a head, width inside a feed-forward.
struct SideSpec {
  Location where;
  LocatedInteger layers;
  LocatedInteger heads;
  LocatedInteger headWidth;
  LocatedInteger feedForwardWidth;
  LocatedId window;                         // keys that far away are seen, at most; nothing: all are
  Located<std::string> score;               // expression of the self-attention's scores; empty: none
  std::optional<ScoreExpression> scoreTree; // once checked
};

/// What follows the layers of an encoder that stands alone.
struct EncoderSpec : SideSpec {
  LocatedInteger tokenTypes;               // 0: none
  Located<bool> pooler;                    // tanh(linear(first position))
  Located<HeadActivation> maskedTokenHead; // logits of norm(activation(linear(x)))
};

struct DecoderSpec : SideSpec {
  Located<std::string> crossScore; // expression of the scores of the attention to the source
  std::optional<ScoreExpression> crossScoreTree;
};

struct FeedForwardSpec {
  Location where;
  LocatedInteger width;
  Located<Activation> activation;
  Located<bool> gated; // activation(x W1) * (x W3) instead of activation(x W1)
};

struct NormSpec {
  Location where;
  Located<NormKind> kind;
  Located<NormPlace> place;
  Located<double> epsilon;
  Located<bool> final;
  Located<bool> embedding;
};

struct BiasesSpec {
  Location where;
  Located<bool> attention;
  Located<bool> feedForward;
  Located<bool> norm;
  Located<bool> output;
};

/// Row `p + start` belongs to position `p`: of the learned table, or of the sinusoids. The relative kinds act
/// on scores, the rotary one on queries and keys, all in self-attention.
struct PositionsSpec {
  Location where;
  Located<PositionKind> kind;
  Located<SinusoidLayout> layout;
  Located<bool> inclusive; // the slowest rate is 1/10000 itself
  LocatedInteger start;
  LocatedInteger maxLength;
  LocatedInteger base;        // of the rates of sinusoidal and rotary ones
  LocatedId rotatedWidth;     // nothing: the whole head
  LocatedInteger buckets;     // relative
  LocatedInteger maxDistance; // relative
};

struct EmbeddingSpec {
  Location where;
  Located<double> scale; // `sqrt_width` is resolved
  Located<Tied> tied;
};

/// From the last layer's rows to those that the logits are computed from.
struct OutputSpec {
  Location where;
  Located<HeadActivation> transform; // norm(activation(linear(x)))
  Located<double> scale;             // after it
};

/// A model without a source has one vocabulary, which stands on both sides; without a target, none there.
struct VocabularySpec {
  Location where;
  LocatedInteger source;
  LocatedInteger target;
};

/// A language that requests may choose, and the id of its token.
struct LanguageSpec {
  Located<std::string> code;
  LocatedInteger id;
};

struct TokensSpec {
  Location where;
  LocatedId start;
  Located<std::vector<int64_t>> ends; // each of them
  LocatedInteger pad;
  LocatedId unknown;
  LocatedId mask;
  LocatedId sourceUnknown;
  Located<std::vector<int64_t>> sourceStart; // around each source text
  Located<std::vector<int64_t>> sourceEnd;
  std::vector<LanguageSpec> languages;
};

struct TokenizerSpec {
  Located<TokenizerKind> kind;
  Located<std::string> file;       // as written: relative to the spec; empty for `ids`
  Located<std::string> vocabulary; // of `sentencepiece`: ids of its pieces; empty: their places in the file
};

struct DecodingSpec {
  Location where;
  LocatedInteger beam;
  LocatedInteger nBest;
  Located<double> lengthPenalty;
  LocatedInteger minLength;
  LocatedInteger maxLength;
  Located<EarlyStopping> earlyStopping;
  Located<double> patience;
  LocatedInteger beamGroups;
  Located<double> diversityPenalty;
  Located<double> coveragePenalty;
  Located<double> repetitionPenalty;
  LocatedInteger ngramSize; // no run of so many tokens comes twice
  Located<std::vector<int64_t>> suppressed;
  Located<std::vector<int64_t>> beginSuppressed;
  Located<std::vector<std::vector<int64_t>>> badWords;
  LocatedId forcedFirst;
  LocatedId forcedLast;
  Located<std::vector<int64_t>> shortlist;
  Located<bool> renormalizes;
  Located<bool> alternatives;
  Located<double> minAlternativeProbability;
  Located<bool> samples;
  Located<double> temperature;
  LocatedInteger topK;
  Located<double> topP;
  Located<double> minP;
  Located<double> typicalP;
};

struct ModelSpec {
  Location where;
  Located<ModelKind> kind;
  LocatedInteger width;
  LocatedInteger heads;
  LocatedId keyHeads;                            // nothing: as many as heads
  LocatedId headWidth;                           // nothing: width / heads, for each side
  Located<std::optional<double>> attentionScale; // nothing: 1 / sqrt(head width)
  EncoderSpec encoder;
  DecoderSpec decoder;
  RecurrentSpec recurrent; // and then no heads, feed-forwards, norms and positions
  FeedForwardSpec feedForward;
  NormSpec norm;
  BiasesSpec biases;
  PositionsSpec positions;
  EmbeddingSpec embedding;
  OutputSpec output;
  VocabularySpec vocabulary;
  TokensSpec tokens;
  TokenizerSpec sourceTokenizer;
  TokenizerSpec targetTokenizer;
  DecodingSpec decoding;
};

inline bool hasEncoder(const ModelSpec &model) { return *model.kind != ModelKind::Decoder; }
inline bool hasDecoder(const ModelSpec &model) { return *model.kind != ModelKind::Encoder; }
/// Whether there is a table of positions, which ends somewhere.
inline bool limitsLength(PositionKind kind) {
  return kind == PositionKind::Sinusoidal || kind == PositionKind::Learned || kind == PositionKind::Rotary;
}
inline int64_t keyHeadsOf(const ModelSpec &model, const SideSpec &side) {
  return model.keyHeads.value.value_or(*side.heads);
}
inline int64_t rotatedWidthOf(const ModelSpec &model, const SideSpec &side) {
  return model.positions.rotatedWidth.value.value_or(*side.headWidth);
}
inline bool isRecurrent(const ModelSpec &model) { return *model.recurrent.cell != Cell::None; }
inline bool hasTransform(const ModelSpec &model) { return *model.output.transform != HeadActivation::None; }
inline bool hasMaskedTokenHead(const ModelSpec &model) {
  return *model.encoder.maskedTokenHead != HeadActivation::None;
}

} // namespace attnc

#endif // ATTNC_SPEC_MODELSPEC_H
