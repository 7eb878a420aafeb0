"""Guarantees record by record: the later a record is used, the less time it has to fade."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wane.analyses.interpolation import last_iterate
from wane.describe import NoisyDescent
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.theory import DoesNotApply, records

MOST_POSITIONS = 1_000_000


def mu_by_position(run: NoisyDescent) -> NDArray[np.float64]:
    """Return mu of the records of each batch, in the order in which the batches are used.

    A batch that is never used has mu = 0.  The largest entry is the guarantee for everyone.
    """
    verdict = last_iterate(run)
    if isinstance(verdict, DoesNotApply):
        first = verdict.obstacles[0]
        raise NoTheoremApplies(
            f"Guarantees by position need: {first.statement} ({first.because}); try {first.remedy}."
        )
    if run.steps_per_epoch > MOST_POSITIONS:
        raise InvalidDescription(
            f"batches.size must give at most {MOST_POSITIONS} batches to list them all, "
            f"got {run.steps_per_epoch}; the worst one is what certify() reports."
        )
    diameter = run.domain.diameter if len(run.plan) <= records.FEW_ROWS else math.inf
    return np.sqrt(records.hidden_by_position(run, diameter=diameter))
