"""All that theorems are asked about: descents, samples, distances; and every theorem there is."""

from __future__ import annotations

import importlib
import pkgutil
from contextlib import suppress
from functools import cache, partial
from types import ModuleType
from typing import Any

import wane
from twins.exact import Gaussians
from twins.members import edges, inside, laws_of, stated
from twins.removal import Case
from twins.samplers import exact_divergences, posteriors, questions, sample_laws
from twins.turned import turned, turned_laws
from wane.describe import Adjacency, StatedRelease
from wane.errors import MissingExtra
from wane.theorems.theorem import Hypothesis, Theorem


@cache
def modules() -> tuple[ModuleType, ...]:
    """Every module of the package."""
    found = []
    for info in pkgutil.walk_packages(wane.__path__, "wane."):
        if not info.name.endswith("__main__"):
            with suppress(MissingExtra):  # a bridge to a library that is not here
                found.append(importlib.import_module(info.name))
    return tuple(found)


@cache
def theorems() -> tuple[Any, ...]:
    """Every theorem of the package, wherever it lives: of privacy, and of distances."""
    found: dict[int, Any] = {}
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, Theorem):
                found[id(value)] = value
            elif isinstance(value, tuple):
                found |= {id(v): v for v in value if isinstance(v, Theorem)}
    return tuple(sorted(found.values(), key=lambda t: t.name))


@cache
def conditions() -> tuple[Any, ...]:
    """Every hypothesis that some module defines, whether or not a theorem uses it."""
    found = {
        id(value): value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, Hypothesis)
    }
    return tuple(found.values())


@cache
def cases() -> tuple[Case, ...]:
    """In and around every theorem's hypotheses."""
    descents = [Case(run, partial(laws_of, run)) for run in (*edges(), *inside())]
    facts = [Case(run, partial(laws_of, run), known) for run, known in stated()]
    facts.append(Case(turned()[0], turned_laws, turned()[1]))
    samples = [Case(run, partial(sample_laws, run)) for run in posteriors()]
    distances = [Case(asked, partial(exact_divergences, asked)) for asked in questions()]
    return (*descents, *facts, *samples, *distances, counted())


def counted() -> Case:
    """A release of which only mu is stated."""
    words = {"name": "a count", "source": "a page", "adjacency": Adjacency.ZERO_OUT}
    return Case(StatedRelease(mu=0.5, **words), lambda: [Gaussians(0.5)])
