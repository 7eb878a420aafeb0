"""The transition density of a one-dimensional diffusion between two mirrors, by its spectrum.

    dX = drift(X) dt + sqrt(2) spread(X) dW    on [low, high], reflected at both ends

is symmetric under pi(y) = exp(integral of drift/spread^2)/spread(y)^2.  In polynomials up to some
degree its generator is a symmetric matrix (the mirrors are the natural boundary condition), and
the basis is chosen so that derivatives, not values, are orthogonal: small rates come out sharp.

    p_t(x, y) = pi(y) h_t(x, y),    h_t(x, y) = sum over k of e^(-lambda_k t) f_k(x) f_k(y).

`error` compares h with the same computation at two thirds of the degree and adds an allowance for
rounding: an estimate, not a proof.  Everything downstream is moved by several times this much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.polynomial import legendre
from scipy import linalg

from wane import arguments
from wane.arrays import Array, read_only
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.theorems.kernel.pairs import UNIT

Coefficient = Callable[[Array], Array]

DEGREE = 96
_PROBES = 33
_LARGEST_RANGE = 25.0  # of the logarithm of pi: beyond, the matrices lose too many digits


@dataclass(frozen=True)
class Spectrum:
    """Rates above zero, functions as coefficients of the centred basis, at one degree.

    `potential` holds Legendre coefficients of the integral of drift/spread^2, `nodes` and
    `weights` a quadrature rule on [-1, 1] weighted by pi, and `log_mass` what makes pi a density.
    """

    rates: Array
    functions: Array
    centre: Array
    potential: Array
    weights: Array
    log_mass: float

    def __post_init__(self) -> None:
        for name in ("rates", "functions", "centre", "potential", "weights"):
            read_only(getattr(self, name))


@dataclass(frozen=True, eq=False)
class ReflectedDiffusion:
    """A diffusion between two mirrors, with smooth coefficients given as functions of arrays."""

    drift: Coefficient
    spread: Coefficient
    low: float
    high: float

    def __post_init__(self) -> None:
        arguments.real("low", self.low)
        arguments.real("high", self.high, above=self.low)

    @cached_property
    def nodes(self) -> Array:
        """Quadrature nodes in [low, high]."""
        return read_only(self._placed(_gauss(2 * DEGREE)[0]))

    @property
    def weights(self) -> Array:
        """Quadrature weights times the stationary density; they sum to one."""
        return self.spectrum.weights

    def finer_rule(self) -> tuple[Array, Array]:
        """Nodes and weights of a second rule with half as many nodes again, for checks."""
        units, weights = _gauss(3 * DEGREE)
        mass = weights * np.exp(self._log_stationary(self.spectrum.potential, units))
        return self._placed(units), np.asarray(mass / mass.sum())

    def squared_spread_at(self, points: Array) -> Array:
        """spread^2 at points of [low, high]."""
        return self.sampled("spread", points, positive=True) ** 2

    def _placed(self, units: Array) -> Array:
        return self.low + (self.high - self.low) * 0.5 * (units + 1.0)

    def _unit(self, points: Array) -> Array:
        return (2.0 * points - (self.low + self.high)) / (self.high - self.low)

    def _log_stationary(self, potential: Array, units: Array) -> Array:
        """Logarithm of pi, up to a constant."""
        found = legendre.legval(units, potential)
        return np.asarray(found - np.log(self.squared_spread_at(self._placed(units))))

    def sampled(self, name: str, points: Array, *, positive: bool = False) -> Array:
        """The values of `drift` or `spread` at points, or a refusal if they are unusable."""
        function: Coefficient = getattr(self, name)
        values = np.asarray(function(points), dtype=np.float64)
        values = np.broadcast_to(values, points.shape)
        if not np.all(np.isfinite(values)) or (positive and not np.all(values > 0.0)):
            wanted = "finite and positive" if positive else "finite"
            raise InvalidDescription(f"{name} must be {wanted} on [low, high].")
        return values

    @cached_property
    def spectrum(self) -> Spectrum:
        """At the full degree."""
        return self._solved(DEGREE)

    @cached_property
    def coarse(self) -> Spectrum:
        """At two thirds of it, with another rule: not even rounding errors are shared."""
        return self._solved(2 * DEGREE // 3)

    def _solved(self, degree: int) -> Spectrum:
        units, rule = _gauss(2 * degree)
        points, half = self._placed(units), 0.5 * (self.high - self.low)
        squared = self.squared_spread_at(points)
        force = _projected(self.sampled("drift", points) / squared, units, rule, degree)
        potential = np.asarray(half * legendre.legint(force))
        log_pi = self._log_stationary(potential, units)
        mass = rule * np.exp(log_pi - log_pi.max())
        weights = mass / mass.sum()
        values, slopes = _basis(units, degree)
        centre = weights @ values
        centred = values - centre
        gram = centred.T @ (weights[:, None] * centred)
        energy = slopes.T @ ((weights * squared)[:, None] * slopes)
        inverse, functions = _eigen(gram, energy, float(np.ptp(log_pi)))
        return Spectrum(
            rates=1.0 / (half * half * inverse),
            functions=functions / np.sqrt(inverse),
            centre=centre,
            potential=potential,
            weights=weights,
            log_mass=float(np.log(mass.sum()) + log_pi.max()),
        )

    @property
    def gap(self) -> float:
        """The rate at which laws merge: the smallest positive eigenvalue."""
        return float(self.spectrum.rates[0])

    def ratio(self, time: float, starts: Array, ends: Array) -> Array:
        """h_t(x, y) for each start (row) and end (column)."""
        return self._summed(self.spectrum, time, starts, ends)

    def ratio_slope(self, time: float, starts: Array, ends: Array) -> Array:
        """Derivative of h_t(x, y) by the end y."""
        return self._summed(self.spectrum, time, starts, ends, by_end=True)

    def ratio_mixed(self, time: float, starts: Array, ends: Array) -> Array:
        """Derivative of h_t(x, y) by both."""
        return self._summed(self.spectrum, time, starts, ends, by_start=True, by_end=True)

    def scores(self, time: float, starts: Array) -> Callable[[Array], Array]:
        """A function of the ends: d/dy log h_t(x, y) for each start (row) and end (column)."""
        spectrum = self.spectrum
        functions = self._faded(spectrum, time)
        left = self._side(starts, spectrum.centre, slope=False) @ functions
        mixed = functions @ left.T

        def of(ends: Array) -> Array:
            values, slopes = _basis(self._unit(ends), spectrum.centre.size)
            h = 1.0 + (values - spectrum.centre) @ mixed
            return np.asarray((2.0 / (self.high - self.low)) * (slopes @ mixed / h).T)

        return of

    def from_starts(self, time: float) -> Callable[[Array], tuple[Array, Array]]:
        """A function of the starts: h_t(x, y) at the nodes y, and its derivative by x."""
        spectrum = self.spectrum
        functions = self._faded(spectrum, time)
        right = functions @ (self._side(self.nodes, spectrum.centre, slope=False) @ functions).T

        def of(starts: Array) -> tuple[Array, Array]:
            values, slopes = _basis(self._unit(starts), spectrum.centre.size)
            by_start = slopes * (2.0 / (self.high - self.low)) @ right
            return 1.0 + (values - spectrum.centre) @ right, by_start

        return of

    def _faded(self, spectrum: Spectrum, time: float) -> Array:
        """Functions times e^(-rate time/2), as far as they matter."""
        kept = int(np.searchsorted(spectrum.rates * time, 60.0))
        return np.asarray(
            spectrum.functions[:, :kept] * np.exp(-0.5 * time * spectrum.rates[:kept])
        )

    def _summed(
        self,
        spectrum: Spectrum,
        time: float,
        starts: Array,
        ends: Array,
        *,
        by_start: bool = False,
        by_end: bool = False,
    ) -> Array:
        functions = self._faded(spectrum, time)
        left = self._side(starts, spectrum.centre, slope=by_start) @ functions
        right = self._side(ends, spectrum.centre, slope=by_end) @ functions
        constant = 0.0 if by_start or by_end else 1.0
        return np.asarray(constant + left @ right.T)

    def _side(self, points: Array, centre: Array, *, slope: bool) -> Array:
        values, slopes = _basis(self._unit(points), centre.size)
        return slopes * (2.0 / (self.high - self.low)) if slope else values - centre

    def error(self, time: float) -> float:
        """Estimated largest error of h at this time.

        The difference of two resolutions, and what rounding does to the spectrum: it grows with
        the range of the stationary density, by which the matrices are conditioned.
        """
        probes = np.linspace(self.low, self.high, _PROBES)
        ends = np.concatenate([probes, self.nodes[::7]])
        fine = self._summed(self.spectrum, time, probes, ends)
        rough = self._summed(self.coarse, time, probes, ends)
        units = self._unit(ends)
        own, other = (
            self._log_stationary(s.potential, units) - s.log_mass
            for s in (self.spectrum, self.coarse)
        )
        apart = float(np.max(np.abs(fine - rough * np.exp(other - own))))
        condition = float(np.exp(np.ptp(own)))
        return apart + 32.0 * UNIT * condition * float(np.max(np.abs(fine)))


def _eigen(gram: Array, energy: Array, span: float) -> tuple[Array, Array]:
    """Inverse rates, largest first, and functions of unit energy."""
    refusal = (
        f"the stationary density varies by a factor e^{span:.3g} over [low, high], more than the "
        "numerical kernel can hold; narrow the interval"
    )
    if not span < _LARGEST_RANGE:
        raise NoTheoremApplies(refusal)
    try:
        inverse, functions = linalg.eigh(gram, energy)
    except linalg.LinAlgError:
        raise NoTheoremApplies(refusal) from None
    kept = inverse > 1e-14 * inverse[-1]
    return np.asarray(inverse[kept][::-1]), np.asarray(functions[:, kept][:, ::-1])


@cache
def _gauss(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    nodes, weights = legendre.leggauss(count)
    return np.asarray(nodes), np.asarray(weights)


def _basis(points: Array, degree: int) -> tuple[Array, Array]:
    """Integrals of normalised Legendre polynomials, and the polynomials, at points of [-1, 1]."""
    table = np.asarray(legendre.legvander(points, degree))
    scale = np.sqrt(np.arange(degree) + 0.5)
    below = np.concatenate([-np.ones((points.size, 1)), table[:, : degree - 1]], axis=1)
    integrals = (table[:, 1:] - below) / (2.0 * np.arange(degree) + 1.0)
    return integrals * scale, table[:, :degree] * scale


def _projected(values: Array, nodes: Array, weights: Array, degree: int) -> Array:
    """Legendre coefficients of a function known at the nodes."""
    table = np.asarray(legendre.legvander(nodes, degree - 1))
    return np.asarray((table.T @ (weights * values)) * (np.arange(degree) + 0.5))
