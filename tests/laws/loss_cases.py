"""Concrete losses with exact derivatives, and what intervals know of them; nothing of wane here.

Scalars are functions of one number, made of few atoms and sums of these; `OnLine` and `Glm` turn
them into losses whose points are rows.  The planar ones are those that no scalar can be.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Bent:
    """A loss whose slope is piecewise linear: lines, parabolas, Huber, clamped and steep ones."""

    at: tuple[float, ...]
    slopes: tuple[float, ...]
    left: float = 0.0
    right: float = 0.0

    @property
    def kinks(self):
        return self.at

    @property
    def breaks(self):
        """Where the curvature jumps."""
        return tuple(x for x, (a, b) in zip(self.at, pairwise(self._bends), strict=True) if a != b)

    def slope(self, x):
        x = np.asarray(x, float)
        inner = np.interp(x, self.at, self.slopes)
        below = np.where(self.left == 0, 0, self.left * np.minimum(x - self.at[0], 0))
        above = np.where(self.right == 0, 0, self.right * np.maximum(x - self.at[-1], 0))
        return inner + below + above

    @property
    def _bends(self):
        steps = np.diff(self.slopes) / np.diff(self.at) if len(self.at) > 1 else []
        return np.array([self.left, *steps, self.right])

    def bend(self, x):
        return self._bends[np.searchsorted(self.at, x)]

    def value(self, x):
        """By the trapezoid rule between kinks, which is exact for linear slopes."""
        x = np.asarray(x, float)
        total = np.zeros_like(x)
        ends = [-math.inf, *self.at, math.inf]
        for a, b in pairwise(ends):
            low = np.clip(np.minimum(x, self.at[0]), a, b)
            high = np.clip(np.maximum(x, self.at[0]), a, b)
            width = np.where(high > low, high - low, 0.0)
            sign = np.where(x >= self.at[0], 1.0, -1.0)
            total += sign * width * (self.slope(low) + self.slope(high)) / 2
        return total

    def slope_within(self, a, b):
        ends = np.stack([self._limit(a), self._limit(b)])
        low, high = ends.min(axis=0), ends.max(axis=0)
        for place, slope in zip(self.at, self.slopes, strict=True):
            inside = (a <= place) & (place <= b)
            low = np.where(inside, np.minimum(low, slope), low)
            high = np.where(inside, np.maximum(high, slope), high)
        return low, high

    def _limit(self, x):
        finite = np.where(np.isinf(x), 0.0, x)
        ends = {-1.0: (self.left, self.slopes[0], -1), 1.0: (self.right, self.slopes[-1], 1)}
        made = self.slope(finite)
        for sign, (bend, slope, way) in ends.items():
            limit = slope if bend == 0 else way * math.copysign(math.inf, bend)
            made = np.where(np.isinf(x) & (np.sign(x) == sign), limit, made)
        return made

    def bend_within(self, a, b):
        low, high = np.full(np.shape(a), math.inf), np.full(np.shape(a), -math.inf)
        ends = [-math.inf, *self.at, math.inf]
        for bend, start, stop in zip(self._bends, ends[:-1], ends[1:], strict=True):
            meets = (a <= stop) & (b >= start)
            low = np.where(meets, np.minimum(low, bend), low)
            high = np.where(meets, np.maximum(high, bend), high)
        return low, high


def line(c: float) -> Bent:
    return Bent((0.0,), (c,))


def parabola(k: float, z: float = 0.0) -> Bent:
    return Bent((z,), (0.0,), k, k)


def huber(height: float, width: float, z: float = 0.0) -> Bent:
    return Bent((z - width, z + width), (-height, height))


def steep(c: float, k: float) -> Bent:
    """Curvature one up to the slope c, and k beyond it."""
    return Bent((-c, c), (-c, c), k, k)


def _hull(values):
    return np.min(values, axis=0), np.max(values, axis=0)


@dataclass(frozen=True)
class Well:
    """height (x^2 - 1)^2/4, two valleys."""

    height: float
    kinks: tuple[float, ...] = (-1.0, -1 / math.sqrt(3), 0.0, 1 / math.sqrt(3), 1.0)

    def value(self, x):
        return self.height * (x * x - 1) ** 2 / 4

    def slope(self, x):
        return self.height * (x**3 - x)

    def bend(self, x):
        return self.height * (3 * x * x - 1)

    def slope_within(self, a, b):
        turn = 1 / math.sqrt(3)
        values = [self.slope(a), self.slope(b)]
        for place in (-turn, turn):
            values.append(self.slope(np.where((a <= place) & (place <= b), place, a)))
        return _hull(values)

    def bend_within(self, a, b):
        middle = np.where((a <= 0) & (b >= 0), 0.0, a)
        return _hull([self.bend(a), self.bend(b), self.bend(middle)])


@dataclass(frozen=True)
class Wave:
    """height sin(rate x + phase)."""

    height: float
    rate: float
    phase: float = 0.0

    @property
    def kinks(self):
        quarter = np.arange(-40, 41) * math.pi / 2
        return tuple((quarter - self.phase) / self.rate)

    def value(self, x):
        return self.height * np.sin(self.rate * x + self.phase)

    def slope(self, x):
        return self.height * self.rate * np.cos(self.rate * x + self.phase)

    def bend(self, x):
        return -self.height * self.rate**2 * np.sin(self.rate * x + self.phase)

    def slope_within(self, a, b):
        return self._sine(a, b, math.pi / 2, self.height * self.rate)

    def bend_within(self, a, b):
        return self._sine(a, b, math.pi, self.height * self.rate**2)

    def _sine(self, a, b, shift, size):
        """Bounds of size sin(rate x + phase + shift), size and rate being positive."""
        with np.errstate(invalid="ignore"):
            s, t = (self.rate * end + self.phase + shift for end in (a, b))
            values = np.stack([np.sin(s), np.sin(t)])
            top = np.floor((t - math.pi / 2) / (2 * math.pi)) >= (s - math.pi / 2) / (2 * math.pi)
            low = np.floor((t + math.pi / 2) / (2 * math.pi)) >= (s + math.pi / 2) / (2 * math.pi)
        wide = ~np.isfinite(s) | ~np.isfinite(t)
        above = np.where(top | wide, 1.0, np.max(values, axis=0))
        below = np.where(low | wide, -1.0, np.min(values, axis=0))
        return size * below, size * above


@dataclass(frozen=True)
class LogCosh:
    """height width log cosh((x - z)/width): slope height tanh."""

    height: float
    width: float
    z: float = 0.0

    @property
    def kinks(self):
        return (self.z,)

    def value(self, x):
        t = np.abs((x - self.z) / self.width)
        return self.height * self.width * (t + np.log1p(np.exp(-2 * t)) - math.log(2))

    def slope(self, x):
        return self.height * np.tanh((x - self.z) / self.width)

    def bend(self, x):
        t = np.abs((x - self.z) / self.width)
        return self.height / self.width * (2 / (np.exp(t) + np.exp(-t))) ** 2

    def slope_within(self, a, b):
        return _hull([self.slope(a), self.slope(b)])

    def bend_within(self, a, b):
        with np.errstate(over="ignore"):
            middle = np.where((a <= self.z) & (b >= self.z), self.z, np.clip(a, -1e300, 1e300))
            return _hull([self.bend(a), self.bend(b), self.bend(middle)])


@dataclass(frozen=True)
class Logistic:
    """height width log(1 + exp((x - z)/width)): slope between zero and height."""

    height: float
    width: float
    z: float = 0.0

    @property
    def kinks(self):
        return (self.z,)

    def value(self, x):
        return self.height * self.width * np.logaddexp(0, (x - self.z) / self.width)

    def slope(self, x):
        return self.height * (1 + np.tanh((x - self.z) / self.width / 2)) / 2

    def bend(self, x):
        t = np.exp(-np.abs((x - self.z) / self.width))
        return self.height / self.width * t / (1 + t) ** 2

    def slope_within(self, a, b):
        return _hull([self.slope(a), self.slope(b)])

    def bend_within(self, a, b):
        middle = np.where((a <= self.z) & (b >= self.z), self.z, np.clip(a, -1e300, 1e300))
        return _hull([self.bend(a), self.bend(b), self.bend(middle)])


@dataclass(frozen=True)
class Power:
    """height |x - z|^(1 + p)/(1 + p): convex, its gradient Hoelder and not Lipschitz."""

    height: float
    p: float
    z: float = 0.0

    @property
    def kinks(self):
        return (self.z,)

    breaks = kinks

    def value(self, x):
        return self.height * np.abs(x - self.z) ** (1 + self.p) / (1 + self.p)

    def slope(self, x):
        d = np.asarray(x) - self.z
        return self.height * np.sign(d) * np.abs(d) ** self.p

    def bend(self, x):
        with np.errstate(divide="ignore", invalid="ignore"):
            made = self.height * self.p * np.abs(np.asarray(x) - self.z) ** (self.p - 1)
        return np.nan_to_num(made, nan=0.0, posinf=1e300)

    def slope_within(self, a, b):
        low, high = self.slope(a), self.slope(b)
        if self.p == 0:  # the gradient at the kink may be any subgradient
            touches = (a <= self.z) & (b >= self.z)
            low, high = np.where(touches, -self.height, low), np.where(touches, self.height, high)
        return low, high

    def bend_within(self, a, b):
        touches = (a <= self.z) & (b >= self.z)
        ends = np.stack([self.bend(a), self.bend(b)])
        return ends.min(axis=0), np.where(touches, math.inf, ends.max(axis=0))


@dataclass(frozen=True)
class Sum:
    """The sum of scalars; intervals add up, which is true if not sharp."""

    parts: tuple

    @property
    def kinks(self):
        return tuple(k for part in self.parts for k in part.kinks)

    @property
    def breaks(self):
        return tuple(k for part in self.parts for k in getattr(part, "breaks", ()))

    def value(self, x):
        return sum(part.value(x) for part in self.parts)

    def slope(self, x):
        return sum(part.slope(x) for part in self.parts)

    def bend(self, x):
        return sum(part.bend(x) for part in self.parts)

    def slope_within(self, a, b):
        return tuple(
            sum(end) for end in zip(*(p.slope_within(a, b) for p in self.parts), strict=True)
        )

    def bend_within(self, a, b):
        return tuple(
            sum(end) for end in zip(*(p.bend_within(a, b) for p in self.parts), strict=True)
        )


@dataclass(frozen=True)
class OnLine:
    """A scalar as a loss of points with one coordinate."""

    scalar: object

    def value(self, x):
        return self.scalar.value(x[:, 0])

    def gradient(self, x):
        return self.scalar.slope(x[:, 0])[:, None]

    def hessian(self, x):
        return self.scalar.bend(x[:, 0])[:, None, None]

    def gradient_within(self, low, high):
        a, b = self.scalar.slope_within(low[:, 0], high[:, 0])
        return a[:, None], b[:, None]

    def curvature_within(self, low, high):
        return self.scalar.bend_within(low[:, 0], high[:, 0])


@dataclass(frozen=True)
class Glm:
    """phi(<a, x>) in several dimensions."""

    scalar: object
    a: tuple[float, ...]

    def gradient(self, x):
        return self.scalar.slope(x @ np.array(self.a))[:, None] * np.array(self.a)

    def hessian(self, x):
        a = np.array(self.a)
        return self.scalar.bend(x @ a)[:, None, None] * np.outer(a, a)


@dataclass(frozen=True)
class Quadratic:
    """<x, H x>/2 + <b, x>."""

    H: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    def gradient(self, x):
        return x @ np.array(self.H).T + np.array(self.b)

    def hessian(self, x):
        return np.broadcast_to(np.array(self.H), (len(x), *np.shape(self.H)))

    def gradient_within(self, low, high):
        H = np.array(self.H)[None]
        ends = np.stack([H * low[:, None, :], H * high[:, None, :]])
        ends = np.where(H == 0, 0.0, ends)
        return ends.min(axis=0).sum(axis=-1) + self.b, ends.max(axis=0).sum(axis=-1) + self.b

    def curvature_within(self, low, high):
        eig = np.linalg.eigvalsh(np.array(self.H))
        return np.full(len(low), eig[0]), np.full(len(low), eig[-1])


@dataclass(frozen=True)
class Separable:
    """A scalar of each coordinate, added up."""

    scalars: tuple

    def gradient(self, x):
        return np.stack([s.slope(x[:, i]) for i, s in enumerate(self.scalars)], axis=1)

    def hessian(self, x):
        bends = np.stack([s.bend(x[:, i]) for i, s in enumerate(self.scalars)], axis=1)
        return bends[:, :, None] * np.eye(len(self.scalars))

    def gradient_within(self, low, high):
        ends = [s.slope_within(low[:, i], high[:, i]) for i, s in enumerate(self.scalars)]
        return tuple(np.stack(end, axis=1) for end in zip(*ends, strict=True))

    def curvature_within(self, low, high):
        ends = [s.bend_within(low[:, i], high[:, i]) for i, s in enumerate(self.scalars)]
        lows, highs = (np.stack(end) for end in zip(*ends, strict=True))
        return lows.min(axis=0), highs.max(axis=0)


@dataclass(frozen=True)
class Saddle:
    """Convex on a thin box, a saddle outside: s(t) r(u) + parabolas made linear outside.

    s is odd and the identity up to 0.51, its slope then falls to zero over 0.5; r likewise from
    0.001 over 1.
    """

    tilt: float = 0.0

    @staticmethod
    def _s(z, A, L):
        z = np.asarray(z, float)
        t = np.clip(np.abs(z) - A, 0, L)
        value = np.minimum(np.abs(z), A) + t - t * t / (2 * L)
        slope = 1 - t / L
        bend = np.where((np.abs(z) > A) & (np.abs(z) < A + L), -1 / L, 0.0)
        return np.sign(z) * value, slope, np.sign(z) * bend

    def _parts(self, x):
        s, r = self._s(x[:, 0], 0.51, 0.5), self._s(x[:, 1], 0.001, 1.0)
        return s, r

    def gradient(self, x):
        (s, ds, _), (r, dr, _) = self._parts(x)
        along = 0.01 * np.clip(x[:, 0], -0.51, 0.51) + self.tilt
        across = 101.0 * np.clip(x[:, 1], -4.8e-11, 4.8e-11)
        return np.stack([ds * r + along, s * dr + across], axis=1)

    def hessian(self, x):
        (s, ds, dds), (r, dr, ddr) = self._parts(x)
        H = np.empty((len(x), 2, 2))
        H[:, 0, 0] = dds * r + 0.01 * (np.abs(x[:, 0]) <= 0.51)
        H[:, 1, 1] = s * ddr + 101.0 * (np.abs(x[:, 1]) <= 4.8e-11)
        H[:, 0, 1] = H[:, 1, 0] = ds * dr
        return H
