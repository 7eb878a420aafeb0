"""The base classes of losses, and the code that losses of one linear predictor share.

A loss is a function of a record's margins u = W^T a, a being the record's features.  Its file holds
a frozen class with everything that is known of it, and the function of its constants that users
call, under the file's name.  The derivative with respect to the margins, the residual, is bounded
by a cap for each record; a gradient is residual times features, so the cap is gradient_bound/|a|.
The cap is applied in the way that leaves the residual the derivative of a convex function: a scalar
is clamped, several outputs are shortened together if the loss is radial, clamped one by one if the
loss is a sum, and softmax is replaced by its Lipschitz envelope.

Constants: `feature_norm` (R in the formulas) bounds the norm of one record's features, intercept
coordinate included, and `clip` (C) is the threshold of per-record clipping.  A loss phi(<a, x>) has
the gradient phi' a and the Hessian phi'' a a^T; clipping clamps phi' to C/|a| and leaves curvature
only where the clamp is inactive, so that smoothness is the largest |a|^2 phi'' with |phi'| |a| <= C
and |a| <= R.

Shapes: margins (n,) for one output, else (n, outputs); targets (n,), or (n, outputs) for
`MultiSquared`; bounds (n,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol, runtime_checkable

import numpy as np

from wane import arguments
from wane.arguments import Checked, Whole
from wane.arrays import Array, Mask
from wane.describe.objective import LossForm, Objective
from wane.errors import InvalidDescription

RESIDUAL = 0.2
MARGIN_NOISE = 5.0
CLASSES_NOISE = 2.0
TARGET_NOISE = 0.15
LITTLE_DATA = 500.0
LITTLE_DATA_FOR_CLASSES = 10_000.0


@dataclass(frozen=True)
class Prior:
    """The public expectations of a loss before any data are seen; `wane.learn.plan` uses them.

    Gradient bounds are counted in units of the feature norm, that is as bounds on the residual;
    noise is counted on the margin.  The numbers were chosen by hand on public data: breast cancer,
    digits, Adult, MNIST, wine, diabetes and synthetic tables, looking at TEST accuracy, several
    times over.  No private data went in, so no certificate is touched; but accuracies on these sets
    flatter the numbers.  The optima are flat: half or twice a value costs a per cent of accuracy or
    so, three at worst.

    A classifier of two classes bears noise of about 5 on its margin with residuals clamped at 0.2:
    the loss is straight up to a margin of log(4) = 1.4, and noise of that scale changes few
    classes; the directions in which rows agree are damped, so that the noise that is left is
    several times smaller.  With more classes, where every margin is compared with all the others,
    it is 2.  Clamping later makes typical gradients shorter than the bound, so that less noise is
    borne.  A regression on targets within [-1, 1] bears 0.15: squared, that is a fortieth of the
    targets' own range.

    With much data a fit has nearly arrived, and would rather have less noise: a risk
    A/rho + B nu^2 with rho = nu (n mu) is least where nu falls like the cube root of n mu.  This
    begins at n mu = 500, or 10,000 for several classes, which have more to learn, and ends at 0.4
    of the noise.

    Attributes:
        residuals: residual bounds to try, increasing; None is the loss's own bound.
        noise: deviation of a margin that the loss bears at the first of them.
        fading: it bears `noise * (first / bound)^fading` at another.
        enough: the number of records times mu beyond which less noise is preferred.
    """

    residuals: tuple[float | None, ...]
    noise: float
    fading: float = 0.0
    enough: float = LITTLE_DATA


def residual_bounds(scale: float = 1.0) -> tuple[float | None, ...]:
    """Return the usual residual, later ones that may save steps, and no clamp at all."""
    return (*(scale * r for r in (RESIDUAL, 0.3, 0.45, 0.65)), None)


def classes_prior(scale: float = 1.0) -> Prior:
    """Return the prior of a loss of several classes."""
    return Prior(residual_bounds(scale), CLASSES_NOISE, 0.5, LITTLE_DATA_FOR_CLASSES)


def regression_prior(scale: float = 1.0) -> Prior:
    """Return the prior of a regression on targets within [-1, 1], without a bound of its own."""
    return Prior(tuple(scale * r for r in (RESIDUAL, 0.4, 0.8)), TARGET_NOISE)


UNIT = 2.0**-53
ROUNDINGS = 16.0
"""No closed form of a loss takes more roundings, those of exp and of a short sum included."""


class Loss(Protocol):
    """The loss of one record as a function of its margins."""

    @property
    def outputs(self) -> int:
        """The number of margins of a record."""
        ...

    def usable(self, targets: Array) -> Mask:
        """Return which targets mean something; the others' records count as zero records."""
        ...

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss, not bounded in any way."""
        ...

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative with respect to the margins, of length at most `bounds`."""
        ...

    def error(self, margin_bound: float) -> float:
        """Return how far a residual may be from the exact one, beyond rounding of the margins."""
        ...

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        ...

    @property
    def prior(self) -> Prior:
        """The public expectations of a planner before any data are seen."""
        ...


