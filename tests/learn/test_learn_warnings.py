"""Warnings from public facts, and certificates that tell what stands around a fit."""

import math
import warnings

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from wane.errors import InvalidDescription, NothingGained, PrivacyWarning, UnscaledFeatures
from wane.learn import PrivateLogisticRegression, PrivateRidge, PublicScaler, presented as module

ROWS = np.random.default_rng(0).uniform(-1, 1, (600, 3))
LABELS = (ROWS[:, 0] > 0).astype(int)


def model(**changes):
    known = {"epsilon": 1.0, "delta": 1e-5, "classes": [0, 1], "feature_bounds": (-1.0, 1.0)}
    return PrivateLogisticRegression(**{**known, **changes})


def warned(estimator):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        estimator.fit(ROWS, LABELS)
    return [one for one in found if issubclass(one.category, PrivacyWarning)]


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"delta": 0.01}, PrivacyWarning, "exceeds 1/records"),
        ({"epsilon": 11.0}, PrivacyWarning, "above 10"),
        ({"feature_bounds": None}, UnscaledFeatures, "PublicScaler"),
        ({"steps": 1, "step_size": 0.5}, NothingGained, "sampled batches"),
    ],
)
def test_what_is_likely_a_mistake_is_said(changes, kind, words):
    found = [one for one in warned(model(**changes)) if one.category is kind]
    assert any(words in str(one.message) for one in found)


def test_the_warning_asks_the_certificate_at_hand(monkeypatch):
    """The run has just been certified, for as many rows as a person has."""
    monkeypatch.setattr(module, "certify", lambda *_: pytest.fail("certified again"))
    (said,) = (
        one
        for one in warned(model(steps=1, step_size=0.5, rows_per_person=3))
        if one.category is NothingGained
    )
    assert "epsilon is 1 whether" in str(said.message)  # three rows, not one


def test_a_long_run_has_nothing_to_be_warned_of():
    assert warned(model(steps=2000, step_size=1.0, ridge=0.1)) == []


def test_warnings_do_not_look_at_the_rows():
    other = model(delta=0.01, feature_bounds=None)
    before = [str(one.message) for one in warned(other)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        other.fit(1e6 * ROWS[::-1], 1 - LABELS)
    assert [str(one.message) for one in found if issubclass(one.category, PrivacyWarning)] == before


def test_a_scaler_that_learns_voids_the_certificate():
    pipeline = make_pipeline(StandardScaler(), model()).fit(ROWS, LABELS)
    certificate = pipeline[-1].certificate_
    assert math.isinf(certificate.epsilon(1e-5))
    assert "StandardScaler" in certificate.void_because[0]
    assert "PublicScaler" in certificate.void_because[0]


@pytest.mark.parametrize("step", [PublicScaler((-2.0, 2.0)), Normalizer(), "passthrough"])
def test_steps_that_look_at_one_record_leave_it_valid(step):
    pipeline = make_pipeline(step, model()).fit(ROWS, LABELS)
    assert pipeline[-1].certificate_.epsilon(1e-5) <= 1.0


def test_a_search_on_private_rows_voids_what_it_chose():
    search = GridSearchCV(model(), {"ridge": [0.01, 0.1]}, cv=2).fit(ROWS, LABELS)
    certificate = search.best_estimator_.certificate_
    assert math.isinf(certificate.epsilon(1e-5))
    assert "GridSearchCV" in certificate.void_because[0]


def test_bags_with_repetition_void_their_members():
    bags = BaggingClassifier(model(), n_estimators=2, max_samples=0.9).fit(ROWS, LABELS)
    assert math.isinf(bags.estimators_[0].certificate_.epsilon(1e-5))
    ridge = PrivateRidge(target_bound=1.0, feature_bounds=(-1.0, 1.0))
    once = BaggingRegressor(ridge, n_estimators=2, max_samples=0.9, bootstrap=False)
    assert once.fit(ROWS, LABELS).estimators_[0].certificate_.epsilon(1e-5) <= 1.0


def test_the_public_scaler_keeps_scikit_learns_rules():
    check_estimator(PublicScaler(), on_skip=None)
    made = PublicScaler(([0.0, -1.0], [10.0, 1.0]))
    np.testing.assert_allclose(made.fit_transform([[5.0, 0.0], [99.0, -1.0]]), [[0, 0], [1, -1]])
    np.testing.assert_allclose(made.transform([[0.0, 1.0]]), [[-1, 1]])
    with pytest.raises(InvalidDescription, match="known without the rows"):
        PublicScaler(None).fit([[1.0]])
