"""Losses of several margins: which way of bounding the residual keeps them convex differs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wane.describe import check, losses
from wane.describe.objective import Objective
from wane.errors import InvalidDescription
from wane.run import envelope, softmax
from wane.run.scalar_links import ROUNDINGS, UNIT, needed

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Classes:
    """A loss with one margin for each class, targets 0, 1, ..., classes - 1."""

    classes: int

    def __post_init__(self) -> None:
        check.whole("classes", self.classes, least=2)

    @property
    def outputs(self) -> int:
        """One margin for each class."""
        return self.classes

    def usable(self, targets: Array) -> Mask:
        """Targets are whole numbers below the number of classes."""
        return np.asarray(
            (targets >= 0) & (targets < self.classes) & (targets == np.floor(targets))
        )

    def error(self, margin_bound: float) -> float:
        """Roundings of a closed form, with a sum over the classes."""
        return (ROUNDINGS + self.classes) * UNIT * max(1.0, margin_bound)


@dataclass(frozen=True)
class _Softmax(_Classes):
    """Multinomial logistic loss log(sum exp u) - u_y, bounded in one way or another."""

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        top = margins.max(axis=1)
        total = np.log(np.exp(margins - top[:, None]).sum(axis=1))
        return np.asarray(total + top - margins[np.arange(len(margins)), targets.astype(np.intp)])


@dataclass(frozen=True)
class Softmax(_Softmax):
    """Multinomial logistic loss as it is: its residual is shorter than sqrt(2), and never cut."""

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return probabilities minus the label's indicator; `bounds` are at least sqrt(2)."""
        return softmax.plain(margins, targets.astype(np.intp))

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; a bound below sqrt(2) R is refused, as clipping is not monotone."""
        made = losses.softmax(feature_norm, ridge=ridge)
        if gradient_bound is not None and gradient_bound < math.sqrt(2.0) * feature_norm:
            raise InvalidDescription(
                f"gradient_bound must be at least sqrt(2) * feature_norm = {made.gradient_bound:g} "
                f"for softmax, got {gradient_bound:g}; clipping it is not monotone, use "
                "SoftmaxEnvelope or SoftmaxClamp."
            )
        return made


@dataclass(frozen=True)
class SoftmaxClamp(_Softmax):
    """Softmax with the label's residual clamped: convex, Lipschitz, and in closed form.

    The loss is log(1 + exp(-m)) of the margin m = u_y - log(sum of exp u_j, j not y), a concave
    function of u; clamping the decreasing convex outer function at slope -k keeps both properties.
    The residual is then min(1 - p_y, k) (r - e_y) with r the softmax of the other classes, of
    length at most sqrt(2) k, so k = bound/sqrt(2).
    """

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative of the clamped loss."""
        return softmax.clamped(margins, targets.astype(np.intp), bounds)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the clamped loss, which are those of the envelope."""
        return _bounded_softmax(feature_norm, gradient_bound, ridge)


@dataclass(frozen=True)
class SoftmaxEnvelope(_Softmax):
    """Softmax made Lipschitz by the infimal convolution with bound times the norm.

    The residual is the plain one where that is short enough, and elsewhere the plain one at the
    point reached by walking against it until it is.  See `wane.run.envelope`.
    """

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative of the envelope."""
        return envelope.residuals(margins, targets.astype(np.intp), bounds)

    def error(self, margin_bound: float) -> float:
        """Roundings, and what the solver leaves over."""
        return super().error(margin_bound) + envelope.error(margin_bound)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the envelope."""
        return _bounded_softmax(feature_norm, gradient_bound, ridge)


def _bounded_softmax(feature_norm: float, bound: float | None, ridge: float) -> Objective:
    if bound is None:
        return losses.softmax(feature_norm, ridge=ridge)
    return losses.softmax_envelope(feature_norm, clip=bound, ridge=ridge)


@dataclass(frozen=True)
class OneVsRest(_Classes):
    """A logistic loss for each class against the others; each is clamped at bound/sqrt(classes).

    Shortening all classes' residuals together would not be monotone.
    """

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss, summed over the classes."""
        return np.asarray(np.logaddexp(0.0, -self._signs(targets) * margins).sum(axis=1))

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivatives, each clamped."""
        signs = self._signs(targets)
        slopes = -signs / (1.0 + np.exp(signs * margins))
        share = (bounds / math.sqrt(self.classes))[:, None]
        return np.minimum(np.maximum(slopes, -share, out=slopes), share, out=slopes)

    def _signs(self, targets: Array) -> Array:
        return np.where(targets[:, None] == np.arange(self.classes), 1.0, -1.0)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the clamped losses."""
        return losses.one_vs_rest(
            feature_norm, classes=self.classes, clip=gradient_bound, ridge=ridge
        )


@dataclass(frozen=True)
class MultiSquared:
    """|u - y|^2/2 of several outputs; the residual vector is shortened as a whole."""

    outputs: int

    def __post_init__(self) -> None:
        check.whole("outputs", self.outputs, least=1)

    def usable(self, targets: Array) -> Mask:
        """Every output is a number."""
        return np.asarray(np.isfinite(targets).all(axis=1))

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.asarray(np.square(margins - targets).sum(axis=1) / 2.0)

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the differences, shortened to `bounds`."""
        return softmax.shortened(margins - targets, bounds)

    def error(self, margin_bound: float) -> float:
        """Roundings of the differences and of their length."""
        return (ROUNDINGS + self.outputs) * UNIT * max(1.0, margin_bound)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; the loss has no bound of its own, so one must be given."""
        return losses.multi_squared(feature_norm, clip=needed(gradient_bound), ridge=ridge)
