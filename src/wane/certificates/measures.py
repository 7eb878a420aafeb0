"""Questions to a guarantee whose answer may leave the range of doubles: then it claims nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from wane import arguments
from wane.guarantees import GaussianDP, Guarantee, RenyiDP
from wane.guarantees.renyi import LinearCurve

DEFAULT_DELTA = 1e-5
"""Where a best theorem must be named and nobody said at which delta."""


def gaussian_mu_of(guarantee: Guarantee) -> float | None:
    """Return mu if the guarantee is a Gaussian one."""
    return guarantee.mu if isinstance(guarantee, GaussianDP) else None


def zcdp_of(guarantee: Guarantee) -> float | None:
    """Return the rho of zero-concentrated DP, if every order's divergence is rho times it."""
    linear = isinstance(guarantee, RenyiDP) and isinstance(guarantee.curve, LinearCurve)
    return guarantee.renyi(2.0) / 2.0 if isinstance(guarantee, GaussianDP) or linear else None


def epsilon_of(guarantee: Guarantee, delta: float) -> float:
    """Return a guarantee's epsilon at `delta`; infinite where its computation has no answer."""
    arguments.real("delta", delta, least=0.0, most=1.0)
    return in_range(guarantee.epsilon, delta)


def power_of(guarantee: Guarantee, false_positive_rate: float) -> float:
    """Return a bound on the true-positive rate; one where its computation has no answer."""
    return min(in_range(guarantee.true_positive_rate, false_positive_rate), 1.0)


def in_range(measure: Callable[[float], float], at: float) -> float:
    """Return the measure at this place; infinity if it overflows or is not a number."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            value = measure(at)
    except ArithmeticError:
        return math.inf
    return math.inf if math.isnan(value) else value
