"""Which guarantees extend to several records that change together, and why others do not.

A group of k records is a chain of k + 1 data sets that differ in one record each, and every member
of the chain must obey the theorem's hypotheses.  Records that are exchanged leave all of them true.
A Gaussian result needs no chain: its proof asks the constants of one of the two ends, and the shift
of k records is k times that of one.
"""

from __future__ import annotations

from typing import Any

from wane.describe import Adjacency, NoisyDescent, Poisson
from wane.describe.description import Description
from wane.errors import NoTheoremApplies
from wane.guarantees import GaussianDP, Guarantee, NumericalDP
from wane.theorems.theorem import Applies, FactHypothesis


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
