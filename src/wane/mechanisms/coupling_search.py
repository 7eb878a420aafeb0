"""The intermediate law and coupling for which the coupling theorem says most.

Every coupling gives a true bound, so the search needs no proof: what is returned is what
`coupled_renyi` says of the coupling that was found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from wane import arguments
from wane.arrays import Array, read_only
from wane.mechanisms.coupling import coupled_renyi, probabilities

_SHARPNESS = (3.0, 30.0, 300.0)
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, eq=False)
class BestCoupling:
    """The best coupling found and its bound.

    Attributes:
        divergence: the bound on the divergence after the kernel, rounded up.
        coupling: rows are values of the law in between, columns those of the first law.
    """

    divergence: float
    coupling: Array

    @property
    def between(self) -> Array:
        """The law in between."""
        return np.asarray(self.coupling.sum(axis=1))


def best_coupling(
    order: float, *, first: ArrayLike, second: ArrayLike, kernel: ArrayLike
) -> BestCoupling:
    """Return the coupling with the smallest bound found; use it in place of guessing one.

    Never above the bound of the diagonal coupling (post-processing alone) and of the independent
    coupling with the second law in between.
    """
    order = arguments.real("order", order, above=1.0)
    p, q = probabilities("first", first), probabilities("second", second)
    rows = probabilities("kernel", kernel, each_row=True)
    coupled_renyi(order, first=p, second=q, coupling=np.diag(p), kernel=rows)  # checks the shapes
    tried = [np.diag(p), np.outer(q, p)]
    allowed = _allowed(q, rows)
    if np.all(np.any(allowed[:, p > 0.0], axis=0)):
        tried.append(_descended(_Problem(order, p, q, rows, allowed)))
    found = [
        coupled_renyi(order, first=p, second=q, coupling=joint, kernel=rows) for joint in tried
    ]
    best = int(np.argmin(found))
    return BestCoupling(found[best], read_only(tried[best]))


def _allowed(second: Array, rows: Array) -> Array:
    """Where the coupling may be positive without an infinite divergence."""
    seen = rows > 0.0
    covers = ~np.any(seen[None, :, :] & ~seen[:, None, :], axis=2)  # row x has all that row j has
    return np.asarray(covers & (second > 0.0)[:, None])


@dataclass(frozen=True, eq=False)
class _Problem:
    order: float
    first: Array
    second: Array
    rows: Array
    allowed: Array

    def coupling(self, angles: Array) -> Array:
        """A coupling with the right columns: each a mixture over the allowed rows."""
        size = self.first.size
        shown = np.where(self.allowed, angles.reshape(size, size), -np.inf)
        shown[:, ~self.allowed.any(axis=0)] = 0.0
        return np.asarray(special.softmax(shown, axis=0) * self.first)

    def smoothed(self, angles: Array, sharpness: float) -> tuple[float, Array]:
        """The bound with a smooth maximum, and its gradient."""
        a, joint = self.order, self.coupling(angles)
        between = np.maximum(joint.sum(axis=1), 1e-300)
        here = self.second > 0.0
        moved = joint @ self.rows
        with np.errstate(all="ignore"):
            weight = np.where(moved > 0.0, (moved / self.rows) ** (a - 1.0), 0.0)
            size = np.maximum((weight * moved).sum(axis=1), 1e-300)
            ratio = np.where(here, (between / np.where(here, self.second, 1.0)) ** (a - 1.0), 0.0)
        total = float((ratio * between).sum())
        local = (np.log(size) - a * np.log(between)) / (a - 1.0)
        local = np.where(
            here, np.clip(local, -_LARGEST_EXPONENT, _LARGEST_EXPONENT), -_LARGEST_EXPONENT
        )
        share = special.softmax(sharpness * local)
        slope = (weight @ self.rows.T) / size[:, None] - 1.0 / between[:, None]
        gradient = a / (a - 1.0) * (share[:, None] * slope + (ratio / total)[:, None])
        value = math.log(total) / (a - 1.0) + special.logsumexp(sharpness * local) / sharpness
        mean = (joint * gradient).sum(axis=0) / np.where(self.first > 0.0, self.first, 1.0)
        return float(value), np.asarray(joint * (gradient - mean)).reshape(-1)


def _descended(problem: _Problem) -> Array:
    size = problem.first.size
    angles = (2.0 * np.eye(size)).reshape(-1)
    for sharpness in _SHARPNESS:
        found = optimize.minimize(
            problem.smoothed,
            angles,
            args=(sharpness,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 150},
        )
        if np.all(np.isfinite(found.x)):
            angles = np.asarray(found.x)
    return problem.coupling(angles)
