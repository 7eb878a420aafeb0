"""Domains made of other domains: a ridge added to one, and a product of several."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Annotated, ClassVar, final

import numpy as np

from wane import arguments
from wane.arguments import Each, Kind, NonNegative, count
from wane.arrays import Array
from wane.describe.domains.base import Domain, ProxFacts, slightly_above
from wane.errors import InvalidDescription


@final
@dataclass(frozen=True)
class WithRidge(Domain):
    """Any domain with (ridge/2)|x|^2 added: the same set, and a prox that contracts.

    Claim.  prox_{eta*h}(x) = prox_{c*eta*g}(c*x) with c = 1/(1 + eta*ridge), for
    h = g + (ridge/2)|x|^2.  For convex g it is c-Lipschitz; a weakly convex g loses rho.
    """

    kind: ClassVar[str] = "with-ridge"
    domain: Annotated[Domain, Kind((Domain,))]
    ridge: NonNegative

    def _describe(self) -> ProxFacts:
        added = self.domain.strong_convexity + Fraction(self.ridge)
        return ProxFacts(
            diameter=self.domain.diameter,
            has_interior=self.domain.has_interior,
            strong_convexity=added,
            dimension=self.domain.dimension,
            declared=self.domain.declared,
        )

    def _prox(self, points: Array, step_size: float) -> Array:
        scale = 1.0 / (1.0 + step_size * self.ridge)
        return self.domain._prox(points * scale, step_size * scale)

    def _penalty(self, points: Array) -> Array:
        ridge = self.ridge / 2.0 * np.square(points).sum(axis=-1)
        return np.asarray(self.domain._penalty(points) + ridge)


@final
@dataclass(frozen=True)
class Product(Domain):
    """Blocks of coordinates, one after the other, each in its own domain.

    parts=(Ball(1.0), Unbounded()), sizes=(10, 1) bounds ten weights and leaves the last
    coordinate free.
    """

    kind: ClassVar[str] = "product"
    parts: Annotated[tuple[Domain, ...], Each(Kind((Domain,)))]
    sizes: Annotated[tuple[int, ...], Each(count)]

    def __post_init__(self) -> None:
        super().__post_init__()
        parts, sizes = self.parts, self.sizes
        if len(parts) != len(sizes):
            wanted = f"one size for each of the {len(parts)} parts"
            raise arguments.refused("sizes", self.sizes, wanted)
        for place, (part, size) in enumerate(zip(parts, sizes, strict=True)):
            if part.dimension not in (None, size):
                raise InvalidDescription(
                    f"sizes[{place}] must be {part.dimension}, the dimension of the {part.kind}, "
                    f"got {size}."
                )

    def _describe(self) -> ProxFacts:
        interiors = [part.has_interior for part in self.parts]
        interior = None if None in interiors else True
        return ProxFacts(
            diameter=slightly_above(math.hypot(*(part.diameter for part in self.parts))),
            has_interior=False if False in interiors else interior,
            strong_convexity=min(part.strong_convexity for part in self.parts),
            dimension=sum(self.sizes),
            declared=tuple(name for part in self.parts for name in part.declared),
        )

    def _blocks(self, points: Array) -> Iterator[tuple[Domain, Array]]:
        ends = accumulate(self.sizes, initial=0)
        for part, (start, end) in zip(self.parts, pairwise(ends), strict=True):
            yield part, points[..., start:end]

    def _prox(self, points: Array, step_size: float) -> Array:
        moved = [part._prox(block, step_size) for part, block in self._blocks(points)]
        return np.concatenate(moved, axis=-1)

    def _penalty(self, points: Array) -> Array:
        return np.asarray(sum(part._penalty(block) for part, block in self._blocks(points)))
