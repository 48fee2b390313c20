//===- CheckModel.cpp - what a model's fields must be to each other --------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per subject.

#include "attnrt/ranges.hpp"
#include "compiler/spec/CheckSpec.h"
#include "compiler/spec/Keys.h"
#include "compiler/spec/VocabularyFile.h"
#include "compiler/spec/WeightNames.h"
#include "compiler/spec/Words.h"

#include <cmath>
#include <filesystem>
#include <set>

namespace attnc {

using std::to_string;

static std::vector<const SideSpec *> sidesOf(const ModelSpec &model) {
  std::vector<const SideSpec *> sides;
  if (hasEncoder(model))
    sides.push_back(&model.encoder);
  if (hasDecoder(model))
    sides.push_back(&model.decoder);
  return sides;
}

static void checkWidth(const ModelSpec &model, Diagnostics &diagnostics) {
  const LocatedInteger &width = model.width;
  if (!width.valid)
    return;
  auto checkHeads = [&](const LocatedInteger &heads) {
    if (!heads.valid || *width % *heads == 0)
      return;
    diagnostics.error(width.where, "'width' is " + to_string(*width) + ", which 'heads' (" +
                                       to_string(*heads) + ") does not divide");
    diagnostics.note(heads.where, "'heads' is set here");
  };
  if (model.headWidth.valid && !model.headWidth.value) {
    checkHeads(model.heads);
    for (const SideSpec *side : sidesOf(model))
      if (side->heads.where != model.heads.where)
        checkHeads(side->heads);
  }
  const PositionsSpec &positions = model.positions;
  if (!positions.kind.valid || *positions.kind != PositionKind::Sinusoidal)
    return;
  if (*width % 2)
    diagnostics.error(width.where,
                      "'width' is " + to_string(*width) + "; sinusoidal positions need it to be even");
  else if (*width < 4 && *positions.inclusive)
    diagnostics.error(width.where,
                      "'width' is " + to_string(*width) + "; inclusive sinusoids need at least 4");
}

static void checkHead(const ModelSpec &model, Diagnostics &diagnostics) {
  const LocatedId &mask = model.tokens.mask;
  if (!mask.given || *model.kind != ModelKind::Encoder || hasMaskedTokenHead(model))
    return;
  diagnostics.error(mask.where, "'mask' has no meaning without 'masked_token_head'");
}

static void checkNorm(const ModelSpec &model, Diagnostics &diagnostics) {
  if (!model.norm.kind.valid || *model.norm.kind != NormKind::Rms || !*model.biases.norm)
    return;
  diagnostics.error(model.biases.norm.where, "'norm' is true, but a norm of kind 'rms' has no bias");
  diagnostics.note(model.norm.kind.where, "'kind' is set here");
}

/// Keys that the chosen kind of positions passes over would mislead.
static void checkPositionKeys(const PositionsSpec &positions, Diagnostics &diagnostics) {
  using enum PositionKind;
  PositionKind kind = *positions.kind;
  auto check = [&](std::string_view key, const auto &field, bool isRead) {
    if (isRead || !field.given)
      return;
    std::string word = wordsOf(keyRule("model.positions", "kind").allowed)[size_t(kind)];
    diagnostics.error(field.where, quote(key) + " has no meaning for positions of kind " + quote(word));
    diagnostics.note(positions.kind.where, "'kind' is set here");
  };
  bool hasRates = kind == Sinusoidal || kind == Rotary;
  check("layout", positions.layout, hasRates);
  check("inclusive", positions.inclusive, kind == Sinusoidal);
  check("start", positions.start, kind == Sinusoidal || kind == Learned);
  check("max_length", positions.maxLength, limitsLength(kind));
  check("base", positions.base, hasRates);
  check("rotated_width", positions.rotatedWidth, kind == Rotary);
  check("buckets", positions.buckets, kind == Relative);
  check("max_distance", positions.maxDistance, kind == Relative);
}

static void checkPositions(const ModelSpec &model, Diagnostics &diagnostics) {
  const PositionsSpec &positions = model.positions;
  if (!positions.kind.valid)
    return;
  checkPositionKeys(positions, diagnostics);
  bool isRelative =
      *positions.kind == PositionKind::Relative && positions.buckets.valid && positions.maxDistance.valid;
  if (isRelative && *positions.buckets % 2)
    diagnostics.error(positions.buckets.where, "'buckets' is " + to_string(*positions.buckets) +
                                                   ", but half of them stand for each direction");
  if (isRelative && *positions.maxDistance <= *positions.buckets / 2)
    diagnostics.error(positions.maxDistance.where, "'max_distance' is " + to_string(*positions.maxDistance) +
                                                       ", not more than half of 'buckets' (" +
                                                       to_string(*positions.buckets) + ")");
  if (*positions.kind != PositionKind::Rotary || !positions.rotatedWidth.valid)
    return;
  for (const SideSpec *side : sidesOf(model)) {
    int64_t turned = rotatedWidthOf(model, *side);
    if (side->headWidth.valid && (turned % 2 || turned > *side->headWidth))
      return diagnostics.error(positions.rotatedWidth.where,
                               "rotary positions turn " + to_string(turned) + " columns of heads of width " +
                                   to_string(*side->headWidth) + "; they need an even number, at most all");
  }
}

static void checkKeyHeads(const ModelSpec &model, Diagnostics &diagnostics) {
  if (!model.keyHeads.valid || !model.keyHeads.value)
    return;
  for (const SideSpec *side : sidesOf(model)) {
    if (!side->heads.valid || *side->heads % **model.keyHeads == 0)
      continue;
    diagnostics.error(model.keyHeads.where, "'key_heads' is " + to_string(**model.keyHeads) +
                                                ", which does not divide 'heads' (" +
                                                to_string(*side->heads) + ")");
    return diagnostics.note(side->heads.where, "'heads' is set here");
  }
}

/// Expressions of a model have no tables.
static void checkScores(ModelSpec &model, Diagnostics &diagnostics) {
  TableTypes none = [](std::string_view) -> std::optional<ScalarType> { return std::nullopt; };
  auto read = [&](const Located<std::string> &text, std::optional<ScoreExpression> &tree) {
    if (text.valid && !text->empty())
      tree = parseScore(text, ScalarType::Number, none, diagnostics);
  };
  read(model.encoder.score, model.encoder.scoreTree);
  read(model.decoder.score, model.decoder.scoreTree);
  read(model.decoder.crossScore, model.decoder.crossScoreTree);
}

/// Where one side is missing, only its own table can be tied to the output.
static void checkTiedSides(const ModelSpec &model, Diagnostics &diagnostics) {
  Tied tied = *model.embedding.tied;
  bool isMeaningless = tied == Tied::SourceTarget || (tied == Tied::TargetOutput && !hasDecoder(model));
  if (*model.kind == ModelKind::EncoderDecoder || !model.embedding.tied.valid || !isMeaningless)
    return;
  diagnostics.error(model.embedding.tied.where,
                    "'tied' is " + quote(tied == Tied::SourceTarget ? "source_target" : "target_output") +
                        ", but the model has " + (hasEncoder(model) ? "no target" : "no source") +
                        "; 'all' ties its table to the output");
  diagnostics.note(model.kind.where, "'kind' is set here");
}

static void checkTied(const ModelSpec &model, Diagnostics &diagnostics) {
  checkTiedSides(model, diagnostics);
  const VocabularySpec &vocabulary = model.vocabulary;
  bool isKnown = *model.kind == ModelKind::EncoderDecoder && model.embedding.tied.valid &&
                 vocabulary.source.valid && vocabulary.target.valid;
  if (!isKnown || sourceTable(model) != targetTable(model) || *vocabulary.source == *vocabulary.target)
    return;
  diagnostics.error(model.embedding.tied.where,
                    "'tied' makes one table of source and target, but 'vocabulary' has " +
                        to_string(*vocabulary.source) + " and " + to_string(*vocabulary.target) + " entries");
  diagnostics.note(vocabulary.where, "'vocabulary' is set here");
}

static void checkTokens(const ModelSpec &model, Diagnostics &diagnostics) {
  auto check = [&](std::string_view key, const LocatedId &id, const LocatedInteger &size,
                   std::string_view side) {
    if (!id.valid || !id.value || !size.valid || **id < *size)
      return;
    diagnostics.error(id.where, quote(key) + " is " + to_string(**id) + ", which is past the " +
                                    std::string(side) + " vocabulary of " + to_string(*size));
    diagnostics.note(size.where, quote(side) + " is set here");
  };
  auto required = [](const LocatedInteger &id) { return LocatedId{*id, id.where, id.valid, id.given}; };
  const VocabularySpec &vocabulary = model.vocabulary;
  const TokensSpec &tokens = model.tokens;
  check("start", tokens.start, vocabulary.target, "target");
  auto checkAll = [&](std::string_view key, const Located<std::vector<int64_t>> &all,
                      const LocatedInteger &size, std::string_view side) {
    for (int64_t id : *all)
      check(key, LocatedId{id, all.where, all.valid, all.given}, size, side);
  };
  checkAll("end", tokens.ends, vocabulary.target, "target");
  if (tokens.ends.valid && tokens.ends.given && tokens.ends->empty())
    diagnostics.error(tokens.ends.where, "'end' is an empty list; outputs need a token that ends them");
  if (hasMaskedTokenHead(model))
    check("mask", tokens.mask, vocabulary.source, "source");
  check("pad", required(tokens.pad), vocabulary.target, "target");
  check("unknown", tokens.unknown, vocabulary.target, "target");
  if (!hasEncoder(model))
    return;
  check("pad", required(tokens.pad), vocabulary.source, "source");
  check("source_unknown", tokens.sourceUnknown, vocabulary.source, "source");
  checkAll("source_start", tokens.sourceStart, vocabulary.source, "source");
  checkAll("source_end", tokens.sourceEnd, vocabulary.source, "source");
  for (const LanguageSpec &language : tokens.languages) {
    check(*language.code, required(language.id), vocabulary.source, "source");
    check(*language.code, required(language.id), vocabulary.target, "target");
  }
}

/// Lists of tokens are read, to compare their length. The other kinds are the runtime's to read.
static void checkVocabularyFile(const std::string &path, const TokenizerSpec &tokenizer,
                                const LocatedInteger &size, std::string_view side, Diagnostics &diagnostics) {
  std::string error;
  std::optional<std::vector<std::string>> tokens = readVocabulary(path, error);
  if (!tokens) {
    diagnostics.error(tokenizer.file.where, "'file' names " + quote(*tokenizer.file) + ", but " + error);
  } else if (size.valid && int64_t(tokens->size()) > *size) {
    diagnostics.error(tokenizer.file.where, "'file' names " + quote(*tokenizer.file) + " with " +
                                                to_string(tokens->size()) + " entries, more than the " +
                                                std::string(side) + " vocabulary of " + to_string(*size));
    diagnostics.note(size.where, quote(side) + " is set here");
  }
}

static void checkTokenizer(const Spec &spec, const TokenizerSpec &tokenizer, const LocatedInteger &size,
                           std::string_view side, Diagnostics &diagnostics) {
  if (!tokenizer.kind.valid || !tokenizer.file.valid)
    return;
  if (*tokenizer.kind == TokenizerKind::Ids) {
    if (tokenizer.file.given)
      diagnostics.error(tokenizer.file.where, "'file' has no meaning for a tokenizer of kind 'ids'");
    return;
  }
  if (!tokenizer.file.given) {
    diagnostics.error(tokenizer.kind.where, "the tokenizer lacks the key 'file', which its kind needs");
    return;
  }
  auto isFile = [&](std::string_view key, const Located<std::string> &name) {
    std::error_code failure;
    bool found = std::filesystem::is_regular_file(spec.resolve(*name), failure);
    if (!found)
      diagnostics.error(name.where, quote(key) + " names " + quote(*name) + ", which is not a file");
    return found;
  };
  bool isList = *tokenizer.kind == TokenizerKind::Vocabulary || *tokenizer.kind == TokenizerKind::Characters;
  if (isFile("file", tokenizer.file) && isList)
    checkVocabularyFile(spec.resolve(*tokenizer.file), tokenizer, size, side, diagnostics);
  if (!tokenizer.vocabulary.given)
    return;
  if (*tokenizer.kind == TokenizerKind::SentencePiece)
    isFile("vocabulary", tokenizer.vocabulary);
  else
    diagnostics.error(tokenizer.vocabulary.where,
                      "'vocabulary' has a meaning only for a tokenizer of kind 'sentencepiece'");
}

static void checkTokenizers(const Spec &spec, Diagnostics &diagnostics) {
  const ModelSpec &model = *spec.model;
  bool isShared = model.sourceTokenizer.kind.where == model.targetTokenizer.kind.where;
  checkTokenizer(spec, model.sourceTokenizer, model.vocabulary.source, "source", diagnostics);
  if (!isShared)
    checkTokenizer(spec, model.targetTokenizer, model.vocabulary.target, "target", diagnostics);
  else if (model.vocabulary.target.valid && *model.vocabulary.target < *model.vocabulary.source)
    checkTokenizer(spec, model.targetTokenizer, model.vocabulary.target, "target", diagnostics);
}

static void checkBeamGroups(const DecodingSpec &decoding, Diagnostics &diagnostics) {
  const LocatedInteger &groups = decoding.beamGroups;
  if (!groups.valid || !decoding.beam.valid || !decoding.diversityPenalty.valid)
    return;
  if (*decoding.beam % *groups != 0) {
    diagnostics.error(groups.where, "'num_beam_groups' is " + to_string(*groups) +
                                        ", which does not divide 'beam' (" + to_string(*decoding.beam) + ")");
    diagnostics.note(decoding.beam.where,
                     decoding.beam.given ? "'beam' is set here" : "'beam' has its default");
  }
  if (*groups == 1 && *decoding.diversityPenalty > 0)
    diagnostics.error(decoding.diversityPenalty.where,
                      "'diversity_penalty' needs 'num_beam_groups' of 2 or more, which is 1");
}

/// What attnrt_decode() would refuse: a bundle's defaults must be usable.
static void checkSearch(const DecodingSpec &decoding, Diagnostics &diagnostics) {
  const LocatedInteger &nBest = decoding.nBest;
  bool isKnown = nBest.valid && decoding.beam.valid && decoding.patience.valid && decoding.beamGroups.valid;
  if (isKnown && !*decoding.samples && !*decoding.alternatives) {
    int64_t groupBeam = *decoding.beam / *decoding.beamGroups;
    int64_t finished = groupBeam > 1 ? std::llround(double(groupBeam) * *decoding.patience) : 1;
    int64_t most = *decoding.beamGroups * std::max<int64_t>(1, finished);
    if (*nBest > most)
      diagnostics.error(nBest.where, "'n_best' is " + to_string(*nBest) + ", but a 'beam' of " +
                                         to_string(*decoding.beam) + " gives at most " + to_string(most));
  }
  if (isKnown && *decoding.alternatives && *decoding.beam * *nBest > int64_t(attnrt::ranges::beam.high))
    diagnostics.error(nBest.where, "'n_best' times 'beam' is " + to_string(*decoding.beam * *nBest) +
                                       ", but alternatives are searched for with " +
                                       to_string(int64_t(attnrt::ranges::beam.high)) + " hypotheses at most");
  auto exclude = [&](std::string_view key, Location where, bool isSet) {
    if (!isSet || !*decoding.samples)
      return;
    diagnostics.error(where, quote(key) + " is for searches, but 'do_sample' is true");
    diagnostics.note(decoding.samples.where, "'do_sample' is set here");
  };
  exclude("return_alternatives", decoding.alternatives.where, *decoding.alternatives);
  exclude("num_beam_groups", decoding.beamGroups.where, *decoding.beamGroups > 1);
  exclude("coverage_penalty", decoding.coveragePenalty.where, *decoding.coveragePenalty > 0);
  if (*decoding.alternatives && *decoding.beamGroups > 1)
    diagnostics.error(decoding.alternatives.where,
                      "'return_alternatives' and 'num_beam_groups' exclude each other");
}

/// As many tokens as a session can have room for.
static void checkForbiddable(const DecodingSpec &decoding, Diagnostics &diagnostics) {
  constexpr auto most = size_t(attnrt::ranges::suppressed.high);
  size_t count = decoding.suppressed->size() + decoding.beginSuppressed->size() + decoding.badWords->size();
  if (count <= most)
    return;
  Location where = decoding.suppressed->size() > most        ? decoding.suppressed.where
                   : decoding.beginSuppressed->size() > most ? decoding.beginSuppressed.where
                                                             : decoding.badWords.where;
  diagnostics.error(where, "'suppress_tokens', 'begin_suppress_tokens' and 'bad_words_ids' have " +
                               to_string(count) + " entries together; the most is " + to_string(most));
}

static void checkDecodingIds(const ModelSpec &model, Diagnostics &diagnostics) {
  const LocatedInteger &vocabulary = model.vocabulary.target;
  auto check = [&](std::string_view key, Location where, bool valid, int64_t id) {
    if (!valid || !vocabulary.valid || id < *vocabulary)
      return;
    diagnostics.error(where, quote(key) + " has the id " + to_string(id) +
                                 ", but the 'target' vocabulary has " + to_string(*vocabulary) + " tokens");
    diagnostics.note(vocabulary.where, "'target' is set here");
  };
  const DecodingSpec &decoding = model.decoding;
  for (const int64_t id : *decoding.suppressed)
    check("suppress_tokens", decoding.suppressed.where, decoding.suppressed.valid, id);
  for (const int64_t id : *decoding.beginSuppressed)
    check("begin_suppress_tokens", decoding.beginSuppressed.where, decoding.beginSuppressed.valid, id);
  for (const int64_t id : *decoding.shortlist)
    check("shortlist", decoding.shortlist.where, decoding.shortlist.valid, id);
  for (const std::vector<int64_t> &word : *decoding.badWords)
    for (const int64_t id : word)
      check("bad_words_ids", decoding.badWords.where, decoding.badWords.valid, id);
  check("forced_bos_token_id", decoding.forcedFirst.where, decoding.forcedFirst.valid,
        decoding.forcedFirst->value_or(0));
  check("forced_eos_token_id", decoding.forcedLast.where, decoding.forcedLast.valid,
        decoding.forcedLast->value_or(0));
}

static void checkDecoding(const ModelSpec &model, Diagnostics &diagnostics) {
  const DecodingSpec &decoding = model.decoding;
  auto compare = [&](std::string_view lowKey, const LocatedInteger &low, std::string_view highKey,
                     const LocatedInteger &high) {
    if (!low.valid || !high.valid || *low <= *high)
      return;
    diagnostics.error(low.where, quote(lowKey) + " is " + to_string(*low) + ", more than " + quote(highKey) +
                                     " (" + to_string(*high) + ")");
    diagnostics.note(high.where, quote(highKey) + (high.given ? " is set here" : " has its default"));
  };
  compare("min_length", decoding.minLength, "max_length", decoding.maxLength);
  if (!hasDecoder(model))
    return;
  compare("beam", decoding.beam, "target", model.vocabulary.target);
  checkBeamGroups(decoding, diagnostics);
  checkSearch(decoding, diagnostics);
  const bool attendsToSource = isRecurrent(model) ? model.recurrent.attention.has_value() : hasEncoder(model);
  if (*decoding.coveragePenalty > 0 && !attendsToSource)
    diagnostics.error(decoding.coveragePenalty.where,
                      "'coverage_penalty' needs attention to a source, which the model does not have");
  checkForbiddable(decoding, diagnostics);
  checkDecodingIds(model, diagnostics);
  if (model.positions.kind.valid && limitsLength(*model.positions.kind))
    compare("max_length", decoding.maxLength, "positions.max_length", model.positions.maxLength);
}

/// One weight's elements are counted in 32 bits by the kernels; all of them must fit a file that can be
/// mapped. Layers have weights of equal shapes: one of them is reported.
static void checkSizes(const ModelSpec &model, Diagnostics &diagnostics) {
  constexpr int64_t mostElements = int64_t(1) << 31, mostBytes = int64_t(1) << 40;
  int64_t bytes = 0;
  std::set<std::vector<int64_t>> told;
  for (const WeightUse &use : weightsOf(model)) {
    int64_t elements = use.shape.size() == 2 ? use.shape[0] * use.shape[1] : use.shape[0];
    bytes += 4 * elements;
    if (elements >= mostElements && told.insert(use.shape).second)
      diagnostics.error(model.where, quote(symbolOf(use)) + " would have " + to_string(elements) +
                                         " elements; the most is " + to_string(mostElements - 1));
  }
  if (told.empty() && bytes > mostBytes)
    diagnostics.error(model.where, "the weights would have " + to_string(bytes) + " bytes; the most is " +
                                       to_string(mostBytes));
}

void checkModel(Spec &spec, Diagnostics &diagnostics) {
  ModelSpec &model = *spec.model;
  checkWidth(model, diagnostics);
  checkHead(model, diagnostics);
  checkNorm(model, diagnostics);
  checkPositions(model, diagnostics);
  checkKeyHeads(model, diagnostics);
  checkScores(model, diagnostics);
  checkTied(model, diagnostics);
  checkTokens(model, diagnostics);
  checkTokenizers(spec, diagnostics);
  checkRecurrent(spec, diagnostics);
  checkDecoding(model, diagnostics);
  if (!diagnostics.hasErrors())
    checkSizes(model, diagnostics);
}

} // namespace attnc
