"""Climbs over concrete statistics, maps, diffusions and kernels find no false claim."""

import sys
from collections import Counter

import numpy as np
import pytest

from laws.climb import FromGenes, Score, climb
from laws.mechanism_cases import MECHANISMS

GENES = 48
LEAST_MET = 50
SMALLEST = 1e-4
"""Quotients of numbers below say nothing."""
SLOW = {"chains": 60, "once_used": 80, "reflected": 120}
"""Evaluations of those that take long; the others get many."""
CLOSE = {"reflected": 0.5, "amplified": 0.7}
"""How close the climb comes where the mechanism's claim is not attained by what is climbed."""


def score_of(name: str, met: Counter, worst: dict[str, float]) -> Score:
    """The largest quotient of exact to claimed; a false claim fails at once."""

    def score(genes: np.ndarray) -> float:
        best = 0.0
        for what, exact, claimed in MECHANISMS[name](FromGenes(genes)):
            assert exact <= claimed, (name, what, exact, claimed, genes.tolist())
            met[what] += 1
            if claimed > SMALLEST:
                quotient = exact / claimed
                worst[what] = max(worst.get(what, 0.0), quotient)
                best = max(best, quotient)
        return best

    return score


def climbed(name: str, evaluations: int, seed: int) -> tuple[Counter, dict[str, float], float]:
    met, worst = Counter(), {}
    best = climb(score_of(name, met, worst), GENES, np.random.default_rng(seed), evaluations)
    return met, worst, best


def judged(name: str, evaluations: int, seed: int, capsys) -> None:
    met, worst, best = climbed(name, evaluations, seed)
    with capsys.disabled():
        for what, count in met.items():
            print(f"{name}, {what}: met {count}, worst {worst[what]:.6f}", file=sys.stderr)
    assert min(met.values()) >= LEAST_MET, met
    assert min(worst.values()) > 0.5, "half of some claim would go unnoticed"
    assert best > CLOSE.get(name, 0.9)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_climb_of_mechanisms_finds_nothing_false(name, capsys):
    judged(name, SLOW.get(name, 300), 5, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_long_climb_of_mechanisms_finds_nothing_false(name, capsys):
    judged(name, 10 * SLOW.get(name, 300), 6, capsys)
