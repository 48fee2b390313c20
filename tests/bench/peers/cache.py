# SPDX-License-Identifier: Apache-2.0
"""Keys and values as the graphs of ONNX take and give them: what they are called, and how they lie."""

import numpy

from rows import HEAD_WIDTH, HEADS, LAYERS


def cache_names(prefix: str) -> list[str]:
    return [f"{prefix}_{kind}{i}" for i in range(LAYERS) for kind in ("key", "value")]


def shared_names() -> list[str]:
    """Those of the source."""
    return cache_names("shared")


def cache_shape(name: str, rows: int, length: int) -> tuple[int, ...]:
    """Keys lie as their products read them, so that no step turns them."""
    return (rows, HEADS, HEAD_WIDTH, length) if "key" in name else (rows, HEADS, length, HEAD_WIDTH)


def length_axis(name: str) -> int:
    return 3 if "key" in name else 2


def empty_cache(name: str, rows: int) -> numpy.ndarray:
    return numpy.zeros(cache_shape(name, rows, 0), numpy.float32)
