"""Climbs towards a false claim find none, and come close where a theorem is tight."""

import sys
from collections import Counter

import numpy as np
import pytest

from laws.climb import GENES, FromGenes, Score, climb, counted, descent_score, score_of
from laws.gaussian import known_spread
from laws.purpose import curved_average
from laws.samplers import draw_kinetic, draw_sampled
from laws.test_samplers import judge_distance, judge_kinetic, judge_privacy
from wane.describe import NoisyDescent
from wane.theorems import registry

BATCHES = {
    "poisson_composition": ("poisson",),
    "poisson_last_iterate": ("poisson",),
    "poisson_contraction": ("poisson",),
    "fixed_size_composition": ("without-replacement",),
    "fixed_size_last_iterate": ("without-replacement",),
    "fixed_size_contraction": ("without-replacement",),
    "secret_order": ("shuffled-once",),
}
OF_FACTS = {"log_sobolev_dynamics": known_spread, "averaged_last_iterate": curved_average}
"""Theorems that need a fact of the run, and what makes a run with one."""
THEOREMS = [a for a in registry.THEOREMS if a.of is NoisyDescent]


LEAST_MET = 50


def climbed(analysis, evaluations: int, seed: int) -> list[float]:
    """The quotients at all points at which the theorem applied."""
    met: list[float] = []
    if analysis.name in OF_FACTS:
        draw = OF_FACTS[analysis.name]
        scores = [score_of(analysis, lambda genes: draw(FromGenes(genes)))]
    else:
        kinds = BATCHES.get(analysis.name, ("full", "cyclic"))
        scores = [descent_score(analysis, batches) for batches in kinds]
    for place, score in enumerate(scores):
        rng = np.random.default_rng([seed, place])
        climb(counted(score, met), GENES, rng, evaluations // len(scores))
    return met


@pytest.mark.parametrize("analysis", THEOREMS, ids=lambda a: a.name)
def test_a_short_climb_finds_nothing_false(analysis):
    assert climbed(analysis, 16, seed=0), "the theorem was never met"


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
    met: list[float] = []
    climb(counted(SAMPLERS[law], met), GENES, np.random.default_rng(4), 120)
    print(f"{law}: met {len(met)}, worst {max(met):.4f}", file=sys.stderr)
    assert len(met) >= LEAST_MET and max(met) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("analysis", THEOREMS, ids=lambda a: a.name)
def test_a_climb_finds_nothing_false(analysis):
    met = climbed(analysis, 120, seed=1)
    print(f"{analysis.name}: met {len(met)}, worst {max(met):.4f}", file=sys.stderr)
    assert len(met) >= LEAST_MET and max(met) > 0.05
