"""Descriptions at the ends of the floats: a bound or a refusal in words, no NaN, no warning."""

import math
import random
from dataclasses import replace

import pytest

from runs import possible
from trust.tally import COUNTS
from wane import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    GradientNoise,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Poisson,
    ShuffledOnce,
    Temperature,
    WithoutReplacement,
    certify,
)
from wane.describe.domains import Ball, Unbounded
from wane.errors import WaneError

SMALLEST, LARGEST, MOST_STEPS = -300.0, 300.0, 10**12
DELTAS = (1e-300, 1e-15, 1e-5, 0.5)


def extreme(chance: random.Random) -> float:
    """A positive number of any size, sometimes at the very end or next to one."""
    special = (1e-300, 1e300, 1.0, 1.0 - 1e-15, 1.0 + 1e-15, 5e-324, 1e-16)
    if chance.random() < 0.25:
        return chance.choice(special)
    if chance.random() < 0.5:
        return 10.0 ** chance.uniform(-3.0, 3.0)
    return 10.0 ** chance.uniform(SMALLEST, LARGEST)


def count(chance: random.Random, most: int) -> int:
    return max(1, min(most, int(10.0 ** chance.uniform(0.0, math.log10(most)))))


def described(chance: random.Random) -> NoisyDescent:
    """Any description: constants unrelated, or a contraction within 1e-15 of 1."""
    records = count(chance, 10**9)
    smoothness = extreme(chance)
    convexity = chance.choice([0.0, 0.0, smoothness, smoothness * 1e-15, -smoothness])
    step = extreme(chance)
    ridge = chance.choice([0.0, 0.0, extreme(chance)])
    if chance.random() < 0.4:  # c = 1 - step * (convexity + ridge), a hair from 1 or from 0
        step = chance.choice([1.0, 2.0, 1.0 - 1e-15, 1e-15]) / smoothness
        ridge = chance.choice([0.0, 1e-15 * smoothness, 2e-15 * smoothness])
    size = count(chance, records)
    (batches,) = chance.choices(
        [FullBatch(), Cyclic(size), ShuffledOnce(size), Poisson(size), WithoutReplacement(size)],
        [55, 43, 1, 0.5, 0.5],  # the last three are computed numerically, some for a minute
    )
    noise = chance.choice([GradientNoise, NoiseMultiplier, Temperature])(extreme(chance))
    more = {"release": EveryIterate()} if chance.random() < 0.1 else {}
    domain = Ball(extreme(chance)) if chance.random() < 0.3 else Unbounded()
    return NoisyDescent(
        objective=possible(
            Objective(
                gradient_bound=extreme(chance),
                smoothness=smoothness,
                strong_convexity=convexity,
                ridge=ridge,
            ),
            domain.diameter,
        ),
        records=records,
        steps=count(chance, MOST_STEPS),
        step_size=step,
        noise=noise,
        batches=batches,
        domain=domain,
        adjacency=chance.choice(list(Adjacency)),
        **more,
    )


def louder(run: NoisyDescent) -> NoisyDescent:
    """The same with more noise."""
    (name,) = vars(run.noise)
    return replace(run, noise=replace(run.noise, **{name: getattr(run.noise, name) * 4.0}))


def epsilon(run: NoisyDescent, delta: float) -> float:
    found = certify(run).epsilon(delta)
    assert found >= 0.0, "also refuses NaN"
    return found


def fuzz(seed: int, inputs: int) -> tuple[int, int]:
    chance = random.Random(seed)
    refused = bounded = 0
    for _ in range(inputs):
        delta = chance.choice(DELTAS)
        state = chance.getstate()
        try:
            run = described(chance)
            found = epsilon(run, delta)
            more = epsilon(louder(run), delta)
        except WaneError as error:
            refused += 1
            assert "\n" not in str(error)
            continue
        except Exception as error:  # anything else is a defect: say where
            chance.setstate(state)
            raise AssertionError(
                f"{type(error).__name__}: {error} for {described(chance)}"
            ) from error
        assert more <= found * (1.0 + 1e-9), (run, found, more)
        bounded += math.isfinite(found)
    COUNTS["extreme descriptions"] += inputs
    COUNTS["extreme descriptions refused in words"] += refused
    return refused, bounded


def test_extreme_descriptions():
    _, bounded = fuzz(1, 60)
    assert bounded > 10


@pytest.mark.slow
def test_a_thousand_extreme_descriptions():
    inputs = 1000
    _, bounded = fuzz(2, inputs)
    assert bounded > inputs // 20
