"""The noise that a linear diffusion adds to its start, with a proven error.

dX = -Q X dt + sqrt(2) C^(1/2) dW from x is at time t the point e^(-Q t) (x + N(0, T)), with

    T = 2 times the integral over 0 < u < t of e^(Q u) C e^(Q' u).

For a diagonal Q every entry has a closed form; otherwise T is found for a short time by its power
series and doubled, T(2 h) = T(h) + e^(Q h) T(h) e^(Q' h), while the error is followed in the norm
of the largest row sum.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from wane.arrays import Array
from wane.numerics.semidefinite import UNIT, Uncertain

_TERMS = 24


def added_noise(reversion: Array, covariance: Array, time: float) -> Uncertain:
    """Return the covariance T of the noise in the units of the start; infinite if it overflows."""
    if np.count_nonzero(reversion - np.diag(np.diag(reversion))) == 0:
        return _by_entries(np.diag(reversion), covariance, time)
    return _by_doubling(reversion, covariance, time)


def transition(reversion: Array, time: float) -> Array:
    """Return e^(-Q t), to rounding: it multiplies what is private already."""
    if np.count_nonzero(reversion - np.diag(np.diag(reversion))) == 0:
        return np.diag(np.exp(-np.diag(reversion) * time))
    return np.asarray(linalg.expm(-reversion * time))


def one_minus_transition(reversion: Array, time: float) -> Array:
    """Return I - e^(-Q t) without cancellation where it is small."""
    if np.count_nonzero(reversion - np.diag(np.diag(reversion))) == 0:
        return np.diag(-np.expm1(-np.diag(reversion) * time))
    return np.eye(reversion.shape[0]) - transition(reversion, time)


def _by_entries(rates: Array, covariance: Array, time: float) -> Uncertain:
    """Entry i, j is 2 C_ij (e^(s t) - 1)/s with s = rate_i + rate_j."""
    sums = rates[:, None] + rates[None, :]
    x = sums * time
    with np.errstate(all="ignore"):
        grown = np.where(x == 0.0, 1.0, np.expm1(x) / np.where(x == 0.0, 1.0, x))
        found = 2.0 * time * covariance * grown
    # What rounding changes in the exponent is relative to the two rates, which may cancel.
    size = (np.abs(rates)[:, None] + np.abs(rates)[None, :]) * time
    relative = UNIT * (16.0 + 4.0 * size)
    return Uncertain(found, np.abs(found) * relative + 1e-300)


def _by_doubling(reversion: Array, covariance: Array, time: float) -> Uncertain:
    size = reversion.shape[0]
    norm = max(_norm(reversion), _norm(reversion.T))
    doublings = max(0, math.frexp(4.0 * norm * time)[1])
    h = math.ldexp(time, -doublings)
    gamma = 1.1 * (size + 4) * UNIT
    growth, growth_error = _short_growth(reversion * h, gamma)
    noise, noise_error = _short_noise(reversion * h, covariance, h, gamma)
    with np.errstate(all="ignore"):
        for _ in range(doublings):
            b, c = _norm(growth), _norm(growth.T)
            t = _norm(noise)
            moved = growth @ noise @ growth.T
            wide, high, inner = b + growth_error, c + growth_error, t + noise_error
            # the error of each factor while the others are as large as they may be, and rounding
            noise_error = 1.001 * (
                noise_error
                + wide * high * noise_error
                + growth_error * inner * (wide + high)
                + 3.0 * gamma * max(wide * high, 1.0) * inner
            )
            noise = noise + moved
            noise = 0.5 * (noise + noise.T)
            most = max(wide, high)
            growth_error = 1.001 * (2.0 * growth_error * most + gamma * most * most)
            growth = growth @ growth
    return Uncertain(noise, np.full_like(noise, noise_error))


def _short_growth(step: Array, gamma: float) -> tuple[Array, float]:
    """e^step for a step of norm at most a quarter, and its error in both row and column sums."""
    term = total = np.eye(step.shape[0])
    for j in range(1, _TERMS):
        term = term @ step / j
        total = total + term
    return total, 8.0 * gamma + 1e-25


def _short_noise(step: Array, covariance: Array, h: float, gamma: float) -> tuple[Array, float]:
    """2 h times the sum of D_j/(j+1)!, D_0 = C, D_(j+1) = step D_j + D_j step'."""
    term, total = covariance, covariance.copy()
    for j in range(1, _TERMS):
        product = step @ term
        term = (product + product.T) / (j + 1.0)
        total = total + term
    found = 2.0 * h * total
    scale = 2.0 * h * _norm(covariance)
    return 0.5 * (found + found.T), (8.0 * gamma + 1e-25) * scale + 1e-300


def _norm(matrix: Array) -> float:
    return float(np.max(np.abs(matrix).sum(axis=1)))
