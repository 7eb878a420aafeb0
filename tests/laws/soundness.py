"""No theorem claims less than the truth: cases drawn from meanings against every theorem.

This is the library of the laws; tests and `scripts/soundness` call it, and so may any harness that
changes a theorem and asks whether somebody notices:

    from laws.soundness import corpus, violations
    found = violations(analyses, corpus(300))     # {theorem: [what was below the truth]}

`corpus(size, seed)` draws the cases once and keeps them with their exact laws; `violations` judges
any theorems by them (pass one changed theorem alone: others need not be asked again).  A theorem
that raises is reported like one that claims too little.  `Tally` counts how often each theorem was
met, how often its bound was the least of all, how often the truth came within a tenth of it, and
the worst quotient of exact to certified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from laws.draw import Case, cases
from laws.gaussian import GaussianCase, gaussian_cases
from laws.line import DIVERGENCE, QUADRATURE, hockey_stick, renyi
from laws.plane import plane_cases
from laws.purpose import purposeful
from wane.describe import NoisyDescent
from wane.guarantees import GaussianDP, Guarantee, NumericalDP
from wane.theorems.lemmas.family import Profile, Tuned
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies, Facts, Theorem

ORDERS = (1.5, 4.0, 10.0)
OF_DESCENTS = tuple(theorem for theorem in THEOREMS if theorem.of is NoisyDescent)
EPSILONS = (0.0, 0.3, 1.0, 3.0)
ROUNDING = 1e-10
"""The Gaussian oracle inverts covariances; its own relative error."""
SMALLEST = 1e-5
"""Certified numbers below this are compared, but their quotient is not worth printing."""
PROFILES = 0.2
"""Profiles that are convolved numerically are asked at one epsilon, and this often."""
CLOSE = 0.9


Comparison = tuple[str, float, float]


def comparisons(case: Any, guarantee: Guarantee, slow: float | None) -> Iterator[Comparison]:
    """What is asked, the largest exact answer less the oracle's error, and what is certified.

    `slow` is the epsilon at which numerically convolved profiles are asked, or None.
    """
    if isinstance(case, GaussianCase):
        most = float(np.max(case.mus)) * (1 - ROUNDING)
        if isinstance(guarantee, GaussianDP):
            yield "mu", most, guarantee.mu
        else:
            for order in ORDERS:
                yield f"order {order:g}", order * most**2 / 2, guarantee.renyi(order)
        return
    first, second = case.laws
    if not isinstance(guarantee, Profile):
        for order in ORDERS:
            exact = float(np.max(renyi(first, second, order)))
            yield f"order {order:g}", exact * (1 - DIVERGENCE) - DIVERGENCE, guarantee.renyi(order)
    asked = EPSILONS
    if isinstance(guarantee, NumericalDP | Tuned):
        asked = () if slow is None else (slow,)
    for epsilon in asked:
        exact = float(np.max(hockey_stick(first, second, epsilon)))
        yield f"epsilon {epsilon:g}", exact - QUADRATURE, guarantee.delta(epsilon)


@dataclass
class Row:
    """What happened to one theorem."""

    cases: int = 0
    pairs: int = 0
    least: int = 0
    close: int = 0
    worst: float = 0.0
    family: str = ""

    def add(self, other: Row) -> None:
        self.cases += other.cases
        self.pairs += other.pairs
        self.least += other.least
        self.close += other.close
        if other.worst > self.worst:
            self.worst, self.family = other.worst, other.family


@dataclass
class Tally:
    """Everything a run of the laws has seen; tallies of several workers add up."""

    pairs: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    families: dict[str, int] = field(default_factory=dict)
    violations: dict[str, list[str]] = field(default_factory=dict)

    def judge(self, case: Any, rng, analyses: Iterable[Theorem[Any]] = OF_DESCENTS) -> None:
        """Compare one case with every theorem that applies to it."""
        self.pairs += case.count
        self.families[case.family] = self.families.get(case.family, 0) + case.count
        slow = float(rng.choice(EPSILONS)) if rng.random() < PROFILES else None
        claims = {}
        for analysis in analyses:
            verdict = verdict_of(analysis, case)
            if isinstance(verdict, Applies):
                claims[analysis.name] = self._compare(case, analysis.name, verdict.guarantee, slow)
        known = {name: claim for name, claim in claims.items() if claim is not None}
        for name, claim in known.items():
            self.rows[name].least += claim <= min(known.values())

    def _compare(
        self, case: Any, name: str, guarantee: Guarantee, slow: float | None
    ) -> float | None:
        """Judge one theorem; returns a number by which the least of them is known."""
        row = self.rows.setdefault(name, Row())
        row.cases += 1
        row.pairs += case.count
        ratio = 0.0
        for question, exact, certified in comparisons(case, guarantee, slow):
            if not exact <= certified:  # also if either is not a number
                self._report(name, case, f"{question}: exact {exact!r}, certified {certified!r}")
            if certified > SMALLEST:
                ratio = max(ratio, exact / certified)
        row.close += ratio >= CLOSE
        if ratio > row.worst:
            row.worst, row.family = ratio, case.family
        if slow is not None:
            return guarantee.delta(slow)
        return None if isinstance(guarantee, Profile) else guarantee.renyi(4.0)

    def _report(self, name: str, case: Any, what: str) -> None:
        self.violations.setdefault(name, []).append(f"{what} ({case.family}) for {case.run}")

    def add(self, other: Tally) -> None:
        self.pairs += other.pairs
        for name, count in other.families.items():
            self.families[name] = self.families.get(name, 0) + count
        for name, theirs in other.rows.items():
            self.rows.setdefault(name, Row()).add(theirs)
        for name, found in other.violations.items():
            self.violations.setdefault(name, []).extend(found)

    def text(self) -> str:
        """The table: met (descriptions), pairs, least of all, within a tenth, worst quotient."""
        lines = [f"{'theorem':26} {'met':>7} {'pairs':>9} {'least':>7} {'close':>7}  worst"]
        for name, row in sorted(self.rows.items()):
            lines.append(
                f"{name:26} {row.cases:7d} {row.pairs:9d} {row.least:7d} {row.close:7d}  "
                f"{row.worst:.6f} ({row.family})"
            )
        found = sum(len(v) for v in self.violations.values())
        lines.append(f"{self.pairs} pairs, {found} violations")
        for name, several in self.violations.items():
            lines += [f"{name}: {each}" for each in several[:3]]
        return "\n".join(lines)


def verdict_of(analysis: Theorem[Any], case: Any) -> Any:
    """What a theorem says of a case, with the facts that are true of that very run."""
    return analysis(case.run, Facts(tuple(getattr(case, "facts", ()))))


def stream(seed: int) -> Iterator[Any]:
    """All kinds of cases in turn: lines, on purpose, exact Gaussian chains, squares."""
    rng = [np.random.default_rng([seed, place]) for place in range(4)]
    sources = (cases(rng[0]), purposeful(rng[1]), gaussian_cases(rng[2]), plane_cases(rng[3]))
    while True:
        for source, count in zip(sources, (11, 2, 2, 1), strict=True):
            for _ in range(count):
                yield next(source)


@cache
def corpus(size: int, seed: int = 0) -> tuple[Any, ...]:
    """So many cases of all kinds, with their exact laws computed once."""
    made = []
    for case in stream(seed):
        if isinstance(case, Case):
            _ = case.laws
        made.append(case)
        if len(made) == size:
            return tuple(made)
    raise AssertionError


def violations(
    analyses: Iterable[Theorem[Any]] = OF_DESCENTS, among: Iterable[Any] | None = None
) -> dict[str, list[str]]:
    """Return what these theorems claim below the truth of the cases, or where they raise."""
    tally, rng = Tally(), np.random.default_rng(0)
    for analysis in analyses:
        for case in corpus(300) if among is None else among:
            try:
                tally.judge(case, rng, [analysis])
            except (ArithmeticError, AssertionError, ValueError, TypeError) as error:
                tally._report(analysis.name, case, f"raised {error!r}")
    return tally.violations


def run_pairs(pairs: int, seed: int) -> Tally:
    """Judge cases until so many pairs were compared."""
    tally, rng = Tally(), np.random.default_rng([seed, 9])
    for case in stream(seed):
        tally.judge(case, rng)
        if tally.pairs >= pairs:
            return tally
    raise AssertionError
