"""One step with a random batch, as privacy losses on a grid that leak at least as much.

Probabilities are computed in balls.  The mass between two grid points is split over the two so that
its probability under both laws is kept, which makes the pair no harder to tell apart; what lies
below the grid is moved up to it, and what lies above counts as lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from wane.verify.balls import as_float_up, ball, bits
from wane.verify.gaussian import normal_tail

Array = NDArray[np.float64]
BITS = 128
REACH = 11.0
"""Deviations of the noise that the grid covers."""
RAREST = 16
"""Grid cells that are joined where losses are rarest."""


class Direction(Enum):
    """Which two laws are compared; `mixed` is (1-q) N(0,1) + q N(mu,1)."""

    REMOVE = "mixed against N(0,1)"
    ADD = "N(0,1) against mixed"
    REPLACE = "mixed against mixed with -mu"


@dataclass(frozen=True)
class SampledStep:
    """A step that uses a record with probability `rate`, moving `mu` noise deviations."""

    mu: arb
    rate: arb

    def tails(self, direction: Direction, loss: arb) -> tuple[arb, arb]:
        """Probabilities under both laws that the privacy loss exceeds `loss`."""
        if direction is Direction.REPLACE:
            even = self._balanced(loss)
            return self._mixed(even, self.mu), self._mixed(even, -self.mu)
        x = self._threshold(loss if direction is Direction.REMOVE else -loss)
        if x is None:
            return (arb(1), arb(1)) if direction is Direction.REMOVE else (arb(0), arb(0))
        if direction is Direction.REMOVE:
            return self._mixed(x, self.mu), normal_tail(x)
        return normal_tail(-x), self._mixed(-x, -self.mu)

    def _mixed(self, x: arb, mu: arb) -> arb:
        return (1 - self.rate) * normal_tail(x) + self.rate * normal_tail(x - mu)

    def _threshold(self, loss: arb) -> arb | None:
        """Where the mixed density is e^loss times the plain one; None if it never is."""
        left = loss.exp() - (1 - self.rate)
        if not left > 0:
            return None
        return (left / self.rate).log() / self.mu + self.mu / 2

    def _balanced(self, loss: arb) -> arb:
        """Where the two mixed densities have the ratio e^loss; odd in the loss."""
        if loss < 0:
            return -self._balanced(-loss)
        w = self.rate * (-self.mu * self.mu / 2).exp()
        b, e = (1 - self.rate) * loss.expm1(), loss.exp()
        return ((b + (b * b + 4 * w * w * e).sqrt()) / (2 * w)).log() / self.mu

    def losses(self, direction: Direction, x: Array) -> Array:
        """The privacy loss at these outcomes, roughly: it only chooses the grid."""
        q, mu = float(self.rate), float(self.mu)
        up = np.logaddexp(math.log1p(-q), math.log(q) + mu * x - mu * mu / 2)
        if direction is Direction.REPLACE:
            down = np.logaddexp(math.log1p(-q), math.log(q) - mu * x - mu * mu / 2)
            return np.asarray(up - down)
        return np.asarray(up if direction is Direction.REMOVE else -up)

    def extent(self, direction: Direction) -> Extent:
        """Where the losses lie, roughly."""
        q, mu = float(self.rate), float(self.mu)
        x = np.linspace(-REACH - mu, REACH + mu, 8001)
        loss = self.losses(direction, x)
        plain, moved = np.exp(-x * x / 2), np.exp(-((x - mu) ** 2) / 2)
        weight = plain if direction is Direction.ADD else (1 - q) * plain + q * moved
        weight /= weight.sum()
        mean = float(weight @ loss)
        usual = loss[weight > 1e-9]
        return Extent(
            float(loss.min()),
            float(loss.max()),
            math.sqrt(float(weight @ (loss - mean) ** 2)),
            float(usual.max() - usual.min()),
        )


class Extent(NamedTuple):
    """Least and largest loss that matter, the loss's deviation, and the width of its bulk."""

    least: float
    largest: float
    deviation: float
    bulk: float


@dataclass(frozen=True)
class Grid:
    """Masses at the losses `(first + i) * spacing`, and the mass that counts as lost."""

    first: int
    spacing: float
    mass: Array
    lost: float


def on_grid(step: SampledStep, direction: Direction, spacing: float) -> Grid:
    """The step's privacy losses on a grid, leaking at least as much."""
    extent = step.extent(direction)
    first, last = math.floor(extent.least / spacing) - 1, math.ceil(extent.largest / spacing) + 1
    with bits(BITS):
        return _grid(lambda loss: step.tails(direction, loss), first, last, spacing)


def _grid(tails: Callable[[arb], tuple[arb, arb]], first: int, last: int, spacing: float) -> Grid:
    h = ball(spacing)
    mass = np.zeros(last - first + RAREST + 1)
    here = tails(first * h)
    mass[0] = as_float_up(1 - here[0])
    place = first
    while place < last:
        width = _cells(float(here[0]))
        loss = place * h
        above = tails(loss + width * h)
        p, q = here[0] - above[0], here[1] - above[1]
        upper = (p - loss.exp() * q) / (1 - (-width * h).exp())
        mass[place - first] += max(_up(p - upper), 0.0)
        mass[place - first + width] += max(_up(upper), 0.0)
        here, place = above, place + width
    used = place - first + 1
    return Grid(first, spacing, mass[:used] * (1.0 + 2.0**-50), max(as_float_up(here[0]), 0.0))


def _cells(tail: float) -> int:
    """How many grid cells to treat as one: rare losses need no fine grid."""
    rarity = min(tail, 1.0 - tail)
    return 1 if rarity > 1e-6 else 4 if rarity > 1e-10 else RAREST


def _up(value: arb) -> float:
    return float(value.upper()) * (1.0 + 2.0**-51)
