"""Moduli of a step, as lines above the squared distance that it can drive two points apart.

If two points are sqrt(w) apart, they are at most sqrt(psi(w)) apart after a step, psi concave.
Each kind of loss gives one such psi, known here through its tangents `slope w + offset`, which are
valid for all w wherever they were taken.  Lengths are multiples of a unit, so that rows of balls
can be turned into rows of doubles, which are only used to look for plans.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb

from wane.balls.arithmetic import ball, rounded_constant
from wane.balls.lemmas import reach
from wane.balls.lemmas.lipschitz import clip_keeps_gradient, clipped_constant, larger
from wane.describe import NoisyDescent, Objective
from wane.describe.schedule import Phase

Line = tuple[Any, Any]
"""Slope and offset; balls, or arrays of doubles."""


@dataclass(frozen=True)
class Sizes:
    """A step on any number of records from `least` to `most`, their sum divided by `divisor`."""

    least: int
    most: int
    divisor: int


class ModulusRow(ABC):
    """A modulus that follows from one property of the losses."""

    @abstractmethod
    def line(self, w: Any) -> Line:
        """Return a line above psi that touches it at `w > 0`."""

    @property
    def rough(self) -> ModulusRow:
        """The same modulus in doubles."""
        return type(self)(*(float(value) for value in vars(self).values()))


@dataclass(frozen=True)
class AffineModulus(ModulusRow):
    """The square modulus `factor w + offset`."""

    factor: Any
    offset: Any

    def line(self, w: Any) -> Line:
        """Return the modulus itself."""
        return self.factor + 0 * w, self.offset + 0 * w


@dataclass(frozen=True)
class Apart(ModulusRow):
    """The square modulus `(d + min(bend d^power, jump))^2`: the triangle inequality."""

    bend: Any
    power: Any
    jump: Any

    def line(self, w: Any) -> Line:
        """Return the tangent of the smaller of both squares."""
        d, p = root(w), self.power
        x = self.bend * d ** (p - 1)
        bent = 1 + (1 + p) * x + p * x * x, w * (1 - p) * x * (1 + x)
        return _pick(x * d <= self.jump, bent, (1 + self.jump / d, self.jump * (d + self.jump)))


@dataclass(frozen=True)
class Jump(ModulusRow):
    """The square modulus `(d + jump)^2`."""

    jump: Any

    def line(self, w: Any) -> Line:
        """Return the tangent."""
        d = root(w)
        return 1 + self.jump / d, self.jump * (d + self.jump)


@dataclass(frozen=True)
class Monotone(ModulusRow):
    """The square modulus `w + min(bend d^power, jump)^2`: convex, Hoelder on the domain."""

    bend: Any
    power: Any
    jump: Any

    def line(self, w: Any) -> Line:
        """Return the tangent of the smaller sum."""
        p = self.power
        change = self.bend * self.bend * w**p
        flat = 1 + 0 * w, self.jump * self.jump + 0 * w
        return _pick(change <= self.jump * self.jump, (1 + p * change / w, (1 - p) * change), flat)


@dataclass(frozen=True)
class Cocoercive(ModulusRow):
    """The square modulus `w + S^2 - 4p/(1+p) S x`: convex, Hoelder on the whole space.

    S is the change of the gradient times the step, at most `bend d^p` and `jump`; x is the distance
    at which it is `bend x^p`.  Beyond `S = 2 x` a larger change brings the points together.
    """

    bend: Any
    power: Any
    jump: Any

    def line(self, w: Any) -> Line:
        """Return the tangent up to the largest S that drives apart, a constant offset beyond."""
        p, k = self.power, self.bend
        y = k * w ** ((p - 1) / 2)
        grown = 1 + p * y * (y - 2), (1 - p) * w * y * (y - 2 * p / (1 + p))
        free = (k / 2) ** (1 / (1 - p))
        most = _smaller(2 * free, self.jump)
        # the distance at which the change is that large; never below what it truly is
        x = (most / k) ** (1 / p)
        flat = 1 + 0 * w, most * (most - 4 * p / (1 + p) * x) + 0 * w
        return _pick(k * w ** (p / 2) <= most, grown, flat)


@dataclass(frozen=True)
class ModulusInBalls:
    """The least of several rows, of which `shrunk` ones are multiplied by the ridge's factor."""

    unshrunk: tuple[ModulusRow, ...]
    shrunk: tuple[ModulusRow, ...]
    shrink: Any

    def line(self, w: Any) -> Line:
        """Return the line of the row that is least at `w`."""
        lines = [row.line(w) for row in self.unshrunk]
        square = self.shrink * self.shrink
        lines += [(square * a, square * b) for a, b in (row.line(w) for row in self.shrunk)]
        best = lines[0]
        for other in lines[1:]:
            best = _pick(_below(other[0] * w + other[1], best[0] * w + best[1]), other, best)
        return best

    def after(self, distance: arb) -> arb:
        """Return the largest distance after a step of points that were this far apart, in balls."""
        if not distance > 0:
            return arb(0)
        w = distance * distance
        slope, offset = self.line(w)
        reached: arb = root(slope * w + offset)
        return reached

    @property
    def rough(self) -> ModulusInBalls:
        """The same modulus in doubles."""
        return ModulusInBalls(
            tuple(row.rough for row in self.unshrunk),
            tuple(row.rough for row in self.shrunk),
            float(self.shrink),
        )


