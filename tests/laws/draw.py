"""Runs drawn from meanings: concrete losses first, their true constants next, then a description.

A case is a description together with two concrete data sets that its adjacency allows and the
exact laws of what they release.  `SHAPES` is the whole product of batches, adjacencies, releases
and schedules; combinations that theorems refuse are drawn as well, so that a theorem that no longer
refuses them meets its counterexample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from laws.catalogue import CATALOGUE, Drawn, measured
from laws.line import Line, Prox, Steps, TooFine
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    Fact,
    FullBatch,
    GradientNoise,
    IterateNoise,
    Iterates,
    LastIterate,
    LossForm,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
    Temperature,
    WithoutReplacement,
)
from wane.describe.domains import MCP, Ball, Box, Diameter, ElasticNet, Lasso, Ridge, Unbounded
from wane.errors import InvalidDescription

BATCHES = {
    "full": FullBatch,
    "cyclic": Cyclic,
    "shuffled-once": ShuffledOnce,
    "poisson": Poisson,
    "without-replacement": WithoutReplacement,
}
RELEASES = ("last", "listed", "every")
SCHEDULES = ("constant", "phases", "two-phase", "cool-down")
STARTS = 60
CONSTANTS = {f.name for f in fields(Objective)}
ON_THE_LINE = tuple(
    name for name, f in CATALOGUE.items() if f(np.random.default_rng(0)).dimension == 1
)


class Shape(NamedTuple):
    """Which corner of the product a case is drawn from."""

    batches: str
    adjacency: Adjacency
    release: str
    schedule: str


SHAPES = tuple(Shape(*s) for s in product(BATCHES, Adjacency, RELEASES, SCHEDULES))


@dataclass(frozen=True)
class Case:
    """A description, two neighbouring data sets, and the exact laws of what they release."""

    shape: Shape
    family: str
    run: NoisyDescent
    line: Line
    first: tuple
    second: tuple
    starts: np.ndarray
    facts: tuple[Fact, ...] = ()

    @property
    def count(self) -> int:
        """How many pairs: one for each start."""
        return len(self.starts)

    @cached_property
    def laws(self) -> tuple[np.ndarray, np.ndarray]:
        """Masses of what is released, a row for each start."""
        known: dict = {}
        return tuple(self.line.law(data, self.starts, known) for data in (self.first, self.second))

    def of(self, run: NoisyDescent, *, first: tuple = (), second: tuple = ()) -> Case | None:
        """The same losses in another run, or on other data; None if the oracle cannot resolve it.

        Only for sets: the window of a penalty belongs to the run that it was made for.
        """
        assert not self.line.prox.artificial
        seen = frozenset(_seen(run.release, run.total_steps))
        line = replace(self.line, plan=steps_of(run), seen=seen)
        try:
            size = len(line.states)
        except TooFine:
            return None
        starts = np.unique(np.linspace(0, size - 1, 12).astype(int))
        data = {"first": first or self.first, "second": second or self.second}
        return replace(self, run=run, line=line, starts=starts, **data)


def shapes(rng: np.random.Generator) -> Iterator[Shape]:
    """Draw for ever: every shape in each round.

    Those that release the last iterate only come up three times as often, and secret orders six
    times, since most theorems are about them.
    """
    hidden = [s for s in SHAPES if s.release == "last"]
    secret = [s for s in hidden if s.batches == "shuffled-once"]
    drawn = [*SHAPES, *hidden, *hidden, *secret, *secret, *secret]
    while True:
        for place in rng.permutation(len(drawn)):
            yield drawn[place]


def steps_of(run: NoisyDescent) -> tuple[Steps, ...]:
    """A description's steps with the noise on the iterate, whatever its convention."""
    made = []
    for phase in run.plan:
        eta, value = phase.step_size, phase.noise.value
        match phase.noise:
            case GradientNoise():
                std = eta * value
            case IterateNoise():
                std = value
            case Temperature():
                std = math.sqrt(2 * eta * value)
            case NoiseMultiplier():
                size = run.records if isinstance(run.batches, FullBatch) else run.batches.size
                std = eta * value * run.objective.gradient_bound / size
        made.append(Steps(phase.repeat, eta, std, phase.cool_down))
    return tuple(made)


