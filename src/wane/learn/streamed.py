"""Fit a model to a Parquet table that need not fit into memory, block by block.

Every step reads the rows that it uses from the files again; at no time is more than one block of
rows in memory.  Batches are all rows, or rows in the order of the file.  The order is then public:
it must not depend on what the rows hold, and a file that is sorted by its target learns slowly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.learn.base import PrivateLinearModel
from wane.learn.bounding import Bounding
from wane.learn.parts import (
    Facts,
    Mark,
    Marked,
    Reader,
    accepted,
    fit_parts,
    require_same_rows,
    together,
)
from wane.run.linear import LinearSums
from wane.run.parts import Wanted
from wane.tables import Schema, Table, parquet_parts, read_part_blocks

Model = TypeVar("Model", bound=PrivateLinearModel)


def fit_table(
    estimator: Model,
    path: str | Path,
    schema: Schema,
    *,
    dtype: type[np.floating[Any]] = np.float64,
) -> Model:
    """Fit to a Parquet file, or to all of a directory in the order of their names.

    Targets are as `read_table` gives them: classes are their positions in the schema.  One pass
    over the files checks them before anything is planned; they must not change until the fit ends.
    A plan that would draw a secret order of rows takes them in the order they have.
    """
    reader = Reader.of(estimator)
    groups = parquet_parts(path, schema)

    def blocks(group: int) -> Iterator[Table]:
        return read_part_blocks(groups[group], schema, dtype=dtype)

    def evaluator(bounding: Bounding) -> _Stream:
        def sums(block: Table) -> Marked:
            return accepted(reader.sums(bounding, block.features, block.targets))

        return _Stream(blocks, places, sums)

    places, found = _examined(reader, blocks, len(groups))

    return fit_parts(estimator, together(found), evaluator, in_order=True)


@dataclass(frozen=True)
class _Place:
    """Where a block is: its row group, its place therein, and the mark of its rows."""

    group: int
    number: int
    mark: Mark


def _examined(
    reader: Reader, blocks: Callable[[int], Iterator[Table]], groups: int
) -> tuple[list[_Place], list[Facts]]:
    """Read everything once; what is wrong with it is said before any noise is drawn."""
    places, found = [], []
    for group in range(groups):
        for number, block in enumerate(blocks(group)):
            facts = accepted(reader.facts(block.features, block.targets))
            if facts is not None:
                found.append(facts)
                places.append(_Place(group, number, facts.marks[0]))
    return places, found


class _Stream:
    """Sums over blocks of a table, read when wanted; going forward reads none of them twice."""

    def __init__(
        self,
        blocks: Callable[[int], Iterator[Table]],
        places: list[_Place],
        sums: Callable[[Table], Marked],
    ) -> None:
        self._open, self._places, self._sums = blocks, places, sums
        self._blocks: Iterator[Table] = iter(())
        self._next = (-1, 0)  # group and number of what the iterator of blocks yields next
        self._held: tuple[int, LinearSums] | None = None

    def __call__(self, parameters: Array, wanted: list[Wanted]) -> Iterator[Array]:
        """Yield the sum over the wanted rows of each block."""
        for block, rows in wanted:
            yield self._block(block)(parameters, rows)

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed hash of all blocks, in one more pass over the files."""
        made = hashlib.blake2b(key=key, digest_size=32, person=b"wane-blocks")
        for index in range(len(self._places)):
            made.update(self._block(index).fingerprint(key))
        return made.digest()

    def _block(self, index: int) -> LinearSums:
        if self._held is None or self._held[0] != index:
            self._held = None  # so that two blocks are never in memory together
            self._held = (index, self._read(self._places[index]))
        return self._held[1]

    def _read(self, place: _Place) -> LinearSums:
        group, number = self._next
        if group != place.group or number > place.number:
            self._blocks = self._open(place.group)
            number = 0
        block = next(self._blocks, None)
        for _ in range(place.number - number):
            block = next(self._blocks, None)
        self._next = (place.group, place.number + 1)
        if block is None:
            raise InvalidDescription("data must not change during a fit, got fewer rows.")
        made = self._sums(block)
        require_same_rows(made.mark, place.mark)
        return made.sums
