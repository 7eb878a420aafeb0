"""Numba, where it is installed (extra `fast`), for tables that are worth it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

COMPILED_FROM = 2**24
"""Numbers in a table from which compiling, a few seconds for each process, is worth it."""

ANY_ORDER = {"reassoc", "contract", "nsz"}
"""Additions in any order, several at a time; infinities and NaN come out as they are."""

Compiler = Callable[..., Any]


@cache
def compiler() -> Compiler | None:
    """Return what compiles functions that then run beside other threads, or None."""
    try:
        from numba import njit
    except ImportError:
        return None

    def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        made: Callable[..., Any] = njit(function, nogil=True, error_model="numpy", **options)
        return made

    return compiled
