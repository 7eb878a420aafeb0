"""From exact draws to a chain's draws: privacy through closeness to the target.

Exact draws from a Gibbs law are the ideal that a chain approaches; their cost comes first, then the
way to a chain at certified distances, and last these distances, tabulated without a search.
P and P' are the laws of the chain on neighbouring data, R and R' their targets.  Two weak triangle
inequalities (Hoelder) lead from P to R, on to R', and on to P'.
Proof: docs/proofs/gibbs-transfer.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from wane import arguments
from wane.describe.chain import Direction, Overdamped, Underdamped
from wane.describe.posterior import Posterior
from wane.guarantees import GaussianDP, Guarantee, RenyiDP
from wane.guarantees.pure import PureCurve
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.theorems.lemmas.kinetic import KineticFree, kinetic_divergence
from wane.theorems.lemmas.letters import girsanov_price, kinetic_letters_of, letters_of
from wane.theorems.lemmas.shifted_girsanov import Free, Grouping, ShiftedGirsanov


def exact_gibbs(
    *, gradient_sensitivity: float, strong_convexity: float, temperature: float = 1.0
) -> GaussianDP:
    """One exact draw from exp(-F/temperature) is Gaussian-private, in any dimension.

    Claim.  mu = Delta / sqrt(tau m), if both potentials are m-strongly convex and their gradients
    differ by at most Delta everywhere.
    Source.  [gopi2022exponential]; for smooth potentials docs/proofs/gibbs-transfer.md, Theorem 1.
    Tight.  For a quadratic with a linear term, which is the Gaussian mechanism.
    """
    Delta = arguments.real("gradient_sensitivity", gradient_sensitivity, least=0.0)
    m = arguments.real("strong_convexity", strong_convexity, above=0.0)
    tau = arguments.real("temperature", temperature, above=0.0)
    if Delta == 0.0:
        return GaussianDP(0.0)
    # one root after the other: the product may leave the range of doubles where mu does not
    mu = Delta / math.sqrt(tau) / math.sqrt(m)
    return GaussianDP(inflate(max(mu, SMALLEST_POSITIVE), 1e-15))


def exact_gibbs_bounded(*, range_of_difference: float, temperature: float = 1.0) -> RenyiDP:
    """One exact draw is purely private if two potentials differ by a bounded amount.

    Claim.  epsilon = r/tau, r the range (largest minus smallest value) of F - F'; no convexity.
    Proof.  The density's ratio is e^(c - g) with g = (F - F')/tau and e^-c a mean of e^-g, so that
    c, too, lies in the range of g.
    """
    r = arguments.real("range_of_difference", range_of_difference, least=0.0)
    tau = arguments.real("temperature", temperature, above=0.0)
    epsilon = inflate(max(r / tau, SMALLEST_POSITIVE), 4e-16) if r > 0.0 else 0.0
    return RenyiDP(PureCurve(epsilon), label=f"{epsilon:g}-DP")


def exact_draws(posterior: Posterior, *, samples: int = 1) -> GaussianDP:
    """Return what exact draws from a posterior would cost: the Gibbs mechanism's guarantee."""
    return exact_gibbs(
        gradient_sensitivity=posterior.gradient_sensitivity,
        strong_convexity=posterior.target.strong_convexity,
        temperature=posterior.descent_temperature,
    ).repeat(samples)


Curve = Callable[[float], float]

_ORDER_MARGIN = 1.0 - 1e-6
"""Divergences grow with the order, so a slightly smaller order covers rounding."""
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
        known, orders = self.closeness, tuple(o * _ORDER_MARGIN for o in self.closeness.orders)
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


ORDERS = (1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 32.0, 50.0, 80.0, 128.0, 200.0, 400.0, 1000.0)
"""Renyi orders at which the closeness of a chain to its target is tabulated."""

_EXPONENTS = (4.0, 10.0, 30.0, 100.0, 400.0, 3000.0)
_FEW_EXPONENTS = (10.0, 40.0, 3000.0)
_WINDOWS = (0.3, 1.0, 2.0, 4.0, 8.0)
_GROUPING = Grouping(32, 0.05)
_KEPT = "_closeness"

Divergence = Callable[[Direction, float], float]


def closeness(chain: Overdamped | Underdamped) -> Closeness:
    """Return certified distances, whatever the data, at the best of a few free parameters.

    The table is kept with the chain, as a cached property would be: several hypotheses and formulas
    ask for it, and it takes a tenth of a second.
    """
    known: dict[str, Closeness] = vars(chain)
    if _KEPT not in known:
        bound = _overdamped(chain) if isinstance(chain, Overdamped) else _underdamped(chain)
        known[_KEPT] = Closeness(
            ORDERS,
            tuple(bound(Direction.CHAIN_FIRST, order) for order in ORDERS),
            tuple(bound(Direction.REFERENCE_FIRST, order) for order in ORDERS),
        )
    return known[_KEPT]


def _overdamped(chain: Overdamped) -> Divergence:
    at = ShiftedGirsanov(letters_of(chain), _GROUPING)
    frees = [Free(q1=a, q2=b) for a, b in product(_EXPONENTS, _FEW_EXPONENTS)]

    def bound(direction: Direction, order: float) -> float:
        if not chain.target.strong_convexity > 0.0:
            return math.inf
        found = min(at.divergence(0.5 * girsanov_price(direction, f.p, order), f) for f in frees)
        return found / (order - 1.0) * (1.0 + 1e-15)

    return bound


def _underdamped(chain: Underdamped) -> Divergence:
    x = kinetic_letters_of(chain)
    usual = 1.0 / (x.gam * x.eta)
    windows = {min(max(round(w * usual), 1), x.N) for w in _WINDOWS}
    frees = [
        KineticFree(window=k, q1=a, q2=b)
        for k, a, b in product(sorted(windows), _EXPONENTS, _FEW_EXPONENTS)
    ]

    def bound(direction: Direction, order: float) -> float:
        return min(kinetic_divergence(x, direction, order, free) for free in frees)

    return bound
