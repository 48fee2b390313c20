# SPDX-License-Identifier: Apache-2.0
"""Keys and values as the graphs of ONNX take and give them: what they are called, and how they lie."""

import numpy

from rows import HEAD_WIDTH, HEADS, LAYERS


def cache_names(prefix: str, turned: bool = True) -> list[str]:
    return [f"{prefix}_{kind}{i}" for i in range(LAYERS) for kind in ("turned_key" if turned else "key", "value")]


def shared_names() -> list[str]:
    """Those of the source."""
    return cache_names("shared")


def cache_shape(name: str, rows: int, length: int) -> tuple[int, ...]:
    """Turned keys lie as products of single operations read them, so that no step turns them."""
    return (rows, HEADS, HEAD_WIDTH, length) if "turned" in name else (rows, HEADS, length, HEAD_WIDTH)


def length_axis(name: str) -> int:
    return 3 if "turned" in name else 2


def empty_cache(name: str, rows: int) -> numpy.ndarray:
    return numpy.zeros(cache_shape(name, rows, 0), numpy.float32)
