"""The bounds on underdamped chains at the best free parameters a search finds."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.describe.chain import Direction
from wane.numerics.search import Found, least, log_or_worst, minimise_scalar_bounded, positive_from
from wane.theorems.lemmas.kinetic import KineticFree, kinetic_discretisation, kinetic_divergence
from wane.theorems.lemmas.letters import LEAST_ORDER, KineticLetters


def kinetic_free(x: KineticLetters, point: Array) -> KineticFree:
    """Return the underdamped parameters at a point: the window's log, the exponents, two shares."""
    window, q1, q2, a, b = point.tolist()
    shares = (positive_from(a), positive_from(b))
    total = 1.0 + sum(shares)
    return KineticFree(
        window=min(max(round(positive_from(window)), 1), x.N),
        q1=1.0 + positive_from(q1),
        q2=1.0 + positive_from(q2),
        w_start=shares[0] / total,
        w_drift=shares[1] / total,
    )


def kinetic_starts(x: KineticLetters) -> list[Array]:
    """Return the points where searches over `kinetic_free` start, by windows in friction times."""
    usual = max(1.0, min(float(x.N), 2.0 / (x.gam * x.eta)))
    return [
        np.array([math.log(usual * k), math.log(q), math.log(q * more), math.log(w), math.log(8.0)])
        for k in (0.3, 1.0, 3.0)
        for q in (1.5, 3.0, 10.0, 40.0, 300.0)
        for more in (1.0, 10.0)
        for w in (0.5, 0.02)
    ]


def kinetic(x: KineticLetters, direction: Direction, order: float) -> Found:
    """Return the least bound found on the underdamped chain's divergence from the target."""
    order = max(order, LEAST_ORDER)

    def bound(**free: Any) -> float:
        return kinetic_divergence(x, direction, order, KineticFree(**free))

    return least(bound, lambda z: asdict(kinetic_free(x, z)), kinetic_starts(x))


def kinetic_error(x: KineticLetters, direction: Direction, order: float) -> Found:
    """Return the least bound found on the discretisation error of the underdamped chain."""
    order = max(order, LEAST_ORDER)

    def bound(z: float) -> float:
        return kinetic_discretisation(x, direction, order, 1.0 + positive_from(z))

    z = minimise_scalar_bounded(lambda z: log_or_worst(bound(z)), -5.0, 15.0, steps=60)[0]
    return Found(bound(z), {"q": 1.0 + positive_from(z)})
