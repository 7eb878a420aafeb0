"""Bounds on the risk of other private methods for the same constants, to compare a plan with.

Both rivals need the exact minimiser, which a noisy run does not.  Both may add the ridge that suits
them best.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from wane.numerics.rounding import inflate
from wane.planning.problem import Problem

_RAISED = 1e-12
_GRID = 400


def output_perturbation_risk_of(problem: Problem, mu: float) -> float:
    """Return the risk of noise on the exact minimiser of the ridged loss, mu-private.

    Claim.  The least over rho >= 0 of M d (S/((m + rho) mu))^2/2 + rho R^2/4, or taking no step:
    the minimiser moves by S/(m + rho) at most, noise of mean zero adds M/2 times its square, and
    the ridge itself at most rho R^2/4 (docs/proofs/planning.md).
    """
    p = problem

    def risk(ridge: float) -> float:
        reach = p.sensitivity / ((p.strong_convexity + ridge) * mu)
        return 0.5 * p.smoothness * p.dimension * reach * reach + 0.25 * ridge * p.start_distance**2

    return min(_best_ridge(p, risk), p.no_step_risk)


def objective_perturbation_risk_at_best(problem: Problem, mu: float) -> float:
    """Return the least risk that the usual analysis of objective perturbation could give.

    Kind to the rival: its noise is taken for S/mu, since for linear losses no less will do, and the
    price of the curvature that it must add is left out.

    Claim.  The least over rho of d (S/mu)^2/(2 (m + rho)) + rho R^2/4, or taking no step.
    """
    p = problem
    noise = p.dimension * (p.sensitivity / mu) ** 2

    def risk(ridge: float) -> float:
        return 0.5 * noise / (p.strong_convexity + ridge) + 0.25 * ridge * p.start_distance**2

    return min(_best_ridge(p, risk), p.no_step_risk)


def _best_ridge(problem: Problem, risk: Callable[[float], float]) -> float:
    """Return the least risk over a grid of ridges."""
    least = 1e-12 * problem.smoothness
    most = 4.0 * problem.gradient_bound / problem.start_distance + 4.0 * problem.smoothness
    grown = (most / least) ** (1.0 / _GRID)
    tried = [least * grown**i for i in range(_GRID + 1)]
    if problem.strong_convexity > 0.0:
        tried.append(0.0)
    return inflate(min(map(risk, tried), default=math.inf), _RAISED)
