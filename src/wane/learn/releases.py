"""Certificates as plain data: the releases they speak of, certified anew when read back."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from wane.certificates import Certificate, JointCertificate, SideRelease, certify
from wane.describe import Adjacency, Fact, check
from wane.describe.facts import without_facts
from wane.describe.fields import run_from_fields, run_to_fields
from wane.guarantees.fields import guarantee_from_fields, guarantee_to_fields
from wane.learn.void import VoidCertificate, joined, parts_of


class Certified:
    """Pickles its certificate as the releases it speaks of; they are certified again when read."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if "certificate_" in state:
            state = state | {"certificate_": certificate_to_fields(state["certificate_"])}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "certificate_" in state:
            state = state | {"certificate_": certificate_from_fields(state["certificate_"])}
        super().__setstate__(state)  # type: ignore[misc]


class Account(Protocol):
    """Where releases are entered before their noise is drawn, as an account of a ledger does."""

    def spend(
        self,
        certificate: Certificate | JointCertificate | VoidCertificate,
        **more: Any,
    ) -> AbstractContextManager[object]:
        """Enter the release, or refuse it; leaving the context confirms it.

        A `run` with a name is entered once, however often it is taken up again; a `sampler` says
        what was sampled.
        """
        ...


def entered(
    account: Account | None,
    certificate: Certificate | JointCertificate | VoidCertificate,
    **more: Any,
) -> AbstractContextManager[object]:
    """Return the context in which a release may happen; `more` is for `Account.spend`."""
    return nullcontext() if account is None else account.spend(certificate, **more)


def certificate_to_fields(
    certificate: Certificate | JointCertificate | VoidCertificate,
) -> dict[str, Any]:
    """Return the releases and what voids them; no number that would have to be believed."""
    voids = certificate.reasons if isinstance(certificate, VoidCertificate) else ()
    return {
        "releases": [_release_out(part) for part in parts_of(certificate)],
        "voids": list(voids),
    }


def certificate_from_fields(
    given: dict[str, Any],
) -> Certificate | JointCertificate | VoidCertificate:
    """Return the certificate of these releases, computed again."""
    return joined(tuple(_release_in(part) for part in given["releases"]), tuple(given["voids"]))


def _release_out(part: Certificate | SideRelease) -> dict[str, Any]:
    if isinstance(part, Certificate):
        facts = [fact.to_fields() for fact in part.facts]
        made = {"run": run_to_fields(part.run)} | ({"facts": facts} if facts else {})
        return made | _persons_out(part.rows_per_person)
    return _persons_out(part.rows_per_person) | {
        "name": part.name,
        "guarantee": guarantee_to_fields(part.guarantee),
        "source": part.source,
        "adjacency": part.adjacency.value,
    }


def _release_in(part: dict[str, Any]) -> Certificate | SideRelease:
    rows = check.whole("rows_per_person", part.get("rows_per_person", 1), least=1)
    if "run" in part:
        facts = [Fact.from_fields(fact) for fact in part.get("facts", ())]
        made = certify(run_from_fields(without_facts(part["run"])), facts=facts)
        return made.for_persons(rows)
    guarantee = guarantee_from_fields(part["guarantee"])
    adjacency = check.member("adjacency", part["adjacency"], Adjacency)
    return SideRelease(str(part["name"]), guarantee, str(part["source"]), adjacency, rows)


def _persons_out(rows_per_person: int) -> dict[str, int]:
    return {} if rows_per_person == 1 else {"rows_per_person": rows_per_person}
