"""What stochastic post-processing does to a guarantee, given a coefficient of the kernel.

Four classical statements and the exact one that supersedes them.  Every result is raised by a few
units in the last place; coefficients must already be upper bounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from wane import arguments
from wane.numerics.normal import gaussian_delta
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate

SLACK = 2.0**-48
"""Relative amount by which results are raised: thirty-two roundings."""

LARGEST_MULTIPLIER = 1e300
"""Likelihood-ratio thresholds stop here; a lower threshold gives a larger, still true, delta."""


class ApproximateDP(NamedTuple):
    """One point (epsilon, delta) of a guarantee."""

    epsilon: float
    delta: float


def checked_target(epsilon: float, delta: float) -> ApproximateDP:
    """Refuse an (epsilon, delta) that is no guarantee."""
    return ApproximateDP(
        arguments.real("epsilon", epsilon, least=0.0),
        arguments.real("delta", delta, least=0.0, most=1.0),
    )


def by_dobrushin(coefficient: float, epsilon: float, delta: float) -> ApproximateDP:
    """A kernel that contracts total variation by g contracts delta by g."""
    before = checked_target(epsilon, delta)
    after = exact(_share(coefficient), before.delta)
    return ApproximateDP(before.epsilon, min(before.delta, after))


def by_doeblin(coefficient: float, epsilon: float, delta: float) -> ApproximateDP:
    """A kernel that forgets its input with probability 1 - g acts like sampling with rate g.

    Claim.  e' = log(1 + g (e^eps - 1)),  delta' = g (1 - e^(e' - eps) (1 - delta)).
    """
    before, g = checked_target(epsilon, delta), _share(coefficient)
    after = log_mixture(g, before.epsilon)
    # 1 - e^(e'-eps) (1-delta) = (1 - e^(e'-eps)) + e^(e'-eps) delta; the first term is
    # (1-g) (1 - e^-eps), which does not cancel.
    ratio = math.exp(after - before.epsilon)
    lost = (1.0 - g) * -math.expm1(-before.epsilon)
    found = exact(g, lost + product_up(ratio, before.delta))
    # An epsilon that is no smaller in double precision needs no delta beyond the one before.
    return ApproximateDP(after, found if after < before.epsilon else min(found, before.delta))


def by_ultra_mixing(coefficient: float, epsilon: float, delta: float) -> ApproximateDP:
    """A kernel whose likelihood ratios exceed 1 - g shrinks epsilon and delta together.

    Claim.  e' = log(1 + g (e^eps - 1)),  delta' = g delta e^(e' - eps).
    """
    before, g = checked_target(epsilon, delta), _share(coefficient)
    after = log_mixture(g, before.epsilon)
    smaller = product_up(before.delta, math.exp(after - before.epsilon))
    return ApproximateDP(after, min(before.delta, exact(g, smaller)))


def renyi_by_dobrushin(coefficient: float, order: float, divergence: float) -> float:
    """A kernel that contracts total variation by g shrinks Renyi divergences like sampling.

    Claim.  R' = log(1 + g (e^((order-1) R) - 1))/(order - 1).
    """
    order = arguments.real("order", order, above=1.0)
    divergence = arguments.real("divergence", divergence, least=0.0)
    share = _share(coefficient)
    if share == 0.0 or divergence == 0.0:
        return 0.0
    exponent = max((order - 1.0) * divergence, SMALLEST_POSITIVE)
    return _up(max(log_mixture(share, exponent) / (order - 1.0), SMALLEST_POSITIVE))


def pure_renyi(order: float, epsilon: float) -> float:
    """The largest Renyi divergence of an epsilon-private mechanism, randomised response's.

    Claim.  log((e^(a eps) + e^((1-a) eps))/(1 + e^eps))/(a - 1), a the order; at most eps.
    """
    order = arguments.real("order", order, above=1.0)
    if epsilon == 0.0 or math.isinf(epsilon):
        return epsilon
    # Divided by e^((1-a) eps) on top and bottom nothing overflows, and near order one, where the
    # numerator and the denominator agree, the bound eps is taken if it is the better one.
    top = order * epsilon + math.log1p(math.exp((1.0 - 2.0 * order) * epsilon))
    bottom = epsilon + math.log1p(math.exp(-epsilon))
    doubt = 4e-16 * (top + bottom + 1.0)
    return min(epsilon, _up(max((top - bottom + doubt) / (order - 1.0), SMALLEST_POSITIVE)))


def worst_profile(at: float, epsilon: float, delta: float) -> float:
    """The largest delta at another epsilon that an (epsilon, delta)-private mechanism can have.

    Claim.  delta for at >= eps, else delta + (1 - delta) (e^eps - e^at)/(1 + e^eps).
    """
    at = arguments.real("at", at, least=0.0)
    before = checked_target(epsilon, delta)
    if at >= before.epsilon:
        return before.delta
    extra = -math.expm1(at - before.epsilon) / (1.0 + math.exp(-before.epsilon))
    return min(1.0, _up(before.delta + (1.0 - before.delta) * extra))


def threshold(at: float, total: float) -> float:
    """The likelihood-ratio threshold 1 + (e^at - 1)/total of the exact formula, never above it."""
    if total <= 0.0:
        return LARGEST_MULTIPLIER
    # e^691 is above the largest multiplier, e^690 is not
    if at > 691.0 or math.log(max(math.expm1(at), SMALLEST_POSITIVE)) - math.log(total) > 691.0:
        return LARGEST_MULTIPLIER
    return max(1.0, (1.0 + math.expm1(at) / total) * (1.0 - SLACK))


def exact(total: float, coefficient: float) -> float:
    """Delta after the kernel: delta before, times the coefficient at the threshold of `total`."""
    return min(total, 1.0, product_up(total, coefficient))


def bounded_gaussian(
    at: float, *, epsilon: float, delta: float, diameter: float, noise_std: float
) -> float:
    """Clipping a private output to a set and adding Gaussian noise amplifies its privacy.

    Claim.  delta'(at) = Th * delta_gauss(log(1 + (e^at - 1)/Th); diameter/noise_std), with Th the
    delta before at `at`: the exact worst case over (epsilon, delta)-private mechanisms.
    """
    diameter = arguments.real("diameter", diameter, least=0.0)
    noise_std = arguments.real("noise_std", noise_std, above=0.0)
    total = worst_profile(at, epsilon, delta)
    if total == 0.0 or diameter == 0.0:
        return 0.0
    shifted = math.log(threshold(at, total)) * (1.0 - SLACK)
    mu = inflate(max(diameter / noise_std, SMALLEST_POSITIVE), SLACK)
    return exact(total, gaussian_delta(shifted, mu))


def chained(first: float, second_at_threshold: float) -> float:
    """The coefficient of two kernels in a row is at most their product, at moved thresholds.

    `first` is the coefficient of the first kernel at epsilon; the other is the coefficient of the
    second kernel at the multiplier `threshold(epsilon, first)`.
    """
    return exact(_share(first), _share(second_at_threshold))


def log_mixture(share: float, exponent: float) -> float:
    """log(1 - g + g e^x) for x >= 0, never below it and never above x."""
    if share == 0.0 or exponent == 0.0:
        return 0.0
    if exponent < 700.0:
        value = math.log1p(share * math.expm1(exponent))
    else:
        log_share = math.log(share)
        grown = log_share + exponent + 4e-16 * (exponent - log_share)  # raised: g e^x may be small
        value = max(grown, 0.0) + math.log1p(math.exp(-abs(grown)))
    return max(0.0, min(exponent, _up(max(value, SMALLEST_POSITIVE))))


def product_up(first: float, second: float) -> float:
    """The product of two non-negative numbers, raised; positive numbers keep it positive."""
    if first == 0.0 or second == 0.0:
        return 0.0
    return _up(max(first * second, SMALLEST_POSITIVE))


def power_up(base: float, times: int) -> float:
    """A number in [0, 1] to a positive power, raised; positive numbers keep it positive."""
    if base in (0.0, 1.0):
        return base
    exponent = times * math.log(base)
    if exponent < -740.0:
        return 1e-320
    return min(1.0, inflate(math.exp(exponent), SLACK - SLACK * exponent))


def _share(coefficient: float) -> float:
    return arguments.real("coefficient", coefficient, least=0.0, most=1.0)


def _up(value: float) -> float:
    return inflate(value, SLACK)
