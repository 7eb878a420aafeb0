"""Private classifiers: logistic regression of two or more classes, and a support vector one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.learn.base import PrivateLinearModel
from wane.learn.inputs import Labels, Task, class_task
from wane.losses import (
    Logistic,
    Loss,
    OneVsRest,
    SmoothedHinge,
    Softmax,
    SoftmaxClamp,
    SoftmaxEnvelope,
)
from wane.tables import ClassTarget, Target


class Multiclass(Enum):
    """How logistic regression treats three classes or more; plain clipping of softmax is unsound.

    ENVELOPE     softmax, replaced beyond the clipping threshold by its convex Lipschitz envelope.
    CLAMPED      softmax, the label's residual clamped: as cheap as plain softmax.
    BOUNDED      softmax, never clipped: its gradient is bounded by sqrt(2) times the row's norm.
    ONE_VS_REST  one binary problem for each class, each clipped on its own.
    """

    ENVELOPE = "envelope"
    CLAMPED = "clamped"
    BOUNDED = "bounded"
    ONE_VS_REST = "one-vs-rest"


_LINKS: dict[Multiclass, Callable[[int], Loss]] = {
    Multiclass.ENVELOPE: SoftmaxEnvelope,
    Multiclass.CLAMPED: SoftmaxClamp,
    Multiclass.BOUNDED: Softmax,
    Multiclass.ONE_VS_REST: OneVsRest,
}


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]
    """A private linear classifier of declared classes.

    Args:
        classes: every label that may occur, declared without looking at the data; a label that does
            not occur in the data may be among them.  `FROM_DATA` reads them from the data, warns,
            and voids the certificate.

    Attributes:
        classes_: the public classes.
    """

    classes: Any = None

    target: ClassVar[type[Target] | None] = ClassTarget

    @classmethod
    def _declared_by(cls, target: ClassTarget) -> dict[str, Any]:
        return {"classes": tuple(range(len(target.classes)))}

    @abstractmethod
    def _link(self, classes: int) -> Loss:
        """Return the loss for this many classes."""

    def _task(self, y: NDArray[Any]) -> Task:
        return class_task(y, self.classes, self._link)

    def decision_function(self, X: Any) -> Array:
        """Return the linear predictor: one column for each class, or for two classes one number."""
        made = self._linear(X)
        return made[:, 0] if made.shape[1] == 1 else made

    def predict(self, X: Any) -> Labels:
        """Return the most plausible class of each row."""
        made = self.decision_function(X)
        chosen = (made > 0.0).astype(np.intp) if made.ndim == 1 else made.argmax(axis=1)
        found: Labels = self.classes_[chosen]
        return found


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(PrivateClassifier):
    """Logistic regression with a certificate for its coefficients.

    Args:
        multiclass: what to do with three classes or more; two are a single logistic loss.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateLogisticRegression
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateLogisticRegression(epsilon=2.0, classes=(0, 1))
        >>> model = model.fit(X, (X[:, 0] > 0.0).astype(int))
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    multiclass: Multiclass = Multiclass.ENVELOPE

    words: ClassVar[str] = "logistic regression"
    command: ClassVar[str | None] = "logistic"

    def _link(self, classes: int) -> Loss:
        if not isinstance(self.multiclass, Multiclass):
            raise InvalidDescription(
                f"multiclass must be a Multiclass, got {self.multiclass!r:.60}; "
                f"one of {', '.join(str(m) for m in Multiclass)}."
            )
        return Logistic() if classes == 2 else _LINKS[self.multiclass](classes)

    def predict_proba(self, X: Any) -> Array:
        """Return each class's probability according to the model."""
        made = self.decision_function(X)
        if made.ndim == 1:
            return np.column_stack([expit(-made), expit(made)])
        if self.multiclass is not Multiclass.ONE_VS_REST:
            return np.asarray(softmax(made, axis=1))
        # dividing by the largest first keeps rows apart in which every class is unlikely
        logs = -np.logaddexp(0.0, -made)
        return np.asarray(softmax(logs, axis=1))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearSVC(PrivateClassifier):
    """A linear support vector classifier of two classes, with a smoothed hinge.

    Args:
        width: the hinge's kink is rounded over this much of the margin.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateLinearSVC
        >>> X = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
        >>> model = PrivateLinearSVC(epsilon=2.0, classes=(0, 1))
        >>> model = model.fit(X, (X[:, 0] > 0.0).astype(int))
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    width: float = 0.5

    words: ClassVar[str] = "a linear support vector machine"
    command: ClassVar[str | None] = "svm"

    def _link(self, classes: int) -> Loss:
        if classes != 2:
            raise InvalidDescription(
                "Only binary classification is supported: classes must hold two labels, got "
                f"{classes}; use PrivateLogisticRegression for more."
            )
        return SmoothedHinge(self.width)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
