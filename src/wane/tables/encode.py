"""Encode a block of rows as bounded numbers, each record by itself, so that it costs no privacy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array, Mask
from wane.errors import InvalidDescription
from wane.tables.columns import (
    BooleanColumn,
    BoundedTarget,
    CategoricalColumn,
    ClassTarget,
    Column,
    Fill,
    Indicate,
    NumericColumn,
    Scale,
    Target,
)
from wane.tables.schema import Schema
from wane.tables.source import quietly

Floats = NDArray[np.floating[Any]]
TRUE_WORDS = ("true", "t", "yes", "y", "1")
FALSE_WORDS = ("false", "f", "no", "n", "0")


def features(block: Any, schema: Schema, dtype: type[np.floating[Any]]) -> Floats:
    """Return the block's features, every row of norm at most `schema.feature_norm`."""
    rows = unshortened(block, schema, dtype)
    _shorten(rows, schema.feature_norm)
    return rows


def unshortened(block: Any, schema: Schema, dtype: type[np.floating[Any]]) -> Floats:
    """Return the block's features before long rows are scaled down."""
    rows = np.zeros((block.num_rows, len(schema.names)), dtype=dtype)
    place = 0
    for position, column in enumerate(schema.columns):
        width = len(column.labels)
        cells = Cells(column.name, block.column(position), schema.missing_words)
        _encode(column, cells, rows[:, place : place + width])
        place += width
    return rows


def targets(block: Any, schema: Schema) -> NDArray[Any]:
    """Return the block's targets: positions of classes, or numbers moved into their bounds."""
    target = schema.target
    cells = Cells(target.name, block.column(block.num_columns - 1), schema.missing_words)
    return _TARGETS[type(target)](target, cells)


