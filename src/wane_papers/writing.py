"""Each exhibit becomes a CSV, a picture and a page; an index lists them."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from wane.errors import InvalidDescription
from wane.plots import draw_contours, draw_lines, new_axis, save
from wane_papers.exhibits import Chart, Exhibit, Row

MOST_ROWS_SHOWN = 40
"""A page shows a longer table only in part; the CSV has all of it."""


def write_exhibits(
    exhibits: Sequence[Exhibit], names: Sequence[str], folder: str | Path
) -> list[Path]:
    """Write the named exhibits (all, if none is named) and an index of what was written."""
    known = {exhibit.name: exhibit for exhibit in exhibits}
    for name in names:
        if name not in known:
            raise InvalidDescription(
                f"name must be one of {', '.join(known)}, got {name!r}; or leave it out for all."
            )
    chosen = [exhibit for exhibit in exhibits if not names or exhibit.name in names]
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        written = [path for exhibit in chosen for path in _write(exhibit, target)]
        if not names:
            written.append(_write_index(chosen, target))
    except OSError as error:
        raise InvalidDescription(f"out cannot be written: {error.strerror}.") from None
    return written


def _write(exhibit: Exhibit, target: Path) -> list[Path]:
    rows = exhibit.rows()
    table, picture, page = (target / f"{exhibit.name}.{kind}" for kind in ("csv", "svg", "md"))
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    axis = new_axis()
    axis.set_title(exhibit.title)
    _draw(exhibit.chart, rows, axis)
    save(axis, picture)
    page.write_text(page_text(exhibit, rows))
    return [table, picture, page]


def _draw(chart: Chart, rows: list[Row], axis: object) -> None:
    if chart.level:
        (other,) = chart.lines
        draw_contours(axis, rows, (chart.x, other, chart.level), (chart.xlabel, chart.ylabel))
        return
    curves: dict[str, list[tuple[float, float]]] = {}
    for column, words in chart.lines.items():
        for row in rows:
            if not math.isfinite(row[column]) or (chart.among and row[chart.by] not in chart.among):
                continue
            label = f"{words} {row[chart.by]:g}".strip() if chart.by else words
            curves.setdefault(label, []).append((row[chart.x], row[column]))
    draw_lines(axis, curves, (chart.xlabel, chart.ylabel), logarithmic=chart.logarithmic)


def page_text(exhibit: Exhibit, rows: list[Row]) -> str:
    """The exhibit in words and numbers, as Markdown."""
    names = list(rows[0])
    step = -(-len(rows) // MOST_ROWS_SHOWN)
    lines = [
        f"# {exhibit.title}",
        f"{exhibit.key}, {exhibit.place}.",
        f"**Printed.** {exhibit.printed}",
        f"**Instead.** {exhibit.instead}",
        f"![{exhibit.title}]({exhibit.name}.svg)",
        "\n".join(f"- `{name}`: {exhibit.columns[name]}" for name in names),
        "\n".join(
            [
                f"| {' | '.join(names)} |",
                f"|{' --- |' * len(names)}",
                *(
                    f"| {' | '.join(f'{row[name]:.7g}' for name in names)} |"
                    for row in rows[::step]
                ),
            ]
        ),
        f"All {len(rows)} rows: [{exhibit.name}.csv]({exhibit.name}.csv).",
    ]
    return "\n\n".join(lines) + "\n"


def _write_index(exhibits: Sequence[Exhibit], target: Path) -> Path:
    path = target / "index.md"
    lines = [f"- [{e.title}]({e.name}.md) ({e.key}, {e.place})" for e in exhibits]
    path.write_text("# Figures, tables and counterexamples\n\n" + "\n".join(lines) + "\n")
    return path
