"""Exact members of a class on an interval, by the grid oracle, for bounded sets.

A set that allows one-dimensional losses is followed along its longest side.  The members are flat
or have one curvature in common, centred in the middle, and start in the middle or at an end.
"""

from __future__ import annotations

import math

import numpy as np

from wane.audit.interval_law import AffineStep, IntervalPair
from wane.audit.member_epsilon import SHAVE, GaussianLeak, GridLeak, Leak
from wane.audit.members import Curvatures, factors, may_travel
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    NoisyDescent,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import Ball, Box, Diameter, Domain, LOneBall

WIDEST = 150.0
"""Noise deviations a set may be wide to be gridded."""
LONGEST = 3_000
WORK = 6e8
"""Products of grid entries spent on one member."""
NODES_PER_STD = 10.0


def longest_side(domain: Domain) -> float | None:
    """Return the length of an interval that the set contains along one coordinate."""
    match domain:
        case Box():
            sides = np.atleast_1d(np.asarray(domain.upper) - np.asarray(domain.lower))
            return float(np.max(sides))
        case Ball() if domain.dimension in (None, 1):
            return 2.0 * domain.radius
        case LOneBall():
            return 2.0 * domain.radius
        case Diameter():
            return domain.diameter
    return None


def bounded_members(run: NoisyDescent, allowed: Curvatures) -> list[Leak]:
    """Return exact members on an interval; none if that would take too long."""
    side = longest_side(run.domain)
    if side is None or isinstance(run.batches, ShuffledOnce):
        return []
    if not isinstance(run.domain, Box) and run.objective.dimension not in (None, 1):
        return []
    if isinstance(run.release, EveryIterate):
        return []  # projected one by one: the last one alone says little
    if run.objective.ridge > 0.0 and not is_centred(run.domain):
        return []  # the ridge pulls to the origin, our members live around the middle
    if run.objective.clipped and (run.objective.strong_convexity or 0.0) > 0.0:
        return []  # gradients would be zero nowhere
    bends = [bend for bend in _bends(run, allowed) if _fits(run, side, bend)]
    if not bends:
        return []
    members = _inside(run, side, bends) if isinstance(run.batches, FullBatch | Cyclic) else []
    for bend in bends:
        for start in (0.0, -0.5 * side) if bend == bends[0] else (0.0,):
            member = _on_grid(run, side, bend, start)
            members += [] if member is None else [member]
    return members


def is_centred(domain: Domain) -> bool:
    """Return whether the middle of a box or ball is the origin, or the domain is neither."""
    match domain:
        case Box():
            return bool(np.all(np.asarray(domain.upper) + np.asarray(domain.lower) == 0.0))
        case Ball():
            return domain.center is None or not any(domain.center)
    return True


def _fits(run: NoisyDescent, side: float, bend: float) -> bool:
    """Return whether shared curvature and the record's own slope stay below the bound on gradients.

    A null record shares no curvature, so only flat members are computed there.
    """
    if bend == 0.0:
        return True
    if run.adjacency is not Adjacency.REPLACE_ONE:
        return False
    bound = run.objective.gradient_bound
    own = 0.5 * run.objective.difference
    return bound is None or 0.5 * abs(bend) * side + own <= bound


def _bends(run: NoisyDescent, allowed: Curvatures) -> list[float]:
    """Return the flattest curvature, no curvature, and a few more, as far as the class allows."""
    if run.objective.clipped:
        return [0.0]  # every gradient is at the bound, or zero
    if isinstance(run.batches, Poisson):
        return [0.0] if allowed.low <= 0.0 <= allowed.high else []  # sizes of batches vary
    top = min(allowed.high, 1.0 / float(np.max(run.plan.step_size)))
    tried = [allowed.low, 0.0, 0.25 * top] if math.isfinite(allowed.low) else [0.0]
    inside = {min(max(h, allowed.low), allowed.high) for h in tried}
    return sorted(inside)[:2] if may_travel(run.objective) else [max(allowed.low, 0.0)]


