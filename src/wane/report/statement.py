"""A privacy statement and a registry entry, rendered from a certificate document.

The statement answers what section 5.3 of "How to DP-fy ML" (Ponomareva et al., 2023) and the
pyramid of NIST SP 800-226 ask for.  The entry has the fields of the Differential Privacy
Deployments Registry (its schema of July 2026).  What only the deployer knows is left as a marked
blank; no number is computed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from wane.errors import InvalidDescription
from wane.report.text import (
    CERTIFICATE,
    earlier_words,
    heading,
    is_descent,
    markdown,
    released_words,
    shown,
    shown_down,
    visible,
)

BLANK = "TO BE FILLED IN"
"""How every blank begins, so that a search finds them all."""

_STATEMENT = """\
# Privacy statement{calculation}

{claim}

## 1. Setting

- Model of privacy: central. One party holds the records, runs the algorithm and adds the noise;
  everybody else sees the release only.
{holder}- Trusted with the records: {blank}: who runs it, and who can reach the records and the
  machine.

## 2. What is protected

- Data accesses covered: the releases listed here, and no other use of the records.
{releases}
- Choosing the settings: {tuning}
- Earlier releases on the same records: {earlier}
- Output of the mechanism: {released}
- Unit of privacy: {unit}. {persons}
- Neighbouring data sets ({adjacency}): {adjacency_meaning}
- What must stay secret, or the statement is void:
{secret}

## 3. Accounting

- Theorem: `{theorem}`, {citation}. {conclusion}
- Formal statement: {formal}
{numbers}{known}
- Assumptions, and what each rests on:

| assumption | holds because | basis |
|---|---|---|
{assumptions}

- Constants:

| constant | value | where it comes from |
|---|---|---|
{constants}

## 4. Transparency

- Computed by wane {version} ({libraries}), which is open source.
- SHA-256 of the configuration, which depends on no record: `{configuration}`.
- `wane certify description.json` computes the numbers again from the description.
{context}

## 5. Around the number

The parts that NIST SP 800-226 asks to look at, from the top of its pyramid down.

