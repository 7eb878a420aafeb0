"""Losses of a record as functions of its margins u = W^T a, with derivatives that stay bounded.

Each link is frozen data with four answers: how many `outputs` the margins have, which targets are
`usable`, the `objective` with its constants, and the `residuals`, that is the derivative of one
record's loss with respect to its margins, bounded by a cap for each record.  A gradient is residual
times features, so the cap is gradient_bound/|a|.  The cap is applied in the way that leaves the
residual the derivative of a convex function: a scalar is clamped, several outputs are shortened
together if the loss is radial, clamped one by one if the loss is a sum, and softmax is replaced by
its Lipschitz envelope.

Shapes: margins (n,) for one output, else (n, outputs); targets (n,), or (n, outputs) for
`MultiSquared`; bounds (n,).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wane.describe.objective import Objective
from wane.run.multi_links import MultiSquared, OneVsRest, Softmax, SoftmaxClamp, SoftmaxEnvelope
from wane.run.scalar_links import (
    Huber,
    Logistic,
    PoissonCounts,
    Quantile,
    SmoothedHinge,
    Squared,
)

__all__ = [
    "Huber",
    "Link",
    "Logistic",
    "MultiSquared",
    "OneVsRest",
    "PoissonCounts",
    "Quantile",
    "SmoothedHinge",
    "Softmax",
    "SoftmaxClamp",
    "SoftmaxEnvelope",
    "Squared",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Link(Protocol):
    """What the gradient sums ask of a loss."""

    @property
    def outputs(self) -> int:
        """How many margins a record has."""
        ...

    def usable(self, targets: Array) -> Mask:
        """Which targets mean something; the others' records count as zero records."""
        ...

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss, not bounded in any way."""
        ...

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative with respect to the margins, of length at most `bounds`."""
        ...

    def error(self, margin_bound: float) -> float:
        """Return how far a residual may be from the exact one, beyond rounding of the margins."""
        ...

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float
    ) -> Objective:
        """Return the constants of the bounded loss."""
        ...
