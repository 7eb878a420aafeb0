"""Overdamped Langevin against the continuous diffusion from the same start.

Girsanov's theorem without conditioning: nothing is lost to rare events.  Statement and proof:
docs/proofs/langevin-discretisation.md.
"""

from __future__ import annotations

import math

from wane.describe.distance import Direction
from wane.numerics.rounding import inflate
from wane.theorems.lemmas.letters import Letters
from wane.theorems.lemmas.moments import (
    girsanov_price,
    log_moment,
    log_moment_of_normal,
    minus_log_cos,
)

_UP = 1e-13


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
    price = inflate(q1 * 0.5 * girsanov_price(direction, 1.0 / rest, order), _UP)
    within, moved = _one_step(x, price, u3)
    rate = q2 / q1 * x.N * moved * x.L**2
    spread = log_moment_of_normal(
        inflate(rate, _UP), d=x.d, variance=largest_variance(x), offset=x.r0
    )
    return inflate((x.N * within / q1 + spread / q2) / (order - 1.0), _UP)


def lipschitz_divergence(
    x: Letters, direction: Direction, order: float, *, q1: float, u3: float
) -> float:
    """Return the divergence from the diffusion where the gradient is bounded, from any start.

    Claim.  As for convex potentials with p = q1/(q1 - 1), the last terms replaced by W B^2/q1.
    """
    if not (q1 > 1.0 and 0.0 < u3 < 1.0):
        return math.inf
    price = inflate(q1 * 0.5 * girsanov_price(direction, q1 / (q1 - 1.0), order), _UP)
    within, moved = _one_step(x, price, u3)
    return inflate(x.N * (within + moved * x.B**2) / q1 / (order - 1.0), _UP)


def _one_step(x: Letters, price: float, u3: float) -> tuple[float, float]:
    """Return the price of the noise within one step, and the factor of the squared gradient."""
    angle = 2.0 * x.L * x.eta * math.sqrt(price / (1.0 - u3))
    return 0.5 * x.d * minus_log_cos(inflate(angle, _UP)), price * x.L**2 * x.eta**3 / (3.0 * u3)


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
        return inflate(per_square * (math.sqrt(d * spread) + offset) ** 2, _UP)
    rate = inflate(order * (order - 1.0) * per_square, _UP)
    moment = log_moment(rate, d=d, variance=spread, offset=offset)
    return inflate(moment / (order - 1.0), _UP)


def weak_triangle(order: float, exponent: float, first: float, second: float) -> float:
    """D_a(P||R) <= (a - 1/p)/(a - 1) D_pa(P||Q) + D_b(Q||R), b = q (a - 1/p), 1/p + 1/q = 1."""
    return inflate((order - 1.0 / exponent) / (order - 1.0) * first + second, 1e-15)


def triangle_orders(order: float, exponent: float) -> tuple[float, float]:
    """Return the two orders at which `weak_triangle` needs the divergences."""
    conjugate = exponent / (exponent - 1.0)
    return exponent * order, conjugate * (order - 1.0 / exponent)
