"""Plans of sampled runs: what is counted, capped and followed, against counting by hand."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from staircases import mp, near

from runs import make_run
from wane.describe import (
    Adjacency,
    GradientNoise,
    Objective,
    Phase,
    Poisson,
    Schedule,
    WithoutReplacement,
)
from wane.describe.domains import Diameter, Unbounded
from wane.guarantees import Pair
from wane.theorems.lemmas import sampled_plan
from wane.theorems.lemmas.loss_moduli import Batch, cool_down_modulus, modulus_in
from wane.theorems.lemmas.sampled_plan import SampledPlan, Use

LOSSES = Objective(gradient_bound=1.5, smoothness=0.5, strong_convexity=0.0)
PHASES = [
    Phase(5, 0.5, GradientNoise(0.5)),
    Phase(2, 0.5, GradientNoise(0.5), cool_down=True),
    Phase(3, 1.5, GradientNoise(0.25)),
    Phase(4, 1.0, GradientNoise(0.5)),
]


def plan(**changes):
    fields = {
        "objective": LOSSES,
        "records": 30,
        "batches": Poisson(4),
        "schedule": Schedule(PHASES),
        "domain": Diameter(1.0),
    }
    return SampledPlan(make_run(**(fields | changes)))


def tail(trials, rate, most):
    q = Fraction(rate)
    return sum(
        math.comb(trials, k) * q**k * (1 - q) ** (trials - k) for k in range(most + 1, trials + 1)
    )


@pytest.mark.parametrize(
    ("batches", "adjacency", "others", "seen", "hidden"),
    [
        (Poisson(4), Adjacency.REPLACE_ONE, 29, Pair.REPLACE, Pair.REPLACE),
        (Poisson(4), Adjacency.ZERO_OUT, 29, Pair.ADD_OR_REMOVE, Pair.ADD_OR_REMOVE),
        (Poisson(4), Adjacency.ADD_REMOVE, 30, Pair.ADD_OR_REMOVE, Pair.ADD_OR_REMOVE),
        (WithoutReplacement(4), Adjacency.REPLACE_ONE, 29, Pair.FIXED_SIZE, Pair.FIXED_SIZE),
        (WithoutReplacement(4), Adjacency.ZERO_OUT, 29, Pair.FIXED_SIZE, Pair.REPLACE),
    ],
)
def test_who_joins_a_batch_and_what_is_compared(batches, adjacency, others, seen, hidden):
    made = plan(batches=batches, adjacency=adjacency)
    assert made.rate == 4 / 30 and made.others == others
    assert made.poisson is isinstance(batches, Poisson)
    assert (made.pair(False), made.pair(True)) == (seen, hidden)
    for theta, pair in ((0.0, seen), (0.3, hidden)):
        atom = made.atom(0.7, theta)
        assert (atom.rate, atom.pair) == (4 / 30, pair)
        member = mp.mpf(made.run.gradient_member)
        assert near(atom.mu, member / (mp.mpf(0.7) * mp.sqrt(1 - mp.mpf(theta))), "2e-15")


def test_steps_by_level_of_noise():
    made = plan()
    assert made.levels.tolist() == [0.25, 0.5]
    steps = [
        (phase.noise.value, phase.uses_records) for phase in PHASES for _ in range(phase.repeat)
    ]
    horizons = np.arange(1.0, 15.0)
    expected = [
        [sum(used and std == level for std, used in steps[-int(n) :]) for n in horizons]
        for level in (0.25, 0.5)
    ]
    assert made.counts(horizons).tolist() == expected
    parts = {(atom.mu, count) for atom, count in made.composition().parts}
    assert parts == {(made.atom(0.25, 0.0).mu, 3), (made.atom(0.5, 0.0).mu, 9)}


def test_many_levels_are_rounded_down_to_a_few(monkeypatch):
    monkeypatch.setattr(sampled_plan, "MOST_LEVELS", 3)
    noises = [0.5, 0.51, 0.52, 0.9, 0.91]
    made = plan(schedule=Schedule([Phase(2, 0.5, GradientNoise(x)) for x in noises]))
    assert len(made.levels) <= 3 and made.levels[0] == 0.5
    counted = made.counts(np.array([10.0]))[:, 0]
    assert counted.sum() == 10.0
    assert all(level in noises for level in made.levels.tolist())
    assert float(made.levels @ counted) <= 2.0 * sum(noises)


@pytest.mark.parametrize("ridge", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("eta", [0.5, 4.0, 13.0, 40.0])
def test_the_largest_batch_that_never_expands(eta, ridge):
    made = plan(
        objective=replace(LOSSES, ridge=ridge),
        schedule=None,
        steps=5,
        step_size=eta,
        noise=GradientNoise(1.0),
        adjacency=Adjacency.ADD_REMOVE,
    )
    good = [
        most
        for most in range(31)
        if all(abs(1 - eta * (n / 4 * x + ridge)) <= 1 for n in (0, most) for x in (0.0, 0.5))
    ]
    assert made._steady == (max(good) if good else None)
    if good and max(good) == 30:
        assert made.cap(1e-9) == (30, 0.0)


@pytest.mark.parametrize("delta", [1e-3, 1e-7])
@pytest.mark.parametrize("followed", [None, 3])
def test_caps_are_exceeded_as_seldom_as_they_must(delta, followed):
    made = plan(objective=replace(LOSSES, smoothness=2.0))
    cap, exceeded = made.cap(delta, followed)
    allowed = Fraction(sampled_plan.FAILURE * delta) / (followed or 14)
    assert tail(29, 4 / 30, cap) <= allowed < tail(29, 4 / 30, cap - 1)
    exact = tail(29, 4 / 30, cap)
    assert exact <= Fraction(exceeded) <= exact * (1 + Fraction(1, 10**8))
    fixed = plan(batches=WithoutReplacement(4))
    assert fixed.cap(delta, followed) == (4, 0.0) and fixed.caps(delta) == [(4, 0.0)]


def test_caps_worth_trying(monkeypatch):
    """Rare ones for few and for all steps, and one at which no step expands, if affordable."""
    monkeypatch.setattr(sampled_plan, "FOLLOWED", (3, 14, 99))
    big = {"schedule": None, "steps": 14, "noise": GradientNoise(1.0), "step_size": 8.0}
    made = plan(**big)
    rare = [made.cap(1e-4, n) for n in (14, 3)]
    steady = made._steady
    assert steady == 2 and rare[0][0] > rare[1][0]
    assert made.caps(1e-4) == rare, "so small a cap is exceeded too often"
    assert made.caps(0.9)[:-1] == sorted({made.cap(0.9, n) for n in (3, 14)}, reverse=True)
    last = made.caps(0.9)[-1]
    assert last[0] == steady and last[1] == pytest.approx(float(tail(29, 4 / 30, 2)), rel=1e-8)
    far = plan(**big, domain=Unbounded())
    assert far.tracked and not made.tracked
    assert far.caps(1e-4) == [far.cap(1e-4)]
    tight = plan(**(big | {"step_size": 2.5}))
    assert tight._steady == 6
    cap, exceeded = tight.caps(1e-1)[-1]
    assert cap == min(6, next(k for k in range(30) if tail(29, 4 / 30, k) <= 0.05 / 14))
    assert exceeded == pytest.approx(float(tail(29, 4 / 30, cap)), rel=1e-8)


def test_stretches_share_the_noise_of_sampled_steps_only():
    for batches, least in ((Poisson(4), 0), (WithoutReplacement(4), 4)):
        made = plan(batches=batches, objective=replace(LOSSES, strong_convexity=0.3, ridge=0.1))
        for theta in (0.3, 1.0):
            for found, phase in zip(made.stretches(9, theta), PHASES, strict=True):
                share = theta if phase.uses_records else 1.0
                std = mp.mpf(phase.step_size) * mp.mpf(phase.noise.value)
                assert found.variance <= mp.mpf(share) * std**2
                assert found.variance == pytest.approx(share * float(std) ** 2, rel=2e-15)
                assert (found.count, found.shift) == (phase.repeat, 0.0)
                known = modulus_in(made.run, Batch(phase.step_size, 4, least, 9))
                if phase.cool_down:
                    known = cool_down_modulus(made.run.objective, phase.step_size)
                assert found.modulus == known


def test_failures_are_counted_for_the_steps_that_are_followed():
    near_by, far = plan(), plan(domain=Unbounded())
    assert near_by.failure(1e-3, 5) == pytest.approx(5e-3, rel=1e-11)
    assert near_by.failure(1e-3, 5) >= 5e-3
    assert far.failure(1e-3, 5) == pytest.approx(14e-3, rel=1e-11)
    for seldom in (1e-3, 0.7e-5, 1.3e-9):
        for n in range(1, 14):
            assert Fraction(near_by.failure(seldom, n)) >= n * Fraction(seldom)
    assert near_by.failure(0.4, 5) == 1.0 and near_by.failure(0.0, 5) == 0.0


def test_distances_before_the_last_steps():
    assert plan().distance(9, 3) == 1.0
    for batches, least in ((Poisson(4), 0), (WithoutReplacement(4), 3)):
        far = plan(batches=batches, domain=Unbounded())
        known = sampled_plan.tracked_distances(far.run, least, 9)
        assert [far.distance(9, n) for n in range(15)] == [known(14 - n) for n in range(15)]
        assert far.distance(9, 14) == 0.0 < far.distance(9, 13)


def test_the_best_use_has_the_least_epsilon_that_was_tried():
    """And what is certified is that use, steps, noise and failure alike."""
    made = plan(
        domain=Diameter(0.3),
        objective=replace(LOSSES, ridge=0.2),
        schedule=None,
        steps=400,
        step_size=1.0,
        noise=GradientNoise(0.5),
    )
    delta = 1e-5
    tried = [(*made.best_use(*cap, delta), *cap) for cap in made.caps(delta)]
    bound, use, cap, exceeded = min(tried, key=lambda row: row[0])
    assert isinstance(use, Use)
    member = made.member(delta)
    assert member.epsilon(delta) <= bound * (1.0 + 1e-9)
    assert member.epsilon(delta) < 0.7 * made.composition().epsilon(delta)
    hidden, seen = member.inner.parts
    assert member.probability == made.failure(exceeded, seen[1])
    assert seen[0].mu == made.atom(0.5, use.theta).mu and hidden[1] == 1
    found = sampled_plan.solve(
        [replace(made.stretches(cap, use.theta)[0], count=use.horizon)],
        lambda n: made.distance(cap, n),
    )
    assert seen[1] == found.steps
    assert near(mp.mpf(hidden[0].mu) ** 2, mp.mpf(found.value), "4e-15")
    orders = [1.0 + excess for excess in sampled_plan.EXCESSES]
    for order in orders[::5]:
        whole = made.composition().renyi(order)
        assert made.divergence(order) <= whole
    whole = made.composition().renyi(2.0)
    for choice in made.caps(1e-9):
        assert made.divergence(2.0) <= made._divergence(2.0, *choice, whole)
    assert made.divergence(2.0) < 0.9 * made.composition().renyi(2.0)
