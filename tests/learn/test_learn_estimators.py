"""The estimators: conventions, refusals before any noise, what is left behind after a fit."""

import json
import math
import pickle
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from learn_cases import COLUMNS, declared, for_checks, targets
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import wane.learn.base
import wane.learn.inputs
from wane import (
    Adjacency,
    Cyclic,
    ElasticNet,
    InvalidDescription,
    Lasso,
    Product,
    Ridge,
    Unbounded,
    Unreachable,
    certify,
)
from wane.learn import (
    EXPECTED_FAILED_CHECKS,
    FROM_DATA,
    DataDependentWarning,
    FeatureScaler,
    PrivateElasticNet,
    PrivateLasso,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMean,
    PrivatePoissonRegressor,
    PrivateRidge,
    TooFewRecords,
    load_model,
)

CASES = declared()
ALLOWED_AFTER_FIT = {
    "coef_",
    "intercept_",
    "classes_",
    "n_features_in_",
    "n_iter_",
    "certificate_",
    "run_",
    "release_noise_",
    "scaler_",
}
ROWS = 400
ROOT = Path(__file__).parents[2]


def sklearn_checks(estimators):
    return parametrize_with_checks(
        estimators, expected_failed_checks=lambda e: EXPECTED_FAILED_CHECKS, xfail_strict=True
    )


@sklearn_checks(for_checks()[:1])
@pytest.mark.filterwarnings("ignore::wane.learn.DataDependentWarning")
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@sklearn_checks(for_checks()[1:])
@pytest.mark.filterwarnings("ignore::wane.learn.DataDependentWarning")
def test_sklearn_checks_of_the_others(estimator, check):
    check(estimator)


def rows(seed=0, count=ROWS):
    return np.random.default_rng(seed).standard_normal((count, COLUMNS))


def example(name, seed=0, **changes):
    model, kind = declared(**changes)[name]
    return model, rows(seed), targets(kind, np.random.default_rng(seed + 1), ROWS)


def separable(seed=0, count=2000):
    X = rows(seed, count)
    return X, (X[:, 0] - X[:, 1] > 0.0).astype(int)


@pytest.fixture
def no_noise(monkeypatch):
    """Any attempt to draw noise fails the test."""

    def refuse(*arguments):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(wane.learn.inputs, "noise_generator", refuse)


@pytest.mark.parametrize("name", CASES)
def test_a_fit_leaves_the_release_and_public_facts_only(name):
    model, X, y = example(name)
    before = set(vars(model))
    model.fit(X, y)
    assert set(vars(model)) - before <= ALLOWED_AFTER_FIT
    assert {"coef_", "certificate_", "run_"} <= set(vars(model))
    assert model.n_iter_ == model.run_.total_steps
    assert model.run_.records == ROWS
    assert model.run_.adjacency is Adjacency.ZERO_OUT
    assert model.certificate_.run == model.run_
    assert model.certificate_.epsilon(1e-5) <= 1.0
    assert np.isfinite(model.predict(X[:5])).all()
    packed = pickle.dumps(model)
    assert len(packed) < X.nbytes
    assert not any(row.tobytes() in packed for row in X)
    assert pickle.loads(packed).certificate_ == model.certificate_


@pytest.mark.parametrize("name", CASES)
def test_the_run_does_not_depend_on_the_data(name):
    one, X, y = example(name, seed_voids_privacy=1)
    other, Z, w = example(name, seed=7, seed_voids_privacy=1)
    assert one.fit(X, y).run_ == other.fit(Z, w).run_


@pytest.mark.parametrize("name", CASES)
def test_coefficients_and_intercept_say_what_predict_does(name):
    model, X, y = example(name, seed_voids_privacy=3)
    model.fit(X, y)
    made = model.scaler_(X) @ np.atleast_2d(model.coef_).T + model.intercept_
    shown = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    if isinstance(model, PrivatePoissonRegressor):
        made = np.minimum(np.exp(made), 5.0)
    assert np.allclose(made.reshape(shown.shape), shown)


