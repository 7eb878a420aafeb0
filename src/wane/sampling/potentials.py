"""Potentials: a gradient for many states at once, and the constants that were declared for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from wane import arguments
from wane.arrays import Array
from wane.describe.chain import Target
from wane.errors import InvalidDescription


class Potential(ABC):
    """A potential F, whose law at temperature one has density proportional to exp(-F)."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """The constants that are declared, or proven, for F."""

    @abstractmethod
    def gradient(self, states: Array) -> Array:
        """Return grad F at every state as a new array; one row for each chain."""


@final
class GradientPotential(Potential):
    """Any potential, as a function for its gradient and the constants its author vouches for.

    `gradient` gets an array with one row for each chain and returns one of the same shape.
    """

    def __init__(self, gradient: Callable[[Array], Array], target: Target) -> None:
        """Keep the function and its constants; constants that were not declared are refused."""
        if not callable(gradient):
            raise InvalidDescription(
                f"gradient must be a function of the states, got {gradient!r}."
            )
        arguments.kind("target", target, (Target,))
        self._gradient, self._target = gradient, target

    @property
    def target(self) -> Target:
        """The declared constants."""
        return self._target

    def gradient(self, states: Array) -> Array:
        """Return what the function says, checked for its shape."""
        found = np.asarray(self._gradient(states), dtype=np.float64)
        if found.shape != states.shape:
            raise InvalidDescription(
                f"gradient must return one row for each state, shape {states.shape}, "
                f"got {found.shape}."
            )
        return found


@final
class GaussianPotential(Potential):
    """F = (x - mean)' precision (x - mean)/2: the law is normal, and the constants are exact.

    `precision` is one number for all coordinates, one for each, or a positive definite matrix.
    """

    def __init__(self, precision: ArrayLike, mean: ArrayLike) -> None:
        """Work the constants out; a matrix that is not positive definite is refused."""
        self.mean = np.array(mean, dtype=np.float64)
        self.precision = np.array(precision, dtype=np.float64)
        d = self.mean.size
        if self.mean.ndim != 1 or d == 0 or not np.isfinite(self.mean).all():
            raise InvalidDescription("mean must be a vector of finite numbers.")
        if self.precision.shape not in {(), (d,), (d, d)}:
            raise InvalidDescription(
                f"precision must be a number, {d} numbers or a {d} x {d} matrix, "
                f"got shape {self.precision.shape}."
            )
        low, high = self._ends(d)
        self._target = Target(low, high, d, laplacian_lipschitz=0.0)

    def _ends(self, d: int) -> tuple[float, float]:
        ends = self.precision
        doubt = 0.0
        if self.precision.ndim == 2:
            if not np.array_equal(self.precision, self.precision.T):
                raise InvalidDescription(
                    "precision must be symmetric; average it with its transpose."
                )
            ends = np.asarray(np.linalg.eigvalsh(self.precision), dtype=np.float64)
            doubt = 4e-16 * d * float(np.max(np.abs(ends)))
        low, high = float(np.min(ends)) - doubt, float(np.max(ends)) + doubt
        if not low > 0.0 or not np.isfinite(high):
            raise InvalidDescription(
                f"precision must be positive definite, but its least eigenvalue is {low:g}."
            )
        return low, high

    @property
    def target(self) -> Target:
        """Least and largest eigenvalue of the precision; the Laplacian is constant."""
        return self._target

    def gradient(self, states: Array) -> Array:
        """Return precision times the distance from the mean."""
        apart = states - self.mean
        return apart @ self.precision if self.precision.ndim == 2 else apart * self.precision
