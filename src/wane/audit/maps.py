"""Scalar maps of one step of a chain, with their kinks listed, for quadrature.

Quadrature is spectrally accurate between the places where a map bends, jumps or has an infinite
slope, and poor across them; so a map carries those places with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wane.arrays import Array
from wane.errors import InvalidDescription

Vectorised = Callable[[Array], Array]

BISECTIONS = 200


@dataclass(frozen=True)
class ScalarMap:
    """A map of the line, smooth except at its kinks: bends, jumps and unbounded slopes.

    Attributes:
        function: the map, applied to whole arrays.
        kinks: where it is not smooth.  Those not declared are found by bisection, at the price of
            a finer grid and a larger error.
    """

    function: Vectorised
    kinks: tuple[float, ...] = ()

    def __call__(self, points: Array) -> Array:
        """Return the images of an array of points; constant functions are spread over it."""
        return np.asarray(self.function(points), dtype=float) + np.zeros_like(points)


@dataclass(frozen=True)
class MonotoneMap:
    """A nondecreasing map applied after the noise: a projection, a prox, a rounding to a set.

    Attributes:
        function: the map, applied to whole arrays; strictly increasing outside the flats.
        kinks: where it bends or jumps (ends of flats need not be repeated).
        flats: disjoint intervals on which it is constant; they become atoms of the law.
    """

    function: Vectorised
    kinks: tuple[float, ...] = ()
    flats: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "flats", tuple(sorted(self.flats)))
        for (_, end), (begin, _) in zip(self.flats, self.flats[1:], strict=False):
            if begin < end:
                raise InvalidDescription("flats must not overlap.")
        if not self.moving:
            raise InvalidDescription(
                "function must not be constant: such a map has no law to compute."
            )

    def __call__(self, points: Array) -> Array:
        """Return the images of an array of points; constant functions are spread over it."""
        return np.asarray(self.function(points), dtype=float) + np.zeros_like(points)

    def at(self, point: float) -> float:
        """Return the value at one point."""
        return float(self(np.array([point]))[0])

    @property
    def corners(self) -> tuple[float, ...]:
        """Every finite place where the map is not smooth."""
        ends = (end for flat in self.flats for end in flat)
        return tuple(sorted({p for p in (*self.kinks, *ends) if math.isfinite(p)}))

    @property
    def moving(self) -> tuple[tuple[float, float], ...]:
        """The open intervals outside the flats, from left to right."""
        begin, parts = -math.inf, []
        for low, high in self.flats:
            if low > begin:
                parts.append((begin, low))
            begin = high
        if begin < math.inf:
            parts.append((begin, math.inf))
        return tuple(parts)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends, perhaps infinite, beyond which the map is constant."""
        return self.moving[0][0], self.moving[-1][1]

    @property
    def atoms(self) -> tuple[float, ...]:
        """The values taken on the flats."""
        return tuple(self.at(low if math.isfinite(low) else high) for low, high in self.flats)

    def preimage(self, value: float) -> tuple[float, float]:
        """Return the closed interval sent to the value; a point where the map increases."""
        return _crossing(self, value, strict=False), _crossing(self, value, strict=True)


def _crossing(g: MonotoneMap, value: float, *, strict: bool) -> float:
    """Return where a nondecreasing map passes a value: the first point at it, or above it."""

    def beyond(point: float) -> bool:
        return g.at(point) > value if strict else g.at(point) >= value

    low, high = value - 1.0, value + 1.0
    for k in range(64):
        low, high = (low - 2.0**k if beyond(low) else low, high if beyond(high) else high + 2.0**k)
        if beyond(high) and not beyond(low):
            break
    else:
        return -math.inf if beyond(low) else math.inf
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return low if strict else high


WHOLE_LINE = MonotoneMap(lambda z: z)
"""No projection and no prox."""


def interval(lower: float, upper: float) -> MonotoneMap:
    """Return the projection onto a closed interval, which leaves an atom at each end."""
    if not lower < upper:
        raise InvalidDescription(f"upper must be above lower={lower}, got {upper}.")
    flats = [f for f in ((-math.inf, lower), (upper, math.inf)) if f[0] < f[1]]
    return MonotoneMap(lambda z: np.clip(z, lower, upper), flats=tuple(flats))


def soft_threshold(threshold: float) -> MonotoneMap:
    """Return the prox of an absolute value, which leaves an atom at zero."""
    if not threshold > 0.0:
        raise InvalidDescription(f"a soft threshold must be positive, got {threshold}")
    return MonotoneMap(
        lambda z: np.sign(z) * np.maximum(np.abs(z) - threshold, 0.0),
        flats=((-threshold, threshold),),
    )


def shrinkage(factor: float) -> MonotoneMap:
    """Return the prox of a ridge, which multiplies by a positive factor."""
    if not factor > 0.0:
        raise InvalidDescription(f"a shrinkage factor must be positive, got {factor}")
    return MonotoneMap(lambda z: factor * z)


def followed_by(inner: MonotoneMap, outer: MonotoneMap) -> MonotoneMap:
    """Return the composition of two monotone maps; the outer's flats pull back to longer ones."""
    pulled = [
        (
            -math.inf if low == -math.inf else inner.preimage(low)[0],
            math.inf if high == math.inf else inner.preimage(high)[1],
        )
        for low, high in outer.flats
    ]
    pulled = [flat for flat in pulled if flat[0] < flat[1]]
    own = [f for f in inner.flats if not any(a <= f[0] and f[1] <= b for a, b in pulled)]
    bends = [end for kink in outer.kinks for end in inner.preimage(kink)]
    return MonotoneMap(
        lambda z: outer(inner(z)),
        kinks=(*inner.kinks, *(b for b in bends if math.isfinite(b))),
        flats=(*pulled, *own),
    )


def clipped(gradient: ScalarMap, bound: float, lower: float, upper: float) -> ScalarMap:
    """Return a gradient clipped to a bound, with the kinks it gains between lower and upper."""
    scan = np.union1d(np.linspace(lower, upper, 20_001), gradient.kinks)
    active = np.abs(gradient(scan)) > bound
    turns = np.flatnonzero(active[:-1] != active[1:])
    kinks = [_root(gradient, bound, float(scan[i]), float(scan[i + 1])) for i in turns]
    return ScalarMap(
        lambda x: np.clip(gradient(x), -bound, bound),
        kinks=tuple(sorted({*gradient.kinks, *kinks})),
    )


def _root(gradient: ScalarMap, bound: float, low: float, high: float) -> float:
    """Return where the clipping of a gradient sets in, by bisection."""

    def active(point: float) -> bool:
        return bool(np.abs(gradient(np.array([point])))[0] > bound)

    rising = active(high)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if active(middle) == rising else (middle, high)
    return high
