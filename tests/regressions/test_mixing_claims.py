"""Claims on how chains forget that were below the truth, each against an exact law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

import wane
from wane.mixing import forgotten, mixing


def test_rare_large_batches_count_in_the_divergence_of_a_block() -> None:
    """The batch is drawn without a look at the state; the modulus was that of up to 22 of 40."""
    eta, std, ridge, n, b = 1.8179089183423882, 3.064691710663124, 0.14969664603307253, 40, 5
    run = wane.NoisyDescent(
        objective=wane.Objective(
            gradient_bound=2.0, smoothness=1.0, strong_convexity=0.0, ridge=ridge
        ),
        records=n,
        steps=1,
        step_size=eta,
        noise=wane.IterateNoise(std),
        batches=wane.Poisson(b),
        domain=wane.Ball(1.0),
    )
    found = mixing(run, 0.03)
    assert found.block == 1
    # every loss is |x|^2/2, and the copies start at 1 and -1: a mixture over the batch's size
    sizes = np.arange(n + 1.0)
    chances = stats.binom.pmf(sizes, n, b / n)
    mean = 1.0 - eta * (sizes / b + ridge)
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def density(x: np.ndarray, sign: float) -> np.ndarray:
        apart = (x[:, None] - sign * mean[None, :]) / std
        return np.asarray(np.exp(-0.5 * apart**2) @ chances / (std * math.sqrt(2.0 * math.pi)))

    low, high = (float(chances @ special.ndtr(-(1.0 + sign * mean) / std)) for sign in (1, -1))
    one, other = density(nodes, 1.0), density(nodes, -1.0)
    assert weights @ one + low + high == pytest.approx(1.0, abs=1e-12)
    kl = weights @ (one * np.log(one / other)) + (low - high) * math.log(low / high)
    assert 0.18 < kl <= found.kl < 10.0 * kl
    tv = 0.5 * (weights @ np.abs(one - other) + 2.0 * abs(low - high))
    assert tv <= found.block_tv < 1.0


def test_sizes_of_which_nothing_is_known_leave_the_divergence_open() -> None:
    """Only empty batches are known to shrink: nobody said how much a record's gradient changes."""
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_difference_bound=1.0, ridge=1.0),
        records=1000,
        steps=1,
        step_size=1.0,
        noise=wane.IterateNoise(1.0),
        batches=wane.Poisson(1),
        domain=wane.Ball(1.0),
    )
    assert forgotten(run, 3).kl == math.inf and forgotten(run, 3).tv == 1.0
    assert mixing(run, 0.9).kl == math.inf
