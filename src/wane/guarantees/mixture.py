"""Averages of Gaussian guarantees, for a secret that is drawn once and never revealed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.guarantees.chain import ChainDP
from wane.guarantees.gaussian import GaussianDP
from wane.guarantees.numerical import NumericalDP, joined
from wane.guarantees.steps import GaussianMixtureStep, Recipe
from wane.numerics.normal import gaussian_delta, gaussian_epsilon
from wane.numerics.rounding import (
    SMALLEST_POSITIVE,
    add_up,
    inflate,
    root_sum_of_squares_up,
    round_up,
)
from wane.numerics.search import first_at_most

_WEIGHT_TOLERANCE = 1e-9


@final
@dataclass(frozen=True)
class GaussianMixture(Guarantee):
    """The profile sum of w_i delta(eps; mu_i): privacy averaged over a secret draw of mu.

    Hockey-stick divergences, and exponentials of Renyi divergences, are jointly convex; the draw
    has the same law in both runs; so the average over a draw that nobody sees is sound.

    Composition assumes, as always, that every release draws its own randomness.  Two releases
    that share one draw are a single mechanism: average over the draw after composing.
    """

    mus: tuple[float, ...]
    weights: tuple[float, ...]
    generality: ClassVar[int] = 1

    def __post_init__(self) -> None:
        mus, weights = _normalised(tuple(self.mus), tuple(self.weights))
        object.__setattr__(self, "mus", mus)
        object.__setattr__(self, "weights", weights)

    def delta(self, epsilon: float) -> float:
        """Return the average of the exact Gaussian profiles, never rounded down."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        mus, weights = self._arrays
        average = float(np.sum(weights * gaussian_delta(epsilon, mus)))
        # Each product of a weight with a tiny delta may lose half of the smallest double.
        lost = len(self.mus) * SMALLEST_POSITIVE if self.mus[-1] > 0.0 else 0.0
        return min(inflate(average + lost, 1e-15 * (2 + len(self.mus))), 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the inverse of `delta`, never rounded down."""
        delta = arguments.probability("delta", delta)
        if delta >= 1.0 or self.delta(0.0) <= delta:
            return 0.0
        # Even if the worst draw leaks everything, it may be rarer than delta.
        high = min(gaussian_epsilon(delta, self.mus[-1]), 1e300)
        while self.delta(high) > delta:
            high = 2.0 * high
            if math.isinf(high):
                return math.inf
        return first_at_most(self.delta, delta, 0.0, high, relative=1e-12)

    def renyi(self, order: float) -> float:
        """Return ln(sum of w_i e^((order-1) order mu_i^2/2))/(order-1), never rounded down."""
        return self._step.renyi(arguments.renyi_order("order", order))

    def repeat(self, times: int) -> GaussianMixture | NumericalDP:
        """Return the account of independent draws, convolved numerically."""
        times = arguments.count("times", times)
        return self if times == 1 else NumericalDP(((self._step, times),))

    def group(self, size: int) -> GaussianMixture | ChainDP:
        """Return a chain of adjacent pairs (the draws of the records differ)."""
        size = arguments.count("size", size)
        return self if size == 1 else ChainDP(self, size)

    def recipe(self) -> Recipe:
        """Return one step with a drawn mu."""
        return ((self._step, 1),)

    def absorb(self, others: tuple[Guarantee, ...]) -> GaussianMixture | NumericalDP:
        """Return the mixture joined by Gaussians exactly; convolve others numerically."""
        gaussians = [other.mu for other in others if isinstance(other, GaussianDP)]
        if len(gaussians) < len(others):
            return joined((self, *others))
        extra = [(mu, 1) for mu in gaussians]
        mus = tuple(root_sum_of_squares_up([(mu, 1), *extra]) for mu in self.mus)
        return GaussianMixture(mus, self.weights)

    @cached_property
    def _step(self) -> GaussianMixtureStep:
        return GaussianMixtureStep(self.mus, self.weights)

    @cached_property
    def _arrays(self) -> tuple[Array, Array]:
        return np.asarray(self.mus), np.asarray(self.weights)


def _normalised(
    mus: tuple[float, ...], weights: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return increasing distinct mus whose weights sum to one or, by rounding, a little more."""
    if not mus or len(mus) != len(weights):
        raise InvalidDescription(
            f"mus and weights must be of equal length >= 1, got {len(mus)} and {len(weights)}; "
            "give every mu its weight"
        )
    collected: dict[float, list[tuple[float, int]]] = {}
    for mu, weight in zip(mus, weights, strict=True):
        checked = arguments.probability("weight", weight)
        if checked > 0.0:
            collected.setdefault(arguments.level("mu", mu), []).append((checked, 1))
    merged = {mu: add_up(terms) for mu, terms in sorted(collected.items())}
    total = math.fsum(merged.values())
    if not abs(total - 1.0) <= _WEIGHT_TOLERANCE:
        raise InvalidDescription(
            f"weights must sum to 1, got a sum of {total!r}; divide them by their sum"
        )
    lost = -math.fsum([*merged.values(), -1.0])
    if lost > 0.0:
        # Whatever rounding has lost is given to the largest mu, which cannot help anybody.
        worst = max(merged)
        merged[worst] = add_up([(merged[worst], 1), (round_up(lost), 1)])
    return tuple(merged), tuple(merged.values())
