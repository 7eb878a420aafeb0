"""One step's privacy loss on finitely many dots, never more private than the step.

The loss L = ln(P/Q) under P is split between the two dots around it so that both its P-mass and
its Q-mass are kept ("connect the dots", arXiv 2207.04380); the result dominates the step.
Masses come from quadrature of positive functions between the preimages of the dots, so that small
masses are accurate relative to themselves: no difference of cumulative distributions is taken.

Dots are multiples of one interval, one apart near zero and further apart in proportion to the
loss.  A split adds a sixth of the squared gap to the variance, which is then at most a 1e-5 share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from wane.arrays import Array
from wane.numerics.sampled_gaussian import log_mixture

Integers = NDArray[np.int64]

REACH = 12.5
"""Standard deviations kept; what lies beyond, less than 1e-35, counts as an infinite loss."""

MASS_MARGIN = 1e-12
"""Relative amount by which every mass is raised; the quadrature is good to 1e-13."""

FINENESS = 128
"""Dots per doubling of the loss."""

_PANEL = 1.0 / 16.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class DiscreteLosses:
    """Masses on integer multiples of an interval, and the mass of an infinite loss."""

    places: Integers
    masses: Array
    infinite: float

    def log_moment(self, tilt: float, interval: float) -> float:
        """Return the logarithm of E[e^(tilt L)] over the finite losses."""
        exponents = tilt * interval * self.places
        top = float(exponents.max())
        return top + math.log(float(np.sum(self.masses * np.exp(exponents - top))))

    def tilted(self, tilt: float, interval: float) -> tuple[Array, float]:
        """Return the masses weighted by e^(tilt L) and normalised, with the log of their sum."""
        log_moment = self.log_moment(tilt, interval)
        return self.masses * np.exp(tilt * interval * self.places - log_moment), log_moment

    def hockey_stick(self, epsilon: float, interval: float) -> float:
        """Return E[(1 - e^(epsilon - L))_+] over the finite losses: a sum of positive terms."""
        gaps = np.minimum(epsilon - self.places * interval, 0.0)
        return float(np.sum(self.masses * -np.expm1(gaps)))


class Step(Protocol):
    """A pair (P, Q) along a line: P and its privacy loss as functions of one number x."""

    @property
    def domain(self) -> tuple[float, float]:
        """The range of x outside of which P has mass at most 1e-35 on either side."""

    @property
    def scale(self) -> float:
        """The gap between dots that would still be fine for large losses, times `FINENESS`."""

    def losses(self, x: Array) -> tuple[Array, Array]:
        """Return the loss at x, raised by its rounding error, and the density of P."""

    def place(self, loss: Array) -> Array:
        """Return the x at which the loss is as given, perhaps roughly; NaN where there is none."""


@dataclass(frozen=True)
class GaussianLoss:
    """The loss of N(mu, 1) against N(0, 1); x is the distance from the mean of P."""

    mu: float

    @property
    def domain(self) -> tuple[float, float]:
        """The range around the mean of P."""
        return -REACH, REACH

    @property
    def scale(self) -> float:
        """The loss's standard deviation, mu."""
        return self.mu

    def losses(self, x: Array) -> tuple[Array, Array]:
        """Return the line mu x + mu^2/2 and the density."""
        loss = self.mu * (x + 0.5 * self.mu)
        return loss + 1e-15 * self.mu * (np.abs(x) + self.mu), np.exp(-0.5 * x**2) / _ROOT_TWO_PI

    def place(self, loss: Array) -> Array:
        """Return the inverse of the line."""
        return loss / self.mu - 0.5 * self.mu


