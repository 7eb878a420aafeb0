"""Noisy counts made consistent: post-processing, which costs no privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array


def whole_counts(noisy: Array, total: int) -> list[int]:
    """Return the whole numbers of at least 0 with this sum that are nearest to noisy counts."""
    near = onto_simplex(noisy, float(total))
    made = np.floor(near).astype(np.int64)
    left = total - int(made.sum())
    order = np.argsort(made - near, kind="stable")  # those that lost most come first
    made[order[:left]] += 1
    return [int(count) for count in made]


def onto_simplex(point: Array, total: float) -> Array:
    """Return the nearest vector with entries of at least 0 that add up to the total."""
    if total <= 0.0:
        return np.zeros_like(point)
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, point.size + 1)
    kept = int(np.count_nonzero(ordered > excess))
    return np.asarray(np.maximum(point - excess[kept - 1], 0.0))


def consistent_leaves(levels: list[Array]) -> Array:
    """Return the leaves of a binary tree of noisy counts, the root left out, by least squares.

    Every level has the same noise.  Upwards each node takes the best mean of its own count and of
    its children's sum; downwards what is left over is shared by the two children.
    """
    best = [level.copy() for level in levels]
    for depth in range(len(levels) - 2, -1, -1):
        height = len(levels) - depth
        below = best[depth + 1].reshape(-1, 2).sum(axis=1)
        own = (2.0**height - 2.0 ** (height - 1)) / (2.0**height - 1.0)
        best[depth] = own * levels[depth] + (1.0 - own) * below
    made = best[0]
    for depth in range(1, len(levels)):
        pairs = best[depth].reshape(-1, 2)
        spare = (made - pairs.sum(axis=1)) / 2.0
        made = (pairs + spare[:, None]).ravel()
    return made


def quantiles_of(leaves: Array, probabilities: NDArray[np.float64]) -> Array:
    """Return quantiles as shares of the range, from the noisy counts of equal bins."""
    summed = np.cumsum(leaves)
    rising = np.maximum.accumulate(summed)
    falling = np.minimum.accumulate(summed[::-1])[::-1]
    steps = np.maximum((rising + falling) / 2.0, 0.0)
    if not steps[-1] > 0.0:  # nothing is known: the middle
        return np.full(probabilities.shape, 0.5)
    below = np.concatenate(([0.0], steps)) / steps[-1]
    first = int(np.argmax(below > 0.0))
    ends = np.maximum(np.searchsorted(below, probabilities, side="left"), first)
    start = below[ends - 1]
    inside = (probabilities - start) / (below[ends] - start)
    return np.asarray((ends - 1 + inside) / leaves.size)
