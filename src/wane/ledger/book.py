"""Spend before you release: an account per data set, its budget, and the total so far.

A release is written down before its noise is drawn and confirmed after it is out.  A process that
dies in between has spent: its row stays, without a confirmation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wane.certify import Certificate, JointCertificate, SideRelease
from wane.describe import Adjacency, check
from wane.errors import InvalidDescription, WaneError
from wane.learn.releases import certificate_from_fields, certificate_to_fields
from wane.learn.void import VoidCertificate, parts_of
from wane.ledger.storage import Rows
from wane.numerics.display import round_up_to

Certified = Certificate | JointCertificate | VoidCertificate


class BudgetExceeded(WaneError):
    """The release would take the data set beyond its budget; nothing was spent."""


@dataclass(frozen=True)
class Budget:
    """How much may be spent on one data set, all releases together."""

    epsilon: float
    delta: float
    adjacency: Adjacency

    def __post_init__(self) -> None:
        check.real("epsilon", self.epsilon, above=0.0)
        check.real("delta", self.delta, above=0.0, most=1.0)
        check.kind("adjacency", self.adjacency, (Adjacency,))


@dataclass(frozen=True)
class Entry:
    """One release: what it was, and whether it is known to have come out."""

    number: int
    dataset: str
    certificate: Certified
    spent_at: str
    confirmed: bool


class Ledger:
    """The accounts in one file; any number of processes may use it at once."""

    def __init__(self, path: str | Path) -> None:
        self._rows = Rows(path)

    @property
    def path(self) -> Path:
        """Where the ledger is kept."""
        return self._rows.path

    def account(self, dataset: str) -> Account:
        """Return the account of a data set; it need not have been used before."""
        if not isinstance(dataset, str) or not dataset.strip() or len(dataset) > 200:
            raise InvalidDescription(
                f"dataset must be a name of 1 to 200 characters, got {dataset!r:.60}."
            )
        return Account(self, dataset)

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all accounts, in order of first use."""
        with self._rows.locked() as connection:
            return tuple(dict.fromkeys(row[2] for row in self._rows.read(connection)))


@dataclass(frozen=True)
class Account:
    """What was spent on one data set, and what may be."""

    ledger: Ledger
    dataset: str

    def set_budget(self, budget: Budget) -> None:
        """Fix the budget from now on; one below what is already spent is refused."""
        rows = self.ledger._rows
        with rows.locked() as connection:
            spent = self._spent(rows.read(connection))
            _refuse_beyond(spent, budget, self.dataset)
            fields = {
                "epsilon": budget.epsilon,
                "delta": budget.delta,
                "adjacency": budget.adjacency.value,
            }
            rows.append(connection, "budget", self.dataset, fields)

    @contextmanager
    def spend(self, certificate: Certified, *, run: str | None = None) -> Iterator[int]:
        """Write a release down, let it happen, and confirm it.

        Whatever goes wrong inside, the release counts as spent: noise may have been drawn.  A `run`
        with a name, which whoever takes it up again must know, is written down once; it must then
        have the same certificate and draw the same noise, and is refused once it is confirmed.
        """
        if isinstance(certificate, VoidCertificate):
            raise InvalidDescription(
                "certificate must claim something to be entered, got a void one: "
                + " ".join(certificate.reasons)
            )
        rows = self.ledger._rows
        with rows.locked() as connection:
            found = rows.read(connection)
            content: dict[str, Any] = {"certificate": certificate_to_fields(certificate)}
            number = None if run is None else self._taken_up(found, content, run)
            if number is None:
                budget = self._budget(found)
                if budget is not None:
                    together = (*self._spent(found), *parts_of(certificate))
                    _refuse_beyond(together, budget, self.dataset)
                content |= {"at": _now()} | ({} if run is None else {"run": run})
                number = rows.append(connection, "release", self.dataset, content)
        yield number
        with rows.locked() as connection:
            if run is not None:  # another process may have ended it meanwhile
                self._taken_up(rows.read(connection), content, run)
            rows.append(connection, "confirmation", self.dataset, {"release": number})

    @property
    def budget(self) -> Budget | None:
        """The budget in force, or None."""
        with self.ledger._rows.locked() as connection:
            return self._budget(self.ledger._rows.read(connection))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every release, in order."""
        with self.ledger._rows.locked() as connection:
            found = self.ledger._rows.read(connection)
        confirmed = {row[3]["release"] for row in found if row[1] == "confirmation"}
        return tuple(
            Entry(
                number,
                dataset,
                certificate_from_fields(content["certificate"]),
                content["at"],
                number in confirmed,
            )
            for number, kind, dataset, content in found
            if kind == "release" and dataset == self.dataset
        )

    @property
    def total(self) -> JointCertificate | None:
        """All releases together, confirmed or not; None if there are none."""
        with self.ledger._rows.locked() as connection:
            parts = self._spent(self.ledger._rows.read(connection))
        return JointCertificate(parts) if parts else None

    def _taken_up(self, found: list[Any], content: dict[str, Any], run: str) -> int | None:
        """The row of a run with this name, which no release has confirmed; None if there is none.

        A confirmed one is refused: its row speaks of one release, and that is out.
        """
        rows = [row for row in found if row[1] == "release" and row[2] == self.dataset]
        mine = [row for row in rows if row[3].get("run") == run]
        if not mine:
            return None
        number: int = mine[0][0]
        if mine[0][3]["certificate"] != content["certificate"]:
            raise InvalidDescription(
                f"certificate must be that of release {number}, which the run began as, got "
                "another; begin a new run."
            )
        if any(row[1] == "confirmation" and row[3]["release"] == number for row in found):
            raise InvalidDescription(
                f"run must not have been released before, got that of release {number}, which is "
                "confirmed; delete its checkpoint to begin a new run."
            )
        return number

    def _spent(self, found: list[Any]) -> tuple[Certificate | SideRelease, ...]:
        return tuple(
            part
            for _, kind, dataset, content in found
            if kind == "release" and dataset == self.dataset
            for part in parts_of(certificate_from_fields(content["certificate"]))
        )

    def _budget(self, found: list[Any]) -> Budget | None:
        mine = [row[3] for row in found if row[1] == "budget" and row[2] == self.dataset]
        if not mine:
            return None
        last = mine[-1]
        return Budget(last["epsilon"], last["delta"], Adjacency(last["adjacency"]))


def _refuse_beyond(
    parts: tuple[Certificate | SideRelease, ...], budget: Budget, dataset: str
) -> None:
    if not parts:
        return
    joint = JointCertificate(parts)
    if joint.adjacency is not budget.adjacency:
        raise InvalidDescription(
            f"adjacency must be the budget's, {budget.adjacency.value}, "
            f"got {joint.adjacency.value}; certify the release under it."
        )
    epsilon = joint.epsilon(budget.delta)
    if not epsilon <= budget.epsilon:
        raise BudgetExceeded(
            f"dataset {dataset!r} has a budget of epsilon {budget.epsilon:g} at delta "
            f"{budget.delta:g}; with this it would be {round_up_to(epsilon)}. Nothing was spent."
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
