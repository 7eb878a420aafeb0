"""Climbs towards a false claim find none, and come close where a theorem is tight."""

import sys
from collections import Counter

import numpy as np
import pytest

from laws.climb import GENES, FromGenes, Score, climb, descent_score
from laws.samplers import draw_kinetic, draw_sampled
from laws.test_samplers import judge_distance, judge_kinetic, judge_privacy
from wane.describe import NoisyDescent
from wane.theorems.registry import ANALYSES

BATCHES = {
    "poisson_composition": ("poisson",),
    "poisson_last_iterate": ("poisson",),
    "poisson_contraction": ("poisson",),
    "fixed_size_composition": ("without-replacement",),
    "fixed_size_last_iterate": ("without-replacement",),
    "fixed_size_contraction": ("without-replacement",),
    "secret_order": ("shuffled-once",),
}
OF_FACTS = {"log_sobolev_dynamics", "averaged_last_iterate"}
"""They need a fact of the run: laws/gaussian.py and laws/purpose.py draw those."""
THEOREMS = [a for a in ANALYSES if a.of is NoisyDescent and a.name not in OF_FACTS]


def climbed(analysis, evaluations: int, seed: int) -> float:
    kinds = BATCHES.get(analysis.name, ("full", "cyclic"))
    return max(
        climb(
            descent_score(analysis, batches),
            GENES,
            np.random.default_rng([seed, place]),
            evaluations // len(kinds),
        )
        for place, batches in enumerate(kinds)
    )


@pytest.mark.parametrize("analysis", THEOREMS, ids=lambda a: a.name)
def test_a_short_climb_finds_nothing_false(analysis):
    assert climbed(analysis, 16, seed=0) > 0.0, "the theorem was never met"


def sampler_score(judge, draw) -> Score:
    """The largest quotient that a law of samplers sees; the law itself asserts."""

    def score(genes: np.ndarray) -> float:
        case = draw(FromGenes(genes))
        if case is None:
            return 0.0
        worst: dict[str, float] = {}
        judge(case, Counter(), worst)
        return max(worst.values(), default=0.0)

    return score


SAMPLERS = {
    "privacy of samples": sampler_score(judge_privacy, draw_sampled),
    "distance to the target": sampler_score(judge_distance, draw_sampled),
    "underdamped samples": sampler_score(judge_kinetic, draw_kinetic),
}


@pytest.mark.parametrize("law", SAMPLERS)
def test_a_short_climb_of_samplers_finds_nothing_false(law):
    assert climb(SAMPLERS[law], GENES, np.random.default_rng(3), 12) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("law", SAMPLERS)
def test_a_climb_of_samplers_finds_nothing_false(law):
    best = climb(SAMPLERS[law], GENES, np.random.default_rng(4), 120)
    print(f"{law}: {best:.4f}", file=sys.stderr)
    assert best > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("analysis", THEOREMS, ids=lambda a: a.name)
def test_a_climb_finds_nothing_false(analysis):
    best = climbed(analysis, 120, seed=1)
    print(f"{analysis.name}: {best:.4f}", file=sys.stderr)
    assert best > 0.05
