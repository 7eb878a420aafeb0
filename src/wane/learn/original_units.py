"""Coefficients as people read them: for the columns as they were given, not as they were scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted


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