class Cells:
    """The cells of one column of a block, as text or as numbers."""

    def __init__(self, name: str, array: Any, missing_words: tuple[str, ...]) -> None:
        import pyarrow as pa

        self.name = name
        self.missing_words = missing_words
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        self.array = array

    def text(self) -> Any:
        """Return the cells as trimmed text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self.array.type
        readable = (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_boolean,
            pa.types.is_null,
        )
        if not any(test(kind) for test in readable):
            raise InvalidDescription(
                f"column {self.name!r:.60} must hold words or numbers, got the type "
                f"{kind!s:.60}; convert it first."
            )
        if pa.types.is_floating(kind):
            return _floats_as_text(self.array)
        return pc.utf8_trim_whitespace(self.array.cast(pa.string()))

    def numbers(self) -> Array:
        """Return the cells as numbers, NaN where a cell is missing or no number."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self.array.type
        array = self.array
        if pa.types.is_decimal(kind):
            # as text: a column's scale is that of its longest cell, and rounds the others with it
            array = array.cast(pa.string())
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            text = self.text()
            absent = pc.is_in(text, value_set=pa.array(self.missing_words, pa.string()))
            array = pc.if_else(absent, pa.scalar(None, pa.string()), _truth_as_number(text))
        elif not any(
            test(kind)
            for test in (
                pa.types.is_integer,
                pa.types.is_floating,
                pa.types.is_boolean,
                pa.types.is_null,
            )
        ):
            raise InvalidDescription(
                f"column {self.name!r:.60} must hold numbers, got the type {kind!s:.60}; "
                "convert it first, or remove it from the schema."
            )
        complaint = (
            f"column {self.name!r:.60} must hold numbers, got other text in some row; "
            "correct it, or list the word under missing_words."
        )
        cast = quietly(lambda: array.cast(pa.float64(), safe=False), lambda _: complaint)
        values = np.asarray(cast.to_numpy(zero_copy_only=False), dtype=np.float64)
        absent_values = [number_of(word) for word in self.missing_words]
        given = [value for value in absent_values if value is not None]
        return np.where(np.isin(values, given), np.nan, values) if given else values

    def positions(self, words: tuple[str, ...], *, lower: bool = False) -> tuple[Any, Any]:
        """Return the index of each cell among these words (-1: none), and which are missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self._require_distinct(words, synonyms=lower)
        text = pc.utf8_lower(self.text()) if lower else self.text()
        different = text.dictionary_encode()
        absent = tuple(word.lower() if lower else word for word in self.missing_words)
        places = [
            np.append(_places(different.dictionary, some, first=first), -1)  # for null
            for some, first in ((words, lower), (absent, True))
        ]
        null = pa.scalar(len(different.dictionary), pa.int32())
        cells = pc.fill_null(different.indices, null).to_numpy(zero_copy_only=False)
        positions, positions_among_missing = (some[cells] for some in places)
        missing = (positions_among_missing >= 0) | (cells == len(different.dictionary))
        return positions, (positions < 0) & missing

    def _require_distinct(self, words: tuple[str, ...], *, synonyms: bool) -> None:
        """Refuse a column of numbers or booleans that does not tell apart what is declared.

        A data frame makes a column of whole numbers one of doubles as soon as one cell is missing,
        and one of text for one word: one record would change how all others are read.
        """
        import pyarrow as pa

        kind = self.array.type
        if not any(
            test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
        ):
            return
        seen: dict[float, str] = {}
        for word in words:
            value = number_of(word)
            if value is None:
                continue
            why = "is beyond 2^53, where not all whole numbers are doubles"
            if abs(value) < LARGEST_WHOLE:
                other = seen.setdefault(value, word)
                if synonyms or other == word:
                    continue
                why = f"is the same number as {other:.60}"
            raise InvalidDescription(
                f"column {self.name!r:.60} must hold text, since the declared {word:.60} {why}, "
                f"got the type {kind}; convert it to text first."
            )


LARGEST_WHOLE = 2**53
"""From this number on not every whole number is a double, so two of them may be read as one."""

WHOLE = r"^([+-]?\d+)\.0+$"
"""A whole number that some program wrote with a point: 1.0."""

NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)$"
"""Text that programs read as a number."""
TRUTH = {"true": 1.0, "false": 0.0}


def number_of(word: str) -> float | None:
    """Return the number as which a program may have read a word, True as 1; None if it is none."""
    lowered = word.lower()
    if lowered in TRUTH:
        return TRUTH[lowered]
    return float(word) + 0.0 if re.fullmatch(NUMBER, word) and word.isascii() else None


def _places(text: Any, words: tuple[str, ...], *, first: bool) -> NDArray[np.int64]:
    """Return the index of each cell among these words (-1: none).

    A cell is a word as it is written, else in its plain form, else as a number: what reads a table
    makes numbers of 01 and 1.50 if all cells of a column are some, and 1.0 of true.  Of several
    words with one number it is none, unless it may be the `first`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = _plain_words(words)
    values = _values_of_words(words, first=first)
    readings = [  # the one that counts first: as written, in plain form, as a number
        (pc.index_in(text, value_set=pa.array(words, pa.string())), range(len(words))),
        (
            pc.index_in(_plain_text(text), value_set=pa.array(list(plain), pa.string())),
            [words.index(word) for word in plain.values()],
        ),
    ]
    if values:
        numbers = pc.index_in(_values(text), value_set=pa.array(list(values), pa.float64()))
        readings.append((numbers, list(values.values())))
    indices = np.full(len(text), -1, dtype=np.int64)
    for matches, places in reversed(readings):
        at = pc.fill_null(matches, -1).to_numpy(zero_copy_only=False)
        indices = np.where(at >= 0, np.array([*places, -1], dtype=np.int64)[at], indices)
    return indices


def _values_of_words(words: tuple[str, ...], *, first: bool) -> dict[float, int]:
    """Return the places of words that are numbers small enough to be doubles, by their number."""
    places: dict[float, list[int]] = {}
    for place, word in enumerate(words):
        value = number_of(word)
        if value is not None and (first or abs(value) < LARGEST_WHOLE):
            places.setdefault(value, []).append(place)
    return {value: at[0] for value, at in places.items() if first or len(at) == 1}


def _values(text: Any) -> Any:
    """Return the cells as numbers, null where they are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = _truth_as_number(text)
    number = pc.match_substring_regex(digits, NUMBER)
    given = pc.if_else(number, digits, pa.scalar(None, digits.type))
    return pc.add(given.cast(pa.float64()), 0.0)  # -0 is 0


def _floats_as_text(array: Any) -> Any:
    """Return whole numbers as an integer column shows them, however long they are.

    Whether a column holds integers or doubles may hang on one missing cell.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    doubles = array.cast(pa.float64())
    exact = pc.less(pc.abs(doubles), pa.scalar(float(LARGEST_WHOLE)))
    whole = pc.and_(exact, pc.equal(pc.floor(doubles), doubles))
    digits = pc.if_else(whole, doubles, 0.0).cast(pa.int64()).cast(pa.string())
    shown = pc.if_else(whole, digits, array.cast(pa.string()))
    return pc.if_else(pc.is_nan(array), pa.scalar(None, pa.string()), shown)


