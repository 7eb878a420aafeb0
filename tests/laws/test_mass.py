"""Cases drawn from meanings against every theorem; `scripts/soundness` runs many more."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from laws.draw import SHAPES, Case, cases, shapes
from laws.line import DIVERGENCE, QUADRATURE, TooFine, hockey_stick, renyi
from laws.plane import PlaneCase, plane_cases
from laws.purpose import one_more_record
from laws.soundness import Tally, corpus, run_pairs, stream, violations
from wane.describe import NoisyDescent
from wane.guarantees import GaussianDP
from wane.theorems.composition.statement import gaussian_composition
from wane.theorems.joint_programme.statement import last_iterate
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies

OF_DESCENT = {a.name for a in THEOREMS if a.of is NoisyDescent}
LEAST_MET = 50


def test_no_theorem_claims_less_than_the_truth():
    tally, rng = Tally(), np.random.default_rng(0)
    for case in corpus(240):
        tally.judge(case, rng)
    assert not tally.violations, tally.text()
    assert set(tally.rows) == OF_DESCENT, "every theorem must be met"


@pytest.mark.slow
def test_ten_thousand_pairs_and_every_theorem_fifty_times():
    """Prints how often each theorem was met and was the least, and its worst quotient."""
    tally, rng = Tally(), np.random.default_rng(1)
    for number, case in enumerate(stream(seed=1)):
        tally.judge(case, rng)
        met = [tally.rows[name].cases if name in tally.rows else 0 for name in OF_DESCENT]
        if tally.pairs >= 10_000 and min(met) >= LEAST_MET and number >= len(SHAPES):
            break
        assert number < 4_000, f"some theorem is hardly ever met:\n{tally.text()}"
    print(tally.text(), file=sys.stderr)
    assert not tally.violations, tally.text()
    # members that come close show that the run can fail
    for name in ("gaussian_composition", "last_iterate", "log_sobolev_dynamics"):
        assert tally.rows[name].worst > 0.99, tally.text()


def test_the_whole_product_is_drawn():
    """Every batch, adjacency, release and schedule, whether a theorem allows it or not."""
    source = shapes(np.random.default_rng(0))
    round_of_them = [next(source) for _ in range(2 * len(SHAPES))]
    assert set(round_of_them) == set(SHAPES)
    assert len(SHAPES) == 5 * 3 * 3 * 4


class Understated:
    """A theorem whose mu is too small by a little."""

    def __init__(self, inner, factor: float):
        self.inner, self.name, self.factor = inner, inner.name, factor

    def __call__(self, run, facts):
        verdict = self.inner(run, facts)
        if not isinstance(verdict, Applies) or not isinstance(verdict.guarantee, GaussianDP):
            return verdict
        return replace(verdict, conclusion=GaussianDP(verdict.guarantee.mu * self.factor))


@pytest.mark.parametrize("theorem", [gaussian_composition, last_iterate])
def test_an_understated_theorem_is_caught(theorem):
    found = violations([Understated(theorem, 0.99)], corpus(240))
    assert found[theorem.name]
    assert not violations([Understated(theorem, 1.0)], corpus(240))


def test_a_theorem_that_raises_is_reported():
    class Broken:
        name = "broken"

        def __call__(self, run, facts):
            raise ValueError("no")

    assert "raised" in violations([Broken()], corpus(240)[:1])["broken"][0]


def test_tallies_add_up():
    one, two = run_pairs(300, seed=1), run_pairs(300, seed=2)
    pairs = one.pairs + two.pairs
    theorem = "gaussian_composition"
    worst = max(one.rows[theorem].worst, two.rows[theorem].worst)
    met = one.rows[theorem].cases + two.rows[theorem].cases
    one.add(two)
    assert one.pairs == pairs
    assert one.rows[theorem].worst == worst
    assert one.rows[theorem].cases == met
    assert f"{pairs} pairs, 0 violations" in one.text()


def test_the_grid_is_as_accurate_as_it_says():
    source, compared = cases(np.random.default_rng(5)), 0
    for _ in range(60):
        case = next(source)
        finer = replace(case, line=replace(case.line, fineness=2.0))
        try:
            nodes = len(finer.line.states)
        except TooFine:
            continue
        levels = len(case.line.prox.levels)
        ends = np.arange(1, levels + 1)  # the atoms are states of both grids
        one = replace(case, starts=len(case.line.states) - ends)
        two = replace(finer, starts=nodes - ends)
        for epsilon in (0.0, 1.0):
            gap = hockey_stick(*one.laws, epsilon) - hockey_stick(*two.laws, epsilon)
            assert np.all(np.abs(gap) <= QUADRATURE / 2), case
        for order in (1.5, 10.0):
            exact = renyi(*two.laws, order)
            assert np.all(renyi(*one.laws, order) <= exact * (1 + DIVERGENCE) + DIVERGENCE), case
        compared += 1
    assert compared >= 40


def test_both_counts_of_others_are_drawn():
    """n against n - 1 and n + 1 against n: both are neighbours when a record comes or goes."""
    rng, sizes = np.random.default_rng(0), set()
    while len(sizes) < 2:
        case = one_more_record(rng)
        if isinstance(case, Case):
            sizes.add(len(case.first) - case.run.records)
    assert sizes == {0, 1}


def test_the_square_is_as_accurate_as_it_says():
    source = plane_cases(np.random.default_rng(6))
    for _ in range(12):
        case = next(source)
        corner = [replace(c, starts=np.array([len(c.states) - 1])) for c in (case, finer(case))]
        for epsilon in (0.0, 1.0):
            one, two = (hockey_stick(*c.laws, epsilon) for c in corner)
            assert np.all(np.abs(one - two) <= QUADRATURE / 2), case


def finer(case: PlaneCase) -> PlaneCase:
    return replace(case, fineness=1.6)
