"""A schema to fill in: the column names, and nothing else that the file holds."""

from __future__ import annotations

import json
from pathlib import Path

from wane.errors import InvalidDescription
from wane.tables.source import CsvSource, open_source

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


def schema_template(path: str | Path, *, delimiter: str = ",", header: bool = True) -> str:
    """Return a schema for this file with its column names only, as TOML to be filled in.

    Without a header line (`header=False`), columns are named by their numbers.
    """
    source = open_source(path, delimiter=delimiter, header=None)
    names = source.names
    if not names:
        raise InvalidDescription("data must have columns, got an empty header line.")
    lines = [_HEAD]
    if isinstance(source, CsvSource):
        if not header:
            names = tuple(f"column_{number}" for number in range(1, len(names) + 1))
            lines = [f"header = {json.dumps(list(names))}", "", *lines]
        else:
            _check_header(names)
        if delimiter != ",":
            lines = [f"delimiter = {json.dumps(delimiter)}", *lines]
    if len(set(names)) < len(names):
        raise InvalidDescription("data must have distinct column names, got one twice.")
    lines += [f'[columns.{_quoted(name)}]\ntype = ""\n' for name in names]
    return "\n".join(lines)


def _check_header(names: tuple[str, ...]) -> None:
    """A first line of cells must not be copied into a public file."""
    for number, name in enumerate(names, start=1):
        if not name or _is_number(name):
            raise InvalidDescription(
                f"the first line must hold the names of the columns, got a number or nothing in "
                f"place {number}; if the file has no header line, say --no-header."
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
