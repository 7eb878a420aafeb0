"""Each bound at the best free parameters a search finds; what is returned is the bound there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from wane.arrays import Array
from wane.describe.distance import Direction
from wane.numerics.roots import minimise_scalar_bounded
from wane.sampling.distance import girsanov
from wane.sampling.distance.kinetic import KineticFree, kinetic_discretisation, kinetic_divergence
from wane.sampling.distance.search import log_or_worst, minimise
from wane.sampling.distance.shifted_girsanov import Free, Grouping, ShiftedGirsanov
from wane.sampling.distance.special import LEAST_ORDER, girsanov_price
from wane.sampling.distance.standard import KineticLetters, Letters

ROUGH = Grouping(16, 0.1)
"""The grouping of steps while searching."""
FINE = Grouping(32, 0.02)
"""The grouping of steps at the end: within one in a thousand of every step by itself."""
EFFORT = 600
"""Evaluations of a bound in one descent; fewer give a looser bound sooner."""


@dataclass(frozen=True)
class Found:
    """A bound, and the free parameters it was evaluated at."""

    value: float
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Coordinate:
    """How a free parameter is written as a real number without bounds, and back."""

    name: str
    to_real: Callable[[float], float]
    from_real: Callable[[float], float]


def _exp(z: float) -> float:
    return math.exp(min(max(z, -40.0), 40.0))


def above_one(name: str) -> Coordinate:
    """A parameter in (1, inf)."""
    return Coordinate(name, lambda v: math.log(v - 1.0), lambda z: 1.0 + _exp(z))


def positive(name: str) -> Coordinate:
    """A parameter in (0, inf)."""
    return Coordinate(name, math.log, _exp)


def share(name: str) -> Coordinate:
    """A parameter in (0, 1)."""
    return Coordinate(name, lambda v: math.log(v / (1.0 - v)), lambda z: 1.0 / (1.0 + _exp(-z)))


EXPONENTS = (above_one("q1"), above_one("q2"))
SHIFTED = (
    positive("k1"),
    above_one("s"),
    share("u3"),
    positive("chi"),
    positive("distance_scale"),
    positive("nu"),
    positive("gm"),
)


def encode(coordinates: tuple[Coordinate, ...], values: Mapping[str, float]) -> Array:
    """The point at which a search may start."""
    return np.array([c.to_real(values[c.name]) for c in coordinates])


def decode(coordinates: tuple[Coordinate, ...], point: Array) -> dict[str, float]:
    """The parameters at a point."""
    return {c.name: c.from_real(z) for c, z in zip(coordinates, point.tolist(), strict=True)}


def shifted(x: Letters, direction: Direction, order: float, effort: int = EFFORT) -> Found:
    """The shifted Girsanov bound of order above one."""
    order = max(order, LEAST_ORDER)
    coordinates = (*EXPONENTS, *SHIFTED)

    def bound(at: ShiftedGirsanov, values: Mapping[str, float]) -> float:
        free = Free(**values)
        if not free.admissible:
            return math.inf
        price = 0.5 * girsanov_price(direction, free.p, order)
        return at.divergence(price, free) / (order - 1.0) * (1.0 + 1e-15)

    rough = ShiftedGirsanov(x, ROUGH)
    starts = [
        encode(coordinates, asdict(Free(q1=a, q2=b, u3=u)))
        for a in (2.1, 3.0, 6.0, 20.0, 80.0, 400.0, 4000.0)
        for b in (2.1, 3.0, 8.0, 30.0, 200.0, 4000.0)
        for u in (0.1, 0.5)
    ]
    _, point = minimise(
        lambda z: log_or_worst(bound(rough, decode(coordinates, z))),
        starts,
        keep=1,
        evaluations=effort,
    )
    values = decode(coordinates, point)
    return Found(min(bound(rough, values), bound(ShiftedGirsanov(x, FINE), values)), values)


def shifted_entropy(x: Letters, effort: int = EFFORT) -> Found:
    """The Kullback-Leibler divergence of the target from the chain."""
    rough = ShiftedGirsanov(x, ROUGH)
    _, point = minimise(
        lambda z: log_or_worst(rough.relative_entropy(Free(**decode(SHIFTED, z)))),
        [encode(SHIFTED, asdict(Free()))],
        keep=1,
        evaluations=effort,
    )
    values = decode(SHIFTED, point)
    free = Free(**values)
    fine = ShiftedGirsanov(x, FINE)
    return Found(min(rough.relative_entropy(free), fine.relative_entropy(free)), values)


def convex(x: Letters, direction: Direction, order: float) -> Found:
    """The discretisation error of a convex potential."""
    order = max(order, LEAST_ORDER)
    coordinates = (*EXPONENTS, share("u3"))
    starts = [
        encode(coordinates, {"q1": a, "q2": b, "u3": u})
        for a in (3.0, 20.0, 200.0, 4000.0)
        for b in (3.0, 20.0, 200.0, 4000.0)
        for u in (0.01, 0.1)
    ]

    def bound(z: Array) -> float:
        return girsanov.convex_divergence(x, direction, order, **decode(coordinates, z))

    value, point = _least(bound, starts)
    return Found(value, decode(coordinates, point))


def lipschitz(x: Letters, direction: Direction, order: float) -> Found:
    """The discretisation error of a potential with bounded gradient."""
    order = max(order, LEAST_ORDER)
    coordinates = (above_one("q1"), share("u3"))
    starts = [
        encode(coordinates, {"q1": a, "u3": u}) for a in (2.0, 20.0, 400.0) for u in (0.01, 0.1)
    ]

    def bound(z: Array) -> float:
        return girsanov.lipschitz_divergence(x, direction, order, **decode(coordinates, z))

    value, point = _least(bound, starts)
    return Found(value, decode(coordinates, point))


def triangle(x: Letters, direction: Direction, order: float) -> Found:
    """Discretisation error and continuous mixing, joined by the weak triangle inequality."""
    order = max(order, LEAST_ORDER)
    coordinates = (above_one("p"), *EXPONENTS, share("u3"))

    def bound(z: Array) -> float:
        values = decode(coordinates, z)
        p = values.pop("p")
        near, far = girsanov.triangle_orders(order, p)
        if direction is Direction.REFERENCE_FIRST:  # target, diffusion, chain: mixing comes first
            near, far = far, near
        error = girsanov.convex_divergence(x, direction, near, **values)
        mixing = girsanov.mixing_divergence(
            far, d=x.d, m=x.m, time=x.N * x.eta * (1.0 - 1e-15), variance=x.s0, offset=x.r0
        )
        pair = (error, mixing) if direction is Direction.CHAIN_FIRST else (mixing, error)
        return girsanov.weak_triangle(order, p, *pair)

    starts = [
        encode(coordinates, {"p": p, "q1": q, "q2": q, "u3": u})
        for p in (1.1, 1.5, 3.0)
        for q in (4.0, 20.0, 200.0, 2000.0)
        for u in (0.01, 0.1)
    ]
    value, point = _least(bound, starts)
    return Found(value, decode(coordinates, point))


def kinetic_free(x: KineticLetters, point: Array) -> KineticFree:
    """The underdamped parameters at a point: the window's log, the exponents, two shares."""
    window, q1, q2, a, b = point.tolist()
    shares = (_exp(a), _exp(b))
    total = 1.0 + sum(shares)
    return KineticFree(
        window=min(max(round(_exp(window)), 1), x.N),
        q1=1.0 + _exp(q1),
        q2=1.0 + _exp(q2),
        w_start=shares[0] / total,
        w_drift=shares[1] / total,
    )


