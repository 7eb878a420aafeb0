"""Reading models: runs no code from the file, and certifies anew instead of believing a number."""

from __future__ import annotations

import json
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from wane.describe import Adjacency
from wane.describe.fields import run_from_fields
from wane.errors import InvalidDescription
from wane.learn import classifiers, regressors
from wane.learn.base import PrivateLinearModel
from wane.learn.classifiers import Multiclass
from wane.learn.refusals import FromData
from wane.learn.releases import certificate_from_fields
from wane.learn.saving import FORMAT, VERSION
from wane.learn.scaling import FeatureScaler

ESTIMATORS: dict[str, type[PrivateLinearModel]] = {
    kind.__name__: kind
    for kind in (
        classifiers.PrivateLogisticRegression,
        classifiers.PrivateLinearSVC,
        regressors.PrivateLinearRegression,
        regressors.PrivateRidge,
        regressors.PrivateHuberRegressor,
        regressors.PrivateQuantileRegressor,
        regressors.PrivateLasso,
        regressors.PrivateElasticNet,
        regressors.PrivateMultiOutputRegression,
        regressors.PrivatePoissonRegressor,
    )
}
ENUMS: dict[str, type[Enum]] = {kind.__name__: kind for kind in (Adjacency, Multiclass, FromData)}


def load_model(path: str | Path) -> Any:
    """Return the fitted model of a file, certified anew."""
    try:
        raw = BytesIO(Path(path).read_bytes())  # numpy leaves a damaged file open
        with np.load(raw, allow_pickle=False) as archive:
            about = json.loads(str(archive["about"]))
            coef, intercept = archive["coef"], archive["intercept"]
    except (KeyError, ValueError, TypeError, AttributeError, BadZipFile) as error:
        raise InvalidDescription(f"{path} must be a model file of wane: {error}.") from None
    known = isinstance(about, dict) and about.get("format") == FORMAT
    if not known or about.get("version") != VERSION:
        raise InvalidDescription(f"{path} must be a {FORMAT} file of version {VERSION}.")
    kind = ESTIMATORS.get(about["estimator"])
    if kind is None:
        raise InvalidDescription(f"{path} holds an unknown estimator, {about['estimator']!r:.60}.")
    given = {name: _parameter_in(value) for name, value in about["parameters"].items()}
    model = kind(**given)
    _restore(model, about, coef, intercept)
    return model


def _restore(model: Any, about: dict[str, Any], coef: Any, intercept: Any) -> None:
    model.coef_, model.intercept_ = coef, intercept if intercept.ndim else float(intercept)
    model.scaler_ = FeatureScaler(**{k: _frozen(v) for k, v in about["scaler"].items()})
    model.n_features_in_ = about["columns"]
    model.run_ = run_from_fields(about["run"])
    model.n_iter_ = model.run_.total_steps
    model.certificate_ = certificate_from_fields(about)
    if "classes" in about:
        model.classes_ = np.asarray(about["classes"])
    if "column_names" in about:
        model.feature_names_in_ = np.asarray(about["column_names"], dtype=object)


def _parameter_in(value: Any) -> Any:
    return ENUMS[value["enum"]](value["value"]) if isinstance(value, dict) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
