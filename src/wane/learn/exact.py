"""Exact noise on a release: what it would guarantee if the noise inside the run were worthless.

Noise drawn in floating point only approximates the Gaussian law.  Whoever does not want to lean on
it adds `wane.run.DiscreteGaussian` to the release.  The run's certificate stays as it is, because
that is post-processing; beside it stands a second guarantee, for which it does not matter how the
noise inside the run was drawn, so long as it was drawn without looking at the records.
"""

from __future__ import annotations

import math

import numpy as np

from wane.describe import Cyclic, FullBatch, NoisyDescent, Poisson, ShuffledOnce
from wane.guarantees import RenyiDP
from wane.run import DiscreteGaussian
from wane.theorems.lemmas import lipschitz as facts
from wane.theorems.lemmas.loss_moduli import Batch, lipschitz_row

_ROUNDED_UP = 1.0 + 1e-12


def exact_noise(run: NoisyDescent, times: float | None) -> DiscreteGaussian | None:
    """Return the noise to be added to the release of this run; None if none was asked for."""
    return None if times is None else DiscreteGaussian.on_release(run, times)


def exact_guarantee(
    run: NoisyDescent, times: float, dimension: int, *, rows_per_person: int = 1
) -> RenyiDP | None:
    """Return what the noise on the release guarantees alone; None if nothing is known.

    For steps in exact arithmetic, from a start that does not depend on the records, and for one
    release of `dimension` numbers; so many records may change together.
    """
    apart = min(rows_per_person * ends_apart(run), float(run.domain.diameter))
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
    apart = np.any(steps > 0.0) or np.any(facts.log_prox_lipschitz(run, sizes) > 0.0)
    return bool(apart) or _crowd_expands(run)


def _crowd_expands(run: NoisyDescent) -> bool:
    """Return whether a batch of random size may hold so many records that its step overshoots."""
    if not isinstance(run.batches, Poisson):
        return False
    for size in np.unique(run.plan.step_size[run.plan.uses_records]).tolist():
        row = lipschitz_row(run.objective, Batch(size, run.batch_size, 0, run.records))
        if row is None or row.log_factor > 0.0:
            return True
    return False
