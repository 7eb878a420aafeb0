"""Scale: one process against Dask, from 1e5 rows on; time, memory and bytes for each step.

    python -m benchmarks scale

Tables are written to a temporary folder, at most one at a time; the largest takes half a gigabyte.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks import dask_step, scale
from benchmarks.report import Cell, Page, Plot, Table
from benchmarks.timing import Spread, interleaved, ratio

LARGE = 10**7
"""From so many rows, what takes long is done less often."""
FULL, FURTHER, ROUNDS = (10**5, 10**6, LARGE), 10**8, 3
QUICK, QUICK_ROUNDS = (10**5, 2 * 10**5), 1
COLUMNS = (
    "rows",
    "columns",
    "where",
    "workers",
    "how",
    "rounds",
    "seconds_per_step",
    "seconds_low",
    "seconds_high",
    "dask_over_one_process",
    "over_low",
    "over_high",
    "setup_seconds",
    "peak_MB_of_driver",
    "peak_MB_of_largest_worker",
    "bytes_on_the_wire_per_step",
    "least_bytes_per_step",
)
MEASURED, EXTRAPOLATED = "measured", "extrapolated"
GROWING = (
    "seconds_per_step",
    "setup_seconds",
    "peak_MB_of_driver",
    "peak_MB_of_largest_worker",
    "bytes_on_the_wire_per_step",
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Prepared:
    """A fit that stands before its first step."""

    gradients: Any
    setup: float
    rows: int

    def __call__(self) -> object:
        return self.gradients(np.zeros(scale.COLUMNS + 1), slice(0, self.rows))

    @classmethod
    def of(cls, mode: scale.Mode, path: Path, rows: int, client: Any) -> Prepared:
        start = time.perf_counter()
        gradients = dask_step.sums(
            scale.model(rows, 1), lambda made: mode.fit(made, path, client if mode.dask else None)
        )
        return cls(gradients, time.perf_counter() - start, rows)


def least_bytes(name: str, rows: int) -> int | None:
    """Parameters to each task and a sum from each part, in double precision."""
    if not scale.MODES[name].dask:
        return None
    parts = -(-rows // scale.GROUP)
    tasks = parts if name == "dask-read" else min(parts, scale.WORKERS)
    return 8 * (scale.COLUMNS + 1) * (tasks + parts)


def measured(path: Path, rows: int, rounds: int, memory: bool, client: Any) -> Iterator[Row]:
    """Time all modes in turn on one table; then each alone, for its memory."""
    ready = {name: Prepared.of(mode, path, rows, client) for name, mode in scale.MODES.items()}
    found = interleaved(ready, rounds)
    repeats = 5 if rows < LARGE else 1
    wires = {
        name: dask_step.bytes_for_each(work, repeats, client)
        for name, work in ready.items()
        if scale.MODES[name].dask
    }
    setups = {name: work.setup for name, work in ready.items()}
    ready.clear()
    for name, mode in scale.MODES.items():
        own = Spread.of(found[name])
        over = ratio(found[name], found[mode.against]) if mode.dask else None
        peak = scale.alone(path, rows, 1, name) if memory else {}
        yield {
            "rows": rows,
            "columns": scale.COLUMNS,
            "where": mode.words,
            "workers": scale.WORKERS if mode.dask else 0,
            "how": MEASURED,
            "rounds": rounds,
            "seconds_per_step": own.median,
            "seconds_low": own.low,
            "seconds_high": own.high,
            "dask_over_one_process": over and over.median,
            "over_low": over and over.low,
            "over_high": over and over.high,
            "setup_seconds": setups[name],
            "peak_MB_of_driver": _megabytes(peak.get("peak_bytes")),
            "peak_MB_of_largest_worker": _megabytes(peak.get("worker_peak_bytes")),
            "bytes_on_the_wire_per_step": wires.get(name),
            "least_bytes_per_step": least_bytes(name, rows),
        }


def _megabytes(count: int | None) -> float | None:
    return None if count is None else count / 1e6


def extrapolated(rows: list[Row], to: int) -> list[Row]:
    """Continue the line through the two largest sizes, for each mode; it is never let fall.

    No step is said to send less than any must.
    """
    made: dict[str, Row] = {}
    for name, mode in scale.MODES.items():
        mine = sorted((r for r in rows if r["where"] == mode.words), key=lambda r: int(r["rows"]))
        first, second = mine[-2:]
        share = (to - second["rows"]) / (second["rows"] - first["rows"])
        row: Row = dict.fromkeys(COLUMNS)
        for quantity in GROWING:
            low, high = first[quantity], second[quantity]
            if low is not None and high is not None:
                row[quantity] = high + share * max(high - low, 0.0)
        row |= {kept: second[kept] for kept in ("columns", "where", "workers")}
        row |= {"rows": to, "how": EXTRAPOLATED, "rounds": 0}
        if (least := least_bytes(name, to)) is not None:
            row["least_bytes_per_step"] = least
            sent = "bytes_on_the_wire_per_step"
            row[sent] = max(row[sent], least)
            alone = made[mode.against]["seconds_per_step"]
            row["dask_over_one_process"] = row["seconds_per_step"] / alone
        made[name] = row
    return list(made.values())


STEP = (
    "rows",
    "columns",
    "workers",
    "rounds",
    "one_process_seconds",
    "dask_seconds",
    "dask_over_one_process",
    "over_low",
    "over_high",
    "bytes_on_the_wire_per_step",
    "least_bytes_per_step",
)


def wide_step(records: int, columns: int, rounds: int, client: Any) -> list[Cell]:
    """A step on random rows in memory, wider than the table's."""
    one, many = dask_step.steps(records, columns, client)
    found = interleaved({"one": one, "many": many}, rounds)
    over = ratio(found["many"], found["one"])
    return [
        records,
        columns,
        scale.WORKERS,
        rounds,
        Spread.of(found["one"]).median,
        Spread.of(found["many"]).median,
        over.median,
        over.low,
        over.high,
        dask_step.bytes_for_each(many, rounds, client),
        8 * (columns + 1) * 2 * scale.WORKERS,
    ]


