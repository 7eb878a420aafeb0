"""The worst Gaussian member found for full and cyclic batches.

The record is in one batch; every other record, and the batch order, is the same in both runs.
Short runs are searched step by step.  The head of a long run repeats one pattern, whose effect is
known in closed form: largest factors everywhere, and one factor, to be chosen, at each visit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wane.audit.members import (
    Curvatures,
    Factors,
    MemberSteps,
    factors,
    log_slope,
    may_travel,
    signs_are_free,
    steps_of,
)
from wane.audit.varying_factors import EMPTY_PATH, FactorPath, PathSoFar, worst_mu_squared
from wane.describe import EveryIterate, FullBatch, Iterates, LastIterate, NoisyDescent

SEARCHED = 1200
"""Steps at the end of a run that are searched one by one."""
FOLLOWED = 60_000
"""Longer runs are followed only if all but their first phase is short."""
POSITIONS, PLACES = 48, 100_000
"""Positions of the record that are tried, and steps of all of them together."""
CONSTANTS = 9
"""Curvatures tried where one must serve for all steps."""


def worst_fixed_order(run: NoisyDescent, allowed: Curvatures) -> float | None:
    """Return the largest exact mu found, or None if the run is too long to follow."""
    unlimited = math.isinf(allowed.high - allowed.low) and bool(run.plan.uses_records.all())
    if isinstance(run.release, EveryIterate) or (unlimited and may_travel(run.objective)):
        # where nothing limits the curvature, steep stretches can undo all hiding
        return math.sqrt(_every_visit(run))
    if may_travel(run.objective) or allowed.low == allowed.high:
        return _worst(run, allowed)
    top = min(allowed.high, 4.0 / float(np.min(run.plan.step_size)))
    tried = np.linspace(allowed.low, max(top, allowed.low), CONSTANTS).tolist()
    mus = [_worst(run, Curvatures(h, h)) for h in tried]
    return max((mu for mu in mus if mu is not None), default=None)


def _worst(run: NoisyDescent, allowed: Curvatures) -> float | None:
    if not signs_are_free(run, allowed):
        return None
    later = run.total_steps - int(run.plan.repeat[0])
    simple = isinstance(run.release, LastIterate) and bool(run.plan.uses_records[0])
    if run.total_steps > SEARCHED and simple and later <= SEARCHED:
        return _repeated(run, allowed, later)
    return _followed(run, allowed) if run.total_steps <= FOLLOWED else None


def _every_visit(run: NoisyDescent) -> float:
    """Return the squared mu when every visit is seen on its own, whatever the curvature."""
    assert run.gradient_sensitivity is not None
    period, data = run.steps_per_epoch, run.plan.uses_records
    counts, stds = run.plan.repeat[data], run.gradient_noise_stds[data]
    visits = counts // period  # at least; the record used last may have one more
    if len(counts) == 1 or period == 1:
        visits = -(-counts // period)
    return float(np.sum(visits * (run.gradient_sensitivity / stds) ** 2))


# ---- step by step --------------------------------------------------------------------------


def _followed(run: NoisyDescent, allowed: Curvatures) -> float:
    """Return the mu of a release that splits the run into stretches whose squared mus add up."""
    steps = steps_of(run, allowed)
    seen = run.release.steps if isinstance(run.release, Iterates) else ()
    ends = [0, *(s for s in seen if s < run.total_steps), run.total_steps]
    searched = max(SEARCHED // (len(ends) - 1), 20)
    guesses = {p: _value(steps, p, ends, 1) for p in _positions(run, steps)}
    last = int(steps.batch[steps.batch >= 0][-1])
    best = {last, *sorted(guesses, key=lambda p: -guesses[p])[:2]}
    return math.sqrt(max(_value(steps, p, ends, searched) for p in best))


def _positions(run: NoisyDescent, steps: MemberSteps) -> list[int]:
    """Return the batches used last, and some more."""
    half = max(1, min(POSITIONS, PLACES // len(steps.batch)) // 2)
    used = steps.batch[steps.batch >= 0]
    last = used[::-1][:half].tolist()
    spread = np.linspace(0, run.steps_per_epoch - 1, half).astype(int).tolist()
    return sorted(set(last) | set(spread))


def _value(steps: MemberSteps, position: int, ends: list[int], searched: int) -> float:
    total = 0.0
    for first, last in pairwise(ends):
        total += max(
            _stretch(steps, position, range(first, last), count)
            for count in {1, 20, searched}
            if count <= searched
        )
    return total


def _stretch(steps: MemberSteps, position: int, place: range, searched: int) -> float:
    """Return mu^2 with the last steps searched, the others by a rule; 0 if that overflows."""
    head = max(place.stop - searched, place.start)
    path = _path(steps, position, slice(head, place.stop))
    largest = 0.0
    for past in _pasts(_path(steps, position, slice(place.start, head))):
        try:
            largest = max(largest, worst_mu_squared(path, past))
        except ArithmeticError:
            continue
    return largest


def _path(steps: MemberSteps, position: int, part: slice) -> FactorPath:
    # cut first: of many stretches each is short, and all steps together are long
    shifts = np.where(steps.batch[part] == position, steps.shift[part], 0.0)
    return FactorPath(shifts, steps.noise_std[part], steps.low[part], steps.high[part])


def _pasts(path: FactorPath) -> Iterator[PathSoFar]:
    """Yield two rules: always the largest factor, or at visits one that keeps old shifts level."""
    if not len(path.shifts):
        yield EMPTY_PATH
        return
    columns = [c.tolist() for c in (path.shifts, path.noise_stds, path.low, path.high)]
    for level in (False, True):
        mean = variance = 0.0
        grown = 1.0
        for shift, noise, low, high in zip(*columns, strict=True):
            factor = high
            if level and shift > 0.0:
                factor, grown = min(max(1.0 / grown, low), high), 1.0
            else:
                grown = min(grown * high, 1e100)
            mean, variance = factor * mean + shift, factor * factor * variance + noise * noise
        if variance < math.inf:
            yield PathSoFar(mean, variance)


# ---- a first phase of any length -----------------------------------------------------------


@dataclass(frozen=True)
class _Pattern:
    """The equal steps at the start of a run."""

    sizes: Factors
    period: int
    shift: float
    noise_std: float

    def past(self, epochs: int, lead: int, at_visit: float) -> PathSoFar:
        """Return the law after `lead` steps, then `epochs` visits with their quiet steps."""
        c, l = self.sizes.log_high, self.period  # noqa: E741
        variance = self.noise_std**2
        quiet = variance * _geometric(2.0 * math.log(max(self.sizes.low, 1e-200)), lead)
        if epochs == 0:
            return PathSoFar(0.0, quiet)
        log_visit = math.log(max(at_visit, 1e-200))
        log_epoch = log_visit + (l - 1) * c
        first = math.exp(2.0 * (epochs - 1) * log_epoch + 2.0 * (l - 1) * c) * self.sizes.low**2
        return PathSoFar(
            self.shift * math.exp((l - 1) * c) * _geometric(log_epoch, epochs),
            variance * _geometric(2.0 * c, l) * _geometric(2.0 * log_epoch, epochs) + first * quiet,
        )

    def visit_factors(self) -> list[float]:
        """Return factors to try at visits: the largest, the one that keeps the level, more."""
        level = math.exp(min(-(self.period - 1) * self.sizes.log_high, 50.0))
        tried = [self.sizes.high, level, 1.0]
        return sorted({min(max(g, self.sizes.low), self.sizes.high) for g in tried})


def _geometric(log_ratio: float, count: int) -> float:
    """Return `sum_{i<count} ratio^i`; overflow is an ArithmeticError, as the caller expects."""
    if count == 0:
        return 0.0
    if log_ratio == 0.0:
        return float(count)
    return math.expm1(count * log_ratio) / math.expm1(log_ratio)


def _repeated(run: NoisyDescent, allowed: Curvatures, later: int) -> float | None:
    """Return mu for a long first phase: its head in closed form, its end and the rest by steps."""
    period, count = run.steps_per_epoch, int(run.plan.repeat[0])
    common: Curvatures | None = allowed
    if not isinstance(run.batches, FullBatch) and run.last_batch_size < run.batch_size:
        common = allowed.shared_with(allowed.times(run.last_batch_size / run.batch_size))
    if common is None:
        return None
    eta = float(run.plan.step_size[0])
    shrink = log_slope(run.domain, eta)
    assert run.gradient_sensitivity is not None and shrink is not None
    pattern = _Pattern(
        factors(common, eta, run.objective.ridge, shrink),
        period,
        eta * run.gradient_sensitivity,
        eta * float(run.gradient_noise_stds[0]),
    )
    epochs_searched = max(SEARCHED - later - 1, 0) // period
    visits = -(-count // period)
    searched_epochs = min(epochs_searched, visits - 1)
    head = count - 1 - searched_epochs * period  # the searched part starts with a visit
    epochs = visits - 1 - searched_epochs
    lead = head - epochs * period
    steps = steps_of(run, allowed, head)
    path = _path(steps, (count - 1) % period, slice(None))
    largest = 0.0
    for factor in pattern.visit_factors() if epochs else [1.0]:
        try:
            largest = max(largest, worst_mu_squared(path, pattern.past(epochs, lead, factor)))
        except ArithmeticError:  # such factors grow without bound
            continue
    return math.sqrt(largest)
