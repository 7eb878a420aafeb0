"""The modulus programme: how two runs in a bounded set can be brought together, step by step.

Any plan of shifts that ends at distance zero is a proof.  Plans are looked for in doubles, by going
back from the end along the conditions of optimality; the one that is found is then followed
forwards in balls, and its cost there is an upper bound on mu^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from wane.describe import NoisyDescent
from wane.describe.schedule import Phase
from wane.verify.balls import as_float_up, ball, top
from wane.verify.steps import clip_keeps_gradient, gradient_constant, iterate_variance, sensitivity

Array = NDArray[np.float64]
Modulus = Callable[[Any], Any]
"""How far apart two points can be after a step, of how far they were; doubles or balls."""
MOST_STEPS = 6_000
PLANS = 64
ROUNDS = 7
TABLE = 20_000


@dataclass(frozen=True)
class Table:
    """A modulus at many distances, to look for plans with; nothing is claimed of it."""

    distance: Array
    value: Array
    slope: Array

    @classmethod
    def of(cls, modulus: Modulus, diameter: float) -> Table:
        """Tabulate up to the diameter."""
        distance = np.geomspace(1e-10 * diameter, diameter, TABLE)
        value = np.asarray(modulus(distance))
        return cls(distance, value, np.gradient(value, distance))

    @property
    def farthest(self) -> float:
        """The modulus of the diameter."""
        return float(self.value[-1])

    def before(self, reached: Array) -> tuple[Array, Array]:
        """Where the modulus takes these values, and its slope there; NaN if nowhere."""
        found = np.interp(reached, self.value, self.distance, left=math.nan)
        return found, np.interp(found, self.distance, self.slope)


@dataclass(frozen=True)
class Step:
    """One step: its modulus as a table and in balls, the record's shift, the noise's variance."""

    rough: Table
    exact: Modulus
    shift: arb
    variance: arb


def plan_cost(run: NoisyDescent, limit: float) -> arb | None:
    """The cost of the best plan found; None if no modulus is known, or no plan below the limit."""
    known: dict[int, tuple[Table, Modulus] | None] = {}
    steps: list[Step] = []
    for phase, number, visited in _backwards(run):
        if number not in known:
            known[number] = moduli(run, phase)
        pair = known[number]
        if pair is None:
            return None
        shift = ball(phase.step_size) * sensitivity(run) if visited else arb(0)
        steps.append(Step(*pair, shift, iterate_variance(run, phase)))
    found: arb | None = None
    worse = 0
    for start, paid in _ends(steps):
        cost = _planned(steps[start:], run.domain.diameter, limit)
        whole = None if cost is None else top(cost + paid)
        if whole is not None and (found is None or whole < found):
            found, worse = whole, 0
        elif (worse := worse + 1) == 2:
            break
    return found


def _ends(steps: list[Step]) -> Iterator[tuple[int, arb]]:
    """Where the runs may meet: at the end, or before one of the last visits, each then paid."""
    yield 0, arb(0)
    paid = arb(0)
    for i, step in enumerate(steps[:-1]):
        if step.shift > 0:
            paid += step.shift * step.shift / step.variance
            yield i + 1, paid


def _planned(steps: list[Step], diameter: float, limit: float) -> arb | None:
    plan = _best_plan(steps, limit)
    return None if plan is None else _followed(steps, plan, ball(diameter))


def _backwards(run: NoisyDescent) -> Iterator[tuple[Phase, int, bool]]:
    """The last steps, the last first: phase, its number, whether the worst record is used."""
    phases, given, used = list(run.plan), 0, 0
    period = run.steps_per_epoch
    for number in range(len(phases) - 1, -1, -1):
        for _ in range(min(phases[number].repeat, MOST_STEPS)):
            if given == MOST_STEPS:
                return
            cool = phases[number].cool_down
            yield phases[number], number, not cool and used % period == 0
            used += not cool
            given += 1


def moduli(run: NoisyDescent, phase: Phase) -> tuple[Table, Modulus] | None:
    """The least modulus that the description allows, as a table and in balls."""
    exact = _rows(run, phase, ball)
    rough = _rows(run, phase, float)
    if not exact:
        return None

    def in_doubles(distance: Any) -> Any:
        return np.minimum.reduce([row(distance) for row in rough])

    def in_balls(distance: arb) -> arb:
        found: arb = exact[0](distance)
        for row in exact[1:]:
            found = found.min(row(distance))
        return found

    with np.errstate(all="ignore"):
        return Table.of(in_doubles, run.domain.diameter), in_balls


def _rows(run: NoisyDescent, phase: Phase, number: Callable[[Any], Any]) -> list[Modulus]:
    """Every modulus that follows, with constants of the kind that `number` makes."""
    losses, eta = run.objective, number(phase.step_size)
    p, H = losses.holder_exponent, losses.holder_constant
    smooth = [M for M in (losses.smoothness, H if p == 1.0 else None) if M is not None]
    made: list[Modulus] = []
    if smooth or phase.cool_down:
        whole = replace(run, objective=replace(losses, smoothness=_consistent(losses, smooth)))
        found = top(gradient_constant(whole, phase))
        made.append(_linear(found if number is ball else as_float_up(found)))
    shrink = 1 - eta * number(losses.ridge)
    if phase.cool_down or not shrink > 0:
        return made
    scale = eta / (run.batch_size * shrink)
    low, high = scale * run.last_batch_size, scale * run.batch_size
    C = losses.gradient_bound
    rows = _convex_rows(run, number, low, high) + _other_rows(run, number, high, smooth)
    if losses.dissipativity is not None and not losses.clipped and C is not None:
        lam, kappa = map(number, losses.dissipativity)
        pull = _largest(1 - 2 * low * kappa, 1 - 2 * high * kappa)
        rows.append(_affine(pull, 2 * high * lam + (2 * high * number(C)) ** 2))
        for M in smooth:
            ends = [1 - 2 * e * kappa + (e * number(M)) ** 2 for e in (low, high)]
            rows.append(_affine(_largest(*ends), 2 * high * lam))
    return made + [_scaled(row, shrink) for row in rows]


def _consistent(losses: Any, smooth: list[float]) -> float | None:
    """The least smoothness that does not contradict the declared strong convexity."""
    least = min(smooth, default=None)
    m = losses.strong_convexity
    return least if least is None or m is None else max(least, m)


def _convex_rows(
    run: NoisyDescent, number: Callable[[Any], Any], low: Any, high: Any
) -> list[Modulus]:
    losses = run.objective
    m, p, H, C = (
        losses.strong_convexity,
        losses.holder_exponent,
        losses.holder_constant,
        losses.gradient_bound,
    )
    if m is None or m < 0 or (losses.clipped and not clip_keeps_gradient(losses)) or C is None:
        return []
    jump = 2 * high * number(C)
    made = [_affine(number(1.0), jump * jump)]
    if m > 0 and not losses.clipped:
        made.append(_affine(1 - 2 * low * number(m), jump * jump))
    if p is not None and H is not None and H > 0 and p < 1:
        bend, power = high * number(H), number(p)
        made.append(lambda d: _root(d * d + _least(bend * d**power, jump) ** 2))
        everywhere = losses.holder_everywhere or losses.dimension == 1
        if p > 0 and everywhere and run.last_batch_size == run.batch_size:
            made.append(_refined(high, number(H), number(p), number(C)))
    return made


def _other_rows(
    run: NoisyDescent, number: Callable[[Any], Any], high: Any, smooth: list[float]
) -> list[Modulus]:
    losses = run.objective
    if losses.gradient_bound is None:
        return []
    jump = 2 * high * number(losses.gradient_bound)
    made: list[Modulus] = [lambda d: d + jump]
    for bound in smooth:
        made.append(_triangle(high * number(bound), number(1.0), jump))
    p, H = losses.holder_exponent, losses.holder_constant
    if p is not None and H is not None and p < 1:
        made.append(_triangle(high * number(H), number(p), jump))
    return made


def _linear(factor: Any) -> Modulus:
    return lambda d: factor * d


def _triangle(bend: Any, power: Any, jump: Any) -> Modulus:
    return lambda d: d + _least(bend * d**power, jump)


def _refined(e: Any, H: Any, p: Any, C: Any) -> Modulus:
    """Convex, gradient Hoelder on the whole space: co-coercivity of the change s of gradient."""

    def distance(d: Any) -> Any:
        s = _least(_least((e / 2) ** (p / (1 - p)) * H ** (1 / (1 - p)) + 0 * d, H * d**p), 2 * C)
        pull = 4 * e * p / (1 + p) * H ** (-1 / p) * s ** ((1 + p) / p)
        return _root(d * d + e * e * s * s - pull)

    return distance


def _affine(factor: Any, offset: Any) -> Modulus:
    kept = _largest(factor, 0 * factor)
    return lambda d: _root(kept * d * d + offset)


def _scaled(row: Modulus, shrink: Any) -> Modulus:
    return lambda d: shrink * row(d)


def _least(a: Any, b: Any) -> Any:
    return a.min(b) if isinstance(a, arb) else np.minimum(a, b)


def _largest(a: Any, b: Any) -> Any:
    return a.max(b) if isinstance(a, arb) else np.maximum(a, b)


def _root(a: Any) -> Any:
    return a.sqrt() if isinstance(a, arb) else np.sqrt(a)


def _best_plan(steps: list[Step], limit: float) -> list[float] | None:
    """Shifts from the last step back, or None."""
    first = float(steps[0].shift) or float(steps[0].variance) ** 0.5
    farthest = steps[0].rough.farthest + float(steps[0].shift)
    low, high = max(first * 1e-6, farthest * 1e-9), farthest
    with np.errstate(all="ignore"):
        lasts: Array = np.geomspace(low, high, PLANS)
        best = math.inf
        least = math.inf
        for _ in range(ROUNDS):
            costs = _shoot(steps, lasts, limit)
            place = int(np.argmin(costs))
            if not math.isfinite(costs[place]):
                return None
            if costs[place] < least:
                best, least = float(lasts[place]), float(costs[place])
            around = lasts[max(place - 1, 0)], lasts[min(place + 1, PLANS - 1)]
            lasts = np.linspace(*around, PLANS)
        plan: list[float] = []
        _shoot(steps, np.array([best]), math.inf, plan)
    return plan


def _shoot(steps: list[Step], lasts: Array, limit: float, plan: list[float] | None = None) -> Array:
    """Costs of the plans that end with these shifts, each optimal for the way it takes."""
    shift, after, cost = lasts.copy(), np.zeros_like(lasts), np.zeros_like(lasts)
    final = np.full_like(lasts, math.inf)
    for i, step in enumerate(steps):
        s, variance = float(step.shift), float(step.variance)
        reach = after + shift - s
        farthest = step.rough.farthest
        there = reach >= farthest
        needed = np.maximum(farthest + s - after, 0.0)
        final = np.where(there, np.minimum(final, cost + needed**2 / variance), final)
        if plan is not None:
            plan.append(float(needed[0] if there[0] else shift[0]))
        shift = np.where(there | (cost > min(float(np.min(final)), limit)), np.nan, shift)
        if not np.any(np.isfinite(shift)) or i + 1 == len(steps):
            break
        before, slope = step.rough.before(reach)
        cost = cost + shift**2 / variance
        shift = shift * slope * float(steps[i + 1].variance) / variance
        after = before
    return final


def _followed(steps: list[Step], plan: list[float], diameter: arb) -> arb:
    """The plan's cost in balls; whatever distance is left at the last step is removed there."""
    distance, cost = diameter, arb(0)
    for i in range(len(plan) - 1, -1, -1):
        step = steps[i]
        whole = top((step.exact(distance) if distance > 0 else arb(0)) + step.shift)
        taken = whole if i == 0 else ball(plan[i]).min(whole)
        cost += taken * taken / step.variance
        distance = top(whole - taken)
    return cost
