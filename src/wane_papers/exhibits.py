"""What `wane reproduce` shows, as data: numbers first, then how to draw and to explain them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Row = dict[str, float]


@dataclass(frozen=True)
class Chart:
    """How to draw rows as lines.

    Attributes:
        x: the column along the horizontal axis.
        lines: column -> words of the legend.
        xlabel: words under the horizontal axis.
        ylabel: words beside the vertical axis.
        logarithmic: the axes that are, of "x" and "y".
        by: a column whose values make one line each, of every column of `lines`.
        among: the values of that column that are drawn; all, if empty.
        level: a third column, drawn as contours over `x` and the only other column of `lines`.
    """

    x: str
    lines: dict[str, str]
    xlabel: str
    ylabel: str
    logarithmic: str = "xy"
    by: str = ""
    among: tuple[float, ...] = ()
    level: str = ""


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of a paper, or a statement of it that is false.

    Attributes:
        name: of its files.
        title: what it shows.
        key: the paper, a key of `references.bib`.
        place: where it stands there.
        printed: what the paper says, in our words.
        instead: what is true, and how the numbers were made.
        rows: computes the numbers.
        chart: draws them.
        columns: what each column of the table means.
    """

    name: str
    title: str
    key: str
    place: str
    printed: str
    instead: str
    rows: Callable[[], list[Row]]
    chart: Chart
    columns: dict[str, str]


VERDICT = {
    "printed": "the bound as printed",
    "exact": "what is true of the instance, computed from its law",
    "corrected": "a bound that holds, as wane computes it",
}


def counterexample(
    name: str,
    title: str,
    *,
    source: tuple[str, str],
    says: tuple[str, str],
    rows: Callable[[], list[Row]],
    along: tuple[str, str],
    of: str,
    logarithmic: str = "xy",
    columns: dict[str, str] | None = None,
) -> Exhibit:
    """An exhibit of a false upper bound: its columns are a setting, and printed, exact, corrected.

    `along` is the column that varies and its meaning, `of` the quantity that is bounded.
    """
    return Exhibit(
        name,
        title,
        *source,
        *says,
        rows,
        Chart(
            along[0],
            {"printed": "printed", "exact": "exact", "corrected": "corrected"},
            along[1],
            of,
            logarithmic,
        ),
        {along[0]: along[1]} | VERDICT | (columns or {}),
    )
