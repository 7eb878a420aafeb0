"""Each bound at the best free parameters a search finds; what is returned is the bound there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

from wane.arrays import Array
from wane.describe.distance import Direction
from wane.theorems.langevin import girsanov
from wane.theorems.lemmas.free_parameters import (
    Found,
    above_one,
    decode,
    encode,
    least,
    log_or_worst,
    minimise,
    positive,
    share,
)
from wane.theorems.lemmas.letters import Letters
from wane.theorems.lemmas.moments import LEAST_ORDER, girsanov_price
from wane.theorems.lemmas.shifted_girsanov import Free, Grouping, ShiftedGirsanov

ROUGH = Grouping(16, 0.1)
"""The grouping of steps while searching."""
FINE = Grouping(32, 0.02)
"""The grouping of steps at the end: within one in a thousand of every step by itself."""
EFFORT = 600
"""Evaluations of a bound in one descent; fewer give a looser bound sooner."""


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


def shifted(x: Letters, direction: Direction, order: float, effort: int = EFFORT) -> Found:
    """Return the least shifted Girsanov bound found, for an order above one."""
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
    """Return the least bound found on the relative entropy of the target from the chain."""
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
    """Return the least bound found on the discretisation error of a convex potential."""
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

    value, point = least(bound, starts)
    return Found(value, decode(coordinates, point))


def lipschitz(x: Letters, direction: Direction, order: float) -> Found:
    """Return the least bound found on the discretisation error where the gradient is bounded."""
    order = max(order, LEAST_ORDER)
    coordinates = (above_one("q1"), share("u3"))
    starts = [
        encode(coordinates, {"q1": a, "u3": u}) for a in (2.0, 20.0, 400.0) for u in (0.01, 0.1)
    ]

    def bound(z: Array) -> float:
        return girsanov.lipschitz_divergence(x, direction, order, **decode(coordinates, z))

    value, point = least(bound, starts)
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
    value, point = least(bound, starts)
    return Found(value, decode(coordinates, point))
