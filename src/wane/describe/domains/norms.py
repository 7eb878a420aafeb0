"""Convex penalties on vectors: finite (almost) everywhere, so they never bound the iterates.

Their prox never moves two points apart; only a quadratic part makes it contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from wane.arguments import NonNegative, Positive
from wane.arrays import Array
from wane.describe.domains.base import Domain, ProxFacts
from wane.describe.domains.prox_kernels import lengths, shrinkage, simplex_levels, soften


@final
@dataclass(frozen=True)
class Ridge(Domain):
    """(ridge/2)|x|^2: the only norm here whose prox contracts in every direction."""

    kind: ClassVar[str] = "ridge"
    ridge: NonNegative

    def _describe(self) -> ProxFacts:
        return ProxFacts(strong_convexity=Fraction(self.ridge))

    def _prox(self, points: Array, step_size: float) -> Array:
        return points / (1.0 + step_size * self.ridge)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(self.ridge / 2.0 * np.square(points).sum(axis=-1))


@final
@dataclass(frozen=True)
class Lasso(Domain):
    """weight*|x|_1: small coordinates become zero."""

    kind: ClassVar[str] = "lasso"
    weight: NonNegative

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _prox(self, points: Array, step_size: float) -> Array:
        return soften(points, step_size * self.weight)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(self.weight * np.abs(points).sum(axis=-1))


@final
@dataclass(frozen=True)
class ElasticNet(Domain):
    """weight*|x|_1 + (ridge/2)|x|^2: zeros of the lasso, contraction of the ridge."""

    kind: ClassVar[str] = "elastic-net"
    weight: NonNegative
    ridge: NonNegative

    def _describe(self) -> ProxFacts:
        return ProxFacts(strong_convexity=Fraction(self.ridge))

    def _prox(self, points: Array, step_size: float) -> Array:
        return soften(points, step_size * self.weight) / (1.0 + step_size * self.ridge)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(
            self.weight * np.abs(points).sum(axis=-1)
            + self.ridge / 2.0 * np.square(points).sum(axis=-1)
        )


@final
@dataclass(frozen=True)
class LTwoNorm(Domain):
    """weight*|x|_2 (not squared): short vectors become zero as a whole."""

    kind: ClassVar[str] = "l2-norm"
    weight: NonNegative

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _prox(self, points: Array, step_size: float) -> Array:
        return points * shrinkage(lengths(points), step_size * self.weight)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(self.weight * lengths(points)[..., 0])


@final
@dataclass(frozen=True)
class LInfinityNorm(Domain):
    """weight*max|x_i|: the largest coordinates are cut to a common size."""

    kind: ClassVar[str] = "l-infinity-norm"
    weight: NonNegative

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _prox(self, points: Array, step_size: float) -> Array:
        # Moreau: x less its projection onto the l1 ball, written as a cut, so nothing cancels.
        sizes, budget = np.abs(points), step_size * self.weight
        top, level = simplex_levels(sizes, budget)
        cut = np.where(sizes.sum(axis=-1, keepdims=True) > budget, top + level, 0.0)
        return np.copysign(np.minimum(sizes, np.maximum(cut, 0.0)), points)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(self.weight * np.abs(points).max(axis=-1))


@final
@dataclass(frozen=True)
class LogBarrier(Domain):
    """-weight*(sum of log x_i): coordinates stay positive."""

    kind: ClassVar[str] = "log-barrier"
    weight: Positive

    def _describe(self) -> ProxFacts:
        return ProxFacts()

    def _prox(self, points: Array, step_size: float) -> Array:
        push = step_size * self.weight
        far = (np.abs(points) + np.hypot(points, 2.0 * np.sqrt(push))) / 2.0
        # The two roots multiply to -push, which saves the small one from cancellation.
        return np.asarray(np.where(points >= 0.0, far, push / far))

    def _penalty(self, points: Array) -> Array:
        inside = (points > 0.0).all(axis=-1)
        logs = np.log(np.where(points > 0.0, points, 1.0)).sum(axis=-1)
        return np.where(inside, -self.weight * logs, np.inf)
