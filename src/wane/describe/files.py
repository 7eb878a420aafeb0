"""Descriptions in TOML or JSON files; whatever the file holds, the answer is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wane.describe.descent import NoisyDescent
from wane.describe.fields import run_from_fields
from wane.errors import InvalidDescription

MOST_BYTES = 4 * 2**20


def read_run(path: str | Path) -> NoisyDescent:
    """Return the run described in a TOML or JSON file."""
    return run_from_fields(read_table(path))


def read_table(path: str | Path, *, most_bytes: int = MOST_BYTES) -> Any:
    """Return the content of a TOML or JSON file (told apart by content, not by name)."""
    file = Path(path)
    try:
        if file.is_dir():
            raise InvalidDescription(f"{file} must be a file, got a directory.")
        with file.open("rb") as stream:
            raw = stream.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidDescription(f"{file} cannot be read: {reason}.") from None
    if len(raw) > most_bytes:
        raise InvalidDescription(
            f"{file} must be at most {most_bytes} bytes, got more; is this a description?"
        )
    return parse(raw, str(file))


def parse(raw: bytes, name: str) -> Any:
    """Return the table that these bytes hold, as JSON if they start with a brace, else TOML."""
    import tomllib

    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidDescription(f"{name} must be UTF-8 text, got other bytes.") from None
    if not text.strip():
        raise InvalidDescription(f"{name} must hold a description, got an empty file.")
    try:
        if text.lstrip().startswith(("{", "[\n", "[{")):
            return json.loads(text)
        return tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        first = str(error).splitlines()[0]
        raise InvalidDescription(f"{name} must be valid TOML or JSON: {first}.") from None
    except RecursionError:
        raise InvalidDescription(f"{name} must not be nested so deeply.") from None