def test_no_two_private_fits_are_alike_and_seeded_ones_are_void():
    X, y = separable()
    model = PrivateLogisticRegression(classes=[0, 1])
    first = model.fit(X, y).coef_
    assert not np.allclose(first, clone(model).fit(X, y).coef_)
    seeded = clone(model).set_params(seed_voids_privacy=5)
    assert np.array_equal(seeded.fit(X, y).coef_, clone(seeded).fit(X, y).coef_)
    void = seeded.certificate_
    assert void.void_because
    assert math.isinf(void.epsilon(1e-5)) and void.delta(3.0) == 1.0 and void.mu is None
    assert "seed" in void.explain()
    assert void.nominal.epsilon(1e-5) <= 1.0


def test_classes_and_bounds_are_never_read_silently(no_noise):
    X, y = separable()
    with pytest.raises(InvalidDescription, match="classes must be given"):
        PrivateLogisticRegression().fit(X, y)
    with pytest.raises(InvalidDescription, match="target_bound must be given"):
        PrivateLinearRegression().fit(X, y)
    with pytest.raises(InvalidDescription, match="largest_count"):
        PrivatePoissonRegressor().fit(X, y)


def test_labels_that_one_double_would_change_are_refused(no_noise):
    """2^53 + 1 becomes 2^53 where one label of a list is a double: all others change class."""
    X, y = separable()
    codes = (2**53, 2**53 + 1)
    with pytest.raises(InvalidDescription, match="words if they are numbers beyond"):
        PrivateLogisticRegression(classes=codes).fit(X, [codes[label] for label in y])
    words = tuple(map(str, codes))
    named = PrivateLogisticRegression(classes=words)
    assert named._task(np.array([words[label] for label in y])).classes.size == 2


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (PrivateLogisticRegression(classes=FROM_DATA), "classes"),
        (PrivateLogisticRegression(classes=[0, 1], feature_bounds=FROM_DATA), "feature_bounds"),
        (PrivateLinearRegression(target_bound=FROM_DATA), "target_bound"),
    ],
)
def test_who_insists_on_reading_the_data_is_warned_and_gets_no_certificate(model, what):
    X, y = separable()
    with pytest.warns(DataDependentWarning, match=what):
        model.fit(X, y)
    assert math.isinf(model.certificate_.epsilon(1e-5))
    assert what in model.certificate_.void_because[0]


