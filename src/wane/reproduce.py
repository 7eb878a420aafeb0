"""The papers' figures and tables, from their printed formulas and from ours; CSV beside each.

A figure is a table of numbers first: `rows` makes it, `draw` only shows it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wane.errors import InvalidDescription
from wane.literature import modulus_paper
from wane.plots import new_axis, save

Row = dict[str, float]


@dataclass(frozen=True)
class Figure:
    """One figure: what it shows, its numbers, and how to draw them."""

    name: str
    title: str
    rows: Callable[[], list[Row]]
    draw: Callable[[list[Row], Any], None]


def reproduce(names: Sequence[str], folder: str | Path) -> list[Path]:
    """Write the CSV and the picture of each named figure (all, if none is named)."""
    known = {figure.name: figure for figure in FIGURES}
    for name in names:
        if name not in known:
            raise InvalidDescription(
                f"name must be one of {', '.join(known)}, got {name!r}; or leave it out for all."
            )
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for figure in FIGURES:
            if not names or figure.name in names:
                written += _write(figure, target)
    except OSError as error:
        raise InvalidDescription(f"out cannot be written: {error.strerror}.") from None
    return written


def _write(figure: Figure, target: Path) -> list[Path]:
    rows = figure.rows()
    table = target / f"{figure.name}.csv"
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    picture = target / f"{figure.name}.svg"
    axis = new_axis()
    axis.set_title(figure.title)
    figure.draw(rows, axis)
    save(axis, picture)
    return [table, picture]


EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
STEP_SIZES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1000 ** (-1 / 5))


def _effective_steps() -> list[Row]:
    """Figure 1 of the modulus paper: after how many steps its Poisson bound stops growing."""
    rows: list[Row] = []
    for eta in STEP_SIZES:
        needed = math.ceil(1000 / (4 * eta))
        for p in EXPONENTS:
            extra = modulus_paper.poisson_excess_steps(n=1000, L=1.0, M=2.0, p=p, D=1.0, eta=eta)
            rows.append({"step_size": eta, "exponent": p, "steps": 2 * needed + float(extra)})
    return rows


def _draw_effective_steps(rows: list[Row], axis: Any) -> None:
    for p in EXPONENTS:
        line = [(r["step_size"], r["steps"]) for r in rows if r["exponent"] == p]
        axis.plot(*zip(*line, strict=True), marker="o", markersize=3, label=f"p = {p:g}")
    axis.set(xscale="log", yscale="log", xlabel="step size", ylabel="2 T + V, as printed")
    axis.legend(ncols=2, fontsize="small")


FIGURES: tuple[Figure, ...] = (
    Figure(
        "modulus-figure-1",
        "Steps after which the printed bound is constant (n = 1000, L = 1, M = 2, D = 1)",
        _effective_steps,
        _draw_effective_steps,
    ),
)
