"""Numba, where it is installed (extra `fast`), for tables large enough to gain from it."""

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
    """Return a function that compiles others to run without the interpreter's lock, or None."""
    try:
        from numba import njit
    except ImportError:
        return None

    def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        kernel: Callable[..., Any] = njit(function, nogil=True, error_model="numpy", **options)
        return kernel

    return compiled
