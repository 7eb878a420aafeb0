"""The pieces that a certificate's page is made of: sections, tables, lists, blanks, line charts.

Charts are SVG, drawn by hand: no library, no script, readable without colour.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape as escape_html
from typing import Any

from wane.report.text import tick, visible

NUMBER = re.compile(r"-?\d[\d.,]*(e[+-]?\d+)?")


def escape(text: object) -> str:
    """Return text that a page shows as it is; what would turn or hide it is spelled out."""
    return escape_html(visible(text))


def section(key: str, title: str, *parts: str) -> str:
    """Return a section under a heading of its own; parts that are empty are left out."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<section aria-labelledby="{key}-heading">\n'
        f'<h2 id="{key}-heading">{escape(title)}</h2>\n{body}\n</section>'
    )


def annex(letter: str, title: str, *parts: str, new_page: bool = False) -> str:
    """Return an annex; when printed it begins a page if `new_page`."""
    kind = "annex new" if new_page else "annex"
    key = f"annex-{letter.lower()}"
    name = f'<p class="letter">Annex {letter}</p>'
    heading = f'<h2 id="{key}">{escape(title)}</h2>'
    body = "\n".join(part for part in parts if part)
    return (
        f'<section class="{kind}" aria-labelledby="{key}">\n{name}\n{heading}\n{body}\n</section>'
    )


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: bool = False,
    here: str | None = None,
) -> str:
    """Return a table that scrolls on its own where it is wider than the screen, by keyboard too.

    `numbers` aligns all columns but the first to the right; the row that begins with `here` is
    marked.
    """
    kind = ' class="n"' if numbers else ""
    first, *others = (escape(name) for name in header)
    cells = "".join(f'<th scope="col"{kind}>{name}</th>' for name in others)
    lines = [
        f'<div class="wide" role="region" aria-label="{escape(caption)}" tabindex="0">',
        f"<table>\n<caption>{escape(caption)}</caption>",
        f'<thead><tr><th scope="col">{first}</th>{cells}</tr></thead>',
        "<tbody>",
    ]
    for name, *values in rows:
        marked = ' class="here"' if name == here else ""
        made = "".join(f"<td{kind or _kept(value)}>{_breaking(value)}</td>" for value in values)
        lines.append(f'<tr{marked}><th scope="row">{_breaking(name)}</th>{made}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>", "</div>"])


def _kept(value: str) -> str:
    """A number stays in one line, however narrow the screen."""
    return ' class="v"' if NUMBER.fullmatch(value) else ""


def _breaking(name: str) -> str:
    """An identifier breaks after its points and underscores, and nowhere else."""
    return re.sub(r"(?<=[A-Za-z])([._])(?=\w)", r"\1<wbr>", escape(name))


def two(*columns: str) -> str:
    """Return columns that stand side by side where there is room; those that are empty go."""
    there = [f"<div>{column}</div>" for column in columns if column]
    return f'<div class="two">{"".join(there)}</div>' if there else ""


def figure(picture: str, caption: str, legend: str = "") -> str:
    """Return a picture with its caption; nothing if there is none.

    The `legend` is read where the picture is too small for its own words.
    """
    if not picture:
        return ""
    words = f'<span class="legend">{escape(legend)}</span> ' if legend else ""
    return f"<figure>\n{picture}\n<figcaption>{words}{escape(caption)}</figcaption>\n</figure>"


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def titled(title: str, text: str) -> str:
    """Return a paragraph that begins with a title."""
    return f"<p><strong>{escape(title)}</strong> {escape(text)}</p>"


def bullets(items: Iterable[str]) -> str:
    """Return a list."""
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>"


def code(text: str) -> str:
    """Return a word of a program."""
    return f"<code>{escape(text)}</code>"


def blank(what: str) -> str:
    """Return a place to be filled in by hand: what only the holder knows is never guessed."""
    return f'<span class="blank">{escape(what)}</span>'


def value_text(value: Any) -> str:
    """Return a value of the document as text."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.10g}"


WIDTH, HEIGHT = 640.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 100.0, 20.0, 20.0, 60.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A line with a name of its own; dashes tell lines apart, not colours."""

    name: str
    points: tuple[Point, ...]
    dashed: bool = False


@dataclass(frozen=True)
class Mark:
    """A point worth naming."""

    name: str
    point: Point


@dataclass(frozen=True)
class Chart:
    """What to draw: the horizontal axis is logarithmic, the vertical one starts at zero.

    Attributes:
        key: names the elements of this chart, so that several fit on one page.
        title, words: what a screen reader says.
    """

    key: str
    title: str
    words: str
    across: str
    up: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    top: float | None = None


def drawn(chart: Chart) -> str:
    """Return the chart as an SVG element; an empty string if there is nothing to draw."""
    points = [p for line in chart.lines for p in line.points] + [m.point for m in chart.marks]
    if len(points) < 2:
        return ""
    frame = _Frame(
        math.floor(math.log10(min(x for x, _ in points))),
        math.ceil(math.log10(max(x for x, _ in points))),
        chart.top or _round_top(max(y for _, y in points)),
    )
    parts = [
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-labelledby="{chart.key}-title {chart.key}-words">',
        f'<title id="{chart.key}-title">{escape(chart.title)}</title>',
        f'<desc id="{chart.key}-words">{escape(chart.words)}</desc>',
        *_axes(frame, chart),
        *(_line(frame, line) for line in chart.lines if len(line.points) > 1),
        *(_mark(frame, mark) for mark in chart.marks),
        "</svg>",
    ]
    return "\n".join(parts)


@dataclass(frozen=True)
class _Frame:
    first: int  # powers of ten at the ends of the horizontal axis
    last: int
    top: float

    def at(self, point: Point) -> Point:
        share = (math.log10(point[0]) - self.first) / max(self.last - self.first, 1)
        x = LEFT + share * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - point[1] / self.top * (HEIGHT - TOP - BOTTOM)
        return x, y


def _round_top(value: float) -> float:
    """The next round number."""
    if value <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    leads = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)
    return next(lead * power for lead in leads if lead * power >= value)


