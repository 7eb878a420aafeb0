"""Certificates as rows of a ledger; a certificate that is read back costs what was spent.

A row holds the descriptions of its releases, chains on a posterior included, from which every
guarantee can be computed again.  It also holds the guarantee of each theorem that applies, the hash
of what was certified, and the version that certified it: the same version need not certify again.
Another version does, so that a number that was mended is counted as mended.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from wane._version import __version__
from wane.certificates import (
    Certificate,
    CertifiedRelease,
    certificate_from_fields,
    certificate_to_fields,
    certify,
    recalled,
    together,
)
from wane.certificates.parts import DEFAULT_DELTA, epsilon_of
from wane.describe import StatedRelease
from wane.describe.facts import without_facts
from wane.describe.fields import description_from_fields, run_from_fields
from wane.describe.files import read_json
from wane.describe.samples import Sampler, SamplesOfDescent
from wane.errors import InvalidDescription
from wane.guarantees import ChainDP, Guarantee, RenyiDP, WithFailure
from wane.guarantees.fields import ListedCurve, guarantee_from_fields, guarantee_to_fields
from wane.guarantees.renyi import LinearCurve
from wane.theorems.lemmas.family import REFERENCE, Profile, Tuned

ALWAYS = (DEFAULT_DELTA, REFERENCE)
"""Deltas at which answers are kept, whatever the budget."""


@dataclass(frozen=True)
class ListedProfile:
    """A privacy profile given by points; between two, the smaller epsilon's delta is used."""

    points: tuple[tuple[float, float], ...]

    def __call__(self, epsilon: float) -> float:
        """Return a bound at this epsilon: deltas fall as epsilon grows."""
        return min((delta for at, delta in self.points if at <= epsilon), default=1.0)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon of the points that this delta allows."""
        return min((epsilon for epsilon, at in self.points if at <= delta), default=math.inf)


def to_fields(guarantee: Guarantee, deltas: Iterable[float]) -> dict[str, Any]:
    """Return a guarantee as JSON-ready data, exact at these deltas."""
    plain = _plain(guarantee)
    fields = guarantee_to_fields(plain)
    if plain is guarantee:
        return fields
    asked = sorted({*ALWAYS, *deltas})
    pairs = [(epsilon_of(guarantee, delta), delta) for delta in asked]
    points = [[epsilon, delta] for epsilon, delta in pairs if epsilon < math.inf]
    return {"points": points, "plain": fields}


def from_fields(given: Mapping[str, Any]) -> tuple[Guarantee, ...]:
    """Return what `to_fields` wrote down: guarantees that all hold."""
    if "points" not in given:
        return (guarantee_from_fields(given),)
    plain = guarantee_from_fields(given["plain"])
    points = tuple((float(epsilon), float(delta)) for epsilon, delta in given["points"])
    listed = ListedProfile(points)
    return Profile(listed, plain, listed.epsilon), plain


def _plain(guarantee: Guarantee) -> Guarantee:
    """Return the guarantee if it can be written as fields, else the one that it composes as."""
    if isinstance(guarantee, Tuned):
        return _plain(guarantee.suited_to(REFERENCE))
    if isinstance(guarantee, Profile):
        return _plain(guarantee.fallback)
    if isinstance(guarantee, ChainDP | WithFailure):
        inner = _plain(guarantee.inner)
        if inner is guarantee.inner:
            return guarantee
        if isinstance(guarantee, ChainDP):
            return ChainDP(inner, guarantee.size)
        return WithFailure(inner, guarantee.probability)
    if isinstance(guarantee, RenyiDP) and not _is_listed(guarantee):
        return guarantee_from_fields(guarantee_to_fields(guarantee))
    return guarantee


def _is_listed(guarantee: RenyiDP) -> bool:
    linear = isinstance(guarantee.curve, LinearCurve) and math.isinf(guarantee.max_order)
    return linear or isinstance(guarantee.curve, ListedCurve)


KNOWN = 512
"""Rows whose certificates are kept in memory; computing one may take seconds."""


def stored(certificate: Certificate, deltas: Iterable[float] = ()) -> dict[str, Any]:
    """Return the fields of a row for a release; its guarantees are exact at these deltas."""
    fields = certificate_to_fields(certificate)
    rows = fields["releases"]
    for row, part in zip(rows, certificate.parts, strict=True):
        if not isinstance(part.description, StatedRelease):
            row.update(_certified(part, row, tuple(deltas)))
    return fields


def _certified(
    part: CertifiedRelease, row: Mapping[str, Any], deltas: tuple[float, ...]
) -> dict[str, Any]:
    """Return each theorem's guarantee and the hash of what was certified; empty if none holds.

    A guarantee that promises nothing is left out.
    """
    claims = []
    for verdict in part.applicable:
        try:
            guarantee = to_fields(verdict.conclusion, deltas)
        except InvalidDescription:
            continue
        claims.append({"theorem": verdict.theorem.name, "guarantee": guarantee})
    if not claims:
        return {}
    return {"certified": {"claims": claims, "wane": __version__, "sha256": _hash(row)}}


def _hash(row: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in row.items() if name != "certified"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def certificate_in(content: Mapping[str, Any]) -> Certificate:
    """Return the certificate of a row, computed again; kept in memory."""
    return _certificate(json.dumps(content["certificate"], sort_keys=True))


def spent_in(content: Mapping[str, Any]) -> tuple[Certificate, ...]:
    """Return the certificates of a row, computed again only where their cost needs it."""
    rows = content["certificate"]["releases"]
    if all(_is_current(row) for row in rows):
        return tuple(_as_certified(row) for row in rows)
    return certificate_in(content).each


def _is_current(row: Mapping[str, Any]) -> bool:
    """Return whether this version certified what the row describes, and stored the result."""
    if "run" not in row:
        return True
    certified = row.get("certified", {})
    same = certified.get("wane") == __version__ and certified.get("sha256") == _hash(row)
    return bool(same and "claims" in certified)


def _as_certified(row: Mapping[str, Any]) -> Certificate:
    if "run" not in row:
        return _part(row)
    certified = row["certified"]
    return recalled(
        description_from_fields(without_facts(row["run"])),
        [
            (claim["theorem"], guarantee)
            for claim in certified["claims"]
            for guarantee in from_fields(claim["guarantee"])
        ],
        because=f"by wane {certified['wane']}, when it was spent",
        rows_per_person=row.get("rows_per_person", 1),
    )


def adjacency_in(content: Mapping[str, Any]) -> str:
    """Return the adjacency of a row, without certifying anything."""
    row = content["certificate"]["releases"][0]
    return str(row["run"]["adjacency"] if "run" in row else row["adjacency"])


def rows_per_person_in(content: Mapping[str, Any]) -> int:
    """Return how many rows may change together in a row's guarantee."""
    return int(content["certificate"]["releases"][0].get("rows_per_person", 1))


@lru_cache(KNOWN)
def _certificate(text: str) -> Certificate:
    given = read_json(text, "a row of the ledger")
    if not any("sampler" in row for row in given["releases"]):
        return certificate_from_fields(given)
    return together(_part(row) for row in given["releases"]).void(given["voids"])


def _part(row: Mapping[str, Any]) -> Certificate:
    if "sampler" not in row:
        return certificate_from_fields({"releases": [dict(row)], "voids": []})
    # as long as chains were written down as their descent, with a sampler beside it
    run = run_from_fields(without_facts(row["run"]))
    samples = SamplesOfDescent.of(run, Sampler.from_fields(row["sampler"]))
    return certify(samples).for_persons(row.get("rows_per_person", 1))


def same_run(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two rows speak of the same releases, whoever certified them."""

    def plain(content: Mapping[str, Any]) -> Any:
        given = content["certificate"]
        rows = [{k: v for k, v in row.items() if k != "certified"} for row in given["releases"]]
        return rows, given["voids"]

    return bool(plain(one) == plain(other))
