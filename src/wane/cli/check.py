"""`wane check`: how well a schema suits a table, told to the holder of the table alone."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from wane.cli.options import Result, Verb
from wane.tables import Schema, as_file
from wane.tables.suitability import ColumnCounts, Suitability, suitability

WARNING = (
    "For the holder of the data only: these numbers are computed from the rows and are not "
    "private. Do not publish them, and do not set bounds or categories by them."
)


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("check", check, "tell the holder how well a schema suits a table", spec=False)
    made.add_argument("data", metavar="TABLE", help="table, a CSV or Parquet file")
    made.add_argument("--schema", required=True, metavar="FILE", help="its public schema")


def check(options: Namespace) -> Result:
    """`wane check`: shares of cells that the schema does not foresee; nothing is written."""
    with as_file(options.data) as place:
        found = suitability(place, Schema.from_file(options.schema))
    data = {
        "not_private": WARNING,
        "rows": found.rows,
        "columns": {name: _shares(name, found) for name in found.columns},
        "rows_shortened": _share(found.rows_shortened, found.rows),
    }
    return data, _text(found)


def _shares(name: str, found: Suitability) -> dict[str, Any]:
    counts = found.columns[name]
    return {
        "missing": _share(counts.missing, found.rows),
        "clipped": _share(counts.clipped, found.rows),
        "unknown": _share(counts.unknown, found.rows),
        "unknown_by_case": _share(counts.unknown_by_case, found.rows),
        "bounds_equal_extremes": found.bounds_equal_extremes.get(name, 0),
    }


def _share(count: int | None, rows: int) -> float | None:
    return None if count is None else count / rows


def _text(found: Suitability) -> str:
    lines = [WARNING, "", f"rows  {found.rows}"]
    if found.rows_shortened is None:
        lines.append("rows longer than feature_norm  unknown until the cells below can be read")
    else:
        lines.append(f"rows longer than feature_norm  {_percent(found.rows_shortened, found.rows)}")
    for name, counts in found.columns.items():
        lines.append(f"{name:.40}")
        lines += [f"  {line}" for line in _findings(name, counts, found)] or ["  fits"]
    return "\n".join(lines)


def _findings(name: str, counts: ColumnCounts, found: Suitability) -> list[str]:
    made = []
    if counts.missing:
        made.append(f"missing  {_percent(counts.missing, found.rows)}")
    if counts.clipped:
        made.append(f"outside the bounds  {_percent(counts.clipped, found.rows)}")
    if counts.unknown:
        made.append(f"unknown words  {_percent(counts.unknown, found.rows)}")
    if counts.unknown_by_case:
        made.append(
            f"of these, known but for upper and lower case  "
            f"{_percent(counts.unknown_by_case, found.rows)}"
        )
    equal = found.bounds_equal_extremes.get(name, 0)
    if equal:
        made.append(
            f"{equal} of 2 bounds equal the column's own extremes: a bound read off the rows is a "
            "release that no certificate accounts for"
        )
    return made


def _percent(count: int, rows: int) -> str:
    return f"{count} ({100.0 * count / rows:.3g} %)"
