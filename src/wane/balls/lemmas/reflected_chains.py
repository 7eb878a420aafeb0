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
    if not chain.near <= chain.std <= 4.0 * chain.width:
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
        rounding = 32.0 * UNIT * (largest + eta * (start + slope * self.width))
        self.stray = eta * slope * self.cell / 2.0 + rounding
        self.stride = float(np.max(np.abs(np.diff(self.mean)))) + rounding
        self.near = self.stride + self.stray
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

    def one_step(self, ends: Table) -> tuple[Table, Table]:
        """Return densities of one step at `ends`, and errors of lines between nodes and ends."""
        s, gap = self.std, float(ends[1] - ends[0])
        push = (self.near + gap) / s
        value, slope, bend = (np.zeros((self.mean.size, ends.size)) for _ in range(3))
        for picture in range(-self.pictures, self.pictures + 1):
            inside = self.low + self.width - ends if picture % 2 else ends - self.low
            at = self.low + picture * self.width + inside
            u = np.abs(at[None, :] - self.mean[:, None]) / s
            height = np.exp(-u * u / 2.0) / (s * math.sqrt(2.0 * math.pi))
            value += height
            grown = height * np.exp(np.minimum(u, 38.0) * push)
            slope += grown * (u + push) / s
            bend += grown * ((u + push) ** 2 + 1.0) / s**2
        error = self.stray * slope + (self.stride**2 + gap**2) / 8.0 * bend
        return value, error + self.off * float(value.max())

    def followed(self) -> tuple[Table, Table]:
        """Return densities of the end of the chain, from nodes (rows), and what they may be off."""
        s, h, table = self.std, self.cell, self.step()
        ends = min(400, max(64, math.ceil(6.0 * self.width / s)))
        value, error = self.one_step(np.linspace(self.low, self.low + self.width, ends + 1))
        grow = math.exp(SPAN * self.near / s)
        sag = self.stride**2 / 8.0
        by_slope = self.stray + sag * math.sqrt(2.0 / math.pi) / s
        by_kink = sag / h * math.exp(h * h / (12.0 * s * s))
        for _ in range(self.steps - 1):
            slope = np.abs(np.diff(value, axis=0)) / h
            steep = np.maximum(np.pad(slope, ((1, 0), (0, 0))), np.pad(slope, ((0, 1), (0, 0))))
            signed = np.diff(value, axis=0) / h
            mirrored = np.concatenate([-signed[:1], signed, -signed[-1:]])
            kink = np.abs(np.diff(mirrored, axis=0))
            new = table @ (error + grow * (self.stray * steep + by_kink * kink))
            new += by_slope / h * np.max(np.abs(np.diff(error, axis=0)), axis=0)
            new += self.off * (value.max(axis=0) + error.max(axis=0))
            new += BEYOND * (self.stray + by_kink) * float(steep.max() + kink.max())
            value, error = table @ value, CAUTION * new
        relative = 4.0 * UNIT * self.steps * (self.mean.size + 16.0)
        return value, CAUTION * error + relative * value


def _mass(edge: Table) -> Table:
    """The normal mass between neighbours, from the tail on whose side they lie."""
    right = 0.5 * _erfc(np.abs(edge) / math.sqrt(2.0))
    inside = np.where(edge[:-1] >= 0.0, right[:-1] - right[1:], right[1:] - right[:-1])
    across = (edge[:-1] < 0.0) & (edge[1:] > 0.0)
    return np.asarray(np.where(across, 1.0 - right[:-1] - right[1:], inside))
