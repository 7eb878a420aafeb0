"""Private statistics by sampling: both certificates, and nothing but the samples released."""

import pickle

import numpy as np
import pytest

from wane.certificates import Certificate
from wane.describe import Adjacency
from wane.errors import InvalidDescription, Unreachable

pytest.importorskip("sklearn")
from sklearn.base import clone

from wane.learn import EXPECTED_FAILED_CHECKS, FROM_DATA
from wane.sampling import (
    PosteriorLinearRegression,
    PosteriorLogisticRegression,
    PosteriorMean,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (4000, 2)) / np.sqrt(2.0)
SLOPES = np.array([3.0, -2.0])
LABELS = np.where(X @ SLOPES + 0.3 * RNG.logistic(size=4000) > 0.0, "b", "a")
NUMBERS = X @ np.array([1.0, -0.5]) + 0.1 * RNG.standard_normal(4000)
QUICK = {"step_size": 0.5, "steps": 1000, "prior_precision": 10.0}


def logistic(**settings):
    return PosteriorLogisticRegression(**{"classes": ["a", "b"]} | QUICK | settings)


@pytest.mark.slow
def test_a_planned_fit_keeps_both_promises():
    model = PosteriorLogisticRegression(
        classes=["a", "b"], delta=1e-6, prior_precision=200.0, distance=0.4
    ).fit(X, LABELS)
    assert isinstance(model.certificate_, Certificate)
    assert 0.0 < model.certificate_.epsilon(1e-6) <= 1.0
    assert 0.0 < model.distance_.value <= 0.4
    assert model.distance_.total_variation <= 0.45
    assert "shifted_girsanov" in model.distance_.explain()
    assert model.temperature_ >= 1.0
    assert model.score(X, LABELS) > 0.8


def test_samples_share_the_budget_and_average_their_probabilities():
    one, many = (logistic(n_samples=k).fit(X, LABELS) for k in (1, 16))
    assert many.coef_samples_.shape == (16, 1, 2)
    assert many.certificate_.epsilon(1e-5) <= 1.0
    assert many.temperature_ > 2.0 * one.temperature_
    np.testing.assert_allclose(many.coef_, many.coef_samples_.mean(axis=0))
    probabilities = many.predict_proba(X[:5])
    margins = X[:5] @ many.coef_samples_[:, 0].T + many.intercept_samples_[:, 0]
    np.testing.assert_allclose(probabilities[:, 1], (1 / (1 + np.exp(-margins))).mean(axis=1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_three_classes():
    labels = np.digitize(X[:, 0], [-0.25, 0.25])
    model = PosteriorLogisticRegression(classes=[0, 1, 2], **QUICK).fit(X, labels)
    assert model.coef_.shape == (3, 2)
    assert model.predict_proba(X).shape == (4000, 3)
    assert model.score(X, labels) > 0.6


def test_linear_regression():
    model = PosteriorLinearRegression(target_bound=1.0, **QUICK).fit(X, NUMBERS)
    assert model.certificate_.epsilon(1e-5) <= 1.0
    assert model.score(X, NUMBERS) > 0.5
    with pytest.raises(InvalidDescription, match="target_bound"):
        PosteriorLinearRegression().fit(X, NUMBERS)


def test_the_posterior_is_where_the_samples_are():
    """Many seeded samples against the posterior's own normal approximation."""
    model = logistic(
        fit_intercept=False,
        n_samples=400,
        steps=300,
        temperature=1.0,
        epsilon=1e6,
        seed_voids_privacy=1,
    ).fit(X[:1000], LABELS[:1000])
    rows, y = X[:1000], (LABELS[:1000] == "b").astype(float)
    w = np.zeros(2)
    for _ in range(30):
        p = 1 / (1 + np.exp(-rows @ w))
        H = (rows * (p * (1 - p))[:, None]).T @ rows + 10.0 * np.eye(2)
        w = w - np.linalg.solve(H, rows.T @ (p - y) + 10.0 * w)
    draws, covariance = model.coef_samples_[:, 0], np.linalg.inv(H)
    z = (draws.mean(axis=0) - w) / np.sqrt(np.diag(covariance) / 400)
    assert np.all(np.abs(z) < 5.0)
    spread = draws.var(axis=0, ddof=1) / np.diag(covariance)
    assert np.all((spread > 0.6) & (spread < 1.6))


@pytest.mark.slow
def test_the_mean_is_as_sharp_as_the_gaussian_mechanism():
    model = PosteriorMean(epsilon=1.0, delta=1e-6, feature_norm=1.0, n_samples=1).fit(X)
    assert model.certificate_.epsilon(1e-6) <= 1.0
    deviation = np.sqrt(model.temperature_ / len(X))
    assert deviation == pytest.approx(1.0 / (4000 * 0.2367), rel=0.05)
    assert np.linalg.norm(model.mean_ - X.mean(axis=0)) < 6.0 * deviation
    assert model.distance_.value <= 0.1


def test_a_robust_centre_shrugs_at_outliers():
    rows = np.vstack([X + 1.0, np.full((400, 2), -50.0)])
    model = PosteriorMean(
        centre=[0.5, 0.5],
        width=0.5,
        feature_norm=3.0,
        prior_precision=5.0,
        step_size=0.5,
        steps=500,
    ).fit(rows)
    assert np.linalg.norm(model.mean_ - 1.0) < 0.3
    with pytest.raises(InvalidDescription, match="prior_precision"):
        PosteriorMean(width=0.5).fit(X)
    with pytest.raises(InvalidDescription, match="centre"):
        PosteriorMean(centre=[1.0]).fit(X)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_everything_but_the_samples_is_public(adjacency):
    """Two very different data sets of one size leave the same attributes but for the samples."""
    first = logistic(adjacency=adjacency).fit(X, LABELS)
    second = logistic(adjacency=adjacency).fit(-X[::-1], LABELS)
    released = {"coef_", "coef_samples_", "intercept_", "intercept_samples_"}
    kept = {name for name in vars(first) if name.endswith("_")}
    assert kept == {name for name in vars(second) if name.endswith("_")}
    for name in kept - released:
        same = getattr(first, name) == getattr(second, name)
        assert np.all(same), name
    assert not np.array_equal(first.coef_, second.coef_)


def test_seeds_repeat_and_void():
    first, second = (logistic(seed_voids_privacy=7).fit(X, LABELS) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.certificate_.void_because
    assert np.isinf(first.certificate_.epsilon(1e-5))
    assert not np.array_equal(logistic().fit(X, LABELS).coef_, logistic().fit(X, LABELS).coef_)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.7}, "delta"),
        ({"adjacency": Adjacency.ADD_REMOVE}, "adjacency"),
        ({"n_samples": 0}, "n_samples"),
        ({"classes": None}, "classes"),
        ({"prior_precision": 0.0}, "prior_precision"),
        ({"steps": None}, "step_size and steps"),
        ({"step_size": 1e3}, "largest stable"),
        ({"intercept_norm": 0.0}, "intercept_norm"),
        ({"temperature": "cold"}, "temperature"),
        ({"seed_voids_privacy": -1}, "seed_voids_privacy"),
    ],
)
def test_refusals_come_before_any_noise(settings, word):
    with pytest.raises(InvalidDescription, match=word):
        logistic(**settings).fit(X, LABELS)


