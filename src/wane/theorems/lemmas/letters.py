"""The letters of the proofs about chains, and their few special functions, accurate where small.

Any temperature is brought to one by scaling potential and time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wane.describe.chain import Direction, Overdamped, Target, Underdamped


@dataclass(frozen=True)
class Letters:
    """An overdamped chain at temperature one.

    Attributes:
        d: dimension; m, L: strong convexity and smoothness of f = F/temperature.
        M3: Lipschitz constant of the Laplacian of f, infinite where none is declared.
        B: bound on the gradient of f, infinite where none is declared.
        eta, N: step size (times the temperature) and steps.
        s0, r0: variance of the start, and distance of its centre from the minimiser.
    """

    d: int
    m: float
    L: float
    M3: float
    B: float
    eta: float
    N: int
    s0: float
    r0: float

    @property
    def contraction_gap(self) -> float:
        """One minus the Lipschitz constant of a gradient step, rounded down where it cancels."""
        return min(self.eta * self.m, 2.0 - self.eta * self.L - 2e-15)


@dataclass(frozen=True)
class KineticLetters:
    """An underdamped chain at temperature one: as `Letters`, with friction and inverse mass."""

    d: int
    m: float
    L: float
    gam: float
    mu: float
    eta: float
    N: int
    s0: float
    r0: float

    @property
    def rate(self) -> float:
        """The rate at which coupled copies approach: mu m/gam, if the friction is heavy enough."""
        return min(self.mu * self.m / self.gam, self.gam - self.mu * self.L / self.gam)


def letters_of(chain: Overdamped) -> Letters:
    """Return the chain's constants, divided by the temperature."""
    T = chain.temperature
    third, bound = _scaled(chain.target, T)
    return Letters(
        d=chain.target.dimension,
        m=chain.target.strong_convexity / T,
        L=chain.target.smoothness / T,
        M3=third,
        B=bound,
        eta=chain.step_size * T,
        N=chain.steps,
        s0=chain.start.variance,
        r0=_known(chain.start.distance),
    )


def kinetic_letters_of(chain: Underdamped) -> KineticLetters:
    """The chain's constants; time keeps its unit, and the inverse mass takes the temperature."""
    T = chain.temperature
    return KineticLetters(
        d=chain.target.dimension,
        m=chain.target.strong_convexity / T,
        L=chain.target.smoothness / T,
        gam=chain.friction,
        mu=chain.velocity_variance,
        eta=chain.step_size,
        N=chain.steps,
        s0=chain.start.variance,
        r0=_known(chain.start.distance),
    )


def _scaled(target: Target, temperature: float) -> tuple[float, float]:
    declared = (target.laplacian_lipschitz, target.gradient_bound)
    third, bound = (math.inf if x is None else x / temperature for x in declared)
    return third, bound


def _known(distance: float | None) -> float:
    """Return the distance, infinite if undeclared: then every bound that uses it is infinite."""
    return math.inf if distance is None else distance


_DIRECT = 300
"""Up to this dimension the gamma functions neither overflow nor cancel."""


def chi_mean(dimension: int) -> float:
    """Return the mean norm of a standard normal vector, sqrt(2) Gamma((d+1)/2)/Gamma(d/2)."""
    x = 0.5 * dimension
    if dimension <= _DIRECT:
        return math.sqrt(2.0) * math.gamma(x + 0.5) / math.gamma(x)
    tail = 5.0 / 1024.0 - 21.0 / (32768.0 * x)
    return math.sqrt(2.0 * x) * (1.0 - (0.125 - (1.0 / 128.0 + tail / x) / x) / x)


def minus_log_cos(angle: float) -> float:
    """Return -ln cos(angle), infinite from pi/2 on."""
    if angle >= 0.5 * math.pi:
        return math.inf
    square = angle * angle
    if angle < 1e-4:
        return square * (0.5 + square * (1.0 / 12.0 + square / 45.0))
    if angle > 1.0:  # the sine's square would lose the digits that the cosine keeps
        return -math.log(math.cos(angle))
    return -0.5 * math.log1p(-(math.sin(angle) ** 2))


def minus_log_one_minus(x: float) -> float:
    """Return -ln(1 - x), infinite from one on."""
    return -math.log1p(-x) if x < 1.0 else math.inf


def log_moment(rate: float, *, d: int, variance: float, offset: float) -> float:
    """Bound ln E exp(rate |e|^2) for |e| at most `offset` plus the norm of N(0, variance I).

    |e|^2 <= |normal|^2/w + offset^2/(1-w) for every w in (0, 1); the w used is the minimiser.
    """
    v = 2.0 * rate * variance
    if v >= 1.0:
        return math.inf
    if offset == 0.0 or rate == 0.0:
        return 0.5 * d * minus_log_one_minus(v)
    if v == 0.0:
        return rate * offset * offset
    P, Q = rate * offset * offset, 0.5 * d * v
    b, root = 2.0 * Q - P * v, math.sqrt((P * v) ** 2 + 4.0 * P * Q * (1.0 - v))
    w = 2.0 * Q / (b + root) if b > 0.0 else (root - b) / (2.0 * (P - Q))
    if not v < w < 1.0:
        w = 0.5 * (v + 1.0)
    return 0.5 * d * minus_log_one_minus(v / w) + P / (1.0 - w)


def log_moment_of_normal(rate: float, *, d: int, variance: float, offset: float) -> float:
    """Return ln E exp(rate |N(offset, variance I)|^2), infinite where it does not exist."""
    left = 1.0 - 2.0 * rate * variance
    if left <= 0.0:
        return math.inf
    return 0.5 * d * minus_log_one_minus(2.0 * rate * variance) + rate * offset**2 / left


LEAST_ORDER = 1.01
"""Below it a divergence is bounded by that of this order: divergences grow with the order."""


def girsanov_price(direction: Direction, exponent: float, order: float) -> float:
    """The factor lam of step 2 of the proofs: E L^order <= E^(1/q) exp(q lam int |u|^2), q' = p.

    (dP/dQ)^a = [exp(-a int u dB - (p a^2/2) int |u|^2)] exp(lam int |u|^2), and the p-th moment of
    the bracket is at most one.  With the reference first the power is 1 - a.
    """
    power = order if direction is Direction.CHAIN_FIRST else 1.0 - order
    return 0.5 * power * math.fsum((exponent * power, -1.0))
