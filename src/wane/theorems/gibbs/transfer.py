"""From exact draws to a chain's draws: privacy through closeness to the target.

P and P' are the laws of the chain on neighbouring data, R and R' their targets.  Two weak triangle
inequalities (Hoelder) lead from P to R, on to R', and on to P'.
Proof: docs/proofs/gibbs-transfer.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from wane.guarantees import Guarantee, RenyiDP
from wane.numerics.rounding import inflate

Curve = Callable[[float], float]

_HAIR = 1.0 - 1e-6
_LEAST_ORDER = 1.001
"""Below it the bound of this order is used: nearer to one the exponents lose their digits."""


@dataclass(frozen=True)
class Closeness:
    """Certified distances of a chain to its target, whatever the data, at some Renyi orders.

    Attributes:
        orders: ascending, above one.
        chain_first: D(chain || target) at each order.
        target_first: D(target || chain) at each order.
    """

    orders: tuple[float, ...]
    chain_first: tuple[float, ...]
    target_first: tuple[float, ...]

    @property
    def useful(self) -> bool:
        """Whether some divergence is finite in each direction."""
        return math.isfinite(min(self.chain_first)) and math.isfinite(min(self.target_first))


def two_triangles(
    order: float, chain_first: float, exact: Curve, target_first: float, *, p: float, p2: float
) -> float:
    """D_a(P||P') by way of R and R', for Hoelder exponents p, p2 > 1.

    Claim.  (a - 1/p)/(a - 1) D_{p a}(P||R) + (o - 1/p2)/(o - 1) D_{p2 o}(R||R') +
    D_{q2 (o - 1/p2)}(R'||P'), o = q (a - 1/p), 1/p + 1/q = 1/p2 + 1/q2 = 1.  `chain_first` and
    `target_first` are the divergences at the orders p a and q2 (o - 1/p2).
    """
    middle = p / (p - 1.0) * (order - 1.0 / p)
    first = (order - 1.0 / p) / (order - 1.0) * chain_first
    second = (middle - 1.0 / p2) / (middle - 1.0) * exact(p2 * middle)
    return first + second + target_first


@dataclass(frozen=True)
class TransferredCurve:
    """The least `two_triangles` over the orders at which closeness is known."""

    closeness: Closeness
    exact: Guarantee

    def __call__(self, order: float) -> float:
        """Return a bound on the chain's divergence on neighbouring data, rounded up.

        p = A/order for each order A of chain_first, and p2 = (B - 1)/(B - o) for each order B of
        target_first, so that divergences are needed at the tabulated orders only (a hair below,
        which covers rounding: divergences grow with the order).
        """
        best = math.inf
        if order < _LEAST_ORDER:
            return self(_LEAST_ORDER)
        known, orders = self.closeness, tuple(o * _HAIR for o in self.closeness.orders)
        for A, chain_first in zip(orders, known.chain_first, strict=True):
            if not order < A or not chain_first < best:
                continue
            middle = order * (A - 1.0) / (A - order)
            for B, target_first in zip(orders, known.target_first, strict=True):
                if not middle < B or not target_first < best:
                    continue
                p, p2 = A / order, (B - 1.0) / (B - middle)
                found = two_triangles(
                    order, chain_first, self.exact.renyi, target_first, p=p, p2=p2
                )
                best = min(best, found)
        return inflate(best, 1e-12) if math.isfinite(best) else math.inf


def transferred(closeness: Closeness, exact: Guarantee) -> RenyiDP:
    """Return the guarantee of a chain this close to its target, whose exact draws cost `exact`."""
    return RenyiDP(TransferredCurve(closeness, exact), max_order=closeness.orders[-1])
