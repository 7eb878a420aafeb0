"""What the verifier can prove of a description, theorem by theorem.

Every bound answers with an upper bound on delta at any epsilon and on an attacker's power, in
balls.  The hypotheses are judged here again, from the description alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from flint import arb

from wane.verify.balls import ball, top
from wane.verify.gaussian import gaussian_delta, gaussian_power

LADDER = (0.0, *(2.0 ** (place / 2.0) for place in range(-24, 18)))
"""Epsilons at which a profile is looked at first."""


class Bound(ABC):
    """A privacy profile that is proven of a description."""

    tight: ClassVar[bool] = True
    """Whether the theorem proves nothing smaller; False where the verifier only searched."""

    @abstractmethod
    def delta(self, epsilon: arb) -> arb:
        """An upper bound on delta at this exact epsilon."""

    def proves(self, epsilon: arb, delta: arb) -> bool:
        """Whether (epsilon, delta) is certain to hold."""
        return bool(top(self.delta(epsilon)) <= delta)

    def widen(self) -> bool:
        """Search longer for a bound on power, once and for all; False if nothing is left to try."""
        return False

    def power(self, rate: float) -> arb:
        """An upper bound on the power of attacks at this false positive rate.

        `delta + e^eps rate` and `1 - e^-eps (1 - delta - rate)` bound it for every epsilon.
        """
        alpha = ball(rate)

        def steep(e: arb, delta: arb) -> arb:
            return delta + e.exp() * alpha

        def flat(e: arb, delta: arb) -> arb:
            return 1 - (1 - delta - alpha) / e.exp()

        lowest = arb(1)
        for rule in (steep, flat):
            lowest = lowest.min(self._least(rule))
        return lowest

    def _least(self, rule: Callable[[arb, arb], arb]) -> arb:
        """The least value of a rule that grows with epsilon and with delta, nearly."""
        lowest, best = arb(1), 0
        for i, epsilon in enumerate(LADDER):
            e = ball(epsilon)
            if not rule(e, arb(0)) < lowest:  # from here on no delta helps
                break
            if epsilon not in self._sketch:
                self._sketch[epsilon] = top(self.delta(e))
            height = top(rule(e, self._sketch[epsilon]))
            if height < lowest:
                lowest, best = height, i

        def at(epsilon: float) -> arb:
            e = ball(epsilon)
            return top(rule(e, self.delta(e)))

        ends = LADDER[max(best - 1, 0)], LADDER[min(best + 1, len(LADDER) - 1)]
        return lowest.min(at(golden(lambda e: float(at(e)), *ends, 30)))

    @cached_property
    def _sketch(self) -> dict[float, arb]:
        """The profile at the steps of the ladder, as far as it was asked for."""
        return {}


@dataclass(frozen=True)
class Gaussian(Bound):
    """mu-GDP, for an upper bound on mu^2."""

    mu_squared: arb

    @cached_property
    def mu(self) -> arb:
        """An exact upper bound on mu."""
        return top(top(self.mu_squared).sqrt())

    def delta(self, epsilon: arb) -> arb:
        """The Gaussian profile."""
        return gaussian_delta(epsilon, self.mu)

    def rough(self, epsilon: float) -> float:
        """The size of delta in doubles: it only chooses what to compute."""
        mu = max(float(self.mu), 1e-300)
        return mu * math.exp(-(max(epsilon / mu - mu / 2.0, 0.0) ** 2) / 2.0)

    def power(self, rate: float) -> arb:
        """The Gaussian power."""
        return gaussian_power(ball(rate), self.mu)


@dataclass(frozen=True)
class Searched(Gaussian):
    """mu-GDP, for a mu^2 that a search has found; a longer search may find a smaller one."""

    longer: Callable[[], arb | None] | None = None
    tight: ClassVar[bool] = False

    def searched(self) -> Searched:
        """The least of this and of what the longer search finds."""
        found = None if self.longer is None else self.longer()
        return Searched(self.mu_squared if found is None else top(self.mu_squared.min(found)))


@dataclass(frozen=True)
class Failing(Bound):
    """A Gaussian bound that holds but for an event of this probability, added to delta."""

    inner: Gaussian
    failure: arb
    tight: ClassVar[bool] = False

    def delta(self, epsilon: arb) -> arb:
        """The inner delta and the failure."""
        return self.inner.delta(epsilon) + self.failure

    def rough(self, epsilon: float) -> float:
        """The size of the same."""
        return self.inner.rough(epsilon) + float(self.failure)

    def power(self, rate: float) -> arb:
        """The inner power and the failure, or what the profile gives."""
        return top(self.inner.power(rate) + self.failure).min(top(super().power(rate)))


@dataclass(frozen=True)
class Mixture(Bound):
    """An average of Gaussian profiles, weights as counts."""

    parts: tuple[tuple[int, Gaussian], ...]

    def delta(self, epsilon: arb) -> arb:
        """The average."""
        total = sum((n * part.delta(epsilon) for n, part in self.parts), arb(0))
        return total / sum(n for n, _ in self.parts)


@dataclass(frozen=True)
class Concentrated(Bound):
    """rho-zCDP: the Renyi divergence of order a is at most rho a."""

    rho: arb

    def delta(self, epsilon: arb) -> arb:
        """The least over orders of `e^((a-1)(rho a - eps)) (1 - 1/a)^a / (a - 1)`."""
        if not self.rho.is_finite():
            return arb(1)

        def at(beyond: float) -> arb:
            b = ball(beyond)
            a = 1 + b
            return b * (self.rho * a - epsilon) + a * (b / a).log() - b.log()

        return search(at, 1e-70, 1e70).min(arb(0)).exp()


def search(value: Callable[[float], arb], low: float, high: float) -> arb:
    """The least value that a scan of `value` and a search around its best point find."""

    def rough(place: float) -> float:
        found = value(math.exp(place))
        return float(found.mid()) if found.is_finite() else math.inf

    first, last = math.log(low), math.log(high)
    grid = [first + (last - first) * i / 160 for i in range(161)]
    heights = [rough(place) for place in grid]
    best = min(range(161), key=heights.__getitem__)
    place = golden(rough, grid[max(best - 1, 0)], grid[min(best + 1, 160)], 44)
    return top(value(math.exp(place))).min(top(value(math.exp(grid[best]))))


def golden(height: Callable[[float], float], a: float, b: float, steps: int) -> float:
    """Where a function with one valley is nearly least: golden section."""
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = b - ratio * (b - a), a + ratio * (b - a)
    at_left, at_right = height(left), height(right)
    for _ in range(steps):
        if at_left <= at_right:
            b, right, at_right = right, left, at_left
            left = b - ratio * (b - a)
            at_left = height(left)
        else:
            a, left, at_left = left, right, at_right
            right = a + ratio * (b - a)
            at_right = height(right)
    return left if at_left <= at_right else right
