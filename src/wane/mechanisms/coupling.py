"""Privacy that grows along a chain of noisy Lipschitz maps applied after the data were used.

Two runs that start close and go through the same maps with fresh noise become hard to tell apart.
All bounds on Gaussian chains are exact Gaussian DP, attained by linear maps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.numerics.rounding import inflate
from wane.numerics.search import smallest_integer_satisfying
from wane.theorems.lemmas.noisy_chains import positive, scaled

_ROUNDING = 1e-13

SUM_TOLERANCE = 1e-12
"""How far the sum of given probabilities may be from one."""


def iterated_gaussian(sensitivity: float, first_std: float, second_std: float) -> GaussianDP:
    """Noise added twice is noise of the summed variance.

    Claim.  mu = sensitivity/sqrt(first_std^2 + second_std^2), exactly.
    """
    return lipschitz_gaussian(sensitivity, first_std, second_std, lipschitz=1.0)


def lipschitz_gaussian(
    sensitivity: float, first_std: float, second_std: float, *, lipschitz: float
) -> GaussianDP:
    """A Lipschitz map and more noise after a Gaussian release make it more private.

    Claim.  mu = sensitivity/sqrt(first_std^2 + (second_std/lipschitz)^2), attained by x -> L x.
    """
    first = arguments.real("first_std", first_std, least=0.0)
    second = arguments.real("second_std", second_std, least=0.0)
    slope = arguments.real("lipschitz", lipschitz, least=0.0)
    distance = arguments.real("sensitivity", sensitivity, least=0.0)
    if slope == 0.0 or distance == 0.0:
        return GaussianDP(0.0)
    total = math.hypot(first, second / slope)
    return GaussianDP(positive(distance / total) if total > 0.0 else math.inf)


def noisy_chain(distance: float, steps: Iterable[tuple[float, float]]) -> GaussianDP:
    """Runs that start a distance apart and go through the same noisy maps drift together.

    `steps` are pairs (lipschitz, noise_std) of x -> proj(map(x) + N(0, noise_std^2 I)).

    Claim.  mu^2 = distance^2/sum_k (noise_std_k/P_k)^2, P_k the product of the first k Lipschitz
    constants.  Constants above one are allowed.
    """
    apart = arguments.real("distance", distance, least=0.0)
    log_product, log_terms = 0.0, []
    for lipschitz, noise_std in steps:
        slope = arguments.real("lipschitz", lipschitz, least=0.0)
        std = arguments.real("noise_std", noise_std, least=0.0)
        if slope == 0.0:
            return GaussianDP(0.0)
        log_product += math.log(slope)
        if std > 0.0:
            log_terms.append(2.0 * (math.log(std) - log_product))
    if apart == 0.0:
        return GaussianDP(0.0)
    if not log_terms:
        return GaussianDP(math.inf)
    log_total = float(special.logsumexp(log_terms))
    # Errors of logarithms are relative errors of the result: allow for their number and size.
    doubt = 1e-15 * (len(log_terms) + abs(log_product) + abs(log_total) + 4.0)
    log_mu = math.log(apart) - 0.5 * log_total + doubt
    mu = math.inf if log_mu > 709.0 else math.exp(log_mu)
    return GaussianDP(positive(mu))


def per_index_sgd(
    steps_after: int, *, gradient_gap: float, noise_std: float, contraction: float
) -> GaussianDP:
    """A record used once, some steps before the end of noisy SGD, is hidden by those after it.

    Steps are x -> proj(x - eta (gradient + N(0, noise_std^2 I))) and are `contraction`-Lipschitz;
    `gradient_gap` bounds the distance between two records' gradients (at most twice their norm).

    Claim.  mu^2 = (G/s)^2 c^r (1 - c)/(1 - c^(r+1)), c = contraction^2, r = steps_after.
    """
    gap = arguments.real("gradient_gap", gradient_gap, least=0.0)
    std = arguments.real("noise_std", noise_std, above=0.0)
    slope = arguments.real("contraction", contraction, least=0.0)
    after = arguments.whole("steps_after", steps_after, least=0)
    if gap == 0.0 or (slope == 0.0 and after > 0):
        return GaussianDP(0.0)
    if after == 0:
        return GaussianDP(positive(gap / std))
    return scaled(gap / std, 2.0 * math.log(slope), after, after + 1)


def public_steps_needed(
    *, mu: float, gradient_gap: float, noise_std: float, contraction: float
) -> int:
    """How many noisy steps on public data hide the last private record to this mu.

    The closed form is only the start of a search: the number returned meets the target.
    """
    target = arguments.real("mu", mu, above=0.0)
    slope = arguments.real("contraction", contraction, least=0.0)

    def reached(steps: int) -> bool:
        found = per_index_sgd(
            steps, gradient_gap=gradient_gap, noise_std=noise_std, contraction=slope
        )
        if slope == 1.0:  # (G/s)^2 <= mu^2 (steps + 1), often an equality: decided exactly
            reach = (Fraction(target) * Fraction(noise_std)) ** 2 * (steps + 1)
            return Fraction(gradient_gap) ** 2 <= reach
        return found.mu <= target

    if reached(0):
        return 0
    if slope > 1.0:
        floor = math.sqrt(slope * slope - 1.0) / slope * (gradient_gap / noise_std)
        if floor >= target:
            raise InvalidDescription(
                f"mu must exceed {floor:g}, which no number of steps goes below for contraction "
                f"{slope:g}, got {target:g}."
            )
    return smallest_integer_satisfying(reached, 1)


def coupled_renyi(
    order: float, *, first: ArrayLike, second: ArrayLike, coupling: ArrayLike, kernel: ArrayLike
) -> float:
    """A bound on the divergence after a finite kernel, through a law in between.

    `coupling[i, j]` couples the law in between (rows) with `first` (columns).

    Claim.  R(first K || second K) <= R(between || second)
            + max over x with second(x) > 0 of R(law of K given between = x || K(x)).
    Infinite unless the law in between is carried by `second`.
    """
    p, q = probabilities("first", first), probabilities("second", second)
    joint = probabilities("coupling", coupling)
    rows = probabilities("kernel", kernel, each_row=True)
    if p.shape != q.shape or joint.shape != (q.size, p.size) or rows.shape[:1] != p.shape:
        raise InvalidDescription("first, second, coupling and kernel must have matching shapes.")
    between = joint.sum(axis=1)
    if not np.allclose(joint.sum(axis=0), p, rtol=0.0, atol=SUM_TOLERANCE):
        raise InvalidDescription(
            f"coupling must have columns that sum to `first` within {SUM_TOLERANCE:g}."
        )
    if np.any((between > 0.0) & (q <= 0.0)):
        return math.inf
    places = np.flatnonzero(between > 0.0)
    moved = [joint[x] / between[x] @ rows for x in places]
    worst = max(_divergence_up(order, m, rows[x]) for m, x in zip(moved, places, strict=True))
    return _raised(_divergence_up(order, between, q) + worst)


def renyi_divergence(order: float, first: ArrayLike, second: ArrayLike) -> float:
    """The Renyi divergence of two finite distributions, to rounding."""
    order = arguments.real("order", order, above=1.0)
    p, q = probabilities("first", first), probabilities("second", second)
    if p.shape != q.shape:
        raise InvalidDescription(f"second must have shape {p.shape} like first, got {q.shape}.")
    if np.any((p > 0.0) & (q <= 0.0)):
        return math.inf
    both = p > 0.0
    # divided by their sums: what these lack of one would be divided by order - 1
    terms = order * np.log(p[both] / p.sum()) + (1.0 - order) * np.log(q[both] / q.sum())
    return max(0.0, float(special.logsumexp(terms)) / (order - 1.0))


def _divergence_up(order: float, first: Array, second: Array) -> float:
    """`renyi_divergence`, and what rounding may have taken from it, which grows near order one."""
    found = renyi_divergence(order, first, second)
    both = (first > 0.0) & (second > 0.0)
    logs = np.abs(np.log(first[both])) + np.abs(np.log(second[both]))
    size = first.size + 8.0 + float(np.max(logs, initial=0.0))
    return found + 1e-15 * size * order / (order - 1.0)


def probabilities(name: str, values: ArrayLike, *, each_row: bool = False) -> Array:
    """The values as doubles, if they are probabilities that sum to one (or each row does)."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDescription(f"{name} must hold numbers in rows of equal length.") from None
    if found.ndim == 0 or found.size == 0 or not np.all((found >= 0.0) & (found <= 1.0)):
        raise InvalidDescription(f"{name} must hold probabilities between 0 and 1 only.")
    sums = found.sum(axis=-1) if each_row else found.sum()
    worst = float(np.max(np.abs(sums - 1.0)))
    if not worst <= SUM_TOLERANCE:
        raise InvalidDescription(
            f"{name} must {'have rows that ' if each_row else ''}sum to 1 within "
            f"{SUM_TOLERANCE:g}, got a sum that is {worst:.3g} away; divide by the sum."
        )
    return found


def _raised(value: float) -> float:
    return inflate(value, _ROUNDING)
