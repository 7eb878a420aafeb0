"""Peak memory and time of a fit to a Parquet table that is never in memory as a whole.

python -m benchmarks.scale --rows 10000000 --folder .

Writes a synthetic table by row groups, fits it in a process of its own, and prints one line of
JSON.  `--workers 2` fits it on a local Dask cluster instead, each step reading row groups again;
memory is then that of the largest process.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from wane.describe import Cyclic, FullBatch
from wane.learn import PrivateLogisticRegression, fit_table
from wane.tables import ClassTarget, NumericColumn, Schema

COLUMNS = 10
GROUP = 500_000
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


def model(rows: int, passes: int) -> PrivateLogisticRegression:
    """A model that takes this many passes over the rows, in four batches each."""
    full = passes == 1
    return PrivateLogisticRegression(
        classes=(0, 1),
        batches=FullBatch() if full else Cyclic(-(-rows // 4)),
        steps=1 if full else 4 * passes,
        progress=True,
    )


def fitted(path: Path, rows: int, passes: int, workers: int) -> PrivateLogisticRegression:
    if not workers:
        return fit_table(model(rows, passes), path, SCHEMA)
    from distributed import Client, LocalCluster

    from wane.extra import dask

    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        return dask.fit_table(model(rows, passes), path, SCHEMA, client=client, keep=False)


def peak_bytes() -> int:
    """The most memory that this process, or a child of it that has ended, has had."""
    people = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(who).ru_maxrss for who in people) * 1024


def measure(path: Path, rows: int, passes: int, workers: int) -> dict[str, object]:
    start = time.perf_counter()
    made = fitted(path, rows, passes, workers)
    return {
        "rows": made.run_.records,
        "steps": made.n_iter_,
        "seconds": round(time.perf_counter() - start, 1),
        "peak_bytes": peak_bytes(),
        "epsilon": made.certificate_.epsilon(made.delta),
        "coefficients": made.coef_[0].round(3).tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--folder", help="where the table is written for a while")
    parser.add_argument("--table", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.table:
        found = measure(Path(options.table), options.rows, options.passes, options.workers)
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        table = Path(folder) / "table.parquet"
        write(table, options.rows)
        # in a process of its own, so that writing does not count
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--table", str(table)], check=True)


if __name__ == "__main__":
    main()
