"""Which estimator each word on the command line means, and what the schema tells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wane.errors import InvalidDescription
from wane.tables import BoundedTarget, ClassTarget, Target


@dataclass(frozen=True)
class ModelKind:
    """An estimator, in words and by name, and how a declared target becomes its arguments."""

    words: str
    estimator: str
    target: type[Target]
    arguments: Callable[[Any], dict[str, Any]]

    def arguments_for(self, target: Target) -> dict[str, Any]:
        """Return the estimator's arguments for this target, or say what it should have been."""
        if not isinstance(target, self.target):
            wanted = "classes" if self.target is ClassTarget else "bounds low and high"
            raise InvalidDescription(
                f"target {target.name!r:.60} must have {wanted} for {self.words}, got the other; "
                "change the schema or --model."
            )
        return self.arguments(target)


def _classes(target: ClassTarget) -> dict[str, Any]:
    return {"classes": tuple(range(len(target.classes)))}


def _bounds(target: BoundedTarget) -> dict[str, Any]:
    return {"target_bound": (target.low, target.high)}


def _largest_count(target: BoundedTarget) -> dict[str, Any]:
    if target.low < 0.0:
        raise InvalidDescription(
            f"target.low must be at least 0 for counts, got {target.low:g}; correct the schema."
        )
    return {"largest_count": target.high}


def _regression(words: str, estimator: str) -> ModelKind:
    return ModelKind(words, estimator, BoundedTarget, _bounds)


MODELS: dict[str, ModelKind] = {
    "logistic": ModelKind(
        "logistic regression", "PrivateLogisticRegression", ClassTarget, _classes
    ),
    "svm": ModelKind("a linear support vector machine", "PrivateLinearSVC", ClassTarget, _classes),
    "linear": _regression("linear regression", "PrivateLinearRegression"),
    "ridge": _regression("ridge regression", "PrivateRidge"),
    "huber": _regression("Huber regression", "PrivateHuberRegressor"),
    "quantile": _regression("median regression", "PrivateQuantileRegressor"),
    "lasso": _regression("the lasso", "PrivateLasso"),
    "elastic-net": _regression("the elastic net", "PrivateElasticNet"),
    "poisson": ModelKind(
        "Poisson regression", "PrivatePoissonRegressor", BoundedTarget, _largest_count
    ),
}
