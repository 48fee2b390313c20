# SPDX-License-Identifier: Apache-2.0
"""Inputs of graphs that show which ranges int8 needs."""

import pathlib
from collections.abc import Iterator

import numpy

from cache import cache_names, empty_cache, shared_names
from rows import LENGTH, SEED, VOCABULARY
from search import search

Sample = dict[str, numpy.ndarray]  # a graph's inputs by name


def generator() -> numpy.random.Generator:
    """For other numbers than those that are measured."""
    return numpy.random.default_rng(SEED + 2)


def encoder_samples() -> Iterator[Sample]:
    numbers = generator()
    return ({"ids": numbers.integers(1, VOCABULARY - 2, (2, length))} for length in (LENGTH, 128, 512))


def step_samples(encoder: pathlib.Path, step: pathlib.Path, beam: int, turned: bool) -> Iterator[Sample]:
    """What the steps of a search read, for a few sources."""
    import onnxruntime
    batch, given = 4, []
    source = onnxruntime.InferenceSession(encoder, providers=["CPUExecutionProvider"])
    session = onnxruntime.InferenceSession(step, providers=["CPUExecutionProvider"])
    _, *shared = source.run(None, {"ids": generator().integers(1, VOCABULARY - 2, (batch, LENGTH))})
    kept = dict(zip(shared_names(), shared))
    cache = {name: empty_cache(name, batch * beam) for name in cache_names("past", turned)}
    types = {tensor.name: numpy.int32 if tensor.type == "tensor(int32)" else numpy.int64 for tensor in session.get_inputs()}

    def run(tokens, order):
        given.append({"ids": tokens, **({"order": order.astype(types["order"])} if "order" in types else {}), **kept, **cache})
        scores, best, *appended = session.run(None, given[-1])
        cache.update(zip(cache_names("past", turned), appended))
        return scores, best

    search(run, batch, beam)
    return iter(given)


def matmul_samples(width: int) -> Iterator[Sample]:
    return iter([{"x": generator().standard_normal((256, width), numpy.float32)}])