@dataclass(frozen=True)
class SampledGaussianLoss:
    """The loss of (1-q) N(0,1) + q N(mu,1) against N(0,1), or the reverse if `reverse`."""

    mu: float
    rate: float
    reverse: bool

    @property
    def domain(self) -> tuple[float, float]:
        """The range of the plain Gaussian, and of the shifted one unless it is only in Q."""
        return -REACH, REACH if self.reverse else self.mu + REACH

    @property
    def scale(self) -> float:
        """The spread of the loss where the record shows: that of a Gaussian step."""
        return self.mu

    def losses(self, x: Array) -> tuple[Array, Array]:
        """Return ln(1 - q + q e^(mu x - mu^2/2)), or its negative, and the density."""
        log_ratio = log_mixture(self.rate, self.mu * (x - 0.5 * self.mu))
        doubt = 1e-15 * np.abs(log_ratio)
        log_density = -0.5 * x**2
        if self.reverse:
            return doubt - log_ratio, np.exp(log_density) / _ROOT_TWO_PI
        return log_ratio + doubt, np.exp(log_density + log_ratio) / _ROOT_TWO_PI

    def place(self, loss: Array) -> Array:
        """Return the inverse of `losses`; losses below ln(1 - q) have none."""
        loss = -loss if self.reverse else loss
        # not as a difference of logarithms, which loses every digit of a small loss
        with np.errstate(over="ignore"):
            grown = np.expm1(np.minimum(loss, 30.0)) / self.rate
        shown = np.log1p(np.where(grown > -1.0, grown, np.nan))
        return np.where(loss > 30.0, loss - math.log(self.rate), shown) / self.mu + 0.5 * self.mu


@dataclass(frozen=True)
class ReplacedLoss:
    """The loss of (1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q N(-mu,1)."""

    mu: float
    rate: float

    @property
    def domain(self) -> tuple[float, float]:
        """The range of both components of P."""
        return -REACH, self.mu + REACH

    @property
    def scale(self) -> float:
        """The spread of the loss where the record shows: that of a Gaussian step."""
        return self.mu

    def losses(self, x: Array) -> tuple[Array, Array]:
        """Return the difference of two log mixtures and the density."""
        above = log_mixture(self.rate, self.mu * (x - 0.5 * self.mu))
        below = log_mixture(self.rate, -self.mu * (x + 0.5 * self.mu))
        doubt = 1e-15 * (np.abs(above) + np.abs(below))
        return above - below + doubt, np.exp(above - 0.5 * x**2) / _ROOT_TWO_PI

    def place(self, loss: Array) -> Array:
        """Return the inverse of `losses`: mu x = asinh(((1-q)/q) e^(mu^2/2) sinh(L/2)) + L/2."""
        half = 0.5 * np.abs(loss)
        log_ratio = 0.5 * self.mu**2 + math.log1p(-self.rate) - math.log(self.rate)
        with np.errstate(divide="ignore"):
            log_sinh = log_ratio + half + np.log(-0.5 * np.expm1(-2.0 * half))
        # asinh(e^y) is y + ln 2 for large y, without forming e^y.
        grown = np.where(
            log_sinh > 20.0,
            log_sinh + math.log(2.0),
            np.arcsinh(np.exp(np.minimum(log_sinh, 20.0))),
        )
        return np.sign(loss) * (grown + half) / self.mu


@dataclass(frozen=True)
class FixedSizeLoss:
    """The informative part of the pair of batches of fixed size.

    M = (1-q) N(0,1) + q N(mu,1) against N(0,1) beyond mu/2, and the mirror image of that; x is the
    distance beyond.  The rest of the mass, `unmoved`, has loss zero and is not on the line.
    """

    mu: float
    rate: float

    @property
    def domain(self) -> tuple[float, float]:
        """The range of both components of P, which lie mu/2 on either side of zero."""
        return -REACH, 0.5 * self.mu + REACH

    @property
    def scale(self) -> float:
        """The spread of the loss where the record shows: that of a Gaussian step."""
        return self.mu

    def losses(self, x: Array) -> tuple[Array, Array]:
        """Return ln(1 - q + q e^(mu |x|)) with the sign of x, and the density."""
        shown = log_mixture(self.rate, self.mu * np.abs(x))
        log_density = np.maximum(np.sign(x), 0.0) * shown - 0.5 * (np.abs(x) + 0.5 * self.mu) ** 2
        return np.sign(x) * shown + 1e-15 * shown, np.exp(log_density) / _ROOT_TWO_PI

    def place(self, loss: Array) -> Array:
        """Return the inverse of `losses`, which is odd."""
        size = np.abs(loss)
        # ln(1 + (e^L - 1)/q), first without forming e^L, then without cancellation at small L.
        large = size + np.log(-np.expm1(-size) + self.rate * np.exp(-size)) - math.log(self.rate)
        moderate = np.log1p(np.expm1(np.minimum(size, 30.0)) / self.rate)
        return np.sign(loss) * np.where(size > 30.0, large, moderate) / self.mu


