"""Concrete losses on a box, and the search for the largest value of a score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from wane.arrays import Array

POINTS = 40_000
"""Points of the first grid of a search, in all dimensions together."""
ROUNDS = 40
"""How often the surroundings of the best points are halved."""


class ConcreteLoss(Protocol):
    """One record's loss before clipping; points are rows."""

    def gradient(self, x: Array) -> Array:
        """Return the gradient at each point, a row for each."""

    def hessian(self, x: Array) -> Array:
        """Return the Hessian at each point, wherever it exists."""


@runtime_checkable
class Enclosed(Protocol):
    """A loss that also bounds its derivatives on whole boxes, infinite ones included."""

    def gradient_within(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds of each gradient coordinate over each box."""

    def curvature_within(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds of the Hessian's eigenvalues over each box."""


@runtime_checkable
class Valued(Protocol):
    """A loss with its value, not only its derivatives."""

    def value(self, x: Array) -> Array:
        """Return the loss at each point."""


@dataclass(frozen=True)
class Family:
    """Concrete losses, and the box on which something is claimed of them.

    Attributes:
        losses: one for each kind of record there may be.
        low, high: the ends of the box, infinite where it has none.
        points: where derivatives bend, jump or are largest, if that is known; a row for each.
        reach: how far searches go where the box is infinite.
        contribution: what the run does to gradients before it sums them, if that is to be judged.
        shared: what the run adds at every step for no record, if that is to be judged.
    """

    losses: tuple[ConcreteLoss, ...]
    low: Array
    high: Array
    points: Array | None = None
    reach: float = 50.0
    contribution: Callable[[Array], Array] | None = None
    shared: Callable[[Array], Array] | None = None

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.low)

    @property
    def everywhere(self) -> Family:
        """The same losses on the whole space."""
        infinite = np.full(self.dimension, math.inf)
        return Family(self.losses, -infinite, infinite, self.points, self.reach)

    @property
    def window(self) -> tuple[Array, Array]:
        """The finite part of the box in which searches look."""
        return np.maximum(self.low, -self.reach), np.minimum(self.high, self.reach)

    def worst(self, score: Callable[[ConcreteLoss, Array], Array]) -> float:
        """Return the largest score of any loss found at points of the box."""
        return max(self.search(partial(score, loss)) for loss in self.losses)

    def worst_pair(self, score: Callable[[ConcreteLoss, Array, Array], Array]) -> float:
        """Return the largest score of any loss found at pairs of distinct points of the box."""
        return max(self._search_pairs(partial(score, loss)) for loss in self.losses)

    def search(self, score: Callable[[Array], Array]) -> float:
        """Return the largest score found at points of the box."""
        low, high = self.window
        points = np.empty((0, self.dimension)) if self.points is None else self.points
        inside = np.all((points >= low) & (points <= high), axis=1)
        return _largest(score, low, high, points[inside])

    def _search_pairs(self, score: Callable[[Array, Array], Array]) -> float:
        low, high = (np.tile(end, 2) for end in self.window)
        d = self.dimension

        def of_pair(xy: Array) -> Array:
            x, y = xy[:, :d], xy[:, d:]
            apart = np.linalg.norm(x - y, axis=1) > 1e-4 * np.linalg.norm(high - low)
            scores = np.full(len(xy), -math.inf)
            scores[apart] = score(x[apart], y[apart])
            return scores

        pairs = np.empty((0, 2 * d))
        if self.points is not None:
            each = np.array([p for p in self.points if np.all((p >= low[:d]) & (p <= high[:d]))])
            if len(each):
                first, second = np.meshgrid(range(len(each)), range(len(each)))
                pairs = np.hstack([each[first.ravel()], each[second.ravel()]])
        return _largest(of_pair, low, high, pairs)

    def cells(self, count: int) -> tuple[Array, Array]:
        """Return about `count` boxes that cover the set, the outermost perhaps infinite."""
        low, high = self.window
        each = max(1, round(count ** (1.0 / self.dimension)))
        ends = [np.linspace(a, b, each + 1) for a, b in zip(low, high, strict=True)]
        for axis, end in enumerate(ends):
            end[0], end[-1] = self.low[axis], self.high[axis]
        lows = np.stack(np.meshgrid(*(e[:-1] for e in ends), indexing="ij"), axis=-1)
        highs = np.stack(np.meshgrid(*(e[1:] for e in ends), indexing="ij"), axis=-1)
        return lows.reshape(-1, self.dimension), highs.reshape(-1, self.dimension)


def _largest(
    score: Callable[[Array], Array], low: Array, high: Array, given_points: Array
) -> float:
    """Return the largest value on a grid and around its best points, halving the surroundings."""
    d = len(low)
    each = max(3, min(4001, round(POINTS ** (1.0 / d))) | 1)
    axes = [np.linspace(a, b, each) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    points = np.vstack([grid, given_points])
    values = score(points)
    best = points[np.argsort(values)[-6:]]
    largest = float(np.max(values))
    offsets = np.stack(np.meshgrid(*([np.linspace(-1, 1, 5)] * d), indexing="ij"), axis=-1)
    offsets = offsets.reshape(-1, d)
    width = (high - low) / (each - 1)
    for _ in range(ROUNDS):
        near = np.clip(best[:, None, :] + width * offsets, low, high)
        values = score(near.reshape(-1, d)).reshape(len(best), -1)
        best = near[np.arange(len(best)), np.argmax(values, axis=1)]
        largest = max(largest, float(np.max(values)))
        width = width / 2
    return largest
