"""What every kernel can be asked once its coefficients are known."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Self

from wane import arguments
from wane.theorems.kernel import amplification
from wane.theorems.kernel.amplification import ApproximateDP


class AmplifyingKernel(ABC):
    """What coefficients alone tell of a kernel, whatever it is made of."""

    @abstractmethod
    def coefficients(self, multipliers: Iterable[float]) -> list[float]:
        """The largest integral of (P - m Q)_+ over two output laws P, Q for each m >= 1, raised."""

    @cached_property
    def dobrushin(self) -> float:
        """The largest total variation distance between two output laws, rounded up."""
        return self.coefficients([1.0])[0]

    def dobrushin_at(self, epsilon: float) -> float:
        """The smallest g found for which the kernel is (g, epsilon)-Dobrushin, rounded up."""
        return self.dobrushin_curve([epsilon])[0]

    def dobrushin_curve(self, epsilons: Iterable[float]) -> list[float]:
        """The coefficient at each epsilon."""
        checked = [arguments.real("epsilon", e, least=0.0) for e in epsilons]
        limit = math.log(amplification.LARGEST_MULTIPLIER)
        lowered = 1.0 - amplification.SLACK
        return self.coefficients([max(1.0, math.exp(min(e, limit)) * lowered) for e in checked])

    def amplified_delta(self, at: float, *, epsilon: float, delta: float) -> float:
        """The worst delta at `at` after the kernel, of any (epsilon, delta)-private input."""
        return self.amplified_curve([at], epsilon=epsilon, delta=delta)[0]

    def amplified_curve(
        self, epsilons: Iterable[float], *, epsilon: float, delta: float
    ) -> list[float]:
        """The worst delta after the kernel at each of `epsilons`."""
        points = list(epsilons)
        return self.amplified_profile(
            points, [amplification.worst_profile(e, epsilon, delta) for e in points]
        )

    def amplified_profile(self, epsilons: Iterable[float], deltas: Iterable[float]) -> list[float]:
        """Delta after the kernel at each epsilon, from delta before it at the same epsilon.

        Claim.  delta'(e) <= Th g(log(1 + (e^e - 1)/Th)), Th = delta(e), g = `dobrushin_at`.
        """
        pairs: Sequence[tuple[float, float]] = [
            (
                arguments.real("epsilon", e, least=0.0),
                arguments.real("delta", d, least=0.0, most=1.0),
            )
            for e, d in zip(epsilons, deltas, strict=True)
        ]
        found = self.coefficients([amplification.threshold(e, d) for e, d in pairs])
        return [amplification.exact(d, g) for (_, d), g in zip(pairs, found, strict=True)]


class ContinuousKernel(AmplifyingKernel):
    """A kernel on infinitely many inputs; use one of its kinds.

    All numbers are upper bounds on the truth.  Kinds say in their own words for which inputs.
    """

    @property
    @abstractmethod
    def doeblin_coefficient(self) -> float:
        """One minus a probability with which the output ignores the input, rounded up."""

    @property
    @abstractmethod
    def ultra_mixing(self) -> float:
        """One minus the smallest likelihood ratio between two output laws, rounded up."""

    @abstractmethod
    def power(self, times: int) -> Self:
        """The kernel applied so many times."""

    def amplify(self, *, epsilon: float, delta: float) -> dict[str, ApproximateDP]:
        """All statements about an (epsilon, delta)-private input, the last one the best."""
        before = amplification.checked_target(epsilon, delta)
        exact = self.amplified_profile([before.epsilon], [before.delta])[0]
        return {
            "dobrushin": amplification.by_dobrushin(self.dobrushin, *before),
            "doeblin": amplification.by_doeblin(self.doeblin_coefficient, *before),
            "ultra_mixing": amplification.by_ultra_mixing(self.ultra_mixing, *before),
            "exact": ApproximateDP(before.epsilon, exact),
        }
