"""Exact members with bounded gradients, clipped or not: flat far out, bent near one point only.

A gradient is at most the bound, so nothing can make the iterate travel faster than a step at the
bound.  Two members are known.  A clipped parabola is described as such, or as the Huber loss whose
gradient is the same.

Flat: every record's parabola has its centre far away, so all gradients are +-bound and the run is
a random walk.

Slowed: all gradients push to the right, but the batch of the record holds parabolas whose centre
lies where the iterate arrives at the last step.  Its earlier visits see the clipped part.  So the
last factor alone is below one.  An iterate that strays from the stretch it should be on spoils
this; the probability of that is charged.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wane.audit.fixed_order import worst_fixed_order
from wane.audit.member_epsilon import SHAVE, GaussianLeak, Leak
from wane.audit.members import Curvatures
from wane.describe import Cyclic, LastIterate, NoisyDescent

FLAT = Curvatures(0.0, 0.0)
LEVELS = 40
"""Last factors that are tried."""
NEAR_VISITS = 40
"""Visits whose probability of straying is summed one by one."""


def clipped_members(run: NoisyDescent) -> list[Leak]:
    """Return exact members of a class of losses with bounded gradients, full or cyclic batches."""
    shrinks = run.objective.ridge > 0.0 or run.domain.strong_convexity > 0
    if shrinks and run.domain.kind not in ("unbounded", "ridge"):
        return []  # nothing could keep the iterate far out, where the prox is straight
    walk = worst_fixed_order(run, FLAT)
    members: list[Leak] = [] if walk is None else [GaussianLeak(walk * SHAVE)]
    return members + (_slowed(run) if _can_be_slowed(run) else [])


def _can_be_slowed(run: NoisyDescent) -> bool:
    M = run.objective.smoothness
    unused = (run.objective.holder_exponent, run.objective.dissipativity)
    return (
        unused == (None, None)  # a parabola must be among the losses
        and isinstance(run.batches, Cyclic)
        and isinstance(run.release, LastIterate)
        and run.domain.kind == "unbounded"
        and len(run.plan) == 1
        and run.objective.ridge == 0.0
        and run.last_batch_size == run.batch_size > 1
        and 1 < run.steps_per_epoch < run.plan.total
        and (M is None or M > 0.0)
    )


def _slowed(run: NoisyDescent) -> list[Leak]:
    """Return members with curvatures up to the largest: factors of the last step from one down."""
    eta, M, m = (
        float(run.plan.step_size[0]),
        run.objective.smoothness,
        run.objective.strong_convexity,
    )
    others = (run.batch_size - 1) / run.batch_size
    low = 0.0 if M is None else max(0.0, 1.0 - eta * M * others)
    high = 1.0 - eta * max(m or 0.0, 0.0) * others
    tried = np.geomspace(max(low, 1e-3 / run.steps_per_epoch), 1.0, LEVELS)[:-1]
    return [
        GaussianLeak(_slowed_mu(run, factor) * SHAVE, _straying(run, factor))
        for factor in tried.tolist()
        if factor <= high
    ]


def _slowed_mu(run: NoisyDescent, last: float) -> float:
    """Return the mu of a walk until the last step, which keeps only a share of it."""
    assert run.gradient_sensitivity is not None
    steps, visits = run.plan.total, -(-run.plan.total // run.steps_per_epoch)
    size = (1.0 + last * (visits - 1)) / math.sqrt(1.0 + last * last * (steps - 1))
    return size * run.gradient_sensitivity / float(run.gradient_noise_stds[0])


def _straying(run: NoisyDescent, last: float) -> float:
    """Return a bound on the probability that the iterate is off its stretch at some visit.

    Lengths are in units of step_size * gradient_bound: `half` is half the stretch on which the
    parabolas are not clipped, `apart` how far a run's mean is from the middle of both, `way` how
    far from the stretch the middle is at a visit some epochs before the last.
    """
    assert run.objective.gradient_bound is not None and run.gradient_sensitivity is not None
    period, b, bound = run.steps_per_epoch, run.batch_size, run.objective.gradient_bound
    visits = -(-run.plan.total // period)
    spread = float(run.gradient_noise_stds[0]) / bound * math.sqrt(run.plan.total - 1)
    apart = (visits - 1) * run.gradient_sensitivity / bound / 2.0
    half = (b - 1) / b / (1.0 - last)
    back = np.minimum(np.arange(1, visits), NEAR_VISITS) if visits < 10_000 else np.empty(0)
    way = back * (period - 2.0 / b) - half - apart
    rare = float(np.sum(special.ndtr(-way / spread))) if len(back) else 1.0
    return 2.0 * float(special.ndtr(-(half - apart) / spread)) + rare
