"""Numerical accounts: known steps, composed by convolving their privacy losses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from wane.errors import InvalidDescription
from wane.guarantees import arguments
from wane.guarantees.atoms import (
    Atom,
    GaussianMixtureStep,
    GaussianStep,
    Recipe,
    SampledGaussianStep,
    normal_form,
)
from wane.guarantees.base import Guarantee
from wane.guarantees.renyi import CurveOf, RenyiDP, grouped
from wane.numerics.rounding import add_up


@final
@dataclass(frozen=True)
class NumericalDP(Guarantee):
    """What a known list of steps leaks together, each (atom, count) in `parts`.

    Equal atoms are merged, so that the order of composition does not matter.
    """

    parts: Recipe
    generality: ClassVar[int] = 2

    def __post_init__(self) -> None:
        checked: list[tuple[Atom, int]] = []
        for atom, times in self.parts:
            if not isinstance(atom, GaussianStep | SampledGaussianStep | GaussianMixtureStep):
                raise InvalidDescription(
                    f"parts must be pairs of a step and a count, got the step {atom!r}; use "
                    "GaussianStep or SampledGaussianStep"
                )
            checked.append((atom, arguments.count(times, "count")))
        object.__setattr__(self, "parts", normal_form(checked))

    def delta(self, epsilon: float) -> float:
        """Never rounded down."""
        return self._as_renyi.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """Never rounded down."""
        return self._as_renyi.epsilon(delta)

    def renyi(self, order: float) -> float:
        """The sum over the steps, each in its worse direction."""
        order = arguments.renyi_order(order)
        return add_up((atom.renyi(order), times) for atom, times in self.parts)

    def repeat(self, times: int) -> NumericalDP:
        """Every count is multiplied."""
        times = arguments.count(times, "times")
        return NumericalDP(tuple((atom, count * times) for atom, count in self.parts))

    def group(self, size: int) -> Guarantee:
        """Gaussian steps scale; sampled ones are chained order by order."""
        size = arguments.count(size, "size")
        if size == 1:
            return self
        return grouped(CurveOf(self), size)

    def recipe(self) -> Recipe:
        """The parts."""
        return self.parts

    def absorb(self, others: tuple[Guarantee, ...]) -> NumericalDP:
        """Recipes are joined."""
        return joined((self, *others))

    @cached_property
    def _as_renyi(self) -> RenyiDP:
        return RenyiDP(CurveOf(self))


def joined(guarantees: Iterable[Guarantee]) -> NumericalDP:
    """One recipe out of guarantees that all know theirs."""
    parts: list[tuple[Atom, int]] = []
    for guarantee in guarantees:
        recipe = guarantee.recipe()
        assert recipe is not None, "only kinds that know their steps are at most this general"
        parts.extend(recipe)
    return NumericalDP(tuple(parts))
