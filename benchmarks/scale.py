"""Peak memory and time of a fit to a Parquet table that need not be in memory as a whole.

python -m benchmarks.scale --rows 10000000 --folder .

Writes a synthetic table by row groups, fits it in a process of its own, and prints one line of
JSON.  `--mode` says where the rows are at each step; with Dask, a local cluster of two workers.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from wane.describe import Cyclic, FullBatch
from wane.learn import PrivateLogisticRegression, fit_table
from wane.tables import ClassTarget, NumericColumn, Schema, read_table

COLUMNS = 10
GROUP = 500_000
WORKERS = 2
SCHEMA = Schema(
    columns=tuple(NumericColumn(name=f"x{i}", low=-3.0, high=3.0) for i in range(COLUMNS)),
    target=ClassTarget(name="y", classes=("0", "1")),
)


def write(path: Path, rows: int) -> None:
    """Write a synthetic table, one row group at a time."""
    generator = np.random.default_rng(0)
    names = [column.name for column in SCHEMA.columns]
    kinds = [(name, pa.float32()) for name in names] + [("y", pa.int8())]
    with parquet.ParquetWriter(path, pa.schema(kinds), compression="none") as file:
        for first in range(0, rows, GROUP):
            X = generator.standard_normal((min(GROUP, rows - first), COLUMNS), dtype=np.float32)
            y = (X[:, 0] - X[:, 1] > 0.0).astype(np.int8)
            file.write_table(pa.table([*X.T, y], schema=pa.schema(kinds)))


Model = PrivateLogisticRegression
Fit = Callable[[Model, Path, Any], Model]
"""Fits the model to the table, with a client of Dask or None."""


def _read(made: Model, path: Path, client: Any) -> Model:
    return fit_table(made, path, SCHEMA)


def _memory(made: Model, path: Path, client: Any) -> Model:
    table = read_table(path, SCHEMA)
    return made.fit(table.features, table.targets)


def _dask(keep: bool) -> Fit:
    def fit(made: Model, path: Path, client: Any) -> Model:
        from wane.extra import dask

        return dask.fit_table(made, path, SCHEMA, client=client, keep=keep)

    return fit


@dataclass(frozen=True)
class Mode:
    """Where the rows are at each step; `against` is the same without Dask."""

    words: str
    fit: Fit
    against: str
    dask: bool = False


MODES = {
    "read": Mode("one process, read at each step", _read, "read"),
    "dask-read": Mode("Dask, read at each step", _dask(keep=False), "read", dask=True),
    "memory": Mode("one process, in memory", _memory, "memory"),
    "dask-kept": Mode("Dask, kept by the workers", _dask(keep=True), "memory", dask=True),
}


@contextmanager
def cluster() -> Iterator[Any]:
    """Yield a client of a local cluster, each worker a process with one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
    ):
        yield client


def model(rows: int, passes: int, progress: bool = False) -> Model:
    """A model that takes this many passes over the rows, in four batches each."""
    full = passes == 1
    return PrivateLogisticRegression(
        classes=(0, 1),
        batches=FullBatch() if full else Cyclic(-(-rows // 4)),
        steps=1 if full else 4 * passes,
        progress=progress,
    )


def peak_bytes() -> int:
    """The most memory that this process has had.

    Linux' own record of the program, since `getrusage` also counts the parent that started it.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    for line in lines:
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(path: Path, rows: int, passes: int, mode: Mode) -> dict[str, object]:
    start = time.perf_counter()
    with cluster() if mode.dask else nullcontext() as client:
        made = mode.fit(model(rows, passes, progress=True), path, client)
        seconds = time.perf_counter() - start
        workers = list(client.run(peak_bytes).values()) if mode.dask else []
    return {
        "rows": made.run_.records,
        "steps": made.n_iter_,
        "seconds": round(seconds, 1),
        "peak_bytes": peak_bytes(),
        "worker_peak_bytes": max(workers, default=None),
        "epsilon": made.certificate_.epsilon(made.delta),
        "coefficients": made.coef_[0].round(3).tolist(),
    }


def alone(path: Path, rows: int, passes: int, mode: str) -> dict[str, Any]:
    """Measure in a process of its own, so that nothing else counts in its memory."""
    arguments = ("--rows", str(rows), "--passes", str(passes), "--mode", mode)
    command = [sys.executable, __file__, *arguments, "--table", str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--mode", choices=tuple(MODES), default="read")
    parser.add_argument("--folder", help="where the table is written for a while")
    parser.add_argument("--table", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.table:
        found = measure(Path(asked.table), asked.rows, asked.passes, MODES[asked.mode])
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        table = Path(folder) / "table.parquet"
        write(table, asked.rows)
        print(json.dumps(alone(table, asked.rows, asked.passes, asked.mode)))


if __name__ == "__main__":
    main()