def _plain_text(text: Any) -> Any:
    """Return words in the one form for all file formats: true, not True, and 1, not 1.0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lowered = pc.utf8_lower(text)
    truth = pc.is_in(lowered, value_set=pa.array(["true", "false"], pa.string()))
    return pc.replace_substring_regex(pc.if_else(truth, lowered, text), WHOLE, r"\1")


def _plain_words(words_declared: tuple[str, ...]) -> dict[str, str]:
    """Return declared words by their plain form; two with the same one need an exact match."""
    by_plain_form: dict[str, list[str]] = {}
    for word in words_declared:
        lowered = word.lower()
        plain = lowered if lowered in ("true", "false") else re.sub(WHOLE, r"\1", word)
        by_plain_form.setdefault(plain, []).append(word)
    return {plain: words[0] for plain, words in by_plain_form.items() if len(words) == 1}


def _truth_as_number(text: Any) -> Any:
    """Return booleans as one or zero, in a file of text as in one of types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lowered = pc.utf8_lower(text)
    for word, digit in (("true", "1"), ("false", "0")):
        same = pc.fill_null(pc.equal(lowered, word), False)
        text = pc.if_else(same, pa.scalar(digit, text.type), text)
    return text


def _encode(column: Column, cells: Cells, out: Floats) -> None:
    missing = _COLUMNS[type(column)](column, cells, out)
    if isinstance(column.missing, Indicate):
        out[missing, -1] = 1.0


def _numeric(column: NumericColumn, cells: Cells, out: Floats) -> Mask:
    values = cells.numbers()
    missing = np.isnan(values)
    filled = isinstance(column.missing, Fill)
    if isinstance(column.missing, Fill):
        values = np.where(missing, float(column.missing.value), values)
    share = (np.clip(values, column.low, column.high) - column.low) / (column.high - column.low)
    scaled = 2.0 * share - 1.0 if column.scale is Scale.SYMMETRIC else share
    out[:, 0] = scaled if filled else np.where(missing, 0.0, scaled)
    return missing


def _categorical(column: CategoricalColumn, cells: Cells, out: Floats) -> Mask:
    places, missing = cells.positions(column.categories)
    if isinstance(column.missing, Fill):
        places = np.where(missing, column.categories.index(str(column.missing.value)), places)
    declared = np.flatnonzero(places >= 0)
    out[declared, places[declared]] = 1.0
    return np.asarray(missing)


def _boolean(column: BooleanColumn, cells: Cells, out: Floats) -> Mask:
    places, missing = cells.positions(TRUE_WORDS + FALSE_WORDS, lower=True)
    if np.any((places < 0) & ~missing):
        raise InvalidDescription(
            f"column {column.name!r:.60} must hold true or false, got something else in some row; "
            "declare it categorical, or list the word under missing_words."
        )
    yes = (places >= 0) & (places < len(TRUE_WORDS))
    if isinstance(column.missing, Fill):
        yes |= missing & bool(column.missing.value)
    out[:, 0] = yes
    return np.asarray(missing)


def _class_target(target: ClassTarget, cells: Cells) -> NDArray[np.int64]:
    places, _ = cells.positions(target.classes)
    if np.any(places < 0):
        raise InvalidDescription(
            f"target {target.name!r:.60} must hold one of its declared classes in every row, got "
            "something else in some row; declare all classes, or remove rows without one."
        )
    return np.asarray(places, dtype=np.int64)


def _bounded_target(target: BoundedTarget, cells: Cells) -> Array:
    values = cells.numbers()
    if np.any(np.isnan(values)):
        raise InvalidDescription(
            f"target {target.name!r:.60} must hold a number in every row, got none in some row; "
            "remove rows without one."
        )
    return np.clip(values, target.low, target.high)


_COLUMNS: dict[type[Column], Callable[[Any, Cells, Floats], Mask]] = {
    NumericColumn: _numeric,
    CategoricalColumn: _categorical,
    BooleanColumn: _boolean,
}
_TARGETS: dict[type[Target], Callable[[Any, Cells], NDArray[Any]]] = {
    ClassTarget: _class_target,
    BoundedTarget: _bounded_target,
}


def _shorten(rows: Floats, bound: float) -> None:
    """Scale rows down to the bound, with a margin that covers every rounding on the way."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    margin = 4.0 * float(np.finfo(rows.dtype).eps) + (rows.shape[1] + 8.0) * 2.3e-16
    within = bound * (1.0 - margin)
    long = norms > within
    rows[long] *= (within / norms[long])[:, None].astype(rows.dtype)
