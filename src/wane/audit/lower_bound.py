"""The worst exact member of a described class that we can find: no sound epsilon is below it.

For batches in a fixed order the members are one-dimensional: every record's loss is a parabola,
the two versions of one record differ by a linear term of the declared size, and so the iterates
are Gaussian.  The curvature of the record's own batch and that of all others are searched over the
declared interval; the record sits in the batch that is used last.  `gradient_bound` is read as a
bound on what depends on the record; what all losses share may be curved.

For random batches all losses but one are flat: the last iterate is a Gaussian whose mean counts how
often the record was drawn, a binomial mixture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wane.audit.binomial import binomial_mixture_epsilon
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    LastIterate,
    NoisyDescent,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.numerics.normal import gaussian_epsilon

Array = NDArray[np.float64]

MOST_STEPS = 20_000
"""Longer runs are followed only if their steps are all alike."""
GRID = 41
"""Curvatures tried between the ends of the interval, for the record's batch and the others."""
SHAVE = 1.0 - 1e-9
"""Lower bounds are rounded down by more than this module's arithmetic can have lost."""


@dataclass(frozen=True)
class LowerBound:
    """What an exact member of the class leaks: at least this mu, or this curve."""

    run: NoisyDescent
    mu: float | None

    def epsilon(self, delta: float) -> float:
        """An epsilon that no sound claim at `delta` can undercut."""
        if self.mu is not None:
            return gaussian_epsilon(delta, self.mu) * SHAVE
        return _sampled_epsilon(self.run, delta) * SHAVE


def lower_bound(run: NoisyDescent) -> LowerBound | None:
    """Return the worst member found, or None where wane knows none it can compute exactly."""
    if run.gradient_sensitivity is None or not (run.gradient_noise_stds > 0).all():
        return None
    if run.objective.log_sobolev is not None:
        return None  # our members need not have that constant
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return _worst_member(run)
    except ArithmeticError:
        return None


def _worst_member(run: NoisyDescent) -> LowerBound | None:
    if isinstance(run.batches, Poisson | WithoutReplacement):
        return LowerBound(run, None) if _is_flat_walk(run) else None
    if isinstance(run.release, EveryIterate):
        return LowerBound(run, _composed_mu(run) * SHAVE) if _flat(run) else None
    if math.isfinite(run.domain.diameter) or run.domain.kind not in ("unbounded", "ridge"):
        return None
    if isinstance(run.batches, ShuffledOnce) or not _in_place(run):
        return None
    mu = _worst_parabola(run)
    return None if mu is None else LowerBound(run, mu * SHAVE)


def _flat(run: NoisyDescent) -> bool:
    """Linear losses belong to the class."""
    m = run.objective.strong_convexity
    return m is None or m <= 0.0


def _in_place(run: NoisyDescent) -> bool:
    return isinstance(run.batches, FullBatch | Cyclic) and (
        run.adjacency is not Adjacency.ADD_REMOVE or isinstance(run.batches, FullBatch)
    )


