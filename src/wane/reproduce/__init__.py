"""The papers' figures and tables, and their false statements failing; CSV and a page beside each.

`EXHIBITS` is the registry: to add one, write its record and put it into the tuple of its paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wane.reproduce import modulus_figures, other_figures, sampler_figures
from wane.reproduce.cyclic_paper import CYCLIC
from wane.reproduce.dynamics_paper import DYNAMICS
from wane.reproduce.exhibits import Chart, Exhibit, Row, counterexample
from wane.reproduce.mixing_paper import MIXING
from wane.reproduce.modulus_paper import MODULUS
from wane.reproduce.writing import write_exhibits

FIGURES: tuple[Exhibit, ...] = (
    *modulus_figures.FIGURES,
    *other_figures.FIGURES,
    *sampler_figures.FIGURES,
)
"""Figures and tables, as printed and as corrected."""

COUNTEREXAMPLES: tuple[Exhibit, ...] = (*CYCLIC, *MODULUS, *DYNAMICS, *MIXING)
"""Statements that are false: columns `printed`, `exact` and `corrected`."""

EXHIBITS: tuple[Exhibit, ...] = (*FIGURES, *COUNTEREXAMPLES)
"""Everything `wane reproduce` writes."""

__all__ = [
    "COUNTEREXAMPLES",
    "EXHIBITS",
    "FIGURES",
    "Chart",
    "Exhibit",
    "Row",
    "counterexample",
    "reproduce",
]


def reproduce(names: Sequence[str], folder: str | Path) -> list[Path]:
    """Write CSV, picture and page of each named exhibit (all, if none is named)."""
    return write_exhibits(EXHIBITS, names, folder)
