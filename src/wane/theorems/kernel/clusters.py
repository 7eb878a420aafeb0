"""Bounds on the divergences of all pairs of two clusters of rows, in smaller and smaller clusters.

For rows X of one cluster, Y of another and every set S of columns,

    sum (X - Y)_+  <=  X(S) - Y(S) + sum_S (most Y - least X)_+ + sum_(not S) (most X - least Y)_+

where least and most are over the clusters, column by column.  S holds the columns whose last term
would be larger: then the sums vanish but for columns whose sign is in doubt, where they are small,
and the bound is off by the square of the clusters' sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array, Mask

_LEAF = 16  # clusters of so many rows are not split
_WAVES = 24  # irregular combinations of the columns, by which rows are told apart
_WEDGE = 8  # no part of a cluster is smaller than one in so many rows
_FEW = 0.25  # share of columns in doubt up to which their terms are summed one by one
_MARGIN = 2.0**-50  # covers the rounding of a difference


Numbers: TypeAlias = NDArray[np.intp]
"""Which rows."""

Tree: TypeAlias = "Numbers | tuple[Tree, Tree]"


@dataclass(frozen=True, eq=False)
class Cluster:
    """Some rows, as left (X) and as right (Y) ends of pairs, both non-negative."""

    numbers: Numbers
    left: Array
    right: Array
    parts: list[Cluster]

    @classmethod
    def of(cls, rows: Array, scaled: Array) -> Cluster:
        """Return all rows P as left and all multiples m Q as right ends, less what all share."""
        shared = np.minimum(rows.min(axis=0), scaled.min(axis=0))
        waves = np.outer(np.arange(1.0, rows.shape[1] + 1) ** 2, np.sqrt(np.arange(2, _WAVES + 2)))
        tree = _halved(np.arange(len(rows)), rows @ np.cos(waves))
        order = np.concatenate(list(_leaves(tree)))
        return cls._within(tree, 0, order, rows[order] - shared, scaled[order] - shared)

    @classmethod
    def _within(cls, tree: Tree, start: int, order: Numbers, left: Array, right: Array) -> Cluster:
        """Return the cluster of a tree whose leaves begin at this place of the order."""
        parts, end = [], start
        for branch in tree if isinstance(tree, tuple) else ():
            parts.append(cls._within(branch, end, order, left, right))
            end += len(parts[-1].numbers)
        here = slice(start, end if isinstance(tree, tuple) else start + len(tree))
        return cls(order[here], left[here], right[here], parts)

    @cached_property
    def left_range(self) -> tuple[Array, Array]:
        """The smallest and largest left entries of every column, or beyond."""
        return _range(self.left, [part.left_range for part in self.parts])

    @cached_property
    def right_range(self) -> tuple[Array, Array]:
        """The smallest and largest right entries of every column, or beyond."""
        return _range(self.right, [part.right_range for part in self.parts])


def likely_pairs(
    rows: Array, scaled: Array, best: list[float], rounding: float
) -> Iterator[tuple[int, Numbers]]:
    """Yield a row and others, of all pairs whose divergence may exceed the last of `best`.

    Sums over all columns have at most the relative error `rounding`.
    """
    whole = Cluster.of(rows, scaled)
    left = [(whole, whole)]
    while left:
        first, second = left.pop()
        pair = Signs.of(first, second)
        ends = pair.ends(4.0 * rounding)
        if not ends[0].max() - ends[1].min() > best[-1]:
            continue
        if first.parts or second.parts:
            number, other = first.numbers[np.argmax(ends[0])], second.numbers[np.argmin(ends[1])]
            if number != other:  # likely the worst of these
                yield int(number), np.array([other])
            ones, others = first.parts or [first], second.parts or [second]
            left.extend((one, other) for one in ones for other in others)
            continue
        table = ends[0][:, None] - ends[1]
        if np.count_nonzero(pair.doubt) <= _FEW * pair.doubt.size:
            table = pair.table(4.0 * rounding)
        for number, bounds in zip(first.numbers, table, strict=True):
            found = second.numbers[(bounds > best[-1]) & (second.numbers != number)]
            if found.size:
                yield int(number), found


@dataclass(frozen=True, eq=False)
class Signs:
    """Two clusters, and of each column whether X exceeds Y, and by how much that may be wrong."""

    first: Cluster
    second: Cluster
    larger: Mask
    doubt: Array

    @classmethod
    def of(cls, first: Cluster, second: Cluster) -> Signs:
        """Return the signs with the smaller doubts."""
        (least, most), (low, high) = first.left_range, second.right_range
        within, beyond = high - least, most - low
        doubt = np.maximum(np.minimum(within, beyond), 0.0)
        return cls(first, second, within < beyond, doubt)

    def ends(self, rounding: float) -> tuple[Array, Array]:
        """Return a and b: the divergence of X from Y is at most a of the one less b of the other.

        Sums are raised, or lowered, by the relative `rounding`.
        """
        up, down, larger = 1.0 + rounding, 1.0 - rounding, self.larger.astype(np.float64)
        total = self.first.left @ larger + self.doubt.sum()
        return total * up, (self.second.right @ larger) * down

    def table(self, rounding: float) -> Array:
        """Return the divergences of all X from all Y, raised: columns in doubt are added singly."""
        up, down = 1.0 + rounding, 1.0 - rounding
        sure = (self.larger & (self.doubt == 0.0)).astype(np.float64)
        columns = np.flatnonzero(self.doubt)
        left = self.first.left[:, columns] * (1.0 + _MARGIN)
        right = self.second.right[:, columns] * (1.0 - _MARGIN)
        terms = left[:, None, :] - right[None, :, :]
        made = np.maximum(terms, 0.0, out=terms).sum(axis=2)
        made += (self.first.left @ sure)[:, None]
        return np.asarray(made * up - (self.second.right @ sure) * down)


def _range(rows: Array, parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    if not parts:
        return rows.min(axis=0) * (1.0 - _MARGIN), rows.max(axis=0) * (1.0 + _MARGIN)
    (least, most), (also_least, also_most) = parts
    return np.minimum(least, also_least), np.maximum(most, also_most)


def _halved(numbers: Numbers, points: Array) -> Tree:
    """Return rows, each a point of few coordinates, in two clusters, each of them in two again."""
    if len(numbers) <= _LEAF:
        return numbers
    one = points[np.argmax(_distances(points, points[0]))]
    other = points[np.argmax(_distances(points, one))]
    nearer = _distances(points, one) - _distances(points, other)
    order, least = np.argsort(nearer), len(numbers) // _WEDGE + 1
    cut = min(max(int(np.count_nonzero(nearer < 0.0)), least), len(numbers) - least)
    first, second = order[:cut], order[cut:]
    return _halved(numbers[first], points[first]), _halved(numbers[second], points[second])


def _leaves(tree: Tree) -> Iterator[Numbers]:
    if isinstance(tree, tuple):
        for branch in tree:
            yield from _leaves(branch)
    else:
        yield tree


def _distances(points: Array, point: Array) -> Array:
    return np.asarray(np.abs(points - point).sum(axis=1))
