"""The privacy losses of one step, sampled or not, on a grid that leaks at least as much.

Probabilities are computed in balls.  The mass between two grid points is split over the two so that
its probability under both laws is kept, which makes the pair no harder to tell apart; what lies
below the grid is moved up to it, and what lies above counts as lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
from flint import arb

from wane.arrays import Array
from wane.balls.arithmetic import as_float_up, ball, bits
from wane.balls.gaussian import normal_tail

BITS = 128
REACH = 11.0
"""Deviations of the noise that the grid covers."""
NEGLIGIBLE = 1e-8
"""Cells are joined while their mass times their squared width, in deviations, is below this."""
SURE = 3000.0
"""A shift beyond which a sampled step counts as showing whether the record took part."""


class PairOrder(Enum):
    """The two laws that are compared; `mixed` is (1-q) N(0,1) + q N(mu,1)."""

    REMOVE = "mixed against N(0,1)"
    ADD = "N(0,1) against mixed"
    REPLACE = "mixed against mixed with -mu"
    FIXED = "mixed against N(0,1) at losses above zero, its mirror image below"


class StepLosses(Protocol):
    """The privacy losses of a step."""

    def tails(self, direction: PairOrder, loss: arb) -> tuple[arb, arb]:
        """Return the probabilities under both laws that the privacy loss exceeds `loss`."""

    def extent(self, direction: PairOrder) -> Extent:
        """Return roughly where the losses lie."""

    def divergence(self, direction: PairOrder, beyond: float) -> float:
        """Return roughly the Renyi divergence of order `1 + beyond`, to choose what to compute."""


def shifts_apart(directions: tuple[PairOrder, ...]) -> int:
    """Return how many shifts lie between the two laws of a step that surely uses the record."""
    return 2 if PairOrder.REPLACE in directions else 1


@dataclass(frozen=True, eq=False)
class PlainStep:
    """The step N(mu, 1) against N(0, 1), the same in every direction."""

    mu: arb

    def tails(self, direction: PairOrder, loss: arb) -> tuple[arb, arb]:
        """Return both tails beyond the outcome that has this loss."""
        x = loss / self.mu + self.mu / 2
        return normal_tail(x - self.mu), normal_tail(x)

    def extent(self, direction: PairOrder) -> Extent:
        """Return the extent of a normal loss with deviation mu and mean mu^2/2."""
        mu = float(self.mu)
        far, middle = REACH * mu, mu * mu / 2.0
        return Extent(middle - far, middle + far, mu)

    def divergence(self, direction: PairOrder, beyond: float) -> float:
        """Return the divergence, which is proportional to the order."""
        return (1.0 + beyond) * float(self.mu) ** 2 / 2.0


@dataclass(frozen=True, eq=False)
class SeenStep:
    """A step that reveals whether the record took part, and if so, everything."""

    rate: arb

    def tails(self, direction: PairOrder, loss: arb) -> tuple[arb, arb]:
        """Return the tails of one finite loss and, with the rate, an infinite one."""
        out = 1 - self.rate
        if loss < self._loss(direction):
            return {
                PairOrder.REMOVE: (arb(1), arb(1)),
                PairOrder.ADD: (arb(1), out),
                PairOrder.REPLACE: (arb(1), out),
                PairOrder.FIXED: (arb(1), out),
            }[direction]
        return (arb(0) if direction is PairOrder.ADD else self.rate), arb(0)

    def _loss(self, direction: PairOrder) -> arb:
        out = (1 - self.rate).log()
        return {PairOrder.REMOVE: out, PairOrder.ADD: -out}.get(direction, arb(0))

    def extent(self, direction: PairOrder) -> Extent:
        """Return one point, with some room."""
        at = float(self._loss(direction))
        room = max(abs(math.log1p(-float(self.rate))), 1e-300)
        return Extent(at - room, at + room, 0.1 * room)

    def divergence(self, direction: PairOrder, beyond: float) -> float:
        """Return infinity, since everything is revealed."""
        return math.inf


@dataclass(frozen=True, eq=False)
class SampledStep:
    """A step that uses a record with probability `rate`, moving `mu` noise deviations."""

    mu: arb
    rate: arb

    def tails(self, direction: PairOrder, loss: arb) -> tuple[arb, arb]:
        """Return the probabilities under both laws that the privacy loss exceeds `loss`."""
        if direction is PairOrder.REPLACE:
            x = self._balanced(loss)
            shared = (1 - self.rate) * normal_tail(x)
            near, far = normal_tail(x - self.mu), normal_tail(x + self.mu)
            return shared + self.rate * near, shared + self.rate * far
        if direction is PairOrder.FIXED:
            p, q = self.tails(PairOrder.REMOVE, abs(loss))
            return (1 - q, 1 - p) if loss < 0 else (p, q)
        above = self._threshold(loss if direction is PairOrder.REMOVE else -loss)
        if above is None:
            return (arb(1), arb(1)) if direction is PairOrder.REMOVE else (arb(0), arb(0))
        x = above
        if direction is PairOrder.REMOVE:
            plain = normal_tail(x)
            return (1 - self.rate) * plain + self.rate * normal_tail(x - self.mu), plain
        plain = normal_tail(-x)
        return plain, (1 - self.rate) * plain + self.rate * normal_tail(self.mu - x)

    def _threshold(self, loss: arb) -> arb | None:
        """Return where the mixed density is e^loss times the plain one; None if nowhere."""
        left = loss.exp() - (1 - self.rate)
        if not left > 0:
            return None
        return (left / self.rate).log() / self.mu + self.mu / 2

    def _balanced(self, loss: arb) -> arb:
        """Return where the two mixed densities have the ratio e^loss; odd in the loss."""
        if loss < 0:
            return -self._balanced(-loss)
        w = self.rate * (-self.mu * self.mu / 2).exp()
        b, e = (1 - self.rate) * loss.expm1(), loss.exp()
        return ((b + (b * b + 4 * w * w * e).sqrt()) / (2 * w)).log() / self.mu

    def _mirrored(self, x: Array, loss: Array) -> Extent:
        """Return the extent of the losses above zero, and as far below."""
        q, mu = float(self.rate), float(self.mu)
        plain, moved = np.exp(-x * x / 2), np.exp(-((x - mu) ** 2) / 2)
        weight = ((2 - q) * plain + q * moved)[x > mu / 2] * (x[1] - x[0]) / math.sqrt(2 * math.pi)
        spread = math.sqrt(float(weight @ loss[x > mu / 2] ** 2))
        return Extent(-float(loss.max()), float(loss.max()), min(max(spread, 1e-300), mu))

    def losses(self, direction: PairOrder, x: Array) -> Array:
        """Return roughly the privacy loss at these outcomes, to choose the grid."""
        q, mu = float(self.rate), float(self.mu)
        up = np.logaddexp(math.log1p(-q), math.log(q) + mu * x - mu * mu / 2)
        if direction is PairOrder.REPLACE:
            down = np.logaddexp(math.log1p(-q), math.log(q) - mu * x - mu * mu / 2)
            return np.asarray(up - down)
        return np.asarray(-up if direction is PairOrder.ADD else up)

    def divergence(self, direction: PairOrder, beyond: float) -> float:
        """Return the divergence as a sum over outcomes, in logarithms."""
        q, mu = float(self.rate), float(self.mu)
        x = np.linspace(-REACH - mu, REACH + mu * min(1.0 + beyond, 60.0 / mu + 1.0), 1200)
        loss = self.losses(direction, x)
        log_p = np.logaddexp(math.log1p(-q), math.log(q) + mu * x - mu * mu / 2) - x * x / 2
        height = log_p + beyond * loss
        top = float(np.max(height))
        integral = float(np.sum(np.exp(height - top))) * (x[1] - x[0]) / math.sqrt(2.0 * math.pi)
        return max((top + math.log(integral)) / beyond, 0.0)

    def extent(self, direction: PairOrder) -> Extent:
        """Return roughly where the losses lie."""
        q, mu = float(self.rate), float(self.mu)
        x = np.linspace(-REACH, REACH if direction is PairOrder.ADD else REACH + mu, 8001)
        loss = self.losses(direction, x)
        if direction is PairOrder.FIXED:
            return self._mirrored(x, loss)
        plain, moved = np.exp(-x * x / 2), np.exp(-((x - mu) ** 2) / 2)
        weight = plain if direction is PairOrder.ADD else (1 - q) * plain + q * moved
        weight /= weight.sum()
        mean = float(weight @ loss)
        spread = max(math.sqrt(float(weight @ (loss - mean) ** 2)), 0.01 * abs(mean))
        low = float(loss.min())
        if direction is PairOrder.ADD:  # far below zero no loss matters, and few are there
            low = max(low, mean - 200.0 * spread)
        # where the coin moves the loss farther than the noise does, the noise is the finer scale
        return Extent(low, float(loss.max()), min(spread, mu))


def sampled_step(mu: arb, rate: arb) -> SampledStep | SeenStep:
    """Return a step whose record joins with this probability."""
    return SampledStep(mu, rate) if mu < SURE else SeenStep(rate)


class Extent(NamedTuple):
    """The least and largest loss that matter, and the scale on which the loss varies."""

    least: float
    largest: float
    deviation: float


@dataclass(frozen=True)
class Grid:
    """Masses at the losses `(first + i) * spacing`, and the mass that counts as lost."""

    first: int
    spacing: float
    mass: Array
    lost: float


def exceeding(step: StepLosses, direction: PairOrder, epsilon: float) -> float:
    """Return delta at this epsilon, of one step: what exceeds e^epsilon times the other law."""
    with _precise(step.extent(direction).deviation):
        at = ball(epsilon)
        p, q = step.tails(direction, at)
        return min(max(as_float_up(p - at.exp() * q), 0.0), 1.0)


def _precise(scale: float) -> AbstractContextManager[None]:
    """Return a precision enough for second differences of probabilities, small as scale squared."""
    return bits(BITS + 4 * math.ceil(max(0.0, -math.log2(scale))))


def on_grid(step: StepLosses, direction: PairOrder, spacing: float, widest: int) -> Grid:
    """Return the step's losses on a grid, leaking at least as much; some cells are joined."""
    extent = step.extent(direction)
    first = math.floor(extent.least / spacing) - 1
    last = math.ceil(extent.largest / spacing) + 1
    with _precise(min(extent.deviation, spacing)):
        joining = _Joining(spacing / extent.deviation, widest)
        return _grid(lambda loss: step.tails(direction, loss), (first, last), spacing, joining)


