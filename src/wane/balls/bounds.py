"""The privacy bounds that a verifier can prove of a description.

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

from wane.balls.arithmetic import as_float_up, ball, top
from wane.balls.gaussian import gaussian_delta, gaussian_power

MOST_LINKS = 30
"""Longer chains are split into equal shares only."""
LADDER = (0.0, *(2.0 ** (place / 2.0) for place in range(-24, 18)))
"""Epsilons at which a profile is looked at first."""


class Bound(ABC):
    """A privacy profile that is proven of a description."""

    tight: ClassVar[bool] = True
    """Whether the theorem proves nothing smaller; False where the verifier only searched."""

    @abstractmethod
    def delta(self, epsilon: arb) -> arb:
        """Return an upper bound on delta at this exact epsilon."""

    def proves(self, epsilon: arb, delta: arb) -> bool:
        """Return whether (epsilon, delta) is certain to hold."""
        return bool(top(self.delta(epsilon)) <= delta)

    def for_group(self, size: int) -> Bound:
        """Return the bound for `size` records that change one after the other."""
        return self if size == 1 else Grouped(self, size)

    def refine(self) -> bool:
        """Refine the bound on power if a finer computation exists; return whether it did."""
        return False

    def power(self, rate: float) -> arb:
        """Return an upper bound on the power of attacks at this false positive rate.

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
        """Return nearly the least value of a rule that grows with epsilon and with delta."""
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
        """The profile at the steps of the ladder, as far as it was computed."""
        return {}


@dataclass(frozen=True)
class Gaussian(Bound):
    """The bound mu-GDP, for an upper bound on mu^2."""

    mu_squared: arb

    @cached_property
    def mu(self) -> arb:
        """An exact upper bound on mu."""
        return top(top(self.mu_squared).sqrt())

    def delta(self, epsilon: arb) -> arb:
        """Return the Gaussian profile."""
        return gaussian_delta(epsilon, self.mu)

    def for_group(self, size: int) -> Gaussian:
        """Return the Gaussian bound with mu times the size."""
        return self if size == 1 else Gaussian(top(self.mu_squared * size**2))

    def power(self, rate: float) -> arb:
        """Return the Gaussian power."""
        return gaussian_power(ball(rate), self.mu)


@dataclass(frozen=True)
class Searched(Gaussian):
    """The bound mu-GDP, for a mu^2 found by a search; a longer search may find a smaller one."""

    longer: Callable[[], arb | None] | None = None
    tight: ClassVar[bool] = False

    def for_group(self, size: int) -> Searched:
        """Return the Gaussian bound with mu times the size."""
        if size == 1:
            return self

        def longer() -> arb | None:
            mu_squared = None if self.longer is None else self.longer()
            return None if mu_squared is None else top(mu_squared * size**2)

        return Searched(top(self.mu_squared * size**2), longer if self.longer else None)

    def searched(self) -> Searched:
        """Return the least of this bound and of what the longer search finds."""
        mu_squared = None if self.longer is None else self.longer()
        return Searched(
            self.mu_squared if mu_squared is None else top(self.mu_squared.min(mu_squared))
        )


@dataclass(frozen=True)
class Failing(Bound):
    """A Gaussian bound that holds but for an event of this probability, added to delta."""

    inner: Gaussian
    failure: arb
    tight: ClassVar[bool] = False

    def delta(self, epsilon: arb) -> arb:
        """Return the inner delta plus the failure."""
        return self.inner.delta(epsilon) + self.failure

    def power(self, rate: float) -> arb:
        """Return the least of the inner power plus the failure and what the profile gives."""
        return top(self.inner.power(rate) + self.failure).min(top(super().power(rate)))


