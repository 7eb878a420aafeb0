"""The pieces that a certificate's page is made of: sections, tables, figures, lists, blanks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape as escape_html
from typing import Any

from wane.report.text import visible

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
