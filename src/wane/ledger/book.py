"""Accounts of data sets with a budget; a release is written down before it is made.

A release is written down before its noise is drawn and confirmed after it is out.  A process that
dies in between has spent: its row stays, without a confirmation.  Nothing is certified while the
file is locked: the total is computed from what was read, and a row is added only if nobody added
another in the meantime.
"""

from __future__ import annotations

import difflib
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from wane.arguments import Checked, Positive
from wane.certificates import Certificate, EarlierReleases, certify, stated_release, together
from wane.describe import Adjacency
from wane.describe.choices import adjacency_of
from wane.errors import InvalidDescription, WaneError
from wane.guarantees import Guarantee
from wane.ledger import stored
from wane.ledger.storage import LedgerFile, LedgerRow
from wane.report.text import round_up_to, unseen, visible

MOST_CHARACTERS = 200
"""Of a data set's name."""
TRIES = 4
"""So often a row is tried while others write; then the file is kept locked for the computation."""


class BudgetExceeded(WaneError):
    """The release would take the data set beyond its budget; nothing was spent."""


@dataclass(frozen=True)
class Budget(Checked):
    """How much may be spent on one data set, all releases together."""

    epsilon: Positive
    delta: Positive
    adjacency: Annotated[Adjacency, adjacency_of]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delta < 1.0:
            raise InvalidDescription(
                f"delta must be below 1, got {self.delta:g}; at delta 1 a budget limits nothing."
            )


