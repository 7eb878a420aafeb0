"""Losses of one margin: the residual is a scalar, and bounding it is clamping it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wane.describe import check, losses
from wane.describe.objective import Objective
from wane.errors import InvalidDescription

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


UNIT = 2.0**-53
ROUNDINGS = 16.0
"""No closed form below takes more roundings, those of exp and of a short sum included."""


@dataclass(frozen=True)
class _Scalar:
    """A loss of one margin: the residual is clamped."""

    outputs: ClassVar[int] = 1

    def usable(self, targets: Array) -> Mask:
        return np.isfinite(targets)

    def error(self, margin_bound: float) -> float:
        return ROUNDINGS * UNIT

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative, clamped to [-bounds, bounds]."""
        slopes = self._slopes(margins, targets)
        return np.minimum(np.maximum(slopes, -bounds, out=slopes), bounds, out=slopes)

    def _slopes(self, margins: Array, targets: Array) -> Array:
        raise NotImplementedError


@dataclass(frozen=True)
class Logistic(_Scalar):
    """log(1 + exp(-y u)), targets -1 and +1."""

    def usable(self, targets: Array) -> Mask:
        """Targets are -1 or +1."""
        return np.asarray(np.abs(targets) == 1.0)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.logaddexp(0.0, -targets * margins)

    def _slopes(self, margins: Array, targets: Array) -> Array:
        return -targets / (1.0 + np.exp(targets * margins))

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return losses.logistic(feature_norm, clip=gradient_bound, ridge=ridge)


@dataclass(frozen=True)
class Squared(_Scalar):
    """(u - y)^2/2."""

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.square(margins - targets) / 2.0

    def _slopes(self, margins: Array, targets: Array) -> Array:
        return margins - targets

    def error(self, margin_bound: float) -> float:
        """One rounding of the difference, where the clamp has not removed it."""
        return ROUNDINGS * UNIT * max(1.0, margin_bound)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; a squared loss has no bound of its own, so one must be given."""
        return losses.least_squares(feature_norm, clip=needed(gradient_bound), ridge=ridge)


@dataclass(frozen=True)
class Huber(_Scalar):
    """Quadratic within `width` of the target, linear beyond."""

    width: float = 1.0

    def __post_init__(self) -> None:
        check.real("width", self.width, above=0.0)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        apart = np.abs(margins - targets)
        near = np.minimum(apart, self.width)
        return near * (apart - near / 2.0)

    def _slopes(self, margins: Array, targets: Array) -> Array:
        return np.clip(margins - targets, -self.width, self.width)

    def error(self, margin_bound: float) -> float:
        """One rounding of a difference of at most the width."""
        return ROUNDINGS * UNIT * max(1.0, margin_bound, self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return losses.huber(feature_norm, width=self.width, clip=gradient_bound, ridge=ridge)


@dataclass(frozen=True)
class SmoothedHinge(_Scalar):
    """Hinge loss of y u whose corner at 1 is rounded over `width`, targets -1 and +1."""

    width: float = 1.0

    def __post_init__(self) -> None:
        check.real("width", self.width, above=0.0)

    def usable(self, targets: Array) -> Mask:
        """Targets are -1 or +1."""
        return np.asarray(np.abs(targets) == 1.0)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        short = np.maximum(1.0 - targets * margins, 0.0)
        near = np.minimum(short, self.width)
        return near / self.width * (short - near / 2.0)

    def _slopes(self, margins: Array, targets: Array) -> Array:
        return -targets * np.clip((1.0 - targets * margins) / self.width, 0.0, 1.0)

    def error(self, margin_bound: float) -> float:
        """Roundings of the margin's distance to 1, over the width."""
        return ROUNDINGS * UNIT * max(1.0, (1.0 + margin_bound) / self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return losses.smoothed_hinge(
            feature_norm, width=self.width, clip=gradient_bound, ridge=ridge
        )


@dataclass(frozen=True)
class Quantile(_Scalar):
    """Pinball loss of the quantile `level`, its corner at the target rounded over `width`."""

    level: float = 0.5
    width: float = 1.0

    def __post_init__(self) -> None:
        check.real("width", self.width, above=0.0)
        if check.real("level", self.level, above=0.0, most=1.0) == 1.0:
            raise InvalidDescription(f"level must be below 1, got {self.level!r}.")

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        apart = margins - targets
        near = np.clip(apart, -self.level * self.width, (1.0 - self.level) * self.width)
        return near / self.width * (apart - near / 2.0)

    def _slopes(self, margins: Array, targets: Array) -> Array:
        return np.clip((margins - targets) / self.width, -self.level, 1.0 - self.level)

    def error(self, margin_bound: float) -> float:
        """Roundings of the distance to the target, over the width."""
        return ROUNDINGS * UNIT * max(1.0, margin_bound / self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return losses.quantile(
            feature_norm, level=self.level, width=self.width, clip=gradient_bound, ridge=ridge
        )


@dataclass(frozen=True)
class PoissonCounts(_Scalar):
    """exp(u) - y u for counts y from 0 to `largest_count`."""

    largest_count: float

    def __post_init__(self) -> None:
        check.real("largest_count", self.largest_count, least=0.0)

    def usable(self, targets: Array) -> Mask:
        """Targets lie between 0 and the largest count."""
        return (targets >= 0.0) & (targets <= self.largest_count)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.exp(margins) - targets * margins

    def _slopes(self, margins: Array, targets: Array) -> Array:
        return np.exp(margins) - targets

    def error(self, margin_bound: float) -> float:
        """Roundings of exp, which is at most the count plus the cap where the clamp is inactive."""
        return ROUNDINGS * UNIT * max(1.0, self.largest_count)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; the loss has no bound of its own, so one must be given."""
        return losses.poisson(
            feature_norm,
            clip=needed(gradient_bound),
            largest_count=self.largest_count,
            ridge=ridge,
        )


def needed(gradient_bound: float | None) -> float:
    """Return the bound, which a loss without one of its own must be given."""
    if gradient_bound is None:
        raise InvalidDescription(
            "gradient_bound must be given for a loss whose gradient has no bound, got None."
        )
    return gradient_bound
