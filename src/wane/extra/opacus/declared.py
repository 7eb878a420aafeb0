"""What nobody can read from the objects of a training."""

from __future__ import annotations

from dataclasses import dataclass

from wane.describe import Adjacency
from wane.describe.domains import Domain
from wane.errors import InvalidDescription
from wane.extra.opacus.loaders import Sampling


@dataclass(frozen=True)
class Declared:
    """What a caller adds to what is read; all of it is optional.

    Attributes:
        adjacency: which data sets must be indistinguishable.  Left out: add-remove for Poisson
            batches, as Opacus means it, zero-out for others.
        domain: a set or regulariser; its prox is applied to the weights after each step.
        poisson_sampling: checked against the loader.
    """

    adjacency: Adjacency | None = None
    domain: Domain | None = None
    poisson_sampling: bool | None = None

    def check_against(self, sampling: Sampling) -> None:
        """Refuse what contradicts the loader."""
        if self.poisson_sampling not in (None, sampling.poisson):
            raise InvalidDescription(
                f"poisson_sampling must agree with the loader, which draws {sampling.order.value}, "
                f"got {self.poisson_sampling}; leave it out, it is read from the loader."
            )
        if self.adjacency is Adjacency.ADD_REMOVE and not sampling.poisson:
            raise InvalidDescription(
                f"adjacency must be zero-out or replace-one for {sampling.order.value}, got "
                "add-remove; adding a record would move the others to other batches."
            )
