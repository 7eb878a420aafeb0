"""A certificate: one description, and every theorem's answer to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from wane.audit.lower_bound import LowerBound, lower_bound
from wane.certificates.groups import grouped
from wane.certificates.presented import PresentedCertificate
from wane.describe import Fact, NoisyDescent, check
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP, Guarantee, RenyiDP
from wane.guarantees.renyi import LinearCurve
from wane.report.format import round_up_to
from wane.theorems.theorem import Applies, Basis, DoesNotApply, Finding, Verdict

DEFAULT_DELTA = 1e-5
"""Where a best theorem must be named and nobody said at which delta."""


@dataclass(frozen=True, repr=False)
class Certificate(PresentedCertificate):
    """What can be claimed about a run, and on what grounds.

    All bounds are valid at once, so each question is answered by the smallest.

    Attributes:
        run: the description.
        verdicts: every theorem's answer to it.
        rows_per_person: how many records may change together; see `for_persons`.
        facts: what was stated of this very run beside its description; each names its hash.
        narrowed: more is known of the losses than the description says, such as their range, so
            that its worst members need not be among them.
    """

    run: NoisyDescent
    verdicts: tuple[Verdict, ...]
    rows_per_person: int = 1
    facts: tuple[Fact, ...] = ()
    narrowed: bool = False

    @property
    def applicable(self) -> tuple[Applies, ...]:
        """The theorems whose hypotheses all hold."""
        return tuple(v for v in self.verdicts if isinstance(v, Applies))

    @property
    def obstacles(self) -> tuple[DoesNotApply, ...]:
        """The theorems that do not apply, with what stands in their way."""
        return tuple(v for v in self.verdicts if isinstance(v, DoesNotApply))

    def best(self, delta: float = DEFAULT_DELTA) -> Applies:
        """Return the theorem with the smallest epsilon at `delta`.

        Of equals the one with the smaller mu, then with the smaller delta at epsilon zero, then the
        first.
        """
        found = [(epsilon_of(v.guarantee, delta), v) for v in self._required]
        least = min(epsilon for epsilon, _ in found)
        equals = [verdict for epsilon, verdict in found if epsilon == least]
        return equals[0] if len(equals) == 1 else min(equals, key=_tie_breaker)

    def epsilon(self, delta: float) -> float:
        """Return the smallest certified epsilon at `delta`, never rounded down."""
        return min(epsilon_of(v.guarantee, delta) for v in self._required)

    def delta(self, epsilon: float) -> float:
        """Return the smallest certified delta at `epsilon`, never rounded down."""
        check.real("epsilon", epsilon, least=0.0)
        return min(1.0, *(_in_range(v.guarantee.delta, epsilon) for v in self._required))

    def renyi(self, order: float) -> float:
        """Return the smallest certified Renyi divergence of this order, never rounded down."""
        check.real("order", order, above=1.0)
        return min(_in_range(v.guarantee.renyi, order) for v in self._required)

    @property
    def zcdp(self) -> float | None:
        """The smallest rho of zero-concentrated privacy; None if no theorem gives one."""
        found = (zcdp_of(v.guarantee) for v in self._required)
        return min((rho for rho in found if rho is not None), default=None)

    @property
    def least_mu(self) -> float | None:
        """The smallest Gaussian-DP parameter of all theorems; None if none is a Gaussian one."""
        found = (gaussian_mu_of(v.guarantee) for v in self._required)
        return min((mu for mu in found if mu is not None), default=None)

    @property
    def mu(self) -> float | None:
        """The Gaussian-DP parameter, or None if the best guarantee is not a Gaussian one."""
        return gaussian_mu_of(self.best().guarantee)

    def lower_bound_epsilon(self, delta: float) -> float | None:
        """Return what an exact member of the described class leaks; None where none is known."""
        return None if self._worst_known is None else self._worst_known.epsilon(delta)

    def bracket(self, delta: float = DEFAULT_DELTA) -> tuple[float | None, float]:
        """Return a lower and an upper bound on the true epsilon at `delta`."""
        return self.lower_bound_epsilon(delta), self.epsilon(delta)

    def bracket_mu(self, delta: float = DEFAULT_DELTA) -> tuple[float | None, float | None]:
        """Return what bounds mu from below, judged at `delta`, and the certified mu, if any."""
        lower = None if self._worst_known is None else self._worst_known.mu(delta)
        return lower, gaussian_mu_of(self.best(delta).guarantee)

    @property
    def guarantee(self) -> Guarantee:
        """The best guarantee at the default delta, ready to be composed."""
        return self.best().guarantee

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return a bound on an attacker's true-positive rate at this false-positive rate."""
        return min(power_of(v.guarantee, false_positive_rate) for v in self._required)

    def group(self, size: int) -> Guarantee:
        """Return the guarantee for any `size` records at once: the best that extends to a group."""
        ranked = sorted(self._required, key=lambda v: epsilon_of(v.guarantee, DEFAULT_DELTA))
        refusals = []
        for verdict in ranked:
            try:
                return grouped(self.run, verdict, size)
            except NoTheoremApplies as error:
                refusals.append(error)
        raise refusals[0]

    def for_persons(self, rows_per_person: int) -> Certificate:
        """Return the certificate that protects people who have up to so many records each.

        Every theorem's guarantee becomes that of a group; one that gives none no longer applies.
        """
        size = check.whole("rows_per_person", rows_per_person, least=1)
        if self.rows_per_person != 1:
            raise InvalidDescription(
                f"rows_per_person must be set once, got {size} after {self.rows_per_person}."
            )
        if size == 1:
            return self
        self.group(size)  # refuses where no group is covered
        verdicts = tuple(_for_group(self.run, verdict, size) for verdict in self.verdicts)
        return replace(self, verdicts=verdicts, rows_per_person=size)

    def compose(self, *others: Certificate) -> Guarantee:
        """Return the guarantee of releasing this run and the others, on the same records."""
        for other in others:
            if other.rows_per_person != self.rows_per_person:
                raise InvalidDescription(
                    f"rows_per_person must be the same to compose, got {self.rows_per_person} and "
                    f"{other.rows_per_person}; certify both for the same people."
                )
            if other.run.records != self.run.records:
                raise InvalidDescription(
                    f"records must be the same to compose, got {self.run.records} and "
                    f"{other.run.records}: one run's neighbours are not the other's; releases on "
                    "other parts of the data go into a JointCertificate."
                )
            if other.run.adjacency is not self.run.adjacency:
                raise InvalidDescription(
                    f"adjacency must be the same to compose, got {self.run.adjacency.value} and "
                    f"{other.run.adjacency.value}; certify both under one."
                )
        return self.guarantee.compose(*(other.guarantee for other in others))

    def explain(self, delta: float = DEFAULT_DELTA) -> str:
        """Return every theorem's answer as text."""
        lines = [f"{_summary(self.run)}"]
        for verdict in self.verdicts:
            lines += _explained(verdict, delta)
        if not self.applicable:
            lines.append("no theorem applies")
        return "\n".join(lines)

    @cached_property
    def _worst_known(self) -> LowerBound | None:
        # the members that attain the bounds are not known to have what was stated beside them
        return None if self.facts or self.narrowed else lower_bound(self.run)

    @cached_property
    def _required(self) -> tuple[Applies, ...]:
        if not self.applicable:
            raise NoTheoremApplies(_nothing_applies(self.obstacles))
        return self.applicable


