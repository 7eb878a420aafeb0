"""A guarantee after its output went through a Markov kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from wane.errors import Unreachable
from wane.guarantees import ComposedDP, Guarantee, arguments
from wane.guarantees.composed import composed_of, own_dots
from wane.numerics.discrete_losses import DiscreteLosses
from wane.numerics.rounding import SMALLEST_POSITIVE
from wane.numerics.search import smallest_satisfying
from wane.theorems.kernel import amplification
from wane.theorems.kernel.amplification import pure_renyi
from wane.theorems.kernel.amplifying import ContinuousKernel
from wane.theorems.kernel.kernels import MarkovKernel

_LARGEST_EPSILON = 700.0


@final
@dataclass(frozen=True)
class AmplifiedGuarantee(Guarantee):
    """What remains of a guarantee when only the kernel's output is seen.

    The whole profile is amplified, point by point, by the exact formula.  Renyi divergences are the
    least of three: those before, shrunk by the Dobrushin coefficient; those of the pure bound,
    which a kernel may give where there was none; and those of the amplified profile.  Composition
    convolves the profile (`ComposedDP`).
    """

    before: Guarantee
    kernel: MarkovKernel | ContinuousKernel
    generality: ClassVar[int] = 4

    def delta(self, epsilon: float) -> float:
        """Delta before, times the kernel's coefficient at the matching threshold."""
        return self.deltas([epsilon])[0]

    def deltas(self, epsilons: Sequence[float]) -> list[float]:
        """The same for each epsilon, at the price of one search over the kernel's rows each."""
        return self.kernel.amplified_profile(epsilons, self.before.deltas(epsilons))

    @property
    def profile_points(self) -> int:
        """Fewer for large kernels, whose rows are compared pair by pair at each point."""
        inputs = self.kernel.inputs if isinstance(self.kernel, MarkovKernel) else 1
        return max(24, min(512, (1 << 14) // inputs))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon found with `self.delta(epsilon) <= delta`, never above before."""
        if delta == 0.0:
            return self.pure_epsilon
        return self._smallest(delta)

    def _smallest(self, delta: float) -> float:
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

    @cached_property
    def pure_epsilon(self) -> float:
        """The smallest epsilon found at which delta is zero; infinite if there is none."""
        return self._smallest(0.0)

    def renyi(self, order: float) -> float:
        """The least of what the Dobrushin coefficient, the pure bound and the profile give."""
        order = arguments.renyi_order("order", order)
        if math.isinf(order):
            return self.pure_epsilon
        least = min(self._by_dobrushin(order), pure_renyi(order, self.pure_epsilon))
        dots = self._dots
        if dots is None:
            return 0.0
        losses, interval = dots
        if losses.infinite > 0.0:
            return least
        moment = losses.log_moment(order - 1.0, interval)
        # The masses add up to one within 1e-12, which a small order magnifies.
        by_profile = (max(moment, 0.0) + 4e-15 * (1.0 + abs(moment))) / (order - 1.0)
        return min(least, max(by_profile, SMALLEST_POSITIVE))

    def _by_dobrushin(self, order: float) -> float:
        divergence = self.before.renyi(order)
        if math.isinf(divergence):
            return 0.0 if self.kernel.dobrushin == 0.0 else divergence
        return amplification.renyi_by_dobrushin(self.kernel.dobrushin, order, divergence)

    @cached_property
    def _dots(self) -> tuple[DiscreteLosses, float] | None:
        return own_dots(self)

    def group(self, size: int) -> AmplifiedGuarantee:
        """The guarantee for groups before the kernel, amplified."""
        return AmplifiedGuarantee(self.before.group(size), self.kernel)

    def repeat(self, times: int) -> Guarantee:
        """Independent uses of mechanism and kernel, their profiles convolved."""
        return self if times == 1 else ComposedDP(((self, times),))

    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        """Profiles are convolved, pure bounds and Renyi divergences added, the least is taken."""
        return composed_of((self, *others))
