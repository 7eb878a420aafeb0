"""Linear chains that attain the joint programme of last-iterate privacy, built from scratch.

For shifts s, Lipschitz constants c and noises d the programme is: minimise the sum of
(a_t/d_t)^2 over a with w_t = c_t w_{t-1} + s_t - a_t >= 0 and w_0 = w_T = 0.  Its value is the
worst case over all chains with those constants.  Here it is solved by marching along the lower
convex hull of its staircase in exact rational arithmetic: slow, quadratic, and sharing nothing
with the accountant it is meant to judge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from wane.arrays import Array
from wane.audit.linear import LinearStep, linear_step
from wane.errors import InvalidDescription


@dataclass(frozen=True)
class ProgrammeBlock:
    """Steps first..last (from 1) on one edge of the hull, which spend at one rate.

    Attributes:
        first: the number of its first step.
        last: the number of its last step.
        slope: shift over variance in the common coordinates; increases from block to block.
        cost: what the block adds to mu squared.
    """

    first: int
    last: int
    slope: Fraction
    cost: Fraction


def _checked(
    shifts: Sequence[float], constants: Sequence[float], noise_stds: Sequence[float]
) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """Return exact rationals of three equally long lists: s >= 0, c > 0, d > 0."""
    if not len(shifts) == len(constants) == len(noise_stds) > 0:
        raise InvalidDescription(
            "shifts, constants and noise_stds must be equally long, not empty."
        )
    values = [float(v) for v in (*shifts, *constants, *noise_stds)]
    if not all(math.isfinite(v) for v in values):
        raise InvalidDescription("shifts, constants and noise_stds must be finite.")
    if min(shifts) < 0 or min(constants) <= 0 or min(noise_stds) <= 0:
        raise InvalidDescription("shifts must be >= 0, and constants and noise_stds > 0.")
    exact = [[Fraction(float(v)) for v in seq] for seq in (shifts, constants, noise_stds)]
    return exact[0], exact[1], exact[2]


def programme_blocks(
    shifts: Sequence[float], constants: Sequence[float], noise_stds: Sequence[float]
) -> tuple[ProgrammeBlock, ...]:
    """Return the edges of the convex hull along which the optimal spending is constant."""
    s, c, d = _checked(shifts, constants, noise_stds)
    growth, height, width = Fraction(1), [Fraction(0)], [Fraction(0)]
    for shift, constant, noise in zip(s, c, d, strict=True):
        growth *= constant
        height.append(height[-1] + shift / growth)
        width.append(width[-1] + (noise / growth) ** 2)
    blocks, at = [], 0
    while at < len(s):
        slopes = [
            (height[j] - height[at]) / (width[j] - width[at]) for j in range(at + 1, len(s) + 1)
        ]
        lowest = min(slopes)
        # Of equal slopes take the furthest end, so that slopes increase strictly.
        last = at + 1 + max(j for j, slope in enumerate(slopes) if slope == lowest)
        cost = lowest * (height[last] - height[at])
        blocks.append(ProgrammeBlock(at + 1, last, lowest, cost))
        at = last
    return tuple(blocks)


def programme_value(
    shifts: Sequence[float], constants: Sequence[float], noise_stds: Sequence[float]
) -> Fraction:
    """Return the exact optimum of the joint programme: the worst-case mu squared."""
    blocks = programme_blocks(shifts, constants, noise_stds)
    return sum((block.cost for block in blocks), start=Fraction(0))


@dataclass(frozen=True)
class _Totals:
    """The totals of one block: its shift, its variance, and the product of its constants."""

    shift: float
    variance: float
    growth: float

    def after(self, shift: float, constant: float, noise_std: float) -> _Totals:
        """Return the totals with one more step."""
        return _Totals(
            shift=constant * self.shift + shift,
            variance=constant**2 * self.variance + noise_std**2,
            growth=constant * self.growth,
        )


@dataclass(frozen=True)
class TightInstance:
    """A linear chain within the given constants whose mu squared is the programme's value."""

    steps: tuple[LinearStep, ...]
    multipliers: tuple[float, ...]
    mu_squared: float


def tight_instance(
    shifts: Sequence[float], constants: Sequence[float], noise_stds: Sequence[float]
) -> TightInstance:
    """Return a chain in one dimension that attains the programme by slowing at each block's start.

    Claim.  Multiply the constant of the first step of each later block by the ratio of the
    slopes before and after, which is below one.  Then mean over variance at the end of each block
    is that of the block alone, and in (P A + A')^2/(P^2 V + V') <= A^2/V + A'^2/V' equality holds.
    """
    blocks = programme_blocks(shifts, constants, noise_stds)
    multipliers = [float(c) for c in constants]
    for before, after in pairwise(blocks):
        ratio = before.slope / after.slope
        multipliers[after.first - 1] = float(Fraction(multipliers[after.first - 1]) * ratio)
    steps = tuple(
        linear_step([[c]], [s], noise_std=d)
        for c, s, d in zip(multipliers, shifts, noise_stds, strict=True)
    )
    value = sum((block.cost for block in blocks), start=Fraction(0))
    return TightInstance(steps, tuple(multipliers), float(value))


def tight_instance_by_rotation(
    shifts: Sequence[float], constants: Sequence[float], noise_stds: Sequence[float]
) -> TightInstance:
    """Return a chain with one dimension a block that attains it with norms at their constants.

    Claim.  On entering a block, drop its fresh coordinate and turn the shift to
    (v, sqrt(1 - |v|^2)) with v = U Sigma^-1 m / (S G); then mu squared grows by exactly S^2/U.
    Here m and Sigma are the mean difference and covariance so far, and S, U, G the shift, the
    variance and the product of constants of the block; |v| <= 1 says that the hull is convex.
    """
    blocks = programme_blocks(shifts, constants, noise_stds)
    size = len(blocks)
    mean, covariance = np.zeros(size), np.zeros((size, size))
    steps: list[LinearStep] = []
    for index, block in enumerate(blocks):
        span = range(block.first - 1, block.last)
        totals = _Totals(0.0, 0.0, 1.0)
        for t in span:
            totals = totals.after(float(shifts[t]), float(constants[t]), float(noise_stds[t]))
        direction = _direction(index, totals, mean, covariance)
        for t in span:
            matrix = float(constants[t]) * np.eye(size)
            if t == block.first - 1:
                matrix[index, index] = 0.0
            shift = float(shifts[t]) * direction
            steps.append(linear_step(matrix, shift, noise_std=noise_stds[t]))
            mean = matrix @ mean + shift
            covariance = matrix @ covariance @ matrix.T + float(noise_stds[t]) ** 2 * np.eye(size)
    value = sum((block.cost for block in blocks), start=Fraction(0))
    return TightInstance(tuple(steps), tuple(map(float, constants)), float(value))


def _direction(index: int, totals: _Totals, mean: Array, covariance: Array) -> Array:
    """Return the unit vector along which a block shifts its new coordinate and the older ones."""
    direction = np.zeros(mean.size)
    if index and totals.shift > 0.0:
        older = np.linalg.solve(covariance[:index, :index], mean[:index])
        direction[:index] = totals.variance * older / (totals.shift * totals.growth)
    direction[index] = math.sqrt(max(0.0, 1.0 - float(direction @ direction)))
    return direction
