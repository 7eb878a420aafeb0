"""Read the claims of a certificate document, and check that the document agrees with itself."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wane import arguments
from wane.describe import NoisyDescent
from wane.describe.description import Description
from wane.describe.fields import FACTS_OF_ONE_RUN, description_from_fields, description_to_fields
from wane.errors import InvalidDescription

FORMAT, VERSION = "wane-certificate", 1
SEAL = "document_sha256"
"""Covers all else that is written, words included; whoever changes a number can make a new one."""
AGREEMENT = 1e-9
"""How nearly a certificate that was asked for at an epsilon finds that epsilon again."""
ADDED = (
    "title",
    "rows_per_person",
    "released_as",
    "rounding",
    "earlier_releases",
    "files",
    "advantage",
)
"""Fields that documents of wane 0.1 do not have."""
ALL_SEEN = "all iterates seen"
"""Stands for the theorems of a run whose iterates are all released."""


class Quantity(Enum):
    """The quantities that a claimed number can bound."""

    EPSILON = "epsilon"
    MU = "mu"
    ZCDP = "zcdp"
    POWER = "true-positive rate"


@dataclass(frozen=True)
class Claim:
    """One number of a certificate.

    Attributes:
        where: its place in the document.
        quantity: what it bounds.
        value: the number; infinite if nothing is claimed.
        at: the delta of an epsilon, the false positive rate of a power; 0 otherwise.
        theorem: the theorem that is said to prove it; None where any may.
        part: which of several releases it speaks of; None for all of them.
    """

    where: str
    quantity: Quantity
    value: float
    at: float = 0.0
    theorem: str | None = None
    part: int | None = None


@dataclass(frozen=True)
class Side:
    """A release that is no run: Gaussian but for rare failures, as the document states it.

    Attributes:
        mu: its Gaussian parameter.
        failure: the probability that nothing is promised.
        hashed: what the fingerprint covers of it.
    """

    mu: float
    failure: float
    hashed: dict[str, Any]


Described = NoisyDescent | Description
Part = Described | Side


def described_run(document: Mapping[str, Any]) -> Described:
    """Return the run that a document describes."""
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise InvalidDescription(
            f'the file must be a "{FORMAT}" document of version {VERSION}, got '
            f"{document.get('format')!r:.60} of version {document.get('version')!r:.20}."
        )
    return description_from_fields(document.get("description"))


def has_none_added(document: Mapping[str, Any]) -> bool:
    """Return whether the document has the form of wane 0.1, whichever version it names."""
    return not any(name in document for name in ADDED)


def outdated(document: Mapping[str, Any]) -> str:
    """Return why no number of a document can be computed again; empty if all can.

    Version 0.1.0 let an objective declare facts that are true of one run only, and searches kept
    them for other runs.  It also defined the constants of the losses otherwise: what it proved of
    its gradient bound and smoothness may be false of ours.
    """
    described = [document.get("description"), *(r.get("description") for r in document["releases"])]
    for run in described:
        inside = run.get("objective") if isinstance(run, Mapping) else None
        for name in FACTS_OF_ONE_RUN:
            if isinstance(inside, Mapping) and name in inside:
                return (
                    f"objective.{name} is a fact of one run that this document does not name, so "
                    f"nothing is proven; certify the run again, with {name} beside it if it is "
                    "true of the laws before the prox"
                )
    versions = document.get("versions")
    named = str(versions.get("wane")) if isinstance(versions, Mapping) else ""
    if named.startswith("0.1.") or has_none_added(document):
        return (
            "written by wane 0.1, which left out of gradient_bound what all losses share and took "
            "smoothness for an upper end of curvature, so nothing is proven; certify the "
            "description again, with the constants as they are defined now"
        )
    return ""


def facts_of(document: Mapping[str, Any], run: Described) -> dict[str, float]:
    """Return the facts that the document states of this very run, by their kind."""
    mine = fingerprint(description_to_fields(run))
    rows = document.get("facts", [])
    return {str(row["kind"]): number(row["value"]) for row in rows if row["about"] == mine}


def _stray_facts(document: Mapping[str, Any], run: Described) -> list[str]:
    """Return facts that were stated of a run that the document lacks, or stated twice."""
    rows = document.get("facts", [])
    described = [
        description_to_fields(run),
        *(row.get("description") for row in document["releases"]),
    ]
    hashes = {fingerprint(fields) for fields in described}
    problems = [f"{r['kind']} was stated for another run" for r in rows if r["about"] not in hashes]
    if len({(row["kind"], row["about"]) for row in rows}) < len(rows):
        problems.append("two facts of one kind are stated of one run")
    return problems


def contradictions(document: Mapping[str, Any], run: Described) -> list[str]:
    """Return where a document disagrees with itself or its fingerprint; empty if nowhere."""
    problems = _stray_facts(document, run)
    described = description_to_fields(run)
    rest = {name: value for name, value in document.items() if name != SEAL}
    if document.get(SEAL) != fingerprint(rest):
        problems.append(f"{SEAL} is not that of the document")
    if document["description"] != described:
        problems.append("the description is not in the form that certificates are written in")
    alone = len(document["releases"]) == 1
    if alone and document.get("configuration_sha256") != _fingerprint(document, [run]):
        problems.append("configuration_sha256 is not that of the description")
    if alone and document["releases"][0].get("description", described) != described:
        problems.append("the release is described in two ways")
    for name in ("adjacency", "release"):
        if document.get(name) != described[name]:
            problems.append(f"{name} is not that of the description")
    problems += _status(document)
    if is_void(document):
        return problems
    return problems + (_disagreements(document) if alone else _gaps(document))


def is_void(document: Mapping[str, Any]) -> bool:
    """Return whether the document takes its claims back, or says why there are none."""
    return document.get("status") == "void" or bool(document.get("void_because"))


def rows_per_person(document: Mapping[str, Any]) -> int:
    """Return how many records may change together; documents of wane 0.1 speak of one."""
    return arguments.whole("rows_per_person", document.get("rows_per_person", 1), least=1)


def _status(document: Mapping[str, Any]) -> list[str]:
    """Return where the status and the reasons for it disagree."""
    status, because = document.get("status"), document.get("void_because")
    problems = []
    if status not in ("certified", "void"):
        problems.append(f"status must be certified or void, got {status!r:.60}")
    if (status == "void") != bool(because):
        problems.append("status and void_because disagree")
    if status != "void" and document["noise"]["source"] == "seed":
        problems.append("the noise came from a seed, and the status is not void")
    return problems


def described_parts(document: Mapping[str, Any], run: Described) -> list[Part] | None:
    """Return the runs and side releases of a document; None if the fingerprint disagrees.

    A run may carry its own description; one that carries none is taken to be the described run
    again, which the fingerprint of all of them then confirms or not.
    """
    if len(document["releases"]) == 1:
        return [run]
    parts = [_part(row, document) for row in document["releases"]]
    readable = [part for part in parts if part is not None]
    runs = [part for part in readable if not isinstance(part, Side)]
    if (
        len(readable) < len(parts)
        or not runs
        or description_to_fields(runs[-1]) != description_to_fields(run)
    ):
        return None
    same = document.get("configuration_sha256") == _fingerprint(document, readable)
    return readable if same and len({r.adjacency for r in runs}) == 1 else None


def _part(row: Mapping[str, Any], document: Mapping[str, Any]) -> Part | None:
    """Return one release; None if it is no run and its guarantee is not stated."""
    if "guarantee" not in row:
        return description_from_fields(row.get("description", document["description"]))
    level = row["guarantee"]
    if level is None:
        return None
    named = {"name": row["what"], "source": row["source"], "adjacency": document["adjacency"]}
    mu, failure = number(level["mu"]), _probability(level["failure"])
    return Side(mu, failure, named | {"guarantee": level})


def _fingerprint(document: Mapping[str, Any], parts: Sequence[Part]) -> str:
    """Return the fingerprint of all parts, and of the facts and the sampler if there are any."""
    described = [
        part.hashed if isinstance(part, Side) else description_to_fields(part) for part in parts
    ]
    sampler, rows = document.get("sampler"), rows_per_person(document)
    if "facts" in document:
        described.append({"facts": document["facts"]})
    if sampler is not None:
        described.append({"sampler": sampler})
    if rows != 1:
        described.append({"rows_per_person": rows})
    return fingerprint(described)


def fingerprint(value: Any) -> str:
    """Return the SHA-256 of descriptions, or of a whole document, in canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _gaps(document: Mapping[str, Any]) -> list[str]:
    """Return the fields that a document of several releases, or of none, must fill and does not."""
    return [f"{name} is empty" for name in ("releases", "verdicts", "curve") if not document[name]]


