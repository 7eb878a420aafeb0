"""Exported models predict what the models predict, on real rows and on rows beyond all bounds."""

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from wane.errors import InvalidDescription
from wane.extra.onnx import onnx_model, write_onnx
from wane.learn import (
    Multiclass,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMultiOutputRegression,
    PrivatePoissonRegressor,
)

PUBLIC = {"epsilon": 4.0, "delta": 1e-5}


def answers(model, rows, raw=None):
    session = onnxruntime.InferenceSession(raw or onnx_model(model).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


def beyond(rows):
    """Real rows, some of them scaled far out, and a row of zeros."""
    return np.vstack([rows, 1e3 * rows[:20], -rows[:20], 0.0 * rows[:1]])


@pytest.mark.parametrize("bounds", [(0.0, 300.0), None])
def test_two_classes(bounds, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    words = np.array(["malignant", "benign"])
    model = PrivateLogisticRegression(
        **PUBLIC, classes=words.tolist(), feature_bounds=bounds, feature_norm=2.0
    ).fit(X, words[y])
    write_onnx(model, tmp_path / "model.onnx")
    rows = beyond(X)
    found = answers(model, rows, (tmp_path / "model.onnx").read_bytes())
    assert np.array_equal(found["label"], model.predict(rows))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-12)


@pytest.mark.parametrize("multiclass", [Multiclass.ENVELOPE, Multiclass.ONE_VS_REST])
def test_many_classes(multiclass):
    X, y = load_digits(return_X_y=True)
    model = PrivateLogisticRegression(
        **PUBLIC, classes=range(10), feature_bounds=(0.0, 16.0), multiclass=multiclass
    ).fit(X, y)
    rows = beyond(X)
    found = answers(model, rows)
    assert np.array_equal(found["label"], model.predict(rows))
    assert (found["label"][: len(y)] == y).mean() > 0.5, "a model that learnt something"
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-12)


def test_support_vectors_have_labels_only():
    X, y = load_breast_cancer(return_X_y=True)
    model = PrivateLinearSVC(**PUBLIC, classes=[0, 1], feature_bounds=(0.0, 300.0)).fit(X, y)
    found = answers(model, beyond(X))
    assert found.keys() == {"label"}
    assert np.array_equal(found["label"], model.predict(beyond(X)))


@pytest.mark.parametrize(
    "kind, declared, target",
    [
        (PrivateLinearRegression, {"target_bound": (0.0, 400.0)}, lambda y: y),
        (PrivatePoissonRegressor, {"largest_count": 400.0}, np.round),
        (
            PrivateMultiOutputRegression,
            {"target_bound": (0.0, 800.0)},
            lambda y: np.column_stack([y, 2 * y]),
        ),
    ],
)
def test_regressions(kind, declared, target):
    X, y = load_diabetes(return_X_y=True)
    model = kind(**PUBLIC, **declared, feature_bounds=(-0.2, 0.2)).fit(X, target(y))
    rows = beyond(X)
    found = answers(model, rows)["prediction"]
    assert found.shape == model.predict(rows).shape
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-10)


def test_the_file_says_what_it_cost():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = PrivateLogisticRegression(
        **PUBLIC, classes=[0, 1], feature_bounds=(0.0, 300.0), seed_voids_privacy=3
    ).fit(X, y)
    said = {row.key: row.value for row in onnx_model(model).metadata_props}
    assert said["wane.epsilon"] == "infinity", "a seed voids the certificate"
    assert said["wane.columns"].split("\n") == list(X.columns)
    model.set_params(seed_voids_privacy=None).fit(X, y)
    said = {row.key: row.value for row in onnx_model(model).metadata_props}
    assert float(said["wane.epsilon"]) == model.certificate_.epsilon(1e-5)
    with pytest.raises(InvalidDescription, match="fit it first"):
        onnx_model(PrivateLogisticRegression(classes=[0, 1]))
