"""Several releases on the same records, certified together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from wane.certificates.certificate import (
    DEFAULT_DELTA,
    Certificate,
    epsilon_of,
    gaussian_mu_of,
    power_of,
)
from wane.describe import Adjacency, check
from wane.errors import InvalidDescription
from wane.guarantees import Guarantee, WithFailure
from wane.numerics.rounding import inflate

INVERSION = 1e-15
"""By how much a delta is raised at first, relatively, where its epsilon was not found again."""


@dataclass(frozen=True)
class SideRelease:
    """A release beside a run, such as a noisy bound that the run then uses.

    Attributes:
        name: what was released, in a few words.
        guarantee: what it costs.
        source: the proof that says so, as a citation or the path of a page.
        adjacency: which data sets the guarantee compares.
        rows_per_person: how many records may change together.
    """

    name: str
    guarantee: Guarantee
    source: str
    adjacency: Adjacency
    rows_per_person: int = 1

    @property
    def gaussian_level(self) -> tuple[float, float] | None:
        """Its mu, and the probability that it fails; None if it is not Gaussian."""
        inner, failure = self.guarantee, 0.0
        if isinstance(self.guarantee, WithFailure):
            inner, failure = self.guarantee.inner, self.guarantee.probability
        mu = gaussian_mu_of(inner)
        return None if mu is None else (mu, failure)


@dataclass(frozen=True)
class JointCertificate:
    """What can be claimed of several releases at once, each chosen in view of those before.

    The parts share one adjacency and one number of rows per person.  Each part answers with its
    best theorem at the asked delta.
    """

    parts: tuple[Certificate | SideRelease, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidDescription("parts must hold at least one release, got none.")
        for part in self.parts:
            check.kind("parts", part, (Certificate, SideRelease))
        found = {_adjacency(part) for part in self.parts}
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
        return _adjacency(self.parts[0])

    @property
    def rows_per_person(self) -> int:
        """How many records may change together."""
        return self.parts[0].rows_per_person

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The runs among the parts, in order."""
        return tuple(part for part in self.parts if isinstance(part, Certificate))

    def guarantee_at(self, delta: float) -> Guarantee:
        """Return the composition of the parts' best guarantees at `delta`."""
        first, *others = (_guarantee(part, delta) for part in self.parts)
        return first.compose(*others)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The composition at the default delta, ready to be composed further."""
        return self.guarantee_at(DEFAULT_DELTA)

    def epsilon(self, delta: float) -> float:
        """Return a certified epsilon at `delta`, never rounded down."""
        return min(epsilon_of(self.guarantee_at(delta), delta), epsilon_of(self.guarantee, delta))

    def delta(self, epsilon: float) -> float:
        """Return a certified delta at `epsilon`, never rounded down."""
        check.real("epsilon", epsilon, least=0.0)
        return self.guarantee.delta(epsilon)

    @property
    def mu(self) -> float | None:
        """The Gaussian-DP parameter, or None if some part is not Gaussian."""
        return gaussian_mu_of(self.guarantee)

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return a bound on an attacker's true-positive rate at this false-positive rate."""
        return power_of(self.guarantee, false_positive_rate)


def delta_for(certificate: Certificate | JointCertificate, epsilon: float) -> float:
    """Return a delta at which the certified epsilon is at most this: what an answer is written at.

    It is the certified delta, raised by what inverting it may lose, so that every number of the
    answer is said of one and the same delta.
    """
    delta, raised = certificate.delta(epsilon), INVERSION
    while certificate.epsilon(delta) > epsilon:
        delta, raised = min(inflate(delta, raised), 1.0), 8.0 * raised
    return delta


def _adjacency(part: Certificate | SideRelease) -> Adjacency:
    return part.run.adjacency if isinstance(part, Certificate) else part.adjacency


def _guarantee(part: Certificate | SideRelease, delta: float) -> Guarantee:
    return part.best(delta).guarantee if isinstance(part, Certificate) else part.guarantee
