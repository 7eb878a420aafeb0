"""The exact privacy profile of two unit Gaussians a distance mu apart, never below the truth.

    delta(eps, mu) = Phi(a) - exp(eps) Phi(a - mu),    a = mu/2 - eps/mu

The textbook formula subtracts nearly equal numbers.  With x = -a, y = x + mu and Mills' ratio R,
the identity exp(eps) phi(a - mu) = phi(a) gives two forms without cancellation:

    a > 1       delta = Phi(a) - phi(a) R(y)         the second term is less than a third
    a <= 1      delta = phi(a) (R(x) - R(y))         the gap is computed as a positive integral

a and a^2 are carried in double-double, because a itself cancels when mu is large and phi(a)
magnifies its error.  Measured against 60 digits the relative error stays below 2e-14; every value
is then raised by `MARGIN`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar, overload

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.numerics.rounding import SMALLEST_NORMAL, SMALLEST_POSITIVE, inflate
from wane.numerics.search import largest_satisfying, smallest_satisfying

Real = TypeVar("Real", float, Array)

_SPLITTER = 134217729.0  # 2^27 + 1
_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
_DISTANT = 0.9  # R(y) below this share of R(x): the plain difference keeps all but one digit
_ROWS = 4096  # rows of a quadrature evaluated at once, to bound memory


def mills(x: Real) -> Real:
    """Return Mills' ratio R(x) = (1 - Phi(x))/phi(x), to the last digits.

    It overflows to infinity for x below about -37.
    """
    ratio: Real = special.erfcx(x * _ROOT_HALF) * _ROOT_HALF_PI
    return ratio


def mills_gap(x: float, mu: float) -> float:
    """Return R(x) - R(x + mu) for x >= -1 and mu > 0, relative error below 1e-14.

    It is the integral over t >= 0 of exp(-x t - t^2/2) (1 - exp(-mu t)), whose integrand is
    positive; the integral is used where the plain difference would lose digits.
    """
    above, below = float(mills(x)), float(mills(x + mu))
    if below <= _DISTANT * above:
        return above - below
    return float(_by_quadrature(np.array([x]), np.array([mu]))[0])


def mills_gaps(x: Array, mu: Array) -> Array:
    """Return `mills_gap` for one-dimensional arrays."""
    above, below = mills(x), mills(x + mu)
    gap = above - below
    close = below > _DISTANT * above
    gap[close] = _by_quadrature(x[close], mu[close])
    return gap


def _by_quadrature(x: Array, mu: Array) -> Array:
    """Return R(x) - R(x + mu) by Gauss-Legendre where the exponent is below 45.

    Called only when R(x + mu) is close to R(x): then mu t stays of order one on the whole range
    and the last factor has no boundary layer.
    """
    gap = np.empty_like(x)
    for start in range(0, x.size, _ROWS):
        rows = slice(start, start + _ROWS)
        cut = 90.0 / (x[rows] + np.sqrt(x[rows] ** 2 + 90.0))
        t = cut[:, None] * _NODES
        integrand = np.exp(-t * (x[rows, None] + 0.5 * t)) * -np.expm1(-mu[rows, None] * t)
        gap[rows] = cut * (integrand @ _WEIGHTS)
    return gap


MARGIN = 2e-13
"""Relative amount by which every delta is raised; ten times the largest error measured."""

LARGEST_MU = 1e15
"""From here on a can no longer be resolved; delta is 1, which is sound."""

_TINY_MU = 1e-150  # below, the residual of the division eps/mu could be subnormal
_UNDERFLOW = 50.0  # phi(50) < 1e-500
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_NEWTON_STEPS = 100


@overload
def gaussian_delta(epsilon: float, mu: float) -> float: ...
@overload
def gaussian_delta(epsilon: Array, mu: float | Array) -> Array: ...
@overload
def gaussian_delta(epsilon: float, mu: Array) -> Array: ...
def gaussian_delta(epsilon: float | Array, mu: float | Array) -> float | Array:
    """Return delta of `mu`-Gaussian DP at `epsilon`: never below the truth, at most 1e-12 above.

    Positive values that underflow become the smallest positive double: zero means mu = 0.
    """
    if np.ndim(epsilon) == 0 and np.ndim(mu) == 0:
        return _scalar_delta(_checked(float(epsilon), "epsilon"), _checked(float(mu), "mu"))
    return _array_delta(
        *np.broadcast_arrays(_checked_all(epsilon, "epsilon"), _checked_all(mu, "mu"))
    )


def gaussian_epsilon(delta: float, mu: float) -> float:
    """Return the smallest epsilon with `gaussian_delta(epsilon, mu) <= delta`, which holds for it.

    Infinite if delta is zero and mu is not, or if the float range ends first.
    """
    delta, mu = _checked(delta, "delta"), _checked(mu, "mu")
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    if delta == 0.0 or mu >= LARGEST_MU:
        return math.inf
    if mu < _TINY_MU:
        return smallest_satisfying(lambda epsilon: gaussian_delta(epsilon, mu) <= delta, 0.0)
    # ln delta is concave in epsilon (a log-concave tail convolved with an exponential), so
    # Newton's method started above the root, where already Phi(a) = delta, descends to it.
    goal = math.log(delta) - 1.01 * MARGIN
    epsilon = max(mu * (0.5 * mu - float(special.ndtri(delta))), SMALLEST_POSITIVE)
    for _ in range(_NEWTON_STEPS):
        here = log_profile(epsilon, mu)
        step = (here.log_delta - goal) / here.by_epsilon
        following = epsilon - step
        if not following > 0.0:
            following = 0.5 * epsilon
        if abs(following - epsilon) <= 2e-16 * epsilon:
            break
        epsilon = following
    nudge = math.ulp(epsilon)
    while gaussian_delta(epsilon, mu) > delta:
        epsilon, nudge = epsilon + nudge, 2.0 * nudge
    return epsilon


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu with `gaussian_delta(epsilon, mu) <= delta`, which holds for it.

    Infinite if delta >= 1 and zero if delta = 0; finite answers stop below `LARGEST_MU`.
    """
    epsilon, delta = _checked(epsilon, "epsilon"), _checked(delta, "delta")
    if delta >= 1.0:
        return math.inf
    if delta == 0.0:
        return 0.0
    largest = math.nextafter(LARGEST_MU, 0.0)
    if gaussian_delta(epsilon, largest) <= delta:
        return largest
    low = _least_possible_mu(epsilon, delta)
    if low < _TINY_MU:
        return largest_satisfying(lambda mu: gaussian_delta(epsilon, mu) <= delta, 0.0, largest)
    mu = _newton_mu(epsilon, delta, low)
    nudge = math.ulp(mu)
    while mu > 0.0 and gaussian_delta(epsilon, mu) > delta:
        mu, nudge = max(mu - nudge, 0.0), 2.0 * nudge
    return mu


