"""Posterior sampling for logistic regression, of two classes or more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from wane.arrays import Array
from wane.learn.base import Task
from wane.learn.classifiers import Multiclass, PrivateLogisticRegression
from wane.sampling.estimators.base import PosteriorLinearModel


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorLogisticRegression(ClassifierMixin, PosteriorLinearModel):  # type: ignore[misc]
    """Logistic regression whose coefficients are private samples from the posterior.

    Three classes or more use the softmax loss, never clipped.  With several samples,
    `predict_proba` averages their probabilities, which is the posterior predictive distribution.

    Args:
        classes: every label that may occur, declared without looking at the data.

    Attributes:
        classes_: the declared classes.

    Example:
        >>> import numpy as np
        >>> from wane.sampling.estimators import PosteriorLogisticRegression
        >>> X = np.linspace(-0.7, 0.7, 500).reshape(-1, 1)
        >>> model = PosteriorLogisticRegression(epsilon=2.0, classes=(0, 1), prior_precision=20.0)
        >>> model = model.fit(X, (X[:, 0] > 0.0).astype(int))
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    classes: Any = None

    def _product(self) -> str:
        return f"{self._many()} of a logistic regression"

    def _task(self, y: NDArray[Any]) -> Task:
        plain = PrivateLogisticRegression(classes=self.classes, multiclass=Multiclass.BOUNDED)
        return plain._task(y)

    def predict_proba(self, X: Any) -> Array:
        """Return each class's probability, averaged over the samples."""
        made = self._linear(X)
        if made.shape[2] == 1:
            positive = expit(made[:, :, 0]).mean(axis=0)
            return np.column_stack([1.0 - positive, positive])
        return np.asarray(softmax(made, axis=2).mean(axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        places = self.predict_proba(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[places]
        return found
