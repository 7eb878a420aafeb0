"""Fit on Dask: workers bound records and add gradients, the driver adds noise and releases.

A worker returns, for each of its parts, what is public about it, and then at each step the sum of
the bounded gradients of its rows.  That sum is a pure function of the part and the parameters:
nothing is accumulated on a worker, so a task that runs twice, or again on another worker, gives the
same sum, and it is added once.  Parts themselves are recomputed from the graph when their worker is
lost, and read again from files if they are not kept; so each sum carries the number of its rows and
a keyed hash of them, and a fit whose rows have changed is broken off.  The driver adds the parts'
sums in the order of the parts, so that neither timing nor the number of workers changes a bit of
the result.  Why the bound on one record's share survives these additions in floating point is
proved in `wane.run.parts`.

Parameters of hidden steps, and rows of secret batches, travel to the workers; so do rows between
workers.  Driver, scheduler, workers and the network between them are all trusted.  What fails on a
worker is returned in words of ours, because Dask would log the arguments of a task that raises:
rows, or hidden parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wane.arrays import Array
from wane.errors import InvalidDescription, MissingExtra
from wane.learn.base import PrivateLinearModel
from wane.learn.bounding import Bounding
from wane.learn.parts import (
    Facts,
    Mark,
    Marked,
    MarkedSum,
    Reader,
    Refusal,
    accepted,
    fit_parts,
    quietly,
    together,
)
from wane.run.descent import Rows
from wane.run.parts import Evaluate, Wanted
from wane.tables import Part, Schema, parquet_parts, read_part

try:
    from dask.base import is_dask_collection
    from dask.delayed import delayed
    from distributed import get_client
except ImportError:
    raise MissingExtra("This module needs Dask; install wane[dask].") from None

Model = TypeVar("Model", bound=PrivateLinearModel)
Pair = tuple[Any, Any]
"""Rows and targets of one part."""


def fit(estimator: Model, X: Any, y: Any, *, client: Any = None) -> Model:
    """Fit to a Dask array or data frame, with targets in the same partitions; returns it fitted.

    Each partition is kept on a worker, one record after the other as in the collection.  Fewer and
    larger partitions are faster; at each step every worker gets one task for all of its own.

    Args:
        estimator: a private linear model; everything public about it must be declared.
        X: rows of features.
        y: targets, as the estimator's own `fit` takes them.
        client: of a `distributed` cluster; the current one if None.
    """
    reader = Reader.of(estimator)
    pairs = _pairs(X, y)
    connected = _connected(client)
    homes = _homes(connected, len(pairs))
    return _fit_kept(estimator, reader, connected, connected.compute(pairs), homes)


def fit_table(
    estimator: Model,
    path: str | Path,
    schema: Schema,
    *,
    client: Any = None,
    keep: bool = True,
    dtype: type[np.floating[Any]] = np.float64,
) -> Model:
    """Fit to a Parquet file, or to all of a directory, which every worker can read.

    A part is a row group.  `keep=True` keeps encoded parts on the workers.  `keep=False` reads
    them again at each step, so that the cluster needs memory for one row group at a time and
    thread; then a plan that would draw a secret order of rows takes them in the order they have.
    """
    reader = Reader.of(estimator)
    found = parquet_parts(path, schema)
    readings = [_Reading(part, schema, dtype) for part in found]
    connected = _connected(client)
    if not keep:
        return _fit_reread(estimator, reader, readings, connected)
    homes = _homes(connected, len(readings))
    there = [
        connected.submit(_read, reading, pure=False, workers=[home], allow_other_workers=True)
        for reading, home in zip(readings, homes, strict=True)
    ]
    return _fit_kept(estimator, reader, connected, there, homes)


@dataclass(frozen=True)
class _Reading:
    """A row group to be read wherever this is sent."""

    part: Part
    schema: Schema
    dtype: type[np.floating[Any]]

    def __call__(self) -> Pair:
        table = read_part(self.part, self.schema, dtype=self.dtype)
        return table.features, table.targets


def _homes(client: Any, parts: int) -> list[str]:
    """Return a worker for each part: neighbours share one, and none has many more than another."""
    workers = sorted(client.nthreads())
    return [workers[i * len(workers) // parts] for i in range(parts)]


def _fit_kept(
    estimator: Model, reader: Reader, client: Any, there: list[Any], homes: list[str]
) -> Model:
    facts = client.gather([client.submit(_facts, reader, pair, pure=False) for pair in there])
    filled = [i for i, found in enumerate(facts) if accepted(found) is not None]

    def evaluator(bounding: Bounding) -> Evaluate:
        held = [
            client.submit(
                _sums,
                reader,
                bounding,
                there[i],
                pure=False,
                workers=[homes[i]],
                allow_other_workers=True,
            )
            for i in filled
        ]
        there.clear()  # their recipes stay with the scheduler, for as long as `held` needs them
        return _Kept(client, held, [homes[i] for i in filled], known.marks)

    known = together(facts[i] for i in filled)
    return fit_parts(estimator, known, evaluator, in_order=False)


def _fit_reread(estimator: Model, reader: Reader, readings: list[_Reading], client: Any) -> Model:
    asked = [client.submit(_facts_anew, reader, reading, pure=False) for reading in readings]
    facts = [accepted(found) for found in client.gather(asked)]
    filled = [(one, found) for one, found in zip(readings, facts, strict=True) if found is not None]

    def evaluator(bounding: Bounding) -> Evaluate:
        return _Reread(client, reader, bounding, [one for one, _ in filled], known.marks)

    known = together(found for _, found in filled)
    return fit_parts(estimator, known, evaluator, in_order=True)


@dataclass(frozen=True)
class _Kept:
    """Parts held by workers; one task at each step for the parts with the same home."""

    client: Any
    parts: list[Any]
    homes: list[str]
    marks: tuple[Mark, ...]

    def __call__(self, parameters: Array, wanted: list[Wanted]) -> Iterator[Array]:
        """Return the parts' sums, in their order."""
        shared: dict[str, list[Wanted]] = {}
        for part, rows in wanted:
            shared.setdefault(self.homes[part], []).append((part, rows))
        tasks = [
            self.client.submit(
                _added,
                [self.parts[part] for part, _ in mine],
                parameters,
                [rows for _, rows in mine],
                pure=False,  # a key must not be made from the parameters
                workers=[home],
                allow_other_workers=True,
            )
            for home, mine in shared.items()
        ]
        sums = (each for found in self.client.gather(tasks) for each in accepted(found))
        order = (part for mine in shared.values() for part, _ in mine)
        return (each.of(self.marks[part]) for each, part in zip(sums, order, strict=True))


