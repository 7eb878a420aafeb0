"""Moduli of continuity of one step: how far apart two points can be after it.

A modulus phi bounds `|Phi(x) - Phi(y)|` by `phi(|x - y|)`.  All moduli here are given through
`psi(w) = phi(sqrt w)^2`, which is concave and nondecreasing in the squared distance w, so that it
lies below each of its tangents `slope w + intercept`.  A tangent is returned in closed form, with
an intercept that never comes out of a subtraction of large numbers; every one of them, raised by a
few units in the last place, is a valid bound for all distances, wherever it was taken.

For a map that both runs share phi(0) = 0, even where psi jumps at zero.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from wane.arrays import Array

Tangents = tuple[Array, Array]

ROUNDING = 1e-14
"""Relative amount by which slopes and intercepts are raised."""
_SMALLEST_SLOPE = 1e-300
SMALLEST_DISTANCE = 1e-150
"""Smaller distances are taken for this one, whose square is still a number: phi never falls."""


class Modulus(ABC):
    """A concave modulus, in squares."""

    @abstractmethod
    def _lines(self, squares: Array) -> Tangents:
        """Return slopes and intercepts of the tangents at positive squared distances."""

    def tangents(self, squares: Array) -> Tangents:
        """Slopes and intercepts of lines above psi that touch it at these squared distances."""
        slope, intercept = self._lines(np.asarray(squares, dtype=np.float64))
        up = 1.0 + ROUNDING
        return np.maximum(slope * up, _SMALLEST_SLOPE), np.maximum(intercept, 0.0) * up

    def __call__(self, distance: float) -> float:
        """Return phi at a positive distance, rounded up."""
        w = np.array([max(distance, SMALLEST_DISTANCE) ** 2])
        slope, intercept = self.tangents(w)
        return math.sqrt(float(slope[0] * w[0] + intercept[0])) * (1.0 + ROUNDING)


@dataclass(frozen=True)
class AffineSquare(Modulus):
    """`psi(w) = c w + h`: a Lipschitz constant sqrt(c) and an additive part.

    Attributes:
        log_factor: ln c, which stays exact for c within 1e-15 of one; -inf for c = 0.
        offset: h.
    """

    log_factor: float
    offset: float = 0.0

    @property
    def factor(self) -> float:
        """The number c, rounded up."""
        return math.exp(self.log_factor) * (1.0 + ROUNDING) if self.log_factor else 1.0

    def _lines(self, squares: Array) -> Tangents:
        return np.full_like(squares, math.exp(self.log_factor)), np.full_like(squares, self.offset)


@dataclass(frozen=True)
class RefinedHolder(Modulus):
    """A gradient step on a function that is convex, with a Hoelder gradient, on the whole space.

    Claim.  psi(w) = w + eta^2 s^2 - (4 eta p/(1+p)) M^(-1/p) s^((1+p)/p) with
    s = min((eta/2)^(p/(1-p)) M^(1/(1-p)), M w^(p/2), G), for 0 < p < 1, G the largest change of
    the gradient.
    """

    step_size: float
    exponent: float
    constant: float
    change: float = math.inf

    def _lines(self, squares: Array) -> Tangents:
        p, eta = self.exponent, self.step_size
        x = eta * self.constant * np.power(squares, (p - 1.0) / 2.0)
        log_s = self._log_largest_change()
        growing = math.log(self.constant) + 0.5 * p * np.log(squares) <= log_s
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.where(growing, 1.0 + p * x * (x - 2.0), 1.0)
            intercept = (1.0 - p) * squares * x * (x - 2.0 * p / (1.0 + p))
        return slope, np.where(growing, intercept, self._plateau(log_s))

    def _log_largest_change(self) -> float:
        """Logarithm of the change of gradient beyond which a larger one helps contraction."""
        p = self.exponent
        free = (p * math.log(self.step_size / 2.0) + math.log(self.constant)) / (1.0 - p)
        return min(free, math.log(self.change))

    def _plateau(self, log_s: float) -> float:
        p, eta = self.exponent, self.step_size
        pull = ((1.0 - p) * log_s - math.log(self.constant)) / p - math.log(eta)
        share = 1.0 - 4.0 * p / (1.0 + p) * min(math.exp(min(pull, 0.0)), 0.5)
        exponent = 2.0 * (math.log(eta) + log_s)
        return math.inf if exponent > 700.0 else math.exp(exponent) * (share + 4e-16)


@dataclass(frozen=True)
class HolderOnDomain(Modulus):
    """A gradient step on a convex function whose gradient is Hoelder on the domain only.

    Claim.  psi(w) = w + min(eta M w^(p/2), eta G)^2: monotonicity and nothing else.
    """

    step_size: float
    exponent: float
    constant: float
    change: float = math.inf

    def _lines(self, squares: Array) -> Tangents:
        p, eta = self.exponent, self.step_size
        growing = self.constant * np.power(squares, p / 2.0) <= self.change
        change = (eta * self.constant) ** 2 * np.power(squares, p)
        slope = np.where(growing, 1.0 + p * change / squares, 1.0)
        cap = (eta * self.change) ** 2
        return slope, np.where(growing, (1.0 - p) * change, cap)


@dataclass(frozen=True)
class Triangle(Modulus):
    """A gradient step on any function, by the triangle inequality.

    Claim.  phi(d) = d + min(eta M d^p, eta G); p = 1 is smoothness, an infinite M only uses the
    largest change G.  Per-record clipping changes neither term.
    """

    step_size: float
    exponent: float = 1.0
    constant: float = math.inf
    change: float = math.inf

    def _lines(self, squares: Array) -> Tangents:
        p, eta = self.exponent, self.step_size
        distance = np.sqrt(squares)
        jump = eta * self.change
        with np.errstate(over="ignore", invalid="ignore"):
            x = eta * self.constant * np.power(distance, p - 1.0)
            growing = x * distance <= jump
            slope = np.where(growing, 1.0 + (1.0 + p) * x + p * x * x, 1.0 + jump / distance)
            bent = squares * (1.0 - p) * x * (1.0 + x) if p < 1.0 else np.zeros_like(x)
            return slope, np.where(growing, bent, jump * (distance + jump))


@dataclass(frozen=True)
class Least(Modulus):
    """The smallest of several valid moduli, point by point."""

    parts: tuple[Modulus, ...]

    def _lines(self, squares: Array) -> Tangents:
        slope, intercept = self.parts[0].tangents(squares)
        with np.errstate(over="ignore", invalid="ignore"):
            best = slope * squares + intercept
            for part in self.parts[1:]:
                s, i = part.tangents(squares)
                value = s * squares + i
                better = value < best
                slope, intercept = np.where(better, s, slope), np.where(better, i, intercept)
                best = np.where(better, value, best)
        return slope, intercept


@dataclass(frozen=True)
class Scaled(Modulus):
    """A map multiplied by a positive number: psi times its square."""

    inner: Modulus
    factor: float

    def _lines(self, squares: Array) -> Tangents:
        slope, intercept = self.inner.tangents(squares)
        square = self.factor * self.factor
        return square * slope, square * intercept


@dataclass(frozen=True)
class Narrowed(Modulus):
    """Points that a map with this Lipschitz constant brought closer before: phi(factor d)."""

    inner: Modulus
    factor: float

    def _lines(self, squares: Array) -> Tangents:
        square = self.factor * self.factor
        slope, intercept = self.inner.tangents(square * squares)
        return square * slope, intercept


@dataclass(frozen=True)
class Shifted(Modulus):
    """Two maps that differ by at most `shift` anywhere: phi(d) + shift.

    For any r > 0, (sqrt y + s)^2 <= (1 + s/r) y + s (r + s), with equality at y = r^2.
    """

    inner: Modulus
    shift: float

    def _lines(self, squares: Array) -> Tangents:
        slope, intercept = self.inner.tangents(squares)
        s = self.shift
        r = np.sqrt(slope * squares + intercept)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            tilt = 1.0 + s / r
            return tilt * slope, tilt * intercept + s * (r + s)


IDENTITY = AffineSquare(0.0)
"""A map that moves no two points apart."""
