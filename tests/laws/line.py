"""Exact laws of noisy descent on a line, from concrete losses; nothing of wane's theory here.

A law lives on Gauss-Legendre nodes between the places where a drift bends, and on an atom wherever
the prox maps an interval to one point.  A data set is a tuple of records, each the index of its
loss or None for a null record; how a batch is drawn from it is done here from scratch.  What is
released last is rounded to cells, what is released earlier to panels of nodes: rounding can only
hide something, so that the divergences are those of the exact laws or less, up to the quadrature.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, permutations, product

import numpy as np
from scipy import special, stats

QUADRATURE = 1e-6
"""The oracle's own error, relative and absolute; a test compares it with twice the nodes."""
DIVERGENCE = 1e-5
"""The same for Renyi divergences, which weigh small cells."""
TINY = 1e-12
MOST_NODES = 420


class TooFine(Exception):
    """The noise is too small for the nodes that are allowed."""


@cache
def gauss(nodes: int):
    return np.polynomial.legendre.leggauss(nodes)


@dataclass(frozen=True)
class Prox:
    """A prox on the line by its inverse: soft threshold, shrinkage, firm threshold, an interval."""

    low: float
    high: float
    threshold: float = 0.0
    shrink: float = 0.0
    firm: float = 0.0
    artificial: bool = False
    marks: tuple[float, ...] = ()
    """Places that are states of their own, to start from."""

    @property
    def levels(self) -> tuple[float, ...]:
        middle = (0.0,) if self.threshold else self.marks
        return (self.low, *middle, self.high)

    def inverse(self, x, eta: float):
        if self.firm:  # the minimax concave penalty: firm up to firm * threshold
            inner = np.abs(x) * (1 - eta / self.firm) + eta * self.threshold
            return np.where(np.abs(x) < self.firm * self.threshold, np.sign(x) * inner, x)
        return (1 + eta * self.shrink) * x + eta * self.threshold * np.sign(x)

    def stretch(self, x, eta: float):
        if self.firm:
            return np.where(np.abs(x) < self.firm * self.threshold, 1 - eta / self.firm, 1.0)
        return np.full(np.shape(x), 1 + eta * self.shrink)

    @property
    def breaks(self) -> tuple[float, ...]:
        edge = self.firm * self.threshold
        return (0.0, *((-edge, edge) if edge else ())) if self.threshold else ()


@dataclass(frozen=True)
class Steps:
    """So many equal steps: step size, deviation of the noise on the iterate, records or none."""

    repeat: int
    eta: float
    std: float
    cool_down: bool = False


def batch_draws(kind: str, data: tuple, size: int, rate: float):
    """All batches of one step as (probability, how many of each loss); null records drop out."""
    held = Counter(data)
    kinds = [k for k in held if k is not None]
    made: Counter = Counter()
    if kind == "poisson":
        odds = [stats.binom.pmf(np.arange(held[k] + 1), held[k], rate) for k in kinds]
        for counts in product(*(range(held[k] + 1) for k in kinds)):
            key = tuple(zip(kinds, counts, strict=True))
            made[key] += math.prod(o[c] for o, c in zip(odds, counts, strict=True))
    elif kind == "without-replacement":
        every = list(combinations(range(len(data)), min(size, len(data))))
        for chosen in every:
            counts = Counter(data[i] for i in chosen)
            made[tuple((k, counts[k]) for k in kinds)] += 1 / len(every)
    else:
        raise AssertionError(kind)
    return [(p, dict(key)) for key, p in made.items() if p > 0]


