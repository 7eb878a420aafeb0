"""Exact noise on a release: what it would guarantee if the noise inside the run were worthless.

Noise drawn in floating point only approximates the Gaussian law.  Whoever does not want to lean on
it adds `wane.run.DiscreteGaussian` to the release.  The run's certificate stays as it is, because
that is post-processing; beside it stands a second guarantee, for which it does not matter how the
noise inside the run was drawn, so long as it was drawn without looking at the records.
"""

from __future__ import annotations

import math

import numpy as np

from wane.describe import Cyclic, FullBatch, NoisyDescent, ShuffledOnce
from wane.guarantees import RenyiDP
from wane.run import DiscreteGaussian
from wane.theorems.lemmas import lipschitz as facts

_ROUNDED_UP = 1.0 + 1e-12


def exact_noise(run: NoisyDescent, times: float | None) -> DiscreteGaussian | None:
    """Return the noise to be added to the release of this run; None if none was asked for."""
    return None if times is None else DiscreteGaussian.on_release(run, times)


def exact_guarantee(run: NoisyDescent, times: float, dimension: int) -> RenyiDP | None:
    """Return what the noise on the release guarantees alone; None if nothing is known.

    For steps in exact arithmetic, and for one release of `dimension` numbers.
    """
    apart = ends_apart(run)
    if math.isinf(apart):
        return None
    return DiscreteGaussian.on_release(run, times).guarantee(apart, dimension)


def ends_apart(run: NoisyDescent) -> float:
    """Return how far one record can move the end if all randomness stays; infinite if unknown.

    Steps that move no two iterates apart add up the sensitivities of those that use the record;
    and no two points of a bounded domain are farther apart than its diameter.
    """
    diameter = float(run.domain.diameter)
    sensitivity = run.gradient_sensitivity
    if sensitivity is None or _unsmooth(run) or _may_expand(run):
        return diameter
    plan = run.plan
    fixed = isinstance(run.batches, FullBatch | Cyclic | ShuffledOnce)
    visits = np.ceil(plan.repeat / (run.steps_per_epoch if fixed else 1))
    moved = np.where(plan.uses_records, visits * plan.step_size, 0.0)
    return min(diameter, float(np.sum(moved)) * sensitivity * _ROUNDED_UP)


def _unsmooth(run: NoisyDescent) -> bool:
    return run.objective.smoothness is None or not facts.smooth_on_public(run)


def _may_expand(run: NoisyDescent) -> bool:
    """Return whether some step is not known to keep two iterates as close as they were."""
    sizes = run.plan.step_size
    steps = facts.log_phase_lipschitz(run)
    return bool(np.any(steps > 0.0) or np.any(facts.log_prox_lipschitz(run, sizes) > 0.0))
