"""The losses of this folder, found by walking it."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from wane.describe.objective import Objective

SHARED = "base"
"""The one file whose classes are what losses are made from."""


@cache
def losses() -> tuple[type[Any], ...]:
    """Return every public class of this folder's files that has residuals."""
    return tuple(
        kind
        for module in _files()
        for kind in vars(module).values()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and not kind.__name__.startswith("_")
        and hasattr(kind, "residuals")
    )


@cache
def constants() -> dict[str, Callable[..., Objective]]:
    """Return the functions that give a loss's constants: the file's name is the function's."""
    named = {module.__name__.rpartition(".")[2]: vars(module) for module in _files()}
    return {name: members[name] for name, members in named.items() if callable(members.get(name))}


def _files() -> list[ModuleType]:
    return [
        import_module(f"{__package__}.{info.name}")
        for info in pkgutil.iter_modules([str(Path(__file__).parent)])
        if info.name != SHARED
    ]
