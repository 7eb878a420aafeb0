"""The composed privacy losses of a recipe of steps, one account per direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from wane.guarantees.steps import (
    AccountStep,
    GaussianMixtureStep,
    GaussianStep,
    Pair,
    Recipe,
    SampledGaussianStep,
    normal_form,
)
from wane.numerics.composed_losses import ComposedLosses
from wane.numerics.discrete_losses import (
    MASS_MARGIN,
    DiscreteLosses,
    FixedSizeLoss,
    GaussianLoss,
    ReplacedLoss,
    SampledGaussianLoss,
    Step,
    always_seen,
    blend,
    connect_dots,
    loss_spread,
)
from wane.numerics.folding import folded
from wane.numerics.sampled_gaussian import unmoved

LARGEST_GAUSSIAN = 1e4
"""A mu beyond which a Gaussian step inside a numerical account counts as no privacy."""

LARGEST_SAMPLED = 100.0
"""A mu beyond which a sampled step counts as showing for certain whether the record took part."""

MOST_STEPS, MOST_DRAWS = 64, 256
"""Most different mus per kind of step, and per mixture; more are rounded up to a ladder."""

FOLDED, MOST_COARSE = 1 << 12, 11
"""Steps from which on folding is worth its while; the most doublings of the grid by one fold."""

_INTERVAL = 0.03  # of the standard deviation of one step's loss: adds 1.5e-4 to its variance
_FEWEST, _MOST = 2.0**15, 2.0**20  # intervals across the widest range of losses
_MOST_OF_SUM = 2.0**18  # and across that of the sum


@lru_cache(maxsize=4)  # certificates of one run ask for the same steps several times
def composed_losses(recipe: Recipe) -> tuple[ComposedLosses, ...] | None:
    """Return accounts whose largest delta holds, or None if the losses are too extreme."""
    recipe = normal_form(_coarsened(recipe))
    interval = _interval(recipe)
    if interval is None:
        return None
    one_sided = any(
        isinstance(atom, SampledGaussianStep) and atom.pair is Pair.ADD_OR_REMOVE
        for atom, _ in recipe
    )
    return tuple(
        ComposedLosses(
            [part for atom, count in recipe for part in _counted(atom, count, interval, way)],
            interval,
        )
        for way in ((False, True) if one_sided else (False,))
    )


def _counted(
    atom: AccountStep, count: int, interval: float, reverse: bool
) -> list[tuple[DiscreteLosses, int]]:
    """Return so many steps on dots; steps that are narrow against the interval are folded first."""
    plain = [(_dots(atom, interval, reverse), count)]
    spread = math.sqrt(sum(weight * loss_spread(step)[1] for step, weight in _steps(atom)))
    if count < FOLDED or not spread > 0.0:
        return plain
    coarse = 2 ** min(math.floor(math.log2(interval / (_INTERVAL * spread))), MOST_COARSE)
    while coarse > 1:
        times = min(coarse * coarse, count)
        fine = interval / coarse
        joined = folded(_dots(atom, fine, reverse), fine, times, coarse)
        if joined is not None:
            left = count % times
            return [(joined, count // times), *([(plain[0][0], left)] if left else [])]
        coarse //= 2
    return plain


def _interval(recipe: Recipe) -> float | None:
    """Return an interval that is fine for one step's loss and needs at most a million bins."""
    widest = variance = 0.0
    for atom, count in recipe:
        for step, weight in _steps(atom):
            extent, spread = loss_spread(step)
            widest, variance = max(widest, extent), variance + count * weight * spread
        if isinstance(atom, SampledGaussianStep) and atom.mu > LARGEST_SAMPLED:
            variance += count * math.log1p(-atom.rate) ** 2
    steps = sum(count for _, count in recipe)
    if not 1e-200 < variance < math.inf:
        return None
    width_of_sum = 20.0 * math.sqrt(variance)
    fine = min(_INTERVAL * math.sqrt(variance / steps), max(widest, width_of_sum) / _FEWEST)
    # where the sum is wide and one step is not, steps are folded: then a coarse grid is fine
    return max(fine, widest / _MOST, width_of_sum / _MOST_OF_SUM)


