"""Bounds on the risk of other private methods for the same constants, to compare a plan with.

Both rivals need the exact minimiser, which a noisy run does not.  Both may add the ridge that suits
them best.  Their numbers rest on hypotheses of their own and certify nothing that wane runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import erfcx

from wane.describe import Adjacency
from wane.numerics.normal import gaussian_delta
from wane.numerics.rounding import inflate
from wane.planning.problem import Problem

_RAISED = 1e-12
_GRID = 400
_HALVINGS = 60


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


def objective_perturbation_risk_of(problem: Problem, epsilon: float, delta: float) -> float:
    """Return the risk of Gaussian noise on the objective, (epsilon, delta)-private.

    The rival's own hypotheses, beyond those of `Problem`: losses f(<x, theta>) of one record each,
    f twice differentiable, and a penalty (m/2)|theta|^2 that neighbours have in common; gradients
    f'(<x, theta>) x of at most `gradient_bound` on the whole space.

    Claim.  The least over rho of d s^2/(2 (m + rho)) + rho R^2/2, or taking no step, where s is the
    least noise with `objective_perturbation_delta` <= delta (docs/proofs/planning.md).
    """
    p = problem
    in_a_plane = p.adjacency is Adjacency.REPLACE_ONE and p.dimension > 1

    def risk(ridge: float) -> float:
        curvature = p.strong_convexity + ridge
        steepest = (p.smoothness - p.strong_convexity) / (p.records * curvature)
        level = _largest_level(epsilon, delta, math.log1p(steepest), in_a_plane)
        if level == 0.0:
            return math.inf
        variance = (p.sensitivity / level) ** 2
        return 0.5 * p.dimension * variance / curvature + 0.5 * ridge * p.start_distance**2

    return min(_best_ridge(p, risk), p.no_step_risk)


def objective_perturbation_delta(
    epsilon: float, level: float, curvature_price: float, *, in_a_plane: bool
) -> float:
    """Return delta of Gaussian noise on the objective; one where nothing is proved.

    `level` is the change of the gradient that one record can cause, divided by the noise;
    `curvature_price` bounds the logarithm of the quotient of the determinants of both Hessians;
    the change stays on one line, or in one plane where a record is replaced.

    Claim.  With e = epsilon - price >= level^2/2: on a line 2 delta_gauss(e; level), in a plane
    sqrt(2 pi) level exp(e) P(N > e/level + level/2).
    """
    rest = epsilon - curvature_price
    if not rest >= 0.5 * level * level:
        return 1.0
    if not in_a_plane:
        return min(1.0, 2.0 * gaussian_delta(rest, level))
    near, far = rest / level - 0.5 * level, rest / level + 0.5 * level
    scaled = math.exp(-0.5 * near * near) * float(erfcx(far / math.sqrt(2.0)))
    return min(1.0, inflate(math.sqrt(0.5 * math.pi) * level * scaled, _RAISED))


def _largest_level(epsilon: float, delta: float, price: float, in_a_plane: bool) -> float:
    """Return the largest level found that meets the target; zero if there is none."""
    low, high = 0.0, math.sqrt(2.0 * max(epsilon - price, 0.0))
    for _ in range(_HALVINGS):
        level = 0.5 * (low + high)
        if level > 0.0 and (
            objective_perturbation_delta(epsilon, level, price, in_a_plane=in_a_plane) <= delta
        ):
            low = level
        else:
            high = level
    return low


def _best_ridge(problem: Problem, risk: Callable[[float], float]) -> float:
    """Return the least risk over a grid of ridges."""
    least = 1e-12 * problem.smoothness
    most = 4.0 * problem.gradient_bound / problem.start_distance + 4.0 * problem.smoothness
    grown = (most / least) ** (1.0 / _GRID)
    tried = [least * grown**i for i in range(_GRID + 1)]
    if problem.strong_convexity > 0.0:
        tried.append(0.0)
    return inflate(min(map(risk, tried), default=math.inf), _RAISED)
