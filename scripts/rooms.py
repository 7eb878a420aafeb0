"""Draw the packages of wane and who imports whom: `python scripts/rooms.py` writes docs/rooms.svg.

Rows are the layers of pyproject.toml, from the command line down to the ground.  A line goes from a
room to one that it imports, so every line goes down.
"""

from __future__ import annotations

import sys
import tomllib
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "rooms.svg"
WIDTH, ROW, BOX, HIGH = 1000, 64, 118, 30


def layers() -> list[list[str]]:
    """Return the rooms, layer by layer, as the import contract lists them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(
        row
        for row in project["tool"]["importlinter"]["contracts"]
        if row["type"] == "layers" and row["containers"] == ["wane"]
    )
    rows = [[room.strip() for room in row.split("|")] for row in contract["layers"]]
    return [row for row in rows if row != ["__main__"]]


def imports(rooms: set[str]) -> set[tuple[str, str]]:
    """Return every pair of rooms of which the first imports the second."""
    graph = grimp.build_graph("wane", exclude_type_checking_imports=True)
    found = set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            pair = _room(module), _room(other)
            if pair[0] != pair[1] and set(pair) <= rooms:
                found.add(pair)
    return found


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _across(column: int, count: int, line: int) -> float:
    """A room alone in its layer stands left or right of the middle, so that lines pass it."""
    aside = (180 if line % 2 else -180) if count == 1 else 0
    return WIDTH * (column + 1) / (count + 1) + aside


def drawn() -> str:
    """Return the picture as SVG."""
    rows = layers()
    places = {
        room: (_across(column, len(row), line), 30 + ROW * line)
        for line, row in enumerate(rows)
        for column, room in enumerate(row)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {ROW * len(rows)}" '
        'role="img" font-family="sans-serif" font-size="14">',
        "<title>The packages of wane and who imports whom</title>",
    ]
    for one, other in sorted(imports(set(places))):
        (x, y), (u, v) = places[one], places[other]
        y, v = y + HIGH / 2, v - HIGH / 2
        bend = (v - y) / 2
        lines.append(
            f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} '
            f'{v:.0f}" fill="none" stroke="#7a8a99" stroke-opacity="0.35"/>'
        )
    for room, (x, y) in places.items():
        lines += [
            f'<rect x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX}" height="{HIGH}" '
            'rx="5" fill="#eef3f7" stroke="#3b5b78"/>',
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" fill="#17324a">'
            f"{escape(room)}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE.relative_to(ROOT)}\n")
