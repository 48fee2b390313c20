# SPDX-License-Identifier: Apache-2.0
"""What all are given: the same numbers on each run."""

import random

import numpy

from rows import HEAD_WIDTH, HEADS, PAD, SEED, Row


def sources(row: Row) -> list[list[int]]:
    """Token ids; no special ones."""
    generator = random.Random(SEED)
    return [[generator.randrange(1, PAD - 1) for _ in range(row.length)] for _ in range(row.batch)]


def aligned(array: numpy.ndarray) -> numpy.ndarray:
    """A copy that begins with a line of the cache, as the engines' own tensors do: vectors across lines load slowly."""
    line = 64
    memory = numpy.empty(array.nbytes + line, numpy.uint8)
    first = -memory.ctypes.data % line
    copy = memory[first:first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def attention_inputs(row: Row) -> list[numpy.ndarray]:
    """Queries, keys, values: 1 x heads x length x width of a head."""
    generator = numpy.random.default_rng(SEED)
    return [aligned(generator.standard_normal((1, HEADS, row.length, HEAD_WIDTH), numpy.float32)) for _ in range(3)]


def matmul_input(row: Row) -> numpy.ndarray:
    """rows x input"""
    return aligned(numpy.random.default_rng(SEED).standard_normal(row.shape[:2], numpy.float32))


def matmul_weights(row: Row) -> tuple[numpy.ndarray, numpy.ndarray]:
    """output x input, and output"""
    _, inner, outer = row.shape
    generator = numpy.random.default_rng(SEED + 1)
    return (aligned(generator.standard_normal((outer, inner), numpy.float32) * numpy.float32(inner ** -0.5)),
            aligned(generator.standard_normal(outer, numpy.float32)))
