"""What is refused is refused in words, before any noise, and leaves the ledger untouched."""

from __future__ import annotations

import math

import numpy as np
import pytest
from learn_cases import COLUMNS, declared, targets
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import wane.learn.inputs
from wane import Adjacency
from wane.learn import PrivateMean
from wane.ledger import Budget, BudgetExceeded, Ledger

ROWS = 400
ESTIMATORS = declared() | {"mean": (PrivateMean(feature_norm=1.0), "real")}
CLASSIFIERS = [name for name, (model, _) in ESTIMATORS.items() if hasattr(model, "classes")]


@pytest.fixture
def account(tmp_path, monkeypatch):
    """An account with a budget; any attempt to draw noise fails the test."""

    def refuse(*arguments):
        raise AssertionError("noise was drawn")

    for module in (wane.learn.inputs, wane.learn.mean):
        for name in ("noise_generator", "generator"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, refuse)
    found = Ledger(tmp_path / "ledger.db", new=True).account("people", new=True)
    found.set_budget(Budget(2.0, 1e-5, Adjacency.ZERO_OUT))
    return found


def data(name):
    generator = np.random.default_rng(3)
    X = generator.standard_normal((ROWS, COLUMNS))
    return X, targets(ESTIMATORS[name][1], generator, ROWS)


def refused(account, name, X, y, message, **changes):
    model = clone(ESTIMATORS[name][0]).set_params(**changes)
    model.account = account
    with pytest.raises((ValueError, BudgetExceeded), match=message) as caught:
        model.fit(X, y)
    assert account.entries == () and account.total is None
    assert not hasattr(model, "certificate_") and not hasattr(model, "coef_")
    if hasattr(model, "predict"):
        with pytest.raises(NotFittedError):
            model.predict(X[:1])
    return str(caught.value)


@pytest.mark.parametrize("name", ESTIMATORS)
class TestEveryEstimator:
    def test_not_a_number(self, name, account):
        X, y = data(name)
        X[7, 1] = math.nan
        refused(account, name, X, y, "NaN")
        X[7, 1] = math.inf
        refused(account, name, X, y, "infinity")

    def test_unbounded_features(self, name, account):
        X, y = data(name)
        for norm in (math.inf, math.nan, -1.0, 0.0):
            refused(account, name, X, y, "feature_norm must be", feature_norm=norm)
        refused(account, name, X, y, "must be finite", feature_bounds=(0.0, math.inf))
        refused(account, name, X, y, "low < high", feature_bounds=(1.0, 1.0))

    def test_no_rows(self, name, account):
        X, y = data(name)
        refused(account, name, X[:0], y[:0], r"0 sample\(s\)")

    def test_too_few_rows(self, name, account):
        X, y = data(name)
        said = refused(account, name, X[:10], y[:10], "Too few rows", epsilon=0.1)
        assert "n_samples = 10" in said and "larger epsilon" in said

    def test_a_ledger_that_is_used_up(self, name, account):
        X, y = data(name)
        refused(account, name, X, y, "Nothing was spent", epsilon=3.0)


@pytest.mark.parametrize("name", CLASSIFIERS)
class TestEveryClassifier:
    def test_one_declared_class(self, name, account):
        X, y = data(name)
        refused(account, name, X, 0 * y, "at least two labels", classes=[0])
        refused(account, name, X, y, "classes must be given", classes=None)

    def test_a_label_that_is_not_declared(self, name, account):
        X, y = data(name)
        y[5] = 777
        assert "777" not in refused(account, name, X, y, "declared classes only")

    def test_labels_of_another_type(self, name, account):
        X, y = data(name)
        refused(account, name, X, y.astype(str), "declared classes only")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_data_of_one_declared_class_are_fitted_since_a_refusal_would_tell_of_a_record(
    name, tmp_path
):
    """Whether the last record of the other class is there must show in no error and no entry."""
    X, y = data(name)
    account = Ledger(tmp_path / "ledger.db", new=True).account("people", new=True)
    model = clone(ESTIMATORS[name][0])
    model.account = account
    one = model.fit(X, np.zeros_like(y))
    assert len(one.classes_) > 1 and set(one.predict(X).tolist()) <= set(one.classes_.tolist())
    two = clone(model)
    two.account = account
    two.fit(X, np.where(np.arange(ROWS) == 0, 1, 0))
    first, second = account.entries
    assert first.certificate == second.certificate and one.run_ == two.run_