@runtime_checkable
class SampledLoss(Loss, Protocol):
    """A loss whose posterior can be sampled, never clipped."""

    def unclipped(self, feature_norm: float) -> Objective:
        """Return the constants of the loss as it is; without a bound on its gradient if none is."""
        ...

    @property
    def third_derivative(self) -> float | None:
        """A bound on the change of the Hessian's trace with the margins; None if it jumps."""
        ...

    def height(self, target_bound: float | None) -> float | None:
        """Return a bound on the loss at margin zero, or None if the targets have none."""
        ...


@dataclass(frozen=True)
class ScalarLoss(Checked, ABC):
    """A loss of one margin: bounding the residual is clamping it.

    A file defines what is abstract here, and `usable` or `error` where these are not true.
    """

    outputs: ClassVar[int] = 1

    @abstractmethod
    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""

    @abstractmethod
    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return the derivative of each record's loss, in an array of its own."""

    @abstractmethod
    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""

    @property
    @abstractmethod
    def prior(self) -> Prior:
        """The public expectations of a planner before any data are seen."""

    def usable(self, targets: Array) -> Mask:
        """Return which targets are finite."""
        return np.isfinite(targets)

    def error(self, margin_bound: float) -> float:
        """Return a bound on the roundings of a slope of at most one."""
        return ROUNDINGS * UNIT

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative, clamped to [-bounds, bounds]."""
        slopes = self.slopes(margins, targets)
        return np.minimum(np.maximum(slopes, -bounds, out=slopes), bounds, out=slopes)

    def unclipped(self, feature_norm: float) -> Objective:
        """Return the constants of the loss as it is."""
        return self.objective(feature_norm, None)


@dataclass(frozen=True)
class ClassesLoss(Checked):
    """A loss with one margin for each class; targets are 0, 1, ..., classes - 1."""

    classes: Annotated[int, Whole(least=2)]

    @property
    def outputs(self) -> int:
        """The number of classes, each of which has a margin."""
        return self.classes

    def usable(self, targets: Array) -> Mask:
        """Return which targets are whole numbers below the number of classes."""
        return np.asarray(
            (targets >= 0) & (targets < self.classes) & (targets == np.floor(targets))
        )

    def error(self, margin_bound: float) -> float:
        """Return a bound on the roundings of a closed form with a sum over the classes."""
        return (ROUNDINGS + self.classes) * UNIT * max(1.0, margin_bound)


def linear_objective(
    smoothness: float, *, gradient_bound: float, clip: float | None, ridge: float
) -> Objective:
    """Return the constants of a convex loss of one linear predictor.

    `gradient_bound` is the bound that it has anyway, infinite if there is none; it counts as
    clipped if the clip is smaller.
    """
    threshold = gradient_bound if clip is None else arguments.real("clip", clip, above=0.0)
    return Objective(
        gradient_bound=min(threshold, gradient_bound),
        smoothness=smoothness,
        strong_convexity=0.0,
        clipped=gradient_bound > threshold,
        form=LossForm.GLM,
        ridge=ridge,
    )


def rounded_up(value: float) -> float:
    """Return what is not below the exact value, after a few roundings."""
    return value * (1.0 + 2.0**-50)


def needed(gradient_bound: float | None) -> float:
    """Return the bound, which a loss without one of its own must be given."""
    if gradient_bound is None:
        raise InvalidDescription(
            "gradient_bound must be given for a loss whose gradient has no bound, got None."
        )
    return gradient_bound
