"""The model card: the certificate in short, for those who will use the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wane.report.text import earlier_words, markdown, released_words, shown

_CARD = """\
# Model card: {words}, fitted with differential privacy

## What was released

{released}

## Privacy

- {claim}
- Unit: {unit}. {adjacency_meaning}
- Noise: {noise}
- Tuning: {tuning}
- Earlier releases: {earlier}
- The whole statement is in `certificate.html` and `certificate.json`; `wane certify
  description.json` computes it again.

## What must stay secret

{secret}

## Intended use

- To predict the target for rows described by the same schema (`wane predict`).
- To be published: the files of this folder are the release, and using them costs nothing more.
- Not for conclusions about single people, nor for tables with other columns or meanings. Noise was
  added, so single coefficients are uncertain.
- Its accuracy on the private rows is not stated here: that would be another release.

## Configuration

{facts}
"""


def model_card(document: dict[str, Any], words: str) -> str:
    """Return the model card as Markdown; it repeats the certificate, and adds no number."""
    facts = {
        **document["context"],
        "SHA-256 of the configuration": document["configuration_sha256"],
        "version of wane": document["versions"]["wane"],
    }
    return _CARD.format(
        words=words,
        released=markdown(released_words(document)),
        earlier=markdown(earlier_words(document)),
        claim=_claim(document),
        unit=document["unit"],
        adjacency_meaning=document["adjacency_meaning"],
        noise=document["noise"]["meaning"],
        tuning=markdown(document["tuning"]),
        secret=_listed(document["secret"]),
        facts=_listed(f"{markdown(name)}: {markdown(text)}" for name, text in facts.items()),
    )


def _claim(document: dict[str, Any]) -> str:
    if document["status"] == "void":
        return (
            "**Void: no privacy is claimed.** "
            + "; ".join(map(markdown, document["void_because"]))
            + "."
        )
    return (
        f"epsilon = {shown(document['epsilon'])} at delta = {shown(document['delta'])}, "
        f"{document['adjacency']} adjacency, theorem `{document['theorem']}`"
    )


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
