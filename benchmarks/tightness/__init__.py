"""Tightness: certified epsilons between exact members and the best that others can say."""

from __future__ import annotations

from matplotlib.axes import Axes

from benchmarks.report import Page, Plot, Table
from benchmarks.tightness.composition import PEERS, Answers, ask
from benchmarks.tightness.configurations import CONFIGURATIONS, Configuration
from benchmarks.tightness.published import PUBLISHED
from benchmarks.tightness.rows import (
    COLUMNS,
    DELTAS,
    SHOWN,
    SUMMARY,
    TIE,
    Row,
    rows_of,
    summary,
)

__all__ = ["CONFIGURATIONS", "page"]

QUICK = 7
"""The quick set is every so-manieth configuration."""

WORDS = """
{count} fixed runs, every kind of loss with every kind of batches, short and long
(`benchmarks/tightness/configurations.py`). For each, epsilon at delta = 1e-5 and 1e-8:

- **wane**: `wane.certify(run).epsilon(delta)`, and the theorem that gave it. Where a baseline comes
  within {tie:.1%} it gets the name, since only discretisation tells the two apart.
- **lower bound**: what an exact member of the described class leaks
  ([How far certified epsilons are from the truth](../brackets.md)). No sound claim can be smaller.
  It is empty where no member is known. "wane / lower" is an upper bound on the price of the proofs:
  part of it may be the member's fault, above all in bounded sets, where members are simple.
- **composition**: dp_accounting 0.6.0 (PLD, RDP) and Opacus 1.6.0 (RDP, PRV), with their default
  grids and orders, as if all iterates were seen.
- **published** bounds on the last iterate, each in a form that is proved:

{published}

Random batches take half the step size of the others, since a batch may exceed its expected size;
this was settled after a first try with the whole step, and one row ("large steps") keeps it.

Neighbours are replace-one unless the name says zero-out. The multiplier is noise over the gradient
bound; replace-one moves a sum by twice the bound. In a fixed order (full, cyclic, shuffled) each
use of the record is one Gaussian mechanism, and accountants are told noise over that sensitivity.
Poisson batches are told noise over the bound; under zero-out the pair is that of adding or removing
a record. Batches without replacement are told half the multiplier. Cells are empty where an
accountant has no analysis: Opacus knows add-or-remove Poisson only, dp_accounting's RDP has no
replace-one for Poisson batches, and its PLD none for batches without replacement. Renyi bounds are
converted by the formula wane uses itself. Bounds that hold for Poisson batches only as long as no
batch exceeds its expected size (Theorem 5.2 of Bravo and others, and its relatives) are left out.

For batches without replacement no accountant here has the sharpest composition that is published,
that of `zhu2022optimal`. It stands among the published bounds, though it is not one on the last
iterate; wane's composition is the same theorem in the same convolution, so that the two agree where
composition is the best that wane has.
"""


def page(quick: bool) -> Page:
    """Measure, and return the page; the quick one asks dp_accounting only."""
    made = CONFIGURATIONS[::QUICK] if quick else CONFIGURATIONS
    answers = ask(made, DELTAS, PEERS[:1] if quick else PEERS)
    rows = [row for each in made for row in rows_of(each, answers)]
    return Page(
        "tightness",
        "Tightness: how far certified epsilons are from the truth, and from other accountants",
        _words(made),
        (
            Table(
                "tightness-summary",
                "By regime",
                SUMMARY,
                list(summary(rows)),
                "Both deltas together. In the last two columns more than one is in wane's favour.",
            ),
            Table(
                "tightness",
                "All configurations",
                COLUMNS,
                [row.cells for row in rows],
                _note(rows, answers),
                SHOWN,
            ),
        ),
        (
            Plot(
                "tightness",
                "epsilon over that of an exact member at delta = 1e-5, by kind of loss: "
                "wane filled, the best of all others hollow",
                lambda axes: draw(axes, rows),
            ),
        ),
    )


def _words(made: tuple[Configuration, ...]) -> str:
    listed = "\n".join(f"    - `{each.key}`: {each.source}: {each.form}." for each in PUBLISHED)
    return WORDS.format(count=len(made), tie=TIE, published=listed)


def _note(rows: list[Row], answers: Answers) -> str:
    """How far wane is above any other number, and which peers failed."""
    gains = [(row.gain, row.configuration.name) for row in rows if row.gain is not None]
    worst, name = min(gains)
    above = max(1.0 / worst - 1.0, 0.0)
    troubles = "; ".join(dict.fromkeys(answers.troubles))
    return (
        "No other number is below wane's by more than "
        f"{above:.1e} of epsilon ({name}); numerical accountants differ in their grids. "
        + (f"Peers that failed: {troubles}." if troubles else "Every peer answered.")
    )


COLOURS = {
    "full": "C0",
    "cyclic": "C1",
    "shuffled-once": "C2",
    "poisson": "C3",
    "without-replacement": "C4",
}


def draw(axes: Axes, rows: list[Row]) -> None:
    """Ratios to the lower bound, side by side within each kind of loss."""
    shown = [row for row in rows if row.delta == DELTAS[0] and row.lower]
    losses = list(dict.fromkeys(row.configuration.loss for row in shown))
    for place, loss in enumerate(losses):
        mine = [row for row in shown if row.configuration.loss == loss]
        for index, row in enumerate(mine):
            at = place + 0.8 * ((index + 0.5) / len(mine) - 0.5)
            colour = COLOURS[row.configuration.batches]
            assert row.looseness is not None
            axes.plot(at, row.looseness, "o", color=colour, markersize=4)
            if row.gain is not None:
                axes.plot(at, row.looseness * row.gain, "o", color=colour, markersize=4, mfc="none")
    axes.set_yscale("log")
    axes.set_xticks(range(len(losses)), losses, rotation=20, ha="right")
    axes.set_ylabel("epsilon / exact member's")
    for kind, colour in COLOURS.items():
        axes.plot([], [], "o", color=colour, markersize=4, label=kind)
    axes.legend(fontsize=7)