def _disagreements(document: Mapping[str, Any]) -> list[str]:
    """Return where the four places that state epsilon at the headline's delta differ."""
    delta, theorem = document["delta"], document["theorem"]
    rows = [row for row in document["verdicts"] if row["theorem"] == theorem]
    places = {
        "the curve": [p["epsilon"] for p in document["curve"] if p["delta"] == delta],
        "the releases": [row["epsilon"] for row in document["releases"]],
        f"the verdict of {theorem}": [row["epsilon"] for row in rows if row["applies"]],
    }
    problems, stated = [], number(document["epsilon"])
    epsilons = {number(value) for values in places.values() for value in values}
    if len(epsilons) > 1:
        problems.append("the curve, the releases and the verdicts give different epsilons")
    if any(stated < value * (1.0 - AGREEMENT) for value in epsilons):
        problems.append("epsilon is below what the curve, the releases or the verdicts say")
    below = document["lower_bound_epsilon"]
    if below is not None and number(below) > stated:
        problems.append("lower_bound_epsilon is above epsilon")
    if 0.0 < delta < 1.0 and not places["the curve"]:
        problems.append("the curve has no point at delta")
    if not document["verdicts"]:
        problems.append("verdicts is empty")
    if not places[f"the verdict of {theorem}"]:
        problems.append(f"no verdict says that {theorem} applies")
    mus = {row["mu"] for row in rows}
    if mus and mus != {document["mu"]}:
        problems.append("mu is not that of the theorem's verdict")
    return problems


