"""Tables in TOML or JSON files; whatever the file holds, the complaint is one line.

`wane.losses.files` makes descriptions of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NoReturn

from wane.errors import InvalidDescription, reason_of

MOST_DIGITS = 400
"""No number of a description needs as many; longer ones take quadratic time to read."""


def read_json(text: str | bytes, name: str) -> Any:
    """Return what a JSON text holds; a key twice, NaN and half a character are refused.

    `name` says in messages which document is meant.
    """
    try:
        made = json.loads(
            text, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_integer
        )
        json.dumps(made, ensure_ascii=False).encode()  # JSON can spell half a character
    except _Refused as error:
        raise InvalidDescription(f"{name} {error}") from None
    except UnicodeError:
        raise InvalidDescription(f"{name} must be UTF-8 text, got other characters.") from None
    except ValueError as error:
        first = str(error).splitlines()[0]
        raise InvalidDescription(f"{name} must be valid JSON: {first}.") from None
    except RecursionError:
        raise InvalidDescription(f"{name} must not be nested so deeply.") from None
    return made


class _Refused(ValueError):
    """What a text that is valid JSON must not hold."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"must hold every key once, got {twice!r:.60} twice; remove one of them.")
    return made


def _no_constant(word: str) -> NoReturn:
    raise _Refused(f'must hold numbers that JSON knows, got {word}; write "infinity".')


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _Refused(f"must hold numbers of at most {MOST_DIGITS} digits, got {len(digits)}.")
    return int(digits)


MOST_BYTES = 4 * 2**20
MOST_PARTS = 32
"""Parts of a dotted key in TOML: a reader's memory grows with their square."""

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?:{_PART}[ \t]*\.[ \t]*){{{MOST_PARTS}}}{_PART}")


def read_table(path: str | Path, *, most_bytes: int = MOST_BYTES) -> Any:
    """Return the content of a TOML or JSON file (told apart by content, not by name)."""
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(most_bytes + 1)
    except IsADirectoryError:
        raise InvalidDescription(f"{file!s:.120} must be a file, got a directory.") from None
    except (OSError, ValueError) as error:
        raise InvalidDescription(f"{file!s:.120} cannot be read: {reason_of(error)}.") from None
    if len(raw) > most_bytes:
        raise InvalidDescription(
            f"{file} must be at most {most_bytes} bytes, got more; is this a description?"
        )
    return parse(raw, str(file))


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal digits, read block by block."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def parse(raw: bytes, name: str) -> Any:
    """Return the table that these bytes hold, as JSON if they start with a brace, else TOML."""
    import tomllib

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidDescription(f"{name} must be UTF-8 text, got other bytes.") from None
    if not text.strip():
        raise InvalidDescription(f"{name} must hold a description, got an empty file.")
    try:
        if text.lstrip().startswith(("{", "[\n", "[{")):
            return read_json(text, name)
        if _LONG_KEY.search(text):
            raise InvalidDescription(
                f"{name} must have keys of at most {MOST_PARTS} parts, got a longer one."
            )
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        first = str(error).splitlines()[0]
        raise InvalidDescription(f"{name} must be valid TOML or JSON: {first}.") from None
    except RecursionError:
        raise InvalidDescription(f"{name} must not be nested so deeply.") from None
