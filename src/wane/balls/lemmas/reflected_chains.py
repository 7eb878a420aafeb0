"""Likelihood ratios of a chain between two mirrors, once more from its drift at the nodes.

All numbers are doubles with errors that are carried along; hats are integrated cell by cell here,
from masses and first moments of normal laws.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wane.balls.lemmas.positions import TooLarge
from wane.describe.declared_diffusion import LARGEST_NOISE, DeclaredDiffusion

Table = NDArray[np.float64]

UNIT = 2.0**-53
MOST_WORK = 2**30
SPAN, BEYOND, CAUTION = 10.0, 1e-18, 1.0 + 1e-6
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def log_ratio(process: DeclaredDiffusion) -> float:
    """Return a bound on the log ratio of the densities of two ends; infinite if there is none."""
    values = process.drift_values
    assert values is not None and process.drift_lipschitz is not None
    if process.steps * len(values) ** 2 > MOST_WORK:
        raise TooLarge("a chain of so many steps and cells is not computed again")
    chain = _Chain(process, np.array(values))
    wide = max(chain.near + chain.cell + chain.rounding, chain.width / 400.0)
    if not wide <= chain.std <= 4.0 * chain.width:
        return math.inf
    density, error = chain.followed()
    above, below = density + error, density - error
    if not below.min() > 0.0:
        return math.inf
    corners = [Fraction(float(corner[0])) for corner in process.corners]
    apart = min(Fraction(process.sensitivity), corners[1] - corners[0])
    cells = math.ceil(apart * (len(values) - 1) / (corners[1] - corners[0]))
    worst = 0.0
    for shift in range(-cells, cells + 1):
        one, other = above[max(0, -shift) :], below[max(0, shift) :]
        count = min(len(one), len(other))
        worst = max(worst, float(np.max(one[:count] / other[:count])))
    return math.log(worst) * (1.0 + 1e-12) + 1e-12


class _Chain:
    """The numbers of the chain, and its two tables."""

    def __init__(self, process: DeclaredDiffusion, drift: Table) -> None:
        self.low, high = (float(corner[0]) for corner in process.corners)
        eta, slope, start = process.step_size, process.drift_lipschitz, process.drift_at_centre
        assert slope is not None and start is not None
        self.width, self.std, self.steps = high - self.low, process.noise_std, process.steps
        self.cell = self.width / (drift.size - 1)
        self.mean = self.low + self.cell * np.arange(drift.size) + eta * drift
        largest = max(abs(self.low), abs(high)) + 3.0 * self.width + LARGEST_NOISE * self.std
        self.rounding = 32.0 * UNIT * (largest + eta * (start + slope * self.width))
        self.stray, self.stray_on_average = self._stray(process, eta * np.diff(drift))
        self.stride = np.abs(np.diff(self.mean)) + self.rounding
        self.near = float(np.max(self.stride) + np.max(self.stray))
        away = float(np.max(np.abs(self.mean - self.low - self.width / 2.0)))
        self.pictures = math.ceil((away + (SPAN + 1.0) * self.std) / self.width) + 1
        size = max(abs(self.low), abs(high)) + float(np.max(np.abs(self.mean)))
        size += 2.0 * self.width + (SPAN + 2.0) * self.std
        self.off = 64.0 * UNIT * size / self.cell * (2.0 * SPAN * self.std / self.cell + 5.0)
        self.off += BEYOND

    def step(self) -> Table:
        """Return the mean of each hat (columns) after a step from each node (rows)."""
        count, s, h = self.mean.size, self.std, self.cell
        made = np.zeros((count, count))
        for row, mean in enumerate(self.mean):
            for picture in range(-self.pictures, self.pictures + 1):
                left = self.low + picture * self.width
                first = max(0, math.floor((mean - 13.0 * s - left) / h))
                last = min(count - 1, math.ceil((mean + 13.0 * s - left) / h))
                if first >= last:
                    continue
                edge = (left - mean + h * np.arange(first, last + 1)) / s
                mass = _mass(edge)
                moment = np.diff(-np.exp(-edge * edge / 2.0)) / math.sqrt(2.0 * math.pi)
                rising = (moment - edge[:-1] * mass) * s / h  # towards the right node of the cell
                node = np.zeros(count)
                node[first + 1 : last + 1] += rising
                node[first:last] += mass - rising
                made[row] += node[::-1] if picture % 2 else node
        return np.maximum(made, 0.0)

    def _stray(self, process: DeclaredDiffusion, rise: Table) -> tuple[Table, Table]:
        """Return how far means may be from the lines through those of nodes, and on average.

        Between two nodes the pull may first rise as steeply as it may and then fall, or the other
        way round: two triangles of one height, inside one trapezoid.
        """
        eta, slope, kappa = process.step_size, process.drift_lipschitz, process.least_contraction
        assert slope is not None and kappa is not None
        up = np.maximum(-eta * kappa - rise / self.cell, 0.0)  # beyond the line's own slope
        down = np.maximum(rise / self.cell + eta * slope, 0.0)
        either = np.where(up + down > 0.0, up + down, 1.0)
        height = self.cell * up * down / either
        ramps = np.minimum(up, down) / either  # the share of the cell that one ramp takes
        off = self.rounding * (2.0 + eta * slope)
        return height + off, height * (1.0 - ramps) + off

    def one_step(self, ends: Table) -> tuple[Table, Table, tuple[Table, Table]]:
        """Return densities of one step at `ends`, errors of lines between ends, and of cells."""
        s, gap = self.std, float(ends[1] - ends[0])
        push = (self.near + gap) / s
        value, slope, bend = (np.zeros((self.mean.size, ends.size)) for _ in range(3))
        for picture in range(-self.pictures, self.pictures + 1):
            inside = self.low + self.width - ends if picture % 2 else ends - self.low
            at = self.low + picture * self.width + inside
            u = np.abs(at[None, :] - self.mean[:, None]) / s
            value += _normal(u) / s
            grown = _normal(np.maximum(u - push, 0.0)) / s
            slope += grown * (u + push) / s
            bend += grown * np.maximum((u + push) ** 2 - 1.0, 1.0) / s**2
        error = bend * (gap**2 / 8.0) + self.off * float(value.max())
        return value, error, self.hidden(value, slope[:-1], bend[:-1], 0.0 * value[0])

    def hidden(self, new: Table, slope: Table, bend: Table, extra: Table) -> tuple[Table, Table]:
        """Return how far functions may be from lines in each cell, at most and on average.

        `new` are their values at nodes; by their means, their derivatives are at most `slope` and
        `bend`, and besides `extra` is a slope of what is in doubt already.
        """
        apart = self.stride[:, None] - 2.0 * self.rounding
        seen = np.abs(np.diff(new, axis=0)) + 4.0 * self.off * new.max(axis=0)
        known = seen / np.maximum(apart, self.cell / 1000.0) + self.near * bend
        slope = np.where(apart > self.cell / 1000.0, np.minimum(known, slope), slope) + extra
        sag = self.stride[:, None] ** 2 / 8.0 * (bend + extra * math.sqrt(2.0 / math.pi) / self.std)
        mean = self.stray_on_average[:, None] * slope + 2.0 / 3.0 * sag
        return self.stray[:, None] * slope + sag, mean

    def thick(self) -> Table:
        """Return a cell times the largest density near each node (columns), from near each row."""
        near, nodes = self.near + self.cell + self.rounding, np.arange(self.mean.size)
        share = np.where((nodes == 0) | (nodes == nodes[-1]), 0.5, 1.0) * self.cell / self.std
        made = np.zeros((nodes.size, nodes.size))
        for picture in range(-self.pictures, self.pictures + 1):
            inside = self.cell * (nodes[::-1] if picture % 2 else nodes)
            away = np.abs(self.low + picture * self.width + inside[None, :] - self.mean[:, None])
            made += share * _normal(np.maximum(away - near, 0.0) / self.std)
        return made

    def followed(self) -> tuple[Table, Table]:
        """Return densities of the end of the chain, from nodes (rows), and what they may be off."""
        h, table, thick = self.cell, self.step(), self.thick()
        ends = min(400, max(64, math.ceil(12.0 * self.width / self.std)))
        places = np.linspace(self.low, self.low + self.width, ends + 1)
        value, error, (peak, mean) = self.one_step(places)
        for _ in range(self.steps - 1):
            signed = np.diff(value, axis=0) / h
            kink = np.abs(np.diff(np.concatenate([-signed[:1], signed, -signed[-1:]]), axis=0))
            bend = ((thick @ kink)[:-1] + BEYOND * kink.max(axis=0)) / h
            extra = np.max(np.abs(np.diff(error, axis=0)), axis=0) / h
            wide = np.pad(mean, ((1, 1), (0, 0)), "edge")
            around = (wide[1:] + wide[:-1]) / 2.0
            new = table @ error + thick @ around
            new += self.off * (value.max(axis=0) + error.max(axis=0) + mean.max(axis=0))
            value, slope = table @ value, np.abs(signed).max(axis=0)
            peak, mean = self.hidden(value, slope, bend, extra)
            error = CAUTION * new
        around = np.maximum(np.pad(peak, ((1, 0), (0, 0))), np.pad(peak, ((0, 1), (0, 0))))
        relative = 4.0 * UNIT * self.steps * (self.mean.size + 16.0)
        return value, CAUTION * (error + around) + relative * value


def _normal(u: Table) -> Table:
    """The standard normal density."""
    return np.asarray(np.exp(-u * u / 2.0) / math.sqrt(2.0 * math.pi))


def _mass(edge: Table) -> Table:
    """The normal mass between neighbours, from the tail on whose side they lie."""
    right = 0.5 * _erfc(np.abs(edge) / math.sqrt(2.0))
    inside = np.where(edge[:-1] >= 0.0, right[:-1] - right[1:], right[1:] - right[:-1])
    across = (edge[:-1] < 0.0) & (edge[1:] > 0.0)
    return np.asarray(np.where(across, 1.0 - right[:-1] - right[1:], inside))
