"""Between the parameters that a run moves and the coefficients that people read, in their units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wane.arrays import Array
from wane.errors import InvalidDescription


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
