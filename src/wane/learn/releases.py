"""Certificates as plain data: the releases they speak of, certified anew when read back."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from wane.certify import Certificate, JointCertificate, SideRelease, certify
from wane.describe import Adjacency
from wane.describe.fields import run_from_fields, run_to_fields
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, Guarantee, WithFailure
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
        *,
        run: str | None = None,
    ) -> AbstractContextManager[object]:
        """Enter the release, or refuse it; leaving the context confirms it.

        A run with a name is entered once, however often it is taken up again.
        """
        ...


def entered(
    account: Account | None,
    certificate: Certificate | JointCertificate | VoidCertificate,
    *,
    run: str | None = None,
) -> AbstractContextManager[object]:
    """Return the context in which a release may happen; `run` names one that may be taken up."""
    if account is None:
        return nullcontext()
    return account.spend(certificate) if run is None else account.spend(certificate, run=run)


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
        return {"run": run_to_fields(part.run)}
    return {
        "name": part.name,
        "guarantee": _guarantee_out(part.guarantee),
        "source": part.source,
        "adjacency": part.adjacency.value,
    }


def _release_in(part: dict[str, Any]) -> Certificate | SideRelease:
    if "run" in part:
        return certify(run_from_fields(part["run"]))
    guarantee = _guarantee_in(part["guarantee"])
    return SideRelease(part["name"], guarantee, part["source"], Adjacency(part["adjacency"]))


def _guarantee_out(guarantee: Guarantee) -> dict[str, Any]:
    if isinstance(guarantee, GaussianDP):
        return {"mu": guarantee.mu}
    if isinstance(guarantee, WithFailure):
        return {"inner": _guarantee_out(guarantee.inner), "probability": guarantee.probability}
    raise InvalidDescription(
        f"guarantee must be Gaussian, perhaps with a failure, to be saved, got {guarantee!r:.60}."
    )


def _guarantee_in(given: dict[str, Any]) -> Guarantee:
    if "mu" in given:
        return GaussianDP(given["mu"])
    return WithFailure(_guarantee_in(given["inner"]), given["probability"])
