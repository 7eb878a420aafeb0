"""The statistics that can be published: sums over records, each with its sensitivity.

Every statistic is a vector of sums.  One record adds a vector that depends on its own cells alone,
is a multiple of 2^-24 in every entry and lies in a public set; the sums are exact whole numbers
of 2^-24.  So the sensitivity is the size of that set: its largest norm if a record may be null or
absent, its diameter if a record may be exchanged (docs/proofs/statistics.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe import Adjacency
from wane.describe.choices import adjacency_of
from wane.errors import InvalidDescription
from wane.statistics.cells import Numbers, Seen, Words, chosen
from wane.statistics.consistent import consistent_leaves, quantiles_of, whole_counts
from wane.tables import Schema
from wane.tables.encode import Cells

BITS = 24
UNIT = 2.0**-BITS
COARSE = 16
"""Bits of a coordinate before two of them are multiplied."""
WEIGHT, SHIFT = 181, 7
"""181/2^7 is just below the square root of two: the weight of an entry off the diagonal."""
UP = 1.0 + 1e-14
MOST_BINS, LEVELS = 1 << 16, 10
Total = Any
"""Whole numbers in int64, as many as the statistic has entries or products."""


@dataclass(frozen=True, kw_only=True)
class Statistic(ABC):
    """What is computed of a table; make one with `of`.

    Attributes:
        columns: as a statistic sees them.
        adjacency: which data sets are compared.
    """

    name: ClassVar[str]
    needs: ClassVar[type[Any]]
    why: ClassVar[str]
    columns: tuple[Any, ...]
    adjacency: Adjacency

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        adjacency: Adjacency,
        columns: tuple[str, ...] | None = None,
        **options: Any,
    ) -> Statistic:
        """Return the statistic of these columns of a schema; of all that it suits, if none."""
        found = chosen(schema, columns, cls.needs, cls.why)
        return cls(columns=found, adjacency=adjacency, **options)

    def to_fields(self) -> dict[str, Any]:
        """Return what `from_fields` turns back into this statistic, given the schema."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        own |= {"columns": [column.name for column in self.columns]}
        own |= {"adjacency": self.adjacency.value}
        return {"statistic": self.name} | {
            name: list(value) if isinstance(value, tuple) else value for name, value in own.items()
        }

    @property
    def in_place(self) -> bool:
        """Whether the number of records is public and stays as it is."""
        return self.adjacency is not Adjacency.ADD_REMOVE

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of entries that are released."""

    @property
    @abstractmethod
    def sensitivity(self) -> float:
        """How far one record moves the vector, in the Euclidean norm; never below the truth."""

    @abstractmethod
    def summed(self, cells: Mapping[str, Cells], rows: int) -> Total:
        """Return what a block of so many rows adds."""

    def finished(self, total: Total) -> Array:
        """Return the vector of a table, exactly, from the sums of its blocks."""
        return np.asarray(total, dtype=np.float64) * UNIT

    @abstractmethod
    def value(self, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return what is published, by column, from the noisy vector and the public row count."""

    def noise(self, std: float, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return the deviation of the noise by column, here that of each count."""
        return {column.name: std for column in self.columns}


def _norm(per_column: list[tuple[float, float]], adjacency: Adjacency, count: float) -> float:
    """The size of a product of sets with these squared norms and diameters, and of a count."""
    if adjacency is Adjacency.REPLACE_ONE:
        return math.sqrt(sum(diameter for _, diameter in per_column)) * UP
    extra = count if adjacency is Adjacency.ADD_REMOVE else 0.0
    return math.sqrt(sum(norm for norm, _ in per_column) + extra) * UP


@dataclass(frozen=True, kw_only=True)
class Mean(Statistic):
    """The mean of each number, and the share of each word."""

    name: ClassVar[str] = "mean"
    needs: ClassVar[type[Any]] = object
    why: ClassVar[str] = "a mean takes every column"

    @property
    def dimension(self) -> int:
        """A number has one entry, each word has one, and so has a count that is not public."""
        return sum(map(_width, self.columns)) + (not self.in_place)

    @property
    def sensitivity(self) -> float:
        """Numbers lie in [-1, 1]; of the words of a column at most one is a one."""
        return _norm([_spread(column) for column in self.columns], self.adjacency, 1.0)

    def summed(self, cells: Mapping[str, Cells], rows: int) -> Total:
        """Return the sums of coordinates."""
        found = [] if self.in_place else [np.array([rows << BITS], dtype=np.int64)]
        for column in self.columns:
            found.append(_coordinates(column, cells[column.name]))
        return np.concatenate(found)

    def value(self, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return means within their bounds, and shares between 0 and 1."""
        count, rest = _counted(noisy, rows)
        made: dict[str, Any] = {}
        for column, part in _split(self.columns, rest / count):
            if isinstance(column, Words):
                shares = [min(max(float(share), 0.0), 1.0) for share in part]
                made[column.name] = dict(zip(_labels(column), shares, strict=True))
                continue
            mean = column.middle + column.half * float(part[0]) / _known(column, part, count)
            made[column.name] = min(max(mean, column.low), column.high)
            if column.indicated:
                made[f"{column.name} missing"] = min(max(float(part[1]), 0.0), 1.0)
        return made

    def noise(self, std: float, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return the deviation of each mean and share."""
        count, rest = _counted(noisy, rows)
        one = std / count
        made: dict[str, Any] = {}
        for column, part in _split(self.columns, rest / count):
            if isinstance(column, Words):
                made[column.name] = dict.fromkeys(_labels(column), one)
                continue
            made[column.name] = column.half * one / _known(column, part, count)
            if column.indicated:
                made[f"{column.name} missing"] = one
        return made


def _known(column: Numbers, part: Array, count: float) -> float:
    """The share of records whose number is known, where missing ones are counted; else one."""
    return max(1.0 - float(part[1]), 1.0 / count) if column.indicated else 1.0


def _labels(column: Words) -> tuple[str, ...]:
    return (*column.words, "missing") if column.indicated else column.words


def _width(column: Seen) -> int:
    return len(_labels(column)) if isinstance(column, Words) else 1 + column.indicated


def _spread(column: Seen) -> tuple[float, float]:
    """The squares of the largest norm and of the diameter of what one record may add."""
    if isinstance(column, Numbers):
        return 1.0, 4.0
    return 1.0, 2.0 if _width(column) > 1 else 1.0


def _coordinates(column: Seen, cells: Cells) -> Any:
    """The sums of one column's coordinates, in whole numbers."""
    if isinstance(column, Numbers):
        found, missing = column.coordinates(cells)
        made = [int(np.rint(found * 2.0**BITS).astype(np.int64).sum())]
        if column.indicated:  # the coordinate of a missing number is then zero
            made.append(int(np.count_nonzero(missing)) << BITS)
        return np.array(made, dtype=np.int64)
    places, missing = column.places(cells)
    counts = np.bincount(places, minlength=len(column.words) + 1)[: len(column.words)]
    if column.indicated:
        counts = np.append(counts, np.count_nonzero(missing))
    return counts.astype(np.int64) << BITS


def _counted(noisy: Array, rows: int | None) -> tuple[float, Array]:
    """The number to divide by, public or noisy, and the rest of the vector."""
    if rows is not None:
        return float(rows), noisy
    return max(float(noisy[0]), 1.0), noisy[1:]


def _split(columns: tuple[Seen, ...], vector: Array) -> list[tuple[Any, Array]]:
    made, place = [], 0
    for column in columns:
        made.append((column, vector[place : place + _width(column)]))
        place += _width(column)
    return made


@dataclass(frozen=True, kw_only=True)
class Counts(Statistic):
    """How many records have each word of a column; all others share one cell."""

    name: ClassVar[str] = "counts"
    needs: ClassVar[type[Any]] = Words
    why: ClassVar[str] = "counts take categories, classes and booleans; histogram takes numbers"

    def cells_of(self, column: Any) -> list[str]:
        """Return the names of the cells of a column, into one of which every record falls."""
        return [*column.words, column.other]

    def places(self, column: Any, cells: Cells) -> Any:
        """Return the cell into which each record falls."""
        return column.places(cells)[0]

    @property
    def dimension(self) -> int:
        """One entry for each cell."""
        return sum(len(self.cells_of(column)) for column in self.columns)

    @property
    def sensitivity(self) -> float:
        """A record is in one cell of each column."""
        return _norm([(1.0, 2.0)] * len(self.columns), self.adjacency, 0.0)

    def summed(self, cells: Mapping[str, Cells], rows: int) -> Total:
        """Return the counts of a block."""
        found = [
            np.bincount(self.places(c, cells[c.name]), minlength=len(self.cells_of(c)))
            for c in self.columns
        ]
        return np.concatenate(found).astype(np.int64) << BITS

    def value(self, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return whole counts of at least 0 that add up to the same total in every column."""
        sizes = [len(self.cells_of(column)) for column in self.columns]
        parts = np.split(noisy, np.cumsum(sizes)[:-1])
        means = sum(float(part.sum()) / len(part) for part in parts)
        weight = sum(1.0 / len(part) for part in parts)
        total = max(round(means / weight), 0) if rows is None else rows
        return {
            column.name: dict(zip(self.cells_of(column), whole_counts(part, total), strict=True))
            for column, part in zip(self.columns, parts, strict=True)
        }


@dataclass(frozen=True, kw_only=True)
class Histogram(Counts):
    """How many records lie in each of equally wide bins between the public bounds."""

    name: ClassVar[str] = "histogram"
    needs: ClassVar[type[Any]] = Numbers
    why: ClassVar[str] = "a histogram takes numbers; counts takes categories"
    bins: int = 10

    def __post_init__(self) -> None:
        arguments.whole("bins", self.bins, least=1, most=MOST_BINS)

    def cells_of(self, column: Any) -> list[str]:
        """Return the intervals, and a cell for missing numbers unless they have a value."""
        edges = [column.low + 2.0 * column.half * i / self.bins for i in range(self.bins)]
        edges.append(column.high)
        made = [f"{a:.12g} to {b:.12g}" for a, b in pairwise(edges)]
        if len(set(made)) < len(made):
            raise InvalidDescription(
                f"bins must be fewer for bounds as close as {column.low:g} and {column.high:g}, "
                f"got {self.bins}."
            )
        return made if column.filled else [*made, "(missing)"]

    def places(self, column: Any, cells: Cells) -> Any:
        """Return the bin of each record, as its clipped number says."""
        found, missing = column.coordinates(cells)
        made = binned(found, self.bins)
        return made if column.filled else np.where(missing, self.bins, made)


def binned(coordinates: Array, bins: int) -> Any:
    """Return the bin of each coordinate in [-1, 1]."""
    return np.minimum((coordinates + 1.0) / 2.0 * bins, bins - 1).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Quantiles(Statistic):
    """Quantiles of numbers, from the counts of a binary tree of 1024 bins between the bounds."""

    name: ClassVar[str] = "quantiles"
    needs: ClassVar[type[Any]] = Numbers
    why: ClassVar[str] = "quantiles take numbers"
    probabilities: tuple[float, ...] = (0.25, 0.5, 0.75)

    def __post_init__(self) -> None:
        if not self.probabilities:
            raise InvalidDescription("probabilities must list at least one number, got none.")
        for one in self.probabilities:
            arguments.real("probabilities", one, least=0.0, most=1.0)

    @property
    def dimension(self) -> int:
        """All nodes but the root, for each column."""
        return len(self.columns) * ((2 << LEVELS) - 2)

    @property
    def sensitivity(self) -> float:
        """A record is in one node of each level, if its number is known."""
        each = (float(LEVELS), 2.0 * LEVELS)
        return _norm([each] * len(self.columns), self.adjacency, 0.0)

    def summed(self, cells: Mapping[str, Cells], rows: int) -> Total:
        """Return the counts of all nodes; a missing number without a value is in none."""
        found = []
        for column in self.columns:
            points, missing = column.coordinates(cells[column.name])
            known = points if column.filled else points[~missing]
            leaves = np.bincount(binned(known, 2**LEVELS), minlength=2**LEVELS)
            found += [leaves.reshape(2**level, -1).sum(axis=1) for level in range(1, LEVELS + 1)]
        return np.concatenate(found).astype(np.int64) << BITS

    def value(self, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return the quantiles of each column, between its bounds and in order."""
        wanted = np.array(self.probabilities)
        made = {}
        for column, part in zip(self.columns, np.split(noisy, len(self.columns)), strict=True):
            levels = np.split(part, np.cumsum([2**level for level in range(1, LEVELS)]))
            shares = quantiles_of(consistent_leaves(levels), wanted)
            values = (column.low + 2.0 * column.half * shares).tolist()
            made[column.name] = {
                f"{p:g}": v for p, v in zip(self.probabilities, values, strict=True)
            }
        return made


@dataclass(frozen=True, kw_only=True)
class Covariance(Statistic):
    """The covariance matrix of numbers: the second moments of (1, z), each pair drawn once."""

    name: ClassVar[str] = "covariance"
    needs: ClassVar[type[Any]] = Numbers
    why: ClassVar[str] = "a covariance takes numbers"

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        size = len(self.columns) + 1
        made = [(i, j) for i in range(size) for j in range(i, size)]
        return made[1:] if self.in_place else made

    @property
    def dimension(self) -> int:
        """One entry for each unordered pair of coordinates of (1, z)."""
        return len(self._pairs)

    @property
    def sensitivity(self) -> float:
        """In the Frobenius norm; rounding the sums may add one unit to each entry."""
        d = float(len(self.columns))
        squares = {
            Adjacency.ZERO_OUT: (d + 1.0) ** 2 - 1.0,
            Adjacency.ADD_REMOVE: (d + 1.0) ** 2,
            Adjacency.REPLACE_ONE: 2.0 * (d + 1.0) ** 2,
        }
        return (math.sqrt(squares[self.adjacency]) + UNIT * math.sqrt(self.dimension)) * UP

    def summed(self, cells: Mapping[str, Cells], rows: int) -> Total:
        """Return the sums of products of whole numbers, which doubles hold exactly."""
        whole = [np.full(rows, 2.0**COARSE)]
        for column in self.columns:
            whole.append(np.rint(column.coordinates(cells[column.name])[0] * 2.0**COARSE))
        matrix = np.stack(whole, axis=1)
        total = np.zeros((matrix.shape[1],) * 2, dtype=np.int64)
        for start in range(0, rows, 1 << 20):  # so many products of 2^32 stay below 2^53
            part = matrix[start : start + (1 << 20)]
            total += (part.T @ part).astype(np.int64)
        return total

    def finished(self, total: Total) -> Array:
        """Return the weighted entries, rounded to the unit in whole numbers."""
        drop = 2 * COARSE - BITS
        made = []
        for i, j in self._pairs:
            entry, shift = int(total[i, j]), drop
            if i != j:
                entry, shift = WEIGHT * entry, drop + SHIFT
            made.append((entry + (1 << (shift - 1))) >> shift)
        return np.array(made, dtype=np.float64) * UNIT

    def value(self, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return a symmetric covariance matrix without negative eigenvalues, by columns."""
        found = self._moments(noisy, rows)
        mean = found[0, 1:]
        inner = found[1:, 1:] - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(inner)
        inner = (vectors * np.maximum(values, 0.0)) @ vectors.T
        halves = np.array([column.half for column in self.columns])
        scaled = np.outer(halves, halves) * (inner + inner.T) / 2.0
        return self._named(scaled)

    def _moments(self, noisy: Array, rows: int | None) -> Array:
        """The mean of (1, z)(1, z)^T, as far as noise lets it be known."""
        size = len(self.columns) + 1
        made = np.zeros((size, size))
        for (i, j), entry in zip(self._pairs, noisy.tolist(), strict=True):
            made[i, j] = made[j, i] = entry if i == j else entry * (2.0**SHIFT / WEIGHT)
        count = float(rows) if rows is not None else max(float(made[0, 0]), 1.0)
        made /= count
        made[0, 0] = 1.0
        return made

    def _named(self, matrix: Array) -> dict[str, dict[str, float]]:
        names = [column.name for column in self.columns]
        return {
            name: dict(zip(names, row, strict=True))
            for name, row in zip(names, matrix.tolist(), strict=True)
        }

    def noise(self, std: float, noisy: Array, rows: int | None) -> dict[str, Any]:
        """Return the deviation of each second moment, of which the covariance is made."""
        count = float(rows) if rows is not None else max(float(noisy[0]), 1.0)
        size, halves = len(self.columns), np.array([column.half for column in self.columns])
        off = std / count * (2.0**SHIFT / WEIGHT)
        each = np.full((size, size), off) + np.diag(np.full(size, std / count - off))
        return self._named(np.outer(halves, halves) * each)


STATISTICS: dict[str, type[Statistic]] = {
    kind.name: kind for kind in (Mean, Counts, Histogram, Covariance, Quantiles)
}


def statistic_from_fields(given: Mapping[str, Any], schema: Schema) -> Statistic:
    """Return the statistic that `Statistic.to_fields` wrote down, of a table with this schema."""
    table = dict(given)
    kind = STATISTICS.get(table.pop("statistic"))
    if kind is None:
        raise InvalidDescription(f"statistic must be one of {', '.join(STATISTICS)}.")
    options: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in table.items()}
    options["adjacency"] = adjacency_of("adjacency", table["adjacency"])
    return kind.of(schema, **options)
