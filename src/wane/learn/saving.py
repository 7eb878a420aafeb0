"""Writing models: arrays and one JSON text in an npz archive, never a pickle.

A file holds what was released and what is public about it.
"""

from __future__ import annotations

import json
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wane._version import __version__
from wane.certificates import certificate_to_fields
from wane.describe.fields import run_to_fields

FORMAT = "wane-model"
VERSION = 1
NOT_KEPT = ("warm_start", "batches", "curvature", "tune_on", "account", "checkpoint")
"""A release needs no start any more, `run_` and the certificate say what was run, and a ledger is
not its part; nor is a checkpoint, which holds a key."""


def write_model(model: Any, path: str | Path) -> None:
    """Write a fitted estimator, its description and its certificate to one file."""
    check_is_fitted(model, "coef_")
    about = np.array(json.dumps(_about(model)))  # before the file is opened: it may be refused
    coef, intercept = np.asarray(model.coef_), np.asarray(model.intercept_)
    with Path(path).open("wb") as file:
        np.savez(file, about=about, coef=coef, intercept=intercept)


def parameters_out(model: Any) -> dict[str, Any]:
    """Return the parameters that a file keeps, as JSON can hold them."""
    return {
        field.name: _parameter_out(getattr(model, field.name))
        for field in fields(model)
        if field.name not in NOT_KEPT
    }


def _about(model: Any) -> dict[str, Any]:
    certificate = model.certificate_
    epsilon = certificate.epsilon(model.delta)
    made: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "wane": __version__,
        "estimator": type(model).__name__,
        "parameters": parameters_out(model) | {"release_noise": model.release_noise_},
        "scaler": {
            "feature_norm": model.scaler_.feature_norm,
            "low": model.scaler_.low,
            "high": model.scaler_.high,
        },
        "columns": int(model.n_features_in_),
        "run": run_to_fields(model.run_),
        **certificate_to_fields(certificate),
        "certificate": {
            "epsilon": None if np.isinf(epsilon) else epsilon,
            "delta": model.delta,
            "adjacency": model.adjacency.value,
        },
    }
    if hasattr(model, "classes_"):
        made["classes"] = model.classes_.tolist()
    if hasattr(model, "feature_names_in_"):
        made["column_names"] = model.feature_names_in_.tolist()
    return made


def _parameter_out(value: Any) -> Any:
    if isinstance(value, Enum):
        return {"enum": type(value).__name__, "value": value.value}
    if isinstance(value, tuple | list):
        return [_parameter_out(entry) for entry in value]
    return value.tolist() if hasattr(value, "tolist") else value
