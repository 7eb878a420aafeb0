"""Random (description, exact member) pairs against every theorem that applies.

A family draws a description and many exact members of the class it describes.  What a member leaks
is known as an exact mu, or as two laws; the judge divides it, less the oracle's own error, by what
each theorem certifies.  A quotient above one is a false privacy claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from laws.chains import QUADRATURE, hockey_stick, renyi
from wane import certify
from wane.describe import NoisyDescent
from wane.guarantees import GaussianDP, Guarantee, NumericalDP
from wane.theory.tuned import Profile, Tuned

ORDERS = (1.5, 4.0, 16.0)
EPSILONS = (0.0, 0.3, 1.0, 3.0)
ROUNDING = 1e-10
"""The linear oracle inverts ill-conditioned covariances; its own relative error."""
PROFILES = 0.02
"""Profiles that are convolved numerically are asked for this often; their divergences always."""
SMALLEST = 1e-5
"""Certified numbers below this are compared, but their quotient is not worth printing."""


@dataclass(frozen=True)
class Gaussians:
    """Members whose last iterates are Gaussian: each one's exact mu."""

    mus: np.ndarray

    @property
    def count(self) -> int:
        return len(self.mus)

    def excess(self, guarantee: Guarantee, rng: np.random.Generator) -> list[tuple[Any, Any]]:
        """Pairs of what is exact (less the oracle's error) and what is certified."""
        mus = self.mus * (1 - ROUNDING)
        if isinstance(guarantee, GaussianDP):
            return [(mus, guarantee.mu)]
        return [(order * mus**2 / 2, guarantee.renyi(order)) for order in ORDERS]


@dataclass(frozen=True)
class Laws:
    """Members whose rounded laws are known as masses of cells: a row for each member."""

    first: np.ndarray
    second: np.ndarray

    @property
    def count(self) -> int:
        return len(self.first)

    def excess(self, guarantee: Guarantee, rng: np.random.Generator) -> list[tuple[Any, Any]]:
        made = []
        both = ((self.first, self.second), (self.second, self.first))
        if not isinstance(guarantee, Profile):
            for order in ORDERS:
                exact = np.maximum(*(renyi(p, q, order) for p, q in both))
                made.append((exact * (1 - QUADRATURE) - QUADRATURE, guarantee.renyi(order)))
        slow = isinstance(guarantee, NumericalDP | Tuned)
        if not slow or rng.random() < PROFILES:
            for epsilon in EPSILONS:
                exact = np.maximum(*(hockey_stick(p, q, epsilon) for p, q in both))
                made.append((exact - QUADRATURE, guarantee.delta(epsilon)))
        return made


@dataclass(frozen=True)
class Deltas:
    """One member, by its exact delta at some epsilons, from below."""

    exact: dict[float, float]
    count: int = 1

    def excess(self, guarantee: Guarantee, rng: np.random.Generator) -> list[tuple[Any, Any]]:
        return [
            (np.array([exact]), guarantee.delta(epsilon)) for epsilon, exact in self.exact.items()
        ]


Evidence = Gaussians | Laws | Deltas
Family = Callable[[np.random.Generator], tuple[NoisyDescent, Evidence]]


@dataclass
class Row:
    """What happened to one theorem."""

    pairs: int = 0
    worst: float = 0.0
    family: str = ""


@dataclass
class Tally:
    """Everything a mass run has seen; tallies of several workers add up."""

    pairs: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    families: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def judge(self, name: str, family: Family, rng: np.random.Generator) -> None:
        """Draw one description with its members and compare all of them with every theorem."""
        run, evidence = family(rng)
        self.pairs += evidence.count
        self.families[name] = self.families.get(name, 0) + evidence.count
        for verdict in certify(run).applicable:
            theorem = verdict.analysis.name
            row = self.rows.setdefault(theorem, Row())
            row.pairs += evidence.count
            for exact, certified in evidence.excess(verdict.guarantee, rng):
                most = float(np.max(exact))
                if not most <= certified:  # also if either is not a number
                    self.violations.append(f"{theorem} ({name}): {most} > {certified} for {run}")
                if certified > SMALLEST and most / certified > row.worst:
                    row.worst, row.family = most / certified, name

    def add(self, other: Tally) -> None:
        self.pairs += other.pairs
        self.violations += other.violations
        for name, count in other.families.items():
            self.families[name] = self.families.get(name, 0) + count
        for name, theirs in other.rows.items():
            row = self.rows.setdefault(name, Row())
            row.pairs += theirs.pairs
            if theirs.worst > row.worst:
                row.worst, row.family = theirs.worst, theirs.family

    def text(self) -> str:
        lines = [f"{'theorem':26} {'pairs':>9}  worst exact/certified"]
        for name, row in sorted(self.rows.items()):
            lines.append(f"{name:26} {row.pairs:9d}  {row.worst:.6f}  ({row.family})")
        drawn = ", ".join(f"{name} {count}" for name, count in sorted(self.families.items()))
        lines.append(f"{self.pairs} pairs ({drawn}), {len(self.violations)} violations")
        return "\n".join(lines + self.violations[:10])


def masses_of_mixture(
    means: np.ndarray, weights: np.ndarray, std: float, edges: np.ndarray
) -> np.ndarray:
    """Masses that a mixture of equally wide Gaussians gives to cells and to both tails."""
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    # towards the nearer tail, so that small masses keep their digits
    z = (ends[None, :] - means[:, None]) / std
    low, high = z[:, :-1], z[:, 1:]
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return weights @ (special.ndtr(high) - special.ndtr(low))


def shares(pairs: int, weights: dict[str, float]) -> dict[str, int]:
    """How many pairs each family should contribute."""
    total = sum(weights.values())
    return {name: math.ceil(pairs * weight / total) for name, weight in weights.items()}
