//===- attnrt.hpp - a thin C++ wrapper of attnrt.h ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Handles that free themselves, vectors instead of pointers, and exceptions instead of statuses. All of it is
// here: nothing more has to be linked. Threads and owners are as in attnrt.h. Needs C++20.

#ifndef ATTNRT_ATTNRT_HPP
#define ATTNRT_ATTNRT_HPP

#if __cplusplus <= 201703L
#error "attnrt.hpp needs C++20; attnrt.h serves older standards"
#endif

#include "attnrt/attnrt.h"

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace attnrt::api {

using Ids = std::vector<int32_t>;

struct Error : std::runtime_error {
  explicit Error(attnrt_status status) : std::runtime_error(attnrt_last_error()), status(status) {}
  attnrt_status status;
};

inline void check(attnrt_status status) {
  if (status != ATTNRT_OK)
    throw Error(status);
}

struct Hypothesis {
  Ids ids;
  std::vector<float> logProbabilities; // of each id, then of the end token where `ended`
  float total, score;
  bool ended;
  std::vector<float> attention; // of each log-probability's token: one value per source token; if asked for
};

inline std::vector<attnrt_ids> view(std::span<const Ids> lists) {
  std::vector<attnrt_ids> views;
  for (const Ids &ids : lists)
    views.push_back({ids.size(), ids.data()});
  return views;
}

/// The numbers of sequences of these lengths, in batches; see attnrt_make_batches().
inline std::vector<std::vector<size_t>> makeBatches(std::span<const size_t> lengths, size_t maxSequences,
                                                    size_t maxTokens) {
  std::vector<size_t> order(lengths.size()), ends(lengths.size());
  size_t count = 0, begin = 0;
  check(attnrt_make_batches(lengths.size(), lengths.data(), maxSequences, maxTokens, order.data(),
                            ends.data(), &count));
  std::vector<std::vector<size_t>> batches;
  for (size_t i = 0; i < count; begin = ends[i++])
    batches.emplace_back(order.begin() + begin, order.begin() + ends[i]);
  return batches;
}

/// A deleter that calls `destroy`.
template <auto destroy> struct Destroy {
  template <typename T> void operator()(T *made) const { destroy(made); }
};

/// What 0 threads mean; see attnrt_core_count().
inline int32_t coreCount() { return attnrt_core_count(); }

/// Threads for sessions and calls of graphs, which must not outlive it.
class Pool {
public:
  /// As attnrt_pool_create() counts them: 1 makes none, 0 means coreCount().
  explicit Pool(int32_t threads) {
    attnrt_pool *made = nullptr;
    check(attnrt_pool_create(threads, &made));
    pool.reset(made);
  }
  /// The host's own threads; see attnrt_pool_create_on_host().
  Pool(attnrt_host_run run, void *user) {
    attnrt_pool *made = nullptr;
    check(attnrt_pool_create_on_host(run, user, &made));
    pool.reset(made);
  }
  attnrt_pool *handle() const { return pool.get(); }

private:
  std::unique_ptr<attnrt_pool, Destroy<attnrt_pool_destroy>> pool;
};

/// A request to stop decodes, which must not outlive it.
class Cancel {
public:
  Cancel() {
    attnrt_cancel *made = nullptr;
    check(attnrt_cancel_create(&made));
    cancel.reset(made);
  }
  /// From any thread; stays triggered.
  void trigger() { attnrt_cancel_trigger(cancel.get()); }
  const attnrt_cancel *handle() const { return cancel.get(); }

private:
  std::unique_ptr<attnrt_cancel, Destroy<attnrt_cancel_destroy>> cancel;
};

class Model {
public:
  explicit Model(const std::string &folder, const attnrt_model_options *options = nullptr) {
    attnrt_model *made = nullptr;
    check(attnrt_model_load(folder.c_str(), options, &made));
    model.reset(made);
  }
  Model(const attnrt_descriptor *descriptor, const std::string &folder,
        const attnrt_model_options *options = nullptr) {
    attnrt_model *made = nullptr;
    check(attnrt_model_create(descriptor, folder.c_str(), options, &made));
    model.reset(made);
  }

  attnrt_model *handle() const { return model.get(); }
  std::string name() const { return attnrt_model_name(handle()); }
  std::string variant() const { return attnrt_model_variant(handle()); }
  std::string manifest() const { return attnrt_model_manifest(handle()); }
  void selfCheck() const { check(attnrt_model_self_check(handle())); }

  Ids tokenize(attnrt_side side, std::string_view text) const {
    return readIds(text, [&](size_t capacity, int32_t *ids, size_t *count) {
      return attnrt_tokenize(handle(), side, text.size(), text.data(), capacity, ids, count);
    });
  }

  int32_t findLanguage(const std::string &code) const {
    int32_t id = 0;
    check(attnrt_find_language(handle(), code.c_str(), &id));
    return id;
  }
  Ids tokenizeIn(int32_t language, std::string_view text) const {
    return readIds(text, [&](size_t capacity, int32_t *ids, size_t *count) {
      return attnrt_tokenize_in(handle(), language, text.size(), text.data(), capacity, ids, count);
    });
  }

  std::string detokenize(attnrt_side side, std::span<const int32_t> ids) const {
    return readText([&](size_t capacity, char *text, size_t *size) {
      return attnrt_detokenize(handle(), side, ids.size(), ids.data(), capacity, text, size);
    });
  }

  std::string tokenText(attnrt_side side, int32_t id) const {
    return readText([&](size_t capacity, char *text, size_t *size) {
      return attnrt_token_text(handle(), side, id, capacity, text, size);
    });
  }

  /// Of hidden states; 0 for models that are no encoders.
  size_t width() const { return attnrt_model_width(handle()); }

  /// Calls an entry of a graph: `sizes` in the manifest's order, `tensors` dense, arguments before results;
  /// see attnrt_graph_call().
  void call(const std::string &entry, std::span<const int64_t> sizes, std::span<void *const> tensors,
            const Pool *pool = nullptr) const {
    check(attnrt_graph_call(handle(), pool ? pool->handle() : nullptr, entry.c_str(), sizes.size(),
                            sizes.data(), tensors.size(), tensors.data()));
  }

  /// The same, and adds what each kernel did to `kernels`, one for each of the manifest; see
  /// attnrt_graph_profile().
  void profile(const std::string &entry, std::span<const int64_t> sizes, std::span<void *const> tensors,
               std::span<attnrt_kernel_profile> kernels, const Pool *pool = nullptr) const {
    check(attnrt_graph_profile(handle(), pool ? pool->handle() : nullptr, entry.c_str(), sizes.size(),
                               sizes.data(), tensors.size(), tensors.data(), kernels.size(), kernels.data()));
  }

  std::string recordGolden() const {
    return readText([&](size_t capacity, char *text, size_t *size) {
      return attnrt_model_record_golden(handle(), capacity, text, size);
    });
  }

  attnrt_session_options sessionOptions() const {
    attnrt_session_options options;
    attnrt_session_options_init(handle(), &options);
    return options;
  }

  attnrt_decode_options decodeOptions() const {
    attnrt_decode_options options;
    attnrt_decode_options_init(handle(), &options);
    return options;
  }

  /// Throws where a decode of `count` sources would not take these options.
  void checkOptions(const attnrt_decode_options &options, size_t count = 1) const {
    check(attnrt_decode_options_check(handle(), count, &options));
  }

private:
  /// Asks again where the text is longer than most.
  template <typename Call> static std::string readText(Call call) {
    size_t size = 0;
    std::string text(4096, '\0');
    check(call(text.size(), text.data(), &size));
    if (size >= text.size()) {
      text.resize(size + 1);
      check(call(text.size(), text.data(), &size));
    }
    text.resize(size);
    return text;
  }

  /// Asks again where there are more ids than bytes, but for a few that frame them.
  template <typename Call> static Ids readIds(std::string_view text, Call call) {
    size_t count = 0;
    Ids ids(text.size() + 16);
    check(call(ids.size(), ids.data(), &count));
    const bool fits = count <= ids.size();
    ids.resize(count);
    if (!fits)
      check(call(count, ids.data(), &count));
    return ids;
  }

  std::unique_ptr<attnrt_model, Destroy<attnrt_model_destroy>> model;
};

class Session {
public:
  Session(const Model &model, const attnrt_session_options &options)
      : width(attnrt_model_width(model.handle())) {
    attnrt_session *made = nullptr;
    check(attnrt_session_create(model.handle(), &options, &made));
    session.reset(made);
  }

  attnrt_session *handle() const { return session.get(); }
  size_t arenaBytes() const { return attnrt_session_arena_bytes(handle()); }
  size_t stateBytes() const { return attnrt_session_state_bytes(handle()); }
  void startProfile() { check(attnrt_session_start_profile(handle())); }
  attnrt_kernel_profile profile(size_t entry, size_t kernel) const {
    attnrt_kernel_profile profile;
    check(attnrt_session_profile(handle(), entry, kernel, &profile));
    return profile;
  }

  /// n-best lists, one per source.
  std::vector<std::vector<Hypothesis>> decode(std::span<const Ids> sources,
                                              const attnrt_decode_options &options) {
    attnrt_result *made = nullptr;
    check(attnrt_decode(handle(), sources.size(), view(sources).data(), &options, &made));
    const std::unique_ptr<attnrt_result, Destroy<attnrt_result_destroy>> result(made);
    std::vector<std::vector<Hypothesis>> lists(sources.size());
    for (size_t s = 0; s < sources.size(); ++s)
      for (size_t rank = 0; rank < attnrt_result_count(made, s); ++rank)
        lists[s].push_back(copyHypothesis(made, s, rank, options.return_attention != 0));
    return lists;
  }

  /// For each target the log-probabilities of its tokens, then of the end token.
  std::vector<std::vector<float>> score(std::span<const Ids> sources, std::span<const Ids> targets) {
    if (sources.size() != targets.size())
      throw std::invalid_argument("sources and targets differ in number");
    size_t count = 0;
    for (const Ids &target : targets)
      count += target.size() + 1;
    std::vector<float> all(count);
    check(attnrt_score(handle(), sources.size(), view(sources).data(), view(targets).data(), all.data()));
    std::vector<std::vector<float>> lists;
    auto next = all.begin();
    for (const Ids &target : targets) {
      lists.emplace_back(next, next + target.size() + 1);
      next += target.size() + 1;
    }
    return lists;
  }

  /// Hidden states of an encoder: one list per source, source.size() x the model's width.
  std::vector<std::vector<float>> encode(std::span<const Ids> sources, std::span<const Ids> types = {}) {
    size_t count = 0;
    for (const Ids &source : sources)
      count += source.size() * width;
    std::vector<float> all(count);
    check(attnrt_encode(handle(), sources.size(), view(sources).data(), viewTypes(sources, types).data(),
                        all.data(), nullptr));
    std::vector<std::vector<float>> lists;
    auto next = all.begin();
    for (const Ids &source : sources) {
      lists.emplace_back(next, next + source.size() * width);
      next += source.size() * width;
    }
    return lists;
  }

  /// sources.size() x the model's width
  std::vector<float> pool(std::span<const Ids> sources, std::span<const Ids> types = {}) {
    std::vector<float> pooled(sources.size() * width);
    check(attnrt_encode(handle(), sources.size(), view(sources).data(), viewTypes(sources, types).data(),
                        nullptr, pooled.data()));
    return pooled;
  }

  /// The best tokens at each place, best first.
  struct Prediction {
    Ids ids;
    std::vector<float> logProbabilities;
  };
  std::vector<Prediction> predict(std::span<const Ids> sources, std::span<const attnrt_place> places,
                                  int32_t candidates, std::span<const Ids> types = {}) {
    Ids ids(places.size() *
            static_cast<size_t>(std::max(candidates, 1))); // what is less, attnrt_predict() refuses
    std::vector<float> values(ids.size());
    const attnrt_places all{places.size(), places.data()};
    check(attnrt_predict(handle(), sources.size(), view(sources).data(), viewTypes(sources, types).data(),
                         &all, candidates, ids.data(), values.data()));
    std::vector<Prediction> predictions;
    for (size_t i = 0; i < ids.size(); i += candidates)
      predictions.push_back({Ids(&ids[i], &ids[i] + candidates), {&values[i], &values[i] + candidates}});
    return predictions;
  }

  /// (target.size() + 1) x source.size()
  std::vector<float> attend(const Ids &source, const Ids &target) {
    std::vector<float> attention((target.size() + 1) * source.size());
    check(attnrt_attend(handle(), {source.size(), source.data()}, {target.size(), target.data()},
                        attention.data()));
    return attention;
  }

private:
  /// Empty where no types are given: its data() is null then.
  static std::vector<attnrt_ids> viewTypes(std::span<const Ids> sources, std::span<const Ids> types) {
    if (!types.empty() && types.size() != sources.size())
      throw std::invalid_argument("sources and types differ in number");
    return view(types);
  }

  static Hypothesis copyHypothesis(const attnrt_result *result, size_t sentence, size_t rank,
                                   bool hasAttention) {
    attnrt_hypothesis found;
    check(attnrt_result_get(result, sentence, rank, &found));
    size_t rows = 0, columns = 0;
    const float *attention = nullptr;
    if (hasAttention)
      check(attnrt_result_attention(result, sentence, rank, &rows, &columns, &attention));
    const size_t scored = found.ids.count + (found.ended ? 1 : 0);
    return {Ids(found.ids.ids, found.ids.ids + found.ids.count),
            std::vector<float>(found.log_probabilities, found.log_probabilities + scored),
            found.total,
            found.score,
            found.ended != 0,
            std::vector<float>(attention, attention + rows * columns)};
  }

  std::unique_ptr<attnrt_session, Destroy<attnrt_session_destroy>> session;
  size_t width;
};

} // namespace attnrt::api

#endif // ATTNRT_ATTNRT_HPP
