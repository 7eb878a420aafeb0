"""The holder's own table behind the page: three commands of wane, run on this machine.

The table, the folder for the release and the ledger are named when the server is started and never
by a request.  The browser is sent names of columns, what `wane check` counts, and the certificate:
no row ever passes through it.  Every question needs a token that is printed once, to the holder.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wane import arguments
from wane.describe.files import read_json
from wane.errors import InvalidDescription, WaneError
from wane.tables import ClassTarget, Schema, schema_template
from wane.tables.read import opened


class CommandFailed(WaneError):
    """A command of wane ended with a complaint."""


@dataclass(frozen=True)
class LocalTable:
    """A table that its holder wants to fit a model to, and where the release shall go.

    Attributes:
        data: the table, a CSV or Parquet file.
        out: the folder for the release, which must not exist yet.
        schema: a schema to start from; None starts with the names of the columns.
        handed_on: further options of `wane fit`, such as a ledger and whose records these are.
    """

    data: Path
    out: Path
    schema: Path | None = None
    handed_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.data.is_file():
            raise InvalidDescription(f"--table {self.data!s:.120} must be a file, got none there.")
        if self.out.exists():
            raise InvalidDescription(
                f"--out {self.out!s:.120} must not exist yet, got something there; name another "
                "folder."
            )


@dataclass(frozen=True)
class Desk:
    """Answers the questions of the page about one table; one fit at a time, and one in all."""

    table: LocalTable
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    certificate: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    _busy: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def admits(self, token: str) -> bool:
        """Whether this is the token that was told to the holder; compared in constant time."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def names(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the names of the columns, and the schema to start from if one was given."""
        place = self.table.schema
        given = None if place is None else Schema.from_file(place).to_fields()
        return {
            "name": self.table.data.name,
            "out": str(self.table.out),
            "schema": given,
            **(self._new(asked) if given is None else {"columns": self._known(place)}),
            "models": _models(),
        }

    def _known(self, place: Path | None) -> list[str]:
        assert place is not None
        return list(opened(self.table.data, Schema.from_file(place)).names)

    def _new(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The names in the first line, if it is certain or was said that it holds names."""
        header, delimiter = asked.get("header"), asked.get("delimiter", ",")
        if not isinstance(delimiter, str) or len(delimiter.encode()) != 1:
            raise InvalidDescription(
                f"delimiter must be one ASCII character, got {delimiter!r:.60}; write a comma."
            )
        told = header if isinstance(header, bool) else None
        start = tomllib.loads(schema_template(self.table.data, delimiter=delimiter, header=told))
        return {"columns": list(start["columns"]), "header": start.get("header")}

    def check(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `wane check` counts; for the holder's eyes only."""
        with self._schema_of(asked) as schema:
            return _ran("check", str(self.table.data), "--schema", str(schema))

    def fit(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Fit once, write the release, and return its certificate."""
        wanted = [
            f"--{name}={_plain(name, asked.get(name))}"
            for name in ("model", "epsilon", "delta", "adjacency")
        ]
        if not self._busy.acquire(blocking=False):
            raise CommandFailed("a fit has begun; wait for it.")
        try:
            with self._schema_of(asked) as schema:
                made = _ran(
                    "fit",
                    str(self.table.data),
                    f"--schema={schema}",
                    f"--out={self.table.out}",
                    *wanted,
                    *self.table.handed_on,
                )
        finally:
            self._busy.release()
        return made | {"page": f"/table/certificate/{self.certificate}"}

    def page(self, name: str) -> str | None:
        """Return the certificate's page once there is one, for whoever knows its name."""
        place = self.table.out / "certificate.html"
        if not secrets.compare_digest(name.encode(), self.certificate.encode()):
            return None
        return place.read_text(encoding="utf-8") if place.is_file() else None

    def _schema_of(self, asked: Mapping[str, Any]) -> _Written:
        """The schema that the page sent, once it is one, as a file for a command to read."""
        return _Written(Schema.from_fields(asked.get("schema")).to_fields())


class _Written:
    """A file in a folder that only this user can read, for as long as a command needs it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._folder = tempfile.TemporaryDirectory(prefix="wane-")

    def __enter__(self) -> Path:
        place = Path(self._folder.name) / "schema.json"
        place.write_text(json.dumps(self._data), encoding="utf-8")
        return place

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _ran(command: str, *arguments: str) -> dict[str, Any]:
    """Run a command of wane in a process of its own and return its JSON, or its complaint."""
    done = subprocess.run(
        [sys.executable, "-m", "wane", command, "--json", *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        check=False,
    )
    said = [line.removeprefix("wane: ") for line in done.stderr.splitlines() if line.strip()]
    if done.returncode:
        words = said[-1] if said else "the command gave no answer."
        raise (InvalidDescription if done.returncode == 2 else CommandFailed)(words)
    made: dict[str, Any] = read_json(done.stdout, f"what wane {command} printed")
    return made | {"notes": [line.removeprefix("note: ") for line in said]}


def _plain(name: str, value: object) -> str:
    """A word or a number, as an option takes it."""
    if isinstance(value, str) and value.replace("-", "").isalnum():
        return value
    return repr(arguments.real(name, value, above=0.0))


def _models() -> list[dict[str, str | None]]:
    from wane import learn  # slow to import

    return [
        {
            "command": kind.command,
            "words": kind.words,
            "target": "classes" if kind.target is ClassTarget else "bounds",
        }
        for kind in learn.MODELS
        if kind.command is not None
    ]