def _composed_mu(run: NoisyDescent) -> float:
    """Every visit is seen on its own: the record used most often in the largest batch phases."""
    assert run.gradient_sensitivity is not None
    visits = run.plan.repeat // run.steps_per_epoch  # at least
    if len(run.plan) == 1:
        visits = -(-run.plan.repeat // run.steps_per_epoch)
    cost = np.where(run.plan.cool_down, 0, visits) / run.gradient_noise_stds**2
    return run.gradient_sensitivity * math.sqrt(float(np.sum(cost)))


def _interval(run: NoisyDescent) -> tuple[float, float]:
    """Curvatures that a parabola of the class may have."""
    m, M = run.objective.strong_convexity, run.objective.smoothness
    if run.objective.clipped:
        return 0.0, 0.0  # a parabola's gradient would be clipped somewhere
    if M is None:
        return (0.0, 0.0) if m is None else (m, max(m, 0.0))
    return (-M if m is None else m), M


def _worst_parabola(run: NoisyDescent) -> float | None:
    low, high = _interval(run)
    if high > 0.0:  # an incomplete batch bends less; give all batches what it can have
        high *= run.last_batch_size / run.batch_size
    if low > high or (run.objective.clipped and not _flat(run)):
        return None
    grid = np.unique(np.concatenate([np.linspace(low, high, GRID), [np.clip(0.0, low, high)]]))
    others, own = (a.ravel() for a in np.meshgrid(grid, grid))
    if run.steps_per_epoch == 1:
        others = own = grid
    if len(run.plan) == 1 and isinstance(run.release, LastIterate):
        return float(np.max(_constant(run, others, own)))
    if run.total_steps > MOST_STEPS:
        return None
    return float(np.max(_followed(run, others, own)))


def _constant(run: NoisyDescent, others: Array, own: Array) -> Array:
    """Exact mu of the record used last, by geometric sums over the epochs."""
    eta, s = float(run.plan.step_size[0]), float(run.gradient_noise_stds[0])
    period, steps = run.steps_per_epoch, run.plan.total
    shrink = run.domain.lipschitz(eta)
    rest = (1.0 - eta * (others + run.objective.ridge)) * shrink
    visit = (1.0 - eta * (own + run.objective.ridge)) * shrink
    visits = -(-steps // period)
    before = steps - 1 - (visits - 1) * period  # noisy steps before the first visit
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        between = _sum_of_powers(rest**2, period - 1)
        epoch_factor = visit * rest ** (period - 1)
        epoch_noise = 1.0 + visit**2 * between
        first_noise = 1.0 + visit**2 * _sum_of_powers(rest**2, before)
        mean = _sum_of_powers(epoch_factor, visits)
        variance = (
            epoch_factor ** (2 * (visits - 1)) * first_noise
            + _sum_of_powers(epoch_factor**2, visits - 1) * epoch_noise
        )
        mu = np.abs(mean) / np.sqrt(variance)
    assert run.gradient_sensitivity is not None
    return np.where(np.isfinite(mu), mu, 0.0) * run.gradient_sensitivity / s


def _sum_of_powers(ratio: Array, count: int) -> Array:
    """`sum_{i<count} ratio^i`, entry by entry."""
    one = np.abs(ratio - 1.0) < 1e-12
    safe = np.where(one, 2.0, ratio)
    return np.where(one, float(count), (safe**count - 1.0) / (safe - 1.0))


def _followed(run: NoisyDescent, others: Array, own: Array) -> Array:
    """Exact mu, step by step, for every position; released iterates add up."""
    best = np.zeros_like(others)
    for position in range(min(run.steps_per_epoch, 64)):
        best = np.maximum(best, _followed_record(run, others, own, position))
    return best


def _followed_record(run: NoisyDescent, others: Array, own: Array, position: int) -> Array:
    assert run.gradient_sensitivity is not None
    seen = set(getattr(run.release, "steps", ()))
    mean, variance, total = np.zeros_like(own), np.zeros_like(own), np.zeros_like(own)
    step = data = 0
    shrink = 1.0
    for phase, s in zip(run.plan, run.gradient_noise_stds, strict=True):
        eta = phase.step_size
        for _ in range(phase.repeat):
            visited = not phase.cool_down and data % run.steps_per_epoch == position
            curvature = np.zeros_like(own) if phase.cool_down else (own if visited else others)
            factor = (1.0 - eta * (curvature + run.objective.ridge)) * shrink
            mean = factor * mean + (eta * run.gradient_sensitivity if visited else 0.0)
            variance = factor**2 * variance + (eta * s) ** 2
            data += not phase.cool_down
            step += 1
            shrink = run.domain.lipschitz(eta)
            if step in seen and step < run.total_steps:
                total += mean**2 / variance
                mean, variance = np.zeros_like(own), np.zeros_like(own)
    return np.sqrt(total + mean**2 / variance)


def _is_flat_walk(run: NoisyDescent) -> bool:
    return (
        _flat(run)
        and run.objective.ridge == 0.0
        and run.domain.kind == "unbounded"
        and len(run.plan) == 1
        and not isinstance(run.release, EveryIterate)
        and run.adjacency is not Adjacency.ADD_REMOVE
    )


def _sampled_epsilon(run: NoisyDescent, delta: float) -> float:
    """Only the sum of the drawn shifts matters: a binomial mixture of Gaussians."""
    assert run.objective.gradient_bound is not None
    shift = run.objective.gradient_bound / run.batch_size / float(run.gradient_noise_stds[0])
    both = run.adjacency is Adjacency.REPLACE_ONE
    return binomial_mixture_epsilon(
        steps=run.plan.total,
        rate=run.batch_size / run.records,
        shift=shift,
        both_move=both,
        delta=delta,
    )