def _least_possible_mu(epsilon: float, delta: float) -> float:
    """Return a lower bound: delta(eps, mu) is at most Phi(a) and at most delta(0, mu)."""
    quantile = float(special.ndtri(delta))
    root = math.hypot(quantile, math.sqrt(2.0 * epsilon))
    by_tail = quantile + root if quantile >= 0.0 else 2.0 * epsilon / (root - quantile)
    return max(by_tail, math.sqrt(8.0) * float(special.erfinv(delta)))


def _newton_mu(epsilon: float, delta: float, low: float) -> float:
    """Return mu by safeguarded Newton on ln delta against ln mu, upwards from a lower bound."""
    goal = math.log(delta) - 1.01 * MARGIN
    mu = low
    high = LARGEST_MU
    for _ in range(_NEWTON_STEPS):
        here = log_profile(epsilon, mu)
        if here.log_delta <= goal:
            low = mu
        else:
            high = mu
        slope = mu * here.by_mu
        step = (goal - here.log_delta) / slope if slope > 0.0 else -math.inf
        following = mu * math.exp(min(step, 2.0))
        if not low < following < high:
            following = math.sqrt(low) * math.sqrt(high)
        if abs(following - mu) <= 2e-16 * mu or high <= math.nextafter(low, math.inf):
            break
        mu = following
    return mu


