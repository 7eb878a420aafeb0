"""Numerical accounts: known steps, composed by convolving their privacy losses.

The account is made at the first question and kept.  It dominates the exact composition at every
epsilon; its epsilon is typically 1e-4 above the truth, relatively, for up to 1e7 steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from wane.errors import InvalidDescription
from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.guarantees.chain import ChainDP
from wane.guarantees.convolution import LARGEST_GAUSSIAN, composed_losses
from wane.guarantees.renyi import CurveOf, RenyiDP
from wane.guarantees.steps import (
    AccountStep,
    GaussianMixtureStep,
    GaussianStep,
    Recipe,
    SampledGaussianStep,
    normal_form,
)
from wane.numerics.composed_losses import ComposedLosses
from wane.numerics.normal import gaussian_delta, gaussian_epsilon
from wane.numerics.rounding import add_up


@final
@dataclass(frozen=True)
class NumericalDP(Guarantee):
    """The guarantee of a known list of steps together, each (atom, count) in `parts`.

    Equal steps are merged, so that the order of composition does not matter.
    """

    parts: Recipe
    generality: ClassVar[int] = 2

    def __post_init__(self) -> None:
        checked: list[tuple[AccountStep, int]] = []
        for atom, times in self.parts:
            if not isinstance(atom, GaussianStep | SampledGaussianStep | GaussianMixtureStep):
                raise InvalidDescription(
                    f"parts must be pairs of a step and a count, got the step {atom!r}; use "
                    "GaussianStep or SampledGaussianStep"
                )
            checked.append((atom, arguments.count("count", times)))
        object.__setattr__(self, "parts", normal_form(checked))

    def delta(self, epsilon: float) -> float:
        """Return the hockey-stick divergence of the composed losses, never rounded down."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        if self._gaussian is not None:
            return gaussian_delta(epsilon, self._gaussian)
        if self._accounts is None or math.isinf(epsilon):
            return self._as_renyi.delta(epsilon)
        delta = max(account.delta(epsilon) for account in self._accounts)
        # The account counts truncated losses as infinite; Renyi divergences do not truncate.
        return delta if delta > self._floor else min(delta, self._as_renyi.delta(epsilon))

    def rough_delta(self, epsilon: float) -> float:
        """Return the account's delta, with the tiny mass that it counts as infinite."""
        if self._gaussian is not None or self._accounts is None or math.isinf(epsilon):
            return self.delta(epsilon)
        return max(account.delta(epsilon) for account in self._accounts)

    def epsilon(self, delta: float) -> float:
        """Return the inverse of `delta`, never rounded down."""
        delta = arguments.probability("delta", delta)
        if self._gaussian is not None:
            return gaussian_epsilon(delta, self._gaussian)
        if delta >= 1.0:
            return 0.0
        if self._accounts is None or delta == 0.0:
            return self._as_renyi.epsilon(delta)
        epsilon = max(account.epsilon(delta) for account in self._accounts)
        return epsilon if delta > self._floor else min(epsilon, self._as_renyi.epsilon(delta))

    def renyi(self, order: float) -> float:
        """Return the sum over the steps, each in its worse direction."""
        order = arguments.renyi_order("order", order)
        return add_up((atom.renyi(order), times) for atom, times in self.parts)

    def repeat(self, times: int) -> NumericalDP:
        """Return the account with every count multiplied."""
        times = arguments.count("times", times)
        return NumericalDP(tuple((atom, count * times) for atom, count in self.parts))

    def group(self, size: int) -> Guarantee:
        """Return the scaled account of Gaussian steps, or a chain of sampled ones."""
        size = arguments.count("size", size)
        if size == 1:
            return self
        if len(self.parts) == 1 and self._gaussian is not None:
            return NumericalDP(((GaussianStep(add_up([(self._gaussian, size)])), 1),))
        return ChainDP(self, size)

    def recipe(self) -> Recipe:
        """Return the parts."""
        return self.parts

    def absorb(self, others: tuple[Guarantee, ...]) -> NumericalDP:
        """Return the account of all recipes together."""
        return joined((self, *others))

    @cached_property
    def _gaussian(self) -> float | None:
        """The mu of an account of Gaussian steps alone, or of one with an extreme Gaussian step."""
        if not self.parts:
            return 0.0
        atom, _ = self.parts[0]
        if not isinstance(atom, GaussianStep):
            return None
        if len(self.parts) == 1:
            return atom.mu
        return math.inf if atom.mu > LARGEST_GAUSSIAN else None

    @cached_property
    def _accounts(self) -> tuple[ComposedLosses, ...] | None:
        return composed_losses(self.parts)

    @cached_property
    def _floor(self) -> float:
        """A delta that is far above the mass of the losses counted as infinite."""
        return 1e6 * max(account.infinite for account in self._accounts or ())

    @cached_property
    def _as_renyi(self) -> RenyiDP:
        return RenyiDP(CurveOf(self))


def joined(guarantees: Iterable[Guarantee]) -> NumericalDP:
    """Return the account of guarantees that all know their recipes."""
    parts: list[tuple[AccountStep, int]] = []
    for guarantee in guarantees:
        recipe = guarantee.recipe()
        assert recipe is not None, "only kinds that know their steps are at most this general"
        parts.extend(recipe)
    return NumericalDP(tuple(parts))
