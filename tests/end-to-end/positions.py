"""What kinds of positions do to rows, heads and scores, in double precision, written anew from the papers."""

import math
import struct


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def t5_bucket(distance, bidirectional, buckets, most):
    """`_relative_position_bucket` of Transformers, in float32."""
    result = 0
    if bidirectional:
        buckets //= 2
        result = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = -min(distance, 0)
    exact = buckets // 2
    if distance < exact:
        return result + distance
    share = f32(f32(math.log(f32(distance / exact))) / f32(math.log(most / exact)))
    return result + min(exact + int(f32(share * (buckets - exact))), buckets - 1)


def turn(row, position, turned, base, interleaved):
    """The first `turned` columns of a head's row, rotated by its position (Su et al. 2021)."""
    row = list(row)
    for j in range(turned // 2):
        a, b = (2 * j, 2 * j + 1) if interleaved else (j, j + turned // 2)
        angle = position * base ** (-2 * j / turned)
        row[a], row[b] = (row[a] * math.cos(angle) - row[b] * math.sin(angle),
                          row[b] * math.cos(angle) + row[a] * math.sin(angle))
    return row


def alibi_slope(head, heads):
    """Press et al. 2022: a geometric sequence; heads past a power of two take every other slope of twice as many."""
    power = 1 << (heads.bit_length() - 1)
    return 2 ** (-8 * (head + 1) / power) if head < power else 2 ** (-4 * (2 * (head - power) + 1) / power)


class Positions:
    """None at all; the kinds below change what they need."""

    def row(self, position, weights, side, width):
        """Added to the embedding."""
        return [0.0] * width

    def turned(self, row, position):
        """A head's query or key, in self-attention."""
        return row

    def bias(self, weights, side, head, heads, distance):
        """Added to a score of self-attention; the distance is key - query."""
        return 0.0


class Learned(Positions):
    def __init__(self, start=0):
        self.start = start

    def row(self, position, weights, side, width):
        return weights[side + ".pos_embed.weight"][position + self.start]


class Sinusoidal(Positions):
    """Vaswani et al. 2017, section 3.5; `inclusive` as Tensor2Tensor has it."""

    def __init__(self, start=0, base=10000, interleaved=True, inclusive=False):
        self.start, self.base, self.interleaved, self.inclusive = start, base, interleaved, inclusive

    def row(self, position, weights, side, width):
        half = width // 2
        angles = [(position + self.start) * self.base ** (-j / (half - self.inclusive)) for j in range(half)]
        if self.interleaved:
            return [f(angle) for angle in angles for f in (math.sin, math.cos)]
        return [f(angle) for f in (math.sin, math.cos) for angle in angles]


class Relative(Positions):
    def __init__(self, buckets, most):
        self.buckets, self.most = buckets, most

    def bias(self, weights, side, head, heads, distance):
        return weights[side + ".pos_embed.weight"][t5_bucket(distance, side == "encoder", self.buckets, self.most)][head]


class Alibi(Positions):
    def bias(self, weights, side, head, heads, distance):
        return -alibi_slope(head, heads) * abs(distance)


class Rotary(Positions):
    def __init__(self, columns, base=10000, interleaved=True):
        self.columns, self.base, self.interleaved = columns, base, interleaved

    def turned(self, row, position):
        return turn(row, position, self.columns, self.base, self.interleaved)
