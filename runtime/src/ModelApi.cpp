//===- ModelApi.cpp - the C interface: errors, models, tokens ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Golden.h"
#include "Handles.h"

#include <algorithm>
#include <cstring>

namespace attnrt {
namespace {

/// A fixed buffer: keeping an error must not fail. There is room for the codes of 400 languages.
thread_local char lastError[4096] = "";

/// Copies text to the caller as the header promises.
void writeText(const std::string &from, size_t capacity, char *to, size_t *size) {
  requirePointer(size, "size");
  check(to || capacity == 0, ATTNRT_INVALID_ARGUMENT, "'text' is null");
  *size = from.size();
  if (capacity == 0)
    return;
  const size_t count = std::min(from.size(), capacity - 1);
  std::memcpy(to, from.data(), count);
  to[count] = '\0';
}

void requireIds(const Model &model, int32_t side, std::span<const int32_t> ids) {
  const int32_t vocabulary = model.vocabulary(side);
  for (size_t i = 0; i < ids.size(); ++i)
    check(ids[i] >= 0 && ids[i] < vocabulary, ATTNRT_INVALID_ARGUMENT, "token ", i, " is ", ids[i],
          ", but the vocabulary's ids are 0 to ", vocabulary - 1);
}

std::string listOf(const std::map<std::string, int32_t> &languages) {
  std::string list;
  for (const auto &[code, id] : languages)
    list += (list.empty() ? "" : ", ") + code;
  return list;
}

void copyIds(const std::vector<int32_t> &from, size_t capacity, int32_t *to, size_t *count) {
  requirePointer(count, "count");
  check(to || capacity == 0, ATTNRT_INVALID_ARGUMENT, "'ids' is null");
  std::copy_n(from.begin(), std::min(from.size(), capacity), to);
  *count = from.size();
}

void putAround(const std::vector<int32_t> &start, const std::vector<int32_t> &end,
               std::vector<int32_t> &ids) {
  ids.insert(ids.begin(), start.begin(), start.end());
  ids.insert(ids.end(), end.begin(), end.end());
}

std::vector<int32_t> tokenize(const Model &model, int32_t side, std::string_view text) {
  std::vector<int32_t> ids = model.tokenizer(side).encode(text);
  if (side == ATTNRT_SOURCE)
    putAround(model.tokens().sourceStart, model.tokens().sourceEnd, ids);
  return ids;
}

/// A source in `language`, which takes the place of the bundle's own.
std::vector<int32_t> tokenizeIn(const Model &model, int32_t language, std::string_view text) {
  std::vector<int32_t> ids = model.tokenizer(ATTNRT_SOURCE).encode(text);
  const TokensInfo &tokens = model.tokens();
  check(tokens.isLanguage(language), ATTNRT_INVALID_ARGUMENT, "'language' is ", language,
        ", which is not a language's token");
  std::vector<int32_t> start = tokens.sourceStart, end = tokens.sourceEnd;
  bool isThere = false;
  for (std::vector<int32_t> *side : {&start, &end})
    for (int32_t &id : *side)
      if (tokens.isLanguage(id)) {
        id = language;
        isThere = true;
      }
  check(isThere, ATTNRT_INVALID_ARGUMENT, "the bundle's sources do not tell their language");
  putAround(start, end, ids);
  return ids;
}

attnrt_model_options defaultModelOptions() {
  attnrt_model_options options{};
  options.size = sizeof options;
  return options;
}

attnrt_status load(const attnrt_descriptor *descriptor, const char *folder,
                   const attnrt_model_options *options, attnrt_model **out) {
  return guard([&] {
    requirePointer(out, "out");
    *out = nullptr;
    requirePointer(folder, "folder");
    check(*folder, ATTNRT_INVALID_ARGUMENT, "the name of the bundle's folder is empty");
    const attnrt_model_options chosen = readOptions(options, defaultModelOptions());
    *out = new attnrt_model{std::make_shared<const Model>(folder, descriptor, chosen)};
  });
}

} // namespace

attnrt_status setLastError(attnrt_status status, const char *message) noexcept {
  size_t size = std::strlen(message);
  if (size >= sizeof lastError) {
    size = sizeof lastError - 1;
    while (size > 0 && (message[size] & 0xc0) == 0x80) // not inside a character of UTF-8
      --size;
  }
  std::memcpy(lastError, message, size);
  lastError[size] = '\0';
  return status;
}

} // namespace attnrt

using namespace attnrt;

