"""Sets given by linear conditions: convex and unbounded, so a projection amplifies nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from wane import arguments
from wane.arguments import Finite, Matrix, Vector
from wane.arrays import Array, read_only
from wane.describe.domains.base import ConvexSet, ProxFacts
from wane.describe.domains.prox_kernels import lengths


@final
@dataclass(frozen=True)
class Halfspace(ConvexSet):
    """Points x with <normal, x> <= offset."""

    kind: ClassVar[str] = "halfspace"
    normal: Vector
    offset: Finite

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self.normal):
            cure = "use kind='unbounded' for the whole space"
            raise arguments.refused("normal", self.normal, "a vector that is not zero", cure)
        _finite_offset(self.offset, self._unit[1])

    def _describe(self) -> ProxFacts:
        return ProxFacts(dimension=len(self.normal))

    @cached_property
    def _unit(self) -> tuple[Array, Array]:
        return _normalised(np.asarray(self.normal), np.asarray(self.offset))

    def _project(self, points: Array) -> Array:
        normal, offset = self._unit
        excess = np.maximum(points @ normal - offset, 0.0)
        return np.asarray(points - excess[..., None] * normal)


@final
@dataclass(frozen=True)
class Affine(ConvexSet):
    """Points x with matrix x = offset; flat, so it has no interior."""

    kind: ClassVar[str] = "affine"
    matrix: Matrix
    offset: Vector

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.matrix) != len(self.offset):
            wanted = f"one number for each of the {len(self.matrix)} rows of matrix"
            raise arguments.refused("offset", self.offset, wanted)
        if not all(any(row) for row in self.matrix):
            raise arguments.refused(
                "matrix", self.matrix, "rows that are not zero", "leave out the row of zeros"
            )
        rows, offset = self._unit
        _finite_offset(self.offset, offset)
        basis, coordinates = self._flat
        if np.abs(rows @ (coordinates @ basis) - offset).max() > 1e-9 * np.abs(offset).max():
            wanted = "consistent: matrix x = offset for some x"
            cure = "leave out the rows that contradict others"
            raise arguments.refused("offset", self.offset, wanted, cure)

    @cached_property
    def _unit(self) -> tuple[Array, Array]:
        return _normalised(np.asarray(self.matrix), np.asarray(self.offset))

    @cached_property
    def _flat(self) -> tuple[Array, Array]:
        """An orthonormal basis of the rows, and the coordinates in it that the set shares."""
        rows, offset = self._unit
        left, strengths, basis = np.linalg.svd(rows, full_matrices=False)
        rank = int((strengths > max(rows.shape) * np.finfo(np.float64).eps * strengths[0]).sum())
        shared = (offset @ left[:, :rank]) / strengths[:rank]
        return read_only(basis[:rank]), read_only(shared)

    def _describe(self) -> ProxFacts:
        # If the rows span the space the set is one point; its diameter stays infinite here,
        # since a rank found in floating point should not be what a privacy bound rests on.
        return ProxFacts(has_interior=False, dimension=len(self.matrix[0]))

    def _project(self, points: Array) -> Array:
        basis, coordinates = self._flat
        return np.asarray(points - (points @ basis.T - coordinates) @ basis)


def _normalised(normals: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the same conditions with normals of length 1; two scalings avoid overflow."""
    largest = np.abs(normals).max(axis=-1, keepdims=True)
    scaled = normals / largest
    length = lengths(scaled)
    with np.errstate(over="ignore"):
        offset = np.asarray(offsets / largest[..., 0] / length[..., 0])
        return read_only(scaled / length), read_only(offset)


def _finite_offset(given: object, normalised: Array) -> None:
    if not np.isfinite(normalised).all():
        wanted = "finite after division by the length of the normal"
        raise arguments.refused("offset", given, wanted, "scale both")
