"""Laws by name: those of `laws`, and tests elsewhere that need nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from twins.room_laws import ROOM_LAWS
from twins.twin_laws import LAWS

Law = Callable[[], object]


def laws() -> dict[str, Law]:
    """The laws that were written for claims."""
    return {**LAWS, **ROOM_LAWS}


def law_named(name: str) -> Law:
    """A law, or a test as `place.module:function`."""
    if ":" not in name:
        return laws()[name]
    module, _, function = name.partition(":")
    found: Law = getattr(importlib.import_module(module), function)
    return found
