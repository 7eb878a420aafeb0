"""Read tables that come through a pipe: they are held in memory and read as files are."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wane.errors import InvalidDescription

STANDARD_INPUT = "-"


@contextmanager
def as_file(path: str | Path) -> Iterator[str]:
    """Yield the name of a file that can be read more than once, for a file, a pipe or `-`.

    A table is read several times: for its header, its quotes and its rows.  What comes through a
    pipe is kept in memory where the system allows it, in a file that only the owner can read
    elsewhere, and is gone afterwards.
    """
    if str(path) != STANDARD_INPUT and not _is_pipe(path):
        yield str(path)
        return
    try:
        with _opened(path) as source, _kept() as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            yield copy.name if isinstance(copy.name, str) else f"/proc/self/fd/{copy.fileno()}"
    except OSError as error:
        raise InvalidDescription(f"{path!s:.120} cannot be read: {error.strerror}.") from None


def _is_pipe(path: str | Path) -> bool:
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False  # whoever reads it tells why
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _opened(path: str | Path) -> IO[bytes]:
    if str(path) == STANDARD_INPUT:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    return Path(path).open("rb")


def _kept() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("wane-table"), "w+b")
    return tempfile.NamedTemporaryFile()
