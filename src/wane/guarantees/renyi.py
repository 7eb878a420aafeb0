"""Renyi differential privacy: a bound on the divergence of every order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias, final

from wane.arguments import Checked
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.numerics.search import minimise_scalar_bounded

Curve: TypeAlias = Callable[[float], float]

_ROUNDING = 1e-15  # relative error of a handful of additions and logarithms, generously
_SCAN = tuple(10.0 ** (place / 8.0) for place in range(-32, 65))  # order - 1 from 1e-4 to 1e8


@dataclass(frozen=True)
class LinearCurve:
    """order -> rho * order, the curve of rho-zCDP."""

    rho: float

    def __call__(self, order: float) -> float:
        """Return the curve at this order, rounded up."""
        return inflate(self.rho * order, 4e-16) if self.rho > 0.0 else 0.0


@dataclass(frozen=True)
class CurveOf:
    """The Renyi curve of a guarantee of another kind."""

    guarantee: Guarantee

    def __call__(self, order: float) -> float:
        """Return the guarantee's divergence at this order."""
        return self.guarantee.renyi(order)


@dataclass(frozen=True)
class SumOfCurves:
    """The curve of a composition: divergences of the same order add up."""

    parts: tuple[tuple[Curve, int], ...]

    def __call__(self, order: float) -> float:
        """Return the sum at this order, rounded up."""
        return inflate(math.fsum(times * curve(order) for curve, times in self.parts), _ROUNDING)


@dataclass(frozen=True)
class GroupCurve:
    """The divergence between ends of a chain of `size` adjacent pairs.

    Claim.  R_k(order) <= sum over i < k of  c/(c - i) * R_1(c - i),  c = k * order.
    Proof.  For 1/p + 1/q = 1, Hoelder's inequality gives the triangle inequality
        D_a(P||S) <= (p a - 1)/(p (a - 1)) D_(p a)(P||Q) + D_b(Q||S),    b = (p a - 1)/(p - 1).
    Take P, Q adjacent, Q and S a chain of k - 1, and p = 1 + (k - 1)(a - 1)/a: the first term is
    k a/(k a - k + 1) R_1(k a - k + 1), and b = k a/(k - 1), so that c does not change when the
    step is repeated.  For rho-zCDP the sum is k^2 rho * order, the exact Gaussian value.
    """

    curve: Curve
    size: int

    def __call__(self, order: float) -> float:
        """Return the claim at this order, rounded up."""
        top = self.size * order
        terms = (top / (top - i) * self.curve(top - i) for i in range(self.size))
        return inflate(math.fsum(terms), 4 * _ROUNDING)