@dataclass(frozen=True)
class Line:
    """A described descent on the line, made concrete by losses; ask it for the law of a data set.

    The first `certain` phases have so little noise that every step ends at an end of the interval,
    but for a probability below 1e-18; the oracle follows them without a grid, and refuses others.
    """

    losses: tuple
    clip: float | None
    ridge: float
    prox: Prox
    plan: tuple[Steps, ...]
    kind: str
    records: int
    size: int
    seen: frozenset[int]
    certain: int = 0
    fineness: float = 1.0
    cells: int = 192

    @property
    def total(self) -> int:
        return sum(p.repeat for p in self.plan)

    def contribution(self, index, x):
        slope = self.losses[index].slope(x)
        return slope if self.clip is None else np.clip(slope, -self.clip, self.clip)

    def moved(self, counts: dict, x, phase: Steps):
        total = sum((c * self.contribution(i, x) for i, c in counts.items() if c), np.zeros_like(x))
        return x - phase.eta * (total / self.size + self.ridge * x)

    @cached_property
    def panels(self):
        """Ends of the panels: every break of a slope, of the prox, and some more."""
        low, high = self.prox.low, self.prox.high
        places = {low, high, *self.prox.breaks}
        fine = np.linspace(low, high, 4001)
        for loss in self.losses:
            places |= {k for k in getattr(loss, "breaks", ()) if low < k < high}
            if self.clip is not None:
                for sign in (1, -1):
                    over = np.flatnonzero(np.diff(loss.slope(fine) > sign * self.clip))
                    places |= {_crossing(loss, sign * self.clip, *fine[i : i + 2]) for i in over}
        if len(self.seen) > 1:
            places |= set(np.linspace(low, high, 6))
        ends = np.array(sorted(places))
        return ends[np.concatenate([[True], np.diff(ends) > 1e-9 * (high - low)])]

    @cached_property
    def grid(self):
        """Nodes, weights and panel of each node; finer where the noise is."""
        std = min(p.std for p in self.plan[self.certain :])
        x = np.linspace(self.prox.low, self.prox.high, 801)
        stretch = 1.0
        for phase in self.plan[self.certain :]:
            for loss in range(len(self.losses)):
                moved = self.moved({loss: self.size}, x, phase)
                stretch = max(stretch, float(np.max(np.abs(np.diff(moved) / np.diff(x)))))
        nodes, weights, panel = [], [], []
        for i, (a, b) in enumerate(zip(self.panels[:-1], self.panels[1:], strict=True)):
            count = 6 + math.ceil(2.2 * self.fineness * (b - a) * min(stretch, 3.0) / std)
            if count > MOST_NODES * self.fineness:
                raise TooFine
            at, w = gauss(count)
            nodes.append((a + b) / 2 + (b - a) / 2 * at)
            weights.append((b - a) / 2 * w)
            panel.append(np.full(count, i))
        made = [np.concatenate(part) for part in (nodes, weights, panel)]
        if len(made[0]) > MOST_NODES * self.fineness:
            raise TooFine
        return made

    @cached_property
    def states(self):
        return np.concatenate([self.grid[0], self.prox.levels])

    @cached_property
    def bins(self):
        """What a release before the end shows of a state: its panel, or its atom."""
        panel = self.grid[2]
        most = int(panel[-1]) + 1
        return np.concatenate([panel, most + np.arange(len(self.prox.levels))]).astype(int)

    @cached_property
    def edges(self):
        low, high = self.prox.low, self.prox.high
        inner = np.linspace(low, high, self.cells + 1)[1:-1]
        around = [level + s * TINY for level in self.prox.levels for s in (-1, 1)]
        return np.sort(np.concatenate([inner[np.abs(inner) > TINY], around[1:-1]]))

    def _spread(self, mean, phase: Steps, *, last: bool):
        if last:
            ends = np.concatenate([[-np.inf], self.prox.inverse(self.edges, phase.eta), [np.inf]])
            return _masses(mean, phase.std, ends)
        nodes, weights, _ = self.grid
        z = (self.prox.inverse(nodes, phase.eta) - mean[:, None]) / phase.std
        scale = weights * self.prox.stretch(nodes, phase.eta) / phase.std / math.sqrt(2 * math.pi)
        inner = np.exp(-0.5 * z * z) * scale
        atoms = []
        for level in self.prox.levels:
            ends = self.prox.inverse(np.array([level - TINY, level + TINY]), phase.eta)
            ends = np.array(
                [
                    -np.inf if level == self.prox.low else ends[0],
                    np.inf if level == self.prox.high else ends[1],
                ]
            )
            atoms.append(_masses(mean, phase.std, ends))
        return np.hstack([inner, *atoms])

    def _kernel(self, draws, phase: Steps, known: dict, *, last: bool):
        key = (tuple((p, tuple(c.items())) for p, c in draws), phase, last)
        if key not in known:
            made = 0.0
            for chance, counts in draws:
                made = made + chance * self._spread(
                    self.moved(counts, self.states, phase), phase, last=last
                )
            known[key] = made / made.sum(axis=1, keepdims=True)
        return known[key]

    def _fixed(self, data: tuple, step: int):
        """The batch of a fixed order, by the number of data steps before it."""
        if self.kind == "full":
            batch = data
        else:
            period = -(-self.records // self.size)
            first = (step % period) * self.size
            batch = data[first : first + self.size]
        counts = Counter(k for k in batch if k is not None)
        return [(1.0, dict(sorted(counts.items())))]

    def _law(self, data: tuple, starts, known: dict):
        """Masses of what is seen, a row for each start (an index into `states`)."""
        law = np.zeros((len(starts), 1, len(self.states)))
        law[np.arange(len(starts)), 0, starts] = 1.0
        step = used = 0
        for phase in self.plan[: self.certain]:
            for _ in range(phase.repeat):
                ((_, counts),) = self._draws(data, phase, used)
                starts = self._driven(starts, counts, phase)
                step, used = step + 1, used + (not phase.cool_down)
        law[:] = 0.0
        law[np.arange(len(starts)), 0, starts] = 1.0
        for phase in self.plan[self.certain :]:
            for _ in range(phase.repeat):
                step += 1
                draws = self._draws(data, phase, used)
                used += not phase.cool_down
                if step == self.total:
                    made = law @ self._kernel(draws, phase, known, last=True)
                    return made.reshape(len(starts), -1)
                law = law @ self._kernel(draws, phase, known, last=False)
                if step in self.seen:
                    shown = np.eye(int(self.bins.max()) + 1)[self.bins]
                    law = (law[:, :, None, :] * shown.T[None, None]).reshape(
                        len(starts), -1, len(self.states)
                    )
        raise AssertionError

    def _driven(self, starts, counts: dict, phase: Steps):
        """The ends to which a step without a doubt sends these states."""
        moved = self.moved(counts, self.states[starts], phase)
        low, high = self.prox.low - 9 * phase.std, self.prox.high + 9 * phase.std
        if not np.all((moved <= low) | (moved >= high)):
            raise TooFine
        ends = len(self.states) - np.array([len(self.prox.levels), 1])
        return np.where(moved >= high, ends[1], ends[0])

    def _draws(self, data: tuple, phase: Steps, used: int):
        if phase.cool_down:
            return [(1.0, {})]
        if self.kind in ("poisson", "without-replacement"):
            return batch_draws(self.kind, data, self.size, self.size / self.records)
        return self._fixed(data, used)

    def law(self, data: tuple, starts, known: dict | None = None):
        """The law of what is released, rounded; secret orders are averaged over."""
        known = {} if known is None else known
        if self.kind == "shuffled-once":
            orders = sorted(set(permutations(data)), key=str)
            return sum(self._law(order, starts, known) for order in orders) / len(orders)
        return self._law(data, starts, known)


def _masses(mean, std: float, ends):
    """Masses of normal laws between ends, towards the nearer tail: small ones keep their digits."""
    z = (ends[None, :] - mean[:, None]) / std
    low, high = z[:, :-1], z[:, 1:]
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return special.ndtr(high) - special.ndtr(low)


def _crossing(loss, level: float, a: float, b: float) -> float:
    """Where a slope crosses a level between two points, by halving."""
    above = loss.slope(np.array([a]))[0] > level
    for _ in range(60):
        middle = (a + b) / 2
        if (loss.slope(np.array([middle]))[0] > level) == above:
            a = middle
        else:
            b = middle
    return (a + b) / 2


def hockey_stick(p, q, epsilon: float):
    """The exact divergence of masses, both ways round, and the larger of the two."""
    scale = math.exp(epsilon)
    one = np.sum(np.maximum(p - scale * q, 0.0), axis=-1)
    two = np.sum(np.maximum(q - scale * p, 0.0), axis=-1)
    return np.maximum(one, two)


def renyi(p, q, order: float):
    """The larger of both ways; cells too small for their digits are merged, which only hides."""
    return np.maximum(_renyi(p, q, order), _renyi(q, p, order))


def _renyi(p, q, order: float):
    small = (p < 1e-8) | (q < 1e-8)
    rest = [np.where(small, law, 0.0).sum(axis=-1) + 1e-13 for law in (p, q)]
    logs = [np.log(np.where(small, 1.0, law)) for law in (p, q)]
    terms = np.where(small, -np.inf, order * logs[0] + (1 - order) * logs[1])
    merged = order * np.log(rest[0]) + (1 - order) * np.log(rest[1])
    return np.logaddexp(special.logsumexp(terms, axis=-1), merged) / (order - 1)
