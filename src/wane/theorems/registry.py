"""The registry: every theorem that a `statement.py` below this folder states."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import wane.theorems
from wane.theorems.theorem import Analysis


def stated() -> Iterator[Analysis[Any]]:
    """Yield the theorems folder by folder, in the order of their statements."""
    home = Path(wane.theorems.__path__[0])
    found = sorted(path.parent.name for path in home.glob("*/statement.py"))
    named = [name for name in wane.theorems.FOLDERS if name in found]
    for folder in [*named, *(name for name in found if name not in named)]:
        module = import_module(f"wane.theorems.{folder}.statement")
        yield from (value for value in vars(module).values() if isinstance(value, Analysis))


ANALYSES: tuple[Analysis[Any], ...] = tuple(stated())
