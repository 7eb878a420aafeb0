"""Divergences of two discrete laws from their log masses, and of two Gaussians in closed form.

Cutting the outcome space into cells is post-processing, so the divergences of cell masses never
exceed those of the laws they came from: they err on the low side only.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, logsumexp

from wane.arrays import Array
from wane.errors import InvalidDescription

SMALL = 0.05
"""Below this value of log E exp the first-order terms are removed before summing."""

SERIES = 0.1
SERIES_TERMS = 14


def check_order(order: float) -> None:
    """Refuse Renyi orders that are not finite and above one."""
    if not 1.0 < order < math.inf:
        raise InvalidDescription(f"a Renyi order must be finite and above 1, got {order}")


def renyi_of_masses(log_first: Array, log_second: Array, order: float) -> float:
    """Return the Renyi divergence of two discrete laws, to relative precision even when tiny."""
    check_order(order)
    first, second = np.asarray(log_first, float), np.asarray(log_second, float)
    live = first > -np.inf
    if np.any(np.isneginf(second[live])):
        return math.inf
    total = float(logsumexp(order * first[live] + (1.0 - order) * second[live]))
    if total < SMALL:
        total = math.log1p(_excess(first, second, order))
    return max(0.0, total / (order - 1.0))


def _excess(first: Array, second: Array, order: float) -> float:
    """Return the sum of p^a q^(1-a) - a p - (1-a) q, whose terms are >= 0, so that nothing cancels.

    It equals E exp - 1 because both laws have mass one; errors of the masses enter only in the
    second order.
    """
    support = second > -np.inf
    p, q = first[support], second[support]
    ratio = p - q
    with np.errstate(over="ignore", invalid="ignore"):
        direct = np.exp(order * p + (1.0 - order) * q) - order * np.exp(p)
        direct += (order - 1.0) * np.exp(q)
    near = np.abs(order * ratio) < SERIES
    t = np.where(near, ratio, 0.0)
    series, power = np.zeros_like(t), np.ones_like(t) * t
    factorial = 1.0
    for k in range(2, SERIES_TERMS):
        power = power * t
        factorial *= k
        series += (order**k - order) * power / factorial
    return float(np.sum(np.where(near, np.exp(q) * series, direct)))


def hockey_stick_of_masses(log_first: Array, log_second: Array, epsilon: float) -> float:
    """Return the smallest delta for which the first law is (epsilon, delta)-close to the second."""
    first, second = np.asarray(log_first, float), np.asarray(log_second, float)
    live = first > -np.inf
    margin = epsilon + second[live] - first[live]
    # p - e^eps q = -p expm1(eps - log(p/q)): no cancellation, no overflow, for any ratio.
    return float(np.sum(-np.exp(first[live]) * np.expm1(np.minimum(margin, 0.0))))


def gaussian_hockey_stick(mu: float, epsilon: float) -> float:
    """Return the exact delta(epsilon) of N(mu, 1) against N(0, 1)."""
    if mu <= 0.0:
        return max(0.0, -math.expm1(epsilon))
    high = float(log_ndtr(0.5 * mu - epsilon / mu))
    low = epsilon + float(log_ndtr(-0.5 * mu - epsilon / mu))
    return -math.exp(high) * math.expm1(min(0.0, low - high))


def gaussian_renyi(mu: float, order: float) -> float:
    """Return the exact Renyi divergence of N(mu, 1) from N(0, 1)."""
    check_order(order)
    return 0.5 * order * mu * mu