def kinetic_starts(x: KineticLetters) -> list[Array]:
    """Usual places for `kinetic_free`: windows of a few friction times."""
    usual = max(1.0, min(float(x.N), 2.0 / (x.gam * x.eta)))
    return [
        np.array([math.log(usual * k), math.log(q), math.log(q * more), math.log(w), math.log(8.0)])
        for k in (0.3, 1.0, 3.0)
        for q in (1.5, 3.0, 10.0, 40.0, 300.0)
        for more in (1.0, 10.0)
        for w in (0.5, 0.02)
    ]


def kinetic(x: KineticLetters, direction: Direction, order: float) -> Found:
    """The underdamped certificate against the target."""
    order = max(order, LEAST_ORDER)

    def bound(z: Array) -> float:
        return kinetic_divergence(x, direction, order, kinetic_free(x, z))

    value, point = _least(bound, kinetic_starts(x))
    return Found(value, asdict(kinetic_free(x, point)))


def kinetic_error(x: KineticLetters, direction: Direction, order: float) -> Found:
    """The discretisation error of the underdamped chain."""
    order = max(order, LEAST_ORDER)

    def bound(z: float) -> float:
        return kinetic_discretisation(x, direction, order, 1.0 + _exp(z))

    z = minimise_scalar_bounded(lambda z: log_or_worst(bound(z)), -5.0, 15.0, steps=60)[0]
    return Found(bound(z), {"q": 1.0 + _exp(z)})


def _least(bound: Callable[[Array], float], starts: list[Array]) -> tuple[float, Array]:
    """The bound at the best point met, and the point."""
    _, point = minimise(lambda z: log_or_worst(bound(z)), starts, keep=2)
    return bound(point), point
