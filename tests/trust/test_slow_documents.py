"""Documents of long, finely scheduled or hopeless runs take seconds; the figures are printed."""

import json
import time

import pytest

from trust.tally import COUNTS
from wane import (
    Ball,
    Cyclic,
    GradientNoise,
    Iterates,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    ShuffledOnce,
    certify,
)
from wane.certificates import certificate_document

CONVEX = Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0, ridge=0.01)
STUCK = 100.0
"""Processor seconds after which something is wrong again: these took minutes once."""


def descent(**changes):
    known = {"objective": CONVEX, "records": 10_000, "step_size": 0.5, "noise": GradientNoise(0.01)}
    return NoisyDescent(**{**known, **changes})


CASES = {
    "Poisson, 1e12 steps": lambda: descent(steps=10**12, batches=Poisson(100)),
    "200 noises in a ball": lambda: NoisyDescent(
        objective=CONVEX,
        records=10_000,
        batches=Poisson(100),
        domain=Ball(5.0),
        schedule=[Phase(100, 0.5, GradientNoise(0.01 + n / 1e4)) for n in range(200)],
    ),
    "shuffled once, 500,000 steps": lambda: descent(
        records=1000, steps=500_000, batches=ShuffledOnce(1)
    ),
    "20,000 released iterates": lambda: descent(
        steps=40_000, batches=Cyclic(100), release=Iterates(tuple(range(2, 40_001, 2)))
    ),
    "mu of one step 200": lambda: descent(
        steps=100, batches=Poisson(100), noise=NoiseMultiplier(0.005)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_document_is_written_in_seconds(name):
    began = time.process_time()
    document = certificate_document(certify(CASES[name]()), delta=1e-5)
    took = time.process_time() - began
    json.dumps(document, allow_nan=False)
    assert took < STUCK
    COUNTS[f"milliseconds for the document of {name}"] += round(1000 * took)