| part | answer |
|---|---|
{pyramid}
"""


def privacy_statement(document: dict[str, Any]) -> str:
    """Return the statement as Markdown, from what `certificate_document` made."""
    try:
        return _STATEMENT.format(**_words(document))
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError):
        raise _damaged() from None


def registry_entry(document: dict[str, Any]) -> dict[str, Any]:
    """Return a draft for the Deployments Registry, as data to be written as YAML or JSON.

    A certificate that claims nothing makes no entry.
    """
    if document.get("status") != "certified" or isinstance(document.get("epsilon"), str):
        raise InvalidDescription(
            "certificate must claim a finite epsilon to be registered, got a void one."
        )
    try:
        deployment = _deployment(document)
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError):
        raise _damaged() from None
    return {
        "url_slug": _blank("a short name"),
        "status": "Draft",
        "tier": 3,
        "deployment": deployment,
    }


def _damaged() -> InvalidDescription:
    return InvalidDescription(
        "certificate must be a document of this version of wane, got a damaged or older one; "
        "make it again with wane certify --json."
    )


def _blank(what: str) -> str:
    return f"{BLANK}: {what}"


def _words(document: dict[str, Any]) -> dict[str, str]:
    versions = dict(document["versions"])
    return {
        "blank": BLANK,
        "calculation": ""
        if heading(document) == CERTIFICATE
        else ": a calculation, nothing was run",
        "earlier": markdown(earlier_words(document)),
        "released": markdown(released_words(document)),
        "tuning": markdown(document["tuning"]),
        "persons": _persons(document),
        "claim": _claim(document),
        "releases": _listed((_release(part) for part in document["releases"]), indent="  "),
        "secret": _listed(document["secret"], indent="  "),
        "conclusion": document["statement"]["conclusion"],
        "formal": _formal(document),
        "numbers": _numbers(document),
        "known": _known(document),
        "holder": _holder(document.get("particulars", {})),
        "assumptions": _table(
            (h["statement"], h["because"], document["bases"][h["basis"]])
            for h in _best(document)["hypotheses"]
        ),
        "constants": _table((c["name"], c["value"], c["origin"]) for c in document["constants"]),
        "version": versions.pop("wane"),
        "libraries": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "configuration": document["configuration_sha256"],
        "context": _listed(
            f"{markdown(name)}: {markdown(text)}" for name, text in document["context"].items()
        ),
        "pyramid": _table(_pyramid(document)),
        **{
            name: document[name]
            for name in (
                "adjacency",
                "adjacency_meaning",
                "citation",
                "theorem",
                "unit",
            )
        },
    }


def _holder(said: dict[str, str]) -> str:
    """Who holds which records, as far as the certificate was told."""
    named = {"dataset": "Data set", "organisation": "Organisation", "responsible": "Responsible"}
    return "".join(
        f"- {w}: {markdown(said[name])}\n" for name, w in named.items() if said.get(name)
    )


def _persons(document: dict[str, Any]) -> str:
    """How many rows a person may have, or that nobody said it."""
    rows = document.get("rows_per_person", 1)
    if rows > 1:
        return f"Nobody may have more than {rows} rows; this was declared, not checked."
    most = _blank("the largest number of records of one person")
    return f"If one person may have several records, each of them counts: {most}."


def _pyramid(document: dict[str, Any]) -> list[tuple[str, str]]:
    correct = f"theorem `{document['theorem']}`; {document['numerics']}"
    observed = _blank("whether running times or resources can be observed")
    return [
        ("epsilon", f"{shown(document['epsilon'])} at delta = {shown(document['delta'])}"),
        ("unit of privacy", document["unit"]),
        ("algorithms and correctness", correct),
        ("utility and bias", _blank("for whom the release was checked, on data that may be shown")),
        ("side channels", f"{document['noise']['meaning']} {observed}"),
        (
            "security and access control",
            _blank("where the records, the secrets above and the logs are, and who can read them"),
        ),
        ("trust model", "central, as in section 1"),
        (
            "exposure in data collection",
            _blank("how the records were collected, and how long they are kept"),
        ),
    ]


def _claim(document: dict[str, Any]) -> str:
    if document["status"] != "certified":
        return "**Void: no privacy is claimed.** " + " ".join(
            map(markdown, document["void_because"])
        )
    return (
        f"**The release is ({shown(document['epsilon'])}, {shown(document['delta'])})-"
        f"differentially private for {document['unit'].partition(':')[0]}, "
        f"{document['adjacency']} adjacency, as long as the assumptions below hold.**"
    )


def _formal(document: dict[str, Any]) -> str:
    if document["status"] != "certified":
        return "none."
    return (
        "for all neighbouring data sets S, S' and all events E, Pr[release(S) in E] <= "
        f"exp({shown(document['epsilon'])}) Pr[release(S') in E] + {shown(document['delta'])}."
    )


def _numbers(document: dict[str, Any]) -> str:
    """Other ways to say it, where they are claimed."""
    lines = []
    if document["mu"] is not None:
        lines.append(
            f"Gaussian DP: mu = {shown(document['mu'])}; zero-concentrated DP: "
            f"rho = {shown(document['zcdp'])}."
        )
    if document["status"] == "certified":
        lines += [
            f"At a false-positive rate of {row['false_positive_rate']:g} no test for one record "
            f"has a true-positive rate above {shown(row['true_positive_rate'])}."
            for row in document["attack"]
        ]
    return _listed(lines)


def _release(part: dict[str, Any]) -> str:
    return (
        f"{markdown(part['what'])} epsilon = {shown(part['epsilon'])} alone, by {part['source']}."
    )


def _best(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        v for v in document["verdicts"] if v["theorem"] == document["theorem"]
    )
    return found


def _listed(items: Iterable[str], *, indent: str = "") -> str:
    return "\n".join(f"{indent}- {item}" for item in items)


def _table(rows: Iterable[tuple[Any, ...]]) -> str:
    return "\n".join(f"| {' | '.join(_cell(value) for value in row)} |" for row in rows)


def _cell(value: Any) -> str:
    text = f"{value:.10g}" if isinstance(value, float) else visible(value)
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")


def _deployment(document: dict[str, Any]) -> dict[str, Any]:
    """The entry's sections, in the order of the registry's template."""
    said = document.get("particulars", {})
    return {
        "basic": {
            "name": said.get("product") or _blank("the name of the data product"),
            "data_curators": [said.get("organisation") or _blank("who publishes it")],
            "intended_use": _blank("what it is for"),
            "data_product_type": _blank("Machine learning model, or Summary statistics"),
            "data_product_region": _blank("the region that the records describe"),
            "description": released_words(document),
            "publication_date": said.get("date") or _blank("YYYY-MM-DD"),
            "data_product_sector": _blank("one of the registry's sectors"),
        },
        "dp_variant": {
            "variant_name": "Approximate DP",
            "data_domain": _blank("all tables of records that could have been used"),
            "unprotected_quantities": (
                f"{_public(document)} "
                + _blank("other numbers published about the records, if any")
            ),
        },
        "privacy_loss": _privacy_loss(document),
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": "",
            "actors": _blank("who runs it, who sees the release, and why they are trusted"),
            "release_type": "One release",
            "release_type_details": _blank("planned further uses of the same records"),
            "data_source_type": "Static",
            "data_source_type_details": "",
            "access_type": "Non-interactive",
            "access_type_details": "",
        },
        "accounting": {
            "post_processing": _blank("what is done to the release afterwards, if anything"),
            "composition": _composition(document),
        },
        "implementation": _implementation(document),
        "administrative": {
            "sources": _blank("papers, posts, and the data product itself"),
            "notes": f"SHA-256 of the configuration: {document['configuration_sha256']}",
            "registry_authors": [_blank("who fills in this entry")],
        },
    }


def _privacy_loss(document: dict[str, Any]) -> dict[str, Any]:
    details = " ".join(line.removeprefix("- ") for line in _numbers(document).splitlines())
    return {
        "privacy_unit": document["unit"],
        "privacy_unit_details": f"{document['adjacency_meaning']} ({document['adjacency']})",
        "privacy_parameters": {"epsilon": document["epsilon"], "delta": document["delta"]},
        "privacy_parameters_details": details,
    }


def _composition(document: dict[str, Any]) -> str:
    parts = " ".join(_release(part) for part in document["releases"])
    return (
        f"{parts} Theorem {document['theorem']} ({document['citation']}) bounds the release as a "
        f"whole{_iterates(document, '; with every iterate released')}."
    )


def _iterates(document: dict[str, Any], condition: str, end: str = "") -> str:
    """What composition would give; nothing of a mechanism, which has no iterates."""
    if not is_descent(document):
        return ""
    epsilon = shown(document["composition_epsilon"])
    return f"{condition}, composition would give epsilon = {epsilon}{end}"


def _public(document: dict[str, Any]) -> str:
    """What the guarantee does not hide; the number of records only where it is the same."""
    if document["adjacency"] == "add-remove":
        return "Every setting of the run."
    return "The number of records, and every setting of the run."


def _mechanism(document: dict[str, Any]) -> str:
    if is_descent(document):
        return "Noisy gradient descent: Gaussian noise on sums of bounded gradients"
    return markdown(document["statement"]["conclusion"]).rstrip(".")


def _known(document: dict[str, Any]) -> str:
    """What publishing more would cost, and what is known to leak; nothing where neither is."""
    lower = document["lower_bound_epsilon"]
    said = [
        _iterates(document, "If every iterate were released", "."),
        ""
        if lower is None
        else f"An exact member of the described class has epsilon at least {shown_down(lower)}.",
    ]
    return "".join(f"\n- {sentence}" for sentence in said if sentence)


def _implementation(document: dict[str, Any]) -> dict[str, str]:
    security = _blank("security of the records, access control, and protection from timing")
    return {
        "preprocessing_and_hyperparameter_tuning": (
            f"{document['tuning']} " + _blank("preprocessing, and any look at the records before")
        ),
        "mechanisms": (
            f"{_mechanism(document)}, with wane "
            f"{document['versions']['wane']}. {document['noise']['meaning']} "
            f"{document['numerics']} {security}"
        ),
        "justification": _blank("why this epsilon, and why these settings"),
    }