def _steps(atom: AccountStep) -> list[tuple[Step, float]]:
    """Return the losses an atom may have, in the direction of larger spread, with weights."""
    if isinstance(atom, GaussianStep):
        return [(GaussianLoss(atom.mu), 1.0)]
    if isinstance(atom, GaussianMixtureStep):
        drawn = zip(atom.mus, atom.weights, strict=True)
        return [(GaussianLoss(mu), weight) for mu, weight in drawn if 0.0 < mu <= LARGEST_GAUSSIAN]
    return [(_sampled(atom, False), 1.0)] if atom.mu <= LARGEST_SAMPLED else []


def _sampled(atom: SampledGaussianStep, reverse: bool) -> Step:
    if atom.pair is Pair.ADD_OR_REMOVE:
        return SampledGaussianLoss(atom.mu, atom.rate, reverse)
    mirrored: dict[Pair, Callable[[float, float], Step]] = {
        Pair.REPLACE: ReplacedLoss,
        Pair.FIXED_SIZE: FixedSizeLoss,
    }
    return mirrored[atom.pair](atom.mu, atom.rate)


def _dots(atom: AccountStep, interval: float, reverse: bool) -> DiscreteLosses:
    """Return the loss of one atom on dots."""
    if isinstance(atom, SampledGaussianStep):
        if atom.mu > LARGEST_SAMPLED:
            one_sided = atom.pair is Pair.ADD_OR_REMOVE
            return always_seen(atom.rate, interval, reverse and one_sided)
        moved = connect_dots(_sampled(atom, reverse), interval)
        if atom.pair is not Pair.FIXED_SIZE:
            return moved
        still = unmoved(atom.rate, atom.mu) * (1.0 + MASS_MARGIN)
        return blend([(moved, 1.0), (always_seen(0.0, interval, False), still)])
    if isinstance(atom, GaussianStep):
        return connect_dots(GaussianLoss(atom.mu), interval)
    parts = zip(atom.mus, atom.weights, strict=True)
    return blend([(_gaussian_dots(mu, interval), weight) for mu, weight in parts])


def _gaussian_dots(mu: float, interval: float) -> DiscreteLosses:
    if mu == 0.0:
        return always_seen(0.0, interval, False)
    if mu > LARGEST_GAUSSIAN:
        return always_seen(1.0, interval, False)
    return connect_dots(GaussianLoss(mu), interval)


def _coarsened(recipe: Recipe) -> Recipe:
    """Return the steps with fewer different mus, each rounded up, which is never more private."""
    sampled: dict[tuple[float, Pair], list[float]] = {}
    for atom, _ in recipe:
        if isinstance(atom, SampledGaussianStep):
            sampled.setdefault((atom.rate, atom.pair), []).append(atom.mu)
    ladders = {kind: _ladder(mus, MOST_STEPS) for kind, mus in sampled.items()}

    def coarse(atom: AccountStep) -> AccountStep:
        if isinstance(atom, SampledGaussianStep):
            return replace(atom, mu=ladders[atom.rate, atom.pair][atom.mu])
        if isinstance(atom, GaussianMixtureStep):
            ladder = _ladder(list(atom.mus), MOST_DRAWS)
            merged: dict[float, float] = {}
            for mu, weight in zip(atom.mus, atom.weights, strict=True):
                merged[ladder[mu]] = merged.get(ladder[mu], 0.0) + weight * (1.0 + 1e-15)
            return GaussianMixtureStep(tuple(merged), tuple(merged.values()))
        return atom

    return tuple((coarse(atom), count) for atom, count in recipe)


def _ladder(mus: list[float], most: int) -> dict[float, float]:
    """Return every mu with the value it is rounded up to: the largest mu of its rung."""
    distinct = sorted(set(mus))
    if len(distinct) <= most:
        return {mu: mu for mu in distinct}
    # Rungs far below the largest mu would be wasted: all of those share the lowest one.
    top = min(distinct[-1], 2.0 * LARGEST_GAUSSIAN)
    bottom = max(distinct[0], 1e-4 * top)
    width = math.log(top / bottom) / (most - 1)

    def rung(mu: float) -> int:
        return math.ceil(math.log(min(max(mu, bottom), top) / bottom) / width)

    # The last mu written to a rung is its largest.
    largest = {rung(mu): mu for mu in distinct}
    return {mu: largest[rung(mu)] for mu in distinct}
