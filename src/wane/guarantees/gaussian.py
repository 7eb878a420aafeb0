"""Gaussian differential privacy, described by one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from wane.arguments import Checked
from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.guarantees.steps import GaussianStep, Recipe
from wane.numerics.normal import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_power,
    gaussian_renyi,
    gaussian_tradeoff,
)
from wane.numerics.rounding import add_up, root_sum_of_squares_up


@final
@dataclass(frozen=True)
class GaussianDP(Checked, Guarantee):
    """The guarantee of being no easier to tell apart than N(0, 1) and N(mu, 1) [dong2022gaussian].

    mu = 0 is perfect privacy and mu = inf none at all.  All conversions are exact up to rounding.
    """

    mu: arguments.Level
    generality: ClassVar[int] = 0

    @classmethod
    def from_target(cls, *, epsilon: float, delta: float) -> GaussianDP:
        """Return the weakest Gaussian guarantee that is still (epsilon, delta)-private."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        return cls(gaussian_mu(epsilon, arguments.probability("delta", delta)))

    def delta(self, epsilon: float) -> float:
        """Return Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), never rounded down."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        return gaussian_delta(epsilon, self.mu)

    def epsilon(self, delta: float) -> float:
        """Return the exact inverse of `delta`, never rounded down."""
        return gaussian_epsilon(arguments.probability("delta", delta), self.mu)

    def renyi(self, order: float) -> float:
        """Return at least order * mu^2/2, by no more than rounding."""
        return gaussian_renyi(arguments.renyi_order("order", order), self.mu)

    def type_ii(self, type_i: float) -> float:
        """Return Phi(Phi^-1(1 - type_i) - mu), never rounded up."""
        return gaussian_tradeoff(arguments.probability("type_i", type_i), self.mu)

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return Phi(Phi^-1(false_positive_rate) + mu), never rounded down."""
        rate = arguments.probability("false_positive_rate", false_positive_rate)
        return gaussian_power(rate, self.mu)

    def repeat(self, times: int) -> GaussianDP:
        """Return the guarantee with mu times the square root of `times`."""
        return GaussianDP(root_sum_of_squares_up([(self.mu, arguments.count("times", times))]))

    def group(self, size: int) -> GaussianDP:
        """Return the guarantee with mu times the size of the group."""
        return GaussianDP(add_up([(self.mu, arguments.count("size", size))]))

    def recipe(self) -> Recipe:
        """Return one Gaussian step, or nothing if mu = 0."""
        return ((GaussianStep(self.mu), 1),) if self.mu > 0.0 else ()

    def absorb(self, others: tuple[Guarantee, ...]) -> GaussianDP:
        """Return the guarantee whose mu is the root of the sum of squares."""
        mus = [self.mu] + [other.mu for other in others if isinstance(other, GaussianDP)]
        assert len(mus) == len(others) + 1, "only Gaussian guarantees are at most this general"
        return GaussianDP(root_sum_of_squares_up([(mu, 1) for mu in mus]))