def claims_of(document: Mapping[str, Any]) -> list[Claim]:
    """Return every number that bounds a leak from above."""
    delta, theorem = _probability(document["delta"]), str(document["theorem"])
    claims = [Claim("epsilon", Quantity.EPSILON, number(document["epsilon"]), delta)]
    if document["mu"] is not None:
        claims.append(Claim("mu", Quantity.MU, number(document["mu"]), theorem=theorem))
    if document["zcdp"] is not None:
        claims.append(Claim("zcdp", Quantity.ZCDP, number(document["zcdp"]), theorem=theorem))
    if document["composition_epsilon"] is not None:
        value = number(document["composition_epsilon"])
        claims.append(Claim("composition_epsilon", Quantity.EPSILON, value, delta, ALL_SEEN))
    for point in document["curve"]:
        at = _probability(point["delta"])
        claims.append(Claim(f"curve[{at:g}]", Quantity.EPSILON, number(point["epsilon"]), at))
    for name in ("attack", "roc"):
        for row in document[name]:
            at, power = _probability(row["false_positive_rate"]), row["true_positive_rate"]
            claims.append(Claim(f"{name}[{at:g}]", Quantity.POWER, number(power), at, theorem))
    if "advantage" in document:  # the largest advantage of an attack is delta at epsilon 0
        at = _probability(document["advantage"])
        claims.append(Claim("advantage", Quantity.EPSILON, 0.0, at))
    for i, row in enumerate(document["releases"]):
        value = number(row["epsilon"])
        claims.append(Claim(f"releases[{i}]", Quantity.EPSILON, value, delta, part=i))
    for row in document["verdicts"]:
        claims += _verdict(row, delta)
    return claims


def applying_theorems(document: Mapping[str, Any]) -> list[str]:
    """Return the theorems of which the document says that they apply."""
    return [str(row["theorem"]) for row in document["verdicts"] if row["applies"]]


def _verdict(row: Mapping[str, Any], delta: float) -> Iterator[Claim]:
    name = str(row["theorem"])
    if row["epsilon"] is not None:
        value = number(row["epsilon"])
        yield Claim(f"verdict {name}", Quantity.EPSILON, value, delta, name)
    if row["mu"] is not None:
        yield Claim(f"verdict {name} mu", Quantity.MU, number(row["mu"]), theorem=name)


def number(value: Any) -> float:
    """Return a number of the document, infinity being written as a word."""
    if value == "infinity":
        return math.inf
    parsed = arguments.real("every number of the document", value)
    if parsed < 0.0:
        raise InvalidDescription(f"the document must hold no negative bound, got {value!r:.60}.")
    return parsed


def _probability(value: Any) -> float:
    parsed = number(value)
    if parsed > 1.0:
        raise InvalidDescription(f"a probability must be at most 1, got {value!r:.60}.")
    return parsed
