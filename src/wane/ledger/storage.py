"""The file behind a ledger: SQLite, owner-only, append-only, and every row chained to the last.

A row is on disk before the call that wrote it returns (`synchronous = EXTRA`), and a transaction
that was cut off leaves nothing behind.  Triggers refuse to change or delete a row, and each row
carries a hash of itself and of the row before, so that a file edited by other means shows it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wane.errors import InvalidDescription, WaneError

FORMAT = 1
PATIENCE = 30.0  # seconds to wait for another process that holds the lock

_TABLES = f"""
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    content TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE
);
CREATE TRIGGER IF NOT EXISTS never_changed BEFORE UPDATE ON rows
BEGIN SELECT RAISE(ABORT, 'a ledger is never changed'); END;
CREATE TRIGGER IF NOT EXISTS never_deleted BEFORE DELETE ON rows
BEGIN SELECT RAISE(ABORT, 'nothing is deleted from a ledger'); END;
PRAGMA user_version = {FORMAT};
"""


class LedgerFault(WaneError):
    """The ledger's file cannot be used, or does not hold what was written to it."""


class Rows:
    """The rows of one file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise InvalidDescription(f"ledger must be a file, got the directory {self.path}.")
        with self._translated():
            # made with owner-only rights from the first instant on
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            with self.locked() as connection:
                self._prepare(connection)

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

    @staticmethod
    def _prepare(connection: sqlite3.Connection) -> None:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise LedgerFault(f"ledger has format {found}, this version reads {FORMAT}.")
        if found == 0:
            for statement in _split(_TABLES):
                connection.execute(statement)

    @contextmanager
    def locked(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that alone may write; all or nothing of it is kept."""
        with self._translated():
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
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
        last = connection.execute("SELECT number, hash FROM rows ORDER BY number DESC").fetchone()
        number, before = (last[0] + 1, last[1]) if last else (1, "")
        text = json.dumps(content, sort_keys=True)
        connection.execute(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?)",
            (number, kind, dataset, text, _hash(before, number, kind, dataset, text)),
        )
        return number

    def read(self, connection: sqlite3.Connection) -> list[tuple[int, str, str, dict[str, Any]]]:
        """Return all rows, after checking that none was changed, dropped or slipped in."""
        made = []
        before = ""
        found = connection.execute(
            "SELECT number, kind, dataset, content, hash FROM rows ORDER BY number"
        )
        for place, (number, kind, dataset, text, written) in enumerate(found, 1):
            before = _hash(before, number, kind, dataset, text)
            if number != place or before != written:
                raise LedgerFault(
                    f"ledger {self.path} was changed by hand at row {place}; restore a backup."
                )
            made.append((number, kind, dataset, json.loads(text)))
        return made


def _hash(before: str, number: int, kind: str, dataset: str, text: str) -> str:
    whole = json.dumps([before, number, kind, dataset, text])
    return hashlib.sha256(whole.encode()).hexdigest()


def _split(script: str) -> Iterator[str]:
    """Single statements: `executescript` would commit the transaction it runs in."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
