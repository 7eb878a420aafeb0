"""A certificate: one or several releases on the same records, and what is claimed of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from wane import arguments
from wane.certificates.parts import (
    DEFAULT_DELTA,
    CertifiedRelease,
    epsilon_of,
    gaussian_mu_of,
    in_range,
    power_of,
    zcdp_of,
)
from wane.certificates.presented import PresentedCertificate
from wane.describe import Adjacency, Fact, NoisyDescent
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP, Guarantee
from wane.numerics.rounding import inflate
from wane.report.text import round_up_to
from wane.theorems.theorem import Applies, Refuses, Verdict

NO_PRIVACY = GaussianDP(math.inf)
"""What a void certificate claims."""
INVERSION = 1e-15
"""By how much a delta is raised at first, relatively, where its epsilon was not found again."""


@dataclass(frozen=True, repr=False)
class Certificate(PresentedCertificate):
    """What can be claimed of all that was released, and on what grounds.

    Of one release every theorem's bound is valid, so each question is answered by the smallest.
    Several releases, each chosen in view of those before, answer by composition: each part by its
    best theorem at the asked delta.  A void certificate claims nothing.

    Attributes:
        parts: the releases, in order; all share one adjacency and one number of rows per person.
        void_because: why nothing is claimed after all, one sentence each; empty if valid.
    """

    parts: tuple[CertifiedRelease, ...]
    void_because: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidDescription("parts must hold at least one release, got none.")
        for part in self.parts:
            arguments.kind("parts", part, (CertifiedRelease,))
        found = {part.adjacency for part in self.parts}
        if len(found) > 1:
            names = " and ".join(sorted(a.value for a in found))
            raise InvalidDescription(
                f"adjacency must be the same to compose, got {names}; certify all under one."
            )
        sizes = sorted({part.rows_per_person for part in self.parts})
        if len(sizes) > 1:
            raise InvalidDescription(
                f"rows_per_person must be the same to compose, got {sizes[0]} and {sizes[-1]}; "
                "certify all for the same people."
            )

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are compared."""
        return self.parts[0].adjacency

    @property
    def rows_per_person(self) -> int:
        """How many records may change together; see `for_persons`."""
        return self.parts[0].rows_per_person

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What was stated of the runs beside their descriptions; each names its run's hash."""
        return tuple(dict.fromkeys(fact for part in self.parts for fact in part.facts))

    @property
    def narrowed(self) -> bool:
        """Whether more is known of the losses of some part than its description says."""
        return any(part.narrowed for part in self.parts)

    @property
    def each(self) -> tuple[Certificate, ...]:
        """The releases one by one, each with a certificate of its own, as valid as this one."""
        return tuple(Certificate((part,), self.void_because) for part in self.parts)

    @property
    def nominal(self) -> Certificate:
        """What could be claimed, had nothing voided it."""
        return Certificate(self.parts)

    def void(self, because: Iterable[str]) -> Certificate:
        """Return the certificate that claims nothing for these reasons; the same if none."""
        return Certificate(self.parts, (*self.void_because, *because))

    @property
    def description(self) -> Any:
        """The description of the last release."""
        return self.parts[-1].description

    @property
    def run(self) -> Any:
        """The description of the last release."""
        return self.description

    @property
    def verdicts(self) -> tuple[Verdict[Guarantee], ...]:
        """Every theorem's answer to the last release."""
        return self.parts[-1].verdicts

    @property
    def applicable(self) -> tuple[Applies[Guarantee], ...]:
        """The theorems whose hypotheses all hold of the last release; none if void."""
        return () if self.void_because else self.parts[-1].applicable

    @property
    def obstacles(self) -> tuple[Refuses, ...]:
        """The theorems that do not apply to the last release, with what stands in their way."""
        return self.parts[-1].obstacles

    def best(self, delta: float = DEFAULT_DELTA) -> Applies[Guarantee]:
        """Return the theorem with the smallest epsilon at `delta` for the last release.

        Of equals the one with the smaller mu, then with the smaller delta at epsilon zero, then the
        first.  Refused if the certificate is void.
        """
        self._require_valid()
        return self.parts[-1].best(delta)

    def epsilon(self, delta: float) -> float:
        """Return the smallest certified epsilon at `delta`, never rounded down."""
        arguments.real("delta", delta, least=0.0, most=1.0)
        claims = self._claims
        if len(self.parts) > 1 and not self.void_because:
            claims = (self.guarantee_at(delta), *claims)
        return min(epsilon_of(guarantee, delta) for guarantee in claims)

    def delta(self, epsilon: float) -> float:
        """Return the smallest certified delta at `epsilon`, never rounded down."""
        arguments.real("epsilon", epsilon, least=0.0)
        return min(1.0, self._least(lambda g: in_range(g.delta, epsilon)))

    def renyi(self, order: float) -> float:
        """Return the smallest certified Renyi divergence of this order, never rounded down."""
        arguments.real("order", order, above=1.0)
        return self._least(lambda g: in_range(g.renyi, order))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return a bound on an attacker's true-positive rate at this false-positive rate."""
        arguments.real("false_positive_rate", false_positive_rate, least=0.0, most=1.0)
        if self.void_because:
            return 1.0
        return self._least(lambda g: power_of(g, false_positive_rate))

    @property
    def zcdp(self) -> float | None:
        """The smallest rho of zero-concentrated privacy; None if no theorem gives one."""
        return self._least_known(zcdp_of)

    @property
    def least_mu(self) -> float | None:
        """The smallest Gaussian-DP parameter of all theorems; None if none is a Gaussian one."""
        return self._least_known(gaussian_mu_of)

    @property
    def mu(self) -> float | None:
        """The Gaussian-DP parameter, or None if the best guarantee is not a Gaussian one."""
        return None if self.void_because else gaussian_mu_of(self.guarantee)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The best guarantee at the default delta, ready to be composed."""
        return self.guarantee_at(DEFAULT_DELTA)

    def guarantee_at(self, delta: float) -> Guarantee:
        """Return the best guarantee at `delta`: of several releases, the composition of theirs."""
        if self.void_because:
            return NO_PRIVACY
        first, *others = (part.best(delta).conclusion for part in self.parts)
        return first.compose(*others) if others else first

    def lower_bound_epsilon(self, delta: float) -> float | None:
        """Return what an exact member of the described class leaks; None where none is known."""
        known = (part.worst_known for part in self.parts)
        return max((worst.epsilon(delta) for worst in known if worst is not None), default=None)

    def bracket(self, delta: float = DEFAULT_DELTA) -> tuple[float | None, float]:
        """Return a lower and an upper bound on the true epsilon at `delta`."""
        return self.lower_bound_epsilon(delta), self.epsilon(delta)

    def bracket_mu(self, delta: float = DEFAULT_DELTA) -> tuple[float | None, float | None]:
        """Return what bounds mu from below, judged at `delta`, and the certified mu, if any."""
        known = (part.worst_known for part in self.parts)
        lower = [worst.mu(delta) for worst in known if worst is not None]
        upper = None if self.void_because else gaussian_mu_of(self.guarantee_at(delta))
        return max((mu for mu in lower if mu is not None), default=None), upper

    def group(self, size: int) -> Guarantee:
        """Return the guarantee for any `size` records at once: the best that extends to a group."""
        self._require_valid()
        first, *others = (part.group(size) for part in self.parts)
        return first.compose(*others)

    def for_persons(self, rows_per_person: int) -> Certificate:
        """Return the certificate that protects people who have up to so many records each.

        Every theorem's guarantee becomes that of a group; one that gives none no longer applies.
        """
        parts = tuple(part.for_persons(rows_per_person) for part in self.parts)
        same = all(new is old for new, old in zip(parts, self.parts, strict=True))
        return self if same else Certificate(parts, self.void_because)

    def compose(self, *others: Certificate) -> Certificate:
        """Return the certificate of releasing all of these, on the same records."""
        made = together((self, *others))
        runs = [p.description for p in made.parts if isinstance(p.description, NoisyDescent)]
        for run in runs:
            if run.records != runs[0].records:
                raise InvalidDescription(
                    f"records must be the same to compose, got {runs[0].records} and "
                    f"{run.records}: one run's neighbours are not the other's; releases on other "
                    "parts of the data are certified by wane.certificates.together."
                )
        return made

    def explain(self, delta: float = DEFAULT_DELTA) -> str:
        """Return every theorem's answer as text, best first, and the change that would help most.

        Of several releases each is explained; of a void certificate, why it is void.
        """
        if self.void_because:
            return "\n".join(
                ("void: no privacy is claimed", *(f"  {r}" for r in self.void_because))
            )
        change = self.best_change(delta)
        advice = []
        if change is not None:
            epsilon = round_up_to(change.epsilon)
            advice = [f"The one change that would help most: {change.words}: epsilon {epsilon}"]
        return "\n".join(line for part in self.parts for line in part.explain(delta, advice))

    def best_change(self, delta: float = DEFAULT_DELTA) -> Any:
        """Return the change of the run that would lower epsilon most; None if none helps.

        It is asked of one release by noisy descent; see `wane.certificates.changes`.
        """
        if self.void_because or len(self.parts) > 1 or not isinstance(self.run, NoisyDescent):
            return None
        # changed runs are certified anew, so that their maker is asked for by its name
        made = import_module("wane.certificates.changes")
        return made.best_change(self, delta)

    @cached_property
    def _claims(self) -> tuple[Guarantee, ...]:
        """Guarantees that all hold: each theorem's or, of several releases, their composition."""
        if self.void_because or len(self.parts) > 1:
            return (self.guarantee,)
        return tuple(verdict.conclusion for verdict in self.parts[0].required)

    def _least(self, measure: Callable[[Guarantee], float]) -> float:
        return min(measure(guarantee) for guarantee in self._claims)

    def _least_known(self, measure: Callable[[Guarantee], float | None]) -> float | None:
        found = () if self.void_because else map(measure, self._claims)
        return min((value for value in found if value is not None), default=None)

    def _require_valid(self) -> None:
        if self.void_because:
            raise NoTheoremApplies(
                f"The certificate is void: {' '.join(self.void_because)} Its `nominal` says what "
                "could have been claimed."
            )


def together(certificates: Iterable[Certificate]) -> Certificate:
    """Return one certificate of all these releases, void if one of them is.

    Their records may be other parts of the same data: a record is charged for each release.
    """
    made = tuple(certificates)
    for certificate in made:
        arguments.kind("certificates", certificate, (Certificate,))
    reasons = dict.fromkeys(reason for c in made for reason in c.void_because)
    return Certificate(tuple(part for c in made for part in c.parts), tuple(reasons))


def JointCertificate(parts: Iterable[Certificate]) -> Certificate:  # noqa: N802
    """Return the certificate of several releases; `together` is its name since version 0.2."""
    warnings.warn("use wane.certificates.together", DeprecationWarning, stacklevel=2)
    return together(parts)


def delta_for(certificate: Certificate, epsilon: float) -> float:
    """Return a delta at which the certified epsilon is at most this: what an answer is written at.

    It is the certified delta, raised by what inverting it may lose, so that every number of the
    answer is said of one and the same delta.
    """
    delta, raised = certificate.delta(epsilon), INVERSION
    while certificate.epsilon(delta) > epsilon:
        delta, raised = min(inflate(delta, raised), 1.0), 8.0 * raised
    return delta
