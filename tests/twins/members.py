"""Descriptions in and around every theorem's hypotheses, with the data sets that live there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from typing import Any

from twins.exact import Data, Exact, exact
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    Fact,
    FactKind,
    FullBatch,
    GradientNoise,
    Iterates,
    LastIterate,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import MCP, Box, Unbounded
from wane.theorems.theorem import Facts

C = 1.0
RECORDS = 2
FLAT = {"smoothness": 0.0, "strong_convexity": 0.0}


def _steps(count: int, noise: float, *more: Phase) -> Schedule:
    return Schedule((Phase(count, 1.0, GradientNoise(noise)), *more))


CHOICES: dict[str, dict[str, Any]] = {
    "batches": {
        "full": FullBatch(),
        "cyclic": Cyclic(1),
        "shuffled": ShuffledOnce(1),
        "poisson": Poisson(1),
        "fixed": WithoutReplacement(1),
        "fixed, all": WithoutReplacement(RECORDS),
    },
    "adjacency": {
        "replace": Adjacency.REPLACE_ONE,
        "zero": Adjacency.ZERO_OUT,
        "add": Adjacency.ADD_REMOVE,
    },
    "release": {"last": LastIterate(), "every": EveryIterate(), "first too": Iterates((1,))},
    "domain": {
        "line": Unbounded(),
        "wide": Box(-60.0, 60.0, dimension=1),
        "narrow": Box(-0.2, 0.2, dimension=1),
        "bent": MCP(weight=1.0, shape=1.2),
        "jumping": MCP(weight=1.0, shape=0.9),
    },
    "schedule": {
        "two": _steps(2, 1.0),
        "eight": _steps(8, 1.0),
        "one": _steps(1, 1.0),
        "quieter": _steps(4, 8.0, Phase(2, 1.0, GradientNoise(0.5))),
        "silent end": _steps(4, 1.0, Phase(1, 1.0, GradientNoise(0.0), cool_down=True)),
        "silent": _steps(2, 1.0, Phase(1, 1.0, GradientNoise(0.0))),
        "mute": _steps(2, 0.0),
        "long": _steps(8000, 3.0),
    },
    "objective": {
        "known": Objective(gradient_bound=C, **FLAT, ridge=0.4),
        "no ridge": Objective(gradient_bound=C, **FLAT),
        "bounded": Objective(gradient_bound=C, ridge=0.4),
        "bounded, long": Objective(gradient_bound=C, ridge=1.2),
        "smooth": Objective(**FLAT, ridge=0.4),
    },
}
"""The first of each kind is the plain one; all losses here are linear, with slopes up to C."""


def described(**chosen: str) -> NoisyDescent:
    """The plain description with some choices replaced."""
    fields: dict[str, Any] = {
        name: values[chosen.get(name, next(iter(values)))] for name, values in CHOICES.items()
    }
    return NoisyDescent(records=RECORDS, **fields)


def around(most: int) -> Iterator[NoisyDescent]:
    """Every description with at most this many choices that are not the plain ones."""
    for count in range(most + 1):
        for names in combinations(CHOICES, count):
            for values in product(*(list(CHOICES[name])[1:] for name in names)):
                yield described(**dict(zip(names, values, strict=True)))


INSIDE: tuple[dict[str, str], ...] = (
    {},
    {"schedule": "eight"},
    {"adjacency": "add"},
    {"adjacency": "zero", "domain": "wide"},
    {"domain": "narrow"},
    {"domain": "narrow", "objective": "bounded"},
    {"batches": "cyclic", "domain": "wide"},
    {"batches": "shuffled"},
    {"batches": "poisson"},
    {"batches": "poisson", "domain": "narrow"},
    {"batches": "poisson", "domain": "narrow", "adjacency": "add"},
    {"batches": "fixed", "domain": "narrow"},
    {"batches": "fixed", "domain": "narrow", "adjacency": "zero"},
)
"""Where theorems apply."""

EDGES: tuple[dict[str, str], ...] = (
    {"objective": "smooth"},
    {"objective": "bounded"},
    {"objective": "no ridge"},
    {"domain": "jumping"},
    {"domain": "wide", "objective": "smooth"},
    {"domain": "wide", "objective": "bounded"},
    {"domain": "wide", "objective": "bounded, long"},
    {"domain": "wide", "schedule": "silent"},
    {"domain": "wide", "release": "every", "schedule": "eight"},
    {"domain": "wide", "objective": "bounded", "release": "every", "schedule": "long"},
    {"batches": "cyclic"},
    {"batches": "cyclic", "adjacency": "add"},
    {"batches": "cyclic", "adjacency": "add", "domain": "wide"},
    {"batches": "cyclic", "domain": "narrow", "schedule": "quieter"},
    {"batches": "shuffled", "objective": "smooth"},
    {"batches": "shuffled", "objective": "bounded"},
    {"batches": "shuffled", "adjacency": "add"},
    {"batches": "shuffled", "domain": "jumping"},
    {"batches": "shuffled", "release": "first too"},
    {"batches": "poisson", "objective": "smooth"},
    {"batches": "poisson", "schedule": "silent"},
    {"batches": "poisson", "release": "every", "schedule": "eight"},
    {"batches": "poisson", "objective": "no ridge"},
    {"batches": "poisson", "domain": "wide", "objective": "bounded, long"},
    {"batches": "poisson", "domain": "wide", "objective": "smooth"},
    {"batches": "poisson", "domain": "wide", "schedule": "silent end"},
    {"batches": "poisson", "domain": "narrow", "release": "every", "schedule": "eight"},
    {"batches": "fixed"},
    {"batches": "fixed", "domain": "wide"},
    {"batches": "fixed", "objective": "smooth"},
    {"batches": "fixed", "schedule": "silent"},
    {"batches": "fixed", "adjacency": "add"},
    {"batches": "fixed", "release": "every", "schedule": "eight"},
    {"batches": "fixed", "objective": "no ridge"},
    {"batches": "fixed", "domain": "wide", "objective": "bounded, long"},
    {"batches": "fixed", "domain": "wide", "objective": "smooth"},
    {"batches": "fixed", "domain": "wide", "schedule": "silent end"},
    {"batches": "fixed", "adjacency": "add", "domain": "narrow"},
    {"batches": "fixed", "release": "every", "domain": "narrow"},
    {"batches": "fixed, all"},
    {"batches": "fixed, all", "domain": "wide"},
)
"""Just outside: each fails one hypothesis of some theorem that holds of everything else."""


def expanding(batches: type[Poisson | WithoutReplacement]) -> NoisyDescent:
    """A prox that undoes the ridge's contraction where the iterates are."""
    return NoisyDescent(
        records=11,
        objective=Objective(gradient_bound=C, **FLAT, ridge=0.4),
        schedule=Schedule([Phase(12, 1.0, GradientNoise(0.4))]),
        batches=batches(10),
        domain=MCP(weight=0.9, shape=2.5),
    )


