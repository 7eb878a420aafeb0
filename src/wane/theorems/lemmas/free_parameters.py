"""Free parameters of a bound: how they are written, and a simplex search for good ones.

A search that fails costs tightness, never truth: the caller evaluates the theorem at whatever comes
back, so nothing here is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wane.arrays import Array

Objective = Callable[[Array], float]

_HOPELESS = 1e4  # stands for an infinite logarithm, which the simplex cannot order


def log_or_worst(value: float) -> float:
    """ln(value), with a finite stand-in for infinity."""
    return math.log(value) if 0.0 < value < math.inf else _HOPELESS


def descend(
    objective: Objective, start: Array, *, evaluations: int, width: float = 0.5
) -> tuple[float, Array]:
    """Return the least value met by one simplex search from `start`, and where."""
    from scipy.optimize import minimize  # slow to load, and seldom needed

    simplex = np.vstack([start, start + width * np.eye(len(start))])
    found = minimize(
        objective,
        start,
        method="Nelder-Mead",
        options={
            "maxfev": evaluations,
            "xatol": 1e-3,
            "fatol": 1e-6,
            "initial_simplex": simplex,
            "adaptive": True,
        },
    )
    return float(found.fun), np.asarray(found.x)


def minimise(
    objective: Objective,
    starts: Sequence[Array],
    *,
    keep: int = 2,
    evaluations: int = 600,
    restarts: int = 2,
) -> tuple[float, Array]:
    """The least value met from the best `keep` starts, each search restarted where it ended."""
    ranked = sorted(((objective(z), i) for i, z in enumerate(starts)), key=lambda pair: pair[0])
    best = (ranked[0][0], starts[ranked[0][1]])
    if best[0] >= _HOPELESS:
        return best  # a simplex cannot leave a plain
    for value, place in ranked[:keep]:
        current = (value, starts[place])
        for _ in range(1 + restarts):
            found = descend(objective, current[1], evaluations=evaluations)
            improved = current[0] - found[0]
            current = min(current, found, key=lambda pair: pair[0])
            if improved < 1e-5:
                break
        best = min(best, current, key=lambda pair: pair[0])
    return best


def least(bound: Callable[[Array], float], starts: list[Array]) -> tuple[float, Array]:
    """Return the bound at the best point met, and the point."""
    _, point = minimise(lambda z: log_or_worst(bound(z)), starts, keep=2)
    return bound(point), point


@dataclass(frozen=True)
class Found:
    """A bound, and the free parameters it was evaluated at."""

    value: float
    parameters: Mapping[str, float]

    def __post_init__(self) -> None:
        """Refuse what is not a number, which bounds nothing."""
        if math.isnan(self.value):
            raise FloatingPointError("the bound is not a number")


@dataclass(frozen=True)
class Coordinate:
    """How a free parameter is written as a real number without bounds, and back."""

    name: str
    to_real: Callable[[float], float]
    from_real: Callable[[float], float]


def positive_from(z: float) -> float:
    """Return e^z, within the range of doubles."""
    return math.exp(min(max(z, -40.0), 40.0))


def above_one(name: str) -> Coordinate:
    """Return the coordinate of a parameter in (1, inf)."""
    return Coordinate(name, lambda v: math.log(v - 1.0), lambda z: 1.0 + positive_from(z))


def positive(name: str) -> Coordinate:
    """Return the coordinate of a parameter in (0, inf)."""
    return Coordinate(name, math.log, positive_from)


def share(name: str) -> Coordinate:
    """Return the coordinate of a parameter in (0, 1)."""
    return Coordinate(
        name, lambda v: math.log(v / (1.0 - v)), lambda z: 1.0 / (1.0 + positive_from(-z))
    )


def encode(coordinates: tuple[Coordinate, ...], values: Mapping[str, float]) -> Array:
    """Return the point of these values, where a search may start."""
    return np.array([c.to_real(values[c.name]) for c in coordinates])


def decode(coordinates: tuple[Coordinate, ...], point: Array) -> dict[str, float]:
    """Return the parameters at a point."""
    return {c.name: c.from_real(z) for c, z in zip(coordinates, point.tolist(), strict=True)}
