"""Data frames of three libraries: the same model, the same table, the same names."""

import inspect
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import wane.learn
import wane.tables
from wane.errors import InvalidDescription
from wane.learn import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMultiOutputRegression,
    PublicScaler,
)
from wane.tables import Schema, read_frame, read_table

NAMES = ["radius", "texture", "perimeter", "area"]
HIGH = [40.0, 50.0, 250.0, 3000.0]
X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
COLUMNS = {name: X[:, place] for place, name in enumerate(NAMES)}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "pyarrow": pa.table,
}
SERIES = {"pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.array}


def logistic(**more):
    return PrivateLogisticRegression(classes=[0, 1], feature_bounds=(0.0, HIGH), **more)


@pytest.mark.parametrize("library", sorted(SERIES))
def test_estimators_take_frames_and_keep_their_names(library, tmp_path):
    frame, target = FRAMES[library](COLUMNS), SERIES[library](Y)
    model = logistic(seed_voids_privacy=7).fit(frame, target)
    plain = logistic(seed_voids_privacy=7).fit(X, Y)
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.feature_names_in_.tolist() == NAMES
    assert np.array_equal(model.predict(frame), plain.predict(X))
    turned = FRAMES[library](dict(reversed(COLUMNS.items())))
    with pytest.raises(InvalidDescription, match="feature names should match"):
        model.predict(turned)


@pytest.mark.parametrize("library", sorted(SERIES))
def test_an_empty_cell_is_refused_and_not_quoted(library):
    holed = {name: [None, *values[1:].tolist()] for name, values in COLUMNS.items()}
    with pytest.raises(InvalidDescription, match=r"contains NaN|not a number"):
        logistic().fit(FRAMES[library](holed), Y)


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("library", sorted(SERIES))
def test_the_scaler_answers_in_frames(library, output):
    scaler = PublicScaler(feature_bounds=(0.0, HIGH)).set_output(transform=output)
    made = scaler.fit_transform(FRAMES[library](COLUMNS))
    assert isinstance(made, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[output])
    assert list(made.columns) == NAMES
    assert np.array_equal(
        made.to_numpy(), PublicScaler(feature_bounds=(0.0, HIGH)).fit_transform(X)
    )


def test_the_scaler_is_the_only_transformer():
    """A new one joins the tests of `set_output` here."""
    found = set()
    for package in (wane.learn, wane.tables):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            kinds = inspect.getmembers(import_module(module.name), inspect.isclass)
            found |= {
                kind
                for _, kind in kinds
                if kind.__module__.startswith("wane.") and hasattr(kind, "transform")
            }
    assert found == {PublicScaler}


def test_frames_of_the_scaler_keep_names_and_rows():
    rows = pd.DataFrame(COLUMNS, index=range(7, 7 + len(X)))
    scaler = PublicScaler(feature_bounds=(0.0, HIGH)).set_output(transform="pandas")
    with pytest.raises(NotFittedError):  # columns have no names before they are seen
        scaler.transform(rows)
    made = scaler.fit(rows).transform(rows)
    assert made.index.equals(rows.index)
    assert scaler.get_feature_names_out().tolist() == NAMES
    assert list(scaler.fit(X).transform(X).columns) == ["x0", "x1", "x2", "x3"]
    with pytest.raises(ValueError, match="output config"):
        scaler.set_output(transform="csv").transform(X)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_names_reach_the_model_at_the_end_of_a_pipeline(output):
    some = ColumnTransformer([("scaled", PublicScaler((0.0, HIGH[2:])), NAMES[2:])])
    model = PrivateLogisticRegression(classes=[0, 1], feature_norm=2.0, seed_voids_privacy=7)
    pipeline = make_pipeline(some, model).set_output(transform=output)
    pipeline.fit(FRAMES[output](COLUMNS), Y)
    assert model.feature_names_in_.tolist() == ["scaled__perimeter", "scaled__area"]
    assert some.get_feature_names_out().tolist() == ["scaled__perimeter", "scaled__area"]


SCHEMA = """
[target]
name = "label"
classes = ["0", "1"]
[columns.texture]
type = "numeric"
low = 0
high = 50
missing = "indicator"
[columns.kind]
type = "categorical"
categories = ["small", "large"]
[columns.big]
type = "boolean"
"""


@pytest.mark.parametrize("library", sorted(FRAMES))
def test_tables_are_read_from_frames_as_from_files(library, tmp_path):
    texture = [None, *COLUMNS["texture"][1:].tolist()]
    big = (COLUMNS["area"] > 700.0).tolist()
    kind = ["large" if one else "small" for one in big]
    columns = {"label": Y.tolist(), "big": big, "kind": kind, "texture": texture, "more": texture}
    (tmp_path / "schema.toml").write_text(SCHEMA)
    pl.DataFrame(columns).write_csv(tmp_path / "rows.csv")
    schema = Schema.from_file(tmp_path / "schema.toml")
    filed, framed = (
        read_table(tmp_path / "rows.csv", schema),
        read_frame(FRAMES[library](columns), schema),
    )
    assert np.array_equal(filed.features, framed.features)
    assert np.array_equal(filed.targets, framed.targets)
    assert filed.names == framed.names
    del columns["label"]
    without = read_frame(FRAMES[library](columns), schema, targets=False)
    assert np.array_equal(without.features, framed.features)
    with pytest.raises(InvalidDescription, match="must have the column 'label'"):
        read_frame(FRAMES[library](columns), schema)


def test_what_is_no_frame_is_refused(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    schema = Schema.from_file(tmp_path / "schema.toml")
    with pytest.raises(InvalidDescription, match="must be a data frame"):
        read_frame([[1.0]], schema)
    empty = pl.DataFrame({"texture": [], "kind": [], "big": [], "label": []})
    with pytest.raises(InvalidDescription, match="at least one row"):
        read_frame(empty, schema)


def test_coefficients_in_original_units_predict_the_same():
    model = logistic(feature_norm=2.0).fit(X, Y)
    made = X @ model.coef_original_.T + model.intercept_original_
    np.testing.assert_allclose(made[:, 0], model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert not np.allclose(model.coef_original_, model.coef_)
    rows, target = load_diabetes(return_X_y=True)
    given = {"feature_bounds": (-0.2, 0.3), "feature_norm": 4.0}
    one = PrivateLinearRegression(target_bound=(0.0, 400.0), **given).fit(rows, target)
    assert isinstance(one.intercept_original_, float)
    made = rows @ one.coef_original_ + one.intercept_original_
    np.testing.assert_allclose(made, one.predict(rows), rtol=1e-9)
    two = PrivateMultiOutputRegression(target_bound=(0.0, 800.0), **given)
    two.fit(rows, np.column_stack([target, 2 * target]))
    made = rows @ two.coef_original_.T + two.intercept_original_
    np.testing.assert_allclose(made, two.predict(rows), rtol=1e-9)
    bare = PrivateLinearRegression(target_bound=(0.0, 400.0)).fit(rows, target)
    assert np.array_equal(bare.coef_original_, bare.coef_)
    assert bare.intercept_original_ == bare.intercept_
