"""Between the parameters that a run moves and the coefficients that people read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
