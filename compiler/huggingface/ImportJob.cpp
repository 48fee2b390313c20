//===- ImportJob.cpp - one folder on its way to a spec ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/ImportJob.h"

#include <algorithm>

namespace attnc {

std::string activationWord(Config &config, std::string_view key, const std::string &name) {
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"relu", "relu"},          {"gelu", "gelu"},           {"gelu_python", "gelu"},
      {"gelu_new", "gelu_tanh"}, {"gelu_fast", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
      {"silu", "silu"},          {"swish", "silu"},
  };
  for (auto [theirs, ours] : words)
    if (name == theirs)
      return std::string(ours);
  config.reject(key, "relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, silu and swish can be represented");
  return "relu";
}

void checkArchitectures(Config &config, std::initializer_list<std::string_view> known) {
  for (const std::string &architecture : config.textList("architectures"))
    if (std::find(known.begin(), known.end(), architecture) == known.end())
      config.reject("architectures", "the head of " + architecture + " cannot be represented; " +
                                         std::string(*known.begin()) + " can");
}

void passOverBookkeeping(Config &config) {
  config.passOver({"_name_or_path",
                   "architectures",
                   "model_type",
                   "transformers_version",
                   "torch_dtype",
                   "dtype",
                   "id2label",
                   "label2id",
                   "problem_type",
                   "task_specific_params",
                   "prefix",
                   "tokenizer_class",
                   "output_attentions",
                   "output_hidden_states",
                   "return_dict",
                   "return_dict_in_generate",
                   "output_scores",
                   "torchscript",
                   "use_bfloat16",
                   "pruned_heads",
                   "finetuning_task",
                   "chunk_size_feed_forward",
                   "is_decoder",
                   "is_encoder_decoder",
                   "_from_model_config",
                   "_attn_implementation",
                   "_attn_implementation_autoset",
                   "cross_attention_hidden_size",
                   "sep_token_id",
                   "bos_token_id",
                   "pad_token_id",
                   "eos_token_id",
                   "decoder_start_token_id",
                   "unk_token_id",
                   "tf_legacy_loss",
                   "use_cache"});
}

void passOverGeneration(Config &config) {
  config.passOver({"bad_words_ids",
                   "begin_suppress_tokens",
                   "diversity_penalty",
                   "do_sample",
                   "early_stopping",
                   "encoder_no_repeat_ngram_size",
                   "exponential_decay_length_penalty",
                   "forced_bos_token_id",
                   "forced_eos_token_id",
                   "length_penalty",
                   "max_length",
                   "min_length",
                   "no_repeat_ngram_size",
                   "num_beam_groups",
                   "num_beams",
                   "num_return_sequences",
                   "remove_invalid_values",
                   "renormalize_logits",
                   "repetition_penalty",
                   "suppress_tokens",
                   "temperature",
                   "tie_encoder_decoder",
                   "top_k",
                   "top_p",
                   "typical_p"});
}

std::string listText(const std::vector<int64_t> &ids) {
  std::string text;
  for (int64_t id : ids)
    text += (text.empty() ? "" : ", ") + std::to_string(id);
  return "[" + text + "]";
}

} // namespace attnc