def root(value: Any) -> Any:
    """Return the square root of balls or doubles."""
    return value.sqrt() if isinstance(value, arb) else np.sqrt(value)


def _below(a: Any, b: Any) -> Any:
    """Return whether the first is smaller, or the second is not a number."""
    return bool(a < b) or b.is_nan() if isinstance(a, arb) else (a < b) | np.isnan(b)


def _pick(rule: Any, one: Line, other: Line) -> Line:
    """Return one of two valid lines; an undecided comparison does no harm."""
    if isinstance(rule, bool):
        return one if rule else other
    return np.where(rule, one[0], other[0]), np.where(rule, one[1], other[1])


def _smaller(a: Any, b: Any) -> Any:
    return a.min(b) if isinstance(a, arb) else np.minimum(a, b)


def modulus_of(run: NoisyDescent, phase: Phase, sizes: Sizes, unit: arb) -> ModulusInBalls | None:
    """Return the least modulus that the description allows; None if it allows none."""
    if phase.public:
        run, phase = run.on_public, replace(phase, public=False)
        sizes = Sizes(run.records, run.records, run.records)
    losses, eta = run.objective, ball(phase.step_size)
    shrink = 1 - eta * ball(losses.ridge)
    if phase.cool_down or sizes.most == 0:
        return ModulusInBalls((AffineModulus(shrink * shrink, arb(0)),), (), shrink)
    factor = lipschitz(losses, eta, sizes)
    unshrunk = () if factor is None else (AffineModulus(factor * factor, arb(0)),)
    shrunk: tuple[ModulusRow, ...] = ()
    if shrink > 0:
        scale = eta / (sizes.divisor * shrink)
        rows = _ModulusRows(
            losses, reach.change(run), scale * sizes.least, scale * sizes.most, unit
        )
        shrunk = tuple(rows.all())
    return ModulusInBalls(unshrunk, shrunk, shrink) if unshrunk or shrunk else None


def smoothness_of(losses: Objective) -> float | None:
    """Return the least declared Lipschitz constant of the gradient."""
    declared = [losses.smoothness]
    if losses.holder_exponent == 1.0:
        declared.append(losses.holder_constant)
    return min((value for value in declared if value is not None), default=None)


