"""Weakly convex penalties: sparse and nearly unbiased, but their prox may move points apart.

A penalty h is rho-weakly convex if h + (rho/2)|x|^2 is convex.  Its prox is Lipschitz with
constant 1/(1 - step_size*rho) > 1 while step_size*rho < 1.  For longer steps the prox is a
jump: `prox` still returns the minimiser (zero at a tie), but `lipschitz` certifies nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from wane.arguments import Finite, NonNegative, Positive
from wane.arrays import Array
from wane.describe.domains.base import Domain, ProxFacts
from wane.describe.domains.prox_kernels import soften
from wane.errors import InvalidDescription


@final
@dataclass(frozen=True)
class MCP(Domain):
    """Minimax concave penalty: weight*|x| near zero, bent to a constant at shape*weight.

    h(x) = weight*|x| - x^2/(2*shape) up to |x| = shape*weight, then shape*weight^2/2, summed
    over coordinates; rho = 1/shape.
    """

    kind: ClassVar[str] = "mcp"
    weight: NonNegative
    shape: Positive

    def _describe(self) -> ProxFacts:
        return ProxFacts(strong_convexity=-1 / Fraction(self.shape))

    def _prox(self, points: Array, step_size: float) -> Array:
        sizes, edge = np.abs(points), self.shape * self.weight
        if step_size >= self.shape:
            # Concave between 0 and the edge: all or nothing, whichever costs less.
            jump = self.weight * math.sqrt(self.shape) * math.sqrt(step_size)
            return np.where(sizes > jump, points, 0.0)
        stretch = self.shape / (self.shape - step_size)
        firm = np.minimum(stretch * soften(sizes, step_size * self.weight), sizes)
        return np.where(sizes > edge, points, np.copysign(firm, points))

    def _penalty(self, points: Array) -> Array:
        near = np.minimum(np.abs(points), self.shape * self.weight)
        return np.asarray((self.weight * near - np.square(near) / (2.0 * self.shape)).sum(axis=-1))


@final
@dataclass(frozen=True)
class SCAD(Domain):
    """Smoothly clipped absolute deviation: the lasso up to weight, a constant from shape*weight.

    The slope of h falls linearly from weight to 0 in between; rho = 1/(shape - 1).  The usual
    shape is 3.7.
    """

    kind: ClassVar[str] = "scad"
    weight: NonNegative
    shape: Finite = 3.7

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape <= 1.0:
            raise InvalidDescription(
                f"shape must be > 1, got {self.shape!r}; the usual choice is shape=3.7."
            )

    def _describe(self) -> ProxFacts:
        return ProxFacts(strong_convexity=-1 / (Fraction(self.shape) - 1))

    def _prox(self, points: Array, step_size: float) -> Array:
        weight, room = self.weight, self.shape - 1.0
        sizes = np.abs(points)
        soft = soften(points, step_size * weight)
        if step_size >= room:
            # Concave in between: soft threshold or stay, whichever costs less.  The costs
            # meet where soft is still positive, or else where it is zero.
            jump = (self.shape + 1.0 + step_size) / 2.0
            if step_size > self.shape + 1.0:
                jump = math.sqrt(step_size) * math.sqrt(self.shape + 1.0)
            return np.where(sizes > weight * jump, points, soft)
        excess = sizes - weight * (1.0 + step_size)
        bent = np.minimum(weight + np.maximum(excess, 0.0) * room / (room - step_size), sizes)
        firm = np.where(excess > 0.0, np.copysign(bent, points), soft)
        return np.where(sizes > self.shape * weight, points, firm)

    def _penalty(self, points: Array) -> Array:
        sizes = np.abs(points)
        flat = np.minimum(sizes, self.weight)
        bent = np.minimum(sizes, self.shape * self.weight) - flat
        falling = self.weight * bent - np.square(bent) / (2.0 * (self.shape - 1.0))
        return np.asarray((self.weight * flat + falling).sum(axis=-1))
