"""Spectral domains: a point is a matrix, written row after row along the last axis.

Distances are Euclidean in the entries (Frobenius), and in that norm the prox never moves two
matrices apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from wane.arguments import Count, NonNegative
from wane.arrays import Array
from wane.describe.domains.base import ConvexSet, Domain, ProxFacts


@final
@dataclass(frozen=True)
class NuclearNorm(Domain):
    """weight*(sum of singular values): small singular values become zero, so ranks drop."""

    kind: ClassVar[str] = "nuclear-norm"
    weight: NonNegative
    rows: Count
    columns: Count

    def _describe(self) -> ProxFacts:
        return ProxFacts(dimension=self.rows * self.columns)

    def _matrices(self, points: Array) -> Array:
        return points.reshape(*points.shape[:-1], self.rows, self.columns)

    def _prox(self, points: Array, step_size: float) -> Array:
        left, strengths, right = np.linalg.svd(self._matrices(points), full_matrices=False)
        shrunk = np.maximum(strengths - step_size * self.weight, 0.0)
        return np.asarray(((left * shrunk[..., None, :]) @ right).reshape(points.shape))

    def _penalty(self, points: Array) -> Array:
        strengths = np.linalg.svd(self._matrices(points), compute_uv=False)
        return np.asarray(self.weight * strengths.sum(axis=-1))


@final
@dataclass(frozen=True)
class PositiveSemidefiniteCone(ConvexSet):
    """Symmetric size-by-size matrices without negative eigenvalues.

    Seen in all size^2 entries the symmetric matrices are flat, so the cone has no interior
    (unless size is 1).
    """

    kind: ClassVar[str] = "positive-semidefinite-cone"
    size: Count

    def _describe(self) -> ProxFacts:
        return ProxFacts(has_interior=self.size == 1, dimension=self.size**2)

    def _project(self, points: Array) -> Array:
        given = points.reshape(*points.shape[:-1], self.size, self.size)
        strengths, vectors = np.linalg.eigh(given / 2.0 + given.swapaxes(-1, -2) / 2.0)
        clipped = vectors * np.maximum(strengths, 0.0)[..., None, :]
        nearest = clipped @ vectors.swapaxes(-1, -2)
        return np.asarray((nearest / 2.0 + nearest.swapaxes(-1, -2) / 2.0).reshape(points.shape))
