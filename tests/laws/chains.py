"""Exact last-iterate laws of noisy descent on an interval, sharing no code with wane.

The state is a law on [-r, r]: masses at Gauss-Legendre nodes between the places where drifts bend
or jump, and an atom at each end from the projection.  What is compared at the end is the release
rounded to cells, whose masses are exact: rounding can only hide something.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special, stats

from wane.describe import (
    Adjacency,
    Cyclic,
    FullBatch,
    GradientNoise,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import Box, Diameter

NODES = 64
CELLS = 1000
QUADRATURE = 1e-6
"""The oracle's own error, relative and absolute; a test compares it with twice the nodes."""


@cache
def gauss(nodes: int):
    """Gauss-Legendre nodes and weights; finding them costs more than using them."""
    return np.polynomial.legendre.leggauss(nodes)


@dataclass(frozen=True)
class Loss:
    """A scalar loss on [-r, r], what may be declared of it, and where its gradient bends."""

    name: str
    gradient: Any
    declared: dict
    kinks: tuple[float, ...] = (0.0,)


def losses(rng, r: float) -> list[Loss]:
    C = float(10 ** rng.uniform(-0.5, 0.5))
    M = C / r
    well = max(1.0, abs(3 * r * r - 1))
    top = max(2 / (3 * math.sqrt(3)), abs(r**3 - r))
    steep = float(rng.uniform(1.0, 6.0)) * M
    harmless: dict = {"dimension": 1} if rng.random() < 0.5 else {}
    return [
        Loss("abs", lambda x: C * np.sign(x), {"gradient_bound": C, "strong_convexity": 0.0}),
        Loss(
            "power",
            lambda x: C * np.sign(x) * np.sqrt(np.abs(x) / r),
            {
                "gradient_bound": C,
                "strong_convexity": 0.0,
                "holder_exponent": 0.5,
                "holder_constant": C * math.sqrt(2 / r),
                "holder_everywhere": bool(rng.random() < 0.5),
                "dimension": None if rng.random() < 0.5 else 1,
            },
        ),
        Loss(
            "quadratic",
            lambda x: M * x,
            {"gradient_bound": C, "smoothness": M, "strong_convexity": 0.0},
        ),
        Loss(
            "well",
            lambda x: C / top * (x**3 - x),
            {"gradient_bound": C, "smoothness": C / top * well},
        ),
        Loss(
            "rough",  # any bounded gradient, even a repelling one
            lambda x: C * np.sign(np.sin(7 * x / r)) * np.sign(x) * -1,
            {"gradient_bound": C},
            tuple(k * math.pi * r / 7 for k in range(-2, 3)),
        ),
        Loss(
            "clipped parabola",
            lambda x: np.clip(steep * x, -C, C),
            {
                "gradient_bound": C,
                "smoothness": steep,
                "strong_convexity": 0.0,
                "clipped": True,
                **harmless,
            },
            (-C / steep, 0.0, C / steep),
        ),
        Loss(
            "pseudo-Huber",
            lambda x: C * x / np.sqrt(r * r / 9 + x * x),
            {"gradient_bound": C, "smoothness": 3 * C / r, "strong_convexity": 0.0},
        ),
    ]


