"""Every estimator of wane.learn, made ready for the data that tests invent."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.learn import (
    FROM_DATA,
    Multiclass,
    PrivateElasticNet,
    PrivateHuberRegressor,
    PrivateLasso,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMultiOutputRegression,
    PrivatePoissonRegressor,
    PrivateQuantileRegressor,
    PrivateRidge,
)

COLUMNS = 4
REGRESSORS = (
    PrivateLinearRegression,
    PrivateRidge,
    PrivateHuberRegressor,
    PrivateQuantileRegressor,
    PrivateLasso,
    PrivateElasticNet,
)


def declared(**changes: Any) -> dict[str, Any]:
    """By name: each estimator with everything public declared, and what its targets look like."""
    changes = {"steps": 60} | changes
    made = {
        "logistic": (PrivateLogisticRegression(classes=[0, 1], **changes), "binary"),
        "svc": (PrivateLinearSVC(classes=[0, 1], **changes), "binary"),
        "poisson": (PrivatePoissonRegressor(largest_count=5, **changes), "counts"),
        "several": (PrivateMultiOutputRegression(target_bound=2.0, **changes), "several"),
    }
    for way in Multiclass:
        made[way.value] = (
            PrivateLogisticRegression(classes=[0, 1, 2], multiclass=way, **changes),
            "three",
        )
    for kind in REGRESSORS:
        made[kind.__name__] = (kind(target_bound=(-1.0, 3.0), **changes), "real")
    return made


def targets(kind: str, generator: np.random.Generator, rows: int) -> np.ndarray:
    """Random targets of a kind; real ones sometimes lie beyond their bounds."""
    return {
        "binary": lambda: generator.integers(0, 2, rows),
        "three": lambda: generator.integers(0, 3, rows),
        "counts": lambda: generator.integers(0, 9, rows),
        "several": lambda: 2.0 * generator.standard_normal((rows, 3)),
        "real": lambda: 2.0 * generator.standard_normal(rows),
    }[kind]()


def for_checks() -> list[Any]:
    """Each estimator as scikit-learn's checks can use it: they know neither classes nor bounds."""
    common = {"epsilon": 400.0, "steps": 200, "seed_voids_privacy": 1, "feature_bounds": FROM_DATA}
    return [
        *(PrivateLogisticRegression(classes=FROM_DATA, multiclass=w, **common) for w in Multiclass),
        PrivateLinearSVC(classes=FROM_DATA, **common),
        *(kind(target_bound=FROM_DATA, **common) for kind in REGRESSORS),
        PrivateMultiOutputRegression(target_bound=FROM_DATA, **common),
        PrivatePoissonRegressor(largest_count=10.0, **common),
        PrivateMean(**{name: value for name, value in common.items() if name != "steps"}),
    ]
