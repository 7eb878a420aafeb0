"""Convex penalties that tie coordinates together: groups, ranks and neighbours.

Finite everywhere, so they never bound the iterates; their prox never moves two points apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.arguments import Each, NonNegative, Whole, nonnegative
from wane.arrays import Array, read_only
from wane.describe.domains.base import Domain, ProxFacts
from wane.describe.domains.prox_kernels import fused_levels, shrinkage
from wane.errors import InvalidDescription


@final
@dataclass(frozen=True)
class GroupLasso(Domain):
    """weight*(sum of the lengths of the groups): whole groups of coordinates become zero.

    `groups` are tuples of coordinates, without overlap (overlapping groups have no closed
    prox); coordinates in no group are free.  `weight` is one number, or one for each group,
    such as the roots of the group sizes.
    """

    kind: ClassVar[str] = "group-lasso"
    weight: float | tuple[float, ...]
    groups: Annotated[tuple[tuple[int, ...], ...], Each(Each(Whole(least=0), fewest=0))]

    def __post_init__(self) -> None:
        super().__post_init__()
        members = [member for group in self.groups for member in group]
        if len(set(members)) < len(members):
            twice = next(m for m in members if members.count(m) > 1)
            raise InvalidDescription(
                f"groups must not overlap, got coordinate {twice} twice in "
                f"{arguments.shown(self.groups)}."
            )
        single = isinstance(self.weight, (int, float, np.integer, np.floating))
        weight = (nonnegative if single else Each(nonnegative))("weight", self.weight)
        if isinstance(weight, tuple) and len(weight) != len(self.groups):
            wanted = f"one number, or one for each of the {len(self.groups)} groups"
            raise arguments.refused("weight", self.weight, wanted)
        self._keep(weight=weight)

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    @cached_property
    def _layout(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], Array]:
        """Coordinates group after group, where each group starts, its size, its weight."""
        sizes = np.asarray([len(group) for group in self.groups], dtype=np.intp)
        order = np.asarray([i for group in self.groups for i in group], dtype=np.intp)
        weights = np.broadcast_to(np.asarray(self.weight, dtype=np.float64), sizes.shape)
        # Empty groups cost nothing, and reduceat would read a neighbour's entry for them.
        weights, sizes = weights[sizes > 0], sizes[sizes > 0]
        starts = np.cumsum(sizes) - sizes
        return read_only(order), read_only(starts), read_only(sizes), read_only(weights)

    def _group_lengths(self, points: Array) -> Array:
        order, starts, _, _ = self._layout
        if order.size and order.max() >= points.shape[-1]:
            raise InvalidDescription(
                f"groups must hold coordinates below {points.shape[-1]}, the length of a point, "
                f"got {order.max()}; coordinates are counted from 0."
            )
        if not order.size:
            return np.zeros((*points.shape[:-1], 0))
        scale = np.abs(points).max(axis=-1, keepdims=True)
        members = points[..., order] / np.where(scale > 0.0, scale, 1.0)
        return np.asarray(scale * np.sqrt(np.add.reduceat(np.square(members), starts, axis=-1)))

    def _prox(self, points: Array, step_size: float) -> Array:
        order, _, sizes, weights = self._layout
        factors = shrinkage(self._group_lengths(points), step_size * weights)
        moved = points.copy()
        moved[..., order] *= np.repeat(factors, sizes, axis=-1)
        return moved

    def _penalty(self, points: Array) -> Array:
        return np.asarray(self._group_lengths(points) @ self._layout[3])


@final
@dataclass(frozen=True)
class SortedLOne(Domain):
    """The k-th largest |x_i| costs weights[k] (OWL, SLOPE); weights must not increase."""

    kind: ClassVar[str] = "sorted-l1"
    weights: Annotated[tuple[float, ...], Each(nonnegative)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(a < b for a, b in zip(self.weights, self.weights[1:], strict=False)):
            cure = "sort them from large to small, or the penalty is not convex"
            raise arguments.refused("weights", self.weights, "non-increasing", cure)

    def _describe(self) -> ProxFacts:
        return ProxFacts(dimension=len(self.weights))

    @cached_property
    def _costs(self) -> Array:
        return read_only(np.array(self.weights, dtype=np.float64))

    def _prox(self, points: Array, step_size: float) -> Array:
        sizes = np.abs(points)
        order = np.argsort(-sizes, axis=-1, kind="stable")
        sorted_sizes = np.take_along_axis(sizes, order, axis=-1)
        levels = fused_levels(sorted_sizes - step_size * self._costs, np.inf, 0.0)
        moved = np.empty_like(points)
        np.put_along_axis(moved, order, np.maximum(levels, 0.0), axis=-1)
        return np.copysign(moved, points)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(-np.sort(-np.abs(points), axis=-1) @ self._costs)


@final
@dataclass(frozen=True)
class TotalVariation(Domain):
    """weight*(sum of |x[k+1] - x[k]|): neighbouring coordinates become equal."""

    kind: ClassVar[str] = "total-variation"
    weight: NonNegative

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _prox(self, points: Array, step_size: float) -> Array:
        tension = step_size * self.weight
        return fused_levels(points, tension, tension)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(self.weight * np.abs(np.diff(points, axis=-1)).sum(axis=-1))
