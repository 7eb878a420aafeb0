"""Report all mistakes of a schema at once, each with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from wane.errors import InvalidDescription

T = TypeVar("T")
MOST = 20
"""Mistakes that are told; a file with more is probably not a schema."""


class Mistakes(InvalidDescription):
    """Several refusals of one schema."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__(_told(self.messages))


class Collector:
    """A reader of a schema's parts that collects every refusal."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def read(self, part: Callable[[], T]) -> T | None:
        """Return the part, or None if it was refused."""
        try:
            return part()
        except Mistakes as several:
            self.messages += several.messages
        except InvalidDescription as error:
            self.messages.append(str(error))
        return None

    def refuse(self) -> None:
        """Refuse all of them, if there are any."""
        if self.messages:
            raise Mistakes(self.messages)


def with_lines(error: InvalidDescription, text: str, name: str) -> InvalidDescription:
    """Return the refusal with the line of each mistake in this text."""
    messages = error.messages if isinstance(error, Mistakes) else (str(error),)
    located = []
    for words in messages:
        line = line_of(text, words.partition(" ")[0])
        located.append(words if line is None else f"line {line}: {words}")
    return InvalidDescription(f"{name}: {_told(located)}")


def line_of(text: str, place: str) -> int | None:
    """Return the line of a key such as `columns.age.low`, or of the nearest table around it."""
    position, located = 0, False
    for part in place.split("."):
        key = re.compile(rf"[\"'\[.\s]{re.escape(part)}[\"'\].\s]*?(?=[\s\]\"'.=:])")
        match = key.search("\n" + text, position)
        if match is None:
            break
        position, located = match.start() + 1, True
    return ("\n" + text)[: position + 1].count("\n") if located else None


def _told(messages: Iterable[str]) -> str:
    rows = list(messages)
    shown = " ".join(rows[:MOST])
    if len(rows) > MOST:
        return f"{len(rows)} mistakes, of which {MOST} are told: {shown}"
    return shown if len(rows) == 1 else f"{len(rows)} mistakes: {shown}"
