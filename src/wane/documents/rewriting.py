"""Rebuild the certificate and the circumstances that a document describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wane import arguments
from wane.certificates import (
    Certificate,
    Circumstances,
    EarlierReleases,
    ExactNoise,
    NoiseSource,
    Particulars,
    certificate_document,
    certify,
    stated_release,
    together,
)
from wane.describe import Adjacency, Fact, NoisyDescent
from wane.describe.fields import description_from_fields, is_mechanism
from wane.describe.samples import Sampler, SamplesOfDescent
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, Guarantee, WithFailure
from wane.verify.claims import described_run, is_void, rows_per_person


def rewritten(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document that wane writes of this description, in these circumstances.

    What only the holder of the data can know is taken from the document as it stands.
    """
    delta = arguments.real("delta", document["delta"], least=0.0, most=1.0)
    circumstances = circumstances_of(document)
    return certificate_document(certificate_of(document), delta=delta, circumstances=circumstances)


def certificate_of(document: Mapping[str, Any]) -> Certificate:
    """Return the certificate of what a document describes, computed again."""
    rows, releases = rows_per_person(document), document["releases"]
    run = described_run(document)
    if document.get("sampler") is not None:
        if len(releases) != 1:
            raise InvalidDescription("a document of samples must describe one release.")
        arguments.kind("description", run, (NoisyDescent,))
        assert isinstance(run, NoisyDescent)
        sampler = Sampler.from_fields(document["sampler"])
        return certify(SamplesOfDescent.of(run, sampler)).for_persons(rows)
    if len(releases) == 1 and "guarantee" not in releases[0]:
        return certify(run, facts=facts_of(document)).for_persons(rows)
    return together(_part(row, document, rows) for row in releases)


def _part(row: Mapping[str, Any], document: Mapping[str, Any], rows: int) -> Certificate:
    """Return the certificate of one of several releases: of a run, or of one only stated."""
    if "guarantee" not in row:
        described = row.get("description", document["description"])
        run = description_from_fields(described)
        return certify(run, facts=facts_of(document)).for_persons(rows)
    adjacency = arguments.member("adjacency", document["adjacency"], Adjacency)
    guarantee = _stated(row["guarantee"], is_void(document))
    stated = stated_release(str(row["what"]), guarantee, str(row["source"]), adjacency, rows)
    return certify(stated)


def facts_of(document: Mapping[str, Any]) -> list[Fact]:
    """Return the facts that a document states of its runs; each is believed of its own only."""
    return [Fact.from_fields(row) for row in document.get("facts", ())]


def _stated(level: Mapping[str, Any] | None, void: bool) -> Guarantee:
    if level is None:
        if void:  # taken back, so that any will do
            return GaussianDP(0.0)
        raise InvalidDescription("a release that is no run must state its Gaussian level.")
    mu = arguments.real("guarantee.mu", level["mu"], least=0.0)
    failure = arguments.real("guarantee.failure", level["failure"], least=0.0, most=1.0)
    return WithFailure(GaussianDP(mu), failure) if failure else GaussianDP(mu)


def circumstances_of(document: Mapping[str, Any]) -> Circumstances:
    """Return the circumstances as the document states them; those it lacks are unknown."""
    exact = document.get("rounding", {}).get("exact_noise")
    return Circumstances(
        noise=arguments.member("noise.source", document["noise"]["source"], NoiseSource),
        released=document.get("released_as", ""),
        origin=_origin(document),
        declared=document["bases"]["declared"],
        tuning=document["tuning"],
        voids=tuple(document["void_because"]),
        context=tuple(document["context"].items()),
        grid=arguments.real(
            "rounding.grid", document.get("rounding", {}).get("grid", 0.0), least=0.0
        ),
        exact=None if exact is None else _exact(exact),
        earlier=_earlier(document.get("earlier_releases", {})),
        files=tuple(document.get("files", {}).items()),
        particulars=Particulars(**document.get("particulars", {})),
    )


def _origin(document: Mapping[str, Any]) -> str:
    """Return where the constants of the losses come from; every constant has the same origin."""
    if is_mechanism(document["description"]):
        return str(document["constants"][0]["origin"])
    for row in document["constants"]:
        if row["name"] == "objective.form":
            return str(row["origin"])
    raise InvalidDescription("constants must hold objective.form, got none.")


def _exact(given: Mapping[str, Any]) -> ExactNoise:
    epsilon = given["epsilon"]
    return ExactNoise(
        arguments.real("rounding.exact_noise.std", given["std"], above=0.0),
        arguments.real("rounding.exact_noise.delta", given["delta"], least=0.0, most=1.0),
        None if epsilon is None else str(epsilon),
    )


def _earlier(given: Mapping[str, Any]) -> EarlierReleases | None:
    if given.get("source") != "ledger":
        return None
    finite = given["epsilon"] != "infinity"
    return EarlierReleases(
        dataset=str(given["dataset"]),
        releases=arguments.whole("earlier_releases.releases", given["releases"], least=1),
        epsilon=arguments.real("earlier_releases.epsilon", given["epsilon"], least=0.0)
        if finite
        else float("inf"),
        delta=arguments.real("earlier_releases.delta", given["delta"], least=0.0, most=1.0),
        head=str(given["head"]),
    )
