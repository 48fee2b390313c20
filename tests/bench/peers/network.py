# SPDX-License-Identifier: Apache-2.0
"""The network that all peers run: a Transformer-base with random weights, and its graphs for ONNX.

transformers makes it (Marian: post-norm, ReLU, sinusoids, tied embeddings) and runs it for PyTorch. ONNX Runtime and
OpenVINO get two graphs of the same weights: an encoder with every layer's keys and values of the source, and a step
of the decoder with its cache, whose rows can be taken in a new order first.
"""

import pathlib

import torch
import transformers
from torch import nn
from torch.nn import functional

from rows import END, HEAD_WIDTH, HEADS, INNER, LAYERS, PAD, SEED, VOCABULARY, WIDTH


def make_model(folder: pathlib.Path) -> None:
    """Layers that neither magnify roundings nor drown the token that is read: what they add to it is weak, and has no mean
    after ReLU, which would be the same for all tokens. Attention to the source is sharper, so that outputs differ from
    position to position; the last norm turns the signs of half the channels, else each token would be followed by
    itself, for the embeddings are tied."""
    torch.manual_seed(SEED)
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER, max_position_embeddings=512, activation_function="relu", scale_embedding=True,
        tie_word_embeddings=True, pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=PAD,
        forced_eos_token_id=None, init_std=0.05)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear) and module is not model.lm_head:
                module.weight.sub_(module.weight.mean(1, keepdim=True))
        for name, parameter in model.named_parameters():
            if name.endswith(("out_proj.weight", "fc2.weight")):
                parameter.mul_(0.35)
            elif name.endswith(("encoder_attn.q_proj.weight", "encoder_attn.k_proj.weight")):
                parameter.mul_(1.6)
        model.model.decoder.layers[-1].final_layer_norm.weight[::2] = -1
    model.save_pretrained(folder)


def load_model(folder: pathlib.Path, dtype: torch.dtype = torch.float32) -> transformers.MarianMTModel:
    return transformers.MarianMTModel.from_pretrained(folder, dtype=dtype).eval()


def split(x: torch.Tensor) -> torch.Tensor:
    """(rows, length, width) -> (rows, heads, length, width of a head)"""
    return x.unflatten(2, (HEADS, HEAD_WIDTH)).transpose(1, 2)


def split_turned(x: torch.Tensor) -> torch.Tensor:
    """(rows, length, width) -> (rows, heads, width of a head, length), as keys lie"""
    return x.unflatten(2, (HEADS, HEAD_WIDTH)).permute(0, 2, 3, 1)


def split_one(x: torch.Tensor) -> torch.Tensor:
    """split() of one token, where nothing moves"""
    return x.reshape(-1, HEADS, 1, HEAD_WIDTH)


def split_one_turned(x: torch.Tensor) -> torch.Tensor:
    """split_turned() of one token"""
    return x.reshape(-1, HEADS, HEAD_WIDTH, 1)


def mix(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Attention over turned keys, in four operations: torch's own becomes some twenty in ONNX."""
    return functional.softmax((queries * HEAD_WIDTH ** -0.5) @ keys, -1) @ values


def attend(layer: nn.Module, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return layer.out_proj(mix(split(layer.q_proj(x)), keys, values).transpose(1, 2).flatten(2))


def attend_one(layer: nn.Module, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """attend() of one token"""
    return layer.out_proj(mix(split_one(layer.q_proj(x)), keys, values).reshape(-1, 1, WIDTH))


def attend_beam(layer: nn.Module, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, beam: int) -> torch.Tensor:
    """attend_one() of `beam` rows for each row of keys and values"""
    queries = layer.q_proj(x).reshape(-1, beam, HEADS, HEAD_WIDTH).transpose(1, 2)
    return layer.out_proj(mix(queries, keys, values).transpose(1, 2).reshape(-1, 1, WIDTH))


def feed_forward(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return layer.final_layer_norm(x + layer.fc2(functional.relu(layer.fc1(x))))


class Encoder(nn.Module):
    """ids (batch, source) -> hidden states, then, if it serves a decoder, keys (batch, heads, 64, source) and values
    (batch, heads, source, 64) of each of its layers"""

    def __init__(self, model: transformers.MarianMTModel, serves_decoder: bool):
        super().__init__()
        self.encoder = model.model.encoder
        self.shared = nn.ModuleList(layer.encoder_attn for layer in model.model.decoder.layers if serves_decoder)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.encoder.embed_tokens(ids) * WIDTH ** 0.5 + self.encoder.embed_positions.weight[: ids.shape[1]]
        for layer in self.encoder.layers:
            own = layer.self_attn
            x = layer.self_attn_layer_norm(x + attend(own, x, split_turned(own.k_proj(x)), split(own.v_proj(x))))
            x = feed_forward(layer, x)
        return x, *(part for layer in self.shared for part in (split_turned(layer.k_proj(x)), split(layer.v_proj(x))))


class Step(nn.Module):
    """ids (rows, 1), order (rows), the source's keys and values (sentences, ...), the cache -> the best `beam` next tokens
    (rows, beam) with their log-probabilities, and the new cache. Of each sentence there are `beam` rows. Greedy search has
    no use for log-probabilities: it gets zeros. Where keys are turned, it does not use `order` either."""

    def __init__(self, model: transformers.MarianMTModel, beam: int, turned: bool):
        super().__init__()
        self.decoder, self.output, self.beam = model.model.decoder, model.lm_head, beam
        self.turned, self.reorders = turned, beam > 1 or not turned
        # Of its own: else tokens are read as int8, too, where ONNX Runtime's tools make the output's weights so.
        self.register_buffer("embedding", self.decoder.embed_tokens.weight * WIDTH ** 0.5)
        self.register_buffer("bias", model.final_logits_bias[0].clone())
        self.bias[[END, PAD]] = -1e9  # exactly as many tokens as are asked for

    def forward(self, ids: torch.Tensor, order: torch.Tensor, shared: list[torch.Tensor],
                cache: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        if self.reorders:
            cache = [old.index_select(0, order) for old in cache]
        x = functional.embedding(ids, self.embedding) + self.decoder.embed_positions.weight[cache[1].shape[2]]
        appended = []
        for number, layer in enumerate(self.decoder.layers):
            own, here = layer.self_attn, slice(2 * number, 2 * number + 2)
            old_keys, old_values = cache[here]
            keys = self.append_key(old_keys, own.k_proj(x))
            appended += [keys, torch.cat([old_values, split_one(own.v_proj(x))], 2)]
            x = layer.self_attn_layer_norm(
                x + attend_one(own, x, keys if self.turned else keys.transpose(2, 3), appended[-1]))
            x = layer.encoder_attn_layer_norm(x + self.attend_source(layer.encoder_attn, x, *shared[here]))
            x = feed_forward(layer, x)
        return *self.best(self.output(x[:, 0]) + self.bias), *appended

    def append_key(self, keys: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return torch.cat([keys, split_one_turned(key)], 3) if self.turned else torch.cat([keys, split_one(key)], 2)

    def attend_source(self, layer: nn.Module, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return attend_one(layer, x, keys, values) if self.beam == 1 else attend_beam(layer, x, keys, values, self.beam)

    def best(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.beam == 1:
            return torch.zeros(logits.shape[0], 1), logits.argmax(1, keepdim=True)
        best, tokens = logits.topk(self.beam)
        return best - logits.logsumexp(1, keepdim=True), tokens
