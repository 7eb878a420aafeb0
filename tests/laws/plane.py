"""Exact laws of noisy descent on a square of the plane, where clipping may turn a gradient.

As on the line: nodes between the ends of each coordinate, atoms at the ends, and the noise of the
two coordinates is independent, so that a step's kernel is a product.  Batches are drawn as there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np

from laws.catalogue import CATALOGUE, Drawn
from laws.draw import BATCHES, SHAPES, Shape, declared, neighbours, sizes
from laws.line import Steps, _masses, batch_draws, gauss
from wane.describe import Adjacency, FullBatch, IterateNoise, NoisyDescent, Phase, Schedule
from wane.describe.domains import Box
from wane.errors import InvalidDescription

FAMILIES = ("turned_by_clipping", "products", "stacked_wells", "links_in_the_plane")
CELLS = 14


@dataclass(frozen=True)
class PlaneCase:
    """A description, two neighbouring data sets, and the exact laws of the last iterate."""

    shape: Shape
    family: str
    run: NoisyDescent
    drawn: Drawn
    plan: tuple[Steps, ...]
    records: int
    size: int
    first: tuple
    second: tuple
    starts: np.ndarray
    fineness: float = 1.0

    @property
    def count(self) -> int:
        return len(self.starts)

    @property
    def half(self) -> float:
        assert self.drawn.half_width is not None
        return self.drawn.half_width

    @cached_property
    def axis(self):
        """Nodes of one coordinate and their weights; the two ends come last, without weight."""
        std = min(p.std for p in self.plan)
        count = 8 + math.ceil(self.fineness * 4.4 * self.half / std)
        at, weights = gauss(count)
        return self.half * at, self.half * weights

    @cached_property
    def states(self):
        one = np.concatenate([self.axis[0], [-self.half, self.half]])
        return np.stack(np.meshgrid(one, one, indexing="ij"), axis=-1).reshape(-1, 2)

    def moved(self, counts: dict, phase: Steps):
        total = np.zeros_like(self.states)
        for index, count in counts.items():
            gradient = self.drawn.losses[index].gradient(self.states)
            if self.drawn.clip is not None:
                norm = np.linalg.norm(gradient, axis=1, keepdims=True)
                gradient = gradient * np.minimum(1.0, self.drawn.clip / np.maximum(norm, 1e-300))
            total = total + count * gradient
        ridge = self.run.objective.ridge
        return self.states - phase.eta * (total / self.size + ridge * self.states)

    def _spread(self, mean, phase: Steps, *, last: bool):
        if last:
            inner = np.linspace(-self.half, self.half, CELLS + 1)
            inner[0], inner[-1] = inner[0] * (1 - 1e-12), inner[-1] * (1 - 1e-12)
            return _masses(mean, phase.std, np.concatenate([[-np.inf], inner, [np.inf]]))
        nodes, weights = self.axis
        z = (nodes - mean[:, None]) / phase.std
        dense = np.exp(-0.5 * z * z) * weights / phase.std / math.sqrt(2 * math.pi)
        low = _masses(mean, phase.std, np.array([-np.inf, -self.half]))
        high = _masses(mean, phase.std, np.array([self.half, np.inf]))
        return np.hstack([dense, low, high])

    def _kernel(self, draws, phase: Steps, known: dict, *, last: bool):
        key = (tuple((p, tuple(c.items())) for p, c in draws), phase, last)
        if key not in known:
            made = 0.0
            for chance, counts in draws:
                mean = self.moved(counts, phase)
                x, y = (self._spread(mean[:, i], phase, last=last) for i in (0, 1))
                made = made + chance * (x[:, :, None] * y[:, None, :]).reshape(len(mean), -1)
            known[key] = made / made.sum(axis=1, keepdims=True)
        return known[key]

    def _draws(self, data: tuple, phase: Steps, used: int):
        if phase.cool_down:
            return [(1.0, {})]
        kind = self.shape.batches
        if kind in ("poisson", "without-replacement"):
            return batch_draws(kind, data, self.size, self.size / self.records)
        place = 0 if kind == "full" else (used % -(-self.records // self.size)) * self.size
        batch = data if kind == "full" else data[place : place + self.size]
        return [(1.0, dict(sorted(Counter(k for k in batch if k is not None).items())))]

    def _law(self, data: tuple, known: dict):
        law = np.zeros((len(self.starts), len(self.states)))
        law[np.arange(len(self.starts)), self.starts] = 1.0
        used, total = 0, sum(p.repeat for p in self.plan)
        for step, phase in enumerate(p for p in self.plan for _ in range(p.repeat)):
            draws = self._draws(data, phase, used)
            law = law @ self._kernel(draws, phase, known, last=step == total - 1)
            used += not phase.cool_down
        return law

    @cached_property
    def laws(self) -> tuple[np.ndarray, np.ndarray]:
        """Masses of what is released, a row for each start."""
        known: dict = {}
        return tuple(self._average(data, known) for data in (self.first, self.second))

    def _average(self, data: tuple, known: dict):
        if self.shape.batches != "shuffled-once":
            return self._law(data, known)
        orders = sorted(set(permutations(data)), key=str)
        return sum(self._law(order, known) for order in orders) / len(orders)


def plane_cases(rng: np.random.Generator) -> Iterator[PlaneCase]:
    """Draw for ever, hidden runs of all batches and adjacencies."""
    hidden = [s for s in SHAPES if s.release == "last" and s.schedule != "phases"]
    while True:
        made = draw_plane(rng, hidden[int(rng.integers(len(hidden)))], str(rng.choice(FAMILIES)))
        if made is not None:
            yield made


def draw_plane(rng, shape: Shape, family: str) -> PlaneCase | None:
    """One case of this shape, with any subset of the true constants declared."""
    drawn = CATALOGUE[family](rng)
    B = drawn.half_width or float(10 ** rng.uniform(-0.3, 0.5))
    drawn = replace(drawn, half_width=B)
    n, b = sizes(rng, shape)
    low, high = drawn.family.window
    corners = low + (high - low) * rng.random((200, 2))
    longest = max(np.max(np.linalg.norm(g.gradient(corners), axis=1)) for g in drawn.losses)
    size = min(float(longest), drawn.clip or math.inf)
    eta, std = (
        float(10 ** rng.uniform(-0.7, 0.6)) * B / size,
        B * float(10 ** rng.uniform(-0.6, 0.3)),
    )
    steps = int(rng.choice([1, 2, 3, 6]))
    plan: tuple[Steps, ...] = (Steps(steps, eta, std),)
    if shape.schedule == "two-phase":
        plan = (Steps(steps, eta, 0.25 * B), Steps(1, eta * float(rng.uniform(0.2, 1)), 2 * std))
    elif shape.schedule == "cool-down":
        plan = (Steps(steps, eta, std), Steps(1, eta, std, True))
    ridge = 0.0 if rng.random() < 0.6 else float(rng.uniform(0.02, 0.5)) / eta
    try:
        run = NoisyDescent(
            objective=replace(declared(rng, drawn, ridge), dimension=2),
            records=n,
            schedule=Schedule(
                Phase(p.repeat, p.eta, IterateNoise(p.std * (1 - 1e-12)), p.cool_down) for p in plan
            ),
            batches=FullBatch() if shape.batches == "full" else BATCHES[shape.batches](b),
            domain=Box(-B, B, dimension=2),
            adjacency=shape.adjacency,
        )
    except InvalidDescription:
        return None
    first, second = neighbours(rng, shape, n, len(drawn.losses))
    if shape.adjacency is Adjacency.REPLACE_ONE and len(drawn.losses) == 1:
        return None
    made = PlaneCase(shape, family, run, drawn, plan, n, b, first, second, np.array([0]))
    count = len(made.states)
    return replace(made, starts=np.unique([count - 1, *rng.integers(count, size=10)]))
