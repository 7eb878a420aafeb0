"""A bound of Sun, Shen and Tao on noisy federated averaging, as printed (sun2024convergent).

Letters: T rounds, r the factor by which one round can move two models apart, (1 + eta L)^K for K
local steps of size eta on L-smooth losses, s the mu of one round by itself.
"""

from __future__ import annotations

import math
from functools import partial

from wane_papers.records import Printed, Standing

KEY = "sun2024convergent"
_printed = partial(Printed, key=KEY)


def _convergent(*, s: float, r: float, T: int) -> float:
    left = r**-T
    return s * math.sqrt((r + 1.0) / (r - 1.0) * (1.0 - left) / (1.0 + left))


def _first_share(*, r: float, T: int) -> float:
    return r ** (T - 1) * (r + 1.0) / (r**T + 1.0)


convergent = _printed(
    "convergent mu of noisy federated averaging",
    "Theorem 3 (a)",
    ("L-smooth losses, not necessarily convex", "clipped updates", "constant step sizes"),
    Standing.FALSE,
    "linear losses are L-smooth for every L and keep every shift: after T rounds mu is s sqrt(T), "
    "1.414 for 1.342 at r = 2, T = 2 and 10.0 for 1.732 at T = 100",
    _convergent,
    within=lambda s, r, T: s >= 0.0 and r > 1.0 and T >= 1,
)
first_share = _printed(
    "share of the distance that the first round pays",
    "proof of Theorem 3 (a), minimiser of the shifted interpolation",
    ("as Theorem 3 (a)", "shares lie in [0, 1]"),
    Standing.FALSE,
    "above one, where no interpolation between two models exists: 1.2 at r = 2, T = 2, and "
    "1.5 for long runs.  With shares in [0, 1] the least is composition for every r >= 1",
    _first_share,
    within=lambda r, T: r > 1.0 and T >= 1,
)

BOUNDS: tuple[Printed, ...] = tuple(v for v in list(vars().values()) if isinstance(v, Printed))
