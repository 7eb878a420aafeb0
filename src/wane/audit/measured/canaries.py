"""Data for audits: one record pushes as hard as the description allows, the others not at all.

The losses are members of the described class, so that a correct trainer stays within its
certificate; on full batches with a ridge they attain it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wane.arrays import Array
from wane.describe import Adjacency, Cyclic, NoisyDescent
from wane.errors import InvalidDescription
from wane.run import Rows


@dataclass(frozen=True)
class Quadratics:
    """Records with the loss curvature/2 |x|^2 + <push, x>, where only the canary's push is not 0.

    It meets the protocol `GradientSums`.

    Attributes:
        records: how many.
        shape: shape of the parameters.
        gradient_bound: the described bound on one record's whole gradient.
        curvature: shared by all records.
        canary: position of the record that pushes.
        push: its gradient at zero.
    """

    records: int
    shape: tuple[int, ...]
    gradient_bound: float
    curvature: float
    canary: int
    push: float

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return the sum of these records' gradients."""
        chosen = np.arange(self.records)[rows] if isinstance(rows, slice) else rows
        total = self.curvature * len(chosen) * parameters
        flat = total.reshape(-1)
        flat[0] += self.push * np.count_nonzero(chosen == self.canary)
        return flat.reshape(self.shape)


def canary_pair(run: NoisyDescent) -> tuple[Quadratics, Quadratics]:
    """Return two neighbouring data sets that are hard to hide from each other under this run.

    The record is in the last batch that is used, where nothing comes after it.
    """
    if run.public is not None:
        raise InvalidDescription(
            "public must be absent for a measured audit, got public records; audit the run "
            "without its steps on them, which can only leak more."
        )
    bound = run.objective.gradient_bound
    if bound is None:
        raise InvalidDescription(
            "objective.gradient_bound must be given for an audit, got None; declare it."
        )
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    dimension = run.objective.dimension or run.domain.dimension or 2
    last = (_data_steps(run) - 1) % run.steps_per_epoch
    canary = last * run.batch_size if isinstance(run.batches, Cyclic) else 0
    present = Quadratics(
        records=run.records,
        shape=(dimension,),
        gradient_bound=bound,
        curvature=_curvature(run),
        canary=canary,
        push=0.5 * run.objective.difference if replaced else bound,
    )
    other = -present.push if replaced else 0.0
    return present, Quadratics(**{**present.__dict__, "push": other})


def _curvature(run: NoisyDescent) -> float:
    """Return zero: a canary pushes with its whole bound, which leaves no room for curvature."""
    m = run.objective.strong_convexity or 0.0
    if m > 0.0 and not run.objective.clipped:
        raise InvalidDescription(
            f"strong_convexity must be 0 for an audit, got {m:g}; a gradient that bends and pushes "
            "is longer than its bound, so put the curvature into ridge."
        )
    return 0.0


def _data_steps(run: NoisyDescent) -> int:
    return int(run.plan.repeat[run.plan.uses_records].sum())
