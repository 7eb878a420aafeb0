"""The registry: every theorem that a `statement.py` below this folder states."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import wane.theorems
from wane.theorems.theorem import Theorem


def stated() -> Iterator[Theorem[Any]]:
    """Yield the theorems folder by folder, in the order of their statements."""
    home = Path(wane.theorems.__path__[0])
    for folder in wane.theorems.in_order(p.parent.name for p in home.glob("*/statement.py")):
        module = import_module(f"wane.theorems.{folder}.statement")
        yield from (value for value in vars(module).values() if isinstance(value, Theorem))


THEOREMS: tuple[Theorem[Any], ...] = tuple(stated())
