"""Softmax residuals in the form miss (r - e_y), plain and clamped; r is a law on the other classes.

Margins come in as (records, classes) and are worked on as (classes, records), so that sums over the
classes add long contiguous rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array

Index = NDArray[np.intp]
Pick = tuple[Index, Index]

LONGEST = math.sqrt(2.0)
"""No residual p - e_y is longer."""


def plain(margins: Array, labels: Index) -> Array:
    """Return the class probabilities minus the label's indicator."""
    others, gap, pick = split(margins, labels)
    return assemble(*miss_and_rest(others, gap), pick)


def clamped(margins: Array, labels: Index, bounds: Array) -> Array:
    """Return the same with the missing probability of the label cut at bounds/sqrt(2)."""
    others, gap, pick = split(margins, labels)
    miss, rest = miss_and_rest(others, gap)
    return assemble(np.minimum(miss, bounds / LONGEST), rest, pick)


def split(margins: Array, labels: Index) -> tuple[Array, Array, Pick]:
    """Return the other classes' margins below their largest, and how far below it the label is."""
    u = np.array(margins.T, dtype=np.float64, order="C")
    pick = (labels, np.arange(len(labels)))
    own = u[pick]
    u[pick] = -np.inf
    top = u.max(axis=0)
    u -= top
    return u, top - own, pick


def miss_and_rest(others: Array, gap: Array) -> tuple[Array, Array]:
    """Return the probability that the label lacks, and how the other classes share it."""
    rest = np.exp(others)
    total = rest.sum(axis=0)
    rest /= total
    with np.errstate(over="ignore"):  # a label far above the others misses nothing
        return 1.0 / (1.0 + np.exp(-gap) / total), rest


def assemble(miss: Array, rest: Array, pick: Pick) -> Array:
    """Return miss (rest - e_y), one row for each record; `rest` is used up."""
    rest *= miss
    rest[pick] = -miss
    return rest.T


def shortened(vectors: Array, bounds: Array) -> Array:
    """Return the rows, scaled down to these lengths."""
    largest = np.abs(vectors).max(axis=1)
    safe = np.where(largest > 0.0, largest, 1.0)
    lengths = largest * np.sqrt(np.square(vectors / safe[:, None]).sum(axis=1))
    longer = lengths > bounds
    return vectors * np.where(longer, bounds / np.where(longer, lengths, 1.0), 1.0)[:, None]
