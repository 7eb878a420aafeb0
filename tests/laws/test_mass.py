"""Random pairs of descriptions and exact members; `scripts/soundness` runs many more."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from laws import soundness
from laws.chains import QUADRATURE, hockey_stick, random_chain, renyi
from laws.families import ALL_LOSSES, FAMILIES
from laws.mass import chunk, mass_run
from laws.soundness import Gaussians, Laws, Tally
from wane import certify
from wane.analyses import ANALYSES
from wane.describe import NoisyDescent
from wane.guarantees import GaussianDP

OF_DESCENT = {a.name for a in ANALYSES if a.of is NoisyDescent}


def test_a_thousand_pairs():
    tally = chunk(1_000, seed=3)
    assert tally.pairs >= 1_000
    assert set(tally.families) == set(FAMILIES)
    assert not tally.violations, tally.text()


@pytest.mark.slow
def test_sixty_thousand_pairs():
    """The size for every change; prints the worst ratio for each theorem."""
    tally = mass_run(60_000, seed=1)
    print(tally.text(), file=sys.stderr)
    assert tally.pairs >= 60_000
    assert not tally.violations, tally.text()
    assert set(tally.rows) == OF_DESCENT, "every theorem must be exercised"
    assert all(row.pairs >= 100 for row in tally.rows.values()), tally.text()
    # members that come close show that the run can fail
    for name in ("gaussian_composition", "last_iterate", "log_sobolev_dynamics", "secret_order"):
        assert tally.rows[name].worst > 0.99, tally.text()


class Understated:
    """A certificate of the same run with each mu, or each profile, too small by a little."""

    def __init__(self, run):
        self.applicable = [self._less(v) for v in certify(run).applicable]

    @staticmethod
    def _less(verdict):
        guarantee = verdict.guarantee
        if isinstance(guarantee, GaussianDP):
            return replace(verdict, guarantee=GaussianDP(guarantee.mu * 0.99))
        return verdict


def test_an_understated_certificate_is_caught(monkeypatch):
    monkeypatch.setattr(soundness, "certify", Understated)
    tally = Tally()
    rng = np.random.default_rng(0)
    for _ in range(40):
        tally.judge("linear", FAMILIES["linear"][1], rng)
        tally.judge("worst found", FAMILIES["worst found"][1], rng)
    assert any("last_iterate (linear)" in line for line in tally.violations)
    assert any("last_iterate (worst found)" in line for line in tally.violations)


def test_evidence_judges_laws_and_numbers():
    rng = np.random.default_rng(0)
    guarantee = GaussianDP(1.0)
    exact, certified = Gaussians(np.array([0.5, 1.1])).excess(guarantee, rng)[0]
    assert exact.max() > certified
    # two Gaussians 1.3 apart, rounded to cells, against a claim of mu = 1
    edges = np.linspace(-8, 9, 2000)
    laws = [
        soundness.masses_of_mixture(np.array([m]), np.ones(1), 1.0, edges)[None, :]
        for m in (0.0, 1.3)
    ]
    low, middle, _, *deltas = Laws(*laws).excess(guarantee, rng)  # of order 16 cells hide most
    assert all(exact.max() > certified for exact, certified in (low, middle, *deltas))
    assert all(e.max() <= c for e, c in Laws(*laws).excess(GaussianDP(1.3), rng))


def test_tallies_add_up():
    one, two = chunk(100, seed=1), chunk(100, seed=2)
    pairs = one.pairs + two.pairs
    theorem = "last_iterate"
    worst = max(one.rows[theorem].worst, two.rows[theorem].worst)
    one.add(two)
    assert one.pairs == pairs
    assert one.rows[theorem].worst == worst
    assert f"{pairs} pairs" in one.text()


@pytest.mark.parametrize("batches", ["full", "cyclic", "shuffled", "poisson", "fixed"])
def test_the_grid_is_as_accurate_as_it_says(batches):
    rng = np.random.default_rng(5)
    for _ in range(3):
        chain = random_chain(rng, batches, ALL_LOSSES, phases=rng.random() < 0.5, nodes=48)
        chain = replace(chain, cells=256)
        finer = replace(chain, nodes=128)
        ends = [[len(c.states) - 2, len(c.states) - 1] for c in (chain, finer)]
        one, two = chain.laws_from(ends[0]), finer.laws_from(ends[1])
        for order in (1.5, 16.0):
            exact = renyi(*two, order)
            assert np.all(np.abs(renyi(*one, order) - exact) <= QUADRATURE * (1 + exact))
        gap = hockey_stick(*one, 0.3) - hockey_stick(*two, 0.3)
        assert np.all(np.abs(gap) <= QUADRATURE)
