"""What learns from all rows before a fit voids its certificate, whichever fit, wherever it runs."""

import math

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, VotingClassifier, VotingRegressor
from sklearn.feature_selection import RFECV
from sklearn.multioutput import RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, scale

from wane.learn import PrivateLogisticRegression, PrivateMean, PrivateRidge, PublicScaler
from wane.sampling.estimators import (
    PosteriorLinearRegression,
    PosteriorLogisticRegression,
    PosteriorMean,
)

ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, (3_000, 2))
LABELS = (ROWS[:, 0] > 0.0).astype(int)
BOUNDS = (-0.5, 0.5)


def logistic() -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        epsilon=2.0, classes=(0, 1), feature_bounds=BOUNDS, steps=5, step_size=0.5
    )


def ridge() -> PrivateRidge:
    return PrivateRidge(epsilon=2.0, target_bound=1.0, feature_bounds=BOUNDS)


SHORT = {"epsilon": 2.0, "temperature": 100.0, "step_size": 0.01, "steps": 3}
FITS = {
    "mean": PrivateMean(epsilon=2.0, feature_norm=1.0),
    "posterior mean": PosteriorMean(**SHORT, prior_precision=1.0),
    "posterior classes": PosteriorLogisticRegression(**SHORT, classes=(0, 1)),
    "posterior numbers": PosteriorLinearRegression(**SHORT, target_bound=1.0),
}


def reasons(model: object) -> tuple[str, ...]:
    void = model.certificate_.void_because
    assert math.isinf(model.certificate_.epsilon(1e-5)) == bool(void)
    return void


@pytest.mark.parametrize("name", FITS)
def test_a_scaler_that_learns_voids_every_fit(name: str) -> None:
    """Means and posterior samples behind one claimed epsilon 2."""
    learnt = make_pipeline(StandardScaler(), FITS[name]).fit(ROWS, LABELS)
    assert "StandardScaler" in reasons(learnt[-1])[0]
    public = make_pipeline(PublicScaler(BOUNDS), FITS[name]).fit(ROWS, LABELS)
    assert not reasons(public[-1])


@pytest.mark.parametrize("around", ["bag", "vote"])
def test_labels_that_are_numbered_by_occurrence_void(around: str) -> None:
    """One label of another class renames all others: the intercept went from -6.9 to 8.1."""
    model = logistic().set_params(seed_voids_privacy=1)
    bags = {
        "bag": BaggingClassifier(model, n_estimators=1, bootstrap=False),
        "vote": VotingClassifier([("one", model)]),
    }
    ends = []
    for first in (1, 0):
        labels = np.ones(len(ROWS), dtype=int)
        labels[0] = first
        one = bags[around].fit(ROWS, labels).estimators_[0]
        assert any(type(bags[around]).__name__ in reason for reason in reasons(one))
        ends.append(float(one.intercept_[0]))
    assert ends[0] < 0.0 < ends[1]


def test_targets_that_are_scaled_by_themselves_void() -> None:
    learnt = TransformedTargetRegressor(regressor=ridge(), transformer=StandardScaler())
    assert "StandardScaler" in reasons(learnt.fit(ROWS, ROWS[:, 0]).regressor_)[0]
    public = TransformedTargetRegressor(regressor=ridge(), transformer=FunctionTransformer())
    assert not reasons(public.fit(ROWS, ROWS[:, 0]).regressor_)


def centred(values):
    return values - np.mean(values, axis=0)


def test_functions_that_may_look_at_all_rows_void() -> None:
    """With one row far away, scale() moves all others to one point: epsilon 2 was claimed."""
    for function in (scale, centred):
        learnt = make_pipeline(FunctionTransformer(function), logistic()).fit(ROWS, LABELS)
        assert "FunctionTransformer" in reasons(learnt[-1])[0]
        targets = TransformedTargetRegressor(
            regressor=ridge(), func=function, inverse_func=function, check_inverse=False
        )
        assert "TransformedTargetRegressor" in reasons(targets.fit(ROWS, ROWS[:, 0]).regressor_)[0]
        steps = TransformedTargetRegressor(
            regressor=ridge(), transformer=FunctionTransformer(function), check_inverse=False
        )
        assert "FunctionTransformer" in reasons(steps.fit(ROWS, ROWS[:, 0]).regressor_)[0]
    known = make_pipeline(FunctionTransformer(np.arcsinh), logistic()).fit(ROWS, LABELS)
    assert not reasons(known[-1])
    public = TransformedTargetRegressor(regressor=ridge(), func=np.tanh, inverse_func=np.arctanh)
    assert not reasons(public.fit(ROWS, ROWS[:, 0]).regressor_)


def test_a_chain_of_predictions_on_the_same_rows_voids() -> None:
    """Its later members see what uncounted fits of the earlier ones say of every row."""
    told = RegressorChain(ridge(), cv=2).fit(ROWS, ROWS)
    assert all("RegressorChain" in reasons(one)[0] for one in told.estimators_)
    assert not reasons(RegressorChain(ridge()).fit(ROWS, ROWS).estimators_[1])


def test_features_that_are_chosen_by_scores_void() -> None:
    assert "RFECV" in reasons(RFECV(logistic(), cv=2).fit(ROWS, LABELS).estimator_)[0]


def test_a_worker_that_hides_the_caller_voids() -> None:
    """Bags draw with repetition on workers, too, where no frame of theirs is seen."""
    bags = BaggingClassifier(logistic(), n_estimators=2, n_jobs=2)
    assert "worker" in reasons(bags.fit(ROWS, LABELS).estimators_[0])[0]


def test_what_hands_on_rows_as_they_are_leaves_it_valid() -> None:
    votes = VotingRegressor([("one", ridge())]).fit(ROWS, ROWS[:, 0])
    assert not reasons(votes.estimators_[0])
