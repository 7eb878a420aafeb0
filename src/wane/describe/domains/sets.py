"""Closed convex sets: their prox is the projection, which never moves two points apart.

A projection is not a contraction, so a set amplifies privacy only through its diameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from wane import arguments
from wane.arguments import Positive, Vector
from wane.arrays import Array, read_only
from wane.describe.domains.base import ConvexSet, ProxFacts, slightly_above
from wane.describe.domains.prox_kernels import lengths, onto_simplex
from wane.errors import InvalidDescription


@final
@dataclass(frozen=True)
class Box(ConvexSet):
    """Points whose coordinates lie between two bounds; with equal bounds, the l-infinity ball.

    A bound is one number for all coordinates or one number for each; if both are single
    numbers, `dimension` must be given, since the diameter grows with it.
    """

    kind: ClassVar[str] = "box"
    lower: float | tuple[float, ...]
    upper: float | tuple[float, ...]
    dimension: int | None = None

    def __post_init__(self) -> None:
        bounds = {"lower": _bound("lower", self.lower), "upper": _bound("upper", self.upper)}
        sizes = {name: len(b) for name, b in bounds.items() if isinstance(b, tuple)}
        if self.dimension is not None:
            sizes["dimension"] = arguments.whole("dimension", self.dimension, least=1)
        if not sizes:
            raise InvalidDescription(
                "dimension must be given for a box with scalar bounds, got None; "
                "give the number of coordinates, such as dimension=10."
            )
        if len(set(sizes.values())) > 1:
            raise InvalidDescription(
                f"lower, upper and dimension must agree on the length of a point, got {sizes}."
            )
        self._keep(**bounds, dimension=next(iter(sizes.values())))
        lower, upper = self._bounds
        if (lower > upper).any() or (lower == upper).all():
            raise InvalidDescription(
                f"upper must be at least lower={arguments.shown(self.lower)}, and above it "
                f"somewhere, got {arguments.shown(self.upper)}."
            )

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        ends = (np.array(end, dtype=np.float64) for end in (self.lower, self.upper))
        lower, upper = map(read_only, ends)
        return lower, upper

    def _describe(self) -> ProxFacts:
        with np.errstate(over="ignore"):
            sides = np.atleast_1d(self._bounds[1] - self._bounds[0])
        repeats = math.sqrt((self.dimension or 1) / sides.size)
        return ProxFacts(
            diameter=slightly_above(math.hypot(*sides.tolist()) * repeats),
            has_interior=bool((sides > 0.0).all()),
            dimension=self.dimension,
        )

    def _project(self, points: Array) -> Array:
        return np.clip(points, *self._bounds)


def _bound(name: str, value: object) -> float | tuple[float, ...]:
    scalar = isinstance(value, (int, float, np.integer, np.floating))
    return arguments.real(name, value) if scalar else arguments.vector(name, value)


@final
@dataclass(frozen=True)
class Orthant(ConvexSet):
    """Points without negative coordinates."""

    kind: ClassVar[str] = "orthant"

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _project(self, points: Array) -> Array:
        return np.maximum(points, 0.0)


@final
@dataclass(frozen=True)
class Ball(ConvexSet):
    """Points at Euclidean distance at most `radius` from the centre, by default the origin."""

    kind: ClassVar[str] = "ball"
    radius: Positive
    center: Vector | None = None

    def _describe(self) -> ProxFacts:
        dimension = None if self.center is None else len(self.center)
        return ProxFacts(diameter=2.0 * self.radius, dimension=dimension)

    @cached_property
    def _middle(self) -> Array:
        return read_only(np.array(self.center or 0.0, dtype=np.float64))

    def _project(self, points: Array) -> Array:
        apart = points - self._middle
        distances = lengths(apart)
        outside = distances > self.radius
        pull = np.divide(self.radius, distances, out=np.ones_like(distances), where=outside)
        # Points inside are returned as they are, not as centre + (x - centre).
        return np.where(outside, self._middle + apart * pull, points)


@final
@dataclass(frozen=True)
class LOneBall(ConvexSet):
    """Points whose absolute values sum to at most `radius`."""

    kind: ClassVar[str] = "l1-ball"
    radius: Positive

    def _describe(self) -> ProxFacts:
        return ProxFacts(diameter=2.0 * self.radius)

    def _project(self, points: Array) -> Array:
        sizes = np.abs(points)
        outside = sizes.sum(axis=-1, keepdims=True) > self.radius
        return np.where(outside, np.copysign(onto_simplex(sizes, self.radius), points), points)


@final
@dataclass(frozen=True)
class Simplex(ConvexSet):
    """Non-negative coordinates that sum to `total`; flat, so it has no interior."""

    kind: ClassVar[str] = "simplex"
    total: Positive = 1.0

    def _describe(self) -> ProxFacts:
        return ProxFacts(diameter=slightly_above(math.sqrt(2.0) * self.total), has_interior=False)

    def _project(self, points: Array) -> Array:
        return onto_simplex(points, self.total)


@final
@dataclass(frozen=True)
class SecondOrderCone(ConvexSet):
    """Points whose last coordinate is at least the Euclidean length of the others."""

    kind: ClassVar[str] = "second-order-cone"

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _project(self, points: Array) -> Array:
        side, height = points[..., :-1], points[..., -1:]
        reach = lengths(side)
        inside, below = reach <= height, reach <= -height
        top = np.where(below, 0.0, reach / 2.0 + height / 2.0)
        scale = np.divide(top, reach, out=np.zeros_like(reach), where=~below & (reach > 0.0))
        return np.where(inside, points, np.concatenate([side * scale, top], axis=-1))


@final
@dataclass(frozen=True)
class Diameter(ConvexSet):
    """A convex set of at most this diameter, not specified: certified, but not runnable."""

    kind: ClassVar[str] = "diameter"
    # The default only shadows the property of the base class; it is refused below.
    diameter: Positive = math.inf

    def _describe(self) -> ProxFacts:
        return ProxFacts(diameter=self.diameter, has_interior=None)

    def _project(self, points: Array) -> Array:
        raise InvalidDescription(
            f"domain must be a named set to project onto, got only diameter={self.diameter!r}; "
            f"give for instance kind='ball' with radius={self.diameter / 2.0!r}."
        )
