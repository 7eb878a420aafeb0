"""One full-batch step on a local Dask cluster, in steps of one process, and its bytes on the wire.

python -m benchmarks.dask_step

Both are measured in this one run, on 1M x 100 float32.  Bytes are those of the serialised messages
that client, scheduler and workers write to each other, less what they write at rest, before
the steps: late messages of a step never count as rest.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from distributed.comm.tcp import TCP

from benchmarks.scale import WORKERS, cluster
from benchmarks.timing import fastest, promise_kept
from wane.extra import dask as wane_dask
from wane.learn import PrivateLogisticRegression

RECORDS, COLUMNS, REPEATS = 10**6, 100, 15
LIMIT = 2.0

SETTLING, RESTING = 0.3, 2.0
"""Seconds until what a step leaves behind is sent, too, and how long nothing is done."""

Step = Callable[[], np.ndarray]


def sums(model: Any, fit: Callable[[Any], object]) -> Any:
    """Return the gradient sums that this fit would run on."""
    kept: list[Any] = []
    model._finish = kept.append
    fit(model)
    return kept[0].gradients


def steps(records: int, columns: int, client: Any) -> tuple[Step, Step]:
    """The same full-batch step in one process and on the cluster; rows are random, in memory."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((records, columns), dtype=np.float32)
    y = (X[:, 0] > 0.0).astype(int)
    x = generator.standard_normal(columns + 1)
    chunk = -(-records // WORKERS)
    rows, targets = da.from_array(X, chunks=(chunk, columns)), da.from_array(y, chunks=chunk)
    settings = {"classes": (0, 1), "steps": 1, "feature_norm": 10.0}
    alone = sums(PrivateLogisticRegression(**settings), lambda model: model.fit(X, y))
    spread = sums(
        PrivateLogisticRegression(**settings),
        lambda model: wane_dask.fit(model, rows, targets, client=client),
    )
    everything = slice(0, records)
    np.testing.assert_allclose(spread(x, everything), alone(x, everything), rtol=1e-4, atol=1e-6)
    return lambda: alone(x, everything), lambda: spread(x, everything)


def count_messages() -> None:
    """From now on keep count of the bytes that this process writes to others of the cluster."""
    if hasattr(TCP, "counted_bytes"):
        return
    plain = TCP.write

    async def write(self: Any, *message: Any, **options: Any) -> int:
        size: int = await plain(self, *message, **options)
        TCP.counted_bytes += size
        return size

    TCP.counted_bytes = 0
    TCP.write = write


def counted() -> int:
    """Bytes written by this process since it counts."""
    return int(TCP.counted_bytes)


def bytes_for_each(step: Callable[[], object], repeats: int, client: Any) -> float:
    """Bytes of the messages for one step, both ways; the scheduler shares the client's process."""
    count_messages()
    client.run(count_messages)

    def written() -> int:
        return counted() + sum(client.run(counted).values())

    step()
    time.sleep(SETTLING)
    resting = written()
    time.sleep(RESTING)
    before, start = written(), time.perf_counter()
    for _ in range(repeats):
        step()
    time.sleep(SETTLING)
    share = (time.perf_counter() - start) / RESTING
    return (written() - before - share * (before - resting)) / repeats


def main() -> int:
    with cluster() as client:
        one, many = steps(RECORDS, COLUMNS, client)
        together, single = fastest(many, REPEATS), fastest(one, REPEATS)
        sent = bytes_for_each(many, REPEATS, client)
    print(f"one process {1e3 * single:.0f} ms, {WORKERS} workers {1e3 * together:.0f} ms per step")
    holds = promise_kept("Dask step / step of one process", together / single, LIMIT)
    alone = 8 * (COLUMNS + 1) * 2 * WORKERS
    print(f"bytes for one step {sent:.0f}; parameters and sums alone: {alone}")
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