def lipschitz(losses: Objective, eta: arb, sizes: Sizes) -> arb | None:
    """Return the step's Lipschitz constant: convex in the number of records, so an end is worst."""
    smooth = smoothness_of(losses)
    if smooth is None:
        return None
    m, ridge = losses.strong_convexity, ball(losses.ridge)
    constant = arb(0)
    for count in {sizes.least, sizes.most}:
        fill = ball(count) / sizes.divisor
        high = fill * ball(smooth)
        low = -high if m is None else fill * ball(m)
        if losses.clipped and not clip_keeps_gradient(losses):
            constant = larger(constant, clipped_constant(eta, low, high, ridge))
            continue
        if losses.clipped and low > 0:
            low = arb(0)
        ends = abs(1 - eta * (low + ridge)), abs(1 - eta * (high + ridge))
        constant = larger(constant, larger(*ends))
    return rounded_constant(constant)


@dataclass(frozen=True)
class _ModulusRows:
    """Rows of a step of size `low` to `high` without its ridge term.

    Attributes:
        losses: what is declared of them.
        change: how far one record's contribution moves between two points of the domain.
        low, high: the least and the largest step on an average of losses.
        unit: the unit of length.
    """

    losses: Objective
    change: arb
    low: arb
    high: arb
    unit: arb

    def all(self) -> list[ModulusRow]:
        """Return every row that follows from the description."""
        smooth, rows = smoothness_of(self.losses), list[ModulusRow]()
        if self.bounded:
            rows.append(Jump(self.jump))
        if smooth is not None and self.bounded:
            rows.append(Apart(self.high * ball(smooth), arb(1), self.jump))
        if self.bend is not None:
            rows.append(Apart(*self.bend, self.jump))
        if _convex(self.losses):
            rows += self.convex()
        if self.losses.dissipativity is not None and not self.losses.clipped:
            rows += self.dissipative()
        return rows

    @property
    def bounded(self) -> bool:
        """Whether the gradient's change is bounded."""
        return bool(self.change.is_finite())

    @property
    def jump(self) -> arb:
        """The largest distance by which a bounded change drives two points apart."""
        return self.high * self.change / self.unit

    @property
    def bend(self) -> tuple[arb, arb] | None:
        """The factor and power of a Hoelder bound with power below one."""
        p, H = self.losses.holder_exponent, self.losses.holder_constant
        if p is None or H is None or not p < 1:
            return None
        return self.high * ball(H) * self.unit ** (ball(p) - 1), ball(p)

    def convex(self) -> list[ModulusRow]:
        """Return the rows of convex losses."""
        losses, rows = self.losses, list[ModulusRow]()
        assert losses.strong_convexity is not None
        if self.bounded:
            offset = self.jump * self.jump
            rows.append(AffineModulus(arb(1), offset))
            if losses.strong_convexity > 0 and not losses.clipped and self.low > 0:
                pull = 1 - 2 * self.low * ball(losses.strong_convexity)
                rows.append(AffineModulus(larger(pull, arb(0)), offset))
        if self.bend is not None and self.bend[0] > 0:
            rows.append(Monotone(*self.bend, self.jump))
            everywhere = losses.holder_everywhere or losses.dimension == 1
            if self.bend[1] > 0 and everywhere and self.jump > 0:
                rows.append(Cocoercive(*self.bend, self.jump))
        return rows

    def dissipative(self) -> list[ModulusRow]:
        """Return the rows of losses that pull together from afar."""
        assert self.losses.dissipativity is not None
        lam, kappa = map(ball, self.losses.dissipativity)
        drift = 2 * self.high * lam / self.unit**2
        rows: list[ModulusRow] = []
        if self.bounded:
            pull = larger(1 - 2 * self.low * kappa, 1 - 2 * self.high * kappa)
            rows.append(AffineModulus(larger(pull, arb(0)), drift + self.jump * self.jump))
        smooth = smoothness_of(self.losses)
        if smooth is not None:
            ends = [1 - 2 * e * kappa + (e * ball(smooth)) ** 2 for e in (self.low, self.high)]
            rows.append(AffineModulus(larger(larger(*ends), arb(0)), drift))
        return rows


def _convex(losses: Objective) -> bool:
    convex = losses.strong_convexity is not None and losses.strong_convexity >= 0
    return convex and (not losses.clipped or clip_keeps_gradient(losses))
