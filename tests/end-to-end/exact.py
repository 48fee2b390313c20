"""Numbers for tests that compare sums: exact in float32."""

import random


def numbers(count, seed):
    """Multiples of 1/64 in [-1, 1]."""
    source = random.Random(seed)
    return [source.randint(-64, 64) / 64 for _ in range(count)]


def matrix(rows, columns, seed):
    flat = numbers(rows * columns, seed)
    return [flat[row * columns:(row + 1) * columns] for row in range(rows)]
