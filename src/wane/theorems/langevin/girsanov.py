"""Overdamped Langevin against the continuous diffusion from the same start.

Girsanov's theorem without conditioning: nothing is lost to rare events.  Statement and proof:
docs/proofs/langevin-discretisation.md.  Each bound is taken at the best free parameters that a
search finds; what is returned is the bound there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial

from wane.describe.chain import Direction
from wane.numerics.rounding import inflate
from wane.numerics.search import (
    Found,
    above_one,
    decode,
    encode,
    grid,
    least,
    log_or_worst,
    minimise,
    positive,
    share,
)
from wane.theorems.lemmas.letters import (
    LEAST_ORDER,
    Letters,
    girsanov_price,
    log_moment,
    log_moment_of_normal,
    minus_log_cos,
)
from wane.theorems.lemmas.shifted_girsanov import Free, Grouping, ShiftedGirsanov

_ROUNDING = 1e-13


def largest_variance(x: Letters) -> float:
    """Return a bound on the variance of each coordinate of the diffusion at any time."""
    heat = x.s0 + 2.0 * x.N * x.eta
    return min(max(x.s0, 1.0 / x.m), heat) if x.m > 0.0 else heat


def convex_divergence(
    x: Letters, direction: Direction, order: float, *, q1: float, q2: float, u3: float
) -> float:
    """Return the divergence from the diffusion of a convex potential, at these free parameters.

    Claim.  (order-1) D <= -(N d/(2 q1)) ln cos th - (d/(2 q2)) ln(1 - 2 r v) + r r0^2/(q2 (1 - 2 r
    v)), r = (q2/q1) W L^2, W = N lp L^2 eta^3/(3 u3), th = 2 L eta sqrt(lp/(1-u3)), lp = q1 lam.
    """
    rest = 1.0 - 1.0 / q1 - 1.0 / q2
    if not (min(q1, q2) > 1.0 and rest > 0.0 and 0.0 < u3 < 1.0) or math.isinf(x.r0):
        return math.inf
    price = inflate(q1 * 0.5 * girsanov_price(direction, 1.0 / rest, order), _ROUNDING)
    within, moved = _one_step(x, price, u3)
    rate = q2 / q1 * x.N * moved * x.L**2
    spread = log_moment_of_normal(
        inflate(rate, _ROUNDING), d=x.d, variance=largest_variance(x), offset=x.r0
    )
    return inflate((x.N * within / q1 + spread / q2) / (order - 1.0), _ROUNDING)


def lipschitz_divergence(
    x: Letters, direction: Direction, order: float, *, q1: float, u3: float
) -> float:
    """Return the divergence from the diffusion where the gradient is bounded, from any start.

    Claim.  As for convex potentials with p = q1/(q1 - 1), the last terms replaced by W B^2/q1.
    """
    if not (q1 > 1.0 and 0.0 < u3 < 1.0):
        return math.inf
    price = inflate(q1 * 0.5 * girsanov_price(direction, q1 / (q1 - 1.0), order), _ROUNDING)
    within, moved = _one_step(x, price, u3)
    return inflate(x.N * (within + moved * x.B**2) / q1 / (order - 1.0), _ROUNDING)


def _one_step(x: Letters, price: float, u3: float) -> tuple[float, float]:
    """Return the price of the noise within one step, and the factor of the squared gradient."""
    angle = 2.0 * x.L * x.eta * math.sqrt(price / (1.0 - u3))
    return 0.5 * x.d * minus_log_cos(inflate(angle, _ROUNDING)), price * x.L**2 * x.eta**3 / (
        3.0 * u3
    )


def mixing_divergence(
    order: float, *, d: int, m: float, time: float, variance: float, offset: float
) -> float:
    """Return the diffusion's divergence from its target after `time`, in either direction.

    Claim.  ln E exp(r |e|^2)/(order-1) with r = order (order-1) m/(2 (exp(2 m time) - 1)) and |e|
    at most `offset` plus the norm of N(0, (variance + 1/m) I); for order one the mean of r |e|^2
    over order - 1.
    """
    if not m > 0.0 or math.isinf(offset):
        return math.inf
    spread = variance + 1.0 / m
    grown = 2.0 * m * time
    per_square = m / (2.0 * math.expm1(min(grown, 700.0)))  # a shorter time is valid
    if order == 1.0:
        return inflate(per_square * (math.sqrt(d * spread) + offset) ** 2, _ROUNDING)
    rate = inflate(order * (order - 1.0) * per_square, _ROUNDING)
    moment = log_moment(rate, d=d, variance=spread, offset=offset)
    return inflate(moment / (order - 1.0), _ROUNDING)


def weak_triangle(order: float, exponent: float, first: float, second: float) -> float:
    """D_a(P||R) <= (a - 1/p)/(a - 1) D_pa(P||Q) + D_b(Q||R), b = q (a - 1/p), 1/p + 1/q = 1."""
    return inflate((order - 1.0 / exponent) / (order - 1.0) * first + second, 1e-15)


def triangle_orders(order: float, exponent: float) -> tuple[float, float]:
    """Return the two orders at which `weak_triangle` needs the divergences."""
    conjugate = exponent / (exponent - 1.0)
    return exponent * order, conjugate * (order - 1.0 / exponent)


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
    coordinates = (*EXPONENTS, share("u3"))
    bound = partial(convex_divergence, x, direction, max(order, LEAST_ORDER))
    starts = grid(coordinates, (3.0, 20.0, 200.0, 4000.0), (3.0, 20.0, 200.0, 4000.0), (0.01, 0.1))
    return least(bound, partial(decode, coordinates), starts)


def lipschitz(x: Letters, direction: Direction, order: float) -> Found:
    """Return the least bound found on the discretisation error where the gradient is bounded."""
    coordinates = (above_one("q1"), share("u3"))
    bound = partial(lipschitz_divergence, x, direction, max(order, LEAST_ORDER))
    starts = grid(coordinates, (2.0, 20.0, 400.0), (0.01, 0.1))
    return least(bound, partial(decode, coordinates), starts)


def triangle(x: Letters, direction: Direction, order: float) -> Found:
    """Discretisation error and continuous mixing, joined by the weak triangle inequality."""
    order = max(order, LEAST_ORDER)
    coordinates = (above_one("p"), *EXPONENTS, share("u3"))

    def bound(p: float, **values: float) -> float:
        near, far = triangle_orders(order, p)
        if direction is Direction.REFERENCE_FIRST:  # target, diffusion, chain: mixing comes first
            near, far = far, near
        error = convex_divergence(x, direction, near, **values)
        mixing = mixing_divergence(
            far, d=x.d, m=x.m, time=x.N * x.eta * (1.0 - 1e-15), variance=x.s0, offset=x.r0
        )
        pair = (error, mixing) if direction is Direction.CHAIN_FIRST else (mixing, error)
        return weak_triangle(order, p, *pair)

    starts = [
        encode(coordinates, {"p": p, "q1": q, "q2": q, "u3": u})
        for p in (1.1, 1.5, 3.0)
        for q in (4.0, 20.0, 200.0, 2000.0)
        for u in (0.01, 0.1)
    ]
    return least(bound, partial(decode, coordinates), starts)