WORDS = f"""
Full-batch steps of a logistic regression on a Parquet table of {scale.COLUMNS} columns, in row
groups of {scale.GROUP:,} rows: read and encoded anew at each step, or held in memory; by one
process, which uses threads for large batches, or by a local Dask cluster of {scale.WORKERS} workers
with one thread each, on the same machine. Nothing leaves this machine, so Dask can win nothing but
the use of its cores; what it costs is what the tables show.

Times are medians over rounds in which all modes take a step in turn, on the same table; `low` and
`high` are quartiles, and ratios are taken round by round against one process that has its rows in
the same place. Setting up is reading and checking everything once, timed once. Peak memory is that
of a fit in processes of its own, the interpreter with its libraries included.

Bytes on the wire are measured: every message that client, scheduler and workers write to each other
is counted when Dask has serialised it, heartbeats subtracted. Beside it the least that any
protocol would send, the parameters to each task and a sum from each part.

Rows marked *extrapolated* were not run: they continue the straight line through the two largest
sizes that were, or stay level where that line falls; bytes are at least the least.
"""


def page(quick: bool) -> Page:
    """Measure everything."""
    sizes, rounds = (QUICK, QUICK_ROUNDS) if quick else (FULL, ROUNDS)
    found: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        client = stack.enter_context(scale.cluster())
        table = folder / "table.parquet"
        scale.write(table, 1000)
        for mode in scale.MODES.values():
            Prepared.of(mode, table, 1000, client)()  # so that workers have imported everything
        for rows in sizes:
            scale.write(table, rows)
            found += measured(table, rows, 1 if rows >= LARGE else rounds, not quick, client)
        table.unlink()
        shape = (20_000, 20) if quick else (dask_step.RECORDS, dask_step.COLUMNS)
        wide = [wide_step(*shape, 2 if quick else 9, client)]
    found += extrapolated(found, FURTHER)
    tables = (
        Table(
            "scale-table",
            "A Parquet table",
            COLUMNS,
            [[row[name] for name in COLUMNS] for row in found],
            shown=(
                "rows",
                "where",
                "how",
                "seconds_per_step",
                "dask_over_one_process",
                "setup_seconds",
                "peak_MB_of_driver",
                "peak_MB_of_largest_worker",
                "bytes_on_the_wire_per_step",
                "least_bytes_per_step",
            ),
        ),
        Table("scale-step", "Random rows in memory", STEP, wide),
    )
    plots = (
        Plot(
            "scale-seconds",
            "Seconds for each step against rows",
            lambda axes: draw(axes, found, "seconds_per_step", "seconds per step"),
        ),
        Plot(
            "scale-memory",
            "Peak memory of the largest process against rows",
            lambda axes: draw(axes, found, "peak", "peak memory of the largest process, MB"),
        ),
    )
    return Page("scale", "Scale: one process and Dask", WORDS, tables, plots)


def draw(axes: Axes, rows: list[Row], what: str, words: str) -> None:
    for place in dict.fromkeys(row["where"] for row in rows):
        mine = [(row, _value(row, what)) for row in rows if row["where"] == place]
        known = [(row["rows"], value) for row, value in mine if value and row["how"] == MEASURED]
        if not known:
            continue
        line = axes.plot(*zip(*known, strict=True), marker="o", label=place)[0]
        beyond = [(row["rows"], value) for row, value in mine if row["how"] == EXTRAPOLATED]
        axes.plot(
            *zip(known[-1], *beyond, strict=True),
            linestyle=":",
            marker="o",
            markerfacecolor="none",
            color=line.get_color(),
        )
    axes.set(xscale="log", yscale="log", xlabel="rows (open circles: extrapolated)", ylabel=words)
    if axes.lines:
        axes.legend(fontsize=8)


def _value(row: Row, what: str) -> float | None:
    if what != "peak":
        value: float | None = row[what]
        return value
    peaks = [row["peak_MB_of_driver"], row["peak_MB_of_largest_worker"]]
    return max((peak for peak in peaks if peak is not None), default=None)
