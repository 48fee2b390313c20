# SPDX-License-Identifier: Apache-2.0
"""Greedy and beam search, for peers that have none."""

from collections.abc import Callable

import numpy

from rows import LENGTH, PAD

Outputs = list[list[int]]


def search(step: Callable, batch: int, beam: int) -> Outputs:
    """Greedy and beam search over step(tokens, order) -> (scores, tokens), both (rows, beam); exactly LENGTH steps."""
    rows = batch * beam
    first = numpy.arange(batch)[:, None] * beam
    tokens, order = numpy.full((rows, 1), PAD), numpy.arange(rows)
    totals = numpy.where(numpy.arange(beam) == 0, 0.0, -1e30)[None].repeat(batch, 0)
    history = numpy.zeros((rows, 0), numpy.int64)
    for _ in range(LENGTH):
        scores, best = step(tokens, order)
        candidates = (totals.reshape(rows, 1) + scores).reshape(batch, -1)
        chosen = numpy.argsort(-candidates, axis=1, kind="stable")[:, :beam]
        totals = numpy.take_along_axis(candidates, chosen, 1)
        order = (first + chosen // beam).reshape(-1)
        tokens = numpy.take_along_axis(best.reshape(batch, -1), chosen, 1).reshape(rows, 1)
        history = numpy.concatenate([history[order], tokens], 1)
    return history[::beam].tolist()
