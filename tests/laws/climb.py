"""Hill climbing over concrete losses, never over declared constants.

A point is a vector of numbers; it is turned into losses, data sets, a two-phase schedule and a
subset of the true constants, and its score is the quotient of exact to certified.  The climb looks
for the point at which a theorem comes closest to a false claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from laws.catalogue import Drawn, measured
from laws.draw import BATCHES, Case, Shape
from laws.line import Line, Prox, Steps, TooFine
from laws.loss_cases import LogCosh, Sum, Wave, line, parabola
from laws.soundness import SMALLEST, comparisons, verdict_of
from wane.describe import (
    Adjacency,
    FullBatch,
    IterateNoise,
    NoisyDescent,
    Objective,
    Phase,
    Schedule,
)
from wane.describe.domains import Box
from wane.errors import InvalidDescription
from wane.theorems.theorem import Applies, Theorem

GENES = 20
Score = Callable[[np.ndarray], float]


def climb(score: Score, genes: int, rng: np.random.Generator, evaluations: int) -> float:
    """The best score of a climb with restarts: steps grow after a success and shrink otherwise."""
    best, here, point, width = 0.0, -1.0, rng.normal(size=genes), 0.5
    for turn in range(evaluations):
        if turn % 40 == 0 and turn:
            here, point, width = -1.0, rng.normal(size=genes), 0.5
        some = rng.random(genes) < 0.4
        tried = (
            point + width * some * rng.normal(size=genes) if here >= 0 else rng.normal(size=genes)
        )
        value = score(tried)
        if value > here:
            here, point, width = value, tried, min(width * 1.3, 1.0)
        else:
            width = max(width * 0.93, 0.05)
        best = max(best, here)
    return best


def counted(score: Score, met: list[float]) -> Score:
    """The same score, which notes every point at which there was something to compare."""

    def noting(genes: np.ndarray) -> float:
        value = score(genes)
        if value > 0.0:
            met.append(value)
        return value

    return noting


class FromGenes:
    """A source of numbers for anything that draws, which takes them from a point instead."""

    def __init__(self, genes: np.ndarray):
        self._left = list(1 / (1 + np.exp(-np.asarray(genes, float))))

    def random(self) -> float:
        return float(self._left.pop(0)) if self._left else 0.5

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        return low + (high - low) * self.random()

    def integers(self, low: int, high: int | None = None, size: int | None = None):
        low, high = (0, low) if high is None else (low, high)
        made = [min(int(self.uniform(low, high)), high - 1) for _ in range(size or 1)]
        return made[0] if size is None else np.array(made, int)

    def choice(self, among, size: int | None = None):
        if size is not None:
            return np.random.default_rng(1).choice(among, size)
        return among[self.integers(len(among))]

    def permutation(self, count: int) -> np.ndarray:
        return np.argsort([self.random() for _ in range(count)])

    def normal(self, size: tuple[int, ...]) -> np.ndarray:
        """Many directions at once: the same ones at every point."""
        return np.random.default_rng(0).normal(size=size)


def _scale(gene: float, low: float, high: float) -> float:
    """A gene as a number between two, on a logarithmic scale."""
    return low * (high / low) ** (1 / (1 + math.exp(-gene)))


def _pick(gene: float, among):
    return among[int(len(among) / (1 + math.exp(-gene)) * (1 - 1e-9))]


USUAL = ("gradient_bound", "gradient_difference_bound", "smoothness", "strong_convexity")


def case_of(genes: np.ndarray, batches: str) -> Case | None:
    """Losses, data and run of a point; None if the oracle cannot resolve it."""
    g = iter(genes)
    B = 1.0
    bend, tilt = 2.0 * math.tanh(next(g)), _scale(next(g), 0.02, 3.0)
    wave = Wave(_scale(next(g), 1e-3, 0.5), _scale(next(g), 0.5, 4.0), next(g))
    soft = LogCosh(_scale(next(g), 1e-3, 1.0), _scale(next(g), 0.1, 2.0), math.tanh(next(g)))
    own = math.tanh(next(g)) * 0.5
    shared = (parabola(bend), wave, soft)
    losses = (
        Sum(shared),
        Sum((*shared, line(tilt), parabola(own))),
        Sum((*shared, line(-tilt), parabola(own))),
    )
    drawn = Drawn("climb", losses, B, {})
    n = {"full": 1, "shuffled-once": 2}.get(batches, 2) + int(abs(next(g)) > 1)
    b = n if batches == "full" else 1
    adjacency = _pick(next(g), list(Adjacency))
    if adjacency is Adjacency.ADD_REMOVE and batches not in ("full", "poisson"):
        adjacency = Adjacency.ZERO_OUT
    plan = (
        Steps(
            1 + int(abs(next(g)) * 5), _scale(next(g), 0.05, 2.0) / tilt, _scale(next(g), 0.07, 0.5)
        ),
        Steps(1 + int(abs(next(g))), _scale(next(g), 0.02, 2.0) / tilt, _scale(next(g), 0.2, 3.0)),
    )
    if next(g) > 1.0:
        plan = plan[1:]
    names = tuple(name for name in USUAL if next(g, 1.0) > -1.2)
    return _built(drawn, Shape(batches, adjacency, "last", "two-phase"), (n, b), plan, names)


def _built(drawn: Drawn, shape: Shape, sizes, plan, names) -> Case | None:
    (n, b), B = sizes, drawn.half_width
    others = (0,) * (n - 1)
    second = {
        Adjacency.REPLACE_ONE: (2, *others),
        Adjacency.ZERO_OUT: (None, *others),
        Adjacency.ADD_REMOVE: others,
    }[shape.adjacency]
    made = Line(
        losses=drawn.losses,
        clip=None,
        ridge=0.0,
        prox=Prox(-B, B),
        plan=plan,
        kind=shape.batches,
        records=n,
        size=b,
        seen=frozenset({sum(p.repeat for p in plan)}),
    )
    try:
        run = NoisyDescent(
            objective=Objective(**measured(drawn, names)),
            records=n,
            schedule=Schedule(Phase(p.repeat, p.eta, IterateNoise(p.std)) for p in plan),
            batches=FullBatch() if shape.batches == "full" else BATCHES[shape.batches](b),
            domain=Box(-B, B, dimension=1),
            adjacency=shape.adjacency,
        )
        size = len(made.states)
    except (InvalidDescription, TooFine):
        return None
    starts = np.unique([size - 2, size - 1, int(np.argmin(np.abs(made.grid[0]))), size // 4])
    return Case(shape, drawn.name, run, made, (1, *others), second, starts)


def descent_score(analysis: Theorem, batches: str) -> Score:
    """The score of the losses, data sets and schedule of a point."""
    return score_of(analysis, lambda genes: case_of(genes, batches))


def score_of(analysis: Theorem, case_at: Callable[[np.ndarray], Any]) -> Score:
    """The largest quotient of exact to certified; a false claim is reported by its run."""

    def score(genes: np.ndarray) -> float:
        case = case_at(genes)
        if case is None:
            return 0.0
        verdict = verdict_of(analysis, case)
        if not isinstance(verdict, Applies):
            return 0.0
        best = 0.0
        for question, exact, certified in comparisons(case, verdict.guarantee, None):
            assert exact <= certified, (analysis.name, question, exact, certified, case.run)
            if certified > SMALLEST:
                best = max(best, exact / certified)
        return best

    return score
