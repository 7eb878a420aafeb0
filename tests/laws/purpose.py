"""Cases drawn on purpose: where random ones hardly ever make a hypothesis matter.

Two records of which one more or less changes how much the others contract (L12); one curved record
among flat ones, in batches of one and in full ones (L14); quiet steps that drive two runs to
opposite ends of the set and few noisy ones after them (L17), with hills, waves and double wells; a
loss that is convex around a thin box and a saddle outside (L8).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from laws.catalogue import Drawn, measured
from laws.draw import Case, Shape, declared, draw
from laws.line import Line, Prox, Steps, TooFine
from laws.loss_cases import Sum, Wave, Well, line, parabola
from wane.describe import (
    Adjacency,
    Cyclic,
    Fact,
    FactKind,
    FullBatch,
    IterateNoise,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    WithoutReplacement,
)
from wane.describe.domains import Box, Diameter


def purposeful(rng: np.random.Generator) -> Iterator[Any]:
    """Draw for ever, each kind in turn."""
    while True:
        for kind in KINDS:
            made = None
            while made is None:
                made = kind(rng)
            yield made


@dataclass(frozen=True)
class Setting:
    """What to run and on which two data sets."""

    shape: Shape
    drawn: Drawn
    records: int
    size: int
    plan: tuple[Steps, ...]
    data: tuple[tuple, tuple]
    certain: int = 0

    def case(self, rng) -> Case | None:
        """The case with some true constants, mostly the usual ones, declared."""
        B, b = self.drawn.half_width, self.size
        assert B is not None
        kinds = {
            "full": FullBatch(),
            "cyclic": Cyclic(b),
            "poisson": Poisson(b),
            "without-replacement": WithoutReplacement(b),
        }
        objective = declared(rng, self.drawn, 0.0)
        if rng.random() < 0.7:
            usual = ("gradient_bound", "smoothness", "strong_convexity")
            objective = Objective(**measured(self.drawn, usual), dimension=objective.dimension)
        phases = (Phase(p.repeat, p.eta, IterateNoise(p.std), p.cool_down) for p in self.plan)
        run = NoisyDescent(
            objective=objective,
            records=self.records,
            schedule=Schedule(phases),
            batches=kinds[self.shape.batches],
            domain=Box(-B, B, dimension=1) if rng.random() < 0.5 else Diameter(2 * B),
            adjacency=self.shape.adjacency,
        )
        line = Line(
            losses=self.drawn.losses,
            clip=None,
            ridge=0.0,
            prox=Prox(-B, B),
            plan=self.plan,
            kind=self.shape.batches,
            records=self.records,
            size=b,
            seen=frozenset({run.total_steps}),
            certain=self.certain,
        )
        try:
            size, middle = len(line.states), int(np.argmin(np.abs(line.grid[0])))
            starts = np.unique([size - 2, size - 1, middle, *rng.integers(size, size=40)])
            starts = np.array([middle]) if self.certain else starts
            case = Case(self.shape, self.drawn.name, run, line, *self.data, starts)
            _ = case.laws
        except TooFine:
            return None
        return case


def one_more_record(rng) -> Case | None:
    """n records against n - 1, and n + 1 against n: the others are fewer, and contract less."""
    n = 2 if rng.random() < 0.8 else 3
    k, near, far = 0.5, float(rng.uniform(0.9, 1.4)), float(rng.uniform(3.0, 5.5))
    drawn = Drawn("L12", (parabola(k, -near), parabola(k, far)), 1.0, {})
    eta, std = float(rng.uniform(0.8, 1.4)), float(10 ** rng.uniform(-1.1, -0.6))
    plan = (Steps(int(rng.integers(5, 13)), eta, std),)
    shape = Shape("poisson", Adjacency.ADD_REMOVE, "last", "constant")
    others = (0,) * (n - 1 + int(rng.integers(2)))
    return Setting(shape, drawn, n, 1, plan, ((*others, 1), others)).case(rng)


def _expanding(rng) -> Drawn:
    """A part that drives iterates to the ends, and records that tilt it either way."""
    B = float(10 ** rng.uniform(-0.3, 0.3))
    a = float(10 ** rng.uniform(-0.5, 0.5))
    match int(rng.integers(3)):
        case 0:
            part: Any = parabola(-a)
        case 1:
            part, B = Well(a), min(B, 1.0)
        case _:
            part = Wave(a, math.pi / 2 / B, math.pi / 2)
    size = measured(Drawn("", (part,), B, {}), ("gradient_bound",))["gradient_bound"]
    tilt = size * float(10 ** rng.uniform(-1.0, 0.3))
    losses = (part, *(Sum((part, line(s * tilt))) for s in (1, -1)))
    return Drawn("L17", losses, B, {})


def driven_apart(rng) -> Case | None:
    """Quiet steps to opposite ends without a doubt, then one to four noisy steps."""
    drawn = _expanding(rng)
    B = drawn.half_width
    n = int(rng.integers(1, 4))
    kind = "cyclic" if n > 1 and rng.random() < 0.3 else "full"
    b = 1 if kind == "cyclic" else n
    tilt = float(drawn.losses[1].parts[1].slope(np.zeros(1))[0])
    eta = 1.02 * B * b / tilt
    loud = B * float(10 ** rng.uniform(-0.6, 0.6))
    late = eta * float(10 ** rng.uniform(-2.0, 0.0))
    quiet = Steps(1 if kind == "cyclic" else int(rng.integers(1, 30)), eta, 1e-4 * B)
    plan = (quiet, Steps(int(rng.integers(1, 5)), late, loud))
    zero = rng.random() < 0.2
    adjacency = Adjacency.ZERO_OUT if zero else Adjacency.REPLACE_ONE
    others = (0,) * (n - 1)
    first, second = (1, *others), (None if zero else 2, *others)
    shape = Shape(kind, adjacency, "last", "two-phase")
    return Setting(shape, drawn, n, b, plan, (first, second), certain=1).case(rng)


def sampled_apart(rng) -> Case | None:
    """The same with sampled batches, where the noise of the quiet steps must be seen."""
    drawn = _expanding(rng)
    B, n = drawn.half_width, int(rng.integers(2, 4))
    kind = "poisson" if rng.random() < 0.5 else "without-replacement"
    tilt = float(drawn.losses[1].parts[1].slope(np.zeros(1))[0])
    eta = B / tilt * float(10 ** rng.uniform(-0.6, 0.2))
    plan = (
        Steps(int(rng.integers(2, 30)), eta, B * float(10 ** rng.uniform(-1.2, -0.8))),
        Steps(int(rng.integers(1, 3)), eta, B * float(10 ** rng.uniform(-0.5, 0.5))),
    )
    allowed = list(Adjacency) if kind == "poisson" else list(Adjacency)[:2]
    adjacency = allowed[int(rng.integers(len(allowed)))]
    others = (0,) * (n - 1)
    second = {
        Adjacency.REPLACE_ONE: (2, *others),
        Adjacency.ZERO_OUT: (None, *others),
        Adjacency.ADD_REMOVE: others,
    }
    shape = Shape(kind, adjacency, "last", "two-phase")
    return Setting(shape, drawn, n, 1, plan, ((1, *others), second[adjacency])).case(rng)


def one_curved_record(rng) -> Case | None:
    """Cyclic batches of one: each step meets one record's curvature and not the average."""
    shape = Shape("cyclic", Adjacency.REPLACE_ONE, "last", "constant")
    return draw(rng, shape, "one_curved")


