"""A recurrent encoder-decoder in double precision, written anew from the papers: what bundles are compared with.

Standard library only. Weights have the names that a spec gives them by default; rows are lists of numbers.
"""

import functools
import math

from network import dot, log_softmax


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


class RecurrentNetwork:
    """Settings have the names and words of the spec; `order` is that of the gates in the weights, PyTorch's if none."""

    def __init__(self, weights, cell, layers=1, bidirectional=False, reset="after", score=None, place="after",
                 input_feeding=False, bridge="last", direction="both", context=False, embedding=False, order=None):
        self.weights, self.cell, self.layers, self.reset = weights, cell, layers, reset
        self.directions = ["", "_reverse"] if bidirectional else [""]
        self.score, self.place, self.input_feeding = score, place, input_feeding
        self.bridge, self.direction = bridge, direction
        self.reads_context, self.reads_embedding = context, embedding
        self.names = "rzn" if cell == "gru" else "ifgo"
        self.order = order or self.names

    def linear(self, name, x, join="."):
        rows, biases = self.weights[name + join + "weight"], self.weights.get(name + join + "bias")
        return [dot(row, x) + (biases[i] if biases else 0) for i, row in enumerate(rows)]

    def gates(self, name, operand, layer, x):
        rows = self.weights[f"{name}.weight_{operand}_l{layer}"]
        biases = self.weights.get(f"{name}.bias_{operand}_l{layer}", [0] * len(rows))
        sums = [dot(row, x) + bias for row, bias in zip(rows, biases)]
        width = len(sums) // len(self.order)
        return [sums[at * width:(at + 1) * width] for at in map(self.order.index, self.names)]

    def apply(self, name, layer, x, states):
        """The next states; the first is the output. `layer` may end in `_reverse`."""
        read = self.gates(name, "ih", layer, x)
        kept = self.gates(name, "hh", layer, states[0])
        if self.cell == "lstm":
            i, f, o = ([sigmoid(a + b) for a, b in zip(read[g], kept[g])] for g in (0, 1, 3))
            g = [math.tanh(a + b) for a, b in zip(read[2], kept[2])]
            memory = [f * c + i * g for f, c, i, g in zip(f, states[1], i, g)]
            return [[o * math.tanh(c) for o, c in zip(o, memory)], memory]
        r, z = ([sigmoid(a + b) for a, b in zip(read[g], kept[g])] for g in (0, 1))
        if self.reset == "after":
            inner = [r * b for r, b in zip(r, kept[2])]
        else:
            inner = self.gates(name, "hh", layer, [r * h for r, h in zip(r, states[0])])[2]
        n = [math.tanh(a + b) for a, b in zip(read[2], inner)]
        return [[(1 - z) * n + z * h for z, n, h in zip(z, n, states[0])]]

    def zeros(self, width):
        return [[0.0] * width for _ in range(2 if self.cell == "lstm" else 1)]

    def width_of(self, name, layer):
        return len(self.weights[f"{name}.weight_hh_l{layer}"][0])

    @functools.cache  # tests decode each source several times
    def encode(self, ids):
        """Rows, and the decoder's initial states by layer."""
        rows = [self.weights["encoder.embed.weight"][i] for i in ids]
        initial = []
        for layer in range(self.layers):
            outputs, lasts = [], []
            for direction in self.directions:
                states, made = self.zeros(self.width_of("encoder.rnn", layer)), []
                for x in reversed(rows) if direction else rows:
                    states = self.apply("encoder.rnn", f"{layer}{direction}", x, states)
                    made.append(states[0])
                outputs.append(made[::-1] if direction else made)
                lasts.append(states)
            rows = [sum(parts, []) for parts in zip(*outputs)]
            initial.append(self.cross(lasts, layer))
        return rows, initial

    def cross(self, lasts, layer):
        width = self.width_of("decoder.rnn", layer)
        if self.bridge == "zeros":
            return self.zeros(width)
        if len(lasts) == 2 and self.direction != "both":
            lasts = [lasts[self.direction == "backward"]]
        crossed = []
        for state, parts in zip("hc", zip(*lasts)):
            value = sum(parts, [])
            if self.bridge != "last":
                value = self.linear(f"bridge.{state}_l{layer}", value)
            crossed.append([math.tanh(v) for v in value] if self.bridge == "linear_tanh" else value)
        return crossed

    def energy(self, state, row):
        if self.score in ("dot", "scaled_dot"):
            return dot(state, row) / (math.sqrt(len(state)) if self.score == "scaled_dot" else 1)
        if self.score == "cosine":
            return dot(state, row) / math.sqrt(dot(state, state) * dot(row, row))
        query = self.linear("decoder.attn.q_proj", state)
        if self.score == "general":
            return dot(query, row)
        key = self.linear("decoder.attn.k_proj", row)
        return dot(self.weights["decoder.attn.v_proj.weight"], [math.tanh(a + b) for a, b in zip(query, key)])

    def attend(self, state, rows):
        """The context and the weights."""
        energies = [self.energy(state, row) for row in rows]
        weights = [math.exp(e - max(energies)) for e in energies]
        shares = [w / math.fsum(weights) for w in weights]
        return [math.fsum(a * row[i] for a, row in zip(shares, rows)) for i in range(len(rows[0]))], shares

    def join(self, context, state):
        return [math.tanh(v) for v in self.linear("decoder.attn.o_proj", context + state)]

    def decode(self, source, target):
        """Log-probabilities of all tokens and attention's weights, after each token of `target`."""
        rows, initial = self.encode(tuple(source))
        states = list(initial)
        fed = [0.0] * self.width_of("decoder.rnn", 0)
        logits, looks = [], []
        for token in target:
            embedded = self.weights["decoder.embed.weight"][token]
            context, shares, x = [], [], embedded
            if self.place == "before" and self.score:
                context, shares = self.attend(states[-1][0], rows)
                x = embedded + context
            if self.input_feeding:
                x = embedded + fed
            for layer in range(self.layers):
                states[layer] = self.apply("decoder.rnn", layer, x, states[layer])
                x = states[layer][0]
            if self.place == "after" and self.score:
                context, shares = self.attend(x, rows)
                x = fed = self.join(context, x)
            read = x + (context if self.reads_context else []) + (embedded if self.reads_embedding else [])
            logits.append(log_softmax(self.linear("decoder.out_proj", read)))
            looks.append(shares)
        return logits, looks