def _inside(run: NoisyDescent, side: float, bends: list[float]) -> list[Leak]:
    """Return members as if unbounded, from the middle, charging the risk of meeting an end."""
    if len(run.plan) > 1 or run.total_steps > 10**7:
        return []
    assert run.gradient_sensitivity is not None
    eta, std = float(run.plan.step_size[0]), float(run.gradient_noise_stds[0])
    period, steps = run.steps_per_epoch, run.plan.total
    visits = -(-steps // period)
    members: list[Leak] = []
    for bend in bends:
        sizes = factors(Curvatures(bend, bend), eta, run.objective.ridge, 0.0)
        partial = run.last_batch_size < run.batch_size and bend != 0.0
        if partial or sizes.log_high > 0.0 or eta * (bend + run.objective.ridge) > 1.0:
            continue
        c = sizes.log_high
        mean = _sum(period * c, visits) * eta * run.gradient_sensitivity
        variance = _sum(2.0 * c, steps) * (eta * std) ** 2
        share = 0.5 if run.adjacency is Adjacency.REPLACE_ONE else 1.0
        room = (0.5 * side - share * mean) / math.sqrt(variance)
        failure = _union(room, steps)
        if failure < 1e-3:
            members.append(GaussianLeak(mean / math.sqrt(variance) * SHAVE, failure))
    return members


def _sum(log_ratio: float, count: int) -> float:
    if log_ratio == 0.0:
        return float(count)
    return math.expm1(count * log_ratio) / math.expm1(log_ratio)


def _union(room: float, steps: int) -> float:
    """Return a bound for both ends over every step: no step's deviation exceeds the last one's."""
    return min(1.0, steps * math.erfc(room / math.sqrt(2.0))) if room > 0.0 else 1.0


def _on_grid(run: NoisyDescent, side: float, bend: float, start: float) -> Leak | None:
    stds = run.plan.step_size * run.gradient_noise_stds
    width = side / float(np.min(stds))
    entries = (NODES_PER_STD * width) ** 2
    if width > WIDEST or run.total_steps > LONGEST or entries * run.total_steps > WORK:
        return None
    assert run.gradient_sensitivity is not None
    if not math.isfinite(float(np.max(run.plan.step_size)) * run.gradient_sensitivity):
        return None  # beyond the doubles
    return GridLeak(IntervalPair(0.5 * side, _steps(run, bend), start))


def _steps(run: NoisyDescent, bend: float) -> list[tuple[AffineStep, AffineStep]]:
    """Return the steps of both runs; in fixed orders the record used last differs."""
    data = int(np.sum(run.plan.repeat[run.plan.uses_records]))
    position, done = (data - 1) % run.steps_per_epoch, 0
    sampled = isinstance(run.batches, Poisson | WithoutReplacement)
    pairs = []
    for row, phase in enumerate(run.plan):
        for _ in range(phase.repeat):
            batch = done % run.steps_per_epoch
            visited = not phase.cool_down and (sampled or batch == position)
            partial = batch == run.steps_per_epoch - 1 and not sampled
            fill = run.last_batch_size / run.batch_size if partial else 1.0
            bent = 0.0 if phase.cool_down else fill * bend
            keep = 1.0 - phase.step_size * (bent + run.objective.ridge)
            pairs.append(_step(run, row, keep, visited))
            done += not phase.cool_down
    return pairs


def _step(run: NoisyDescent, row: int, keep: float, visited: bool) -> tuple[AffineStep, AffineStep]:
    """Return one step of both runs; a sampled step may or may not draw the record."""
    assert run.gradient_sensitivity is not None
    eta = float(run.plan.step_size[row])
    std = eta * float(run.gradient_noise_stds[row])
    move = eta * run.gradient_sensitivity if visited else 0.0
    share = 0.5 if run.adjacency is Adjacency.REPLACE_ONE else 1.0
    sampled = isinstance(run.batches, Poisson | WithoutReplacement)
    rate = run.batch_size / run.records if sampled and visited else 1.0

    def one(shift: float) -> AffineStep:
        missed = ((1.0 - rate, 0.0),) if rate < 1.0 else ()
        return AffineStep(keep, ((rate, shift), *missed), std)

    return one(share * move), one((share - 1.0) * move)
