"""Public maps: of one record before a run, and of a run's parameters to what people read.

Columns are mapped by declared bounds, rows to a norm, targets to [-1, 1].

Each map of a record looks at it alone and at numbers that were declared without the data, so it
costs no privacy.  A value outside its bounds is moved to the nearest bound, never refused: a
refusal would tell something about the record.  For the same reason numpy's warnings are silenced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription

Rows = NDArray[np.floating[Any]]
Numbers = tuple[float, ...]

BLOCK_ROWS = 4096
INSIDE = 1.0 - 2.0**-20
"""Rows are scaled to a hair within the norm in single precision, so that rounding stays inside."""


@dataclass(frozen=True)
class FeatureScaler:
    """Rows of norm at most `feature_norm`, after columns were mapped into [-1, 1].

    The middle of a column's bounds becomes 0.  Columns that are mostly zero keep their zeros, and
    rows stay short, if their bounds are declared as (-B, B).

    Attributes:
        feature_norm: no row is longer; longer ones are scaled down.
        low, high: public bounds of each column, or None to leave the columns as they are.
    """

    feature_norm: float = 1.0
    low: Numbers | None = None
    high: Numbers | None = None

    def __post_init__(self) -> None:
        norm = arguments.real(
            "feature_norm",
            self.feature_norm,
            above=0.0,
            cure="declare a finite bound on the rows' norm, not computed from the data",
        )
        object.__setattr__(self, "feature_norm", norm)
        if (self.low is None) != (self.high is None):
            raise InvalidDescription(
                "feature_bounds must be a pair (low, high), got one of the two."
            )

    @classmethod
    def from_bounds(cls, feature_norm: float, bounds: object, columns: int) -> FeatureScaler:
        """Return the scaler of public bounds `(low, high)`; each a number or one for each column.

        None leaves the columns as they are.
        """
        if bounds is None:
            return cls(feature_norm)
        low, high = interval("feature_bounds", bounds, columns)
        return cls(feature_norm, low, high)

    def in_columns(self, point: Array) -> Array:
        """Return a point of scaled space in the columns' own units."""
        if self.low is None or self.high is None:
            return point
        low, high = np.array(self.low), np.array(self.high)
        return np.asarray((low + high) / 2.0 + (high - low) / 2.0 * point)

    def __call__(self, rows: Rows) -> Rows:
        """Return the scaled rows, block by block; the argument is left as it is."""
        made = np.empty(rows.shape, dtype=rows.dtype)
        with np.errstate(all="ignore"):
            for first in range(0, len(rows), BLOCK_ROWS):
                block = rows[first : first + BLOCK_ROWS]
                if self.low is not None and self.high is not None:
                    block = _to_unit(block, self.low, self.high)
                made[first : first + BLOCK_ROWS] = _shortened(block, self.feature_norm)
        return made


@dataclass(frozen=True)
class TargetScaler:
    """Targets cut to [low, high] and mapped to numbers of size at most one.

    Attributes:
        low, high: public bounds, one pair for each output.
        centred: the middle of the bounds becomes zero; only sensible beside an intercept.
    """

    low: Numbers
    high: Numbers
    centred: bool = True

    @classmethod
    def from_bound(cls, bound: object, outputs: int, *, centred: bool) -> TargetScaler:
        """Return the scaler of a public bound: a number B for [-B, B], or a pair (low, high)."""
        if isinstance(bound, tuple | list | np.ndarray):
            return cls(*interval("target_bound", bound, outputs), centred)
        B = arguments.real(
            "target_bound",
            bound,
            above=0.0,
            cure="declare what the targets cannot exceed, not computed from the data",
        )
        return cls((-B,) * outputs, (B,) * outputs, centred)

    @property
    def centre(self) -> Array:
        """What becomes zero."""
        middle = (np.array(self.low) + np.array(self.high)) / 2.0
        return np.asarray(middle if self.centred else 0.0 * middle)

    @property
    def half_width(self) -> Array:
        """What becomes one."""
        low, high = np.array(self.low), np.array(self.high)
        if self.centred:
            return np.asarray((high - low) / 2.0)
        return np.asarray(np.maximum(np.abs(low), np.abs(high)))

    def __call__(self, targets: Rows) -> Array:
        """Return the scaled targets, of the same shape."""
        with np.errstate(all="ignore"):
            table = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)
            cut = np.clip(table, self.low, self.high)
            return np.asarray((cut - self.centre) / self.half_width).reshape(targets.shape)


def interval(name: str, bounds: object, columns: int) -> tuple[Numbers, Numbers]:
    """Return public bounds as two tuples of finite numbers, low below high, one for each column."""
    try:
        low, high = (np.asarray(side, dtype=np.float64) for side in bounds)  # type: ignore[attr-defined]
        low, high = np.broadcast_to(low, (columns,)), np.broadcast_to(high, (columns,))
    except (TypeError, ValueError):
        raise InvalidDescription(
            f"{name} must be a pair (low, high), each a number or {columns} numbers, "
            f"got {bounds!r:.60}."
        ) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InvalidDescription(
            f"{name} must be finite; a column without bounds cannot be used privately: "
            "declare bounds, and values beyond them are moved to the nearest."
        )
    if not (low < high).all():
        raise InvalidDescription(f"{name} must have low < high in every column.")
    return tuple(low.tolist()), tuple(high.tolist())


def _to_unit(rows: Rows, low: Numbers, high: Numbers) -> Rows:
    bottom, top = np.array(low), np.array(high)
    cut = np.clip(rows, bottom.astype(rows.dtype), top.astype(rows.dtype))
    cut -= ((bottom + top) / 2.0).astype(rows.dtype)
    cut /= ((top - bottom) / 2.0).astype(rows.dtype)
    return np.clip(cut, -1.0, 1.0, out=cut)


