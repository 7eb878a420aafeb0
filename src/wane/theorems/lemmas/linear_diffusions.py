"""Gaussian privacy of positions of a linear diffusion with a matrix of reversions.

In the units of the statistic every position is x + noise, and the noises of two positions of a tree
have in common what their last common ancestor has: the covariance of positions a and b is T at the
time of that ancestor.  So mu^2 is the smallest r for which the block matrix of all M is at most r
times the block matrix of these T.  One position is a matrix of one block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wane.arrays import Array
from wane.describe.diffusion import SHARE_OF_SENSITIVITY
from wane.describe.hierarchy import BranchedRelease
from wane.describe.linear_diffusion import LinearDiffusion
from wane.numerics.rounding import inflate, round_up
from wane.numerics.semidefinite import (
    UNIT,
    Uncertain,
    congruent,
    exactly,
    in_basis,
    largest_ratio_up,
    seen_in_basis,
)


def position_mu(process: LinearDiffusion, time: float) -> float:
    """Return the Gaussian DP parameter of the position at a time, rounded up.

    Claim.  mu^2 is the largest v' T^-1 v, v' M^-1 v <= 1, that is the smallest r with M <= r T.
    """
    return _mu(process, [[time]])


def tree_mu(release: BranchedRelease, process: LinearDiffusion) -> float:
    """Return the parameter of all seen positions of a tree together, rounded up."""
    names = release.seen_names
    return _mu(process, [[_meeting(release, a, b) for b in names] for a in names])


def _meeting(release: BranchedRelease, first: str, second: str) -> float:
    """Return the time of the last common ancestor; zero where only the statistic is common."""
    ancestor = release.common_ancestor([first, second])
    return 0.0 if ancestor is None else release.times[ancestor]


def _mu(process: LinearDiffusion, times: Sequence[Sequence[float]]) -> float:
    found = {t: _noise(process, t) for row in times for t in row if t > 0.0}
    size = process.dimension
    change = exactly(process.sensitivity_matrix)
    if process.basis is not None:
        change = in_basis(process.columns, process.sensitivity_matrix)
    nothing = exactly(np.zeros((size, size)))
    blocks = [[found.get(t, nothing) for t in row] for row in times]
    matrix: Array = np.block([[b.matrix for b in row] for row in blocks]).astype(np.float64)
    error: Array = np.block([[b.error for b in row] for row in blocks]).astype(np.float64)
    below = Uncertain(matrix, error)
    above = Uncertain(*(np.tile(part, (len(times), len(times))) for part in change))
    root = round_up(math.sqrt(largest_ratio_up(above, below)))
    # a number as sensitivity was squared, and roundings move statistics by the charge at most
    return inflate(root, SHARE_OF_SENSITIVITY * (1.0 + 1e-9) + 4.0 * UNIT)


def _noise(process: LinearDiffusion, time: float) -> Uncertain:
    """T at a time, with an error that holds what is drawn as well, and what the basis adds."""
    flow, factor = process.noise_after(time), process.drawn_factor(time)
    made = congruent(factor, exactly(np.eye(process.dimension)))
    away = np.abs(made.matrix - flow.matrix) + made.error
    # positions far down a tree are drawn in several steps: some more roundings
    steps = 64.0 * (process.dimension + 4) * UNIT * np.abs(flow.matrix)
    noise = Uncertain(flow.matrix, np.maximum(flow.error, away) + steps)
    return noise if process.basis is None else seen_in_basis(process.columns, noise)
