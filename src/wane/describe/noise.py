"""The four ways people write down Gaussian noise, and how each becomes the first.

The update is `x' = prox(x - step_size * (g(x) + Z))` with `Z ~ N(0, s^2 I)`; wane computes with
`s`, the standard deviation on the averaged gradient, and with nothing else.  This module is the
only place that knows another convention.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.errors import InvalidDescription

Column = NDArray[np.float64]
FEWEST_ULPS = 2.0**10
"""Noise must be at least so many units in the last place of what it is added to."""


@dataclass(frozen=True)
class _Scale:
    value: float
    key: ClassVar[str]
    power: ClassVar[int] = 1  # how the value grows when the deviation is scaled

    def __post_init__(self) -> None:
        number = arguments.real(
            f"noise.{self.key}", self.value, least=0.0, cure="noise is what makes the run private"
        )
        object.__setattr__(self, "value", number)

    def scaled(self, factor: float) -> Self:
        """Return the same kind of noise with its standard deviation multiplied by `factor`."""
        return replace(self, value=self.value * factor**self.power)


@dataclass(frozen=True)
class GradientNoise(_Scale):
    """Standard deviation added to the averaged gradient: `s` itself."""

    key: ClassVar[str] = "gradient_std"

    @staticmethod
    def gradient_std(
        value: Column, *, step_size: Column, gradient_bound: float | None, size: int
    ) -> Column:
        """Return `s` for columns of values and step sizes."""
        return value


@dataclass(frozen=True)
class NoiseMultiplier(_Scale):
    """DP-SGD's multiplier: deviation on the sum over the gradient bound, `s = z C / b`."""

    key: ClassVar[str] = "multiplier"

    @staticmethod
    def gradient_std(
        value: Column, *, step_size: Column, gradient_bound: float | None, size: int
    ) -> Column:
        """Return `s = z C / b` for columns of values and step sizes."""
        if gradient_bound is None:
            raise InvalidDescription(
                "noise.multiplier needs objective.gradient_bound, got None; "
                "declare the bound, or give gradient_std."
            )
        return value * gradient_bound / size


@dataclass(frozen=True)
class IterateNoise(_Scale):
    """Standard deviation added to the iterate: `s = std / step_size`."""

    key: ClassVar[str] = "iterate_std"

    @staticmethod
    def gradient_std(
        value: Column, *, step_size: Column, gradient_bound: float | None, size: int
    ) -> Column:
        """Return `s = std / eta` for columns of values and step sizes."""
        return value / step_size


@dataclass(frozen=True)
class Temperature(_Scale):
    """Langevin's temperature: variance `2 eta tau` on the iterate, `s = sqrt(2 tau / eta)`."""

    key: ClassVar[str] = "temperature"
    power: ClassVar[int] = 2

    @staticmethod
    def gradient_std(
        value: Column, *, step_size: Column, gradient_bound: float | None, size: int
    ) -> Column:
        """Return `s = sqrt(2 tau / eta)` for columns of values and step sizes."""
        return np.sqrt(2.0 * value / step_size)


Noise = GradientNoise | NoiseMultiplier | IterateNoise | Temperature
NOISES: tuple[type[Noise], ...] = (GradientNoise, NoiseMultiplier, IterateNoise, Temperature)