def _tie_breaker(verdict: Applies) -> tuple[float, float]:
    mu = gaussian_mu_of(verdict.guarantee)
    return math.inf if mu is None else mu, _in_range(verdict.guarantee.delta, 0.0)


def _summary(run: NoisyDescent) -> str:
    return (
        f"{run.total_steps} steps on {run.records} records, batches {run.batches.kind}, "
        f"adjacency {run.adjacency.value}, released: {run.release.name}"
    )


def _explained(verdict: Verdict, delta: float) -> list[str]:
    title = f"{verdict.analysis.name} [{verdict.analysis.source}]"
    if isinstance(verdict, Applies):
        epsilon = round_up_to(epsilon_of(verdict.guarantee, delta))
        return [f"  yes {title}: epsilon = {epsilon} at delta = {round_up_to(delta)}"]
    lines = [f"  no  {title}"]
    return lines + [f"        {obstacle.complaint}" for obstacle in verdict.obstacles]


def _for_group(run: NoisyDescent, verdict: Verdict, size: int) -> Verdict:
    if isinstance(verdict, DoesNotApply):
        return verdict
    try:
        return replace(verdict, guarantee=grouped(run, verdict, size))
    except NoTheoremApplies as error:
        asked = f"the guarantee extends to groups of {size} records"
        finding = Finding(asked, Basis.DERIVED, False, str(error), "rows_per_person = 1")
        return DoesNotApply(verdict.analysis, (*verdict.findings, finding))


def gaussian_mu_of(guarantee: Guarantee) -> float | None:
    """Return mu if the guarantee is a Gaussian one."""
    return guarantee.mu if isinstance(guarantee, GaussianDP) else None


def zcdp_of(guarantee: Guarantee) -> float | None:
    """Return the rho of zero-concentrated DP, if every order's divergence is rho times it."""
    linear = isinstance(guarantee, RenyiDP) and isinstance(guarantee.curve, LinearCurve)
    return guarantee.renyi(2.0) / 2.0 if isinstance(guarantee, GaussianDP) or linear else None


def epsilon_of(guarantee: Guarantee, delta: float) -> float:
    """Return a guarantee's epsilon at `delta`; infinite where its computation has no answer."""
    check.real("delta", delta, least=0.0, most=1.0)
    return _in_range(guarantee.epsilon, delta)


def power_of(guarantee: Guarantee, false_positive_rate: float) -> float:
    """Return a bound on the true-positive rate; one where its computation has no answer."""
    return min(_in_range(guarantee.true_positive_rate, false_positive_rate), 1.0)


def _in_range(measure: Callable[[float], float], at: float) -> float:
    """An answer that overflows, or is not a number, is no guarantee."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            value = measure(at)
    except ArithmeticError:
        return math.inf
    return math.inf if math.isnan(value) else value


def _nothing_applies(refusals: tuple[DoesNotApply, ...]) -> str:
    if not refusals:
        return "No theorem was asked; pass some analyses."
    nearest = min(refusals, key=lambda v: len(v.obstacles))
    return (
        f"No theorem applies to this description; the nearest is {nearest.analysis.name}, "
        f"which needs: {nearest.obstacles[0].need}."
    )
