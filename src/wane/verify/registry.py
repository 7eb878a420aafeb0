"""The verifiers, found by walking the folders of theorems without loading anything else of them."""

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
    verifiers_by_name: dict[str, Verifier] = {}
    for folder in wane.theorems.in_order(p.parent.name for p in home.glob("*/verifier.py")):
        stated = vars(import_module(f"wane.theorems.{folder}.verifier")).values()
        verifiers_by_name |= {value.name: value for value in stated if isinstance(value, Verifier)}
    return verifiers_by_name
