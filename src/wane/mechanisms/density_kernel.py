"""Kernels with a density on an interval, cut into cells, with the error of the cutting proven.

With n cells of width h on an interval of length W and a density that changes by at most a per unit
of the input and b per unit of the output,

    the cell that an output falls into has, from the middle of a cell as input and with densities
    read at the middles, a law that is wrong by at most  e = W h (a + b)/4  in total variation;
    after r applications it is wrong by r e, and inside a cell (P - m Q)_+ hides at most
    (1 + m) b h^2/8.

So the coefficient at m is at most that of the matrix plus (1 + m) (r e + W b h/8).  Proofs:
`docs/proofs/continuous-kernels.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.theorems.kernel import amplification
from wane.theorems.kernel.amplifying import ContinuousKernel
from wane.theorems.kernel.kernels import MarkovKernel

Density = Callable[[Array, Array], Array]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class DensityKernel(ContinuousKernel):
    """A kernel on [low, high] given by its density, with declared slopes.

    Attributes:
        density: density(x, y) of the output y given the input x, for arrays of equal shape.
        low, high: the ends of the interval.
        input_slope: `|density(x, y) - density(x', y)| <= input_slope |x - x'|` for all y.
        output_slope: the same in the output.  Both must be declared: values at finitely many
            points do not show what lies between them.
        cells: into how many the interval is cut; more cells, smaller error.
        times: how often it is applied.
    """

    density: Density
    low: float
    high: float
    input_slope: float
    output_slope: float
    cells: int = 400
    times: int = 1

    def __post_init__(self) -> None:
        low = arguments.real("low", self.low)
        arguments.real("high", self.high, above=low)
        for name in ("input_slope", "output_slope"):
            arguments.real(name, getattr(self, name), least=0.0)
        arguments.whole("cells", self.cells, least=2, most=4000)
        arguments.whole("times", self.times, least=1)
        if not callable(self.density):
            raise InvalidDescription("density must be a function of two arrays.")
        self._refuted()

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low

    @cached_property
    def _values(self) -> Array:
        """The density at the middles of all cells, rows by input."""
        h = self.width / self.cells
        middles = self.low + h * (np.arange(self.cells) + 0.5)
        x, y = np.meshgrid(middles, middles, indexing="ij")
        try:
            found = np.asarray(self.density(x, y), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidDescription(
                f"density must take two arrays of equal shape: {str(error)[:80]}."
            ) from None
        if found.shape != x.shape or not np.all(np.isfinite(found)) or np.any(found < 0.0):
            raise InvalidDescription(
                "density must return a finite number of at least 0 for every pair of its arrays."
            )
        return found

    def _refuted(self) -> None:
        """Refuse slopes that the density contradicts at the middles, and what is no density."""
        values, h = self._values, self.width / self.cells
        rounding = 1e-12 * (1.0 + float(values.max()))
        for name, axis in (("input_slope", 0), ("output_slope", 1)):
            steepest = float(np.max(np.abs(np.diff(values, axis=axis))))
            if steepest > getattr(self, name) * h * (1.0 + 1e-9) + rounding:
                raise InvalidDescription(
                    f"{name} must be at least {steepest / h:.6g}, the steepest slope that was "
                    f"seen, got {getattr(self, name):g}."
                )
        doubt = self.output_slope * h * self.width / 4.0
        away = float(np.max(np.abs(values.sum(axis=1) * h - 1.0)))
        if away > doubt + 1e-9:
            raise InvalidDescription(
                f"density must integrate to 1 over [low, high] for every input, got an integral "
                f"that is {away:.3g} away, more than the {doubt:.3g} that cells can explain."
            )

    def power(self, times: int) -> Self:
        """The kernel applied so many times as often."""
        return replace(self, times=self.times * arguments.whole("times", times, least=1))

    @cached_property
    def matrix(self) -> MarkovKernel:
        """The kernel between cells, applied `times` times."""
        rows = self._values / self._values.sum(axis=1)[:, None]
        once = MarkovKernel(rows)
        return once if self.times == 1 else once.power(self.times)

    @cached_property
    def error(self) -> float:
        """How far, in total variation, the law of the cell may be from that of the matrix."""
        h = self.width / self.cells
        once = self.width * h * (self.input_slope + self.output_slope) / 4.0
        return min(1.0, self.times * (1.0001 * once + 1e-13))

    def coefficients(self, multipliers: Iterable[float]) -> list[float]:
        """Those of the matrix, and the error of the cells."""
        wanted = [arguments.real("multiplier", m, least=1.0) for m in multipliers]
        inside = self.width * self.output_slope * (self.width / self.cells) / 8.0
        hidden = self.error + 1.0001 * inside
        found = self.matrix.coefficients(wanted)
        return [min(1.0, g + (1.0 + m) * hidden) for g, m in zip(found, wanted, strict=True)]

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Bounds on the least and largest density over all inputs, on each cell of outputs."""
        h, before = self.width / self.cells, self.times - 1
        values, doubt = self._values, (self.input_slope + self.output_slope) * h / 2.0
        if before:
            earlier = replace(self, times=before)
            rows = earlier.matrix
            # rows known to their own relative error and lost mass, then wrong by `error` in law
            wrong = earlier.error + rows.relative_error + rows.lost_mass
            doubt += 2.0 * wrong * (float(values.max()) + doubt)
            mixed = rows.matrix @ values
        else:
            mixed = values
        doubt = 1.0001 * doubt + 1e-12 * float(values.max())
        least = np.maximum(mixed.min(axis=0) - doubt, 0.0)
        return np.asarray(least), np.asarray(mixed.max(axis=0) + doubt)

    @cached_property
    def doeblin_coefficient(self) -> float:
        """One minus the integral of the smallest density, the better of once and a product."""
        least, _ = self._bounds
        direct = 1.0 - float(least.sum()) * (self.width / self.cells) * (1.0 - 1e-12)
        if self.times == 1:
            return min(1.0, direct)
        once = replace(self, times=1).doeblin_coefficient
        return min(1.0, direct, amplification.power_up(once, self.times))

    @cached_property
    def ultra_mixing(self) -> float:
        """One minus the smallest ratio of densities, the better of once and a product."""
        least, most = self._bounds
        direct = 1.0 - float(np.min(least / most)) * (1.0 - 1e-12)
        if self.times == 1:
            return min(1.0, direct)
        once = replace(self, times=1).ultra_mixing
        return min(1.0, direct, amplification.power_up(once, self.times))
