"""Decide whether a bound supports a claimed number; find the smallest number that it supports."""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb

from wane.balls.arithmetic import as_float_up, ball, top
from wane.balls.bounds import Bound, Concentrated, Gaussian
from wane.verify.claims import Claim, Quantity


def supports(bound: Bound, claim: Claim) -> bool:
    """Return whether the bound is certainly at most the claim, which is not of a power."""
    value, at = ball(claim.value), ball(claim.at)
    if claim.quantity is Quantity.EPSILON:
        return bound.proves(value, at)
    if claim.quantity is Quantity.ZCDP:
        rho = _rho(bound)
        return rho is not None and bool(rho <= value)
    return isinstance(bound, Gaussian) and bool(bound.mu <= value)


def proven(bound: Bound, claim: Claim) -> float | None:
    """Return nearly the smallest number that the bound supports in the claim's place."""
    if claim.quantity is Quantity.EPSILON:
        return _least_epsilon(bound, claim)
    if claim.quantity is Quantity.POWER:
        return as_float_up(bound.power(claim.at))
    if claim.quantity is Quantity.ZCDP:
        rho = _rho(bound)
        return None if rho is None else as_float_up(rho)
    return as_float_up(bound.mu) if isinstance(bound, Gaussian) else None


def _rho(bound: Bound) -> arb | None:
    """Return an exact upper bound on the rho of zero-concentrated privacy, where there is one."""
    if isinstance(bound, Concentrated):
        return bound.rho
    return top(bound.mu_squared / 2) if isinstance(bound, Gaussian) else None


def _least_epsilon(bound: Bound, claim: Claim) -> float:
    """Return the least supported epsilon to 1e-12, relatively, or to 1e-5 for a coarse bound."""
    at = ball(claim.at)

    def enough(epsilon: float) -> bool:
        return bool(top(bound.delta(ball(epsilon))) <= at)

    low, high = 0.0, claim.value
    if bound.tight and enough(0.0):
        return 0.0
    if enough(high):
        low, high = _stepped_down(enough, high, 1e-9 if bound.tight else 1e-5)
    else:
        low, high = high, max(2.0 * high, 1e-300)
        while not enough(high):
            low, high = high, 4.0 * high
            if math.isinf(high):
                return math.inf
    while high - low > (1e-12 if bound.tight else 1e-5) * high:
        middle = low + (high - low) / 2.0 if low > 0.1 * high else max(high / 8.0, low)
        if not low < middle < high:
            break
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _stepped_down(
    enough: Callable[[float], bool], epsilon: float, step: float
) -> tuple[float, float]:
    """Return the first of ever longer steps down that goes too far, and the one before.

    Near the claim what is asked is what was just computed; far below it, grids are made anew.
    """
    while step < 1.0:
        below = epsilon * (1.0 - step)
        if not enough(below):
            return below, epsilon
        epsilon, step = below, 8.0 * step
    return (0.0, 0.0) if enough(0.0) else (0.0, epsilon)