BAD = {
    "nan": ({"X": np.where(np.eye(60, COLUMNS) > 0, np.nan, 0.5)}, {}, "NaN"),
    "infinite": ({"X": np.where(np.eye(60, COLUMNS) > 0, np.inf, 0.5)}, {}, "infinity"),
    "no rows": ({"X": np.empty((0, COLUMNS)), "y": np.empty(0)}, {}, "0 sample"),
    "no columns": ({"X": np.empty((60, 0))}, {}, "0 feature"),
    "a vector": ({"X": np.ones(60)}, {}, "Expected 2D array"),
    "lengths": ({"y": np.zeros(59)}, {}, "inconsistent numbers of samples"),
    "unknown label": ({"y": np.arange(60) % 3}, {}, "none of the 2 classes"),
    "text for numbers": ({"y": np.array(["0", "1"] * 30)}, {}, "none of the 2 classes"),
    "one class": ({}, {"classes": [1]}, "at least two labels"),
    "a class twice": ({}, {"classes": [0, 1, 1]}, "different labels"),
    "unbounded norm": ({}, {"feature_norm": math.inf}, "feature_norm must be a finite number"),
    "no norm": ({}, {"feature_norm": None}, "feature_norm must be a number"),
    "unbounded column": ({}, {"feature_bounds": (0.0, math.inf)}, "must be finite"),
    "bounds reversed": ({}, {"feature_bounds": (1.0, 0.0)}, "low < high"),
    "bounds for others": ({}, {"feature_bounds": ([0.0] * 3, [1.0] * 3)}, "pair"),
    "epsilon": ({}, {"epsilon": 0.0}, "epsilon must be > 0"),
    "delta": ({}, {"delta": 0.0}, "delta must be > 0"),
    "adjacency": ({}, {"adjacency": "zero_out"}, "adjacency must be"),
    "add-remove": ({}, {"adjacency": Adjacency.ADD_REMOVE}, "number of rows is public"),
    "intercept": ({}, {"intercept_norm": 0.0}, "intercept_norm must be > 0"),
    "warm start": ({}, {"warm_start": True}, "name the model"),
    "warm shape": ({}, {"warm_start": np.zeros(3)}, "1 x 5 numbers"),
    "multiclass": ({}, {"multiclass": "envelope"}, "multiclass must be"),
    "seed": ({}, {"seed_voids_privacy": -1}, "seed_voids_privacy must be"),
    "few rows": ({}, {"epsilon": 1e-3}, "Too few rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_before_any_noise(case, no_noise):
    data, changes, message = BAD[case]
    arguments = {"X": np.full((60, COLUMNS), 0.5), "y": np.arange(60) % 2} | data
    model = PrivateLogisticRegression(**({"classes": [0, 1], "epsilon": 4.0} | changes))
    with pytest.raises(ValueError, match=message):
        model.fit(**arguments)
    with pytest.raises(NotFittedError):
        model.predict(np.ones((1, COLUMNS)))


def test_other_refusals(no_noise):
    X, y = separable(count=60)
    with pytest.raises(InvalidDescription, match="two labels"):
        PrivateLinearSVC(classes=[0, 1, 2], epsilon=4.0).fit(X, y)
    with pytest.raises(InvalidDescription, match="negative"):
        PrivatePoissonRegressor(largest_count=3).fit(X, -y)
    with pytest.raises(InvalidDescription, match="target_bound must be finite"):
        PrivateLinearRegression(target_bound=(0.0, math.inf)).fit(X, y)
    with pytest.raises(NotFittedError):
        start = PrivateLogisticRegression(classes=[0, 1])
        PrivateLogisticRegression(classes=[0, 1], epsilon=4.0, warm_start=start).fit(X, y)


def test_a_refusal_shows_no_record(no_noise):
    X = np.full((60, COLUMNS), 0.5)
    y = np.array(["yes", "no"] * 29 + ["no", "secret"])
    with pytest.raises(InvalidDescription) as caught:
        PrivateLogisticRegression(classes=["no", "yes"], epsilon=4.0).fit(X, y)
    assert "secret" not in str(caught.value)


def test_too_few_rows_counts_public_numbers_only(no_noise):
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=0.5)
    with pytest.raises(TooFewRecords, match="n_samples = 10") as caught:
        model.fit(rows(count=10), np.arange(10) % 2)
    assert isinstance(caught.value, Unreachable)


def test_one_class_in_the_data_is_no_error_since_that_would_tell_of_a_record():
    model = PrivateLogisticRegression(classes=["no", "yes"], epsilon=8.0)
    model.fit(rows(), np.full(ROWS, "yes"))
    assert model.classes_.tolist() == ["no", "yes"]


def test_rows_beyond_the_norm_and_targets_beyond_the_bound_are_moved():
    X, y = separable()
    far = 1e9 * X
    model = PrivateLogisticRegression(classes=[0, 1], seed_voids_privacy=2)
    assert np.allclose(model.fit(far, y).coef_, clone(model).fit(1e12 * X, y).coef_)
    cut = PrivateLinearRegression(target_bound=1.0, seed_voids_privacy=2)
    huge = np.where(y > 0, 1e12, -1e12)
    assert np.array_equal(cut.fit(X, huge).coef_, clone(cut).fit(X, np.sign(huge)).coef_)


def test_bounds_make_the_units_irrelevant():
    X, y = separable()
    model = PrivateLogisticRegression(
        classes=[0, 1], seed_voids_privacy=2, feature_bounds=(-4.0, 4.0)
    )
    other = clone(model).set_params(feature_bounds=(-4.0 * 32 + 64, 4.0 * 32 + 64))
    assert np.allclose(model.fit(X, y).coef_, other.fit(32 * X + 64, y).coef_)


def test_columns_are_mapped_from_their_bounds():
    scaler = FeatureScaler.from_bounds(9.0, ([0, -1, 10], [4, 1, 30]), 3)
    rows = np.array([[0.0, 0, 10], [4, -1, 30], [9, 8, -7], [1, 0.5, 15]])
    assert np.allclose(scaler(rows), [[-1, 0, -1], [1, -1, 1], [1, 1, -1], [-0.5, 0.5, -0.5]])
    assert np.allclose(scaler(rows.astype(np.float32)), scaler(rows))
    assert np.allclose(np.linalg.norm(replace(scaler, feature_norm=0.1)(rows), axis=1), 0.1)


@pytest.mark.parametrize(
    "model",
    [PrivateLogisticRegression(classes=[0, 1]), PrivateLinearSVC(classes=[0, 1])],
    ids=["logistic", "svc"],
)
def test_it_learns(model):
    X, y = separable()
    Z, w = separable(seed=9)
    assert model.set_params(epsilon=4.0).fit(X, y).score(Z, w) > 0.9


def test_regressions_learn():
    X = rows(count=4000) / 4.0
    y = 1.0 + 2.0 * X[:, 0] - X[:, 1]
    for kind in (PrivateLinearRegression, PrivateRidge, PrivateLasso, PrivateElasticNet):
        model = kind(epsilon=8.0, target_bound=(-2.0, 4.0), feature_norm=1.0).fit(X, y)
        assert model.score(X, y) > 0.5, kind


def test_warm_start_from_public_coefficients_costs_nothing():
    X, y = separable()
    model = PrivateLogisticRegression(classes=[0, 1], warm_start=[5.0, -5.0, 0.0, 0.0, 0.1])
    model.fit(X, y)
    assert model.certificate_.epsilon(1e-5) <= 1.0
    ready = model._prepare(X, y)
    coef, intercept = ready.coordinates.released(ready.start)
    assert np.allclose(coef, [[5.0, -5.0, 0.0, 0.0]]) and np.allclose(intercept, 0.1)


@pytest.mark.parametrize("name", CASES)
def test_warm_start_from_a_private_model_is_composed(name):
    first, X, y = example(name)
    first.fit(X, y)
    again = clone(first).set_params(warm_start=first).fit(X, y)
    parts = again.certificate_.each
    assert [part.run for part in parts] == [first.run_, again.run_]
    assert again.certificate_.epsilon(1e-5) > max(p.epsilon(1e-5) for p in parts)
    ready = again._prepare(X, y)
    coef, intercept = ready.coordinates.released(ready.start)
    assert np.allclose(coef, first.coef_) and np.allclose(intercept, first.intercept_)


def test_warm_start_keeps_what_is_void_void_and_refuses_strangers():
    X, y = separable()
    seeded = PrivateLogisticRegression(classes=[0, 1], seed_voids_privacy=1).fit(X, y)
    again = PrivateLogisticRegression(classes=[0, 1], warm_start=seeded).fit(X, y)
    assert math.isinf(again.certificate_.epsilon(1e-5))
    other = PrivateLogisticRegression(classes=[0, 1], warm_start=seeded, feature_norm=2.0)
    with pytest.raises(InvalidDescription, match="same kind"):
        other.fit(X, y)
    with pytest.raises(InvalidDescription, match="adjacency must be the same"):
        again.set_params(adjacency=Adjacency.REPLACE_ONE).fit(X, y)


def test_choices_are_kept_and_certified():
    X, y = separable()
    model = PrivateLogisticRegression(
        classes=[0, 1], steps=30, step_size=0.5, batches=Cyclic(100), clip=0.4, ridge=0.02,
        cool_down=3, adjacency=Adjacency.REPLACE_ONE,
    ).fit(X, y)  # fmt: skip
    run = model.run_
    assert (run.steps, run.step_size, run.batches, run.cool_down) == (30, 0.5, Cyclic(100), 3)
    assert (run.objective.gradient_bound, run.objective.ridge) == (0.4, 0.02)
    assert run.adjacency is Adjacency.REPLACE_ONE
    assert certify(run).epsilon(1e-5) == model.certificate_.epsilon(1e-5) <= 1.0


def test_a_plan_that_misses_the_target_is_not_run(monkeypatch, no_noise):
    X, y = separable()
    honest = wane.learn.base.plan

    def careless(problem, **wishes):
        return honest(problem, **wishes).noise_scaled(0.5)

    monkeypatch.setattr(wane.learn.base, "plan", careless)
    with pytest.raises(InvalidDescription, match="nothing was run"):
        PrivateLogisticRegression(classes=[0, 1]).fit(X, y)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_private_mean_is_the_gaussian_mechanism(columns):
    X = np.random.default_rng(0).uniform(20.0, 60.0, (5000, columns))
    model = PrivateMean(feature_bounds=(0.0, 100.0)).fit(X)
    assert np.abs(model.mean_ - X.mean(axis=0)).max() < 10.0
    assert set(vars(model)) - set(model.get_params()) == {
        "mean_",
        "run_",
        "certificate_",
        "n_features_in_",
    }
    noise_on_the_mean = model.run_.gradient_noise_stds[0]
    mu = model.certificate_.mu
    assert math.isclose(mu * noise_on_the_mean * 5000, math.sqrt(columns), rel_tol=1e-9)
    assert math.isclose(model.certificate_.epsilon(1e-5), 1.0, rel_tol=1e-6)
    assert pickle.loads(pickle.dumps(model)).certificate_.mu == mu
    many = [clone(model).fit(X).mean_ for _ in range(40)]
    spread = np.std(many, axis=0)
    assert np.allclose(spread, 50.0 * noise_on_the_mean, rtol=0.6)


def test_the_private_mean_refuses_what_it_must(no_noise):
    X = np.ones((100, 3))
    for changes, message in (
        ({}, "feature_norm or feature_bounds"),
        ({"feature_norm": math.inf}, "finite"),
        ({"feature_norm": 1.0, "epsilon": 1e-4}, "Too few rows"),
    ):
        with pytest.raises(InvalidDescription, match=message):
            PrivateMean(**changes).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        PrivateMean(feature_norm=1.0).fit(np.full((100, 3), np.nan))


def test_progress_shows_steps_and_time_only(capsys):
    X, y = separable()
    PrivateLogisticRegression(classes=[0, 1], steps=20, progress=True).fit(X, y)
    shown = capsys.readouterr()
    assert "step" in shown.err and shown.out == ""


def test_pipelines_and_searches_on_public_data():
    X, y = separable()
    public = PrivateLogisticRegression(classes=[0, 1], epsilon=8.0, steps=50)
    made = make_pipeline(FunctionTransformer(np.arcsinh), public)
    assert made.fit(X, y).score(X, y) > 0.9
    assert made[-1].certificate_.epsilon(1e-5) <= 8.0
    search = GridSearchCV(public, {"feature_norm": [1.0, 2.0]}, cv=2).fit(X, y)
    assert search.score(X, y) > 0.9  # its certificate is void, which matters to private rows only


@pytest.mark.parametrize(
    ("model", "weights", "intercept"),
    [
        (PrivateLasso(target_bound=1.0, l1_weight=0.2), Lasso(0.2), Unbounded()),
        (PrivateElasticNet(target_bound=1.0, l2_weight=0.3), ElasticNet(0.001, 0.3), Ridge(0.3)),
    ],
    ids=["lasso", "elastic-net"],
)
def test_sparse_models_run_their_prox_and_spare_the_intercept(model, weights, intercept):
    X, y = separable()
    model.fit(X, y)
    assert model.run_.domain == Product((weights, intercept), (COLUMNS, 1))
    model.set_params(fit_intercept=False, l1_weight=100.0).fit(X, y)
    assert model.run_.domain == replace(weights, weight=100.0)
    assert not model.coef_.any() and model.intercept_ == 0.0


@pytest.mark.parametrize("name", CASES)
def test_models_survive_files(name, tmp_path):
    model, X, y = example(name, feature_bounds=(-3.0, 3.0))
    model.fit(X, y).save_model(tmp_path / "model.npz")
    found = load_model(tmp_path / "model.npz")
    assert type(found) is type(model)
    assert np.array_equal(found.predict(X), model.predict(X))
    assert found.run_ == model.run_
    assert found.certificate_.epsilon(1e-5) == model.certificate_.epsilon(1e-5)
    assert type(found.coef_) is type(model.coef_)
    kept = ("epsilon", "delta", "adjacency", "fit_intercept")
    assert all(getattr(found, p) == getattr(model, p) for p in kept)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert set(archive.files) == {"about", "coef", "intercept"}
        assert json.loads(str(archive["about"]))["certificate"]["epsilon"] <= 1.0


def test_files_keep_what_is_void_and_what_was_composed(tmp_path):
    X, y = separable()
    first = PrivateLogisticRegression(classes=[0, 1]).fit(X, y)
    again = clone(first).set_params(warm_start=first).fit(X, y)
    again.save_model(tmp_path / "again.npz")
    found = load_model(tmp_path / "again.npz")
    assert found.certificate_.epsilon(1e-5) == again.certificate_.epsilon(1e-5)
    clone(first).set_params(seed_voids_privacy=1).fit(X, y).save_model(tmp_path / "void.npz")
    assert math.isinf(load_model(tmp_path / "void.npz").certificate_.epsilon(1e-5))


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", coef=np.zeros(2))
    (tmp_path / "text.npz").write_text("no archive")
    with (tmp_path / "pickle.npz").open("wb") as file:
        pickle.dump({"a": 1}, file)
    for name in ("other.npz", "text.npz", "pickle.npz"):
        with pytest.raises(InvalidDescription, match="model file"):
            load_model(tmp_path / name)
    with pytest.raises(NotFittedError):
        PrivateRidge(target_bound=1.0).save_model(tmp_path / "none.npz")


def test_snippets_of_the_page_run():
    page = (ROOT / "docs" / "learn.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(snippets) > 5
    exec(compile("\n".join(snippets), "docs/learn.md", "exec"), {})


@pytest.mark.slow
def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "private_logistic.py"), run_name="__main__")
    assert "by composition" in capsys.readouterr().out


def test_bagging_draws_rows_itself():
    """`fit` has no weights to pass on; a bag without repetition holds every record once."""
    from sklearn.ensemble import BaggingClassifier

    X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    y = (X[:, 0] > 0).astype(int)
    base = PrivateLogisticRegression(epsilon=1.0, delta=1e-5, classes=[0, 1])
    bags = BaggingClassifier(base, n_estimators=2, max_samples=0.5, bootstrap=False).fit(X, y)
    assert bags.predict(X).shape == (400,)
    with pytest.raises(TypeError, match="sample_weight"):
        base.fit(X, y, sample_weight=np.ones(400))


def test_sparse_rows_are_rows():
    from scipy import sparse

    X, y = separable()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=8.0, seed_voids_privacy=1)
    dense = model.fit(X, y).coef_
    assert np.array_equal(model.fit(sparse.csr_matrix(X), y).coef_, dense)
    assert np.array_equal(model.predict(sparse.coo_array(X)), model.predict(X))
    with pytest.raises(InvalidDescription, match="cells, zeros included"):
        model.fit(sparse.csr_matrix((10**6, 10**6)), np.zeros(10**6))