def gaussian_tradeoff(type_i: float, mu: float) -> float:
    """Return the type II error of the best test between N(0,1) and N(mu,1), never too large."""
    if type_i >= 1.0 or mu >= LARGEST_MU:
        return 0.0
    if type_i <= 0.0:
        return 1.0
    # Near one the complement of the power has more digits.
    by_power = math.nextafter(1.0 - gaussian_power(type_i, mu), 0.0)
    missed = _shifted_probability(-float(special.ndtri(type_i)), -mu, -MARGIN) if mu > 0.0 else 0.0
    return max(missed, by_power, 0.0)


def gaussian_power(false_positive_rate: float, mu: float) -> float:
    """Return the power of the best test between N(0,1) and N(mu,1), never too small."""
    if false_positive_rate >= 1.0 or mu >= LARGEST_MU:
        return 1.0
    if false_positive_rate <= 0.0 or mu == 0.0:
        return false_positive_rate
    rate = _shifted_probability(float(special.ndtri(false_positive_rate)), mu, MARGIN)
    # Below the smallest normal number Phi is returned as zero.
    return min(max(rate, SMALLEST_NORMAL), 1.0)


def _shifted_probability(quantile: float, shift: float, margin: float) -> float:
    """Return Phi(quantile + shift), moved by the possible error of the quantile itself."""
    point = quantile + shift
    # The quantile is good to a few units in the last place, and Phi'/Phi is at most 1 + |point|.
    doubt = margin * (1.0 + abs(quantile) + abs(shift)) * (1.0 + max(-point, 0.0))
    return float(special.ndtr(point)) * (1.0 + doubt)


class LogProfile(NamedTuple):
    """ln delta and its two partial derivatives at one point, finite far below the float range."""

    log_delta: float
    by_epsilon: float
    by_mu: float


def log_profile(epsilon: float, mu: float) -> LogProfile:
    """Return the logarithm of delta (neither raised nor rounded) and its slopes, for root finding.

    d delta / d epsilon = -phi(a) R(y) and d delta / d mu = phi(a).
    """
    high, low, square, square_error = _exponent(epsilon, mu)
    a = high + low
    if a > 1.0:
        density = math.exp(-square) / _ROOT_TWO_PI
        factor = float(_central(a, mu - a, density))
        log_delta = math.log(factor)
    else:
        density = 1.0 / _ROOT_TWO_PI
        factor = mills_gap(-a, mu) * density
        log_delta = math.log(factor) - square - square_error
    ratio = density / factor
    return LogProfile(log_delta, -ratio * float(mills(mu - a)), ratio)


def _exponent(epsilon: Real, mu: Real) -> tuple[Real, Real, Real, Real]:
    """Return the number a as a pair and a^2/2 as a pair."""
    quotient, quotient_error = divided(epsilon, mu)
    total, error = two_sum(0.5 * mu, -quotient)
    error = error - quotient_error
    square, square_error = squared(total, error)
    return total, error, 0.5 * square, 0.5 * square_error


def _scalar_delta(epsilon: float, mu: float) -> float:
    if mu == 0.0:
        return 0.0
    if mu >= LARGEST_MU:
        return 1.0
    if epsilon / mu - 0.5 * mu > _UNDERFLOW:
        return SMALLEST_POSITIVE
    if mu < _TINY_MU:
        # While mu is tiny, delta/mu depends on eps/mu only, so both may be scaled by a power of
        # two; mu/2 stays far below the last place of a.
        scaled = _scalar_delta(epsilon * 2.0**400, mu * 2.0**400)
        return scaled * 2.0**-400 + SMALLEST_POSITIVE
    high, low, square, square_error = _exponent(epsilon, mu)
    a = high + low
    density = math.exp(-square) * (1.0 - square_error) / _ROOT_TWO_PI
    value = float(_central(a, mu - a, density)) if a > 1.0 else density * mills_gap(-a, mu)
    return min(value * (1.0 + MARGIN) + SMALLEST_POSITIVE, 1.0)


