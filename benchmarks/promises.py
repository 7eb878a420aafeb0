"""Ratios that wane's parts promise of themselves, measured in one run, as a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks import kernel, moduli, runner
from benchmarks.report import Page, Table
from benchmarks.timing import judged

COLUMNS = ("promise", "measured", "relation", "limit", "kept", "seconds taken")
SLOW = (
    "tangent lines",
    "start-up",
    "dp_accounting",
    "hidden Poisson",
    "full step",
    "softmax envelope",
)
"""Promises whose measurement takes seconds; the quick mode leaves them out."""


@dataclass(frozen=True)
class Promise:
    """A number that is to be at most, or at least, its limit."""

    words: str
    measure: Callable[[], float]
    limit: float
    more_is_better: bool = False

    def row(self) -> tuple[str, float, str, float, str, float]:
        start = time.monotonic()
        found = self.measure()
        relation, holds = judged(found, self.limit, self.more_is_better)
        kept = "yes" if holds else "no"
        return self.words, found, relation, self.limit, kept, round(time.monotonic() - start, 1)


def promises() -> Iterator[Promise]:
    """Yield those of the accounting kernel, of the modulus engine and of the runner."""
    for module in (kernel, moduli, runner):
        for words, measure, limit, *more in module.PROMISES:
            yield Promise(words, measure, limit, *more)


WORDS = """
Limits that were set before the code was written, as ratios to a plain NumPy operation or to a peer
where that is possible; the fastest of a few tries on one machine. The promises of samplers are on
the page of sampling.
"""


def page(quick: bool) -> Page:
    """Measure every promise, or the short ones."""
    asked = [p for p in promises() if not (quick and any(word in p.words for word in SLOW))]
    table = Table("promises", "Every promise", COLUMNS, [promise.row() for promise in asked])
    return Page("promises", "Promises about time", WORDS, (table,))
