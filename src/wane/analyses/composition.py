"""The baseline: charge for every use of a record, as if all iterates were seen."""

from __future__ import annotations

import math

from wane.describe.descent import NoisyDescent
from wane.guarantees import GaussianDP
from wane.theory import conditions as given
from wane.theory import records
from wane.theory.theorem import Citation, analysis


@analysis(
    of=NoisyDescent,
    source=Citation("dong2022gaussian", "composition of Gaussian guarantees"),
    assumes=(given.bounded_gradient, given.fixed_order, given.records_stay_in_place),
)
def gaussian_composition(run: NoisyDescent) -> GaussianDP:
    """Every use of a record is one Gaussian mechanism, and their squares add up.

    Claim.  mu^2 = sum over the record's visits of (Delta / s)^2, for the record with the most.
    Translation.  paper mu_i -> Delta / s of step i.
    Differs from the paper.  Nothing.
    """
    return GaussianDP(math.sqrt(records.composed(run)))
