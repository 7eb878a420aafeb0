"""Public names of a package that are imported at their first use, as listed in its stub.

The stub `__init__.pyi` is the one list of a package's public names: type checkers read it, and so
does the package when it is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from wane.errors import MissingExtra

LIBRARY, EXTRA = "sklearn", "wane[learn]"
"""The one optional library that public names of lazy packages need, and what brings it."""


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, as its stub lists them."""
    body = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body
    homes = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    exported = next(ast.literal_eval(node.value) for node in body if isinstance(node, ast.Assign))

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        try:
            return _member(home, original, within=package)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != LIBRARY:
                raise
            raise MissingExtra(f"{package}.{name} needs scikit-learn; install {EXTRA}.") from None

    return load, lambda: sorted(homes), exported


def _member(home: str, name: str, *, within: str) -> Any:
    """A module's attribute; a package's own attribute is the module of that name below it."""
    if home != within:
        module = import_module(home)
        if hasattr(module, name):
            return getattr(module, name)
    return import_module(f"{home}.{name}")
