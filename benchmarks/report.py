"""A page of measurements: tables as CSV and Markdown, plots, and where and when they were made."""

from __future__ import annotations

import csv
import importlib.metadata
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Cell = str | int | float | None

OURS = ("wane", "numpy", "scipy")
"""Packages whose versions every page names; peers name their own in their tables."""


@dataclass(frozen=True)
class Table:
    """Rows under named columns, kept whole as CSV; the page shows ``shown`` columns or all.

    A table too long to read is ``linked_only``: the page names the file and shows no row.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    shown: tuple[str, ...] = ()
    linked_only: bool = False


@dataclass(frozen=True)
class Plot:
    """A figure that ``draw`` paints on empty axes."""

    name: str
    caption: str
    draw: Callable[[Axes], None]


@dataclass(frozen=True)
class Page:
    """What one section found."""

    name: str
    title: str
    words: str
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()


def stamp(command: str) -> str:
    """Say by what command, where, when and with which versions a page was made."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in OURS)
    return (
        f"Made by `{command}` on {date.today().isoformat()}: {processor()}, "
        f"{os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {versions}."
    )


def processor() -> str:
    """Return the processor's name as Linux tells it, or its family."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def shown(value: Cell) -> str:
    """Four digits for a number, a dash for nothing; a bar would end the cell."""
    if value is None or value == "":
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def markdown(table: Table) -> str:
    """Render the shown columns; every number is in the CSV beside it."""
    places = [table.columns.index(name) for name in table.shown or table.columns]
    lines = [
        "| " + " | ".join(table.columns[i] for i in places) + " |",
        "| " + " | ".join("---" for _ in places) + " |",
        *("| " + " | ".join(shown(row[i]) for i in places) + " |" for row in table.rows),
    ]
    words = [
        f"## {table.title}",
        table.note,
        "" if table.linked_only else "\n".join(lines),
        f"[{table.name}.csv]({table.name}.csv)",
    ]
    return "\n\n".join(word for word in words if word)


def write(page: Page, folder: Path, command: str) -> None:
    """Write the page, its tables and its plots into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in page.tables:
        with (folder / f"{table.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows(table.rows)
    for plot in page.plots:
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        plot.draw(figure.add_subplot())
        figure.savefig(folder / f"{plot.name}.svg", metadata={"Date": None})
    parts = [
        f"# {page.title}",
        stamp(command),
        page.words.strip(),
        *(f"![{plot.caption}]({plot.name}.svg)" for plot in page.plots),
        *(markdown(table) for table in page.tables),
    ]
    (folder / f"{page.name}.md").write_text("\n\n".join(parts) + "\n")
