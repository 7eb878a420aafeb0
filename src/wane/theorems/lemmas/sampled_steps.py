"""Hidden sampled steps in Renyi divergences: Theorems P and F of docs/proofs/sampled-steps.md.

Noise of each of the last R steps is split: a share theta of its variance hides the distance of the
two runs, the rest hides the differing record.  The batch without that record has N others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.numerics.sampled_gaussian import renyi_add_or_remove, renyi_replace

_EXPLICIT = 8192


def binomial_tail(trials: int, rate: float, most: int) -> float:
    """Return P(N > most) for N ~ Binomial(trials, rate), rounded up; zero only where it is zero."""
    if most >= trials or rate == 0.0:
        return 0.0
    if most < 0:
        return 1.0
    exact = float(special.betainc(most + 1.0, float(trials - most), rate))
    return min(max(inflate(exact, 1e-10), SMALLEST_POSITIVE), 1.0, _chernoff(trials, rate, most))


def _chernoff(trials: int, rate: float, most: int) -> float:
    """exp(-n KL(k/n, q)), a bound where the incomplete beta function might have lost its digits."""
    share = (most + 1.0) / trials
    if share <= rate:
        return 1.0
    rest = 0.0 if share >= 1.0 else (1.0 - share) * math.log((1.0 - share) / (1.0 - rate))
    exponent = -trials * (share * math.log(share / rate) + rest)
    return max(math.exp(min(exponent * (1.0 - 1e-9), 0.0)), SMALLEST_POSITIVE)


def cap_for(trials: int, rate: float, probability: float) -> int:
    """Return the smallest cap that the batch exceeds with at most this probability."""
    low, high = -1, trials
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_tail(trials, rate, middle) <= probability:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True)
class SampledRun:
    """Equal hidden steps: T of them, iterate noise eta s, one record's shift eta C/b.

    Attributes:
        rate: probability that the record joins a batch.
        mu: its shift over the whole noise, C/(b s) (twice that for batches of fixed size).
        variance: of the whole noise on the iterate.
        steps: their number T.
        diameter: of the domain.
        zeroed: in one of the data sets the record contributes nothing.
    """

    rate: float
    mu: float
    variance: float
    steps: int
    diameter: float
    zeroed: bool = False

    def sampled(self, order: float, theta: float = 0.0) -> float:
        """Return the Renyi divergence of one sampled step that keeps 1 - theta of the noise."""
        mu = self.mu / math.sqrt(1.0 - theta)
        pair = renyi_add_or_remove if self.zeroed else renyi_replace
        return pair(order, self.rate, mu)

    def composed(self, order: float) -> float:
        """All steps seen."""
        return inflate(self.steps * self.sampled(order), 1e-15)


@dataclass(frozen=True)
class Split:
    """How the last steps are used: how many, and the share of noise against distance."""

    horizon: int
    theta: float


def fixed_size_renyi(run: SampledRun, split: Split, order: float, offset: float) -> float:
    """Theorem F for c = 1: `R S + (order/(2 s2)) (D^2/R + h H_R)`."""
    s2, R = split.theta * run.variance, split.horizon
    harmonic = float(special.digamma(R + 1.0)) + np.euler_gamma
    distance = order / (2.0 * s2) * (run.diameter**2 / R + offset * harmonic)
    return inflate(R * run.sampled(order, split.theta) + distance, 1e-13)


def poisson_renyi(
    run: SampledRun,
    split: Split,
    order: float,
    *,
    others: int,
    cap: int,
    offset: Callable[[Array], Array],
) -> float:
    """Theorem P for c = 1: the offset h(N) is averaged over N up to a cap.

    Beyond the cap only composition holds, with the probability that some batch exceeds it.
    """
    s2, R = split.theta * run.variance, split.horizon
    sizes = np.arange(cap + 1.0)
    weights = np.exp(_log_binomial(others, run.rate, sizes))
    spent = random_offsets(order * (order - 1.0) / (2.0 * s2) * offset(sizes), weights, R)
    distance = order * run.diameter**2 / (2.0 * s2 * R)
    good = R * run.sampled(order, split.theta) + distance + spent / (order - 1.0)
    bad = R * binomial_tail(others, run.rate, cap)
    return with_bad_event(order, inflate(good, 1e-12), bad, run.composed(order))


def with_bad_event(order: float, good: float, probability: float, otherwise: float) -> float:
    """`ln(e^((a-1) good) + p e^((a-1) otherwise))/(a-1)`, and never more than `otherwise`."""
    if probability == 0.0:
        return min(good, otherwise)
    excess = order - 1.0
    total = float(np.logaddexp(excess * good, math.log(probability) + excess * otherwise))
    return min(inflate(max(total / excess, good), 1e-14), otherwise)


def random_offsets(scaled: Array, weights: Array, horizon: int) -> float:
    """`sum_{r<=R} log(1 + E expm1(scaled/r))`: convex in r, so chords bound the tail."""
    if float(np.max(scaled)) == 0.0:
        return 0.0
    total, first = 0.0, 0
    while first < horizon:
        if first < _EXPLICIT:
            places = np.arange(first + 1.0, min(horizon, first + 256) + 1.0)
            total += float(np.sum(_log_mean(scaled, weights, places)))
            first += len(places)
            continue
        length = min(horizon - first, max(1, first // 512))
        ends = _log_mean(scaled, weights, np.array([first + 1.0, first + float(length)]))
        total += 0.5 * length * float(np.sum(ends))
        first += length
    return total


def _log_mean(scaled: Array, weights: Array, places: Array) -> Array:
    exponent = scaled[None, :] / places[:, None]
    top = np.maximum(np.max(exponent, axis=1), 0.0)
    if float(np.max(top)) < 600.0:
        return np.asarray(np.log1p(np.expm1(exponent) @ weights))
    with np.errstate(under="ignore"):
        shifted = np.exp(exponent - top[:, None]) - np.exp(-top)[:, None]
        inner = np.maximum(shifted @ weights, SMALLEST_POSITIVE)
        return np.asarray(np.logaddexp(0.0, top + np.log(inner)))


def _log_binomial(trials: int, rate: float, sizes: Array) -> Array:
    if rate >= 1.0:
        return np.where(sizes == trials, 0.0, -math.inf)
    choose = special.gammaln(trials + 1.0) - special.gammaln(sizes + 1.0)
    choose -= special.gammaln(trials - sizes + 1.0)
    return np.asarray(choose) + sizes * math.log(rate) + (trials - sizes) * math.log1p(-rate)
