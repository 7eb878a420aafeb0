"""JSON as every document is read: one meaning for each text, or a refusal."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from wane.errors import InvalidDescription

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
