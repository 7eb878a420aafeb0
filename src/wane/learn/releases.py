"""How a fit keeps and enters its certificate: pickled as its releases, spent before it runs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from wane.certificates import Certificate, certificate_from_fields, certificate_to_fields
from wane.learn.presented import PresentedEstimator


class Certified(PresentedEstimator):
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
        certificate: Certificate,
        **more: Any,
    ) -> AbstractContextManager[object]:
        """Enter the release, or refuse it; leaving the context confirms it.

        A `run` with a name is entered once, however often it is taken up again.
        """
        ...


def entered(
    account: Account | None,
    certificate: Certificate,
    **more: Any,
) -> AbstractContextManager[object]:
    """Return the context in which a release may happen; `more` is for `Account.spend`."""
    return nullcontext() if account is None else account.spend(certificate, **more)
