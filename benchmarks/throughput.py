"""Steps of the runner: against what the memory and the processor allow, and against Opacus.

    python -m benchmarks throughput

A full-batch step must read every row once.  How many bytes that is, over the seconds it takes, is
set against a copy of a large array in the manner of STREAM; how much arithmetic, against matrix
products that stay in the cache.  Both are measured in the rounds in which the steps are.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from threadpoolctl import threadpool_limits

import wane
from benchmarks.environments import OPACUS, Unavailable
from benchmarks.report import Cell, Page, Plot, Table
from benchmarks.timing import Spread, Work, interleaved, ratio
from wane.run import LinearSums, descend, links, private_generator
from wane.run.linear import LANES

# The roofline.


@dataclass(frozen=True)
class Case:
    """A full-batch step on random rows; one output is logistic regression, more are softmax."""

    rows: int
    columns: int
    outputs: int
    dtype: str

    @property
    def model(self) -> str:
        return "logistic" if self.outputs == 1 else "softmax"

    @property
    def bytes(self) -> int:
        """Bytes that must be read: each row once, with its target, its scale and its cap."""
        return self.rows * (self.columns * np.dtype(self.dtype).itemsize + 3 * 8)

    @property
    def operations(self) -> int:
        """Additions and multiplications of the two products; the link's own are not counted."""
        return 4 * self.rows * self.columns * self.outputs

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of about unit length, and labels from zero."""
        rng = np.random.default_rng(0)
        features = rng.standard_normal((self.rows, self.columns), dtype=np.float32)
        features /= np.float32(np.sqrt(self.columns))
        labels = rng.integers(0, max(2, self.outputs), self.rows)
        return features.astype(self.dtype, copy=False), labels

    def sums(self, features: np.ndarray, labels: np.ndarray) -> LinearSums:
        logistic = self.outputs == 1
        link = links.Logistic() if logistic else links.Softmax(self.outputs)
        targets = 2 * labels - 1 if logistic else labels
        return LinearSums(features, targets, link, feature_norm=1.0)

    def step(self) -> Work:
        sums = self.sums(*self.data())
        x = np.random.default_rng(1).standard_normal(sums.shape)
        return lambda: sums(x, slice(0, self.rows))


THREADS = min(LANES, os.cpu_count() or 1)
COPIED = 2**25
SIDE = 640


@dataclass(frozen=True)
class Machine:
    """What the step is measured against, on as many threads as the step has."""

    pool: ThreadPoolExecutor

    def copy(self, count: int = COPIED) -> Work:
        """Copy an array of doubles that no cache holds: bytes read, and as many written."""
        source, target = np.ones(count), np.zeros(count)
        parts = list(
            zip(np.array_split(target, THREADS), np.array_split(source, THREADS), strict=True)
        )
        return lambda: list(self.pool.map(lambda pair: np.copyto(*pair), parts))

    def products(self, side: int = SIDE) -> Work:
        """Multiply matrices of doubles that stay in the cache, one pair for each thread."""
        rng = np.random.default_rng(0)
        sets = [
            (rng.random((side, side)), rng.random((side, side)), np.empty((side, side)))
            for _ in range(THREADS)
        ]

        def work() -> None:
            with threadpool_limits(1):
                list(self.pool.map(lambda s: np.matmul(s[0], s[1], out=s[2]), sets))

        return work


@contextmanager
def machine() -> Iterator[Machine]:
    with ThreadPoolExecutor(THREADS) as pool:
        yield Machine(pool)


FULL = (
    (1_000_000, 20, 1),
    (1_000_000, 100, 1),
    (100_000, 1000, 1),
    (400_000, 50, 10),
    (60_000, 784, 10),
)
QUICK = ((200_000, 50, 1), (50_000, 100, 10))
ROOFLINE = (
    "model",
    "dtype",
    "rows",
    "columns",
    "outputs",
    "rounds",
    "seconds",
    "seconds_low",
    "seconds_high",
    "bytes",
    "GB_per_second",
    "copy_GB_per_second",
    "share_of_copy",
    "share_of_copy_low",
    "share_of_copy_high",
    "operations",
    "GFLOP_per_second",
    "product_GFLOP_per_second",
    "share_of_roof",
)


def roofline(case: Case, rounds: int) -> list[Cell]:
    """Measure one step beside the copy and the products."""
    with machine() as beside:
        works = {"copy": beside.copy(), "products": beside.products(), "step": case.step()}
        found = interleaved(works, rounds)
    copied = [2 * 8 * COPIED / s for s in found["copy"]]
    multiplied = [2 * SIDE**3 * THREADS / s for s in found["products"]]
    step = Spread.of(found["step"])
    moved = [case.bytes / s for s in found["step"]]
    share = ratio(moved, copied)
    roofs = [
        max(case.bytes / c, case.operations / p) for c, p in zip(copied, multiplied, strict=True)
    ]
    return [
        case.model,
        case.dtype,
        case.rows,
        case.columns,
        case.outputs,
        rounds,
        step.median,
        step.low,
        step.high,
        case.bytes,
        Spread.of(moved).median / 1e9,
        Spread.of(copied).median / 1e9,
        share.median,
        share.low,
        share.high,
        case.operations,
        case.operations / step.median / 1e9,
        Spread.of(multiplied).median / 1e9,
        ratio(roofs, found["step"]).median,
    ]


# Growth, beside Opacus.


@dataclass(frozen=True)
class Shape:
    """A fit in which every step takes all rows, and how many steps are timed at a time."""

    rows: int
    columns: int
    outputs: int
    steps: int

    @property
    def case(self) -> Case:
        return Case(self.rows, self.columns, self.outputs, "float32")

    def run(self) -> Work:
        """Return wane's runner with noise from the private generator, as a fit runs it."""
        sums = self.case.sums(*self.case.data())
        run = wane.NoisyDescent(
            objective=sums.objective,
            records=self.rows,
            steps=self.steps,
            step_size=1.0,
            noise=wane.NoiseMultiplier(1.0),
        )
        return lambda: descend(run, sums, generator=private_generator())

    def write(self, folder: Path) -> None:
        """Write what Opacus reads: the rows, and a setting for each of its modes."""
        features, labels = self.case.data()
        np.savez(
            folder / "data.npz",
            train_features=features,
            train_labels=labels,
            test_features=features[:10],
            test_labels=labels[:10],
        )
        settings = [
            {
                "seed": 0,
                "epsilon": 1.0,
                "batch": self.rows,
                "epochs": self.steps,
                "learning_rate": 1.0,
                "clip": 1.0,
                "mode": mode,
                "most_steps": self.steps,
            }
            for mode in MODES
        ]
        (folder / "settings.json").write_text(json.dumps(settings))


