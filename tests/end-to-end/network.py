"""A Transformer in double precision, written anew from the papers: what bundles are compared with.

Standard library only. Weights have the names that a spec gives them by default; rows are lists of numbers.
"""

import json
import math
import random
import re
import struct

import bundles
from positions import Learned


def make_weights(spec, path, seed):
    """Random weights of all tensors that `spec` names, written as safetensors; returns them by name."""
    source = random.Random(seed)
    tensors = {}
    for names, shape in re.findall(r'attn\.weight @\S+ from \[([^\]]*)\].* : tensor<([0-9x]+)xf32', emit(spec)):
        name, = re.findall(r'"([^"]*)"', names)
        extents = [int(extent) for extent in shape.split("x")]
        offset = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        count = math.prod(extents)
        terms = extents[1] if len(extents) == 2 else 1
        spread = 0.4 * min(1.0, math.sqrt(40 / terms))  # long sums stay as small as those of 40 terms
        values = [offset + source.gauss(0, spread) for _ in range(count)]
        tensors[name] = (extents, struct.pack(f"<{count}f", *values))
    header, at = {}, 0
    for name, (extents, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": extents, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values()))
    return {name: shaped(extents, struct.unpack(f"<{len(data) // 4}f", data)) for name, (extents, data) in tensors.items()}


def emit(spec):
    return bundles.attnc("compile", spec, "--emit", "attn", "--weights", "random:1")


def shaped(extents, values):
    if len(extents) == 1:
        return list(values)
    width = extents[1]
    return [list(values[row * width:(row + 1) * width]) for row in range(extents[0])]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def add(a, b):
    return [[x + y for x, y in zip(p, q)] for p, q in zip(a, b)]


ACTIVATIONS = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "tanh": math.tanh,
}


def log_softmax(row):
    top = max(row)
    total = math.log(math.fsum(math.exp(x - top) for x in row))
    return [x - top - total for x in row]


class Network:
    """`side` is encoder or decoder; the other settings are those of the spec. `score` and `cross_score` are functions of
    a score, its head, query and key."""

    def __init__(self, weights, side, heads, layers, activation="relu", norm="layer", epsilon=1e-5, pre=False,
                 gated=False, embedding_norm=False, embedding_scale=1.0, positions=Learned(), attention_scale=None,
                 window=None, score=None, cross_score=None):
        self.weights, self.side, self.heads, self.layers = weights, side, heads, layers
        self.activation, self.kind, self.epsilon = ACTIVATIONS[activation], norm, epsilon
        self.pre, self.gated = pre, gated
        self.embedding_norm, self.embedding_scale = embedding_norm, embedding_scale
        self.positions, self.attention_scale, self.window = positions, attention_scale, window
        self.expressions = {"self_attn": score, "cross_attn": cross_score}

    def linear(self, rows, name):
        bias = self.weights.get(name + ".bias")
        out = [[dot(row, column) for column in self.weights[name + ".weight"]] for row in rows]
        return [[x + b for x, b in zip(row, bias)] for row in out] if bias else out

    def norm(self, rows, name):
        weight, bias = self.weights[name + ".weight"], self.weights.get(name + ".bias")
        out = []
        for row in rows:
            mean = math.fsum(row) / len(row) if self.kind == "layer" else 0.0
            deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in row) / len(row) + self.epsilon)
            scaled = [(x - mean) / deviation * w for x, w in zip(row, weight)]
            out.append([x + b for x, b in zip(scaled, bias)] if bias else scaled)
        return out

    def is_seen(self, query, key):
        """In self-attention: nobody looks ahead in a decoder, nor past the window."""
        if self.side == "decoder" and key > query:
            return False
        return self.window is None or abs(key - query) <= self.window

    def score(self, product, kind, head, query, key):
        if kind == "self_attn":
            product += self.positions.bias(self.weights, self.side, head, self.heads, key - query)
        expression = self.expressions[kind]
        return expression(product, head, query, key) if expression else product

    def attend(self, rows, name, memory=None):
        """Attention to the rows themselves, or to `memory`; heads of queries share heads of keys."""
        kind = "cross_attn" if memory else "self_attn"
        memory = memory or rows
        query = self.linear(rows, name + ".q_proj")
        key, value = (self.linear(memory, f"{name}.{projection}_proj") for projection in "kv")
        width = len(query[0]) // self.heads
        scale = self.attention_scale or 1 / math.sqrt(width)
        shared = len(query[0]) // len(key[0])
        context = [[] for _ in rows]
        for head in range(self.heads):
            part = slice(head * width, (head + 1) * width)
            kept = slice(head // shared * width, (head // shared + 1) * width)
            asked, known = [row[part] for row in query], [row[kept] for row in key]
            if kind == "self_attn":
                asked, known = ([self.positions.turned(row, p) for p, row in enumerate(side)] for side in (asked, known))
            for q in range(len(rows)):
                seen = [k for k in range(len(memory)) if kind == "cross_attn" or self.is_seen(q, k)]
                scores = [self.score(dot(asked[q], known[k]) * scale, kind, head, q, k) for k in seen]
                shares = [math.exp(x) for x in log_softmax(scores)]
                context[q] += [math.fsum(s * value[k][i] for s, k in zip(shares, seen))
                               for i in range(kept.start, kept.stop)]
        return self.linear(context, name + ".o_proj")

    def feed_forward(self, rows, name):
        inner = [[self.activation(x) for x in row] for row in self.linear(rows, name + ".fc1")]
        if self.gated:
            inner = [[x * y for x, y in zip(a, b)] for a, b in zip(inner, self.linear(rows, name + ".fc3"))]
        return self.linear(inner, name + ".fc2")

    def block(self, rows, work, name, norm):
        if self.pre:
            return add(rows, work(self.norm(rows, norm), name))
        return self.norm(add(rows, work(rows, name)), norm)

    def table(self):
        return self.weights.get(self.side + ".embed.weight") or self.weights["shared.embed.weight"]

    def embed(self, ids, types):
        weights = self.weights
        rows = [[x * self.embedding_scale for x in self.table()[i]] for i in ids]
        if self.side + ".type_embed.weight" in weights:
            rows = add(rows, [weights[self.side + ".type_embed.weight"][t] for t in types or [0] * len(ids)])
        rows = add(rows, [self.positions.row(p, weights, self.side, len(rows[0])) for p in range(len(ids))])
        return self.norm(rows, self.side + ".embed_norm") if self.embedding_norm else rows

    def run(self, ids, types=None, memory=None):
        """The last layer's rows; `memory` are those of the encoder that a decoder attends to."""
        rows = self.embed(ids, types)
        for layer in range(self.layers):
            prefix = f"{self.side}.layers.{layer}"
            rows = self.block(rows, self.attend, prefix + ".self_attn", prefix + ".self_attn.norm")
            if memory:
                look = lambda asked, name: self.attend(asked, name, memory)
                rows = self.block(rows, look, prefix + ".cross_attn", prefix + ".cross_attn.norm")
            rows = self.block(rows, self.feed_forward, prefix + ".ffn", prefix + ".ffn.norm")
        return self.norm(rows, self.side + ".final_norm") if self.pre else rows

    def log_probabilities(self, rows, bias, scale=1.0):
        """Of the next or masked token at each row; without a matrix of its own the output takes the embedding's."""
        table = self.weights.get(self.side + ".out_proj.weight") or self.table()
        biases = self.weights.get(bias) or [0.0] * len(table)
        return [log_softmax([dot(row, word) * scale + b for word, b in zip(table, biases)]) for row in rows]