def loss_spread(step: Step) -> tuple[float, float]:
    """Return the range of the loss on the domain and its variance, to choose an interval by."""
    low, high = step.domain
    x, widths = _panels(np.arange(low, high + _PANEL, _PANEL))
    losses, density = step.losses(x)
    weights = widths * density
    variance = float(np.sum(weights * (losses - float(np.sum(weights * losses))) ** 2))
    return float(losses.max() - losses.min()), variance


def connect_dots(step: Step, interval: float) -> DiscreteLosses:
    """Return the step's loss on dots, which dominates the step at every epsilon."""
    low, high = step.domain
    ends = step.losses(np.array([low, high]))[0]
    places = _dots(float(ends.min()), float(ends.max()), interval, step.scale)
    dots = np.asarray(places * interval, dtype=np.float64)
    edges = step.place(dots)
    regular = np.arange(low, high, _PANEL)
    edges = np.concatenate([edges[(edges > low) & (edges < high)], regular, [high]])
    x, widths = _panels(np.unique(edges))
    losses, density = step.losses(x)
    masses = _split(losses, widths * density * (1.0 + MASS_MARGIN), dots)
    # Beyond the domain: large losses count as infinite, small ones as the smallest dot.
    beyond = float(special.ndtr(-REACH))
    masses[0] += beyond
    positive = masses > 0.0
    return DiscreteLosses(places[positive], masses[positive], beyond)


def blend(parts: list[tuple[DiscreteLosses, float]]) -> DiscreteLosses:
    """Return the loss of a step drawn at random with the given weights, when the draw is seen."""
    return DiscreteLosses(
        np.concatenate([dots.places for dots, _ in parts]),
        np.concatenate([dots.masses * weight for dots, weight in parts]),
        math.fsum(dots.infinite * weight for dots, weight in parts),
    )


def always_seen(rate: float, interval: float, reverse: bool) -> DiscreteLosses:
    """Return the loss of a sampled step that reveals its record's part; dominates any mu."""
    if reverse:
        above = math.ceil(-math.log1p(-rate) * (1.0 + 1e-15) / interval)
        return DiscreteLosses(np.array([above]), np.array([1.0]), 0.0)
    return DiscreteLosses(np.array([0]), np.array([1.0 - rate]), rate)


def _dots(low: float, high: float, interval: float, scale: float) -> Integers:
    """Return multiples of the interval from below `low` to above `high`, sparser away from zero."""
    first, last = math.floor(low / interval) - 1, math.ceil(high / interval) + 1
    widest = int(math.log2(max(scale / (FINENESS * interval), 1.0)))
    negative = -_side(max(-last, 0), max(-first, 0), widest)
    return np.unique(np.concatenate([negative, _side(max(first, 0), max(last, 0), widest)]))


def _side(first: int, last: int, widest: int) -> Integers:
    """Return dots >= 0 around [first, last] with gaps 2^level from 2^level * FINENESS on."""
    runs, start, level = [], 0, 0
    while True:
        gap, end = 1 << level, FINENESS << (level + 1)
        start = max(start, first // gap * gap)
        if level == widest or end > last:
            runs.append(np.arange(start, last + gap, gap))
            return np.concatenate(runs)
        if start < end:
            runs.append(np.arange(start, end, gap))
        start, level = max(start, end), level + 1


def _panels(edges: Array) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on every interval between neighbouring edges."""
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * (edges[1:] - edges[:-1])
    return (middle[:, None] + half[:, None] * _NODES).ravel(), np.outer(half, _WEIGHTS).ravel()


def _split(losses: Array, weights: Array, dots: Array) -> Array:
    """Return the masses when each weight goes to its two neighbouring dots, with its Q-mass."""
    if dots.size == 1:
        return np.array([np.sum(weights)])
    left = np.clip(np.searchsorted(dots, losses, side="right") - 1, 0, dots.size - 2)
    gaps = dots[left + 1] - dots[left]
    share = np.expm1(np.minimum(dots[left] - losses, 0.0)) / np.expm1(-gaps)
    upper = weights * np.clip(share * (1.0 + 1e-13), 0.0, 1.0)
    masses = np.bincount(left, weights - upper, dots.size)
    return np.asarray(masses + np.bincount(left + 1, upper, dots.size), dtype=np.float64)