def _axes(frame: _Frame, chart: Chart) -> list[str]:
    floor = HEIGHT - BOTTOM
    parts = []
    for step in range(6):
        value = frame.top * step / 5
        y = frame.at((10.0**frame.first, value))[1]
        parts.append(
            f'<line class="grid" x1="{LEFT:g}" y1="{y:.1f}" x2="{WIDTH - RIGHT:g}" y2="{y:.1f}"/>'
        )
        parts.append(_text(LEFT - 8, y + 4, f"{value:.3g}", "end"))
    every = max(1, math.ceil((frame.last - frame.first) / 7))
    for power in range(frame.first, frame.last + 1, every):
        x = frame.at((10.0**power, 0.0))[0]
        parts.append(
            f'<line class="axis" x1="{x:.1f}" y1="{floor:g}" x2="{x:.1f}" y2="{floor + 5:g}"/>'
        )
        parts.append(_text(x, floor + 24, tick(power), "middle"))
    parts.append(
        f'<line class="axis" x1="{LEFT:g}" y1="{floor:g}" x2="{WIDTH - RIGHT:g}" y2="{floor:g}"/>'
    )
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, chart.across, "middle"))
    middle = (TOP + floor) / 2
    parts.append(
        f'<text x="18" y="{middle:g}" text-anchor="middle" '
        f'transform="rotate(-90 18 {middle:g})">{escape(chart.up)}</text>'
    )
    return parts


def _line(frame: _Frame, line: Line) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(frame.at, line.points))
    dashes = ' stroke-dasharray="7 5"' if line.dashed else ""
    x, y = frame.at(line.points[len(line.points) * 5 // 6])
    label = _text(x - 10, y - 10, line.name, "end") if line.name else ""
    return f'<polyline class="curve" points="{path}"{dashes}/>\n{label}'


def _mark(frame: _Frame, mark: Mark) -> str:
    x, y = frame.at(mark.point)
    anchor, shift = ("end", -10.0) if x > WIDTH / 2 else ("start", 10.0)
    return (
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="5"/>\n'
        f"{_text(x + shift, y + 18, mark.name, anchor)}"
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
