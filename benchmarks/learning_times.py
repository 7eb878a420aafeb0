"""Seconds of an epoch beside Opacus, and what a hundred times more steps cost and change."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

import wane
from benchmarks.datasets import LOADERS, Data
from benchmarks.environments import Unavailable
from benchmarks.learning_fits import DELTA
from benchmarks.peers import OPACUS
from benchmarks.report import Cell
from wane.certificates import certify, composition_of
from wane.learn.plan import Problem, plan
from wane.losses import Logistic, Loss, Softmax, SoftmaxClamp, SoftmaxEnvelope
from wane.run import descend, seeded_generator_voids_privacy
from wane.run.linear import LinearSums

ROUNDS, EPOCHS = 3, 3
"""How often all take turns, and how many epochs each takes at a time."""
SOFTMAXES: dict[str, Loss] = {
    "softmax": Softmax(10),
    "clamped softmax": SoftmaxClamp(10),
    "envelope (default)": SoftmaxEnvelope(10),
}
EPOCH_COLUMNS = (
    "data", "rows", "columns", "batch", "mode", "wane", "wane slowest", "Opacus", "Opacus slowest",
    "Opacus / wane", "promised", "processor: wane", "processor: Opacus", "processor: ratio",
)  # fmt: skip
PLATEAU_COLUMNS = ("steps", "epsilon, last iterate", "epsilon, every iterate", "accuracy")


def epoch(data: Data, link: Loss, batch: int) -> Callable[[], object]:
    """A few epochs of cyclic batches by wane's runner, ready to be run."""
    features = data.train_features.astype(np.float32)
    targets = 2.0 * data.train_labels - 1.0 if data.classes == 2 else data.train_labels
    n, d = features.shape
    run = plan(
        Problem(link=link, records=n, features=d, feature_norm=1.0),
        epsilon=1.0,
        delta=DELTA,
        adjacency=wane.Adjacency.ZERO_OUT,
        batches=wane.Cyclic(batch),
        steps=EPOCHS * -(-n // batch),
        cool_down=0,
    )
    bound = run.objective.gradient_bound
    sums = LinearSums(features, targets, link, feature_norm=1.0, gradient_bound=bound)
    generator = seeded_generator_voids_privacy(0)
    return lambda: descend(run, sums, generator=generator)


@dataclass(frozen=True)
class Seconds:
    """Of one epoch: on the wall, and of all threads together."""

    wall: float
    processor: float


def timed(work: Callable[[], object]) -> Seconds:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    taken = time.perf_counter() - wall, time.process_time() - processor
    return Seconds(*(seconds / EPOCHS for seconds in taken))


def opacus(data: Data, setting: dict[str, Any]) -> Seconds | None:
    """The faster of one thread and two."""
    asked = [{**setting, "threads": threads} for threads in (1, 2)]
    try:
        lines = list(OPACUS.run(data, asked))
    except Unavailable as error:
        print(f"  {error}", flush=True)
        return None
    best = min(lines, key=lambda line: line["wall"])
    return Seconds(best["wall"], min(line["seconds"] for line in lines))


def synthetic(n: int, d: int) -> Data:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((n, d)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = (x @ generator.standard_normal(d) > 0).astype(np.intp)
    return Data("synthetic", x, y, x[:100], y[:100])


def epochs(quick: bool) -> list[list[Cell]]:
    """Both promises about time: Opacus and wane take turns, each with its best threads."""
    rows: list[list[Cell]] = []
    mnist = () if quick else ((LOADERS["mnist"](), 2000, "ghost", 7.0, SOFTMAXES),)
    for data, batch, mode, promised, links in (
        (synthetic(160_000, 50), 1000, "hooks", 20.0, {"logistic": Logistic()}),
        *mnist,
    ):
        setting = {
            "seed": 0, "epsilon": 1.0, "batch": batch, "epochs": EPOCHS, "learning_rate": 1.0,
            "clip": 0.3, "mode": mode,
        }  # fmt: skip
        works = {name: epoch(data, link, batch) for name, link in links.items()}
        for work in works.values():
            work()  # the first time also starts threads
        ours: dict[str, list[Seconds]] = {name: [] for name in works}
        theirs: list[Seconds] = []
        for _ in range(1 if quick else ROUNDS):
            if found := opacus(data, setting):
                theirs.append(found)
            for name, work in works.items():
                ours[name].append(timed(work))
        for name, seconds in ours.items():
            head = [f"{data.name}, {name}", *data.train_features.shape, batch, mode]
            rows.append([*head, *_compared(seconds, theirs, promised)])
    return rows


def _compared(ours: list[Seconds], theirs: list[Seconds], promised: float) -> list[Cell]:
    wall, processor = _median(ours)
    cells: list[Cell] = [wall, max(one.wall for one in ours)]
    if not theirs:
        return [*cells, None, None, None, promised, processor, None, None]
    their_wall, their_processor = _median(theirs)
    slowest = max(one.wall for one in theirs)
    return [
        *cells, their_wall, slowest, their_wall / wall, promised, processor, their_processor,
        their_processor / processor,
    ]  # fmt: skip


def _median(found: list[Seconds]) -> tuple[float, float]:
    return median(one.wall for one in found), median(one.processor for one in found)


class SameEnding:
    """Noise counted from the end: the last steps get the same, however many came before."""

    BLOCK = 1000

    def __init__(self, seed: int, steps: int) -> None:
        self.seed, self.left, self.block = seed, steps, -1
        self.noise = np.empty(0)

    def standard_normal(self, shape: tuple[int, ...]) -> Any:
        self.left -= 1
        block, place = divmod(self.left, self.BLOCK)
        if block != self.block:
            generator = np.random.default_rng([self.seed, block])
            self.block, self.noise = block, generator.standard_normal((self.BLOCK, *shape))
        return self.noise[place]


def plateau(quick: bool) -> list[list[Cell]]:
    """The same noise for 1, 10 and 100 times the steps: what it costs, and what it does."""
    data = LOADERS["breast cancer"]()
    n, d = data.train_features.shape
    problem = Problem(link=Logistic(), records=n, features=d, feature_norm=1.0)
    target = {"epsilon": 1.0, "delta": DELTA, "adjacency": wane.Adjacency.ZERO_OUT}
    free = plan(problem, **target)
    assert free.steps is not None and free.step_size is not None
    ridge = 2.0 / (free.steps * free.step_size)  # forgets before the planned run would stop
    base = plan(
        problem,
        **target,
        ridge=ridge,
        step_size=0.9 * free.step_size,
        steps=round(3.5 * free.steps),
        batches=wane.FullBatch(),
    )
    assert base.steps is not None
    rows: list[list[Cell]] = []
    for factor in (1, 10) if quick else (1, 10, 100):
        run = replace(base, steps=factor * base.steps)
        sums = LinearSums(
            data.train_features,
            2.0 * data.train_labels - 1.0,
            Logistic(),
            feature_norm=1.0,
            gradient_bound=run.objective.gradient_bound,
        )
        found = []
        for seed in range(2 if quick else 3):
            w = descend(run, sums, generator=SameEnding(seed, run.steps))
            found.append(np.mean((data.test_features @ w > 0) == data.test_labels))
        every = composition_of(run).epsilon(DELTA)
        rows.append([run.steps, certify(run).epsilon(DELTA), every, float(100 * np.mean(found))])
    return rows
