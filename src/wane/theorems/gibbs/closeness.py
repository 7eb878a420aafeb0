"""Tables of certified distances between a chain and its target, made without a search."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

from wane.describe.chain import Overdamped, Underdamped
from wane.describe.distance import Direction
from wane.theorems.gibbs.transfer import Closeness
from wane.theorems.lemmas.kinetic import KineticFree, kinetic_divergence
from wane.theorems.lemmas.letters import kinetic_letters_of, letters_of
from wane.theorems.lemmas.moments import girsanov_price
from wane.theorems.lemmas.shifted_girsanov import Free, Grouping, ShiftedGirsanov

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
