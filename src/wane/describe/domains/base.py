"""The base class of domains: Lipschitz constant, diameter and computation of a proximal operator.

A domain is the regulariser h whose proximal operator ends each step of noisy descent,

    x' = prox_{step_size*h}(x - step_size*(gradient + noise)),
    prox_{eta*h}(x) = the minimiser of h(z) + |z - x|^2/(2*eta) over z,

with h = 0 inside and infinity outside for a set, whose prox is the projection.  All answers
follow from the facts in `ProxFacts`.  A final class gives three things (its facts, its prox and its
penalty, on float64 points) and overrides nothing; checks of input and dtypes are made once, here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from wane.arguments import Checked, positive, refused
from wane.arrays import Array
from wane.errors import InvalidDescription

Points = NDArray[np.floating[Any]]

# Relative distance to a set below which a computed point counts as inside.  It is coarse enough
# for points that were projected in single precision; it never enters a privacy bound.
MEMBERSHIP = 1e-6


class ProxFacts(NamedTuple):
    """The facts about a domain that theorems use; the defaults hold for a finite convex penalty."""

    diameter: float = math.inf
    has_interior: bool | None = True
    strong_convexity: Fraction = Fraction(0)
    dimension: int | None = None
    declared: tuple[str, ...] = ()


class Domain(Checked, ABC):
    """A set or regulariser with a prox of known Lipschitz constant; its subclasses are final."""

    kind: ClassVar[str]

    @abstractmethod
    def _describe(self) -> ProxFacts:
        """Return the facts of this domain; called once."""

    @abstractmethod
    def _prox(self, points: Array, step_size: float) -> Array:
        """Return the prox as a new array; `points` are checked and must not be changed."""

    @abstractmethod
    def _penalty(self, points: Array) -> Array:
        """Return h at each point; `points` are checked."""

    @cached_property
    def _facts(self) -> ProxFacts:
        return self._describe()

    @property
    def diameter(self) -> float:
        """The largest distance of two points of the set, never rounded down; inf if unbounded."""
        return self._facts.diameter

    @property
    def dimension(self) -> int | None:
        """The length of a point, or None if points of any length will do."""
        return self._facts.dimension

    @property
    def has_interior(self) -> bool | None:
        """Whether the set has interior points; None if that is not known.

        Curvature that is only declared on the set says nothing about the gradient's part
        orthogonal to it, so a set that is flat in some direction (a simplex, an affine
        subspace) needs curvature declared on the whole space.
        """
        return self._facts.has_interior

    @property
    def declared(self) -> tuple[str, ...]:
        """The names of proxes whose facts were declared by a user, and follow from nothing here."""
        return self._facts.declared

    @property
    def strong_convexity(self) -> Fraction:
        """The largest known m with h - (m/2)|x|^2 convex, exact; below 0 if weakly convex."""
        return self._facts.strong_convexity

    def lipschitz(self, step_size: float) -> float:
        """Return the largest factor by which the prox moves two points apart, never rounded down.

        Claim.  1/(1 + step_size*m) with m = strong_convexity; infinity (nothing certified)
        if step_size*m <= -1, where the prox can jump.
        Computed in exact rational arithmetic and rounded up once.
        """
        stretch = 1 + Fraction(positive("step_size", step_size)) * self.strong_convexity
        return round_up(1 / stretch) if stretch > 0 else math.inf

    def prox(self, x: Points, step_size: float) -> Points:
        """Return the prox of step_size*h at every point; the last axis of `x` runs along a point.

        Leading axes are independent points.  The result is a new array of the dtype of `x`
        (computed in float64), and lies in the set up to rounding.
        """
        points = self._points(x)
        moved = self._prox(points, positive("step_size", step_size))
        given = np.asarray(x).dtype
        return moved.astype(given if given.kind == "f" else np.float64, copy=False)

    def penalty(self, x: Points) -> Array:
        """Return the value of h at every point: for a set, 0 inside (up to rounding), inf outside.

        Always float64: a sum over coordinates may be too large for the dtype of a point.
        """
        return self._penalty(self._points(x))

    def _points(self, x: Points) -> Array:
        given = np.asarray(x)
        if given.dtype.kind not in "fiu":
            raise refused("x", x, "an array of real numbers", "give floats")
        if given.ndim == 0 or given.shape[-1] == 0:
            cure = "give an array whose last axis runs along the point"
            raise refused("x", x, "a point or an array of points", cure)
        if self.dimension is not None and given.shape[-1] != self.dimension:
            raise InvalidDescription(
                f"x must have points of length {self.dimension}, as this {self.kind}, got length "
                f"{given.shape[-1]}."
            )
        points = given.astype(np.float64, copy=False)
        if not np.isfinite(points).all():
            raise InvalidDescription(
                "x must be finite, got NaN or infinity, so the descent diverged; lower step_size."
            )
        return points


class ConvexSet(Domain):
    """A closed convex set: h is its indicator, so the prox is the projection at any step size."""

    @abstractmethod
    def _project(self, points: Array) -> Array:
        """Return the nearest points of the set as a new array."""

    def _prox(self, points: Array, step_size: float) -> Array:
        return self._project(points)

    def _penalty(self, points: Array) -> Array:
        nearest = self._project(points)
        # Next to the origin rounding is relative to the size of the set, if it has one.
        scale = np.maximum(np.abs(points), np.abs(nearest)).max(
            axis=-1, initial=min(self.diameter, 1.0)
        )
        gap = np.abs(points - nearest).max(axis=-1)
        return np.where(gap <= MEMBERSHIP * scale, 0.0, math.inf)


@final
@dataclass(frozen=True)
class Unbounded(Domain):
    """The whole space without a penalty: the prox is the identity."""

    kind: ClassVar[str] = "unbounded"

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _prox(self, points: Array, step_size: float) -> Array:
        return points.copy()

    def _penalty(self, points: Array) -> Array:
        return np.zeros(points.shape[:-1])


def round_up(value: Fraction) -> float:
    """Return the smallest float that is not below an exact value."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def slightly_above(value: float) -> float:
    """Return a float that is not below a value computed with a few roundings."""
    return math.nextafter(value * (1.0 + 2.0**-50), math.inf) if value > 0.0 else value