MODES = ("hooks", "ghost")
FULL_SHAPES = (
    Shape(1_000, 50, 1, 40),
    Shape(10_000, 10, 1, 10),
    Shape(10_000, 50, 1, 10),
    Shape(10_000, 500, 1, 10),
    Shape(100_000, 50, 1, 2),
    Shape(10_000, 500, 10, 5),
)
QUICK_SHAPES = (Shape(1_000, 50, 1, 10),)
GROWTH = (
    "rows",
    "columns",
    "outputs",
    "runner",
    "rounds",
    "steps_per_round",
    "seconds_per_step",
    "seconds_low",
    "seconds_high",
    "over_wane",
    "over_wane_low",
    "over_wane_high",
    "note",
)


def growth(shape: Shape, rounds: int) -> list[list[Cell]]:
    """Measure wane's runner and both of Opacus' modes in turn, in processor seconds."""
    ours, seconds, failure = shape.run(), [], ""
    theirs: dict[str, list[float]] = {mode: [] for mode in MODES}
    with TemporaryDirectory() as name:
        folder = Path(name)
        shape.write(folder)
        for _ in range(rounds):
            seconds += interleaved({"wane": ours}, 1, time.process_time)["wane"]
            if not failure:
                failure = _opacus(folder, theirs)
    steps = [s / shape.steps for s in seconds]
    rows = [_growth_row(shape, "wane", steps, steps, "")]
    for mode, found in theirs.items():
        note = "" if len(found) == rounds else failure or "no answer"
        rows.append(_growth_row(shape, f"opacus, {mode}", found, steps, note))
    return rows


def _opacus(folder: Path, theirs: dict[str, list[float]]) -> str:
    """Add one round of Opacus, in a process of its own; return why there is none, or nothing."""
    try:
        for line in OPACUS.lines("peer_opacus.py", "data.npz", "settings.json", cwd=folder):
            theirs[line["mode"]].append(line["seconds"])
    except Unavailable as error:
        return " ".join(str(error).split())
    return ""


def _growth_row(
    shape: Shape, runner: str, seconds: list[float], ours: list[float], note: str
) -> list[Cell]:
    start: list[Cell] = [shape.rows, shape.columns, shape.outputs, runner, len(seconds)]
    if note:
        return [*start, shape.steps, *[None] * 6, note]
    own, over = Spread.of(seconds), ratio(seconds, ours)
    return [
        *start,
        shape.steps,
        own.median,
        own.low,
        own.high,
        over.median,
        over.low,
        over.high,
        "",
    ]


# The page.

