"""Gauss-Legendre quadrature on panels that never contain a kink.

A panel is short against the noise that smooths the density on it, and short against the noise of
the next step after being stretched by the next map; then twelve nodes give twelve digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.errors import InvalidDescription

MAX_PANELS = 20_000


@dataclass(frozen=True)
class Panels:
    """Adjacent or separate intervals, each with its own nodes and weights (one row a panel)."""

    lower: Array
    upper: Array
    nodes: Array
    weights: Array

    @property
    def count(self) -> int:
        """The number of panels."""
        return int(self.lower.size)


def gauss_panels(lower: Array, upper: Array, nodes_per_panel: int) -> Panels:
    """Return the panels with the same Gauss-Legendre rule on every interval."""
    nodes, weights = np.polynomial.legendre.leggauss(nodes_per_panel)
    centre, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    return Panels(
        lower=lower,
        upper=upper,
        nodes=centre[:, None] + half[:, None] * nodes[None, :],
        weights=half[:, None] * weights[None, :],
    )


def cut(low: float, high: float, width: float, kinks: Sequence[float]) -> Array:
    """Return the edges of panels over an interval: at most `width` apart, one at each kink."""
    marks = [low, *sorted({p for p in kinks if low < p < high}), high]
    edges: list[Array] = [np.array([low])]
    for begin, end in pairwise(marks):
        pieces = int(np.ceil((end - begin) / width * (1.0 - 1e-12)))
        if pieces > MAX_PANELS:
            raise InvalidDescription(
                f"the interval must need at most {MAX_PANELS} panels of width {width}, got "
                f"[{begin}, {end}]."
            )
        edges.append(np.linspace(begin, end, max(1, pieces) + 1)[1:])
    return np.unique(np.concatenate(edges))


def refine(lower: Array, upper: Array, pieces: NDArray[np.int64]) -> tuple[Array, Array]:
    """Split every interval into its own number of equal pieces."""
    if int(pieces.sum()) > MAX_PANELS:
        raise InvalidDescription(
            f"the grid must need at most {MAX_PANELS} panels, got {int(pieces.sum())}; the drift "
            "is too rough or the noise too small."
        )
    owner = np.repeat(np.arange(pieces.size), pieces)
    rank = np.arange(owner.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    share = pieces[owner].astype(float)
    length = upper[owner] - lower[owner]
    begin = lower[owner] + length * (rank / share)
    # A piece ends where the next begins, to the last bit.
    last = rank + 1 == pieces[owner]
    end = np.where(last, upper[owner], lower[owner] + length * ((rank + 1) / share))
    return begin, end


def last_coefficients(values: Array) -> Array:
    """Return the size of the samples' last two Legendre coefficients: how unsmooth they are.

    They vanish to rounding for a smooth function and decay slowly across a bend or a jump.
    """
    count = values.shape[1]
    nodes, weights = np.polynomial.legendre.leggauss(count)
    basis = np.polynomial.legendre.legvander(nodes, count - 1)[:, -2:]
    scale = np.arange(count - 2, count) + 0.5
    return np.asarray(np.abs(values @ (weights[:, None] * basis * scale)).max(axis=1), dtype=float)
