"""Posterior sampling for linear regression with a robust likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.learn.base import Task
from wane.learn.scaling import TargetScaler
from wane.losses import LogCosh
from wane.sampling.estimators.base import PosteriorLinearModel


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorLinearRegression(RegressorMixin, PosteriorLinearModel):  # type: ignore[misc]
    """Linear regression whose coefficients are private samples from the posterior.

    The likelihood is close to normal near the regression line and falls off exponentially beyond
    `width` (the hyperbolic secant's), since a normal one lets a single record pull without limit.

    Args:
        target_bound: a number B for targets within [-B, B], or a pair (low, high), declared without
            looking at the data; targets beyond are moved to the nearest bound.
        width: residuals beyond this share of half the targets' range count linearly.
        noise_std: deviation of the targets' noise, in the same unit; at temperature one the
            posterior is the Bayesian one for it.

    Example:
        >>> import numpy as np
        >>> from wane.sampling.estimators import PosteriorLinearRegression
        >>> X = np.linspace(-0.7, 0.7, 500).reshape(-1, 1)
        >>> model = PosteriorLinearRegression(epsilon=2.0, target_bound=1.0, prior_precision=99.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    target_bound: Any = None
    width: float = 0.5
    noise_std: float = 0.25

    _validation: ClassVar[dict[str, Any]] = {"y_numeric": True}

    def _product(self) -> str:
        return f"{self._many()} of a linear regression"

    def _task(self, y: NDArray[Any]) -> Task:
        if self.target_bound is None:
            raise InvalidDescription(
                "target_bound must be given, got None; declare what the targets cannot exceed, "
                "since reading it from the data would show it."
            )
        scaler = TargetScaler.from_bound(self.target_bound, 1, centred=bool(self.fit_intercept))
        return Task(
            scaler(y),
            LogCosh(self.width),
            tuple(scaler.centre.tolist()),
            tuple(scaler.half_width.tolist()),
        )

    def _unit(self) -> float:
        return arguments.real("noise_std", self.noise_std, above=0.0) ** 2

    def predict(self, X: Any) -> Array:
        """Return each row's predicted target, averaged over the samples."""
        return np.asarray(self._linear(X)[:, :, 0].mean(axis=0))
