"""Checks on the text of a CSV file before its cells are read."""

from __future__ import annotations

from collections.abc import Iterable

DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a vertical bar", ",": "a comma"}
"""Separators that are looked for, and what to call them."""


def open_quote(lines: Iterable[bytes], delimiter: str, *, newlines: bool) -> int | None:
    """Return the number of the line whose quote is never closed, or None if all are.

    A quote that is still open at the end of a line counts unless cells may hold `newlines`: it
    would swallow the rows below it.
    """
    separator, opened = delimiter.encode(), 0
    for number, line in enumerate(lines, start=1):
        if b'"' not in line:
            continue
        still_open = _quote_at_end(line, separator, inside=bool(opened))
        opened = (opened or number) if still_open else 0
        if opened and not newlines:
            break
    return opened or None


def _quote_at_end(line: bytes, separator: bytes, *, inside: bool) -> bool:
    """Return whether a quoted cell is open at the line's end; a quote opens only a cell's start."""
    place = 0
    while True:
        if inside or line[place : place + 1] == b'"':
            place = _after_closing(line, place if inside else place + 1)
            if place < 0:
                return True
            inside = False
        place = line.find(separator, place) + 1
        if place == 0:
            return False


def _after_closing(line: bytes, place: int) -> int:
    """Return the index after the quote that closes a cell, or -1; two quotes stand for one."""
    while True:
        quote = line.find(b'"', place)
        if quote < 0:
            return -1
        if line[quote + 1 : quote + 2] != b'"':
            return quote + 1
        place = quote + 2


def foreign_bytes(lines: Iterable[bytes]) -> int | None:
    """Return the number of the first line that is not UTF-8 text, or None."""
    for number, line in enumerate(lines, start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return None


def other_delimiter(header: str, delimiter: str, wanted: Iterable[str]) -> str | None:
    """Return the separator by which the header line would hold a wanted column, or None."""
    names = set(wanted)
    for other in DELIMITERS:
        cells = {cell.strip().strip('"') for cell in header.split(other)}
        if other != delimiter and other in header and names & cells:
            return other
    return None