extern "C" {

const char *attnrt_last_error(void) { return lastError; }

void attnrt_model_options_init(attnrt_model_options *options) {
  if (options)
    *options = defaultModelOptions();
}

attnrt_status attnrt_model_load(const char *folder, const attnrt_model_options *options, attnrt_model **out) {
  return load(nullptr, folder, options, out);
}

attnrt_status attnrt_model_create(const attnrt_descriptor *descriptor, const char *folder,
                                  const attnrt_model_options *options, attnrt_model **out) {
  if (out)
    *out = nullptr;
  if (!descriptor)
    return setLastError(ATTNRT_INVALID_ARGUMENT, "'descriptor' is null");
  return load(descriptor, folder, options, out);
}

void attnrt_model_destroy(attnrt_model *model) { delete model; }

const char *attnrt_model_name(const attnrt_model *model) {
  return model ? model->model->manifest().name.c_str() : "";
}

const char *attnrt_model_variant(const attnrt_model *model) {
  return model ? model->model->variant().name.c_str() : "";
}

const char *attnrt_model_manifest(const attnrt_model *model) {
  return model ? model->model->manifestText().c_str() : "";
}

attnrt_status attnrt_model_self_check(const attnrt_model *model) {
  return guard([&] {
    requirePointer(model, "model");
    selfCheck(model->model);
  });
}

attnrt_status attnrt_model_record_golden(const attnrt_model *model, size_t capacity, char *text,
                                         size_t *size) {
  return guard([&] {
    requirePointer(model, "model");
    writeText(recordGolden(model->model), capacity, text, size);
  });
}

attnrt_status attnrt_manifest_hash(size_t size, const char *manifest, char hash[33]) {
  return guard([&] {
    requirePointer(manifest, "manifest");
    requirePointer(hash, "hash");
    std::memcpy(hash, manifestHash({manifest, size}).c_str(), 33);
  });
}

attnrt_status attnrt_tokenize(const attnrt_model *model, int32_t side, size_t text_size, const char *text,
                              size_t capacity, int32_t *ids, size_t *count) {
  return guard([&] {
    requirePointer(model, "model");
    check(text || text_size == 0, ATTNRT_INVALID_ARGUMENT, "'text' is null");
    copyIds(tokenize(*model->model, side, {text, text_size}), capacity, ids, count);
  });
}

size_t attnrt_model_language_count(const attnrt_model *model) {
  return model && model->model->manifest().decoder ? model->model->tokens().languages.size() : 0;
}

attnrt_status attnrt_model_language(const attnrt_model *model, size_t number, const char **code,
                                    int32_t *id) {
  return guard([&] {
    requirePointer(model, "model");
    requirePointer(code, "code");
    requirePointer(id, "id");
    const auto &languages = model->model->tokens().languages;
    check(number < languages.size(), ATTNRT_OUT_OF_RANGE, "the bundle has ", languages.size(), " languages");
    const auto language = std::next(languages.begin(), static_cast<std::ptrdiff_t>(number));
    *code = language->first.c_str();
    *id = language->second;
  });
}

attnrt_status attnrt_find_language(const attnrt_model *model, const char *code, int32_t *id) {
  return guard([&] {
    requirePointer(model, "model");
    requirePointer(code, "code");
    requirePointer(id, "id");
    const auto &languages = model->model->tokens().languages;
    check(!languages.empty(), ATTNRT_INVALID_ARGUMENT, "the bundle has no languages to choose from");
    const auto language = languages.find(code);
    check(language != languages.end(), ATTNRT_INVALID_ARGUMENT, "'", code,
          "' is none of the bundle's languages, which are ", listOf(languages));
    *id = language->second;
  });
}

attnrt_status attnrt_tokenize_in(const attnrt_model *model, int32_t language, size_t text_size,
                                 const char *text, size_t capacity, int32_t *ids, size_t *count) {
  return guard([&] {
    requirePointer(model, "model");
    check(text || text_size == 0, ATTNRT_INVALID_ARGUMENT, "'text' is null");
    copyIds(tokenizeIn(*model->model, language, {text, text_size}), capacity, ids, count);
  });
}

attnrt_status attnrt_detokenize(const attnrt_model *model, int32_t side, size_t count, const int32_t *ids,
                                size_t capacity, char *text, size_t *size) {
  return guard([&] {
    requirePointer(model, "model");
    check(ids || count == 0, ATTNRT_INVALID_ARGUMENT, "'ids' is null");
    const Tokenizer &tokenizer = model->model->tokenizer(side);
    requireIds(*model->model, side, {ids, count});
    writeText(tokenizer.decode({ids, count}), capacity, text, size);
  });
}

attnrt_status attnrt_token_text(const attnrt_model *model, int32_t side, int32_t id, size_t capacity,
                                char *text, size_t *size) {
  return guard([&] {
    requirePointer(model, "model");
    const Tokenizer &tokenizer = model->model->tokenizer(side);
    requireIds(*model->model, side, {&id, 1});
    writeText(tokenizer.tokenText(id), capacity, text, size);
  });
}

attnrt_status attnrt_check_tokenizer(const char *folder, size_t size, const char *description,
                                     int32_t vocabulary) {
  return guard([&] {
    requirePointer(folder, "folder");
    requirePointer(description, "description");
    check(vocabulary >= 1, ATTNRT_INVALID_ARGUMENT, "'vocabulary' is ", vocabulary, ", which is not in 1 to ",
          INT32_MAX);
    const nlohmann::json parsed = parseJson({description, size}, "tokenizer");
    makeTokenizer(readTokenizerInfo({parsed, "tokenizer"}), folder, {vocabulary, std::nullopt});
  });
}

} // extern "C"
