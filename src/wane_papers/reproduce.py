"""The papers' figures and tables, and their false statements failing; CSV and a page beside each.

`EXHIBITS` is the registry: to add one, write its record and put it into the tuple of its paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wane_papers import other_figures
from wane_papers.cyclic.errata import CYCLIC
from wane_papers.dynamics import figures as dynamics_figures
from wane_papers.dynamics.errata import DYNAMICS
from wane_papers.exhibits import Chart, Exhibit, Row, counterexample
from wane_papers.federated.errata import FEDERATED
from wane_papers.mixing import figures as mixing_figures
from wane_papers.mixing.errata import MIXING
from wane_papers.modulus import figures as modulus_figures
from wane_papers.modulus.errata import MODULUS
from wane_papers.sampler import figures as sampler_figures
from wane_papers.sampler.errata import SAMPLER
from wane_papers.sampler.slips import SLIPS
from wane_papers.writing import write_exhibits

FIGURES: tuple[Exhibit, ...] = (
    *modulus_figures.FIGURES,
    *other_figures.FIGURES,
    *dynamics_figures.FIGURES,
    *mixing_figures.FIGURES,
    *sampler_figures.FIGURES,
    *SLIPS,
)
"""Figures, tables and theorems, as printed and as corrected; slips that make no bound false."""

COUNTEREXAMPLES: tuple[Exhibit, ...] = (
    *CYCLIC,
    *MODULUS,
    *DYNAMICS,
    *MIXING,
    *SAMPLER,
    *FEDERATED,
)
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
