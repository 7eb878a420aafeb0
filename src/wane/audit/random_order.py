"""Exact members for batches drawn at random, and for a secret order: mixtures of Gaussians.

Fresh batches: the last iterate is a Gaussian whose mean is the sum of w_t over the steps that drew
the record, w_t being the product of the factors after step t.  A secret order: the mean is one of
as many values as there are batches.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.audit.member_epsilon import Leak, MixtureLeak
from wane.audit.members import Curvatures, MemberSteps, may_travel, signs_are_free, steps_of
from wane.describe import Adjacency, NoisyDescent, Poisson

MOST_STEPS = 200_000
LATTICE, COMPONENTS = 8192, 512
"""Sums of unequal weights are rounded down, on the way and in the end, to so many values."""
RARE = 1e-18
"""Rarer sums are left out, and counted as missing."""


def fresh_batches(run: NoisyDescent, allowed: Curvatures) -> list[Leak]:
    """Return members for Poisson batches and fresh sets of fixed size."""
    if run.total_steps > MOST_STEPS:
        return []
    if not may_travel(run.objective):
        allowed = Curvatures(allowed.low, allowed.low)
    if isinstance(run.batches, Poisson):
        # the number of records in a batch varies, so what they share must have no gradient
        shared = allowed.shared_with(Curvatures(0.0, 0.0))
        if shared is None:
            return []
        allowed = shared
    if not signs_are_free(run, allowed):
        return []
    members: list[Leak] = []
    for weights, noise in _walks(run, allowed):
        members += _drawn(run, weights, noise)
    return members


def _walks(run: NoisyDescent, allowed: Curvatures) -> list[tuple[Array, float]]:
    """Return weights of the steps with records, and the final noise, for some factors."""
    steps = steps_of(run, allowed)
    choices = [steps.high]
    if may_travel(run.objective):
        choices.append(np.clip(1.0, steps.low, steps.high))
    walks = []
    for factor in {choice.tobytes(): choice for choice in choices}.values():
        weights = _products_after(factor)
        noise = math.sqrt(float(np.sum((weights * steps.noise_std) ** 2)))
        if math.isfinite(noise):
            walks.append(((weights * steps.shift)[steps.batch >= 0], noise))
    return walks


def _products_after(factor: Array) -> Array:
    """Return the product of the factors of all later steps."""
    return np.concatenate([np.cumprod(factor[:0:-1])[::-1], [1.0]])


def _drawn(run: NoisyDescent, weights: Array, noise: float) -> list[Leak]:
    """Return members whose runs move apart, or one stays; fixed sizes may swap opposite records."""
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    share = 0.5 if replaced else 1.0  # two real records pull half their difference each way
    sums, chances, missing = _sum_law(weights * (share / noise), run.batch_size / run.records)
    members: list[Leak] = [MixtureLeak(sums, -sums if replaced else 0.0 * sums, chances, missing)]
    if replaced and not isinstance(run.batches, Poisson):
        members.append(MixtureLeak(2.0 * sums, 0.0 * sums, chances, missing))
    return members


def _sum_law(weights: Array, rate: float) -> tuple[Array, Array, float]:
    """Return the law of the sum of weights whose coin falls, not rounded up, and the rest mass."""
    if np.all(weights == weights[0]):
        counts, chances, missing = _binomial(len(weights), rate)
        return counts * weights[0], chances, missing
    spread = math.sqrt(rate * (1.0 - rate) * float(np.sum(weights**2)))
    reach = rate * float(np.sum(weights)) + 12.0 * spread + 3.0 * float(np.max(weights))
    cell = min(reach, float(np.sum(weights))) / LATTICE
    law = np.zeros(LATTICE + 1)
    law[0] = 1.0
    for jump in np.floor(weights / cell).astype(int).tolist():
        if jump > 0:
            moved = np.zeros_like(law)
            reached = min(jump, LATTICE)
            moved[reached:] = law[: LATTICE + 1 - reached]
            moved[LATTICE] += law[LATTICE + 1 - reached :].sum()
            law = (1.0 - rate) * law + rate * moved
    coarse = LATTICE // COMPONENTS
    merged = np.bincount(np.arange(LATTICE + 1) // coarse, law)
    likely = np.flatnonzero(merged > RARE)
    sums = np.asarray(likely * (coarse * cell), dtype=np.float64)
    return sums, np.asarray(merged[likely], np.float64), float(merged[merged <= RARE].sum())


def _binomial(steps: int, rate: float) -> tuple[Array, Array, float]:
    centre, spread = steps * rate, math.sqrt(steps * rate * (1.0 - rate)) + 1.0
    low = max(0, math.floor(centre - 12 * spread))
    high = min(steps, math.ceil(centre + 20 * spread))
    counts = np.arange(low, high + 1, dtype=np.float64)
    log_weight = (
        special.gammaln(steps + 1)
        - special.gammaln(counts + 1)
        - special.gammaln(steps - counts + 1)
        + special.xlogy(counts, rate)
        + special.xlog1py(steps - counts, -rate)
    )
    missing = float(special.bdtrc(high, steps, rate)) if high < steps else 0.0
    missing += float(special.bdtr(low - 1, steps, rate)) if low > 0 else 0.0
    return counts, np.exp(log_weight), missing


def secret_order(run: NoisyDescent, allowed: Curvatures) -> list[Leak]:
    """Return members for one order, drawn once: the record is in each batch equally likely."""
    if run.total_steps > MOST_STEPS:
        return []
    if not may_travel(run.objective):
        allowed = Curvatures(allowed.low, allowed.low)
    if not signs_are_free(run, allowed):
        return []
    steps = steps_of(run, allowed)
    members: list[Leak] = []
    for last in _last_factors(run, steps):
        factor = steps.high.copy()
        factor[-1] = last
        weights = _products_after(factor)
        noise = math.sqrt(float(np.sum((weights * steps.noise_std) ** 2)))
        if not math.isfinite(noise):
            continue
        used = steps.batch >= 0
        moved = np.bincount(
            steps.batch[used], (weights * steps.shift)[used], minlength=run.steps_per_epoch
        )
        sizes = np.full(run.steps_per_epoch, run.batch_size / run.records)
        sizes[-1] = run.last_batch_size / run.records
        share = 0.5 if run.adjacency is Adjacency.REPLACE_ONE else 1.0
        first = np.asarray(moved * share / noise, dtype=np.float64)
        members.append(MixtureLeak(first, first - moved / noise, sizes))
    return members


def _last_factors(run: NoisyDescent, steps: MemberSteps) -> list[float]:
    """Return factors of the last step: all of the past reaches the release, none, or some."""
    low, high = float(steps.low[-1]), float(steps.high[-1])
    if not may_travel(run.objective):
        return [high]
    level = 1.0 / run.steps_per_epoch
    return sorted({min(max(x * high, low), high) for x in (0.0, level, 3.0 * level, 0.3, 1.0)})
