"""Contraction of hockey-stick divergences by one noisy step on a bounded set.

Two runs on a set of diameter D are at most `r = phi(D)/(eta s)` noise deviations apart after the
gradient step, so the step's Markov kernel contracts the hockey-stick divergence of order e^eps by
the divergence of two Gaussians that far apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from wane.arrays import Array
from wane.describe.choices import Adjacency, Poisson
from wane.describe.descent import NoisyDescent
from wane.numerics.normal import gaussian_delta
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.theorems.lemmas.loss_moduli import Batch, idle_modulus, modulus_in
from wane.theorems.lemmas.sampled_steps import binomial_tail

DEVIATIONS = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 14.0)
"""Where random batch sizes are cut into bins, in standard deviations from their mean."""


def recursion(carried: float, fresh: float, rate: float, steps: int, start: float = 0.0) -> float:
    """`steps` times `delta <- (1-q) theta delta + q theta'`, rounded up.

    `carried` is theta, the contraction where the record is not in the batch; `fresh` is theta',
    the divergence where it is.  What underflows is raised to the smallest positive double.
    """
    x = carried * (1.0 - rate) * (1.0 + 4e-16)
    if x >= 1.0:
        faded, series = 1.0, float(steps)
    elif x <= 0.0:
        faded, series = 0.0, 1.0
    else:
        exponent = steps * math.log(x)
        faded, series = math.exp(exponent), math.expm1(exponent) / (x - 1.0)
    leaks = (rate > 0.0 and fresh > 0.0) or (x > 0.0 and start > 0.0)
    total = faded * start + rate * (fresh * series)  # in this order no long sum underflows
    return min(inflate(total, 1e-12) + (4.0 * SMALLEST_POSITIVE if leaks else 0.0), 1.0)


@dataclass(frozen=True)
class Kind:
    """Equal steps: weights and separations, in deviations of the noise, of the batch sizes."""

    count: int
    rate: float
    weights: Array
    common: Array
    differing: Array

    def then(self, carried: Array, fresh: Array, start: float) -> float:
        """Return delta after these steps, given the divergences at `common` and at `differing`."""
        means = self._average(carried), self._average(fresh)
        return recursion(*means, self.rate, self.count, start)

    def _average(self, divergences: Array) -> float:
        """Return the mean over batch sizes; a product that underflows counts as positive."""
        found = float(np.dot(self.weights, divergences))
        lost = len(divergences) * SMALLEST_POSITIVE if divergences.any() else 0.0
        return min(inflate(found, 1e-12) + lost, 1.0)


def recursions_of(run: NoisyDescent) -> list[list[Kind]]:
    """Return the run's phases, once for each law of the common records that must be covered.

    With one record added or removed there are two: against a data set with one record fewer the
    differing record has n - 1 others, against one with a record more it has n.
    """
    if not isinstance(run.batches, Poisson):
        b = run.batch_size
        return [_kinds(run, np.ones(1), [((b, b), (b - 1, b - 1))])]
    n = run.records
    counts = (n - 1, n) if run.adjacency is Adjacency.ADD_REMOVE else (n - 1,)
    return [_kinds(run, *_batch_sizes(run, others)) for others in counts]


def delta_after(recursions: list[list[Kind]], epsilon: float) -> float:
    """Return delta at this epsilon after all phases, the largest over what must be covered."""
    return max(_delta_after(kinds, epsilon) for kinds in recursions)


def _delta_after(kinds: list[Kind], epsilon: float) -> float:
    """Return delta at this epsilon after all phases, for one law of the common records."""
    gaps = [gap for kind in kinds for gap in (kind.common, kind.differing)]
    found = np.split(
        gaussian_delta(epsilon, np.concatenate(gaps)), np.cumsum([len(gap) for gap in gaps])[:-1]
    )
    delta = 0.0
    for kind, carried, fresh in zip(kinds, found[::2], found[1::2], strict=True):
        delta = kind.then(carried, fresh, delta)
    return delta


Range = tuple[int, int]
Ranges = list[tuple[Range, Range]]


def _kinds(run: NoisyDescent, weights: Array, ranges: Ranges) -> list[Kind]:
    """Return the kinds of steps, in order; a separation is infinite where nothing bounds it."""
    made = []
    rate = run.batch_size / run.records

    @cache  # gaps depend on the step size alone, and schedules often vary the noise alone
    def gaps(eta: float) -> tuple[list[float], list[float]]:
        common = [_gap(run, eta, *without) for without, _ in ranges]
        return common, [_differing(run, eta, *having) for _, having in ranges]

    for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        eta, noise = phase.step_size, phase.step_size * std
        if not phase.uses_records:
            gap = _separation([idle_modulus(run, phase)(run.domain.diameter)], noise)
            made.append(Kind(phase.repeat, 0.0, np.ones(1), gap, gap))
            continue
        common, differing = (_separation(found, noise) for found in gaps(eta))
        made.append(Kind(phase.repeat, rate, weights, common, differing))
    return made


def _separation(gaps: list[float], noise: float) -> Array:
    """Gaps in deviations of the noise, rounded up; a quotient that underflows stays positive."""
    found = np.array(gaps)
    return np.where(found > 0.0, np.maximum(found / noise * (1.0 + 4e-16), SMALLEST_POSITIVE), 0.0)


def _batch_sizes(run: NoisyDescent, others: int) -> tuple[Array, Ranges]:
    """Weights, and ranges of the number of common records without and with the differing one."""
    rate = run.batch_size / run.records
    spread = math.sqrt(others * rate * (1.0 - rate))
    cuts = sorted({min(max(math.ceil(others * rate + d * spread), 0), others) for d in DEVIATIONS})
    cuts = cuts if cuts[-1] == others else [*cuts, others]
    tails = [1.0, *(binomial_tail(others, rate, cut) for cut in cuts)]
    weights = np.maximum(-np.diff(tails), 0.0) + 2e-10 * np.array(tails[:-1])
    lows = [0, *(cut + 1 for cut in cuts[:-1])]
    ranges = [(low, cut) for low, cut in zip(lows, cuts, strict=True)]
    return weights, [(pair, pair) for pair in ranges]


def _gap(run: NoisyDescent, eta: float, least: int, most: int) -> float:
    modulus = modulus_in(run, Batch(eta, run.batch_size, least, most))
    return math.inf if modulus is None else modulus(run.domain.diameter)


def _differing(run: NoisyDescent, eta: float, least: int, most: int) -> float:
    """Return how far apart two steps can be that use the differing record beside common ones.

    Its two versions, each at a point of its own, are charged whole; or, where both are real
    records, one of them counts as a common one and only their difference at one point is charged.
    """
    whole = _gap(run, eta, least, most) + eta * run.gradient_apart
    if run.adjacency is not Adjacency.REPLACE_ONE or run.gradient_sensitivity is None:
        return whole
    return min(whole, _gap(run, eta, least + 1, most + 1) + eta * run.gradient_sensitivity)