@dataclass(frozen=True)
class Entry:
    """One release: what it was, and whether it is known to have come out."""

    number: int
    dataset: str
    content: dict[str, Any]
    confirmed: bool

    @property
    def spent_at(self) -> str:
        """When the release was written down."""
        return str(self.content["at"])

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the release, computed again."""
        return stored.certificate_in(self.content)


class Ledger:
    """The accounts in one file; any number of processes may use it at once.

    The file must exist, unless it is to be a `new` one: a name that was mistyped must not begin
    another ledger.
    """

    def __init__(self, path: str | Path, *, new: bool = False) -> None:
        self._rows = LedgerFile(path, new=new)

    @property
    def path(self) -> Path:
        """The path of the ledger's file."""
        return self._rows.path

    def account(self, dataset: str, *, new: bool = False) -> Account:
        """Return the account of a data set that the ledger knows, or begin a `new` one."""
        name = normal_name(dataset)
        names = self.datasets()
        match = next((one for one in names if same_name(one) == name), None)
        if new and match is None:
            with self._rows.locked() as connection:
                self._rows.append(connection, "dataset", name, {"at": _now()})
            return Account(self, name)
        if new:
            raise InvalidDescription(
                f"dataset {visible(name)!r} must not be in the ledger yet to be a new one; leave "
                "out --new."
            )
        if match is None:
            raise InvalidDescription(
                f"dataset must be one that the ledger knows, got {visible(name)!r}"
                f"{near_words(name, names)}; say --new, or `wane ledger add`, to begin an account."
            )
        return Account(self, match)

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all accounts, in order of first use."""
        return tuple(dict.fromkeys(row.dataset for row in self._read()))

    def knows(self, head: str) -> bool:
        """Return whether some row has this hash, as the document of a release names it."""
        return any(row.hash == head for row in self._read())

    def _read(self) -> list[LedgerRow]:
        with self._rows.reading() as connection:
            return self._rows.read(connection)


@dataclass(frozen=True)
class Account:
    """The releases and the budget of one data set."""

    ledger: Ledger
    dataset: str

    def set_budget(self, budget: Budget) -> None:
        """Set the budget from now on; refuse one below what is already spent."""
        fields = {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "adjacency": budget.adjacency.value,
        }

        def allowed(rows: list[LedgerRow]) -> None:
            _refuse_beyond(self._spent(rows), budget, self.dataset)

        self._append("budget", fields, allowed)

    @contextmanager
    def spend(
        self,
        certificate: Certificate | Guarantee,
        *,
        run: str | None = None,
        name: str | None = None,
        purpose: str | None = None,
        adjacency: Adjacency | None = None,
    ) -> Iterator[int]:
        """Write a release down, let it happen, and confirm it.

        Whatever goes wrong inside, the release counts as spent: noise may have been drawn.  A `run`
        with a name, which whoever takes it up again must know, is written down once; it must then
        have the same certificate and draw the same noise, and is refused once it is confirmed.
        A bare guarantee, as of a mechanism, is spent with a public `name`, a `purpose` and its
        `adjacency`.
        """
        if isinstance(certificate, Guarantee):
            certificate = _named(certificate, name, purpose, adjacency)
        number = self.enter(certificate, run=run)
        yield number
        self.confirm(number)

    def enter(self, certificate: Certificate, *, run: str | None = None) -> int:
        """Write a release down, or find the row of the run that is resumed; return its number."""
        if certificate.void_because:
            raise InvalidDescription(
                "certificate must claim something to be entered, got a void one: "
                + " ".join(certificate.void_because)
            )
        budget = self.budget
        deltas = () if budget is None else (budget.delta,)
        content: dict[str, Any] = {"certificate": stored.stored(certificate, deltas)}
        if run is not None:
            number = self._taken_up(self.ledger._read(), content, run)
            if number is not None:
                return number
            content["run"] = run
        content["at"] = _now()
        return self._append("release", content, lambda rows: self._allow(rows, content))

    def confirm(self, number: int) -> None:
        """Write down that a release is out."""

        def open_still(rows: list[LedgerRow]) -> None:
            # another process may have confirmed it in the meantime
            if number in _confirmed(rows):
                raise InvalidDescription(
                    f"release {number} must not be confirmed twice, got one that is out already."
                )

        self._append("confirmation", {"release": number}, open_still)

    @property
    def budget(self) -> Budget | None:
        """The budget in force, or None."""
        return self._budget(self.ledger._read())

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every release, in order."""
        rows = self.ledger._read()
        confirmed = _confirmed(rows)
        return tuple(
            Entry(row.number, row.dataset, row.content, row.number in confirmed)
            for row in self._releases(rows)
        )

    @property
    def total(self) -> Certificate | None:
        """The certificate of all releases together, confirmed or not; None if there are none."""
        parts = self._spent(self.ledger._read())
        return together(parts) if parts else None

    def so_far(self, delta: float) -> EarlierReleases:
        """Return the summary of all releases, the last included, that a document states."""
        rows = self.ledger._read()
        parts = self._spent(rows)
        return EarlierReleases(
            dataset=self.dataset,
            releases=len(self._releases(rows)),
            epsilon=together(parts).epsilon(delta) if parts else 0.0,
            delta=delta,
            head=rows[-1].hash,
        )

    def _append(self, kind: str, content: dict[str, Any], allowed: Any) -> int:
        """Write a row if `allowed`, called with all rows before it, refuses nothing."""
        rows = self.ledger._rows
        for _ in range(TRIES):
            before = self.ledger._read()
            allowed(before)
            with rows.locked() as connection:
                if _last(rows.read(connection)) == _last(before):
                    return rows.append(connection, kind, self.dataset, content)
        with rows.locked() as connection:
            return self._append_locked(connection, kind, content, allowed)

    def _append_locked(
        self, connection: sqlite3.Connection, kind: str, content: dict[str, Any], allowed: Any
    ) -> int:
        rows = self.ledger._rows
        allowed(rows.read(connection))
        return rows.append(connection, kind, self.dataset, content)

    def _allow(self, rows: list[LedgerRow], content: dict[str, Any]) -> None:
        """Refuse a release of another unit than those before, or one beyond the budget."""
        for row in self._releases(rows):
            _same_unit(row.content, content, self.dataset)
        run = content.get("run")
        if run is not None and self._taken_up(rows, content, run) is not None:
            raise InvalidDescription("run must be taken up by one process at a time, got two.")
        budget = self._budget(rows)
        if budget is not None:
            together = (*self._spent(rows), *stored.spent_in(content))
            _refuse_beyond(together, budget, self.dataset)

    def _taken_up(self, rows: list[LedgerRow], content: dict[str, Any], run: str) -> int | None:
        """Return the unconfirmed row of the run with this name; None if there is none.

        A confirmed one is refused: its row speaks of one release, and that is out.
        """
        mine = [row for row in self._releases(rows) if row.content.get("run") == run]
        if not mine:
            return None
        number = mine[0].number
        if not stored.same_run(mine[0].content, content):
            raise InvalidDescription(
                f"certificate must be that of release {number}, which the run began as, got "
                "another; begin a new run."
            )
        if number in _confirmed(rows):
            raise InvalidDescription(
                f"run must not have been released before, got that of release {number}, which is "
                "confirmed; delete its checkpoint to begin a new run."
            )
        return number

    def _releases(self, rows: list[LedgerRow]) -> list[LedgerRow]:
        return [row for row in rows if row.kind == "release" and row.dataset == self.dataset]

    def _spent(self, rows: list[LedgerRow]) -> tuple[Certificate, ...]:
        return tuple(p for row in self._releases(rows) for p in stored.spent_in(row.content))

    def _budget(self, rows: list[LedgerRow]) -> Budget | None:
        mine = [row.content for row in rows if row.kind == "budget" and row.dataset == self.dataset]
        if not mine:
            return None
        last = mine[-1]
        try:
            return Budget(last["epsilon"], last["delta"], Adjacency(last["adjacency"]))
        except InvalidDescription:  # wane 0.1 took a budget at delta 1, which limits nothing
            return None


