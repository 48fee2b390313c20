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

from rows import END, HEADS, INNER, LAYERS, PAD, SEED, VOCABULARY, WIDTH


def make_model(folder: pathlib.Path) -> None:
    """Layers twice as strong, and no mean after ReLU: else a random network gives one token, whatever it reads."""
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
                module.weight.mul_(2)
                module.weight.sub_(module.weight.mean(1, keepdim=True))
    model.save_pretrained(folder)


def load_model(folder: pathlib.Path, dtype: torch.dtype = torch.float32) -> transformers.MarianMTModel:
    return transformers.MarianMTModel.from_pretrained(folder, dtype=dtype).eval()


def split(x: torch.Tensor) -> torch.Tensor:
    """(rows, length, width) -> (rows, heads, length, width of a head)"""
    return x.unflatten(2, (HEADS, WIDTH // HEADS)).transpose(1, 2)


def attend(layer: nn.Module, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    mixed = functional.scaled_dot_product_attention(split(layer.q_proj(x)), keys, values)
    return layer.out_proj(mixed.transpose(1, 2).flatten(2))


def feed_forward(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return layer.final_layer_norm(x + layer.fc2(functional.relu(layer.fc1(x))))


class Encoder(nn.Module):
    """ids (batch, source) -> hidden states, then, if it serves a decoder, keys and values of each of its layers
    (batch, heads, source, 64)"""

    def __init__(self, model: transformers.MarianMTModel, serves_decoder: bool):
        super().__init__()
        self.encoder = model.model.encoder
        self.shared = nn.ModuleList(layer.encoder_attn for layer in model.model.decoder.layers if serves_decoder)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.encoder.embed_tokens(ids) * WIDTH ** 0.5 + self.encoder.embed_positions.weight[: ids.shape[1]]
        for layer in self.encoder.layers:
            own = layer.self_attn
            x = layer.self_attn_layer_norm(x + attend(own, x, split(own.k_proj(x)), split(own.v_proj(x))))
            x = feed_forward(layer, x)
        return x, *(split(projection(x)) for layer in self.shared for projection in (layer.k_proj, layer.v_proj))


class Step(nn.Module):
    """ids (rows, 1), order (rows), the source's keys and values, the cache -> the best `beam` next tokens
    (rows, beam) with their log-probabilities, and the new cache. Greedy search does not use `order`."""

    def __init__(self, model: transformers.MarianMTModel, beam: int):
        super().__init__()
        self.decoder, self.output, self.beam, self.reorders = model.model.decoder, model.lm_head, beam, beam > 1
        self.register_buffer("bias", model.final_logits_bias[0].clone())
        self.bias[[END, PAD]] = -1e9  # exactly as many tokens as are asked for

    def forward(self, ids: torch.Tensor, order: torch.Tensor, shared: list[torch.Tensor],
                cache: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        x = self.decoder.embed_tokens(ids) * WIDTH ** 0.5
        x = x + self.decoder.embed_positions.weight[cache[0].shape[2]]
        appended = []
        for number, layer in enumerate(self.decoder.layers):
            own = layer.self_attn
            for old, projection in zip(cache[2 * number:], (own.k_proj, own.v_proj)):
                kept = old.index_select(0, order) if self.reorders else old
                appended.append(torch.cat([kept, split(projection(x))], 2))
            x = layer.self_attn_layer_norm(x + attend(own, x, *appended[-2:]))
            x = layer.encoder_attn_layer_norm(x + attend(layer.encoder_attn, x, *shared[2 * number: 2 * number + 2]))
            x = feed_forward(layer, x)
        logits = self.output(x[:, 0]) + self.bias
        best, tokens = logits.topk(self.beam)
        return best - logits.logsumexp(1, keepdim=True), tokens, *appended
