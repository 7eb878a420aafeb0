"""A guarantee after its output went through a Markov kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

from wane.errors import Unreachable
from wane.guarantees import Guarantee, RenyiDP
from wane.guarantees.renyi import CurveOf
from wane.mechanisms import amplification
from wane.mechanisms.kernels import MarkovKernel
from wane.numerics.roots import smallest_satisfying

_LARGEST_EPSILON = 700.0


@final
@dataclass(frozen=True)
class AmplifiedGuarantee(Guarantee):
    """What remains of a guarantee when only the kernel's output is seen.

    The whole profile is amplified, point by point, by the exact formula; Renyi divergences by the
    Dobrushin coefficient; composition goes through Renyi divergences.
    """

    before: Guarantee
    kernel: MarkovKernel
    generality: ClassVar[int] = 3

    def delta(self, epsilon: float) -> float:
        """Delta before, times the kernel's coefficient at the matching threshold."""
        found: float = self.kernel.amplified_profile([epsilon], [self.before.delta(epsilon)])[0]
        return found

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon found with `self.delta(epsilon) <= delta`, never above before."""
        largest = self.before.epsilon(delta)
        if self.kernel.dobrushin <= delta:
            return 0.0
        if not math.isfinite(largest):
            return self._without_ceiling(delta)
        within = self._within(delta)
        return largest if not within(largest) else smallest_satisfying(within, 0.0, largest)

    def _without_ceiling(self, delta: float) -> float:
        """The kernel alone may bound epsilon: its likelihood ratios may be bounded."""
        try:
            return smallest_satisfying(self._within(delta), 0.0, _LARGEST_EPSILON)
        except Unreachable:
            return math.inf

    def _within(self, delta: float) -> Callable[[float], bool]:
        return lambda epsilon: self.delta(epsilon) <= delta

    def renyi(self, order: float) -> float:
        """The divergence before, shrunk like sampling at the rate of the Dobrushin coefficient."""
        divergence = self.before.renyi(order)
        if math.isinf(divergence):
            return 0.0 if self.kernel.dobrushin == 0.0 else divergence
        return amplification.renyi_by_dobrushin(self.kernel.dobrushin, order, divergence)

    def group(self, size: int) -> AmplifiedGuarantee:
        """The guarantee for groups before the kernel, amplified."""
        return AmplifiedGuarantee(self.before.group(size), self.kernel)

    def repeat(self, times: int) -> Guarantee:
        """Independent uses of mechanism and kernel, in Renyi divergences."""
        return self if times == 1 else RenyiDP(CurveOf(self)).repeat(times)

    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        """Composition in Renyi divergences."""
        return RenyiDP(CurveOf(self)).absorb(others)
