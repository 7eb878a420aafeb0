"""A formula as a paper prints it, with what is known of its truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wane.errors import InvalidDescription


class Standing(Enum):
    """What is known of a printed bound."""

    SOUND = "sound"
    LOOSE = "sound, but not tight"
    UNPROVED = "not proved as printed"
    FALSE = "false"


@dataclass(frozen=True)
class Printed:
    """A formula as printed.

    Attributes:
        name: what to call it in a legend.
        place: where it stands in the paper.
        assumes: its hypotheses, in words.
        standing: whether it is true.
        because: the reason, with a counterexample where it is false.
        formula: the number itself.
        within: the part of the printed hypotheses that the arguments alone decide.
    """

    name: str
    place: str
    assumes: tuple[str, ...]
    standing: Standing
    because: str
    formula: Callable[..., Any]
    key: str = "bravo2025modulus"
    within: Callable[..., bool] | None = None

    def __call__(self, **arguments: Any) -> Any:
        """The printed value, or a refusal where the printed hypotheses fail."""
        if self.within is not None and not self.within(**arguments):
            given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            raise InvalidDescription(
                f"{self.name} ({self.place}) is printed for {'; '.join(self.assumes)}, "
                f"which {given} does not meet."
            )
        return self.formula(**arguments)
