"""The few special functions of the distance bounds, accurate where they are small."""

from __future__ import annotations

import math

from wane.describe.chain import Direction

_DIRECT = 300
"""Up to this dimension the gamma functions neither overflow nor cancel."""


def chi_mean(dimension: int) -> float:
    """Return the mean norm of a standard normal vector, sqrt(2) Gamma((d+1)/2)/Gamma(d/2)."""
    x = 0.5 * dimension
    if dimension <= _DIRECT:
        return math.sqrt(2.0) * math.gamma(x + 0.5) / math.gamma(x)
    tail = 5.0 / 1024.0 - 21.0 / (32768.0 * x)
    return math.sqrt(2.0 * x) * (1.0 - (0.125 - (1.0 / 128.0 + tail / x) / x) / x)


def minus_log_cos(angle: float) -> float:
    """Return -ln cos(angle), infinite from pi/2 on."""
    if angle >= 0.5 * math.pi:
        return math.inf
    square = angle * angle
    if angle < 1e-4:
        return square * (0.5 + square * (1.0 / 12.0 + square / 45.0))
    if angle > 1.0:  # the sine's square would lose the digits that the cosine keeps
        return -math.log(math.cos(angle))
    return -0.5 * math.log1p(-(math.sin(angle) ** 2))


def minus_log_one_minus(x: float) -> float:
    """Return -ln(1 - x), infinite from one on."""
    return -math.log1p(-x) if x < 1.0 else math.inf


def log_moment(rate: float, *, d: int, variance: float, offset: float) -> float:
    """Bound ln E exp(rate |e|^2) for |e| at most `offset` plus the norm of N(0, variance I).

    |e|^2 <= |normal|^2/w + offset^2/(1-w) for every w in (0, 1); the w used is the minimiser.
    """
    v = 2.0 * rate * variance
    if v >= 1.0:
        return math.inf
    if offset == 0.0 or rate == 0.0:
        return 0.5 * d * minus_log_one_minus(v)
    if v == 0.0:
        return rate * offset * offset
    P, Q = rate * offset * offset, 0.5 * d * v
    b, root = 2.0 * Q - P * v, math.sqrt((P * v) ** 2 + 4.0 * P * Q * (1.0 - v))
    w = 2.0 * Q / (b + root) if b > 0.0 else (root - b) / (2.0 * (P - Q))
    if not v < w < 1.0:
        w = 0.5 * (v + 1.0)
    return 0.5 * d * minus_log_one_minus(v / w) + P / (1.0 - w)


def log_moment_of_normal(rate: float, *, d: int, variance: float, offset: float) -> float:
    """Return ln E exp(rate |N(offset, variance I)|^2), infinite where it does not exist."""
    left = 1.0 - 2.0 * rate * variance
    if left <= 0.0:
        return math.inf
    return 0.5 * d * minus_log_one_minus(2.0 * rate * variance) + rate * offset**2 / left


LEAST_ORDER = 1.01
"""Below it a divergence is bounded by that of this order: divergences grow with the order."""


def girsanov_price(direction: Direction, exponent: float, order: float) -> float:
    """The factor lam of step 2 of the proofs: E L^order <= E^(1/q) exp(q lam int |u|^2), q' = p.

    (dP/dQ)^a = [exp(-a int u dB - (p a^2/2) int |u|^2)] exp(lam int |u|^2), and the p-th moment of
    the bracket is at most one.  With the reference first the power is 1 - a.
    """
    power = order if direction is Direction.CHAIN_FIRST else 1.0 - order
    return 0.5 * power * math.fsum((exponent * power, -1.0))
