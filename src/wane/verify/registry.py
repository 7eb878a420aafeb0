"""The verifiers, found by walking the folders of theorems; nothing else of a theorem is loaded."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

import wane.theorems
from wane.balls.verifier import Verifier


@cache
def verifiers() -> dict[str, Verifier]:
    """Return every verifier by the name that certificates use."""
    home = Path(wane.theorems.__path__[0])
    folders = sorted(path.parent.name for path in home.glob("*/verifier.py"))
    found: dict[str, Verifier] = {}
    for folder in sorted(folders, key=_place):
        module = import_module(f"wane.theorems.{folder}.verifier")
        found |= {value.name: value for value in vars(module).values() if _is_one(value)}
    return found


def _place(folder: str) -> int:
    known = wane.theorems.FOLDERS
    return known.index(folder) if folder in known else len(known)


def _is_one(value: object) -> bool:
    return isinstance(value, Verifier)
