"""The laws of the last iterate of both runs, and their divergences.

Both laws are mixtures of Gaussians with one common noise, pushed through one common prox.
Flats of the prox are atoms; elsewhere the prox is injective and changes no divergence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from wane.arrays import Array
from wane.audit.bracket import ImpreciseError, OutOfReachError
from wane.audit.divergence import check_order, hockey_stick_of_masses, renyi_of_masses
from wane.audit.mesh import Mesh, Span
from wane.audit.quadrature import gauss_panels

Flags = NDArray[np.bool_]

CHUNK = 4_000_000
RELEVANT = 32.0
"""Terms below exp(-32) of the largest do not matter to thirteen digits."""

SAFETY = 34.0
"""Distance kept from the depth below which tails were cut, in nats."""

ROOT_STEPS = 30


@dataclass(frozen=True)
class Sources:
    """A mixture of Gaussians with one standard deviation, by centres and log weights."""

    centres: Array
    log_weights: Array
    noise_std: float

    def log_density(self, places: Array) -> Array:
        """Return the log density at each place, precise however far in the tail."""
        out = np.empty(places.size)
        rows = max(1, CHUNK // max(1, self.centres.size))
        scale = math.log(self.noise_std * math.sqrt(2.0 * math.pi))
        for begin in range(0, places.size, rows):
            part = places[begin : begin + rows, None]
            terms = -0.5 * ((part - self.centres[None, :]) / self.noise_std) ** 2
            terms += self.log_weights[None, :]
            top = terms.max(axis=1)
            np.subtract(terms, top[:, None], out=terms)
            out[begin : begin + rows] = top + np.log(np.exp(terms).sum(axis=1)) - scale
        return out

    def log_mass(self, flat: Span) -> float:
        """Return the log mass of an interval, precise however far in the tail."""
        low = (flat[0] - self.centres) / self.noise_std
        high = (flat[1] - self.centres) / self.noise_std
        mirrored = low > 0.0
        low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        inner, outer = log_ndtr(low), log_ndtr(high)
        with np.errstate(invalid="ignore", divide="ignore"):
            loss = np.where(np.isneginf(inner), 0.0, np.exp(inner - outer))
            return float(logsumexp(outer + np.log1p(-loss) + self.log_weights))


@dataclass(frozen=True, eq=False)
class PairLaw:
    """Two laws on one mesh: log densities at its nodes, log masses of its atoms.

    Attributes:
        mesh: the mesh before the last prox.
        first: sources of the first law; second: of the second.
        densities: log densities of both at the nodes, one row a panel.
        atoms: log masses of both on the flats.
        depth: how many nats below its peak a density is still reliable.
        open_ends: whether the mesh is cut off on the left and on the right.
    """

    mesh: Mesh
    first: Sources
    second: Sources
    densities: tuple[Array, Array]
    atoms: tuple[Array, Array]
    depth: float
    open_ends: tuple[bool, bool]

    def reversed(self) -> PairLaw:
        """Return the same two laws in the other order."""
        return PairLaw(
            mesh=self.mesh,
            first=self.second,
            second=self.first,
            densities=(self.densities[1], self.densities[0]),
            atoms=(self.atoms[1], self.atoms[0]),
            depth=self.depth,
            open_ends=self.open_ends,
        )

    def cells(self) -> tuple[Array, Array]:
        """Return log masses of panels and atoms: a binned release, never easier to tell apart."""
        weights = self.mesh.panels.weights
        binned = [
            np.concatenate([logsumexp(log, b=weights, axis=1), atoms])
            for log, atoms in zip(self.densities, self.atoms, strict=True)
        ]
        return binned[0], binned[1]

    def _masses(self) -> tuple[Array, Array]:
        log_weights = np.log(self.mesh.weights)
        p = np.concatenate([self.densities[0].ravel() + log_weights, self.atoms[0]])
        q = np.concatenate([self.densities[1].ravel() + log_weights, self.atoms[1]])
        return p, q

    def renyi(self, order: float) -> float:
        """Return the Renyi divergence of the first law from the second by quadrature."""
        check_order(order)
        p, q = self._masses()
        self._check_contained(p, q, order)
        return renyi_of_masses(p, q, order)

    def _check_contained(self, p: Array, q: Array, order: float) -> None:
        """Refuse an integral that lives where the mesh ends or where tails were cut."""
        terms = order * p + (1.0 - order) * q
        if not np.all(np.isfinite(terms)):
            raise ImpreciseError("a log density is not finite; the laws are too far apart")
        relevant = terms > terms.max() - RELEVANT
        width = self.mesh.panels.nodes.shape[1]
        nodes = self.mesh.nodes.size
        left, right = relevant[:width], relevant[nodes - width : nodes]
        if (self.open_ends[0] and left.any()) or (self.open_ends[1] and right.any()):
            raise OutOfReachError(
                f"the Renyi integral of order {order} leaves the grid; widen reach"
            )
        for log in (p, q):
            if np.any(log[relevant] < log.max() - self.depth + SAFETY):
                raise OutOfReachError(
                    f"the tails matter at order {order} beyond reach; widen reach"
                )

    def hockey_stick(self, epsilon: float) -> float:
        """Return the integral of (p - e^epsilon q)_+ with each of its kinks on a panel edge.

        Whatever the roots found, the result is the excess of some event, hence never too large.
        """
        gains = hockey_stick_of_masses(self.atoms[0], self.atoms[1], epsilon)
        if self.mesh.panels.count == 0:
            return gains
        margin = self.densities[0] - self.densities[1] - epsilon
        rows, roots = self._roots(margin, epsilon)
        gain = self._gain(self.mesh.panels.weights, self.densities[0], margin)
        split = np.unique(rows)
        gain[split] = 0.0
        gains += float(gain.sum())
        if split.size == 0:
            return gains
        return gains + self._split_gain(split, rows, roots, epsilon)

    def event_mass(self, epsilon: float) -> float:
        """Return the first law's mass of the event that tells the laws apart at an epsilon."""
        p, q = self._masses()
        return float(np.exp(p[p - q > epsilon]).sum())

    @staticmethod
    def _gain(weights: Array, log_first: Array, margin: Array) -> Array:
        """Return the excess of the first law over e^epsilon times the second on each panel."""
        with np.errstate(over="ignore"):
            excess = -np.exp(log_first) * np.expm1(-margin)
        # Where the margin is hugely negative the excess overflows to -inf: no gain there.
        return np.asarray(np.maximum(0.0, np.sum(weights * excess, axis=1)), dtype=float)

    def _margin_at(self, places: Array, epsilon: float) -> Array:
        return self.first.log_density(places) - self.second.log_density(places) - epsilon

    def _roots(self, margin: Array, epsilon: float) -> tuple[NDArray[np.intp], Array]:
        """Return the panels in which the margin changes sign, and where, by bisection."""
        panels = self.mesh.panels
        doubtful = np.flatnonzero(self._doubtful(margin))
        ends = np.concatenate([panels.lower[doubtful], panels.upper[doubtful]])
        at_ends = self._margin_at(ends, epsilon).reshape(2, -1)
        places = np.column_stack(
            [panels.lower[doubtful], panels.nodes[doubtful], panels.upper[doubtful]]
        )
        values = np.column_stack([at_ends[0], margin[doubtful], at_ends[1]])
        row, column = np.nonzero((values[:, :-1] > 0.0) != (values[:, 1:] > 0.0))
        low, high = places[row, column], places[row, column + 1]
        rising = values[row, column + 1] > 0.0
        for _ in range(ROOT_STEPS):
            middle = 0.5 * (low + high)
            ahead = (self._margin_at(middle, epsilon) > 0.0) == rising
            low, high = np.where(ahead, low, middle), np.where(ahead, middle, high)
        return doubtful[row], 0.5 * (low + high)

    def _doubtful(self, margin: Array) -> Flags:
        """Return the panels that may hold a sign change, judged by nodes and neighbours."""
        positive = margin > 0.0
        mixed = positive.any(axis=1) != positive.all(axis=1)
        panels = self.mesh.panels
        joined = panels.upper[:-1] == panels.lower[1:]
        differ = (positive[:-1, -1] != positive[1:, 0]) | ~joined
        doubtful = mixed.copy()
        doubtful[:-1] |= differ
        doubtful[1:] |= differ
        doubtful[[0, -1]] = True
        return np.asarray(doubtful, dtype=np.bool_)

    def _split_gain(
        self, split: NDArray[np.intp], rows: NDArray[np.intp], roots: Array, epsilon: float
    ) -> float:
        """Return the gain on panels cut at their roots."""
        panels = self.mesh.panels
        cuts = [
            np.unique(np.concatenate([[panels.lower[i]], roots[rows == i], [panels.upper[i]]]))
            for i in split
        ]
        lower = np.concatenate([c[:-1] for c in cuts])
        upper = np.concatenate([c[1:] for c in cuts])
        parts = gauss_panels(lower, upper, panels.nodes.shape[1])
        places = parts.nodes.ravel()
        log_first = self.first.log_density(places).reshape(parts.nodes.shape)
        log_second = self.second.log_density(places).reshape(parts.nodes.shape)
        gain = self._gain(parts.weights, log_first, log_first - log_second - epsilon)
        return float(gain.sum())
