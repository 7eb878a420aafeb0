"""A release of which only the cost is known, in plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from wane.arguments import Checked, Count, NonNegative, Probability
from wane.describe.choices import Adjacency, adjacency_of
from wane.describe.files import read_json
from wane.errors import InvalidDescription


@dataclass(frozen=True, kw_only=True)
class StatedRelease(Checked):
    """A release that costs what is stated; whoever states it vouches for it.

    Such as a noisy number that a run then uses, the promise that a run still to be planned will
    cost at most so much, or a mechanism of another library.  Exactly one of `mu`, `epsilon` with
    `delta`, and `other` is given.

    Attributes:
        name: what was released, in a few words.
        source: the proof that says so, as a citation or the path of a page.
        adjacency: which data sets the numbers compare.
        mu: the parameter of Gaussian privacy.
        epsilon, delta: one point of the privacy profile.
        failure: with this probability nothing is promised; it is added to delta.
        other: a guarantee of another kind, as JSON that `wane.guarantees.fields` reads.
        rows_per_person: how many records may change together.
    """

    name: str
    source: str
    adjacency: Annotated[Adjacency, adjacency_of]
    mu: NonNegative | None = None
    epsilon: NonNegative | None = None
    delta: Probability | None = None
    failure: Probability = 0.0
    other: str = ""
    rows_per_person: Count = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [self.mu is not None, self.epsilon is not None, bool(self.other)]
        if given.count(True) != 1 or (self.epsilon is None) != (self.delta is None):
            raise InvalidDescription(
                "the cost must be stated as mu, or as epsilon and delta, got "
                f"mu={self.mu}, epsilon={self.epsilon}, delta={self.delta}; state one of them."
            )

    @property
    def cost(self) -> dict[str, Any]:
        """What it costs as plain data, as ledgers and models hold it."""
        if self.mu is not None:
            whole: dict[str, Any] = {"mu": self.mu}
        elif self.epsilon is not None:
            whole = {"epsilon": self.epsilon, "delta": self.delta}
        else:
            whole = read_json(self.other, "other")
        return {"inner": whole, "probability": self.failure} if self.failure else whole

    def summary(self) -> str:
        """Return the release in one line."""
        return f"{self.name}, adjacency {self.adjacency.value}, as stated by {self.source}"
