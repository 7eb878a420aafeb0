"""One certified release: a description, every theorem's answer to it, and whom it protects.

A question to a guarantee whose answer may leave the range of doubles claims nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wane import arguments
from wane.audit.lower_bound import LowerBound, lower_bound
from wane.describe import Adjacency, Fact, NoisyDescent, Poisson
from wane.describe.description import Description
from wane.describe.samples import OverdampedRun
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP, Guarantee, NumericalDP, RenyiDP
from wane.guarantees.renyi import LinearCurve
from wane.report.text import round_up_to
from wane.theorems.theorem import Answers, Applies, Basis, FactHypothesis, Finding, Refuses, Verdict

DEFAULT_DELTA = 1e-5
"""Where a best theorem must be named and nobody said at which delta."""


def gaussian_mu_of(guarantee: Guarantee) -> float | None:
    """Return mu if the guarantee is a Gaussian one."""
    return guarantee.mu if isinstance(guarantee, GaussianDP) else None


def zcdp_of(guarantee: Guarantee) -> float | None:
    """Return the rho of zero-concentrated DP, if every order's divergence is rho times it."""
    linear = isinstance(guarantee, RenyiDP) and isinstance(guarantee.curve, LinearCurve)
    return guarantee.renyi(2.0) / 2.0 if isinstance(guarantee, GaussianDP) or linear else None


def epsilon_of(guarantee: Guarantee, delta: float) -> float:
    """Return a guarantee's epsilon at `delta`; infinite where its computation has no answer."""
    arguments.real("delta", delta, least=0.0, most=1.0)
    return in_range(guarantee.epsilon, delta)


def power_of(guarantee: Guarantee, false_positive_rate: float) -> float:
    """Return a bound on the true-positive rate; one where its computation has no answer."""
    return min(in_range(guarantee.true_positive_rate, false_positive_rate), 1.0)


def in_range(measure: Callable[[float], float], at: float) -> float:
    """Return the measure at this place; infinity if it overflows or is not a number."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            value = measure(at)
    except ArithmeticError:
        return math.inf
    return math.inf if math.isnan(value) else value


def json_number(value: float | None) -> float | str | None:
    """JSON knows no infinity: say it in a word that every parser reads."""
    return "infinity" if value is not None and math.isinf(value) else value


@dataclass(frozen=True)
class CertifiedRelease(Answers[Guarantee]):
    """A description of one release, and every theorem's answer to it.

    Attributes:
        rows_per_person: how many records may change together; see `for_persons`.
        facts: what was stated of this very run beside its description; each names its hash.
        sampled: the chains that a described descent is together, if it is; some theorems speak of
            them.
    """

    rows_per_person: int = 1
    facts: tuple[Fact, ...] = ()
    sampled: OverdampedRun | None = None

    @property
    def narrowed(self) -> bool:
        """Whether more is known of the losses than the description says, such as their range.

        Its worst members need not be among them.
        """
        if self.sampled is None:
            return False
        known = self.sampled.posterior.losses
        return known.range_of_loss is not None or known.height_at_start is not None

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are compared."""
        found: Adjacency = self.description.adjacency
        return found

    def best(self, delta: float = DEFAULT_DELTA) -> Applies[Guarantee]:
        """Return the theorem with the smallest epsilon at `delta`.

        Of equals the one with the smaller mu, then with the smaller delta at epsilon zero, then the
        first.
        """
        found = [(epsilon_of(v.conclusion, delta), v) for v in self.required]
        least = min(epsilon for epsilon, _ in found)
        equals = [verdict for epsilon, verdict in found if epsilon == least]
        return equals[0] if len(equals) == 1 else min(equals, key=_tie_breaker)

    @cached_property
    def worst_known(self) -> LowerBound | None:
        """The exact member of the described class that leaks most; None where none is known."""
        if self.facts or self.narrowed or not isinstance(self.description, NoisyDescent):
            # the members that attain the bounds are not known to have what was stated beside them
            return None
        return lower_bound(self.description)

    def group(self, size: int) -> Guarantee:
        """Return the guarantee for any `size` records at once: the best that extends to a group."""
        ranked = sorted(self.required, key=lambda v: epsilon_of(v.conclusion, DEFAULT_DELTA))
        refusals = []
        for verdict in ranked:
            try:
                return grouped(self.description, verdict, size)
            except NoTheoremApplies as error:
                refusals.append(error)
        raise refusals[0]

    def for_persons(self, rows_per_person: int) -> CertifiedRelease:
        """Return what protects people who have up to so many records each.

        Every theorem's guarantee becomes that of a group; one that gives none no longer applies.
        """
        size = arguments.whole("rows_per_person", rows_per_person, least=1)
        if self.rows_per_person != 1:
            raise InvalidDescription(
                f"rows_per_person must be set once, got {size} after {self.rows_per_person}."
            )
        if size == 1:
            return self
        self.group(size)  # refuses where no group is covered
        verdicts = tuple(self._for_group(verdict, size) for verdict in self.verdicts)
        return replace(self, verdicts=verdicts, rows_per_person=size)

    def explain(self, delta: float, advice: Iterable[str] = ()) -> list[str]:
        """Return the description, every answer at `delta` and the advice, as lines of text."""

        def shown(guarantee: Guarantee) -> str:
            epsilon = round_up_to(epsilon_of(guarantee, delta))
            return f"epsilon = {epsilon} at delta = {round_up_to(delta)}"

        def least(guarantee: Guarantee) -> float:
            return epsilon_of(guarantee, delta)

        lines = [self.description.summary(), *self.explained(shown, least, advice)]
        return lines if self.applicable else [*lines, "no theorem applies"]

    def _for_group(self, verdict: Verdict[Guarantee], size: int) -> Verdict[Guarantee]:
        if isinstance(verdict, Refuses):
            return verdict
        try:
            return replace(verdict, conclusion=grouped(self.description, verdict, size))
        except NoTheoremApplies as error:
            asked = f"the guarantee extends to groups of {size} records"
            finding = Finding(asked, Basis.DERIVED, False, str(error), "rows_per_person = 1")
            return Refuses(verdict.theorem, (*verdict.findings, finding))