WORDS = f"""
Steps that take all rows, without subsampling. Times are medians over rounds in which everything
that is compared runs in turn; `low` and `high` are quartiles over the rounds, and ratios are taken
round by round.

**Roofline.** A step of wane's runner must read each row once, with its target and two bounds in
double precision; these are the bytes in the table. The copy reads and writes a large array, as
STREAM counts it, on as many threads as the step. A step only reads, which can be faster than a
copy, so that shares above one are possible. The roof is whichever takes longer, the bytes at the
copy's speed or the multiplications and additions at the speed of matrix products in double
precision; exponentials are not counted. Rows in single precision are half the bytes, but the
arithmetic is in double precision always, because the bound on one record's share must survive
rounding.

**Growth.** Processor seconds of all threads for a step, noise included: wane's `descend` with its
private generator; Opacus on one thread with its Poisson loader at rate one, per-record gradients by
hooks or by ghost clipping, in a process of its own for each round. Opacus supports any
network, wane's runner linear models only. Opacus' environment: {OPACUS.versions()}.
"""


def page(quick: bool) -> Page:
    """Measure everything."""
    sizes, rounds = (QUICK, 3) if quick else (FULL, 5)
    cases = [Case(*size, dtype) for size in sizes for dtype in ("float32", "float64")]
    roofs = [roofline(case, rounds) for case in cases]
    shapes, rounds = (QUICK_SHAPES, 1) if quick else (FULL_SHAPES, 2)
    grown = [row for shape in shapes for row in growth(shape, rounds)]
    tables = (
        Table(
            "throughput-roofline",
            "Bytes and operations for each second",
            ROOFLINE,
            roofs,
            shown=(
                "model",
                "dtype",
                "rows",
                "columns",
                "outputs",
                "seconds",
                "GB_per_second",
                "copy_GB_per_second",
                "share_of_copy",
                "share_of_roof",
            ),
        ),
        Table(
            "throughput-growth",
            "Seconds for each step beside Opacus",
            GROWTH,
            grown,
            shown=(
                "rows",
                "columns",
                "outputs",
                "runner",
                "seconds_per_step",
                "over_wane",
                "over_wane_low",
                "over_wane_high",
                "note",
            ),
        ),
    )
    plots = (
        Plot("throughput-roofline", "Roofline", lambda axes: draw_roofline(axes, roofs)),
        Plot(
            "throughput-rows",
            "Seconds for each step against rows",
            lambda axes: draw_growth(axes, grown, "rows", columns=50),
        ),
        Plot(
            "throughput-columns",
            "Seconds for each step against columns",
            lambda axes: draw_growth(axes, grown, "columns", rows=10_000),
        ),
    )
    return Page("throughput", "Throughput: the roofline, and growth", WORDS, tables, plots)


def draw_roofline(axes: Axes, rows: list[list[Cell]]) -> None:
    found = [dict(zip(ROOFLINE, row, strict=True)) for row in rows]
    memory = statistics.median(_number(row["copy_GB_per_second"]) for row in found)
    peak = statistics.median(_number(row["product_GFLOP_per_second"]) for row in found)
    at = np.geomspace(0.1, 100.0, 200)
    axes.plot(at, np.minimum(at * memory, peak), color="0.4", label="roof")
    for model, dtype in sorted({(str(row["model"]), str(row["dtype"])) for row in found}):
        mine = [row for row in found if (row["model"], row["dtype"]) == (model, dtype)]
        axes.plot(
            [_number(row["operations"]) / _number(row["bytes"]) for row in mine],
            [_number(row["GFLOP_per_second"]) for row in mine],
            "o" if dtype == "float32" else "s",
            label=f"{model}, {dtype}",
        )
    axes.set(xscale="log", yscale="log", xlabel="operations for each byte", ylabel="GFLOP/s")
    axes.legend(fontsize=8)


def draw_growth(axes: Axes, table: list[list[Cell]], along: str, **fixed: int) -> None:
    found = [dict(zip(GROWTH, row, strict=True)) for row in table]
    kept: list[dict[str, Any]] = [
        row
        for row in found
        if row["outputs"] == 1
        and row["seconds_per_step"] is not None
        and all(row[name] == value for name, value in fixed.items())
    ]
    for runner in dict.fromkeys(row["runner"] for row in kept):
        mine = sorted(
            (row[along], row["seconds_per_step"]) for row in kept if row["runner"] == runner
        )
        axes.plot(*zip(*mine, strict=True), marker="o", label=runner)
    where = ", ".join(f"{value} {name}" for name, value in fixed.items())
    axes.set(xscale="log", yscale="log", xlabel=f"{along} ({where})", ylabel="seconds per step")
    if axes.lines:
        axes.legend(fontsize=8)


def _number(cell: Cell) -> float:
    assert isinstance(cell, int | float)
    return float(cell)