@cache
def edges() -> tuple[NoisyDescent, ...]:
    """The descriptions just outside."""
    bent = (expanding(Poisson), expanding(WithoutReplacement))
    return (*(described(**chosen) for chosen in EDGES), *bent)


def neighbours(run: NoisyDescent) -> Iterator[tuple[Data, Data]]:
    """Pairs of data sets that the adjacency allows, all losses linear with slopes up to C."""
    up, down = (0.0, C), (0.0, -C)
    rest = run.records - 1
    for others in ([down] * rest, [up] * rest):
        if run.adjacency is Adjacency.REPLACE_ONE:
            yield [*others, up], [*others, down]
            yield [up, *others], [down, *others]
        elif run.adjacency is Adjacency.ZERO_OUT:
            yield [*others, up], [*others, None]
            yield [up, *others], [None, *others]
        else:
            yield [up, *others], others
            yield [up, down, *others], [down, *others]


@cache
def inside() -> tuple[NoisyDescent, ...]:
    """The descriptions of which theorems speak."""
    return tuple(described(**chosen) for chosen in INSIDE)


@cache
def laws_of(run: NoisyDescent) -> tuple[Exact, ...]:
    """The exact pairs of laws of the members of this description."""
    found = (exact(run, *pair) for pair in neighbours(run))
    return tuple(law for law in found if law is not None)


STATED: tuple[dict[str, str], ...] = (
    {},
    {"schedule": "eight"},
    {"objective": "bounded"},
    {"objective": "smooth"},
    {"domain": "jumping"},
    {"batches": "cyclic"},
    {"batches": "poisson"},
    {"batches": "fixed"},
    {"batches": "shuffled"},
    {"release": "every", "schedule": "eight"},
    {"schedule": "mute"},
    {"schedule": "quieter"},
)
"""Those for which facts are stated that are true of each linear member."""


@cache
def stated() -> tuple[tuple[NoisyDescent, Facts], ...]:
    """Runs with all facts that can be stated: laws are Gaussian, and averages are flat."""
    runs = [described(**chosen) for chosen in STATED]
    return tuple((run, _facts(run)) for run in runs)


def _facts(run: NoisyDescent) -> Facts:
    values = {FactKind.LOG_SOBOLEV: 1.0 / widest(run), FactKind.AVERAGE_SMOOTHNESS: 1e-9}
    return Facts(tuple(Fact.of(run, kind, values[kind]) for kind in FactKind))


def widest(run: NoisyDescent) -> float:
    """The largest variance of a linear run's points, from a fixed start."""
    variance = worst = 0.0
    for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        for _ in range(phase.repeat):
            kept = 1.0 - phase.step_size * run.objective.ridge
            variance = kept**2 * variance + (phase.step_size * std) ** 2
            worst = max(worst, variance)
    return worst or 1.0  # without noise nothing spreads, and any constant will do
