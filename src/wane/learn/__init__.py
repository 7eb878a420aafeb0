"""Private linear models that run exactly what was certified.

The estimators follow scikit-learn's conventions and need it (extra `learn`); the planner does not,
so each name is imported at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wane.errors import MissingExtra

if TYPE_CHECKING:
    from wane.learn.classifiers import Multiclass, PrivateLinearSVC, PrivateLogisticRegression
    from wane.learn.conformance import EXPECTED_FAILED_CHECKS
    from wane.learn.curvature import CurvatureBound, PrivateCurvature, private_curvature
    from wane.learn.loading import load_model
    from wane.learn.mean import PrivateMean
    from wane.learn.public_scaler import PublicScaler
    from wane.learn.refusals import FROM_DATA, DataDependentWarning, TooFewRecords
    from wane.learn.regressors import (
        PrivateElasticNet,
        PrivateHuberRegressor,
        PrivateLasso,
        PrivateLinearRegression,
        PrivateMultiOutputRegression,
        PrivatePoissonRegressor,
        PrivateQuantileRegressor,
        PrivateRidge,
    )
    from wane.learn.scaling import FeatureScaler, TargetScaler
    from wane.learn.streamed import fit_table
    from wane.learn.tuning import PublicData, tuned
    from wane.learn.void import VoidCertificate

__all__ = [
    "CurvatureBound",
    "DataDependentWarning",
    "EXPECTED_FAILED_CHECKS",
    "FROM_DATA",
    "FeatureScaler",
    "Multiclass",
    "PrivateCurvature",
    "PrivateElasticNet",
    "PrivateHuberRegressor",
    "PrivateLasso",
    "PrivateLinearRegression",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateMean",
    "PrivateMultiOutputRegression",
    "PrivatePoissonRegressor",
    "PrivateQuantileRegressor",
    "PrivateRidge",
    "PublicData",
    "PublicScaler",
    "TargetScaler",
    "TooFewRecords",
    "VoidCertificate",
    "fit_table",
    "load_model",
    "private_curvature",
    "tuned",
]

_HOMES = {
    "classifiers": ("Multiclass", "PrivateLinearSVC", "PrivateLogisticRegression"),
    "conformance": ("EXPECTED_FAILED_CHECKS",),
    "curvature": ("CurvatureBound", "PrivateCurvature", "private_curvature"),
    "loading": ("load_model",),
    "mean": ("PrivateMean",),
    "refusals": ("DataDependentWarning", "FROM_DATA", "TooFewRecords"),
    "regressors": (
        "PrivateElasticNet",
        "PrivateHuberRegressor",
        "PrivateLasso",
        "PrivateLinearRegression",
        "PrivateMultiOutputRegression",
        "PrivatePoissonRegressor",
        "PrivateQuantileRegressor",
        "PrivateRidge",
    ),
    "public_scaler": ("PublicScaler",),
    "scaling": ("FeatureScaler", "TargetScaler"),
    "streamed": ("fit_table",),
    "tuning": ("PublicData", "tuned"),
    "void": ("VoidCertificate",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'wane.learn' has no attribute {name!r}")
    try:
        return getattr(import_module(f"wane.learn.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise MissingExtra(f"wane.learn.{name} needs scikit-learn; install wane[learn].") from None