def cases(rng: np.random.Generator, families=ON_THE_LINE) -> Iterator[Case]:
    """Draw for ever, families at random; what the oracle cannot resolve is drawn anew."""
    for shape in shapes(rng):
        made = None
        while made is None:
            made = draw(rng, shape, str(rng.choice(families)))
        yield made


def draw(rng: np.random.Generator, shape: Shape, family: str) -> Case | None:
    """One case of this shape, or None if its noise is too small for the oracle."""
    drawn = CATALOGUE[family](rng)
    n, b = sizes(rng, shape)
    B = drawn.half_width or float(10 ** rng.uniform(-0.3, 0.5))
    domain, prox = _domain(rng, drawn, B)
    plan = _plan(rng, shape, replace(drawn, half_width=B), b)
    if domain is None:  # a penalty on the whole line: the oracle needs a window
        ridge = 0.0 if rng.random() < 0.5 else float(rng.uniform(0.02, 0.5)) / plan[0].eta
        W = _window(drawn, plan, ridge, B, (n + 1) / b)
        if not W / min(p.std for p in plan) < 60:
            return None
        domain, prox = _penalty(rng, plan, W)
    else:
        ridge = 0.0 if rng.random() < 0.6 else float(rng.uniform(0.02, 0.5)) / plan[0].eta
        drawn = replace(drawn, half_width=B)
    total = sum(p.repeat for p in plan)
    release = _release(rng, shape, total)
    objective = declared(rng, drawn, ridge)
    try:
        run = NoisyDescent(
            objective=objective,
            records=n,
            schedule=Schedule(
                Phase(p.repeat, p.eta, _noise(rng, p, objective, b), p.cool_down) for p in plan
            ),
            batches=FullBatch() if shape.batches == "full" else BATCHES[shape.batches](b),
            domain=domain,
            adjacency=shape.adjacency,
            release=release,
        )
    except InvalidDescription:
        return None
    line = Line(
        losses=drawn.losses,
        clip=drawn.clip,
        ridge=ridge,
        prox=prox,
        plan=plan,
        kind=shape.batches,
        records=n,
        size=b,
        seen=frozenset(_seen(release, total)),
    )
    first, second = neighbours(rng, shape, n, len(drawn.losses))
    try:
        size = len(line.states)
    except TooFine:
        return None
    ends = [size - 1 - i for i in range(len(prox.levels))]
    inside = np.flatnonzero(np.abs(line.states) <= B)
    starts = np.unique([*ends, *rng.choice(inside, STARTS)])
    return Case(shape, family, run, line, first, second, starts)


def sizes(rng, shape: Shape) -> tuple[int, int]:
    match shape.batches:
        case "full":
            n = int(rng.integers(1, 7))
            return n, n
        case "cyclic":
            b, period = int(rng.integers(1, 4)), int(rng.integers(2, 4))
            return b * period - (int(rng.integers(b)) if rng.random() < 0.4 else 0), b
        case "shuffled-once":
            b = int(rng.integers(1, 3))
            return b * 2 if b == 2 else int(rng.integers(2, 5)), b
    n = int(rng.integers(2, 6))
    return n, int(rng.integers(1, n + (rng.random() < 0.1)))


