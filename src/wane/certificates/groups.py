"""Which guarantees extend to several records that change together, and why others do not.

A group of k records is a chain of k + 1 data sets that differ in one record each, and every member
of the chain must obey the theorem's hypotheses.  Records that are exchanged leave all of them true.
A Gaussian result needs no chain: its proof asks the constants of one of the two ends, and the shift
of k records is k times that of one.
"""

from __future__ import annotations

from wane.describe import Adjacency, NoisyDescent, Poisson
from wane.errors import NoTheoremApplies
from wane.guarantees import GaussianDP, Guarantee, NumericalDP
from wane.theorems.theorem import Applies, FactCondition


def grouped(run: NoisyDescent, verdict: Applies, size: int) -> Guarantee:
    """Return a theorem's guarantee for any `size` records at once, or say why it has none."""
    why = _obstacle(run, verdict)
    if why and size > 1:
        raise NoTheoremApplies(
            f"group needs adjacency replace-one for {verdict.analysis.name}, got "
            f"{run.adjacency.value}: {why}."
        )
    return verdict.guarantee.group(size)


def _obstacle(run: NoisyDescent, verdict: Applies) -> str:
    """What is not known of the data sets on the way; empty if nothing is missing."""
    if run.adjacency is Adjacency.REPLACE_ONE or isinstance(verdict.guarantee, GaussianDP):
        return ""
    losses = run.objective
    bends = losses.strong_convexity is not None and losses.strong_convexity > 0.0
    if not losses.clipped and (bends or losses.dissipativity is not None):
        return (
            "with several null or absent records the losses bend less than declared; put the "
            "curvature into ridge instead"
        )
    if any(isinstance(condition, FactCondition) for condition in verdict.analysis.assumes):
        return "the fact it rests on says nothing of several null, absent or added records"
    counted = not isinstance(verdict.guarantee, NumericalDP)
    if run.adjacency is Adjacency.ADD_REMOVE and isinstance(run.batches, Poisson) and counted:
        return "it counts the other records, of which there may be more or fewer"
    return ""
