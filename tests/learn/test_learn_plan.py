"""The planner: private by certificate, blind to the data, and never worse for more steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wane.certificates import certify
from wane.describe import Adjacency, Cyclic, FullBatch, Poisson, ShuffledOnce
from wane.describe.domains import Ball
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.learn.plan import MOST_CHEAP_STEPS, MOST_STEPS, Problem, plan
from wane.losses import (
    Huber,
    Logistic,
    MultiSquared,
    OneVsRest,
    PoissonCounts,
    Quantile,
    SmoothedHinge,
    Softmax,
    SoftmaxClamp,
    SoftmaxEnvelope,
    Squared,
)
from wane.run import descend, seeded_generator_voids_privacy
from wane.run.linear import LinearSums

LINKS = (
    Logistic(),
    Softmax(4),
    SoftmaxClamp(4),
    SoftmaxEnvelope(10),
    OneVsRest(3),
    SmoothedHinge(),
    Squared(),
    Huber(0.25),
    Quantile(0.9, 0.1),
    MultiSquared(3),
    PoissonCounts(20.0),
)
DELTA = 1e-5


def problem(link=LINKS[0], records=1000, features=10, feature_norm=1.0):
    return Problem(link=link, records=records, features=features, feature_norm=feature_norm)


def planned(of, epsilon=1.0, adjacency=Adjacency.ZERO_OUT, **choices):
    return plan(of, epsilon=epsilon, delta=DELTA, adjacency=adjacency, **choices)


def margin_noise(run, feature_norm=1.0):
    """Deviation of the noise on a margin if nothing damps it."""
    s = float(run.gradient_noise_stds[0])
    return feature_norm * run.step_size * s * math.sqrt(run.total_steps)


@pytest.mark.parametrize("link", LINKS, ids=repr)
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("records", [50, 3000, 400_000])
def test_every_plan_is_private_and_spends_its_budget(link, adjacency, records):
    for epsilon in (0.1, 8.0):
        run = planned(problem(link, records, 20, 2.5), epsilon, adjacency)
        found = certify(run).epsilon(DELTA)
        assert 0.93 * epsilon <= found <= epsilon
        assert run.adjacency is adjacency and run.records == records
        assert run.steps <= MOST_CHEAP_STEPS + run.steps_per_epoch


def test_the_noise_is_what_the_model_says():
    run = planned(problem(records=426))
    assert isinstance(run.batches, FullBatch)
    prior = Logistic().prior
    assert margin_noise(run) == pytest.approx(prior.noise, rel=0.02)
    large = planned(problem(records=30_000, features=200))
    assert isinstance(large.batches, ShuffledOnce) and large.cool_down
    strength = 30_000 * GaussianDP.from_target(epsilon=1.0, delta=DELTA).mu
    expected = prior.noise * max(0.4, math.cbrt(prior.enough / strength))
    assert margin_noise(large) == pytest.approx(expected, rel=0.03)


def test_replacing_a_record_halves_the_strength():
    once = planned(problem(records=1000), adjacency=Adjacency.ZERO_OUT)
    twice = planned(problem(records=1000), adjacency=Adjacency.REPLACE_ONE)
    assert twice.steps * twice.step_size == pytest.approx(once.steps * once.step_size / 2, rel=0.02)


def test_units_of_the_features_do_not_matter():
    small, large = (planned(problem(feature_norm=r)) for r in (1.0, 7.0))
    assert large.steps == small.steps and large.batches == small.batches
    assert large.step_size * 49.0 == pytest.approx(small.step_size)
    assert margin_noise(large, 7.0) == pytest.approx(margin_noise(small))


def test_cut_short_it_clips_later():
    run = planned(problem(SoftmaxEnvelope(10), 10**6, 800), epsilon=8.0)
    usual = planned(problem(SoftmaxEnvelope(10), 1000, 64))
    assert run.steps <= MOST_STEPS + run.steps_per_epoch
    assert run.objective.gradient_bound > usual.objective.gradient_bound


@pytest.mark.parametrize("link", [Logistic(), SoftmaxEnvelope(10), Squared()], ids=repr)
def test_more_steps_add_no_noise(link):
    of = problem(link, records=400)
    few = planned(of)
    many = planned(of, steps=100 * few.steps, batches=FullBatch())
    assert margin_noise(many) <= 1.02 * margin_noise(few)
    assert many.steps * many.step_size == pytest.approx(few.steps * few.step_size, rel=0.02)


@pytest.mark.parametrize(
    "choices",
    [
        {"steps": 77},
        {"step_size": 0.5},
        {"step_size": 500.0},
        {"batches": Cyclic(100)},
        {"batches": FullBatch(), "steps": 30},
        {"clip": 0.05},
        {"ridge": 0.01, "cool_down": 0},
        {"cool_down": 3, "batches": Cyclic(10)},
        {"domain": Ball(4.0)},
    ],
    ids=str,
)
def test_what_is_chosen_is_kept(choices):
    run = planned(problem(), **choices)
    assert certify(run).epsilon(DELTA) <= 1.0
    for name, value in choices.items():
        if name == "clip":
            assert run.objective.gradient_bound == value
        elif name == "ridge":
            assert run.objective.ridge == value
        else:
            assert getattr(run, name) == value


@pytest.mark.slow
def test_random_batches_may_be_chosen_too():
    run = planned(problem(), batches=Poisson(100), steps=50)
    assert run.batches == Poisson(100) and run.cool_down == 0
    assert certify(run).epsilon(DELTA) <= 1.0


def test_unknown_choices_and_losses_are_refused():
    with pytest.raises(TypeError, match="speed"):
        planned(problem(), speed=3)
    with pytest.raises(InvalidDescription, match="steps"):
        planned(problem(), steps=0)
    with pytest.raises(InvalidDescription, match="step_size"):
        planned(problem(), step_size=-1.0)
    with pytest.raises(InvalidDescription, match="link"):
        planned(problem(object()))


def test_a_planned_run_learns():
    generator = np.random.default_rng(0)
    features = generator.standard_normal((3000, 5))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = np.sign(features @ [3.0, -2.0, 1.0, 0.0, 0.5])
    run = planned(problem(records=3000, features=5))
    sums = LinearSums(
        features,
        labels,
        Logistic(),
        feature_norm=1.0,
        gradient_bound=run.objective.gradient_bound,
    )
    weights = descend(run, sums, generator=seeded_generator_voids_privacy(1))
    assert np.mean(np.sign(features @ weights) == labels) > 0.95


def _tuning_rows(n=400):
    generator = np.random.default_rng(5)
    X = generator.standard_normal((n, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (X[:, 0] > 0).astype(int)


def test_tuning_prefers_what_works_on_public_rows():
    from wane.learn import PrivateLogisticRegression
    from wane.learn.tuning import PublicData, tuned

    base = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1], steps=1, step_size=1e-6)
    found = tuned(
        base,
        PublicData(*_tuning_rows()),
        records=2000,
        candidates=[{"step_size": 10.0, "steps": 50}],
        repeats=2,
    )
    assert (found.step_size, found.steps, found.epsilon) == (10.0, 50, 1.0)
    assert not hasattr(found, "coef_")


def test_tuning_by_itself_stays_near_the_plan():
    from wane.learn import PrivateLogisticRegression
    from wane.learn.tuning import PublicData, tuned

    base = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1])
    found = tuned(base, PublicData(*_tuning_rows()), records=800, repeats=1)
    assert found.step_size is None or found.steps >= 1


def test_tuning_on_private_rows_is_refused_with_the_reason():
    from wane.learn import PrivateLogisticRegression
    from wane.learn.tuning import PublicData, tuned

    base = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1])
    with pytest.raises(InvalidDescription, match="release which did best"):
        tuned(base, _tuning_rows(), records=100)
    with pytest.raises(InvalidDescription, match="at least 4 rows"):
        tuned(base, PublicData([[1.0]], [0]), records=100)
