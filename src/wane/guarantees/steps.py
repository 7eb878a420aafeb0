"""The steps that a numerical account is composed of, as data.

    GaussianStep           N(0, 1) against N(mu, 1)
    SampledGaussianStep    the same, but the record takes part only with some probability
    GaussianMixtureStep    a Gaussian step whose mu is drawn at random (the draw may be seen)

A recipe is a tuple of such steps with their counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from scipy import special

from wane.arguments import Checked
from wane.errors import InvalidDescription
from wane.guarantees.arguments import Level, Probability
from wane.numerics.normal import gaussian_renyi
from wane.numerics.rounding import add_up, inflate, root_sum_of_squares_up
from wane.numerics.sampled_gaussian import renyi_add_or_remove, renyi_fixed_size, renyi_replace


class Pair(Enum):
    """The two distributions that an attacker must tell apart when the record is sampled."""

    REPLACE = "replace"
    """(1-q) N(0,1) + q N(-mu,1) against (1-q) N(0,1) + q N(mu,1)."""

    ADD_OR_REMOVE = "add or remove"
    """(1-q) N(0,1) + q N(mu,1) against N(0,1), in both directions."""

    FIXED_SIZE = "fixed size"
    """One pair: at orders above one with the profile of (1-q) N(0,1) + q N(mu,1) against N(0,1),
    below with its mirror image.  The record takes another's place, and all laws are mu apart."""


@dataclass(frozen=True, order=True)
class GaussianStep(Checked):
    """A step whose outputs are N(0, 1) or N(mu, 1)."""

    mu: Level

    def renyi(self, order: float) -> float:
        """Return at least order * mu^2/2."""
        return gaussian_renyi(order, self.mu)


@dataclass(frozen=True)
class SampledGaussianStep(Checked):
    """A Gaussian step in which the record takes part with probability `rate`, secretly."""

    mu: Level
    rate: Probability
    pair: Pair

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.pair, Pair):
            raise InvalidDescription(
                f"pair must be Pair.REPLACE, Pair.ADD_OR_REMOVE or Pair.FIXED_SIZE, got "
                f"{self.pair!r}; take the one that matches the adjacency and the batches"
            )

    def renyi(self, order: float) -> float:
        """Return the larger divergence of both directions, never rounded down."""
        if self.mu == 0.0 or self.rate == 0.0:
            return 0.0
        if self.rate == 1.0:
            return gaussian_renyi(order, unsampled_mu(self))
        if math.isinf(self.mu) or math.isinf(order):
            return math.inf
        return _RENYI[self.pair](order, self.rate, self.mu)


_RENYI = {
    Pair.REPLACE: renyi_replace,
    Pair.ADD_OR_REMOVE: renyi_add_or_remove,
    Pair.FIXED_SIZE: renyi_fixed_size,
}


@dataclass(frozen=True)
class GaussianMixtureStep:
    """A Gaussian step whose mu is drawn with the given weights, the draw being seen or not."""

    mus: tuple[float, ...]
    weights: tuple[float, ...]

    def renyi(self, order: float) -> float:
        """Return ln(sum of w_i e^((order-1) order mu_i^2/2))/(order-1), never rounded down."""
        mus, weights = np.asarray(self.mus), np.asarray(self.weights)
        largest = float(np.max(mus))
        if largest == 0.0:
            return 0.0
        if math.isinf(largest) or math.isinf(order * largest * largest):
            return math.inf
        excess = order - 1.0
        if math.isinf(excess * order * largest * largest):
            return gaussian_renyi(order, largest)
        exponents = 0.5 * excess * order * mus**2
        top = float(exponents.max())
        if top < 700.0:
            # Good to the last digits also where all of it comes from a rare draw.
            value = math.log1p(float(np.sum(weights * np.expm1(exponents)))) / excess
        else:
            value = (float(special.logsumexp(exponents, b=weights)) + 1e-15 * top) / excess
        # A large exponent turns its own rounding into a relative one of a small result.
        return inflate(max(value, math.ulp(0.0)), 1e-13 + 1e-15 * min(top, 700.0))


AccountStep: TypeAlias = GaussianStep | SampledGaussianStep | GaussianMixtureStep
Recipe: TypeAlias = tuple[tuple[AccountStep, int], ...]


def unsampled_mu(step: SampledGaussianStep) -> float:
    """Return the mu of the step at rate 1: 2 mu for the replace pair, mu for the others."""
    return add_up([(step.mu, 2 if step.pair is Pair.REPLACE else 1)])


def normal_form(parts: Iterable[tuple[AccountStep, int]]) -> Recipe:
    """Return the same recipe with equal steps counted, Gaussians merged, empty steps dropped.

    The order of the parts does not matter, so equal compositions are equal recipes.
    """
    gaussians: list[tuple[float, int]] = []
    counts: dict[SampledGaussianStep | GaussianMixtureStep, int] = {}
    for atom, times in parts:
        if isinstance(atom, GaussianStep):
            gaussians.append((atom.mu, times))
        elif isinstance(atom, SampledGaussianStep) and (atom.mu == 0.0 or atom.rate == 0.0):
            continue
        elif isinstance(atom, SampledGaussianStep) and atom.rate == 1.0:
            gaussians.append((unsampled_mu(atom), times))
        else:
            counts[atom] = counts.get(atom, 0) + times
    mu = root_sum_of_squares_up(gaussians)
    merged: list[tuple[AccountStep, int]] = [(GaussianStep(mu), 1)] if mu > 0.0 else []
    return (*merged, *sorted(counts.items(), key=lambda item: repr(item[0])))
