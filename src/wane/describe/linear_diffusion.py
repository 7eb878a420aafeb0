"""Releasing a statistic as the position of a linear diffusion with a matrix of reversions, as data.

The position is A (x + N(0, T)) around the centre, A = e^(-reversion time): noise that is added to
the statistic before anything is multiplied.  So privacy is a matter of T and of the sensitivity
alone, and everything after is post-processing.  Proofs: `docs/proofs/linear-diffusion.md`.

**What is charged.**  Rounding a statistic to its grid moves it by less than 2^-42 of the shortest
half-axis of the sensitivity's ellipsoid, so two of them by less than a share of 2^-40 of their
difference more; moving an entry into its interval is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from wane import arguments
from wane.arrays import Array, read_only
from wane.describe.choices import Adjacency, adjacency_of
from wane.describe.description import Row as TableRow
from wane.describe.diffusion import SHARE_OF_SENSITIVITY, Process
from wane.describe.shapes import Row, Rows, as_matrix, entries, positive_rows, rows_of, same_size
from wane.errors import InvalidDescription

if TYPE_CHECKING:
    from wane.numerics.semidefinite import Uncertain

Matrix = Row | Rows | Sequence[float] | Sequence[Sequence[float]]
"""Rows of numbers, or one row of numbers that stands for a diagonal."""


@final
@dataclass(frozen=True, kw_only=True)
class LinearDiffusion(Process):
    """dX = -reversion (X - centre) dt + sqrt(2) covariance^(1/2) dW, stopped at `time`.

    Matrices are rows of numbers; one row of numbers stands for a diagonal.  With a `basis` B the
    process is centre + B Y, and reversion and covariance are those of Y.

    Attributes:
        reversion: how fast the position is pulled to the centre.
        covariance: symmetric and positive; with the square root of 2, what drives the process.
        sensitivity: a number, the largest Euclidean distance between the statistics of adjacent
            data sets; or a matrix M, if v' M^-1 v <= 1 for the difference v of all of them.
        time: when the position is released; later is more private.
        centre: where the process is pulled to; the origin if left out.
        basis: columns in whose coordinates the process is described; the usual ones if left out.
        box: bounds on the distance of each entry from the centre, for every data set.
        ellipsoid: a matrix P, if (x - centre)' P^-1 (x - centre) <= 1 for every data set.
        adjacency: which data sets the sensitivity compares; needed to certify.
    """

    kind: ClassVar[str] = "linear-diffusion"

    reversion: Matrix
    covariance: Matrix
    sensitivity: float | Matrix
    time: float = 1.0
    centre: Sequence[float] | None = None
    basis: Matrix | None = None
    box: Sequence[float] | None = None
    ellipsoid: Matrix | None = None
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        if self.adjacency is not None:
            self._keep("adjacency", adjacency_of("adjacency", self.adjacency))
        self._keep("reversion", rows_of("reversion", self.reversion))
        self._keep("covariance", positive_rows("covariance", self.covariance))
        if isinstance(self.sensitivity, (int, float)):
            self._keep("sensitivity", arguments.real("sensitivity", self.sensitivity, above=0.0))
        else:
            self._keep("sensitivity", positive_rows("sensitivity", self.sensitivity))
        self._keep("time", arguments.real("time", self.time, above=0.0))
        for name, above in (("centre", None), ("box", 0.0)):
            if getattr(self, name) is not None:
                self._keep(name, entries(name, getattr(self, name), above=above))
        for name, made in (("basis", rows_of), ("ellipsoid", positive_rows)):
            if getattr(self, name) is not None:
                self._keep(name, made(name, getattr(self, name)))
        self._check_together()

    def _keep(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_together(self) -> None:
        if self.box is not None and self.ellipsoid is not None:
            raise InvalidDescription(
                "ellipsoid must be left out where box is given, got both; choose one."
            )
        for name in ("covariance", "sensitivity", "centre", "basis", "box", "ellipsoid"):
            same_size(name, getattr(self, name), self.dimension)
        if not np.all(np.isfinite(self.sensitivity_matrix)) or not self.rounding_charge > 0.0:
            raise InvalidDescription("sensitivity must have squares that doubles can hold.")
        self.noise_after(self.time)

    @property
    def dimension(self) -> int:
        """The number of entries of the statistic."""
        return len(self.reversion)

    @cached_property
    def reversions(self) -> Array:
        """The matrix of reversions, in the coordinates of the basis."""
        return as_matrix(self.reversion)

    @cached_property
    def centre_point(self) -> Array:
        """The centre as an array."""
        given = np.zeros(self.dimension) if self.centre is None else np.array(self.centre)
        return read_only(given)

    @cached_property
    def columns(self) -> Array:
        """The basis as a matrix."""
        return read_only(np.eye(self.dimension)) if self.basis is None else as_matrix(self.basis)

    @cached_property
    def sensitivity_matrix(self) -> Array:
        """The matrix M of the sensitivity, squares of distances; a number stands for a ball."""
        if isinstance(self.sensitivity, float):
            return read_only(self.sensitivity**2 * np.eye(self.dimension))
        return as_matrix(self.sensitivity)

    @cached_property
    def rounding_charge(self) -> float:
        """How far roundings may move a statistic: a share of the shortest half-axis."""
        narrowest = math.sqrt(_proofs().smallest_eigenvalue_down(self.sensitivity_matrix))
        return SHARE_OF_SENSITIVITY * narrowest * (1.0 - 1e-12)

    @property
    def sensitivity_words(self) -> str:
        """The declared number, or that it is an ellipsoid."""
        if isinstance(self.sensitivity, float):
            return f"{self.sensitivity:g}"
        axes = np.sqrt(np.linalg.eigvalsh(self.sensitivity_matrix))
        return f"in an ellipsoid with half-axes from {axes[0]:.6g} to {axes[-1]:.6g}"

    def noise_after(self, duration: float) -> Uncertain:
        """Return the noise T in coordinates and in the units of the start, with its error."""
        found: Uncertain = _flows().added_noise(
            self.reversions, as_matrix(self.covariance), duration
        )
        if not np.all(np.isfinite(found.matrix)) or not np.all(found.error < math.inf):
            raise InvalidDescription(
                f"time must leave a noise that doubles can hold, got {duration:g}; choose an "
                "earlier time or smaller reversions."
            )
        return found

    def drawn_factor(self, duration: float) -> Array:
        """Return the factor F that the noise of a duration is drawn with; F F' is nearly T.

        Proofs of privacy speak of what is drawn, so they and whoever draws take it from here.
        """
        try:
            found = np.linalg.cholesky(self.noise_after(duration).matrix)
        except np.linalg.LinAlgError:
            raise InvalidDescription(
                "covariance must leave noise in every direction, got one that does not; choose a "
                "positive matrix, or coordinates in which its entries are of one size."
            ) from None
        return np.asarray(found, dtype=np.float64)

    def factor_after(self, duration: float) -> Array:
        """Return the matrix that multiplies what is left of the start after a duration."""
        return self._outwards(_flows().transition(self.reversions, duration))

    def _outwards(self, inner: Array) -> Array:
        """A linear map of the coordinates as a map of statistics."""
        if self.basis is None:
            return inner
        return np.asarray(np.linalg.solve(self.columns.T, (self.columns @ inner).T).T)

    @property
    def shrinkage(self) -> Array:
        """The matrix A = e^(-reversion time) on the released statistic."""
        return self.factor_after(self.time)

    @property
    def noise_covariance(self) -> Array:
        """The covariance A T A' of the noise on the release."""
        return self.covariance_at(self.time)

    def covariance_at(self, time: float) -> Array:
        """Return the covariance of the position at a time."""
        factor = self.columns @ _flows().transition(self.reversions, time)
        return np.asarray(factor @ self.noise_after(time).matrix @ factor.T)

    @property
    def second_moments(self) -> Array:
        """The mean of (x - centre) (x - centre)' over the corners, or over the surface."""
        if self.box is not None:
            return np.diag(np.square(self.box))
        if self.ellipsoid is not None:
            return as_matrix(self.ellipsoid) / self.dimension
        raise InvalidDescription("box or ellipsoid must be declared for this, got None.")

    @property
    def mean_squared_error(self) -> float:
        """The expected squared distance to the statistic, a mean over the declared set.

        Over the corners of the box (with a diagonal reversion all corners have the same error, the
        largest over the box), or over the surface of the ellipsoid.
        """
        lost = self._outwards(_flows().one_minus_transition(self.reversions, self.time))
        bias = np.einsum("ij,jk,ik->", lost, self.second_moments, lost)
        return float(bias + np.trace(self.noise_covariance))

    @property
    def least_possible_error(self) -> float:
        """What no linear Gaussian release of the same mu goes below, rounded down.

        Claim.  For x -> A x + a + N(0, S), mu-private, the mean error is at least
        tr C (C + M/mu^2)^-1 M/mu^2 with C = `second_moments`; for a box and a ball it is the sum
        of b^2 s^2/(b^2 + s^2), s = sensitivity/mu.
        """
        noise = self.sensitivity_matrix / self.mu**2
        moments = self.second_moments
        least = float(np.trace(moments @ np.linalg.solve(moments + noise, noise)))
        return least * (1.0 - 1e-9)

    def at(self, time: float) -> Self:
        """Return the same process stopped at another time."""
        return replace(self, time=time)

    def parameters(self) -> dict[str, Any]:
        """Return what is declared, by name, matrices as lists of rows."""
        return {name: _listed(value) for name, value in super().parameters().items()}

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers, matrices in words."""
        given = self.parameters().items()
        return [(name, value if isinstance(value, float) else str(value)) for name, value in given]

    def symbols(self) -> list[TableRow]:
        """Return what the letters of the theorem stand for."""
        noise = np.linalg.eigvalsh(
            self.columns @ self.noise_after(self.time).matrix @ self.columns.T
        )
        return [
            ("M", "sensitivity: v' M^-1 v <= 1 for differences v", self.sensitivity_words),
            ("t", "time of the release", self.time),
            ("T", "noise on the statistic: its least variance", float(noise[0])),
        ]


def _flows() -> Any:
    # verifiers read descriptions and must not share the arithmetic of what they verify
    return import_module("wane.numerics.linear_flow")


def _proofs() -> Any:
    return import_module("wane.numerics.semidefinite")


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value
