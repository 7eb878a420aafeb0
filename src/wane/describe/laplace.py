"""Numbers that are released with Laplace noise, to which further Laplace noise is added, as data.

A release is a whole multiple of a unit that comes from the description alone: every number is
rounded to the nearest one, and every noise is a whole number of units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from wane import arguments
from wane.arrays import Array
from wane.describe.choices import Adjacency, adjacency_of
from wane.describe.description import Description, Row
from wane.describe.diffusion import SECRET_NOISE, SECRET_STATISTIC, Outside
from wane.errors import InvalidDescription

if TYPE_CHECKING:
    from wane.theorems.laplace.sums import LaplaceSumDP

LARGEST_SCALE = 1 << 13
"""Units of the largest noise; the sums then have a few million values that matter."""
LARGEST = 1e100
MOST_ENTRIES = 1 << 40


@dataclass(frozen=True)
class LaplaceRelease(Description):
    """Numbers released with Laplace noise, to which further Laplace noise is added.

    Attributes:
        sensitivity: largest sum of the absolute changes of all numbers between adjacent data sets.
        first_scale, second_scale: scales of the first two noises.
        further_scales: scales of all others.
        dimension: how many numbers there are, each with noise of its own.
        adjacency: which data sets the sensitivity compares; needed to certify.
    """

    kind: ClassVar[str] = "iterated-laplace"
    released_as: ClassVar[str] = "noisy-numbers"

    sensitivity: float
    first_scale: float
    second_scale: float
    further_scales: tuple[float, ...] = field(default=(), kw_only=True)
    dimension: int = field(default=1, kw_only=True)
    adjacency: Adjacency | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.adjacency is not None:
            object.__setattr__(self, "adjacency", adjacency_of("adjacency", self.adjacency))
        given = arguments.real("sensitivity", self.sensitivity, above=0.0, most=LARGEST)
        object.__setattr__(self, "sensitivity", given)
        for name in ("first_scale", "second_scale"):
            object.__setattr__(self, name, checked_scale(name, getattr(self, name)))
        arguments.kind("further_scales", self.further_scales, (tuple, list))
        named = ((f"further_scales[{i}]", scale) for i, scale in enumerate(self.further_scales))
        object.__setattr__(self, "further_scales", tuple(checked_scale(n, s) for n, s in named))
        arguments.whole("dimension", self.dimension, least=1, most=MOST_ENTRIES)

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales of all noises."""
        return (self.first_scale, self.second_scale, *self.further_scales)

    @property
    def unit(self) -> float:
        """What released numbers are multiples of: a power of two, far below noise and sensitivity.

        The largest noise has between 2^12 and 2^13 units.
        """
        return math.ldexp(1.0, math.frexp(max(self.scales) / LARGEST_SCALE)[1])

    @property
    def scales_in_units(self) -> tuple[int, ...]:
        """The scales as whole numbers; noise of less than a unit is neither added nor counted."""
        return tuple(round(scale / self.unit) for scale in self.scales if scale >= self.unit)

    @property
    def shift(self) -> int:
        """How many units apart adjacent numbers are at most, summed: each entry is rounded once."""
        return math.floor(Fraction(self.sensitivity) / Fraction(self.unit) + self.dimension)

    @cached_property
    def guarantee(self) -> LaplaceSumDP:
        """The exact guarantee of the release, roundings of the numbers included."""
        # the room of theorems stands above this one, so that it is asked for by its name
        made: LaplaceSumDP = import_module("wane.theorems.laplace.sums").guarantee_of(self)
        return made

    @property
    def pure_epsilon(self) -> float:
        """The level of pure DP of `release`: that of its widest noise alone, rounded up."""
        return self.guarantee.pure_epsilon

    def delta(self, epsilon: float) -> float:
        """The exact delta of `release` at this epsilon, rounded up."""
        return self.guarantee.delta(epsilon)

    def renyi(self, order: float) -> float:
        """The exact Renyi divergence of `release`, roundings of the statistic included, raised."""
        return self.guarantee.renyi(order)

    def release(self, statistic: Any) -> Array:
        """One private release: the numbers on multiples of the unit, plus all noises.

        The noises are whole multiples, drawn exactly from the randomness of the operating system.
        """
        drawn = import_module("wane.run.drawing").drawn  # as above: whoever draws stands above
        made: Array = drawn(self, statistic, Outside.REFUSE, None)
        return made

    def parameters(self) -> dict[str, Any]:
        """Return what is declared, by name."""
        return {
            "sensitivity": self.sensitivity,
            "scales": list(self.scales),
            "dimension": self.dimension,
        }

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> Self:
        """Return the release of these parameters."""
        table = dict(given)
        first, second, *others = table.pop("scales")
        return cls(table.pop("sensitivity"), first, second, further_scales=tuple(others), **table)

    def summary(self) -> str:
        """Return the release in one line."""
        adjacency = "none declared" if self.adjacency is None else self.adjacency.value
        scales = ", ".join(f"{scale:g}" for scale in self.scales[:4])
        return (
            f"{self.dimension} numbers of sensitivity {self.sensitivity:g} with "
            f"{len(self.scales)} Laplace noises of scales {scales}"
            f"{', ...' if len(self.scales) > 4 else ''}, adjacency {adjacency}"
        )

    def released_words(self) -> str:
        """Return what is released, in words."""
        return "The numbers with all of their Laplace noise, and nothing with less of it."

    def secrets(self) -> list[str]:
        """Return what must stay secret."""
        return [
            SECRET_STATISTIC,
            "The numbers with some of their noises only.",
            SECRET_NOISE,
        ]

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorem stand for."""
        return [
            ("D", "sensitivity: largest sum of absolute changes of all numbers", self.sensitivity),
            ("d", "how many numbers there are", self.dimension),
            ("u", "unit: what released numbers are multiples of", self.unit),
            ("n", "how many units adjacent numbers are apart at most", self.shift),
        ]

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers."""
        scales = [(f"scales[{place}]", scale) for place, scale in enumerate(self.scales)]
        return [("sensitivity", self.sensitivity), *scales, ("dimension", self.dimension)]


def checked_scale(name: str, given: float) -> float:
    """Return the scale of a noise, or refuse what is none."""
    scale = arguments.real(name, given, above=0.0)
    if not 1e-100 < scale < 1e100:
        raise InvalidDescription(f"{name} must be between 1e-100 and 1e100, got {scale:g}.")
    return scale