def _plan(rng, shape: Shape, drawn: Drawn, b: int) -> tuple[Steps, ...]:
    """Step sizes by how far a record moves the iterate, noise by the width of the set."""
    B = drawn.half_width
    size = measured(drawn, ("gradient_bound",))["gradient_bound"]
    eta = float(10 ** rng.uniform(-0.9, 0.5)) * B / size
    std = B * float(10 ** rng.uniform(-1.0, 0.4))
    few = {"last": [1, 2, 3, 5, 10, 30], "listed": [2, 3, 5], "every": [1, 2, 3]}[shape.release]
    steps = int(rng.choice(few))
    if shape.schedule == "constant":
        return (Steps(steps, eta, std),)
    if shape.schedule == "cool-down":
        quiet = max(1, steps // 3)
        first = Steps(max(1, steps - quiet), eta, std)
        return (first, Steps(quiet, eta, std, True))
    if shape.schedule == "two-phase":  # quiet steps apart, then few noisy ones
        quiet = B * float(10 ** rng.uniform(-1.1, -0.7))
        far = quiet * float(rng.uniform(1.0, 6.0)) * b / size
        loud = B * float(10 ** rng.uniform(-0.5, 0.5))
        late = far * float(10 ** rng.uniform(-0.5, 0.5))
        return (
            Steps(min(2 * steps, 20) if shape.release == "last" else 1, far, quiet),
            Steps(int(rng.integers(1, 3)), late, loud),
        )
    made = [Steps(max(1, steps // 2), eta, std)]
    for _ in range(int(rng.integers(1, 3)) if shape.release == "last" else 1):
        slower, louder = float(rng.uniform(0.3, 1.5)), float(rng.uniform(0.7, 4.0))
        count = int(rng.integers(1, 5 if shape.release == "last" else 2))
        made.append(Steps(count, eta * slower, std * louder, bool(rng.random() < 0.3)))
    return tuple(made)


def _domain(rng, drawn: Drawn, B: float):
    if drawn.half_width is None and rng.random() < 0.6:
        return None, None
    kinds = (Box(-B, B, dimension=1), Ball(radius=B), Diameter(2 * B))
    return kinds[int(rng.integers(3))], Prox(-B, B)


def _penalty(rng, plan, W: float):
    eta = max(p.eta for p in plan)
    weight, ridge = float(rng.uniform(0.05, 0.5)) / eta, float(rng.uniform(0.05, 1.0)) / eta
    firm = float(rng.uniform(1.5, 4.0)) * eta
    match int(rng.integers(5)):
        case 0:
            return Ridge(ridge), Prox(-W, W, shrink=ridge, artificial=True)
        case 1:
            return Lasso(weight), Prox(-W, W, threshold=weight, artificial=True)
        case 2:
            made = Prox(-W, W, threshold=weight, shrink=ridge, artificial=True)
            return ElasticNet(weight, ridge), made
        case 3 if firm * weight < W:
            made = Prox(-W, W, threshold=weight, firm=firm, artificial=True)
            return MCP(weight, firm), made
    return Unbounded(), Prox(-W, W, artificial=True)


def _window(drawn: Drawn, plan, ridge: float, B: float, fill: float) -> float:
    """How far the iterates get, but for a probability that the oracle does not see."""
    R = B
    for phase in plan:
        for _ in range(phase.repeat):
            x = np.linspace(-R, R, 201)
            slopes = [loss.slope(x) for loss in drawn.losses]
            if drawn.clip is not None:
                slopes = [np.clip(s, -drawn.clip, drawn.clip) for s in slopes]
            pulls = (
                [0.0] if phase.cool_down else [0.0, *(k * s for s in slopes for k in (1.0, fill))]
            )
            still = (1 - phase.eta * ridge) * x
            reach = max(float(np.max(np.abs(still - phase.eta * pull))) for pull in pulls)
            R = max(reach + 7 * phase.std, B)
            if R > 1e3 * B:
                return math.inf
    return R * 1.05


def _release(rng, shape: Shape, total: int):
    if shape.release == "last":
        return LastIterate()
    if shape.release == "every":
        return EveryIterate()
    return Iterates((int(rng.integers(1, total + 1)),))


def _seen(release, total: int) -> set[int]:
    if isinstance(release, EveryIterate):
        return set(range(1, total + 1))
    return {total, *(release.steps if isinstance(release, Iterates) else ())}


def _noise(rng, phase: Steps, objective: Objective, b: int):
    s = phase.std / phase.eta
    kinds = [GradientNoise(s), IterateNoise(phase.std), Temperature(phase.std**2 / 2 / phase.eta)]
    if objective.gradient_bound:
        kinds.append(NoiseMultiplier(s * b / objective.gradient_bound))
    # conversions round, and the oracle runs the noise that was drawn
    return kinds[int(rng.integers(len(kinds)))].scaled(1 - 1e-12)


ODDS = {
    "gradient_bound": 0.85,
    "gradient_difference_bound": 0.6,
    "smoothness": 0.8,
    "strong_convexity": 0.7,
    "holder": 0.3,
    "dissipativity": 0.15,
}
"""How often each constant is declared."""


def declared(rng, drawn: Drawn, ridge: float) -> Objective:
    """Any subset of what is true of these losses."""
    made: dict[str, Any] = {"ridge": ridge, "clipped": drawn.clip is not None}
    for name, value in _true(rng, drawn, _chosen(rng, drawn)).items():
        if name == "holder":
            made |= {"holder_exponent": value[0], "holder_constant": value[1]}
            made["holder_everywhere"] = drawn.everywhere and bool(rng.random() < 0.7)
        else:
            made[name] = value
    if drawn.clip is not None and drawn.extra.get("clamped"):
        made |= {"form": LossForm.GLM} if rng.random() < 0.5 else {"dimension": 1}
    elif drawn.dimension > 1:
        made["form"] = LossForm(drawn.shape) if rng.random() < 0.7 else LossForm.GENERAL
    elif rng.random() < 0.5:
        made["dimension"] = 1
    elif rng.random() < 0.3:
        made["form"] = LossForm.GLM  # on a line every loss is a function of one linear form
    return Objective(**made)


def _chosen(rng, drawn: Drawn) -> list[str]:
    """Names of constants that exist for these losses and that this description declares."""
    names = [name for name, odds in ODDS.items() if rng.random() < odds]
    without = set() if "gradient_difference_bound" in CONSTANTS else {"gradient_difference_bound"}
    if drawn.clip is not None or drawn.half_width is None:
        without |= {"holder", "dissipativity"}
    if drawn.half_width is None:  # what is measured in a window need not hold beyond it
        without |= {"gradient_bound", "gradient_difference_bound"} - set(drawn.exact)
    if drawn.extra.get("convex_only"):
        without.add("smoothness")
    if drawn.clip is not None:
        names.append("gradient_bound")
    return [name for name in names if name not in without]


def _true(rng, drawn: Drawn, names: list[str]) -> dict[str, Any]:
    p = drawn.exact["holder"][0] if "holder" in drawn.exact else float(rng.choice([0.0, 0.5, 1.0]))
    scale = max(1e-3, drawn.exact.get("smoothness", 1.0))
    kappa = float(rng.uniform(0.05, 1.0)) * scale
    true = measured(drawn, tuple(names), kappa=kappa, p=p)
    for name in ("gradient_bound", "gradient_difference_bound"):
        if not true.get(name, 1.0) > 0:
            true.pop(name)
    return true


def neighbours(rng, shape: Shape, n: int, kinds: int) -> tuple[tuple, tuple]:
    """Two data sets that the adjacency allows, any two records, any places."""
    others = [int(k) for k in rng.integers(kinds, size=n - 1)]
    if rng.random() < 0.4:
        others = [others[0]] * (n - 1) if others else []
    one, two = (int(k) for k in rng.permutation(max(kinds, 2))[:2] % kinds)
    if shape.adjacency is Adjacency.ADD_REMOVE and rng.random() < 0.5:
        others.append(int(rng.integers(kinds)))
    place = int(rng.integers(len(others) + 1))
    first = (*others[:place], one, *others[place:])
    match shape.adjacency:
        case Adjacency.REPLACE_ONE:
            return first, (*others[:place], two, *others[place:])
        case Adjacency.ZERO_OUT:
            return first, (*others[:place], None, *others[place:])
    return first, tuple(others)
