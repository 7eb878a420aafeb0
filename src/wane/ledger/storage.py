"""The file of a ledger: SQLite, readable by its owner only, append-only, with hash-chained rows.

A row is on disk before the call that wrote it returns (`synchronous = EXTRA`), and a transaction
that was cut off leaves nothing behind.  Triggers refuse to change or delete a row, and each row
carries a hash of itself and of the row before, so that a file edited by other means shows it.  The
last hash is kept apart, in a table of its own, and in the document of every release: rows that are
missing at the end show as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wane.describe.files import read_json
from wane.errors import InvalidDescription, WaneError, reason_of

FORMAT = 2
FORMATS = (1, FORMAT)
"""Files of format 1, which wane 0.1 wrote, keep no head; the first row that is added gives one."""
PATIENCE = 30.0  # seconds to wait for another process that holds the lock

_TABLES = """
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    content TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    number INTEGER NOT NULL,
    hash TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS never_changed BEFORE UPDATE ON rows
BEGIN SELECT RAISE(ABORT, 'a ledger is never changed'); END;
CREATE TRIGGER IF NOT EXISTS never_deleted BEFORE DELETE ON rows
BEGIN SELECT RAISE(ABORT, 'nothing is deleted from a ledger'); END;
"""


class LedgerFault(WaneError):
    """The ledger's file cannot be used, or does not hold what was written to it."""


@dataclass(frozen=True)
class LedgerRow:
    """One row as it was read: its number, kind, data set, content and hash."""

    number: int
    kind: str
    dataset: str
    content: dict[str, Any]
    hash: str


class LedgerFile:
    """The rows of one file, which must exist unless it is to be a `new` one."""

    def __init__(self, path: str | Path, *, new: bool = False) -> None:
        self.path = Path(path)
        _check_name(self.path)
        if self.path.is_dir():
            raise InvalidDescription(f"ledger must be a file, got the directory {self.path}.")
        with self._translated():
            if new:
                self._create()
            self._check_file()

    def _create(self) -> None:
        """Write the complete file before it gets its name; never replace another."""
        part = self.path.parent / f".wane-{secrets.token_hex(8)}"
        try:
            # made with owner-only rights from the first instant on
            os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            connection = sqlite3.connect(part, isolation_level=None)
            try:
                connection.execute("BEGIN IMMEDIATE")
                _prepare(connection)
                connection.execute("COMMIT")
            finally:
                connection.close()
            os.link(part, self.path)
        except FileExistsError:
            raise InvalidDescription(
                f"ledger {self.path} must not exist yet to be a new one; leave out --new."
            ) from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def _check_file(self) -> None:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            raise InvalidDescription(
                f"ledger {self.path} must exist, got no such file; say --new, or `wane ledger "
                "init`, to begin one."
            ) from None
        if size == 0:
            raise LedgerFault(
                f"ledger {self.path} is empty, and a ledger never is; restore a backup."
            )
        with self.reading() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in FORMATS:
            raise LedgerFault(f"ledger has format {version}, this version reads {FORMAT}.")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise LedgerFault(f"ledger {self.path} cannot be used: {error}.") from None
        except UnicodeDecodeError:  # SQLite quotes a damaged file in its own complaint
            raise LedgerFault(f"ledger {self.path} cannot be used: it is damaged.") from None
        except OSError as error:
            raise LedgerFault(f"ledger {self.path} cannot be used: {error.strerror}.") from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that sees one moment of the file and writes nothing."""
        with self._translated():
            connection = sqlite3.connect(
                self._uri(), uri=True, timeout=PATIENCE, isolation_level=None
            )
            try:
                connection.execute("PRAGMA query_only = 1")
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    def _uri(self) -> str:
        """Return the URI to read from; a file that nobody here can write is read without a lock.

        Otherwise SQLite must be able to take back what a killed writer left half done.
        """
        fixed = not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK)
        return f"{self.path.resolve().as_uri()}?mode=" + ("ro&immutable=1" if fixed else "rw")

    @contextmanager
    def locked(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that alone may write; all or nothing of it is kept."""
        with self._translated():
            uri = f"{self.path.resolve().as_uri()}?mode=rw"  # never makes a file
            connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # without COMMIT everything is rolled back

    def append(
        self, connection: sqlite3.Connection, kind: str, dataset: str, content: dict[str, Any]
    ) -> int:
        """Write one row and return its number."""
        _prepare(connection)
        last = connection.execute("SELECT number, hash FROM rows ORDER BY number DESC").fetchone()
        number, before = (last[0] + 1, last[1]) if last else (1, "")
        text = json.dumps(content, sort_keys=True)
        digest = _hash(before, number, kind, dataset, text)
        row = (number, kind, dataset, text, digest)
        connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (number, digest))
        return number

    def read(self, connection: sqlite3.Connection) -> list[LedgerRow]:
        """Return all rows, after checking that none was changed, dropped or slipped in."""
        rows: list[LedgerRow] = []
        before = ""
        cursor = connection.execute(
            "SELECT number, kind, dataset, content, hash FROM rows ORDER BY number"
        )
        for place, (number, kind, dataset, text, written) in enumerate(cursor, 1):
            before = _hash(before, number, kind, dataset, text)
            if number != place or before != written:
                raise LedgerFault(
                    f"ledger {self.path} was changed by hand at row {place}; restore a backup."
                )
            rows.append(LedgerRow(number, kind, dataset, read_json(text, f"row {number}"), before))
        if not self._ends_at(connection, rows):
            raise LedgerFault(
                f"ledger {self.path} was changed by hand: rows are missing at its end; restore a "
                "backup."
            )
        return rows

    @staticmethod
    def _ends_at(connection: sqlite3.Connection, rows: list[LedgerRow]) -> bool:
        """Return whether the last row is the one that the head names."""
        if connection.execute("PRAGMA user_version").fetchone()[0] == 1:
            return True
        head = connection.execute("SELECT number, hash FROM head").fetchone()
        if head is None:
            return not rows
        return bool(rows) and tuple(head) == (rows[-1].number, rows[-1].hash)


def _check_name(path: Path) -> None:
    """Refuse a name that no file can have."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except (OSError, ValueError) as error:
        raise InvalidDescription(
            f"ledger must be a file, got {str(path)!a:.120}: {reason_of(error)}."
        ) from None


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables, or give a file of format 1 the table that it lacks."""
    if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        for statement in _split(_TABLES):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def _hash(before: str, number: int, kind: str, dataset: str, text: str) -> str:
    text_of_row = json.dumps([before, number, kind, dataset, text])
    return hashlib.sha256(text_of_row.encode()).hexdigest()


def _split(script: str) -> Iterator[str]:
    """Yield single statements: `executescript` would commit the transaction it runs in."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