def test_a_temperature_that_is_too_cold_is_refused():
    with pytest.raises(Unreachable, match="raise temperature"):
        logistic(temperature=0.5, epsilon=0.1).fit(X, LABELS)


@pytest.mark.slow
def test_chains_that_would_never_end_are_refused():
    with pytest.raises(Unreachable, match="by number"):
        PosteriorLogisticRegression(classes=["a", "b"], prior_precision=1e-3, distance=1e-3).fit(
            X, LABELS
        )


@pytest.mark.parametrize("model", [logistic(), PosteriorMean(), PosteriorLinearRegression()])
def test_parameters_survive_a_clone(model):
    assert clone(model).get_params() == model.get_params()
    assert "LogisticRegression" not in repr(PosteriorMean())


CONFORMING = {"step_size": 0.05, "steps": 400, "epsilon": 1e4, "seed_voids_privacy": 0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        PosteriorLogisticRegression(classes=FROM_DATA, prior_precision=0.1, **CONFORMING),
        PosteriorLinearRegression(
            target_bound=5.0,
            feature_norm=4.0,
            feature_bounds=FROM_DATA,
            temperature=1.0,
            prior_precision=0.01,
            noise_std=0.1,
            **CONFORMING,
        ),
        PosteriorMean(**CONFORMING),
    ],
    ids=lambda m: type(m).__name__,
)
def test_scikit_learns_own_checks(model):
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(model, on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    assert len(results) > 30
    assert failed <= set(EXPECTED_FAILED_CHECKS)


def test_pickles_are_certified_again():
    model = logistic().fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_.epsilon(1e-5) == model.certificate_.epsilon(1e-5)
    assert again.distance_.value == model.distance_.value


def test_a_ledger_counts_every_sample(tmp_path):
    from wane.ledger import Budget, Ledger
    from wane.ledger.book import BudgetExceeded

    account = Ledger(tmp_path / "book.db", new=True).account("people", new=True)
    account.set_budget(Budget(1.2, 1e-5, Adjacency.ZERO_OUT))
    logistic(account=account, epsilon=1.0).fit(X, LABELS)
    with pytest.raises(BudgetExceeded):
        logistic(account=account, epsilon=1.0).fit(X, LABELS)


def test_progress_shows_nothing_but_steps(capsys):
    logistic(progress=True, steps=20).fit(X, LABELS)
    shown = capsys.readouterr().err
    assert "20" in shown or shown == ""