class HeldAccount:
    """An account whose releases are confirmed together, once all files are in place."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._open: list[int] = []

    @contextmanager
    def spend(self, certificate: Certificate, **more: Any) -> Iterator[int]:
        """Write a release down before it happens; it is not confirmed when it has happened."""
        number = self.account.enter(certificate, **more)
        self._open.append(number)
        yield number

    def confirm(self) -> None:
        """Write down that all of them are out."""
        while self._open:
            self.account.confirm(self._open.pop(0))


def _named(
    guarantee: Guarantee, name: str | None, purpose: str | None, adjacency: Adjacency | None
) -> Certificate:
    """Return a bare guarantee as the certificate of a stated release with a name."""
    if adjacency is None:
        raise InvalidDescription(
            "adjacency must be given to spend a guarantee, got None; a guarantee knows no data."
        )
    what, why = normal_name(name, "name"), normal_name(purpose, "purpose")
    return certify(stated_release(what, guarantee, why, adjacency))


def _confirmed(rows: list[LedgerRow]) -> set[int]:
    return {row.content["release"] for row in rows if row.kind == "confirmation"}


def _last(rows: list[LedgerRow]) -> str:
    return rows[-1].hash if rows else ""


def _same_unit(before: dict[str, Any], now: dict[str, Any], dataset: str) -> None:
    """Refuse to add up releases that protect different units."""
    pairs = (
        ("adjacency", stored.adjacency_in(before), stored.adjacency_in(now)),
        ("rows_per_person", stored.rows_per_person_in(before), stored.rows_per_person_in(now)),
    )
    for name, was, is_now in pairs:
        if was != is_now:
            raise InvalidDescription(
                f"{name} must be {was}, which earlier releases on {visible(dataset)!r} have, got "
                f"{is_now}; guarantees of two kinds do not add up. Certify the release under it."
            )


def _refuse_beyond(parts: tuple[Certificate, ...], budget: Budget, dataset: str) -> None:
    if not parts:
        return
    joint = together(parts)
    if joint.adjacency is not budget.adjacency:
        raise InvalidDescription(
            f"adjacency must be the budget's, {budget.adjacency.value}, "
            f"got {joint.adjacency.value}; certify the release under it."
        )
    epsilon = joint.epsilon(budget.delta)
    if not epsilon <= budget.epsilon:
        raise BudgetExceeded(
            f"dataset {visible(dataset)!r} has a budget of epsilon {budget.epsilon:g} at delta "
            f"{budget.delta:g}; with this it would be {round_up_to(epsilon)}. Nothing was spent."
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def normal_name(given: object, what: str = "dataset") -> str:
    """Return a public name with its characters composed and its white space single, or refuse it.

    Control characters are refused: in a list of accounts they could forge a line.
    """
    if not isinstance(given, str) or not given.strip() or len(given) > MOST_CHARACTERS:
        raise InvalidDescription(
            f"{what} must be a name of 1 to {MOST_CHARACTERS} characters, got {given!a:.60}."
        )
    name = same_name(given)
    for character in name:
        if unseen(character):
            raise InvalidDescription(
                f"{what} must be a name of visible characters, got {given!a:.60}; leave out "
                f"{character!a}."
            )
    return name


def same_name(given: str) -> str:
    """Return the form under which two spellings of one name are equal; refuses nothing."""
    composed = unicodedata.normalize("NFC", given)
    spaced = "".join(" " if unicodedata.category(c) == "Zs" else c for c in composed)
    return " ".join(word for word in spaced.split(" ") if word)


def near_words(name: str, names: Iterable[str]) -> str:
    """Return the names that may have been meant, as the end of an error message."""
    folded = {one.casefold(): one for one in names}
    close = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    if not close:
        return ""
    return "; did you mean " + " or ".join(repr(visible(folded[one])) for one in close) + "?"