def curved_average(rng) -> Case | None:
    """The same in full batches, with what is true of the average of these very records."""
    adjacency = [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT][int(rng.integers(2))]
    release = ["last", "last", "listed"][int(rng.integers(3))]
    case = draw(rng, Shape("full", adjacency, release, "constant"), "one_curved")
    if case is None or case.run.objective.gradient_bound is None:
        return None
    true = {"strong_convexity": 0.0, "smoothness": 1.0}
    run = replace(case.run, objective=replace(case.run.objective, **true))
    bends = max(data.count(0) for data in (case.first, case.second)) / run.records
    average = max(bends, 1e-3) * (1 + 1e-12)
    fact = Fact.of(run, FactKind.AVERAGE_SMOOTHNESS, average)
    return replace(case, run=run, facts=(fact,))


@dataclass(frozen=True)
class ThinBox:
    """The saddle over a thin box: its two coordinates are independent at the end."""

    family: str
    run: NoisyDescent
    first: np.ndarray
    second: np.ndarray

    @property
    def count(self) -> int:
        return 1

    @cached_property
    def laws(self):
        return self.first[None, :], self.second[None, :]


def thin_box(rng) -> ThinBox:
    """Quiet steps to t = -+1/2, then a step across: the sign of the thin coordinate tells.

    With the true constants: Hoelder on the whole plane, convex around the box only; so either the
    one or the other is declared.
    """
    H, p = 1.15 * float(rng.uniform(1.0, 1.1)), 0.6
    eta, std, n = 2.0 / H, float(10 ** rng.uniform(-0.4, 0.5)), 1000
    everywhere = bool(rng.random() < 0.5)
    objective = Objective(
        gradient_bound=6.6,
        strong_convexity=None if everywhere else 0.0,
        holder_exponent=p,
        holder_constant=H,
        holder_everywhere=everywhere,
    )
    run = NoisyDescent(
        objective=objective,
        records=n,
        schedule=Schedule([Phase(200, eta, IterateNoise(1e-6)), Phase(1, eta, IterateNoise(std))]),
        domain=Box([-0.5, -4e-11], [0.5, 4e-11]),
    )
    laws = []
    for sign in (1.0, -1.0):
        t = -0.5 * sign  # where the tilt of 6/1000 drives it: the valley has slope 0.005 there
        mean = t - eta * (0.01 * t + sign * 6.0 / n)
        across = -eta * t
        edges = np.concatenate([[-np.inf], np.linspace(-0.5, 0.5, 400), [np.inf]])
        along = np.diff(special.ndtr((edges - mean) / std))
        up = special.ndtr(across / std)
        laws.append(np.concatenate([along * up, along * (1.0 - up)]))
    return ThinBox("L8", run, *laws)


KINDS = (
    one_more_record,
    driven_apart,
    sampled_apart,
    curved_average,
    one_curved_record,
    curved_average,
    thin_box,
)
"""What is drawn on purpose, in turn."""