@dataclass
class _Joining:
    """The number of cells to treat as one: rare losses need no fine grid."""

    relative: float
    widest: int
    width: int = 1

    def fits(self, mass: float) -> bool:
        """Return whether a cell of this mass may be as wide; make it narrower if not."""
        if self.width == 1 or mass * (self.width * self.relative) ** 2 <= NEGLIGIBLE:
            return True
        self.width //= 2
        return False

    def widen(self, mass: float) -> None:
        """Try wider cells if this one was far from too heavy."""
        wider = 2 * self.width
        if wider <= self.widest and 4.0 * mass * (wider * self.relative) ** 2 <= NEGLIGIBLE:
            self.width = wider


def _grid(
    tails: Callable[[arb], tuple[arb, arb]],
    ends: tuple[int, int],
    spacing: float,
    joining: _Joining,
) -> Grid:
    h = ball(spacing)
    first, last = ends
    mass = np.zeros(last - first + joining.widest + 1)
    here = tails(first * h)
    mass[0] = as_float_up(1 - here[0])
    place = first
    while place < last:
        while True:
            width = joining.width
            above = tails((place + width) * h)
            p = here[0] - above[0]
            if joining.fits(float(p)):
                break
        q, loss = here[1] - above[1], place * h
        upper = (p - loss.exp() * q) / (1 - (-width * h).exp())
        mass[place - first] += max(_up(p - upper), 0.0)
        mass[place - first + width] += max(_up(upper), 0.0)
        joining.widen(float(p))
        here, place = above, place + width
    used = place - first + 1
    return Grid(first, spacing, mass[:used] * (1.0 + 2.0**-50), max(as_float_up(here[0]), 0.0))


def _up(value: arb) -> float:
    return float(value.upper()) * (1.0 + 2.0**-51)
