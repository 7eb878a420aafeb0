"""What the verifier proves is above the truth as well: its own bounds face the same exact laws."""

import sys
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("flint")

from laws.gaussian import GaussianCase
from laws.line import QUADRATURE, hockey_stick
from laws.soundness import ROUNDING, corpus, stream
from wane.balls.arithmetic import as_float_up, ball, top
from wane.guarantees import GaussianDP
from wane.verify.judge import verifiers

EPSILONS = (0.0, 1.0)
SAMPLED = ("poisson", "fixed_size")
"""Their accounts are convolved in interval arithmetic, which takes a while."""


def bounds(case, *, sampled: bool):
    """Every theorem of the verifier that covers this run, with the facts that are true of it."""
    for name, theorem in verifiers().items():
        covers = isinstance(case.run, theorem.of)
        if covers and (sampled or not name.startswith(SAMPLED)):
            bound = theorem(case.run)
            if bound is not None:
                yield name, bound
    for fact in getattr(case, "facts", ()):
        for name, theorem in verifiers().items():
            if theorem.fact == fact.kind.value:
                bound = theorem(case.run, fact.value)
                if bound is not None:
                    yield name, bound


def exact_delta(case, epsilon: float) -> float:
    if isinstance(case, GaussianCase):
        return GaussianDP(float(np.max(case.mus)) * (1 - ROUNDING)).delta(epsilon) * (1 - 1e-9)
    return float(np.max(hockey_stick(*case.laws, epsilon))) - QUADRATURE


def judge(among, *, sampled: bool) -> tuple[Counter, dict[str, float]]:
    met: Counter = Counter()
    worst: dict[str, float] = {}
    for case in among:
        for name, bound in bounds(case, sampled=sampled):
            met[name] += 1
            for epsilon in EPSILONS:
                exact = exact_delta(case, epsilon)
                proven = as_float_up(top(bound.delta(ball(epsilon))))
                assert exact <= proven, (name, epsilon, exact, proven, case.run)
                if proven > 1e-5:
                    worst[name] = max(worst.get(name, 0.0), exact / proven)
    return met, worst


def test_the_verifier_proves_nothing_below_the_truth():
    met, worst = judge(corpus(240)[:120], sampled=False)
    assert min(met[name] for name in ("gaussian_composition", "last_iterate")) >= 10, met
    assert max(worst.values()) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("batches", ["poisson", "without-replacement"])
def test_the_verifier_proves_nothing_below_the_truth_of_sampled_runs(batches):
    """Few and short ones: a profile is convolved in interval arithmetic for every question."""
    short = (c for c in stream(seed=3) if c.run.batches.kind == batches and c.run.total_steps <= 3)
    met, worst = judge((next(short) for _ in range(6)), sampled=True)
    for name, count in sorted(met.items()):
        print(f"{name:26} {count:5d}  {worst.get(name, 0.0):.6f}", file=sys.stderr)
    prefix = "poisson" if batches == "poisson" else "fixed_size"
    assert met[f"{prefix}_composition"] and met[f"{prefix}_contraction"], met
