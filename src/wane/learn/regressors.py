"""Private regressions: squared, Huber, quantile and Poisson losses; sparse, or of many outputs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from wane import arguments
from wane.arrays import Array
from wane.describe.domains import Domain, ElasticNet, Lasso, Product, Ridge, Unbounded
from wane.errors import InvalidDescription
from wane.learn.base import PrivateLinearModel
from wane.learn.inputs import FromData, Task, Voids, range_of, read_from_data
from wane.learn.scaling import Coordinates, TargetScaler
from wane.losses import Huber, Loss, MultiSquared, PoissonCounts, Quantile, Squared
from wane.tables import BoundedTarget, Target


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A private linear regression on targets with public bounds.

    Args:
        target_bound: a number B for targets within [-B, B], or a pair (low, high); declared without
            looking at the data.  Targets beyond are moved to the nearest bound, and losses are
            measured on targets scaled to size one.  `FROM_DATA` reads the range, warns, and voids
            the certificate.
    """

    target_bound: Any = None

    target: ClassVar[type[Target] | None] = BoundedTarget
    _validation: ClassVar[dict[str, Any]] = {"y_numeric": True}

    @classmethod
    def _declared_by(cls, target: BoundedTarget) -> dict[str, Any]:
        return {"target_bound": (target.low, target.high)}

    @abstractmethod
    def _link(self, outputs: int) -> Loss:
        """Return the loss on targets of size at most one."""

    def _task(self, y: NDArray[Any]) -> Task:
        outputs = 1 if y.ndim == 1 else y.shape[1]
        scaler, voids = self._target_scaler(y, outputs)
        return Task(
            scaler(y),
            self._link(outputs),
            tuple(scaler.centre.tolist()),
            tuple(scaler.half_width.tolist()),
            voids=voids,
        )

    def _target_scaler(self, y: NDArray[Any], outputs: int) -> tuple[TargetScaler, Voids]:
        bound = self.target_bound
        voids: Voids = ()
        if bound is None:
            raise InvalidDescription(
                "target_bound must be given, got None; declare what the targets cannot exceed, "
                "since reading it from the data would show it."
            )
        if isinstance(bound, FromData):
            voids = (read_from_data("target_bound"),)
            bound = range_of(y)
        made = TargetScaler.from_bound(bound, outputs, centred=bool(self.fit_intercept))
        return made, voids

    def _shown(self, coefficients: Array, intercepts: Array) -> tuple[Any, Any]:
        return coefficients[0], float(intercepts[0])

    def predict(self, X: Any) -> Array:
        """Return each row's predicted target."""
        return self._linear(X)[:, 0]


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegression(PrivateRegressor):
    """Least squares with clipped residuals, which is a convex loss again.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateLinearRegression
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateLinearRegression(epsilon=2.0, target_bound=1.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    words: ClassVar[str] = "linear regression"
    command: ClassVar[str | None] = "linear"

    def _link(self, outputs: int) -> Loss:
        return Squared()


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRidge(PrivateLinearRegression):
    """Least squares plus a stated ridge: `ridge/2 |x|^2`, intercept included.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateRidge
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateRidge(epsilon=2.0, target_bound=1.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    ridge: float | None = 1e-4

    words: ClassVar[str] = "ridge regression"
    command: ClassVar[str | None] = "ridge"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateHuberRegressor(PrivateRegressor):
    """Regression with Huber's loss, for targets with outliers.

    Args:
        width: residuals beyond this much of the targets' half range count linearly.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateHuberRegressor
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateHuberRegressor(epsilon=2.0, target_bound=1.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    width: float = 0.25

    words: ClassVar[str] = "Huber regression"
    command: ClassVar[str | None] = "huber"

    def _link(self, outputs: int) -> Loss:
        return Huber(self.width)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateQuantileRegressor(PrivateRegressor):
    """Regression of a quantile, with the pinball loss rounded at its kink.

    Args:
        quantile: which, between 0 and 1; a half is the median.
        width: the kink is rounded over this much of the targets' half range.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateQuantileRegressor
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateQuantileRegressor(epsilon=2.0, target_bound=1.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    quantile: float = 0.5
    width: float = 0.1

    words: ClassVar[str] = "median regression"
    command: ClassVar[str | None] = "quantile"

    def _link(self, outputs: int) -> Loss:
        return Quantile(self.quantile, self.width)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLasso(PrivateRegressor):
    """Least squares with an l1 penalty, so that many coefficients are exactly zero.

    Args:
        l1_weight: of the sum of the coefficients' sizes, on targets scaled to size one; the
            intercept is not penalised.  Residuals are clipped, so the loss pulls a coefficient by
            no more than `clip`: a weight beyond that makes all of them zero.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateLasso
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateLasso(epsilon=2.0, target_bound=1.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    l1_weight: float = 0.001

    words: ClassVar[str] = "the lasso"
    command: ClassVar[str | None] = "lasso"

    def _link(self, outputs: int) -> Loss:
        return Squared()

    def _domain(self, coordinates: Coordinates) -> Domain | None:
        return _beside_intercept(Lasso(self.l1_weight), Unbounded(), coordinates)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateElasticNet(PrivateRegressor):
    """Least squares with an l1 penalty and a ridge, both by a proximal step.

    Args:
        l1_weight: as for `PrivateLasso`.
        l2_weight: of half the sum of squares, intercept included.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateElasticNet
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateElasticNet(epsilon=2.0, target_bound=1.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    l1_weight: float = 0.001
    l2_weight: float = 1e-4
    ridge: float | None = 0.0

    words: ClassVar[str] = "the elastic net"
    command: ClassVar[str | None] = "elastic-net"

    def _link(self, outputs: int) -> Loss:
        return Squared()

    def _domain(self, coordinates: Coordinates) -> Domain | None:
        penalty = ElasticNet(self.l1_weight, self.l2_weight)
        return _beside_intercept(penalty, Ridge(self.l2_weight), coordinates)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMultiOutputRegression(PrivateRegressor):
    """Least squares for several targets at once; a record's residuals are clipped together.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateMultiOutputRegression
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateMultiOutputRegression(epsilon=2.0, target_bound=1.0)
        >>> model = model.fit(X, X)
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    words: ClassVar[str] = "linear regression of several targets"
    target: ClassVar[type[Target] | None] = None  # a schema has one target
    _validation: ClassVar[dict[str, Any]] = {"y_numeric": True, "multi_output": True}

    def _task(self, y: NDArray[Any]) -> Task:
        if y.ndim != 2:
            raise InvalidDescription(
                f"y must have one column for each output, got shape {y.shape}; for a single "
                "target use PrivateLinearRegression. Reshape your data."
            )
        return super()._task(y[:, 0] if y.shape[1] == 1 else y)

    def _link(self, outputs: int) -> Loss:
        return Squared() if outputs == 1 else MultiSquared(outputs)

    def _shown(self, coefficients: Array, intercepts: Array) -> tuple[Any, Any]:
        return coefficients, intercepts

    def predict(self, X: Any) -> Array:
        """Return each row's predicted targets."""
        return self._linear(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class PrivatePoissonRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """Regression of counts: their expectation is the exponential of the linear predictor.

    Args:
        largest_count: public; larger counts are cut to it.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivatePoissonRegressor
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivatePoissonRegressor(epsilon=2.0, largest_count=5.0)
        >>> model = model.fit(X, np.arange(2000) % 4)
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    largest_count: float | None = None

    words: ClassVar[str] = "Poisson regression"
    command: ClassVar[str | None] = "poisson"
    target: ClassVar[type[Target] | None] = BoundedTarget
    _validation: ClassVar[dict[str, Any]] = {"y_numeric": True}

    @classmethod
    def _declared_by(cls, target: BoundedTarget) -> dict[str, Any]:
        if target.low < 0.0:
            raise InvalidDescription(
                f"target.low must be at least 0 for counts, got {target.low:g}; correct the schema."
            )
        return {"largest_count": target.high}

    def _task(self, y: NDArray[Any]) -> Task:
        most = arguments.real(
            "largest_count",
            self.largest_count,
            above=0.0,
            cure="declare it without looking at the data",
        )
        if (y < 0.0).any():
            raise InvalidDescription("y must hold counts, got a negative number.")
        return Task(np.minimum(y, most).astype(np.float64), PoissonCounts(most))

    def _shown(self, coefficients: Array, intercepts: Array) -> tuple[Any, Any]:
        return coefficients[0], float(intercepts[0])

    def predict(self, X: Any) -> Array:
        """Return each row's expected count, which cannot exceed the largest one."""
        made = np.minimum(self._linear(X)[:, 0], np.log(float(self.largest_count or 0.0)))
        return np.asarray(np.exp(made))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _beside_intercept(weights: Domain, intercept: Domain, coordinates: Coordinates) -> Domain:
    """Return the penalty of the weights, with another for the intercepts if there are any."""
    if coordinates.rows == coordinates.features:
        return weights
    n = coordinates.outputs
    return Product((weights, intercept), (coordinates.features * n, n))
