"""A scaler for pipelines that looks at declared bounds and at one record at a time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, validate_data

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.learn.scaling import FeatureScaler


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

    def transform(self, X: Any) -> Array:
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
