"""Guarantees to and from plain data, so that a ledger can store what was spent."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wane.errors import InvalidDescription
from wane.guarantees.base import Guarantee
from wane.guarantees.chain import ChainDP
from wane.guarantees.composed import ComposedDP
from wane.guarantees.failure import WithFailure
from wane.guarantees.gaussian import GaussianDP
from wane.guarantees.mixture import GaussianMixture
from wane.guarantees.numerical import NumericalDP
from wane.guarantees.pure import PureDP
from wane.guarantees.renyi import LinearCurve, RenyiDP
from wane.guarantees.steps import (
    AccountStep,
    GaussianMixtureStep,
    GaussianStep,
    Pair,
    SampledGaussianStep,
)

ORDERS = tuple(1.0 + 10.0 ** (place / 8.0) for place in range(-24, 49))
"""Orders at which a curve is written down, from 1.001 to a million."""


@dataclass(frozen=True)
class ListedCurve:
    """A Renyi curve given at some orders; between two, the larger order's value is used."""

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, order: float) -> float:
        """Return a bound at this order: divergences grow with the order."""
        place = bisect.bisect_left(self.orders, order)
        return self.values[place] if place < len(self.values) else math.inf


def guarantee_to_fields(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as JSON-ready data; what is read back promises at most as much."""
    if isinstance(guarantee, GaussianDP):
        return {"mu": _finite(guarantee.mu, "mu")}
    if isinstance(guarantee, WithFailure):
        inner = guarantee_to_fields(guarantee.inner)
        return {"inner": inner, "probability": guarantee.probability}
    if isinstance(guarantee, ChainDP):
        return {"links": guarantee.size, "each": guarantee_to_fields(guarantee.inner)}
    if isinstance(guarantee, GaussianMixture):
        return {"mus": list(guarantee.mus), "weights": list(guarantee.weights)}
    if isinstance(guarantee, NumericalDP):
        return {"steps": [_atom_to_fields(atom) | {"count": n} for atom, n in guarantee.parts]}
    if isinstance(guarantee, ComposedDP):
        parts = guarantee.parts
        return {"parts": [{"times": n, "part": guarantee_to_fields(part)} for part, n in parts]}
    if isinstance(guarantee, PureDP):
        return {"epsilon": _finite(guarantee.level, "epsilon"), "delta": 0.0}
    if isinstance(guarantee, RenyiDP):
        return _renyi_to_fields(guarantee)
    raise InvalidDescription(f"guarantee must be one of wane's own kinds, got {guarantee!r:.60}.")


def guarantee_from_fields(given: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that `guarantee_to_fields` wrote down."""
    if "mu" in given:
        return GaussianDP(given["mu"])
    if "epsilon" in given:
        pure = PureDP(given["epsilon"])
        return WithFailure(pure, given["delta"]) if given["delta"] else pure
    if "inner" in given:
        return WithFailure(guarantee_from_fields(given["inner"]), given["probability"])
    if "links" in given:
        return ChainDP(guarantee_from_fields(given["each"]), given["links"])
    if "parts" in given:
        rows = given["parts"]
        return ComposedDP(tuple((guarantee_from_fields(row["part"]), row["times"]) for row in rows))
    if "mus" in given:
        return GaussianMixture(tuple(given["mus"]), tuple(given["weights"]))
    if "steps" in given:
        return NumericalDP(tuple((_atom_from_fields(row), row["count"]) for row in given["steps"]))
    if "rho" in given:
        return RenyiDP.zcdp(given["rho"])
    orders, values = tuple(given["orders"]), tuple(given["values"])
    return RenyiDP(ListedCurve(orders, values), max_order=orders[-1])


def _atom_to_fields(atom: AccountStep) -> dict[str, Any]:
    if isinstance(atom, GaussianStep):
        return {"mu": atom.mu}
    if isinstance(atom, SampledGaussianStep):
        return {"mu": atom.mu, "rate": atom.rate, "pair": atom.pair.value}
    return {"mus": list(atom.mus), "weights": list(atom.weights)}


def _atom_from_fields(row: Mapping[str, Any]) -> AccountStep:
    if "rate" in row:
        return SampledGaussianStep(row["mu"], row["rate"], Pair(row["pair"]))
    if "mus" in row:
        return GaussianMixtureStep(tuple(row["mus"]), tuple(row["weights"]))
    return GaussianStep(row["mu"])


def _renyi_to_fields(guarantee: RenyiDP) -> dict[str, Any]:
    if isinstance(guarantee.curve, LinearCurve) and math.isinf(guarantee.max_order):
        return {"rho": guarantee.curve.rho}
    if isinstance(guarantee.curve, ListedCurve):
        return {"orders": list(guarantee.curve.orders), "values": list(guarantee.curve.values)}
    rows = [(order, guarantee.renyi(order)) for order in ORDERS if order <= guarantee.max_order]
    finite = [(order, value) for order, value in rows if math.isfinite(value)]
    if not finite:
        raise InvalidDescription("guarantee must be finite at some order to be written down.")
    return {"orders": [order for order, _ in finite], "values": [value for _, value in finite]}


def _finite(level: float, name: str) -> float:
    if not math.isfinite(level):
        raise InvalidDescription(f"guarantee must promise something, got an infinite {name}.")
    return level