@dataclass(frozen=True)
class Grouped(Bound):
    """A bound on one record along a chain of `size` data sets that differ in one record each."""

    inner: Bound
    size: int
    tight: ClassVar[bool] = False

    def delta(self, epsilon: arb) -> arb:
        """Return the sum of the links' deltas, each times e^share for every link before it.

        Shares may differ, and be negative: they are evenly spaced here, which is best for Gaussian
        links, and the spacing is searched for.
        """
        least = self._spaced(epsilon, 0.0)
        if self.size > MOST_LINKS or not self._usual > 0.0:
            return least
        near = round(4.0 * math.log2(1.0 + float(epsilon)))
        if near not in self._spacings:
            self._spacings[near] = self._searched(epsilon)
        return least.min(self._spaced(epsilon, self._spacings[near]))

    def proves(self, epsilon: arb, delta: arb) -> bool:
        """Return whether it holds by the usual spacing for this epsilon, or by one of its own."""
        if super().proves(epsilon, delta):
            return True
        if self.size > MOST_LINKS or not self._usual > 0.0:
            return False
        return bool(self._spaced(epsilon, self._searched(epsilon)) <= delta)

    def _searched(self, epsilon: arb) -> float:
        """Return the spacing that is nearly best for this epsilon."""

        def rough(place: float) -> float:
            return float(self._spaced(epsilon, self._usual * math.exp(place)))

        return self._usual * math.exp(golden(rough, -math.log(16.0), math.log(16.0), 12))

    def _spaced(self, epsilon: arb, spacing: float) -> arb:
        """Return the sum over links, smallest share first; the shares add up to epsilon exactly."""
        total, before = arb(0), arb(0)
        for link in range(self.size):
            share = epsilon / self.size + ball(spacing) * (2 * link - self.size + 1) / 2
            total += before.exp() * self._link(share)
            before += share
        return top(total).min(arb(1))

    def _link(self, share: arb) -> arb:
        """Return one link's delta; for a negative share by way of the complement of an event."""
        if share >= 0:
            return self.inner.delta(share)
        if share < 0:
            return 1 - share.exp() * (1 - self.inner.delta(-share))
        return arb(1)

    @cached_property
    def _spacings(self) -> dict[int, float]:
        """Spacings that were searched for, each for epsilons of about one size."""
        return {}

    @cached_property
    def _usual(self) -> float:
        """The square of the mu to which a link is comparable at a delta of 1e-5, roughly."""
        goal = 1e-5

        def crossing(function: Callable[[float], float], low: float, high: float) -> float:
            """Return where a decreasing function reaches the goal, in logarithms."""
            for _ in range(24):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if function(middle) > goal else (low, middle)
            return high

        epsilon = crossing(lambda e: float(self.inner.delta(ball(e))), 1e-4, 1e3)
        if epsilon >= 1e3:
            return 0.0
        root = crossing(lambda u: float(gaussian_delta(ball(epsilon), ball(1 / u))), 1e-3, 1e5)
        return 1.0 / root**2

    def power(self, rate: float) -> arb:
        """Return the power along the chain: a test of its ends is a test of each link in turn."""
        power = rate
        for _ in range(self.size):
            power = min(as_float_up(self.inner.power(power)), 1.0)
        return ball(power)


@dataclass(frozen=True)
class Mixture(Bound):
    """An average of Gaussian profiles, weights as counts."""

    parts: tuple[tuple[int, Gaussian], ...]

    def delta(self, epsilon: arb) -> arb:
        """Return the average."""
        total = sum((n * part.delta(epsilon) for n, part in self.parts), arb(0))
        return total / sum(n for n, _ in self.parts)


@dataclass(frozen=True)
class Pure(Bound):
    """The bound that likelihood ratios never exceed e^level."""

    level: arb

    def delta(self, epsilon: arb) -> arb:
        """Return `(e^level - e^epsilon)/(1 + e^level)`, zero from the level on."""
        if epsilon >= self.level:
            return arb(0)
        return (self.level.exp() - epsilon.exp()) / (1 + self.level.exp())

    def for_group(self, size: int) -> Pure:
        """Return the bound with the level times the size."""
        return self if size == 1 else Pure(top(self.level * size))

    def power(self, rate: float) -> arb:
        """Return the less of `e^level rate` and `1 - e^-level (1 - rate)`."""
        alpha = ball(rate)
        return top((self.level.exp() * alpha).min(1 - (1 - alpha) / self.level.exp()))


@dataclass(frozen=True)
class Concentrated(Bound):
    """The bound rho-zCDP: the Renyi divergence of order a is at most rho a."""

    rho: arb

    def delta(self, epsilon: arb) -> arb:
        """Return the least over orders of `e^((a-1)(rho a - eps)) (1 - 1/a)^a / (a - 1)`."""
        if not self.rho.is_finite():
            return arb(1)

        def at(beyond: float) -> arb:
            b = ball(beyond)
            a = 1 + b
            return b * (self.rho * a - epsilon) + a * (b / a).log() - b.log()

        return search(at, 1e-70, 1e70).min(arb(0)).exp()


def search(value: Callable[[float], arb], low: float, high: float) -> arb:
    """Return the least value that a scan of `value` and a search around its best point find."""

    def rough(place: float) -> float:
        result = value(math.exp(place))
        return float(result.mid()) if result.is_finite() else math.inf

    first, last = math.log(low), math.log(high)
    grid = [first + (last - first) * i / 160 for i in range(161)]
    heights = [rough(place) for place in grid]
    best = min(range(161), key=heights.__getitem__)
    place = golden(rough, grid[max(best - 1, 0)], grid[min(best + 1, 160)], 44)
    return top(value(math.exp(place))).min(top(value(math.exp(grid[best]))))


def golden(height: Callable[[float], float], a: float, b: float, steps: int) -> float:
    """Return nearly the minimiser of a function with one valley, by golden section."""
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