@dataclass(frozen=True)
class Chain:
    """A tiny data set: equal losses, and one record with gradient +C or -C (or 0)."""

    run: NoisyDescent
    loss: Loss
    radius: float
    nodes: int = NODES
    cells: int = CELLS

    @property
    def bound(self) -> float:
        return self.run.objective.gradient_bound

    def grid(self):
        kinks = {k for k in self.loss.kinks if -self.radius < k < self.radius}
        edges = sorted(kinks | {0.0, -self.radius, self.radius})
        points, weights = [], []
        for low, high in pairwise(edges):
            share = (high - low) / self.radius
            x, w = gauss(max(16, math.ceil(self.nodes * share)))
            points.append(low + (high - low) * (x + 1) / 2)
            weights.append((high - low) * w / 2)
        return np.concatenate(points), np.concatenate(weights)

    @property
    def states(self):
        """Nodes, then both ends."""
        return np.concatenate([self.grid()[0], [-self.radius, self.radius]])

    def _kernel(self, branches, phase: Phase, *, last: bool = False):
        """Masses after the step from each state; a branch is (chance, others, special sign)."""
        points, weights = self.grid()
        r, eta, b = self.radius, phase.step_size, self.run.batch_size
        std = eta * phase.noise.value
        states = self.states
        edges = np.linspace(-r, r, self.cells + 1)
        out = 0.0
        for chance, count, sign in branches:
            slope = (count * self.loss.gradient(states) + sign * self.bound) / b
            mean = states * (1 - eta * self.run.objective.ridge) - eta * slope
            if last:
                inner = np.diff(special.ndtr((edges - mean[:, None]) / std), axis=1)
            else:
                z = (points - mean[:, None]) / std
                inner = np.exp(-0.5 * z * z) / (std * math.sqrt(2 * math.pi)) * weights
            low, high = special.ndtr((-r - mean) / std), special.ndtr((mean - r) / std)
            out = out + chance * np.column_stack([inner, low, high])
        return out / out.sum(axis=1, keepdims=True)

    def branches(self, sign: float, *, used: bool = True):
        """What one step may be, on the data set whose special record has this sign."""
        n, b = self.run.records, self.run.batch_size
        q = b / n
        match self.run.batches:
            case Poisson():
                odds = stats.binom.pmf(np.arange(n), n - 1, q)
                return [
                    (p * w, k, s) for k, p in enumerate(odds) for w, s in ((1 - q, 0.0), (q, sign))
                ]
            case WithoutReplacement():
                return [(1 - q, b, 0.0), (q, b - 1, sign)]
            case Cyclic() | ShuffledOnce():
                return [(1.0, b - 1, sign)] if used else [(1.0, b, 0.0)]
        return [(1.0, n - 1, sign)]

    def _steps(self, position: int):
        """Each step's phase, and whether it uses the special record."""
        fixed, data = isinstance(self.run.batches, Cyclic | ShuffledOnce), 0
        for phase in self.run.plan:
            for _ in range(phase.repeat):
                used = not fixed or data % self.run.steps_per_epoch == position
                yield phase, used and not phase.cool_down
                data += not phase.cool_down

    def _law(self, sign: float, starts, position: int):
        made: dict = {}
        steps = list(self._steps(position))
        law = np.zeros((len(starts), len(self.states)))
        law[np.arange(len(starts)), starts] = 1.0
        for i, (phase, used) in enumerate(steps):
            last = i == len(steps) - 1
            key = (phase, used, last)
            if key not in made:
                quiet = [(1.0, 0, 0.0)] if phase.cool_down else self.branches(sign, used=used)
                made[key] = self._kernel(quiet, phase, last=last)
            law = law @ made[key]
        return law

    def laws_from(self, starts):
        """Both laws after all steps, a row for each start (an index into `states`).

        Cyclic runs use the special record in the last data step; secret orders average.
        """
        period, data = (
            self.run.steps_per_epoch,
            sum(p.repeat for p in self.run.plan if not p.cool_down),
        )
        positions = [(data - 1) % period]
        if isinstance(self.run.batches, ShuffledOnce):
            positions = list(range(period))
        signs = (1.0, 0.0 if self.run.adjacency is Adjacency.ZERO_OUT else -1.0)
        return tuple(
            sum(self._law(sign, starts, p) for p in positions) / len(positions) for sign in signs
        )

    def laws(self, start: float = 0.0):
        """Both laws from the node nearest to this start."""
        inner = self.grid()[0]
        nearest = [int(np.argmin(np.abs(inner - start)))]
        return [law[0] for law in self.laws_from(nearest)]


def renyi(p, q, order: float):
    """Cells too small for their digits to mean anything are merged, which only hides more."""
    small = (p < 1e-11) | (q < 1e-11)
    rest = [np.where(small, law, 0.0).sum(axis=-1) + 1e-13 for law in (p, q)]
    logs = [np.log(np.where(small, 1.0, law)) for law in (p, q)]
    terms = np.where(small, -np.inf, order * logs[0] + (1 - order) * logs[1])
    merged = order * np.log(rest[0]) + (1 - order) * np.log(rest[1])
    return np.logaddexp(special.logsumexp(terms, axis=-1), merged) / (order - 1)


def hockey_stick(p, q, epsilon: float):
    return np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0), axis=-1)


BATCHES = {
    "cyclic": Cyclic,
    "shuffled": ShuffledOnce,
    "poisson": Poisson,
    "fixed": WithoutReplacement,
}


def random_chain(rng, batches: str, kinds=None, *, phases: bool = False, **accuracy) -> Chain:
    r = float(10 ** rng.uniform(-0.5, 0.3))
    known = losses(rng, r)
    loss = known[int(rng.choice(kinds if kinds is not None else range(5)))]
    n = int(rng.integers(2, 7))
    b = n if batches == "full" else int(rng.integers(1, n))
    if batches in ("cyclic", "shuffled"):
        n = b * int(rng.integers(2, 4))
    C = loss.declared["gradient_bound"]
    eta = float(10 ** rng.uniform(-1.3, 0.6)) * r / C
    noise = float(10 ** rng.uniform(-0.9, 0.4)) * r / eta
    zero = rng.random() < 0.3
    timing: dict[str, Any] = {
        "steps": int(rng.choice([1, 2, 3, 5, 10, 30, 100])),
        "step_size": eta,
        "noise": GradientNoise(noise),
    }
    if phases:
        made = [Phase(int(rng.integers(1, 5)), eta, GradientNoise(noise))]
        for _ in range(int(rng.integers(1, 3))):
            slower, louder = rng.uniform(0.3, 1.0), rng.uniform(1.0, 4.0)
            cool = bool(rng.random() < 0.3)
            steps = int(rng.integers(1, 6))
            made.append(Phase(steps, eta * slower, GradientNoise(noise * louder), cool))
        timing = {"schedule": Schedule(made)}
    run = NoisyDescent(
        objective=Objective(**loss.declared, ridge=float(rng.choice([0.0, 0.2 / eta]))),
        records=n,
        **timing,
        batches=FullBatch() if batches == "full" else BATCHES[batches](b),
        domain=Diameter(2 * r) if rng.random() < 0.5 else Box(-r, r, dimension=1),
        adjacency=Adjacency.ZERO_OUT if zero else Adjacency.REPLACE_ONE,
    )
    return Chain(run, loss, r, **accuracy)
