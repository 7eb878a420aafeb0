"""Theorems without one of their hypotheses: do they then claim what is false?

A twin is asked about every case for which exactly the dropped hypothesis fails.  It is caught if it
claims less than the exact value of a member, or cannot answer at all.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from twins.exact import Exact
from wane.errors import WaneError
from wane.guarantees import Guarantee
from wane.numerics.search import Found
from wane.theorems.theorem import NO_FACTS, Applies, Facts, Finding, Hypothesis, Theorem

EPSILONS = (0.0, 1.0, 2.0)
ORDERS = (1.5, 4.0)
MARGIN = 0.02
"""A claim counts as false only if it is so much below the exact value: the grid's own error."""
TINY = 1e-5
CANNOT = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    RuntimeWarning,
    TypeError,
    ValueError,
    WaneError,
)


class Fate(enum.Enum):
    """What becomes of a theorem without one of its hypotheses."""

    FALSE = "claims less than the exact value"
    MUTE = "cannot answer: the formula raises, refuses or says nothing"
    TRUE = "claims nothing false that was found"
    UNSEEN = "no description fails this hypothesis alone"


@dataclass(frozen=True, eq=False)
class Case:
    """What a theorem may be asked about, and what is exact about it."""

    subject: Any
    laws: Callable[[], Iterable[Exact | float]]
    facts: Facts = NO_FACTS

    def asked(self, question: Any) -> Any:
        """The answer of a theorem or of a hypothesis."""
        if isinstance(question, Theorem | Hypothesis):
            return question(self.subject, self.facts)
        return question(self.subject)


def is_asked(theorem: Any, subject: Any) -> bool:
    """Whether the theorem speaks of things of this kind."""
    return isinstance(subject, theorem.of) and theorem.concerns(subject)


def claim_of(verdict: Any) -> Guarantee | float | None:
    """The guarantee or the distance that was claimed, if any."""
    if not isinstance(verdict, Applies):
        return None
    claim = verdict.conclusion
    return claim.value if isinstance(claim, Found) else claim


def says_nothing(claim: Guarantee | float | None) -> bool:
    """Whether everything is possible under the claim."""
    if claim is None or isinstance(claim, float):
        return claim is None or math.isinf(claim)
    return claim.delta(1.0) >= 1.0 and math.isinf(claim.renyi(2.0))


def shortfall(claim: Guarantee | float, law: Exact | float) -> str | None:
    """Where the claim is below the exact value, in words; None if it is not."""
    for what, claimed, true in _compared(claim, law):
        if claimed < true * (1.0 - MARGIN) - TINY:
            return f"{what} = {claimed:.4g} claimed, {true:.4g} exact"
    return None


def _compared(claim: Guarantee | float, law: Exact | float) -> Iterator[tuple[str, float, float]]:
    if isinstance(claim, float):
        assert isinstance(law, float)
        yield "divergence", claim, law
        return
    assert not isinstance(law, float)
    for epsilon in EPSILONS:
        yield f"delta({epsilon:g})", claim.delta(epsilon), law.delta(epsilon)
    for order in ORDERS:
        yield f"Renyi of order {order:g}", claim.renyi(order), law.renyi(order)


class Hypotheses:
    """Hypotheses looked up once for each case."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}

    def hold(self, condition: Hypothesis[Any], case: Case) -> bool:
        key = id(condition), id(case)
        if key not in self._known:
            try:
                finding: Finding = case.asked(condition)
                self._known[key] = finding.holds is True
            except CANNOT:
                self._known[key] = False
        return self._known[key]

    def only(self, theorem: Any, dropped: Hypothesis[Any], cases: Iterable[Case]) -> Iterator[Case]:
        """The cases for which this hypothesis fails and all others hold."""
        others = [c for c in theorem.assumes if c is not dropped]
        for case in cases:
            fails = is_asked(theorem, case.subject) and not self.hold(dropped, case)
            if fails and all(self.hold(c, case) for c in others):
                yield case


def without(theorem: Any, dropped: Hypothesis[Any]) -> Any:
    """The theorem's twin that forgets one hypothesis."""
    return replace(theorem, assumes=tuple(c for c in theorem.assumes if c is not dropped))


def fate(theorem: Any, dropped: Hypothesis[Any], cases: Iterable[Case]) -> tuple[Fate, str]:
    """What becomes of the twin, and what showed it."""
    twin, worst = without(theorem, dropped), Fate.UNSEEN
    for case in cases:
        assert claim_of(case.asked(theorem)) is None, (theorem.name, case.subject)
        try:
            claim = claim_of(case.asked(twin))
            if says_nothing(claim):
                worst = worst if worst is Fate.TRUE else Fate.MUTE
                continue
            assert claim is not None
            for law in case.laws():
                below = shortfall(claim, law)
                if below is not None:
                    return Fate.FALSE, below
            worst = Fate.TRUE
        except CANNOT:
            worst = worst if worst is Fate.TRUE else Fate.MUTE
    return worst, ""