def _array_delta(epsilon: Array, mu: Array) -> Array:
    """Return `_scalar_delta` of arrays, branch by branch with masks."""
    result = np.full(epsilon.shape, SMALLEST_POSITIVE)
    result[mu == 0.0] = 0.0
    result[mu >= LARGEST_MU] = 1.0
    for place in zip(*np.nonzero((mu > 0.0) & (mu < _TINY_MU)), strict=True):
        result[place] = _scalar_delta(float(epsilon[place]), float(mu[place]))
    regular = (mu >= _TINY_MU) & (mu < LARGEST_MU)
    # Compared as a product, because the quotient could overflow.
    capped = np.minimum(mu, LARGEST_MU)
    regular &= epsilon <= (0.5 * capped + _UNDERFLOW) * capped
    epsilon, mu = epsilon[regular], mu[regular]
    high, low, square, square_error = _exponent(epsilon, mu)
    a = high + low
    density = np.exp(-square) * (1.0 - square_error) / _ROOT_TWO_PI
    value = np.empty_like(a)
    inner = a > 1.0
    value[inner] = _central(a[inner], (mu - a)[inner], density[inner])
    outer = ~inner
    value[outer] = density[outer] * mills_gaps(-a[outer], mu[outer])
    result[regular] = np.minimum(value * (1.0 + MARGIN) + SMALLEST_POSITIVE, 1.0)
    return result


def _central(a: Real, y: Real, density: Real) -> Real:
    """Return Phi(a) - phi(a) R(y)."""
    probability: Real = special.ndtr(a)
    return probability - density * mills(y)


def _checked(value: float, name: str) -> float:
    if not value >= 0.0:
        raise InvalidDescription(f"{name} must be a number >= 0, got {value!r}")
    return value


def _checked_all(values: float | Array, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.all(array >= 0.0):
        raise InvalidDescription(f"{name} must hold only numbers >= 0, got {values!r}")
    return array


def gaussian_renyi(order: float, mu: float) -> float:
    """Return at least order * mu^2/2, and zero only for mu = 0 even where mu^2 underflows."""
    if mu == 0.0:
        return 0.0
    return inflate(max(0.5 * order * mu * mu, math.ulp(0.0)), 4e-16)


# Pairs (high, low) stand for the unevaluated sum high + low, about 106 bits.  The formulas use
# only + - * /, need no fused multiply-add, and stay exact as long as no intermediate overflows or
# becomes subnormal.


def two_sum(first: Real, second: Real) -> tuple[Real, Real]:
    """Return the rounded sum and its exact error (Knuth)."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def two_product(first: Real, second: Real) -> tuple[Real, Real]:
    """Return the rounded product and its exact error (Dekker, by Veltkamp splitting)."""
    first_high, first_low = _split(first)
    second_high, second_low = _split(second)
    product = first * second
    error = first_high * second_high - product
    error = error + first_high * second_low + first_low * second_high
    return product, error + first_low * second_low


def divided(numerator: Real, denominator: Real) -> tuple[Real, Real]:
    """Return the quotient of two doubles as a pair."""
    quotient = numerator / denominator
    product, error = two_product(quotient, denominator)
    return quotient, ((numerator - product) - error) / denominator


def squared(high: Real, low: Real) -> tuple[Real, Real]:
    """Return the square of a pair, as a pair."""
    product, error = two_product(high, high)
    return product, error + 2.0 * (high * low)


def _split(value: Real) -> tuple[Real, Real]:
    scaled = _SPLITTER * value
    high = scaled - (scaled - value)
    return high, value - high
