"""Write a schema to fill in: the column names, and nothing else that the file holds."""

from __future__ import annotations

import json
from pathlib import Path

from wane.errors import InvalidDescription
from wane.tables.cells import is_number
from wane.tables.schema import MISSING_WORDS
from wane.tables.source import CsvSource, open_source

_LOOKED_AT = 20
_HEAD = """\
# The public schema of a table.  Write here only what is known without looking at the rows:
# documentation, physical limits, code lists.  A bound or a category taken from the rows is a
# release, and no certificate accounts for it.

feature_norm = 1.0        # rows of features longer than this are scaled down to it

[target]                  # the column to predict; remove it from the columns below
name = ""
# classes = ["no", "yes"]     either every class that could occur,
# low = 0.0                   or bounds
# high = 1.0

# For each column: type = "numeric" with low and high (and scale = "symmetric" or "unit"),
# "categorical" with categories = ["a", "b"], or "boolean".  A missing cell becomes zeros; other
# rules are missing = "indicator" and missing = {fill = VALUE}.  Remove what should not be read.
"""


def schema_template(path: str | Path, *, delimiter: str = ",", header: bool | None = None) -> str:
    """Return a schema for this file with its column names only, as TOML to be filled in.

    `header` says whether a CSV file begins with a line of names; without one, columns are named by
    their numbers.  None asks for it to be told, unless every cell of the first line reads like a
    name: the first record must never be copied into a public file.
    """
    source = open_source(path, delimiter=delimiter, header=None)
    names = source.names
    if not names:
        raise InvalidDescription("data must have columns, got an empty header line.")
    lines = [_HEAD]
    if isinstance(source, CsvSource):
        if header is None:
            header = _told_by_the_rows(source, names)
        if not header:
            names = tuple(f"column_{number}" for number in range(1, len(names) + 1))
            lines = [f"header = {json.dumps(list(names))}", "", *lines]
        if delimiter != ",":
            lines = [f"delimiter = {json.dumps(delimiter)}", *lines]
    if len(set(names)) < len(names):
        raise InvalidDescription("data must have distinct column names, got one twice.")
    lines += [f'[columns.{_quoted(name)}]\ntype = ""\n' for name in names]
    return "\n".join(lines)


def _told_by_the_rows(source: CsvSource, names: tuple[str, ...]) -> bool:
    """Return True if the first line is surely a header; refuse the file if that is not certain.

    It is certain where no cell of it is a number, and two columns (or the only one) hold numbers
    below it, or nothing.
    """
    below = source.first_rows(_LOOKED_AT)
    words = all(name and not is_number(name) for name in names)
    numeric = sum(_holds_numbers(cells) for cells in zip(*below, strict=False))
    if words and numeric >= min(2, len(names)):
        return True
    raise InvalidDescription(
        "--header must be given, yes or no: whether the first line holds the names of the columns "
        "or a record is not certain, and a record must not be copied into the schema."
    )


def _holds_numbers(cells: tuple[str, ...]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip() not in MISSING_WORDS]
    return bool(filled) and all(is_number(cell) for cell in filled)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
