"""One row for each configuration and delta: what wane certifies, and what is on either side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import wane
from benchmarks.report import Cell
from benchmarks.tightness.composition import ACCOUNTANTS, Answers
from benchmarks.tightness.configurations import Configuration
from benchmarks.tightness.published import PUBLISHED
from wane.certificates import Certificate
from wane.certificates.parts import epsilon_of

DELTAS = (1e-5, 1e-8)
TIE = 1e-3
"""Theorems this close are told apart by discretisation only; the plainer one gets the name."""
KEYS = tuple(bound.key for bound in PUBLISHED)
COLUMNS = (
    "configuration", "batches", "loss", "length", "steps", "delta",
    "wane", "theorem", "lower bound", "wane / lower",
    *ACCOUNTANTS, *KEYS,
    "best composition", "best published", "published by", "best other / wane",
)  # fmt: skip
SHOWN = (
    "configuration", "delta", "wane", "theorem", "lower bound", "wane / lower",
    "best composition", "best published", "published by",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What is known of one configuration at one delta; None where nothing is."""

    configuration: Configuration
    delta: float
    wane: float
    theorem: str
    lower: float | None
    composed: dict[str, float | None]
    published: dict[str, float | None]

    @property
    def looseness(self) -> float | None:
        """Certified over exact."""
        return self.wane / self.lower if self.lower else None

    @property
    def best_composition(self) -> float | None:
        return least(self.composed.values())

    @property
    def best_published(self) -> float | None:
        return least(self.published.values())

    @property
    def publisher(self) -> str | None:
        best = self.best_published
        return next((key for key, value in self.published.items() if value == best), None)

    @property
    def gain(self) -> float | None:
        """The best of all others over wane."""
        best = least((self.best_composition, self.best_published))
        return None if best is None else best / self.wane

    @property
    def cells(self) -> tuple[Cell, ...]:
        made, best = self.configuration, self.best_published
        return (
            made.name, made.batches, made.loss, made.length, made.run.total_steps,
            f"{self.delta:g}", self.wane, self.theorem, self.lower, self.looseness,
            *(self.composed.get(name) for name in ACCOUNTANTS),
            *(self.published.get(key) for key in KEYS),
            self.best_composition, best, None if best is None else self.publisher, self.gain,
        )  # fmt: skip


def least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def rows_of(made: Configuration, answers: Answers) -> Iterator[Row]:
    """Both deltas of one configuration."""
    certificate = wane.certify(made.run, facts=made.facts)
    for delta in DELTAS:
        epsilon = certificate.epsilon(delta)
        published = {
            bound.key: _finite(bound.epsilon(made.run, delta, made.log_sobolev))
            for bound in PUBLISHED
        }
        composed = {name: answers.epsilons.get((made.name, delta, name)) for name in ACCOUNTANTS}
        yield Row(
            made,
            delta,
            epsilon,
            winner(certificate, delta, epsilon),
            certificate.lower_bound_epsilon(delta),
            composed,
            published,
        )


def winner(certificate: Certificate, delta: float, epsilon: float) -> str:
    """The first theorem of the registry, baselines first, that answers as well as the best."""
    for verdict in certificate.applicable:
        if epsilon_of(verdict.guarantee, delta) <= epsilon * (1.0 + TIE):
            return verdict.analysis.name
    raise AssertionError("some theorem gave the epsilon")


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def summary(rows: list[Row]) -> Iterator[tuple[Cell, ...]]:
    """By loss and by batches: how far from the exact members, and how far below the others."""
    by: dict[str, Callable[[Row], str]] = {
        "loss": lambda row: row.configuration.loss,
        "batches": lambda row: row.configuration.batches,
    }
    for kind, word_of in by.items():
        for word in dict.fromkeys(word_of(row) for row in rows):
            mine = [row for row in rows if word_of(row) == word]
            gaps = [row.looseness for row in mine if row.looseness is not None]
            yield (
                f"{kind}: {word}",
                len(mine),
                _median(gaps),
                max(gaps, default=None),
                sum(gap <= 1.0 + 1e-6 for gap in gaps),
                _median(_over(row.best_composition, row) for row in mine),
                _median(_over(row.best_published, row) for row in mine),
            )


SUMMARY = (
    "regime", "rows", "median wane / lower", "largest wane / lower", "rows at 1.000000",
    "median composition / wane", "median published / wane",
)  # fmt: skip


def _over(value: float | None, row: Row) -> float | None:
    return None if value is None else value / row.wane


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
