"""Sampling estimators: what they ask the planner for, and what they make of the samples."""

import numpy as np
import pytest

from wane.describe import Adjacency
from wane.errors import InvalidDescription

pytest.importorskip("sklearn")

from wane.sampling import (
    PosteriorLinearRegression,
    PosteriorLogisticRegression,
    PosteriorMean,
    estimators as base,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (300, 2)) / 2.0
NUMBERS = X @ np.array([1.0, -0.5])
QUICK = {"step_size": 0.5, "steps": 20, "prior_precision": 10.0, "seed_voids_privacy": 1}


@pytest.fixture
def wished(monkeypatch):
    """What the planner is asked, before it answers as it does."""
    asked = []
    plan = base.plan_posterior

    def record(posterior, wish):
        asked.append((posterior, wish))
        return plan(posterior, wish)

    monkeypatch.setattr(base, "plan_posterior", record)
    return asked


def test_settings_that_nobody_gave_are_the_documented_ones():
    for kind, prior in (
        (PosteriorMean, 0.0),
        (PosteriorLinearRegression, 1.0),
        (PosteriorLogisticRegression, 1.0),
    ):
        made = kind().get_params()
        assert (made["epsilon"], made["delta"], made["feature_norm"]) == (1.0, 1e-5, 1.0)
        assert (made["n_samples"], made["order"], made["distance"]) == (1, 2.0, 0.1)
        assert made["adjacency"] is Adjacency.ZERO_OUT and made["prior_precision"] == prior
        assert made["progress"] is False and made["seed_voids_privacy"] is None
        assert all(made[n] is None for n in ("temperature", "step_size", "steps", "account"))
        if "fit_intercept" in made:
            assert made["fit_intercept"] is True and made["intercept_norm"] == 1.0
            assert made["feature_bounds"] is None
    assert PosteriorLinearRegression().width == 0.5
    assert PosteriorLinearRegression().noise_std == 0.25
    assert PosteriorMean().width is None and PosteriorMean().centre is None


def test_a_mean_asks_for_the_coldest_and_is_moved_back(wished):
    made = PosteriorMean(centre=[0.25, -0.5], n_samples=3, **QUICK).fit(X)
    posterior, wish = wished[0]
    assert (posterior.records, posterior.prior_precision) == (300, 10.0)
    assert posterior.losses.dimension == 2 and posterior.losses.shared_curvature == 1.0
    assert (wish.samples, wish.coldest, wish.temperature) == (3, 0.0, None)
    assert (wish.step_size, wish.steps, wish.epsilon, wish.delta) == (0.5, 20, 1.0, 1e-5)
    assert made.samples_.shape == (3, 2)
    assert made.mean_ == pytest.approx(made.samples_.mean(axis=0))
    plain = PosteriorMean(n_samples=3, **QUICK).fit(X - np.array([0.25, -0.5]))
    assert made.samples_ == pytest.approx(plain.samples_ + np.array([0.25, -0.5]))
    assert made.n_iter_ == 20 and made.temperature_ == made.sampling_.posterior.temperature
    assert made.distance_.order == 2.0
    for wrong in ([0.0], [0.0, np.nan], [[0.0, 0.0]]):
        with pytest.raises(InvalidDescription, match="centre"):
            PosteriorMean(centre=wrong, **QUICK).fit(X)


def test_a_robust_centre_has_the_losses_of_its_width(wished):
    PosteriorMean(width=0.25, feature_norm=2.0, **QUICK).fit(X)
    losses = wished[0][0].losses
    assert losses.objective.gradient_bound == 0.25 and losses.objective.smoothness == 1.0
    assert losses.shared_curvature == 0.0


def test_a_regression_counts_temperature_in_units_of_its_noise(wished):
    made = PosteriorLinearRegression(
        target_bound=2.0, noise_std=0.5, temperature=40.0, epsilon=5.0, n_samples=2, **QUICK
    ).fit(X, NUMBERS)
    posterior, wish = wished[0]
    assert wish.temperature == 40.0 * 0.25 and wish.coldest == 0.25
    assert made.temperature_ == pytest.approx(40.0)
    assert posterior.losses.dimension == 3
    assert made.coef_samples_.shape[0] == 2 and len(made.intercept_samples_) == 2
    assert made.coef_ == pytest.approx(made.coef_samples_.mean(axis=0))
    assert made.intercept_ == pytest.approx(made.intercept_samples_.mean(axis=0))
    exact = X @ np.ravel(made.coef_) + np.ravel(made.intercept_)
    assert made.predict(X) == pytest.approx(exact)
    bare = PosteriorLinearRegression(target_bound=2.0, fit_intercept=False, **QUICK).fit(X, NUMBERS)
    assert wished[1][0].losses.dimension == 2 and wished[1][1].temperature is None
    assert np.all(bare.intercept_ == 0.0)
    for wrong in ({"noise_std": 0.0}, {"noise_std": -0.5}, {"target_bound": None}):
        with pytest.raises(InvalidDescription):
            PosteriorLinearRegression(**({"target_bound": 1.0} | QUICK | wrong)).fit(X, NUMBERS)


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c"]])
def test_probabilities_are_averaged_over_the_samples(classes):
    labels = np.array(classes)[np.arange(300) % len(classes)]
    made = PosteriorLogisticRegression(classes=classes, n_samples=2, epsilon=4.0, **QUICK).fit(
        X, labels
    )
    found = made.predict_proba(X)
    linear = np.stack(
        [
            X @ coefficients.T + intercepts
            for coefficients, intercepts in zip(
                made.coef_samples_, made.intercept_samples_, strict=True
            )
        ]
    )
    if len(classes) == 2:
        positive = (1.0 / (1.0 + np.exp(-linear[:, :, 0]))).mean(axis=0)
        exact = np.column_stack([1.0 - positive, positive])
    else:
        weights = np.exp(linear)
        exact = (weights / weights.sum(axis=2, keepdims=True)).mean(axis=0)
    assert found == pytest.approx(exact)
    assert np.array_equal(made.predict(X), np.array(classes)[exact.argmax(axis=1)])
    assert list(made.classes_) == classes


@pytest.mark.parametrize(
    ("samples", "words"), [(1, "a posterior sample of"), (3, "3 posterior samples of")]
)
def test_words_count_samples(samples, words):
    made = PosteriorMean(n_samples=samples, **QUICK).fit(X)
    assert words in made._product() and made._released() == "2 numbers"
    told = made._circumstances().released
    many = "one chain of 20 steps," if samples == 1 else "3 independent chains of 20 steps each,"
    assert many in told


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_norm": 0.0},
        {"feature_norm": -0.5},
        {"n_samples": 0},
        {"temperature": 0.0},
        {"temperature": -0.5},
        {"epsilon": 0.0},
        {"intercept_norm": 0.0},
        {"intercept_norm": -0.5},
    ],
)
def test_settings_without_a_meaning_are_refused(changes):
    with pytest.raises(InvalidDescription):
        PosteriorLinearRegression(**({"target_bound": 1.0} | QUICK | changes)).fit(X, NUMBERS)


def test_words_count_intercepts_that_are_released():
    fields = {"target_bound": 2.0, **QUICK}
    made = PosteriorLinearRegression(**fields).fit(X, NUMBERS)
    assert made._released() == "3 coefficients, intercepts included"
    bare = PosteriorLinearRegression(fit_intercept=False, **fields).fit(X, NUMBERS)
    assert bare._released() == "2 coefficients, intercepts included"
