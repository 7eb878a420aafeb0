"""One full-batch step on a local Dask cluster, in steps of one process, and its bytes on the wire.

python -m benchmarks.dask_step

Both are measured in this one run, on 1M x 100 float32.  Bytes are counted on the loopback
interface, less what is seen there in as much time without steps; other programs may add to them.
"""

import sys
import time
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.timing import fastest, promise_kept
from wane.extra import dask as wane_dask
from wane.learn import PrivateLogisticRegression

RECORDS, COLUMNS, WORKERS, REPEATS = 10**6, 100, 2, 15
LIMIT = 2.0
LOOPBACK = Path("/sys/class/net/lo/statistics/tx_bytes")


def sums(model, X, y, client=None):
    """The gradient sums that a fit would run on, in memory or on a cluster."""
    kept = []
    model._finish = kept.append
    if client is None:
        return model._prepare(X, y).gradients
    chunk = -(-RECORDS // WORKERS)
    rows, targets = da.from_array(X, chunks=(chunk, COLUMNS)), da.from_array(y, chunks=chunk)
    wane_dask.fit(model, rows, targets, client=client)
    return kept[0].gradients


def bytes_for_each(step, repeats: int) -> float:
    """Bytes sent for one step."""
    if not LOOPBACK.exists():
        return float("nan")
    before, start = int(LOOPBACK.read_text()), time.perf_counter()
    for _ in range(repeats):
        step()
    after, taken = int(LOOPBACK.read_text()), time.perf_counter() - start
    time.sleep(taken)
    idle = int(LOOPBACK.read_text()) - after
    return (after - before - idle) / repeats


def main() -> int:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((RECORDS, COLUMNS), dtype=np.float32)
    y = (X[:, 0] > 0.0).astype(int)
    x = generator.standard_normal(COLUMNS + 1)
    everything = slice(0, RECORDS)
    settings = {"classes": (0, 1), "steps": 1, "feature_norm": 10.0}
    alone = sums(PrivateLogisticRegression(**settings), X, y)
    with (
        LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        spread = sums(PrivateLogisticRegression(**settings), X, y, client)
        np.testing.assert_allclose(spread(x, everything), alone(x, everything), rtol=1e-4)
        together = fastest(lambda: spread(x, everything), REPEATS)
        single = fastest(lambda: alone(x, everything), REPEATS)
        sent = bytes_for_each(lambda: spread(x, everything), REPEATS)
    print(f"one process {1e3 * single:.0f} ms, {WORKERS} workers {1e3 * together:.0f} ms per step")
    holds = promise_kept("Dask step / step of one process", together / single, LIMIT)
    print(f"bytes for one step {sent:.0f}; parameters and sums alone: {8 * x.size * 2 * WORKERS}")
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
