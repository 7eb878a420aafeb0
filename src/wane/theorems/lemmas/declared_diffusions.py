"""Gaussian privacy of the chain of a diffusion of one's own, from its declared constants."""

from __future__ import annotations

import math

import numpy as np

from wane.describe.declared_diffusion import LARGEST_NOISE, UNIT, DeclaredDiffusion
from wane.errors import NoTheoremApplies, Unreachable
from wane.numerics.rounding import inflate
from wane.numerics.search import smallest_integer_satisfying
from wane.theorems.lemmas.noisy_chains import (
    constant_chain,
    drift_contraction,
    gradient_contraction,
)

MOST_STEPS = 10**6


def position_mu(process: DeclaredDiffusion, time: float) -> float:
    """Return the Gaussian DP parameter of the end of the chain at a time, rounded up.

    Claim.  mu^2 = (D/s)^2 c^r (1 - c)/(1 - c^r) and the charge for roundings, D the sensitivity or
    the diameter of the box if that is less, c the square of `step_lipschitz`: keeping positions in
    the box moves no two of them apart.
    """
    _require_declared(process)
    steps, eta = process.cut(time)
    std = process.std_of(eta) * (1.0 - 8.0 * UNIT)
    exact = constant_chain(
        _distance(process), steps=steps, lipschitz=step_lipschitz(process, eta), noise_std=std
    )
    charge = _rounding_charge(process, eta, std) * math.sqrt(steps)
    return inflate(exact.mu + charge, 16.0 * UNIT)


def step_lipschitz(process: DeclaredDiffusion, eta: float) -> float:
    """Return how far x + eta drift(x) may move two points apart, as a factor, rounded up.

    Claim.  max(|1 - eta kappa|, |1 - eta L|) for a gradient, sqrt(1 - 2 eta kappa + eta^2 L^2) for
    any other drift.
    """
    slope, kappa = process.drift_lipschitz, process.least_contraction
    assert slope is not None and kappa is not None
    if process.is_gradient:
        return gradient_contraction(eta, strong_convexity=kappa, smoothness=slope)
    return drift_contraction(eta, contraction=kappa, lipschitz=slope)


def time_for(process: DeclaredDiffusion, mu: float) -> float:
    """Return the least number of steps found that meets a mu, times the size of a step."""
    _require_declared(process)
    eta = process.step_size

    def meets(steps: int) -> bool:
        made = process.at(steps * eta)
        return max(position_mu(made, made.time), position_mu(process, steps * eta)) <= mu

    try:
        return smallest_integer_satisfying(meets, 1, MOST_STEPS) * eta
    except Unreachable:
        left = position_mu(process, MOST_STEPS * eta)
    raise Unreachable(
        f"mu = {mu:g} is not met within {MOST_STEPS:g} steps, after which it is {left:g}; take "
        "larger steps, more spread, or a drift that brings positions together"
    )


def _distance(process: DeclaredDiffusion) -> float:
    """How far apart two statistics may be: both lie in the box."""
    low, high = process.corners
    return min(process.sensitivity, math.hypot(*(high - low).tolist()) * (1.0 + 4.0 * UNIT))


def _rounding_charge(process: DeclaredDiffusion, eta: float, std: float) -> float:
    """What the roundings of one step may add to the payment of that step, in deviations.

    A step is off by at most e = 32 u sqrt(d) M, M the largest number in it; two chains are then 2 e
    farther apart, which is paid for at once: 2 e/s.
    """
    low, high = process.corners
    slope, start = process.drift_lipschitz, process.drift_at_centre
    assert slope is not None and start is not None
    widths = high - low
    pull = eta * (start + slope * math.hypot(*widths.tolist()))
    size = float(np.max(np.abs([low, high])))
    if process.low is not None:  # mirrors are placed by dividing by the width
        size += 3.0 * float(np.max(widths))
    return 64.0 * UNIT * math.sqrt(process.size) * (size + pull + LARGEST_NOISE * std) / std


def _require_declared(process: DeclaredDiffusion) -> None:
    for name in missing(process):
        raise NoTheoremApplies(
            f"{name} must be declared for a guarantee, got None; values of drift and spread at "
            "points prove nothing about what lies between them"
        )
    if process.constant_spread is None:
        raise NoTheoremApplies(
            f"spread_lipschitz must be 0 (a constant spread) for a guarantee, got "
            f"{process.spread_lipschitz:g}; change the coordinate so that the spread is constant"
        )


def missing(process: DeclaredDiffusion) -> list[str]:
    """Return the names of the constants that a guarantee needs and nobody declared."""
    needed = ["drift_lipschitz", "drift_at_centre"]
    if callable(process.spread):
        needed.append("spread_lipschitz")
    return [name for name in needed if getattr(process, name) is None]
