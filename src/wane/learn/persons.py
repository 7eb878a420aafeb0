"""People who have several rows: the target is theirs, and each row is charged its share.

A guarantee for one row is a weaker one for all rows of a person: mu grows with their number, and
epsilon faster.  So a run is planned for a smaller epsilon, and certified for the person.
"""

from __future__ import annotations

from collections.abc import Callable

from wane import arguments
from wane.certificates import certify
from wane.describe import NoisyDescent
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP

ROOM = 1e-9
"""What rounding may take of the share, relatively."""
TRIES = 60
SMALLER = 0.85
"""A guarantee that is not Gaussian loses more with the group: then a smaller share is tried."""


def check_rows_per_person(rows: object, *, alone: bool) -> None:
    """Refuse a number of rows that is none, or one that a release beside the run cannot serve."""
    found = arguments.whole("rows_per_person", rows, least=1)
    if found > 1 and not alone:
        raise InvalidDescription(
            f"rows_per_person must be 1 with a private bound on the curvature, got {found}: a "
            "bound that may fail has no guarantee for several rows; leave out curvature."
        )


def share_of_one_row(epsilon: float, delta: float, rows_per_person: int) -> float:
    """Return the epsilon of one row at which a Gaussian guarantee protects a whole person."""
    if rows_per_person == 1:
        return epsilon
    mu = GaussianDP.from_target(epsilon=epsilon, delta=delta).mu
    return GaussianDP(mu / rows_per_person * (1.0 - ROOM)).epsilon(delta)


def planned_for_persons(
    planned: Callable[[float], NoisyDescent], *, epsilon: float, delta: float, rows_per_person: int
) -> NoisyDescent:
    """Return the run, planned for an epsilon of one row, that is private for a whole person."""
    if rows_per_person == 1:
        return planned(epsilon)
    share = share_of_one_row(epsilon, delta, rows_per_person)
    for _ in range(TRIES):
        run = planned(share)
        if certify(run).for_persons(rows_per_person).epsilon(delta) <= epsilon:
            return run
        share *= SMALLER
    raise Unreachable(
        f"No plan protects people with {rows_per_person} rows at epsilon={epsilon:g}; declare "
        "fewer rows per person, or a larger epsilon."
    )