@final
@dataclass(frozen=True)
class RenyiDP(Checked, Guarantee):
    """A guarantee by divergences bounded by a curve, for every order in (1, max_order].

    `curve` must be valid in both directions.  Conversions to epsilon and delta follow
    [canonne2020discrete, Proposition 12]; they are minimised over a continuous order, and as
    every order is valid, a missed minimum costs tightness only.
    """

    curve: Curve
    max_order: arguments.RenyiOrder = math.inf
    label: str = ""
    generality: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if not callable(self.curve):
            raise InvalidDescription(
                f"curve must be a function of the order, got {self.curve!r}; for rho-zCDP use "
                "RenyiDP.zcdp(rho)"
            )
        super().__post_init__()

    @classmethod
    def zcdp(cls, rho: float) -> RenyiDP:
        """Return the guarantee with divergences at most rho * order (zero-concentrated DP)."""
        rho = arguments.level("rho", rho)
        return cls(LinearCurve(rho), label=f"{rho:g}-zCDP")

    def renyi(self, order: float) -> float:
        """Return the curve, or infinity beyond `max_order` or where it overflows."""
        order = arguments.renyi_order("order", order)
        if order > self.max_order:
            return math.inf
        try:
            value = float(self.curve(order))
        except OverflowError:
            return math.inf
        if math.isnan(value):
            raise InvalidDescription(
                f"curve must return a number, got nan at order {order:g}; set max_order below it"
            )
        return max(value, 0.0)

    def epsilon(self, delta: float) -> float:
        """Return the least over orders of R + ln(1 - 1/order) - (ln delta + ln order)/(order-1)."""
        delta = arguments.probability("delta", delta)
        if delta >= 1.0 or self._nothing_leaks:
            return 0.0
        if delta == 0.0:
            return math.inf
        log_delta = math.log(delta)

        def converted(excess: float, renyi: float) -> float:
            by_delta = (-log_delta - math.log1p(excess)) / excess
            by_order = math.log1p(1.0 / excess)
            doubt = _ROUNDING * (renyi + abs(log_delta / excess) + abs(by_delta) + by_order)
            return renyi - by_order + by_delta + doubt

        return max(self._least(converted), 0.0)

    def delta(self, epsilon: float) -> float:
        """Return the least over orders of e^((order-1)(R-eps)) (1 - 1/order)^order / (order-1)."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        if self._nothing_leaks:
            return 0.0

        def converted(excess: float, renyi: float) -> float:
            if math.isinf(epsilon):
                return -math.inf if math.isfinite(renyi) else math.inf
            gap = excess * (renyi - epsilon)
            by_order = (1.0 + excess) * math.log1p(1.0 / excess)
            size = math.log(excess)
            doubt = excess * (renyi + epsilon) + by_order + abs(size)
            return gap - by_order - size + _ROUNDING * doubt

        log_delta = self._least(converted)
        return 1.0 if log_delta >= 0.0 else math.exp(log_delta) + SMALLEST_POSITIVE

    def repeat(self, times: int) -> RenyiDP:
        """Return the guarantee with the curve multiplied."""
        parts = ((self.curve, arguments.count("times", times)),)
        return self if times == 1 else self._summed(parts, self.max_order)

    def group(self, size: int) -> RenyiDP:
        """Return the guarantee of a chain of adjacent pairs; see `GroupCurve` for the proof."""
        size = arguments.count("size", size)
        if size == 1:
            return self
        if self.max_order / size <= 1.0:
            raise NoTheoremApplies(
                f"a group of {size} needs Renyi orders above {size}, but max_order is "
                f"{self.max_order:g}; provide the curve at larger orders"
            )
        return grouped(self.curve, size, self.max_order, self.label)

    def absorb(self, others: tuple[Guarantee, ...]) -> RenyiDP:
        """Return the guarantee with the curves added; other kinds contribute theirs."""
        parts: list[tuple[Curve, int]] = [(self.curve, 1)]
        max_order = self.max_order
        for other in others:
            if isinstance(other, RenyiDP):
                parts.append((other.curve, 1))
                max_order = min(max_order, other.max_order)
            else:
                parts.append((CurveOf(other), 1))
        return self._summed(parts, max_order)

    @staticmethod
    def _summed(parts: Iterable[tuple[Curve, int]], max_order: float) -> RenyiDP:
        """Return the sum with equal curves counted, so that repeating equals composing."""
        counted: list[tuple[Curve, int]] = []
        for curve, times in parts:
            inner = curve.parts if isinstance(curve, SumOfCurves) else ((curve, 1),)
            for piece, count in inner:
                places = [i for i, (earlier, _) in enumerate(counted) if earlier == piece]
                if places:
                    counted[places[0]] = (piece, counted[places[0]][1] + times * count)
                else:
                    counted.append((piece, times * count))
        return RenyiDP(SumOfCurves(tuple(counted)), max_order)

    @cached_property
    def _nothing_leaks(self) -> bool:
        """Whether the divergence vanishes: at one order it does so only if at all."""
        return self.renyi(min(2.0, self.max_order)) == 0.0

    @cached_property
    def _scanned(self) -> tuple[tuple[float, float], ...]:
        """Pairs (order - 1, divergence) on a geometric grid up to `max_order`."""
        reach = self.max_order - 1.0
        excesses = [excess for excess in _SCAN if excess < reach]
        if math.isfinite(reach) and reach <= _SCAN[-1]:
            excesses.append(reach)
        return tuple((excess, self.renyi(self._order(excess))) for excess in excesses)

    def _order(self, excess: float) -> float:
        # 1 + excess may round to 1 or to just beyond the largest order.
        return max(min(1.0 + excess, self.max_order), math.nextafter(1.0, 2.0))

    def _least(self, converted: Callable[[float, float], float]) -> float:
        """Return the smallest conversion over the scanned orders and a search around the best."""
        values = [converted(excess, renyi) for excess, renyi in self._scanned]
        best = min(range(len(values)), key=values.__getitem__)
        low = self._scanned[max(best - 1, 0)][0]
        high = self._scanned[min(best + 1, len(values) - 1)][0]
        if not math.isfinite(values[best]) or low == high:
            return values[best]

        def at(log_excess: float) -> float:
            order = self._order(math.exp(log_excess))
            return converted(order - 1.0, self.renyi(order))

        refined = minimise_scalar_bounded(at, math.log(low), math.log(high), steps=40)[1]
        return min(values[best], refined)


def grouped(curve: Curve, size: int, max_order: float = math.inf, label: str = "") -> RenyiDP:
    """Return the guarantee of a chain of `size` adjacent pairs, each bounded by `curve`."""
    name = f"{label} for groups of {size}".strip()
    return RenyiDP(GroupCurve(curve, size), max_order / size, name)
