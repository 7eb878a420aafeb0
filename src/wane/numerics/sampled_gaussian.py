"""Renyi divergences of Gaussians sampled with a rate, by quadrature of a positive integrand.

Unit noise, shift mu, rate q.  With t = ln(P/Q) and s = order - 1,

    exp(s D) - 1 = integral of Q (e^(order t) - 1 - order (e^t - 1)),

whose integrand is never negative, so that nothing cancels even when D is 1e-20.  The trapezoidal
rule converges geometrically on the whole line: the integrand is analytic in a strip of width about
1/mu.  On a half-line, panels of that width are integrated by Gauss-Legendre rules instead.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.numerics.rounding import inflate

RELATIVE = 1e-10
"""Relative amount by which every divergence is raised; the quadrature is good to 1e-12."""

FLOOR = 1e-290
"""Smaller divergences are reported as this: below, squares of ln(P/Q) would underflow."""

LARGEST_MU = 40.0
"""Beyond it a bound by norms is nearly exact, and quadrature slow."""

_REACH = 12.0  # standard deviations kept beyond the outermost peak: exp(-72) is left out
_MOST_POINTS = 400_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def renyi_replace(order: float, rate: float, mu: float) -> float:
    """Return the divergence of (1-q) N(0,1) + q N(-mu,1) from (1-q) N(0,1) + q N(mu,1), raised.

    The pair is its own mirror image, so both directions agree.
    """
    grid = _grid(-order * mu - _REACH, mu + _REACH, order, mu)
    if grid is None:
        shown = _moment_of_sampled(order, rate, mu) / (order - 1.0) - math.log1p(-rate)
        return min(_by_convexity(order, rate, 2.0 * mu), inflate(shown, RELATIVE))
    below = log_mixture(rate, -mu * grid - 0.5 * mu**2)
    above = log_mixture(rate, mu * grid - 0.5 * mu**2)
    return _on_grid(order, below - above, above - 0.5 * grid**2, grid)


def renyi_add_or_remove(order: float, rate: float, mu: float) -> float:
    """Return the larger direction of (1-q) N(0,1) + q N(mu,1) against N(0,1), raised."""
    grid = _grid(-_REACH, order * mu + _REACH, order, mu)
    if grid is None:
        shown = max(_moment_of_sampled(order, rate, mu) / (order - 1.0), -math.log1p(-rate))
        return min(_by_convexity(order, rate, mu), inflate(shown, RELATIVE))
    mixture = log_mixture(rate, mu * grid - 0.5 * mu**2)
    removed = _on_grid(order, mixture, -0.5 * grid**2, grid)
    left = _REACH + math.sqrt(-2.0 * order * math.log1p(-rate))
    grid = _grid(-left, mu + _REACH, order, mu)
    if grid is None:
        return max(removed, inflate(-math.log1p(-rate), RELATIVE))
    mixture = log_mixture(rate, mu * grid - 0.5 * mu**2)
    return max(removed, _on_grid(order, -mixture, mixture - 0.5 * grid**2, grid))


def renyi_fixed_size(order: float, rate: float, mu: float) -> float:
    """Return the divergence of the pair of batches of fixed size, raised.

    See docs/proofs/sampled-steps.md.

    With M = (1-q) N(0,1) + q N(mu,1): one law is M and the other N(0,1) beyond mu/2, their mirror
    image has the roles exchanged, and the rest is a common atom.  Both directions agree.
    """
    reach = (order - 0.5) * mu + _REACH
    panels = reach * max(2.0, mu * math.sqrt(order))
    if mu > LARGEST_MU or not len(_NODES) * panels < _MOST_POINTS:
        moment = _moment_of_sampled(order, rate, mu)
        # the other half of the pair adds q (order - 1) at most: its profile is that of the first
        both = float(np.logaddexp(moment, math.log(rate) + math.log(order - 1.0)))
        return min(_by_convexity(order, rate, mu), inflate(both / (order - 1.0), RELATIVE))
    edges = np.linspace(0.0, reach, math.ceil(panels) + 1)
    half = 0.5 * (edges[1] - edges[0])
    x = ((edges[:-1] + half)[:, None] + half * _NODES).ravel()
    shown = log_mixture(rate, mu * x)
    log_weights = -0.5 * (x + 0.5 * mu) ** 2 + np.tile(np.log(half * _WEIGHTS), len(edges) - 1)
    log_ratio = np.concatenate([shown, -shown, [0.0]])
    still = math.log(max(unmoved(rate, mu), np.finfo(float).tiny)) + 0.5 * math.log(2.0 * math.pi)
    return _divergence(
        order, log_ratio, np.concatenate([log_weights, log_weights + shown, [still]])
    )


def unmoved(rate: float, mu: float) -> float:
    """Return the mass (1-q) P(|N(0,1)| < mu/2) where the pair of fixed size reveals nothing."""
    return (1.0 - rate) * math.erf(mu / math.sqrt(8.0))


def _grid(low: float, high: float, order: float, mu: float) -> Array | None:
    """Return equally spaced points fine enough for the sharpest feature, or None if too many."""
    points = (high - low) * max(4.0, 2.0 * mu, mu * math.sqrt(order))
    if mu > LARGEST_MU or not points < _MOST_POINTS:
        return None
    return np.linspace(low, high, math.ceil(points) + 1)


def log_mixture(rate: float, exponent: Array) -> Array:
    """Return ln(1 - q + q e^u), without cancellation for small u or q, or overflow for large u."""
    moderate = np.log1p(rate * np.expm1(np.minimum(exponent, 30.0)))
    if np.all(exponent <= 30.0):
        return moderate
    large = np.logaddexp(math.log1p(-rate), math.log(rate) + exponent)
    return np.where(exponent <= 30.0, moderate, large)


def _on_grid(order: float, log_ratio: Array, log_density: Array, grid: Array) -> float:
    """Return the divergence from ln(P/Q) and ln Q (up to the Gaussian constant) on the grid."""
    return _divergence(order, log_ratio, log_density + math.log(float(grid[1] - grid[0])))


def _divergence(order: float, log_ratio: Array, log_weights: Array) -> float:
    """Return the divergence from ln(P/Q) and the log weights of Q times sqrt(2 pi)."""
    excess = order - 1.0
    log_constant = -0.5 * math.log(2.0 * math.pi)
    # The integrand is extreme either where the ratio is large or where it is small.
    if order * float(np.max(log_ratio)) > 600.0:
        log_total = float(special.logsumexp(order * log_ratio + log_weights)) + log_constant
        return inflate(max(log_total / excess, FLOOR), RELATIVE)
    weights = np.exp(log_weights + log_constant)
    total = float(np.sum(weights * _convex_gap(order, log_ratio)))
    return inflate(max(math.log1p(excess * total) / excess, FLOOR), RELATIVE)


def _convex_gap(order: float, t: Array) -> Array:
    """Return (e^(order t) - 1 - order (e^t - 1))/(order - 1), which is never negative."""
    excess = order - 1.0
    direct = np.exp(t) * (np.expm1(excess * t) / excess) - np.expm1(t)
    # Near t = 0 both terms agree to first order: sum the Taylor series, whose coefficients are
    # (order + order^2 + ... + order^(n-1))/n!.
    small = np.abs(order * t) < 0.02
    near = t[small]
    series = np.zeros_like(near)
    coefficient, power = 0.0, near.copy()
    for n in range(2, 10):
        coefficient += order ** (n - 1)
        power = power * near / n
        series += coefficient * power
    direct[small] = series
    return np.maximum(direct, 0.0)


def _moment_of_sampled(order: float, rate: float, mu: float) -> float:
    """Return a bound on ln E[(1 - q + q e^L)^order] under N(0,1), L the loss of N(mu,1).

    Minkowski's inequality: the norm of a sum is at most the sum of norms, 1 - q + q e^(s mu^2/2).
    With both laws at least (1-q) N(0,1), divergences the other way are at most -ln(1-q), and those
    of two sampled laws at most this moment's plus as much.  Nearly exact where mu is large.
    """
    exponent = (order - 1.0) * mu * mu / 2.0
    if math.isinf(order * exponent):
        return math.inf
    return order * float(log_mixture(rate, np.array([exponent]))[0])


def _by_convexity(order: float, rate: float, mu: float) -> float:
    """Return an upper bound for orders beyond quadrature: exp(s D) is jointly convex in the pair.

    Sampled or not is revealed: exp(s D) <= 1 - q + q exp(s order mu^2/2).
    """
    excess = order - 1.0
    if math.isinf(order * mu * mu):
        return math.inf
    exponent = excess * order * mu**2 / 2.0
    log_total = float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))
    return inflate(max(log_total / excess, FLOOR), RELATIVE)