@dataclass(frozen=True)
class _Reread:
    """Parts read from files for each step; one task for each."""

    client: Any
    reader: Reader
    bounding: Bounding
    readings: list[_Reading]
    marks: tuple[Mark, ...]

    def __call__(self, parameters: Array, wanted: list[Wanted]) -> Iterator[Array]:
        """Return the parts' sums, in their order."""
        tasks = [
            self.client.submit(
                _added_anew,
                self.reader,
                self.bounding,
                self.readings[part],
                parameters,
                rows,
                pure=False,
            )
            for part, rows in wanted
        ]
        found = (accepted(each) for each in self.client.gather(tasks))
        return (each.of(self.marks[part]) for each, (part, _) in zip(found, wanted, strict=True))


# What runs on workers.  None of these raises for what rows hold.


def _read(reading: Callable[[], Pair]) -> Pair | Refusal:
    return quietly(reading)


def _pair(rows: Any, targets: Any) -> Pair:
    return rows, targets


def _facts(reader: Reader, pair: Pair | Refusal) -> Facts | Refusal | None:
    return pair if isinstance(pair, Refusal) else reader.facts(*pair)


def _facts_anew(reader: Reader, reading: _Reading) -> Facts | Refusal | None:
    return _facts(reader, quietly(reading))


def _sums(reader: Reader, bounding: Bounding, pair: Pair | Refusal) -> Marked | Refusal:
    return pair if isinstance(pair, Refusal) else reader.sums(bounding, *pair)


def _added(
    parts: list[Marked | Refusal], parameters: Array, rows: list[Rows]
) -> list[MarkedSum] | Refusal:
    return quietly(
        lambda: [accepted(part)(parameters, mine) for part, mine in zip(parts, rows, strict=True)]
    )


def _added_anew(
    reader: Reader, bounding: Bounding, reading: _Reading, parameters: Array, rows: Rows
) -> MarkedSum | Refusal:
    part = _sums(reader, bounding, quietly(reading))
    return quietly(lambda: accepted(part)(parameters, rows))


# What the driver asks of collections and clients.


def _pairs(X: Any, y: Any) -> list[Any]:
    """One delayed pair for each partition."""
    if hasattr(X, "rechunk") and X.ndim == 2:
        X = X.rechunk({1: -1})
        if hasattr(y, "rechunk") and not np.isnan([*X.shape, *y.shape]).any():
            y = y.rechunk({0: X.chunks[0]} | dict.fromkeys(range(1, y.ndim), -1))
    rows, targets = _delayed("X", X), _delayed("y", y)
    if len(rows) != len(targets):
        raise InvalidDescription(
            f"y must have the partitions of X, got {len(targets)} and {len(rows)}; take both from "
            "one data frame, or repartition one of them."
        )
    pair = delayed(_pair, pure=False)
    return [pair(*both) for both in zip(rows, targets, strict=True)]


def _delayed(name: str, collection: Any) -> list[Any]:
    if not is_dask_collection(collection) or not hasattr(collection, "to_delayed"):
        raise InvalidDescription(
            f"{name} must be a Dask array or data frame, got {type(collection).__name__}; "
            "for data in memory use the estimator's own fit."
        )
    # Left alone, the optimizer may join partitions of X and of y in different ways.
    return list(np.ravel(collection.to_delayed(optimize_graph=False)))


def _connected(client: Any) -> Any:
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise InvalidDescription(
                "client must be given, got None and no current one; start a cluster with "
                "distributed.Client()."
            ) from None
    if not client.nthreads():
        raise InvalidDescription("client must have at least one worker, got none.")
    return client
