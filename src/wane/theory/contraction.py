"""Contraction of hockey-stick divergences by one noisy step on a bounded set.

Two runs on a set of diameter D are at most `r = phi(D)/(eta s)` noise deviations apart after the
gradient step, so the step's Markov kernel contracts the hockey-stick divergence of order e^eps by
the divergence of two Gaussians that far apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wane.describe.batches import Poisson
from wane.describe.descent import NoisyDescent
from wane.describe.threat import Adjacency
from wane.numerics.normal import gaussian_delta
from wane.numerics.rounding import inflate
from wane.theory.loss_moduli import Batch, cool_down_modulus, step_modulus
from wane.theory.sampled_steps import binomial_tail

Array = NDArray[np.float64]

DEVIATIONS = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 14.0)
"""Where random batch sizes are cut into bins, in standard deviations from their mean."""


def recursion(carried: float, fresh: float, rate: float, steps: int, start: float = 0.0) -> float:
    """`steps` times `delta <- (1-q) theta delta + q theta'`, rounded up.

    `carried` is theta, the contraction where the record is not in the batch; `fresh` is theta',
    the divergence where it is.
    """
    x = carried * (1.0 - rate) * (1.0 + 4e-16)
    if x >= 1.0:
        faded, series = 1.0, float(steps)
    elif x <= 0.0:
        faded, series = 0.0, 1.0
    else:
        exponent = steps * math.log(x)
        faded, series = math.exp(exponent), math.expm1(exponent) / (x - 1.0)
    return min(inflate(faded * start + rate * fresh * series, 1e-12), 1.0)


@dataclass(frozen=True)
class Kind:
    """Equal steps: weights and separations, in deviations of the noise, of the batch sizes."""

    count: int
    rate: float
    weights: Array
    common: Array
    differing: Array

    def then(self, epsilon: float, start: float) -> float:
        """Delta after these steps."""
        carried = float(np.dot(self.weights, gaussian_delta(epsilon, self.common)))
        fresh = float(np.dot(self.weights, gaussian_delta(epsilon, self.differing)))
        up = 1.0 + 1e-12
        return recursion(min(carried * up, 1.0), min(fresh * up, 1.0), self.rate, self.count, start)


def kinds_of(run: NoisyDescent) -> list[Kind]:
    """The run's phases; a separation is infinite where nothing bounds it."""
    made = []
    for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        eta, noise = phase.step_size, phase.step_size * std
        if phase.cool_down:
            gap = np.array([cool_down_modulus(run.objective, eta)(run.domain.diameter) / noise])
            made.append(Kind(phase.repeat, 0.0, np.ones(1), gap, gap))
            continue
        weights, ranges = _batch_sizes(run)
        common = np.array([_gap(run, eta, *pair[0]) for pair in ranges]) / noise
        shift = eta * (run.gradient_sensitivity or math.inf)
        differing = np.array([_gap(run, eta, *pair[1]) + shift for pair in ranges]) / noise
        up = 1.0 + 4e-16
        rate = run.batch_size / run.records
        made.append(Kind(phase.repeat, rate, weights, common * up, differing * up))
    return made


def delta_after(kinds: list[Kind], epsilon: float) -> float:
    """Delta at this epsilon after all phases."""
    delta = 0.0
    for kind in kinds:
        delta = kind.then(epsilon, delta)
    return delta


Range = tuple[int, int]


def _batch_sizes(run: NoisyDescent) -> tuple[Array, list[tuple[Range, Range]]]:
    """Weights, and ranges of the number of common records without and with the differing one."""
    b = run.batch_size
    if not isinstance(run.batches, Poisson):
        return np.ones(1), [((b, b), (b - 1, b - 1))]
    trials = run.records if run.adjacency is Adjacency.ADD_REMOVE else run.records - 1
    rate = b / run.records
    spread = math.sqrt(trials * rate * (1.0 - rate))
    cuts = sorted({min(max(math.ceil(trials * rate + d * spread), 0), trials) for d in DEVIATIONS})
    cuts = cuts if cuts[-1] == trials else [*cuts, trials]
    tails = [1.0, *(binomial_tail(trials, rate, cut) for cut in cuts)]
    weights = np.maximum(-np.diff(tails), 0.0) + 2e-10 * np.array(tails[:-1])
    lows = [0, *(cut + 1 for cut in cuts[:-1])]
    ranges = [(low, cut) for low, cut in zip(lows, cuts, strict=True)]
    return weights, [(pair, pair) for pair in ranges]


def _gap(run: NoisyDescent, eta: float, least: int, most: int) -> float:
    modulus = step_modulus(run.objective, Batch(eta, run.batch_size, least, most))
    return math.inf if modulus is None else modulus(run.domain.diameter)