def _tie_breaker(verdict: Applies[Guarantee]) -> tuple[float, float]:
    mu = gaussian_mu_of(verdict.conclusion)
    return math.inf if mu is None else mu, in_range(verdict.conclusion.delta, 0.0)


def grouped(description: Any, verdict: Applies[Guarantee], size: int) -> Guarantee:
    """Return a theorem's guarantee for any `size` records at once, or say why it has none."""
    why = _obstacle(description, verdict)
    if why and size > 1:
        raise NoTheoremApplies(
            f"group needs adjacency replace-one for {verdict.theorem.name}, got "
            f"{description.adjacency.value}: {why}."
        )
    return verdict.conclusion.group(size)


def _obstacle(description: Any, verdict: Applies[Guarantee]) -> str:
    """Return what is not known of the data sets on the way; empty if nothing is missing."""
    if description.adjacency is Adjacency.REPLACE_ONE:
        return ""
    if isinstance(description, Description) and isinstance(verdict.conclusion, GaussianDP):
        return ""
    if not isinstance(description, NoisyDescent):
        return "nothing is known of data sets with several null, absent or added records"
    return _obstacle_of_run(description, verdict)


def _obstacle_of_run(run: NoisyDescent, verdict: Applies[Guarantee]) -> str:
    if isinstance(verdict.conclusion, GaussianDP):
        return ""
    losses = run.objective
    bends = losses.strong_convexity is not None and losses.strong_convexity > 0.0
    if not losses.clipped and (bends or losses.dissipativity is not None):
        return (
            "with several null or absent records the losses bend less than declared; put the "
            "curvature into ridge instead"
        )
    if any(isinstance(asked, FactHypothesis) for asked in verdict.theorem.assumes):
        return "the fact it rests on says nothing of several null, absent or added records"
    counted = not isinstance(verdict.conclusion, NumericalDP)
    if run.adjacency is Adjacency.ADD_REMOVE and isinstance(run.batches, Poisson) and counted:
        return "it counts the other records, of which there may be more or fewer"
    return ""
