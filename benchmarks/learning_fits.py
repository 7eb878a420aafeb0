"""Every fit of the learning page: wane with its defaults, Opacus and diffprivlib tuned."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from benchmarks.datasets import LOADERS, Data
from benchmarks.environments import Unavailable
from benchmarks.peers import DIFFPRIVLIB, OPACUS, OPACUS_SETTINGS, STRENGTHS
from wane.learn import PrivateLogisticRegression

Given = TypeVar("Given")
Made = TypeVar("Made")

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SEEDS = 5
FEWER = {("mnist", "wane"): 3, ("mnist", "opacus"): 2, ("mnist", "diffprivlib"): 1}
"""Where a fit takes long and hardly varies."""
WORKERS = 2


@dataclass(frozen=True)
class Fit:
    """One fit; ``seconds`` are of one processor."""

    data: str
    method: str
    epsilon: float
    seed: int
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Task:
    """Fits that run one after another in a process of their own."""

    data: str
    method: str
    epsilons: tuple[float, ...]
    seeds: int


def by_wane(data: Data, epsilons: Iterable[float], seeds: int) -> Iterator[Fit]:
    """Default arguments; every data set brings its constant column where it needs one."""
    for epsilon in epsilons:
        for seed in range(seeds):
            start = time.process_time()
            model = PrivateLogisticRegression(
                epsilon=epsilon,
                delta=DELTA,
                classes=list(range(data.classes)),
                fit_intercept=False,
                seed_voids_privacy=seed,
            ).fit(data.train_features.astype(np.float32), data.train_labels)  # as Opacus has them
            seconds = time.process_time() - start
            found = model.score(data.test_features, data.test_labels)
            yield Fit(data.name, "wane", epsilon, seed, float(found), seconds)


def by_opacus(data: Data, epsilons: Iterable[float], seeds: int) -> Iterator[Fit]:
    settings = [
        {"seed": seed, "epsilon": epsilon, **OPACUS_SETTINGS[data.name][epsilon]}
        for epsilon in epsilons
        for seed in range(seeds)
    ]
    for line in OPACUS.run(data, settings):
        seconds = line["seconds"] * line["epochs"]
        yield Fit(data.name, "opacus", line["epsilon"], line["seed"], line["accuracy"], seconds)


def by_diffprivlib(data: Data, epsilons: Iterable[float], seeds: int) -> Iterator[Fit]:
    """The best of a few strengths for each epsilon, by the mean over the seeds."""
    strengths = STRENGTHS.get(data.name, (1.0,))
    settings = [
        {"seed": seed, "epsilon": epsilon, "C": C}
        for epsilon in epsilons
        for C in strengths
        for seed in range(seeds)
    ]
    found: dict[tuple[float, float], list[dict[str, Any]]] = {}
    for line in DIFFPRIVLIB.run(data, settings):
        found.setdefault((line["epsilon"], line["C"]), []).append(line)
    for epsilon in epsilons:
        tries = (found[epsilon, C] for C in strengths)
        for line in max(tries, key=lambda lines: np.mean([v["accuracy"] for v in lines])):
            yield Fit(
                data.name, "diffprivlib", epsilon, line["seed"], line["accuracy"], line["seconds"]
            )


METHODS: dict[str, Callable[[Data, Iterable[float], int], Iterator[Fit]]] = {
    "wane": by_wane,
    "opacus": by_opacus,
    "diffprivlib": by_diffprivlib,
}


def tasks(quick: bool) -> list[Task]:
    """The longest first, so that none is left alone at the end."""
    if quick:
        return [Task("breast cancer", method, (1.0, 8.0), 2) for method in METHODS]
    large = [
        Task(name, method, (epsilon,), FEWER.get((name, method), SEEDS))
        for name in ("mnist", "adult")
        for method in ("opacus", "wane", "diffprivlib")
        for epsilon in EPSILONS
    ]
    small = [
        Task(name, method, EPSILONS, SEEDS)
        for name in ("digits", "breast cancer")
        for method in METHODS
    ]
    return large + small


@lru_cache(maxsize=1)
def loaded(name: str) -> Data:
    """A data set, kept for the next task, which is likely to ask for the same."""
    return LOADERS[name]()


def done(task: Task) -> list[Fit] | str:
    """Run a task; words if its peer is not to be had."""
    warnings.filterwarnings("ignore", category=UserWarning)
    try:
        return list(METHODS[task.method](loaded(task.data), task.epsilons, task.seeds))
    except Unavailable as error:
        return str(error)


def at_once(work: Callable[[Given], Made], given: Sequence[Given]) -> Iterator[Made]:
    """Work on a few at a time, in processes of their own; what is made comes in order."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=spawn) as pool:
        yield from pool.map(work, given)


def fits(quick: bool) -> tuple[list[Fit], list[str]]:
    """Run everything, two processes at a time; return the fits, and what could not be run."""
    found: list[Fit] = []
    missing: list[str] = []
    for peer in (OPACUS, DIFFPRIVLIB):  # made once, before two tasks ask for it
        try:
            peer.environment.python()
        except Unavailable as error:
            missing.append(str(error))
    todo = tasks(quick)
    for count, (task, result) in enumerate(zip(todo, at_once(done, todo), strict=True), 1):
        if isinstance(result, str):
            missing.append(result)
        else:
            found += result
        print(f"  {count}/{len(todo)} {task.data}, {task.method}", flush=True)
    found.sort(key=lambda fit: (fit.data, fit.method, fit.epsilon, fit.seed))
    return found, sorted(set(missing))
