"""Audits of real runs: broken trainers are caught, the real one is not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from wane import (
    Adjacency,
    Ball,
    Cyclic,
    GaussianDP,
    GradientNoise,
    InvalidDescription,
    Iterates,
    NoisyDescent,
    Poisson,
    ShuffledOnce,
    certify,
    losses,
)
from wane.audit.measured import audit_one_run, audit_release, canary_pair, replay
from wane.audit.measured.evidence import evidence_of, rate_at_least, rate_at_most
from wane.audit.measured.one_run import chance_of, one_run_epsilon
from wane.run import descend

TRIALS = 6000


def described(**changes) -> NoisyDescent:
    run = NoisyDescent(
        objective=losses.logistic(1.0, ridge=0.5),
        records=20,
        steps=12,
        step_size=1.0,
        noise=GradientNoise(0.06),
        adjacency=Adjacency.ZERO_OUT,
    )
    return replace(run, **changes)


def trainers(run: NoisyDescent, claimed: NoisyDescent | None = None):
    """Both trainers of a run, on canaries made for what is claimed of it."""

    def trainer(sums):
        return lambda generator: descend(run, sums, generator=generator)

    return tuple(trainer(sums) for sums in canary_pair(claimed or run))


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    [
        described(),
        described(adjacency=Adjacency.REPLACE_ONE),
        described(batches=Cyclic(5)),
        described(batches=Poisson(5)),
        described(batches=ShuffledOnce(5)),
        described(domain=Ball(0.3)),
        described(cool_down=2),
    ],
    ids=["full", "replace", "cyclic", "poisson", "shuffled", "ball", "cool-down"],
)
def test_the_real_trainer_is_not_caught(run):
    evidence = audit_release(*trainers(run), trials=TRIALS, seed=1)
    best = certify(run).best().guarantee
    assert not evidence.refutes(best)
    assert evidence.epsilon(1e-5) <= best.epsilon(1e-5)


def test_the_audit_comes_close_where_the_bound_is_tight():
    run = described()
    evidence = audit_release(*trainers(run), trials=TRIALS, seed=2)
    assert 0.85 * certify(run).mu < evidence.mu <= certify(run).mu


def broken_noise(claimed):
    return trainers(claimed.noise_scaled(0.8), claimed)


def broken_sensitivity(claimed):
    """The sum is divided by half the batch: everything moves twice as far."""

    class Doubled:
        def __init__(self, inner):
            self.inner = inner
            self.records, self.shape = inner.records, inner.shape
            self.gradient_bound = inner.gradient_bound

        def __call__(self, parameters, rows):
            return 2.0 * self.inner(parameters, rows)

    def trainer(sums):
        return lambda generator: descend(claimed, sums, generator=generator)

    return tuple(trainer(Doubled(sums)) for sums in canary_pair(claimed))


def broken_release(claimed):
    last = claimed.total_steps
    return trainers(replace(claimed, release=Iterates((last - 1, last))), claimed)


@pytest.mark.parametrize("broken", [broken_noise, broken_sensitivity, broken_release])
def test_a_broken_trainer_is_caught(broken):
    claimed = described()
    evidence = audit_release(*broken(claimed), trials=TRIALS, seed=3)
    assert evidence.refutes(certify(claimed).best().guarantee)
    assert evidence.mu > certify(claimed).mu


def test_replay_sees_the_declared_sensitivity_and_no_steering():
    run = described(batches=Poisson(5))
    seen = replay(run, *canary_pair(run), seed=4)
    assert seen.as_declared
    assert seen.largest_move == pytest.approx(run.gradient_sensitivity)
    assert seen.steps == 2 * run.total_steps


def test_replay_catches_a_record_that_pushes_too_hard():
    run = described()
    present, absent = canary_pair(run)
    assert not replay(run, replace(present, push=1.01 * present.push), absent).as_declared


def test_replay_catches_data_that_steer_the_randomness():
    run = described()
    present, absent = canary_pair(run)

    def nosy(run, sums, *, generator):
        if sums(np.zeros(2), slice(0, 20))[0] > 0:
            generator.random()
        return descend(run, sums, generator=generator)

    assert not replay(run, present, absent, runner=nosy).same_control_flow


def test_clopper_pearson_covers():
    for trials, p in ((50, 0.1), (200, 0.9), (30, 0.5)):
        hits = np.arange(trials + 1)
        weights = stats.binom(trials, p).pmf(hits)
        low = np.array([rate_at_least(int(h), trials, 0.05) for h in hits])
        high = np.array([rate_at_most(int(h), trials, 0.05) for h in hits])
        assert weights[low > p].sum() <= 0.05
        assert weights[high < p].sum() <= 0.05
        assert weights[low > p].sum() > 0.005  # not merely zero


def test_evidence_is_valid_with_its_confidence():
    """Two Gaussians at distance one: mu is bounded below by more than one in few repetitions."""
    generator = np.random.default_rng(5)
    failures = 0
    for _ in range(300):
        scores = generator.standard_normal((2, 400))
        found = evidence_of(scores[0] + 1.0, scores[1], np.array([0.5, 1.5]), confidence=0.9)
        failures += found.refutes(GaussianDP(1.0))
        assert found.mu >= 0.0
    assert failures <= 0.1 * 300


def test_one_run_bound_matches_its_own_law():
    """Against randomised response, which attains the bound at delta 0, it fails as promised."""
    epsilon, guesses = 1.0, 100
    law = stats.binom(guesses, math.exp(epsilon) / (1 + math.exp(epsilon)))
    found = [
        one_run_epsilon(v, guesses=guesses, canaries=guesses, delta=0.0, confidence=0.95)
        for v in range(guesses + 1)
    ]
    assert found == sorted(found)
    wrong = sum(law.pmf(v) for v, e in enumerate(found) if e > epsilon)
    assert 0.0 < wrong <= 0.05


def test_one_run_pays_for_delta():
    assert chance_of(80, 100, 1000, 0.5, 1e-3) > chance_of(80, 100, 1000, 0.5, 0.0)
    assert chance_of(80, 100, 1000, 0.5, 1e-3) <= 1.0


def test_one_run_catches_a_trainer_without_noise_and_spares_the_real_one():
    canaries, bound = 200, 1.0

    def train(noise_std):
        def run(included, generator):
            return bound * included + noise_std * generator.standard_normal(canaries)

        return run

    # every canary has a coordinate of its own, so each sees the same Gaussian mechanism
    claimed = GaussianDP(bound / 4.0)
    options = {"canaries": canaries, "guesses": 100, "delta": 1e-5, "seed": 6}
    honest = audit_one_run(train(4.0), lambda release: release, **options)
    cheat = audit_one_run(train(0.05), lambda release: release, **options)
    assert honest.epsilon <= claimed.epsilon(1e-5) < cheat.epsilon


def test_bad_arguments_are_named():
    run = described()
    with pytest.raises(InvalidDescription, match="trials"):
        audit_release(*trainers(run), trials=3)
    with pytest.raises(InvalidDescription, match="confidence"):
        audit_release(*trainers(run), trials=40, confidence=1.0)
    with pytest.raises(InvalidDescription, match="one shape"):
        audit_release(lambda g: np.zeros(2), lambda g: np.zeros(3), trials=40)
    strongly = replace(run.objective, strong_convexity=0.1)
    with pytest.raises(InvalidDescription, match="ridge"):
        canary_pair(described(objective=strongly))
