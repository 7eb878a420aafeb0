"""A loss that wane does not have, in one file: Huber's, with a root in place of its two pieces.

    phi(u) = w^2 (sqrt(1 + z^2) - 1),   z = (u - y)/w,   w the width

    phi'   = w z / sqrt(1 + z^2)        within (-w, w)
    phi''  = (1 + z^2)^(-3/2)           within (0, 1], so phi is convex
    phi''' = -3 z (1 + z^2)^(-5/2) / w  largest in size at z = 1/2: (3/2) (4/5)^(5/2) / w

A gradient phi' a is therefore at most w R long and the Hessian phi'' a a^T at most R^2, R bounding
the norm of the features a.  Clamping phi' keeps the loss convex, as for any function of one margin.

Run this file to fit it privately and to sample its posterior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wane
from wane.learn.plan import Problem, plan
from wane.losses import Prior, ScalarLoss, linear_objective
from wane.run import LinearSums, descend
from wane.sampling import linear_posterior

Array = NDArray[np.float64]
ROUNDED_UP = 1.0 + 1e-14
"""Covers the handful of roundings in each constant below."""


@dataclass(frozen=True)
class PseudoHuber(ScalarLoss):
    """w^2 (sqrt(1 + z^2) - 1) of z = (u - y)/w."""

    width: float = 1.0

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        z = (margins - targets) / self.width
        return np.asarray(self.width**2 * z**2 / (np.hypot(1.0, z) + 1.0))

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return w z / sqrt(1 + z^2)."""
        apart = margins - targets
        return np.asarray(apart / np.hypot(1.0, apart / self.width))

    def error(self, margin_bound: float) -> float:
        """Return sixteen roundings of a difference; the slope does not enlarge them."""
        return 16.0 * 2.0**-53 * max(1.0, margin_bound, self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> wane.Objective:
        """Return the constants that are derived above; `gradient_bound` clips."""
        return linear_objective(
            feature_norm**2 * ROUNDED_UP,
            gradient_bound=self.width * feature_norm * ROUNDED_UP,
            clip=gradient_bound,
            ridge=ridge,
        )

    @property
    def prior(self) -> Prior:
        """As Huber's loss on targets within [-1, 1]: its own bound, noise of 0.15 on a margin."""
        return Prior(residuals=(None,), noise=0.15)

    # What follows is only needed to sample.

    @property
    def third_derivative(self) -> float:
        """(3/2) (4/5)^(5/2) / w, rounded up."""
        return 1.5 * 0.8**2.5 / self.width * ROUNDED_UP

    def height(self, target_bound: float | None) -> float | None:
        """Return the loss at margin zero of the largest target, rounded up."""
        if target_bound is None:
            return None
        return self.width**2 * (math.hypot(1.0, target_bound / self.width) - 1.0) * ROUNDED_UP


def main() -> dict[str, Any]:
    """Plan, certify, run and sample with this loss; the rows are invented, so they may be shown."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3)) / 3.0
    targets = np.clip(rows @ [0.8, -0.5, 0.3] + 0.05 * rng.standard_t(2, 2000), -1.0, 1.0)
    loss = PseudoHuber(width=0.25)

    problem = Problem(link=loss, records=len(rows), features=3, feature_norm=1.0)
    run = plan(problem, epsilon=2.0, delta=1e-5, adjacency=wane.Adjacency.ZERO_OUT)
    bound = run.objective.gradient_bound
    sums = LinearSums(rows, targets, loss, feature_norm=1.0, gradient_bound=bound)
    weights = descend(run, sums)

    posterior = linear_posterior(
        rows, targets, loss, feature_norm=1.0, prior_precision=1.0, target_bound=1.0
    )
    return {
        "epsilon": wane.certify(run).epsilon(1e-5),
        "weights": weights,
        "conditioning of the posterior": posterior.target.condition_number,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value}")
