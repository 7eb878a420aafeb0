"""Exact privacy of tiny noisy descents on the line, from their steps alone.

A record is the pair (a, c) of its gradient a x + c, or None for the null record.  Nothing here
knows a theorem or a hypothesis: the law of what is released follows from step sizes, noise, batches
and the prox.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from scipy import optimize, special

from wane.describe import (
    Cyclic,
    EveryIterate,
    FullBatch,
    Iterates,
    LastIterate,
    NoisyDescent,
    Poisson,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)

Record = tuple[float, float] | None
Data = Sequence[Record]

CELLS = 501
MOST_SIGNS = 8
"""Of so many released iterates the signs are followed, which only hides."""
REACH = 9.0
"""Deviations of noise beyond the last point that are still on the grid."""
WIDE = 50.0
"""A box this wide, in units of what moves in it, is as good as the whole line."""


@dataclass(frozen=True)
class Gaussians:
    """Two normal laws of equal spread, mu deviations apart."""

    mu: float

    def delta(self, epsilon: float) -> float:
        if self.mu == 0.0 or math.isinf(self.mu):
            return float(self.mu > 0.0)
        half, over = self.mu / 2.0, epsilon / self.mu
        return float(special.ndtr(half - over) - math.exp(epsilon) * special.ndtr(-half - over))

    def renyi(self, order: float) -> float:
        return order * self.mu**2 / 2.0


@dataclass(frozen=True)
class Masses:
    """Two laws on finitely many cells; rounding to cells only hides."""

    first: np.ndarray
    second: np.ndarray

    def delta(self, epsilon: float) -> float:
        p, q, e = self.first, self.second, math.exp(epsilon)
        return float(max(np.maximum(p - e * q, 0).sum(), np.maximum(q - e * p, 0).sum()))

    def renyi(self, order: float) -> float:
        return max(_renyi(self.first, self.second, order), _renyi(self.second, self.first, order))


@dataclass(frozen=True)
class Repeated:
    """Independent looks at the same two laws; only their Renyi divergence is easily exact."""

    once: Masses
    times: int

    def delta(self, epsilon: float) -> float:
        return self.once.delta(epsilon)

    def renyi(self, order: float) -> float:
        return self.times * self.once.renyi(order)


Exact = Gaussians | Masses | Repeated


def _renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    here = (p > 1e-13) & (q > 1e-200)
    if not here.any():
        return math.inf
    logs = order * np.log(p[here]) + (1.0 - order) * np.log(q[here])
    return float(special.logsumexp(logs)) / (order - 1.0)


def exact_epsilon(law: Exact, delta: float) -> float:
    """The epsilon at which the exact delta is this one."""
    if law.delta(0.0) <= delta:
        return 0.0
    high = 1.0
    while law.delta(high) > delta:
        high *= 2.0
        if high > 600.0:
            return math.inf
    return float(optimize.brentq(lambda e: law.delta(e) - delta, 0.0, high, xtol=1e-12))


def exact(run: NoisyDescent, first: Data, second: Data) -> Exact | None:
    """What is released on the two data sets; None where this oracle cannot say."""
    fixed = isinstance(run.batches, FullBatch | Cyclic)
    if fixed and _linear(run) and _slopes(first) == _slopes(second):
        return Gaussians(_mu(run, first, second))
    if isinstance(run.release, EveryIterate):
        fresh = isinstance(run.batches, Poisson | WithoutReplacement)
        if fresh and _linear(run) and len(run.plan) == 1:
            return Repeated(_masses(_once(run), first, second), run.total_steps)
        return _masses(run, first, second) if run.total_steps <= MOST_SIGNS else None
    return _masses(run, first, second) if isinstance(run.release, LastIterate) else None


def _once(run: NoisyDescent) -> NoisyDescent:
    """One step of a run of equal steps whose increments are all seen."""
    phase = next(iter(run.plan))
    return replace(run, schedule=Schedule([replace(phase, repeat=1)]), release=LastIterate())


def _linear(run: NoisyDescent) -> bool:
    wide = run.domain.kind == "box" and run.domain.diameter >= 2.0 * WIDE
    return run.domain.kind == "unbounded" or wide


def _slopes(data: Data) -> set[float]:
    return {0.0 if record is None else record[0] for record in data}


def _batch(run: NoisyDescent, data: Data, visit: int) -> Data:
    if isinstance(run.batches, FullBatch):
        return data
    size = run.batches.size
    place = visit % -(-len(data) // size)
    return data[place * size : (place + 1) * size]


def _sum(batch: Data, divisor: int) -> tuple[float, float]:
    """Slope and intercept of the averaged gradient."""
    real = [record for record in batch if record is not None]
    return sum(r[0] for r in real) / divisor, sum(r[1] for r in real) / divisor


def _mu(run: NoisyDescent, first: Data, second: Data) -> float:
    """Of all released iterates together: a linear chain, and the apart of its means."""
    factors, shifts, stds, visit = [], [], [], 0
    for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        for _ in range(phase.repeat):
            slope = shift = 0.0
            if not phase.cool_down:
                sums = [_sum(_batch(run, d, visit), run.batch_size) for d in (first, second)]
                slope, shift = sums[0][0], sums[0][1] - sums[1][1]
                visit += 1
            factors.append(1.0 - phase.step_size * (slope + run.objective.ridge))
            shifts.append(-phase.step_size * shift)
            stds.append(phase.step_size * std)
    if isinstance(run.release, EveryIterate) and all(stds):  # then every increment is seen
        return math.sqrt(sum((u / std) ** 2 for u, std in zip(shifts, stds, strict=True)))
    seen = range(1, len(stds) + 1) if isinstance(run.release, EveryIterate) else [len(stds)]
    if isinstance(run.release, Iterates):
        seen = sorted({*run.release.steps, len(stds)})
    return _apart(np.array(factors), np.array(shifts), np.array(stds), list(seen))


def _apart(factors: np.ndarray, shifts: np.ndarray, stds: np.ndarray, seen: list[int]) -> float:
    steps = len(stds)
    carried = np.zeros((steps, steps))
    for last in range(steps):
        carried[last, last] = 1.0
        if last:
            carried[last, :last] = factors[last] * carried[last - 1, :last]
    rows = carried[np.array(seen) - 1]
    mean, spread = rows @ shifts, rows * stds
    covariance = spread @ spread.T
    solved = np.linalg.pinv(covariance, rcond=1e-12) @ mean
    if not np.allclose(covariance @ solved, mean, atol=1e-9):
        return math.inf  # something moves that no noise covers
    return math.sqrt(float(mean @ solved))


def _batches(run: NoisyDescent, data: Data) -> Iterator[tuple[float, list[Record]]]:
    """The fresh random batches of one step with their chances; equal records are counted."""
    kinds = Counter(data)
    poisson, size = isinstance(run.batches, Poisson), min(run.batches.size, len(data))
    q = run.batches.size / run.records
    for taken in product(*(range(count + 1) for count in kinds.values())):
        ways = math.prod(math.comb(n, k) for n, k in zip(kinds.values(), taken, strict=True))
        if poisson:
            chance = ways * q ** sum(taken) * (1.0 - q) ** (len(data) - sum(taken))
        else:
            chance = ways / math.comb(len(data), size) if sum(taken) == size else 0.0
        if chance > 1e-12:
            yield chance, [r for r, k in zip(kinds, taken, strict=True) for _ in range(k)]


def _masses(run: NoisyDescent, first: Data, second: Data) -> Masses:
    edges = _edges(run, [*first, *second])
    laws = [_law(run, data, edges) for data in (first, second)]
    if isinstance(run.release, EveryIterate):
        return Masses(*(law.sum(axis=1) for law in laws))
    centres = (edges[1:] + edges[:-1]) / 2.0
    states = _prox(run, centres, float(run.plan.step_size[-1]))
    _, same = np.unique(np.round(states, 10), return_inverse=True)
    return Masses(*(np.bincount(same, law[0]) for law in laws))


def _edges(run: NoisyDescent, records: Data) -> np.ndarray:
    spread = float(np.max(run.plan.step_size * run.gradient_noise_stds))
    steepest = max(abs(r[1]) for r in records if r is not None)
    push = float(np.max(run.plan.step_size)) * steepest * len(records) / 2 / run.batch_size
    kept = max(1.0 - float(np.min(run.plan.step_size)) * run.objective.ridge, 0.0)
    steps = run.total_steps if kept == 1.0 else min(run.total_steps, 1.0 / (1.0 - kept))
    if math.isfinite(run.domain.diameter):
        half = run.domain.diameter / 2.0 + push + REACH * spread
    else:
        half = steps * push + REACH * spread * math.sqrt(steps)
    return np.linspace(-half, half, CELLS + 1)


def _prox(run: NoisyDescent, points: np.ndarray, eta: float) -> np.ndarray:
    return np.asarray(run.domain.prox(points[:, None], eta))[:, 0]


def _law(run: NoisyDescent, data: Data, edges: np.ndarray) -> np.ndarray:
    """Of the last point before its prox, a row for each history of signs that is released."""
    orders = list(permutations(data)) if isinstance(run.batches, ShuffledOnce) else [data]
    known: dict[object, np.ndarray] = {}
    return np.asarray(sum(_follow(run, o, edges, known) for o in orders) / len(orders))


def _follow(
    run: NoisyDescent, data: Data, edges: np.ndarray, known: dict[object, np.ndarray]
) -> np.ndarray:
    centres = (edges[1:] + edges[:-1]) / 2.0
    law = np.zeros((1, len(centres)))
    law[0, len(centres) // 2] = 1.0  # the start is zero
    before: float | None = None
    for eta, std, choices in _turns(run, data):
        points = np.zeros_like(centres) if before is None else _prox(run, centres, before)
        new = np.zeros_like(law)
        for chance, batch in choices:
            slope, push = _sum(batch, run.batch_size)
            key = (slope, push, eta, std, before)
            if key not in known:
                pull = (slope + run.objective.ridge) * points + push
                # a last step without noise is looked at through cells, which only hides
                known[key] = _kernel(
                    points - eta * pull, max(eta * std, edges[1] - edges[0]), edges
                )
            new += chance * (law @ known[key])
        if isinstance(run.release, EveryIterate):
            new = np.concatenate([new * (centres < 0.0), new * (centres >= 0.0)])
        law, before = new, eta
    return law


def _turns(
    run: NoisyDescent, data: Data
) -> Iterator[tuple[float, float, list[tuple[float, list[Record]]]]]:
    """Step size, noise, and the batches that may come with their chances."""
    fixed, visit = isinstance(run.batches, FullBatch | Cyclic | ShuffledOnce), 0
    fresh = [] if fixed else list(_batches(run, data))
    for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        for _ in range(phase.repeat):
            choices: list[tuple[float, list[Record]]] = [(1.0, [])]
            if not phase.cool_down:
                choices = [(1.0, list(_batch(run, data, visit)))] if fixed else fresh
                visit += 1
            yield phase.step_size, std, choices


def _kernel(means: np.ndarray, std: float, edges: np.ndarray) -> np.ndarray:
    ends = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    z = (ends[None, :] - means[:, None]) / std
    low, high = z[:, :-1], z[:, 1:]
    flip = low > 0.0  # towards the nearer tail, so that small masses keep their digits
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return np.asarray(special.ndtr(high) - special.ndtr(low))