def _shortened(rows: Rows, longest: float) -> Rows:
    """Scale long rows down to a hair within `longest`; huge entries do not overflow."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = rows / np.where(largest > 0.0, largest, 1.0).astype(rows.dtype)
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64))[:, np.newaxis]
    short = (lengths * (largest / longest) <= 1.0)[:, 0]
    scaled *= (INSIDE * longest / np.where(lengths > 0.0, lengths, 1.0)).astype(rows.dtype)
    scaled[short] = rows[short]
    return scaled


class PublicScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Map columns to [-1, 1] by public bounds; use it where StandardScaler would learn from rows.

    Parameters:
        feature_bounds: `(low, high)`, each a number or one for each column, known without the rows.
        feature_norm: rows are shortened to this norm; None leaves their length alone.

    Attributes:
        n_features_in_: number of columns.

    Example:
        >>> from sklearn.pipeline import make_pipeline
        >>> from wane.learn import PrivateLogisticRegression, PublicScaler
        >>> model = make_pipeline(
        ...     PublicScaler(feature_bounds=(0.0, 16.0)),
        ...     PrivateLogisticRegression(epsilon=1.0, delta=1e-5, classes=range(10)),
        ... )
    """

    def __init__(self, feature_bounds: Any = (-1.0, 1.0), feature_norm: float | None = None):
        self.feature_bounds = feature_bounds
        self.feature_norm = feature_norm

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the declared bounds against the number of columns; nothing is learnt."""
        rows = validate_data(self, X, dtype=np.float64)
        self._scaler(rows.shape[1])
        return self

    def transform(self, X: Any) -> Rows:
        """Return the rows, scaled one by one."""
        if hasattr(self, "n_features_in_"):
            rows = validate_data(self, X, dtype=np.float64, reset=False)
        else:
            rows = check_array(X, dtype=np.float64)
        return np.asarray(self._scaler(rows.shape[1])(rows))

    def _scaler(self, columns: int) -> FeatureScaler:
        if self.feature_bounds is None:
            raise InvalidDescription(
                "feature_bounds must be a pair (low, high), known without the rows, got None."
            )
        norm = 4.0 * columns if self.feature_norm is None else self.feature_norm
        return FeatureScaler.from_bounds(norm, self.feature_bounds, columns)

    def __sklearn_tags__(self) -> Any:
        """Nothing is learnt by `fit`, so none is needed before `transform`."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


@dataclass(frozen=True)
class Coordinates:
    """A linear model's parameters: one column of weights for each output, the intercept's row last.

    Attributes:
        features: number of columns, without the intercept.
        outputs: number of linear predictors; a single one makes the parameters a vector.
        intercept: the constant that stands in each row for the intercept; 0 for none.
        centre, unit: a prediction is `centre + unit * (linear predictor)`, output by output.
    """

    features: int
    outputs: int
    intercept: float
    centre: tuple[float, ...]
    unit: tuple[float, ...]

    @property
    def rows(self) -> int:
        """Number of columns of the data, intercept included."""
        return self.features + (self.intercept > 0.0)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the run's parameters."""
        return (self.rows,) if self.outputs == 1 else (self.rows, self.outputs)

    def released(self, parameters: Array) -> tuple[Array, Array]:
        """Return coefficients, one row for each output, and intercepts, from a run's end."""
        table = parameters.reshape(self.rows, self.outputs)
        unit, centre = np.array(self.unit), np.array(self.centre)
        coefficients = np.ascontiguousarray((table[: self.features] * unit).T)
        if self.rows == self.features:
            return coefficients, centre.copy()
        return coefficients, centre + unit * self.intercept * table[-1]

    def start(self, model: object) -> Array:
        """Return the parameters of a model: its coefficients, its intercepts as last column."""
        try:
            table = np.array(model, dtype=np.float64).reshape(self.outputs, self.rows)
        except (TypeError, ValueError):
            raise InvalidDescription(
                f"warm_start must hold {self.outputs} x {self.rows} numbers, the coefficients of "
                f"each output and then its intercept if there is one, got {model!r:.60}."
            ) from None
        if not np.isfinite(table).all():
            raise InvalidDescription("warm_start must hold finite numbers.")
        unit, centre = np.array(self.unit)[:, np.newaxis], np.array(self.centre)
        made = table / unit
        if self.rows > self.features:
            made[:, -1] = (table[:, -1] - centre) / (unit[:, 0] * self.intercept)
        return np.ascontiguousarray(made.T).reshape(self.shape)


class OriginalUnits:
    """What a fitted linear model says of columns in their own units.

    It agrees with `predict` on rows within `feature_bounds` that are not scaled down to
    `feature_norm`; rows beyond are moved first, which no linear formula tells.  Both are computed
    from what was released, so they cost nothing.
    """

    coef_: Any
    intercept_: Any
    scaler_: Any

    @property
    def coef_original_(self) -> Any:
        """Change of the linear predictor for one more unit of a column, shaped as `coef_`."""
        check_is_fitted(self, "coef_")
        return np.asarray(self.coef_) / self._half_widths

    @property
    def intercept_original_(self) -> Any:
        """The linear predictor where every column is zero, shaped as `intercept_`."""
        check_is_fitted(self, "coef_")
        if self.scaler_.low is None:
            return self.intercept_
        middle = (np.array(self.scaler_.low) + np.array(self.scaler_.high)) / 2.0
        moved = self.intercept_ - np.asarray(self.coef_original_) @ middle
        return moved if np.ndim(moved) else float(moved)

    @property
    def _half_widths(self) -> Any:
        if self.scaler_.low is None:
            return 1.0
        return (np.array(self.scaler_.high) - np.array(self.scaler_.low)) / 2.0
