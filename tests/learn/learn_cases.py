"""Every estimator of wane.learn, made ready for the data that tests invent."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from wane.learn import (
    FROM_DATA,
    MODELS,
    Multiclass,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMultiOutputRegression,
    PrivatePoissonRegressor,
)
from wane.tables import ClassTarget

COLUMNS = 4
NAMES = {
    PrivateLogisticRegression: "logistic",
    PrivateLinearSVC: "svc",
    PrivatePoissonRegressor: "poisson",
    PrivateMultiOutputRegression: "several",
}
"""How tests call some of the models; the others have the names of their classes."""


def declared(**changes: Any) -> dict[str, Any]:
    """By name: each estimator with everything public declared, and what its targets look like."""
    changes = {"steps": 60} | changes
    made = {}
    for kind in MODELS:
        facts, targets = _facts(kind)
        made[NAMES.get(kind, kind.__name__)] = (kind(**facts, **changes), targets)
    for way in Multiclass:
        made[way.value] = (
            PrivateLogisticRegression(classes=[0, 1, 2], multiclass=way, **changes),
            "three",
        )
    return made


def _facts(kind: Any) -> tuple[dict[str, Any], str]:
    """What must be declared for a model, and the kind of its targets."""
    if kind.target is ClassTarget:
        return {"classes": [0, 1]}, "binary"
    if "largest_count" in {field.name for field in fields(kind)}:
        return {"largest_count": 5}, "counts"
    if kind.target is None:
        return {"target_bound": 2.0}, "several"
    return {"target_bound": (-1.0, 3.0)}, "real"


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
    made: list[Any] = [
        PrivateLogisticRegression(classes=FROM_DATA, multiclass=way, **common) for way in Multiclass
    ]
    for kind in MODELS:
        facts = dict.fromkeys(_facts(kind)[0], FROM_DATA)
        if "largest_count" in facts:
            facts["largest_count"] = 10.0
        if kind is not PrivateLogisticRegression:
            made.append(kind(**facts, **common))
    made.append(PrivateMean(**{name: v for name, v in common.items() if name != "steps"}))
    return made
