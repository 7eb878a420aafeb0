"""The public description of the column to be predicted."""

from __future__ import annotations

from dataclasses import dataclass

from wane.errors import InvalidDescription
from wane.tables.columns import distinct_strings, interval, named


@dataclass(frozen=True, kw_only=True)
class ClassTarget:
    """One of the declared classes, in this order."""

    name: str
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        named(self.name, "target")
        classes = distinct_strings("target.classes", self.classes)
        if len(classes) < 2:
            raise InvalidDescription(
                f"target.classes must list at least two classes, got {len(classes)}; "
                "list every class that could occur."
            )
        object.__setattr__(self, "classes", classes)


@dataclass(frozen=True, kw_only=True)
class BoundedTarget:
    """A number between public bounds; a value outside is moved to the nearer bound."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        named(self.name, "target")
        low, high = interval("target", self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


Target = ClassTarget | BoundedTarget
