"""Domains to and from the fields of a file: from_fields(d.kind, to_fields(d)) == d for every d."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

from wane.arguments import refused, shown
from wane.describe.domains import (
    base,
    combined,
    linear,
    matrices,
    nonconvex,
    norms,
    own,
    sets,
    structured,
)
from wane.describe.domains.base import Domain
from wane.errors import InvalidDescription

DOMAINS: tuple[type[Domain], ...] = (
    base.Unbounded,
    sets.Ball,
    sets.Box,
    sets.LOneBall,
    sets.Simplex,
    sets.Diameter,
    sets.Orthant,
    sets.SecondOrderCone,
    linear.Halfspace,
    linear.Affine,
    matrices.PositiveSemidefiniteCone,
    norms.Ridge,
    norms.Lasso,
    norms.ElasticNet,
    norms.LTwoNorm,
    norms.LInfinityNorm,
    norms.LogBarrier,
    structured.GroupLasso,
    structured.SortedLOne,
    structured.TotalVariation,
    matrices.NuclearNorm,
    nonconvex.MCP,
    nonconvex.SCAD,
    combined.WithRidge,
    combined.Product,
    own.OwnProx,
)


def from_fields(kind: str, fields: Mapping[str, Any]) -> Domain:
    """Return the domain of this kind with these fields, as read from TOML or JSON.

    Lists stand for tuples; a domain inside a domain is a table with its own `kind`.
    """
    chosen = _class_of(kind)
    if not isinstance(fields, Mapping):
        raise refused("fields", fields, "a table", f"give the fields of {kind!r} by name")
    allowed, required = _field_names(chosen)
    for name in fields:
        if name not in allowed:
            raise InvalidDescription(
                f"fields of the domain {kind!r} must be among {', '.join(allowed) or 'none'}, "
                f"got {name!r}."
            )
    for name in required:
        if name not in fields:
            raise InvalidDescription(
                f"{name} must be given for the domain {kind!r}, got nothing; add {name} = ..."
            )
    return chosen(**{name: _decode(name, value) for name, value in fields.items()})


def to_fields(domain: Domain) -> dict[str, Any]:
    """Return the fields of a domain as lists, numbers and tables; absent options are left out.

    The kind is not among them: it is `domain.kind`.
    """
    allowed, _ = _field_names(type(domain))
    values = {name: getattr(domain, name) for name in allowed}
    return {n: _encode(value) for n, value in values.items() if value not in (None, math.inf)}


def _class_of(kind: str) -> type[Domain]:
    for candidate in DOMAINS:
        if candidate.kind == kind:
            return candidate
    raise InvalidDescription(
        f"kind must be one of {', '.join(sorted(each.kind for each in DOMAINS))}, "
        f"got {shown(kind)}."
    )


def _field_names(chosen: type[Domain]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all fields, and of those that must be given."""
    declared = fields(chosen)  # type: ignore[arg-type]
    return tuple(f.name for f in declared), tuple(f.name for f in declared if f.default is MISSING)


def _decode(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if "kind" not in value:
            raise refused(name, value, "a domain with a kind", 'give kind = "..." among its fields')
        return from_fields(value["kind"], {k: v for k, v in value.items() if k != "kind"})
    if isinstance(value, (list, tuple)):
        return tuple(_decode(f"{name}[{place}]", entry) for place, entry in enumerate(value))
    return value


def _encode(value: Any) -> Any:
    if isinstance(value, Domain):
        return {"kind": value.kind, **to_fields(value)}
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, tuple):
        return [_encode(entry) for entry in value]
    return value
