"""The linear chains that a description allows: the possible sizes of each step's factor.

**Travelling members.**  Let every record have the loss f + l_i, with one f for all and linear l_i
whose slopes differ by at most the bound on differences.  Give f a slope so steep that the iterate
moves, between two steps, much further than noise and records ever move it.  Then each step meets
its own stretch of f, on which f'' may be any constant of the declared interval; between stretches
f'' is free, and the linear term of a record may change its sign there.  As the stretches grow the
law of the last iterate tends to that of the linear chain with these factors, so no sound claim is
below that chain's.  Such an f has no bounded gradient: where `gradient_bound` is declared, of
clipped losses or not, nothing is steeper than the bound, and these are no members.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.describe import LossForm, NoisyDescent, Objective
from wane.describe.domains import Domain

LARGEST_FACTOR = 1e8
"""Stands for any factor where no smoothness is declared; members may be steeper still."""

STRAIGHT_FAR_OUT = (
    "unbounded",
    "ridge",
    "lasso",
    "elastic-net",
    "l2-norm",
    "l-infinity-norm",
    "log-barrier",
    "orthant",
    "halfspace",
    "mcp",
    "scad",
)
"""Domains whose prox, far from the origin or deep inside, is a shift and a shrinkage."""


@dataclass(frozen=True)
class Curvatures:
    """An interval of curvatures, which may be unbounded."""

    low: float
    high: float

    def shared_with(self, other: Curvatures) -> Curvatures | None:
        """Return the common part of two intervals."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Curvatures(low, high) if low <= high else None

    def times(self, fill: float) -> Curvatures:
        """Return the curvatures of a batch that is filled only in part."""
        return Curvatures(fill * self.low, fill * self.high)


@dataclass(frozen=True)
class Factors:
    """The sizes a factor may have, and the logarithm of the largest."""

    low: float
    high: float
    log_high: float


def curvatures(objective: Objective) -> Curvatures | None:
    """Return the curvatures that a loss of the class may have anywhere; None if none is known."""
    m, M = objective.strong_convexity, objective.smoothness
    high = math.inf if M is None else M
    allowed: Curvatures | None = Curvatures(-high if m is None else m, high)
    if objective.holder_exponent is not None and objective.holder_constant is not None:
        steep = objective.holder_constant if objective.holder_exponent == 1.0 else 0.0
        allowed = allowed and allowed.shared_with(Curvatures(-steep, steep))
    if objective.dissipativity is not None:
        allowed = allowed and allowed.shared_with(Curvatures(objective.dissipativity[1], math.inf))
    if objective.form is LossForm.RADIAL:
        allowed = allowed and allowed.shared_with(Curvatures(0.0, math.inf))
    return allowed


def public_curvatures(run: NoisyDescent) -> Curvatures | None:
    """Return the curvatures of the public records' members: travelling ones, or flat ones."""
    if run.public is None:
        return None
    losses = run.on_public.objective
    allowed = curvatures(losses)
    if allowed is None or not may_travel(losses):
        return None
    return allowed.shared_with(Curvatures(0.0, 0.0)) if is_bounded(losses) else allowed


def may_travel(objective: Objective) -> bool:
    """Return whether the curvature may differ from place to place; a radial loss has one centre."""
    return objective.form is not LossForm.RADIAL


def is_bounded(objective: Objective) -> bool:
    """Return whether whole gradients are bounded, so that only flat members fill the space."""
    return objective.gradient_bound is not None


def signs_are_free(run: NoisyDescent, allowed: Curvatures) -> bool:
    """Return whether only the sizes of factors matter.

    A factor below zero turns the shifts of the past around; members that travel can turn later
    ones, too, if their curvature has room to.
    """
    if may_travel(run.objective) and allowed.low < allowed.high:
        return True
    steepest = allowed.high + run.objective.ridge
    public = public_curvatures(run)
    if public is not None:
        steepest = max(steepest, public.high + run.objective.ridge)
    return float(np.max(run.plan.step_size)) * max(steepest, run.objective.ridge) <= 1.0


def log_slope(domain: Domain, step_size: float) -> float | None:
    """Return the logarithm of the slope of the prox far out; None if it is not straight there."""
    if domain.kind not in STRAIGHT_FAR_OUT:
        return None
    return -math.log1p(step_size * max(float(domain.strong_convexity), 0.0))


def factors(allowed: Curvatures, step_size: float, ridge: float, log_shrink: float) -> Factors:
    """Return the sizes of (1 - step_size (curvature + ridge)) times the prox before the step."""
    flat, steep = step_size * (allowed.low + ridge), step_size * (allowed.high + ridge)
    ends = sorted(min(abs(1.0 - t), LARGEST_FACTOR) for t in (flat, steep))
    low = 0.0 if flat <= 1.0 <= steep else ends[0]
    logs = [math.log1p(-t) if t < 1.0 else math.log(max(t - 1.0, 1e-300)) for t in (flat, steep)]
    log_high = min(max(logs), math.log(LARGEST_FACTOR)) + log_shrink
    shrink = math.exp(log_shrink)
    return Factors(min(low * shrink, math.exp(log_high)), math.exp(log_high), log_high)


@dataclass(frozen=True)
class MemberSteps:
    """Consecutive steps of a run, one entry each.

    Attributes:
        batch: the number of the batch; -1 where no record is used.
        shift: how far the differing record moves the iterate if it is in the batch.
        noise_std: the noise on the iterate.
        low, high: the sizes of the factor.
    """

    batch: NDArray[np.int64]
    shift: Array
    noise_std: Array
    low: Array
    high: Array


def steps_of(run: NoisyDescent, allowed: Curvatures, first: int = 0) -> MemberSteps:
    """Return the steps from number `first` (from 0) to the end; the domain is straight far out."""
    assert run.gradient_sensitivity is not None
    plan = run.plan
    begin = np.concatenate([[0], np.cumsum(plan.repeat)])
    data = np.concatenate([[0], np.cumsum(np.where(plan.uses_records, plan.repeat, 0))])
    place = np.arange(first, plan.total)
    row = np.searchsorted(begin, place, side="right") - 1
    number = data[row] + place - begin[row]
    batch = np.where(plan.uses_records[row], number % run.steps_per_epoch, -1)
    before = np.concatenate([row[:1], row[:-1]])
    low, high = np.empty(len(row)), np.empty(len(row))
    partial = batch == run.steps_per_epoch - 1
    factors_of: dict[tuple[int, int, bool], Factors] = {}
    for i, key in enumerate(zip(row.tolist(), before.tolist(), partial.tolist(), strict=True)):
        if key not in factors_of:
            factors_of[key] = _factors_at(run, allowed, *key)
        low[i], high[i] = factors_of[key].low, factors_of[key].high
    eta = plan.step_size[row]
    shift = np.where(batch < 0, 0.0, eta * run.gradient_sensitivity)
    return MemberSteps(batch, shift, eta * run.gradient_noise_stds[row], low, high)


def _factors_at(
    run: NoisyDescent, allowed: Curvatures, row: int, before: int, partial: bool
) -> Factors:
    if run.plan.cool_down[row]:
        allowed = Curvatures(0.0, 0.0)
    elif run.plan.public[row]:
        public = public_curvatures(run)
        assert public is not None, "asked before"
        allowed = public
    elif partial:
        allowed = allowed.times(run.last_batch_size / run.batch_size)
    shrink = log_slope(run.domain, float(run.plan.step_size[before]))
    assert shrink is not None
    return factors(allowed, float(run.plan.step_size[row]), run.objective.ridge, shrink)
