"""Pure differential privacy: likelihood ratios that never exceed e^epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from wane.arguments import Checked
from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.guarantees.renyi import CurveOf, RenyiDP
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate

_ROUNDING = 4e-15
"""Relative error of a few exponentials and divisions, generously."""


@dataclass(frozen=True)
class PureCurve:
    """The Renyi divergences of two laws whose densities differ by a factor of at most e^epsilon.

    Claim.  D_a <= eps + (ln(1 + e^((1-2a) eps)) - ln(1 + e^-eps)) / (a - 1), the value of
    randomised response, which is the worst such pair.
    """

    epsilon: float

    def __call__(self, order: float) -> float:
        """Return the claim at this order, rounded up."""
        eps = self.epsilon
        gain = math.log1p(math.exp(-eps)) - math.log1p(math.exp((1.0 - 2.0 * order) * eps))
        doubt = 1e-15 * (eps + 1.0 / (order - 1.0))
        return min(eps, eps - gain / (order - 1.0) + doubt)


@final
@dataclass(frozen=True)
class PureDP(Checked, Guarantee):
    """The privacy loss never exceeds `level`; randomised response is the worst such pair."""

    level: arguments.Level
    generality: ClassVar[int] = 3

    def delta(self, epsilon: float) -> float:
        """Return (e^level - e^epsilon)/(1 + e^level) below the level, zero from there on."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        if epsilon >= self.level:
            return 0.0
        gap = -math.expm1(epsilon - self.level) / (1.0 + math.exp(-self.level))
        return min(max(inflate(gap, _ROUNDING), SMALLEST_POSITIVE), 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon at `delta`: ln(e^level - delta (1 + e^level)), at least 0."""
        delta = arguments.probability("delta", delta)
        share = 1.0 - delta * (1.0 + math.exp(-self.level)) * (1.0 - _ROUNDING)
        if delta >= 1.0 or share <= 0.0 or math.isinf(self.level):
            return 0.0 if delta >= 1.0 or math.isfinite(self.level) else math.inf
        doubt = _ROUNDING * (self.level - math.log(share) + 1.0) if delta > 0.0 else 0.0
        return min(max(self.level + math.log(share) + doubt, 0.0), self.level)

    def renyi(self, order: float) -> float:
        """Return the divergence of randomised response; see `PureCurve`."""
        order = arguments.renyi_order("order", order)
        return self.level if math.isinf(self.level) else PureCurve(self.level)(order)

    def group(self, size: int) -> PureDP:
        """Return the guarantee whose level is added up along a chain."""
        size = arguments.count("size", size)
        return self if size == 1 else PureDP(inflate(self.level * size, 4e-16))

    def repeat(self, times: int) -> Guarantee:
        """Return the guarantee whose divergences are added up."""
        times = arguments.count("times", times)
        return self if times == 1 else RenyiDP(CurveOf(self)).repeat(times)

    def absorb(self, others: tuple[Guarantee, ...]) -> RenyiDP:
        """Return the guarantee whose divergences are added up."""
        return RenyiDP(CurveOf(self)).absorb(others)
