"""Quantities several theorems share, each with one home: Lipschitz constants of one step.

Logarithms throughout, rounded up: `ln c` of a constant within 1e-15 of one is still known to full
precision, and an upper bound on a Lipschitz constant can only loosen a certificate.
"""

from __future__ import annotations

import math

import numpy as np

from wane.arrays import Array
from wane.describe.descent import NoisyDescent
from wane.describe.objective import LossForm, Objective

NEGLIGIBLE = -1e5
"""Stands in for the logarithm of a constant that is zero: larger, so on the safe side."""
DOUBT = 6e-16
"""Relative error of a step size times a curvature, which is a product of sums and quotients."""


def curvature(objective: Objective) -> tuple[float, float]:
    """Return bounds on the Hessian's spectrum of one record's loss; smoothness must be declared."""
    m, M = objective.strong_convexity, objective.smoothness
    assert M is not None, "a theorem used curvature() without requiring smoothness"
    return (-M if m is None else m), M


def clipping_is_harmless(objective: Objective) -> bool:
    """Return whether every clipped gradient is that of a function which is as smooth as before."""
    if objective.form is LossForm.GLM or objective.dimension == 1:
        return True
    m = objective.strong_convexity
    return objective.form is LossForm.RADIAL and m is not None and m >= 0.0


def log_step_lipschitz(run: NoisyDescent, step_size: Array, *, share: float = 1.0) -> Array:
    """Return `ln L` of `x -> x - eta (batch gradient + ridge x)`, rounded up.

    Noise and prox come after this map.  `share` is the number of records that are there over the
    number that are described: a record that is null or absent does not bend, and one more bends
    more.
    """
    objective = run.objective
    m, M = (share * end for end in curvature(objective))
    if objective.clipped and not clipping_is_harmless(objective):
        return _up(log_clipped_with_ridge(step_size, m, M, objective.ridge))
    if objective.clipped:
        m = min(m, 0.0)  # where the clip is active the loss is flat
    fill = run.last_batch_size / run.batch_size  # an incomplete batch bends less
    return _up(
        log_gradient_lipschitz(step_size, min(m, fill * m) + objective.ridge, M + objective.ridge)
    )


def log_gradient_lipschitz(step_size: Array, low: float, high: float) -> Array:
    """Return `ln max(|1 - eta low|, |1 - eta high|)`, of a step with Hessian in [low, high]."""
    return np.maximum(_log_abs_one_minus(step_size * low), _log_abs_one_minus(step_size * high))


def log_cool_down_lipschitz(run: NoisyDescent, step_size: Array) -> Array:
    """Return `ln |1 - eta ridge|` of a step that uses no record, rounded up."""
    return _up(_log_abs_one_minus(step_size * run.objective.ridge))


def log_phase_lipschitz(run: NoisyDescent) -> Array:
    """Return `ln L` of each phase's step, before noise and prox, whichever records it uses."""
    plan, eta = run.plan, run.plan.step_size
    made = log_step_lipschitz(run, eta)
    if plan.cool_down.any():
        made = np.where(plan.cool_down, log_cool_down_lipschitz(run, eta), made)
    if plan.public.any():
        made = np.where(plan.public, log_step_lipschitz(run.on_public, eta), made)
    return made


def smooth_on_public(run: NoisyDescent) -> bool:
    """Return whether steps on public records, if there are any, have a Lipschitz constant."""
    return run.public is None or run.on_public.objective.smoothness is not None


def log_clipped_lipschitz(step_size: Array, low: float, high: float) -> Array:
    """Return `ln L` of `x -> x - eta Clip(grad f(x))` for any clipping threshold.

    The Hessian of f lies in [low, high].  With centre c0 and radius r0 of the spectrum,
    beta = |1 - eta c0| and rho = eta r0,

        L^2 = 1 + rho^2 / (1 - beta^2)   if beta < 1 and beta rho < 1 - beta^2,
        L   = beta + rho                 otherwise;

    exact in dimension two and more (docs/proofs/clipped-step.md).
    """
    t = step_size * (high + low) / 2.0
    beta = np.abs(1.0 - t)
    rho = step_size * (high - low) / 2.0
    # 1 - beta^2 = t (2 - t) without cancellation, less what the rounding of t may have added
    room = t * (2.0 - t) - DOUBT * np.abs(t) * 2.0 * beta
    inside = (beta < 1.0) & (beta * rho < room)
    safe = np.where(inside, room, 1.0)
    bent = 0.5 * np.log1p(np.where(inside, rho * rho / safe, 0.0))
    # otherwise beta + rho is one of the ends: |1 - eta low| or |1 - eta high|
    straight = np.maximum(log_gradient_lipschitz(step_size, low, high), 0.0)
    return np.where(inside, bent, straight)


def log_prox_lipschitz(run: NoisyDescent, step_size: Array) -> Array:
    """Return `ln q` of the prox that ends each step, rounded up; inf where nothing is certified.

    A prox of an m-strongly convex function has q = 1 / (1 + eta m), also for negative m as long as
    eta m > -1.
    """
    m = float(run.domain.strong_convexity)
    if m == 0.0:
        return np.zeros_like(step_size)
    stretch = step_size * m
    certified = stretch > -1.0
    return np.where(certified, _up(-np.log1p(np.where(certified, stretch, 0.0))), math.inf)


def log_clipped_with_ridge(step_size: Array, m: float, M: float, ridge: float) -> Array:
    """Return `ln L` of a clipped step to which an unclipped ridge term is added."""
    if ridge == 0.0:
        return log_clipped_lipschitz(step_size, m, M)
    shrunk = step_size * ridge
    kept = 1.0 - shrunk - DOUBT * shrunk  # a smaller one makes the clipped step larger
    usable = kept > 0.0
    kept = np.where(usable, kept, 1.0)
    shrink = _log_abs_one_minus(np.where(usable, shrunk, 0.0))
    spread = log_clipped_lipschitz(step_size / kept * (1.0 + DOUBT), m, M)
    bent = shrink + spread + 2e-15 * (np.abs(shrink) + np.abs(spread))  # they may cancel
    # beyond eta ridge = 1 only the triangle inequality is left: clipping shortens differences
    reach = np.abs(1.0 - shrunk) + step_size * max(M, -m)
    crude = np.log(np.maximum(reach + 2.0 * DOUBT * (reach + shrunk), 1e-300))
    return np.where(usable, bent, crude)


def _log_abs_one_minus(t: Array) -> Array:
    """Return `ln |1 - t|`, with the product `t` itself rounded to the unfavourable side."""
    t = np.asarray(t, dtype=np.float64)
    doubt = DOUBT * np.abs(t)
    below, above = t - doubt, t + doubt
    if np.all(above < 1.0):
        return np.log1p(-below)
    with np.errstate(divide="ignore"):
        left = np.log1p(-np.minimum(below, 1.0))
        right = np.log(np.maximum(above - 1.0, 0.0))
    return np.maximum(left, right)


def _up(x: Array) -> Array:
    """Cover the rounding of the operations that made `x`; a zero constant becomes a tiny one."""
    x = np.maximum(x, NEGLIGIBLE)
    return x + 2e-15 * np.abs(x)
