"""No certificate is below the exact law of any member of the class it speaks of."""

import math
from itertools import pairwise

import numpy as np
import pytest

from laws.gaussian import gaussian_cases
from laws.soundness import Tally
from wane.theorems.lemmas.programme import Pool, constant_block


def check(cases: int, seed: int) -> float:
    tally, rng = Tally(), np.random.default_rng(seed)
    source = gaussian_cases(rng)
    for _ in range(cases):
        tally.judge(next(source), rng)
    assert not tally.violations, tally.text()
    return tally.rows["last_iterate"].worst


def test_gaussian_chains():
    """Thousands of members: lines under a ridge, known spreads, travellers."""
    assert check(60, seed=1) == pytest.approx(1.0, abs=1e-6), "some instance should come close"


@pytest.mark.slow
def test_many_gaussian_chains():
    assert check(600, seed=2) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(300))
def test_a_linear_instance_attains_the_programme(seed):
    """The chain whose factors are shrunk at block borders has exactly the programme's mu."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 25))
    s = 10 ** rng.uniform(-2, 1, T)
    c = rng.choice([0.5, 0.9, 1.0, 1.1, 2.0], T) * rng.uniform(0.9, 1.1, T)
    v = 10 ** rng.uniform(-1, 1, T)
    pool = Pool()
    for k in range(T):
        pool.push(constant_block(math.log(s[k]), math.log(c[k]), 0.5 * math.log(v[k]), 1))
    assert _tight_chain(s, c, v) == pytest.approx(pool.mu_squared, rel=1e-9)


def _tight_chain(s, c, v):
    """Build the attaining one-dimensional chain and return its exact squared mu."""
    blocks: list[list[float]] = []  # [first step, A, V, P]
    for k in range(len(s)):
        new = [k, s[k], v[k], c[k]]
        while blocks and blocks[-1][1] * new[2] >= new[3] * new[1] * blocks[-1][2]:
            k0, A, V, P = blocks.pop()
            new = [k0, new[3] * A + new[1], new[3] ** 2 * V + new[2], P * new[3]]
        blocks.append(new)
    factors = list(c)
    for before, block in pairwise(blocks):
        _, A1, V1, _ = before
        first, A2, V2, P2 = block
        shrunk = A1 * V2 / (A2 * V1)  # enter with a smaller product, so that nothing is lost
        assert shrunk <= P2 * (1 + 1e-12)
        factors[first] *= shrunk / P2
        block[1], block[2] = A2 + shrunk * A1, V2 + shrunk**2 * V1
    mean = var = 0.0
    for factor, shift, noise in zip(factors, s, v, strict=True):
        assert factor >= 0
        mean, var = factor * mean + shift, factor**2 * var + noise
    return mean**2 / var
