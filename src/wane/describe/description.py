"""What every described release that is no descent can say of itself, in words and as plain data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

from wane.describe.choices import Adjacency
from wane.errors import InvalidDescription

DELTA = 1e-5
"""Where a release is shown if nobody says at which delta."""
Row = tuple[str, str, Any]
"""Three columns of a table of a certificate."""


class Description(ABC):
    """A release as frozen data; subclass it, and list the class in `wane.describe.fields`.

    A description that can be certified declares its adjacency: a sensitivity says nothing without
    the data sets that it compares.

    Attributes:
        kind: the word by which files and documents name this kind of description.
        released_as: what is seen, in a word, as documents hold it.
    """

    kind: ClassVar[str]
    released_as: ClassVar[str]

    @property
    @abstractmethod
    def adjacency(self) -> Adjacency | None:
        """Which data sets are compared; None as long as nobody said."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return what the description declares as plain data, without kind and adjacency."""

    @classmethod
    @abstractmethod
    def from_parameters(cls, given: dict[str, Any]) -> Self:
        """Return the description of these parameters, adjacency included."""

    @abstractmethod
    def summary(self) -> str:
        """Return the release in one line."""

    @abstractmethod
    def released_words(self) -> str:
        """Return what is released, in a sentence."""

    @abstractmethod
    def secrets(self) -> list[str]:
        """Return what must stay secret for ever, or the guarantee is void."""

    @abstractmethod
    def symbols(self) -> list[Row]:
        """Return each letter of the theorem, what it means, and its value here."""

    @abstractmethod
    def constants(self) -> list[tuple[str, Any]]:
        """Return the names and values of what the release rests on."""

    def to_fields(self) -> dict[str, Any]:
        """Return the dictionary that `from_fields` turns back into this description."""
        return {
            "kind": self.kind,
            "release": self.released_as,
            "adjacency": self.declared_adjacency.value,
            **self.parameters(),
        }

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """Return the described release; every complaint names the key, its value and the cure."""
        table = {key: value for key, value in given.items() if key != "kind"}
        seen = table.pop("release", cls.released_as)
        if seen != cls.released_as:
            raise InvalidDescription(
                f'release must be "{cls.released_as}" for {cls.kind}, got {seen!r:.60}.'
            )
        try:
            return cls.from_parameters(table)
        except InvalidDescription:
            raise
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ):  # a key that is missing, unknown or of another shape
            raise InvalidDescription(
                f"a description of kind {cls.kind} must have the keys that wane writes, got "
                f"{', '.join(map(str, table))!r:.120}; see docs/mechanisms.md."
            ) from None

    def _repr_html_(self) -> str:
        """Return the release in a line and, where it can be certified, its certificate."""
        said = f"<p>{escape(self.summary())}</p>"
        if self.adjacency is None:
            return f"{said}<p>Declare its adjacency, and it can be certified.</p>"
        return f"{said}{self._certificate()._repr_html_()}"

    def to_json(self, delta: float = DELTA) -> str:
        """Return the certificate document of the release at `delta` as JSON."""
        return str(self._certificate().to_json(delta))

    def save(self, path: str | Path, delta: float = DELTA) -> None:
        """Write the certificate of the release, as a page (.html) or a document (.json)."""
        self._certificate().save(path, delta)

    def plot(self, axis: Any = None) -> Any:
        """Draw what is certified of the release against delta; return matplotlib's axis."""
        return self._certificate().plot(axis)

    def _certificate(self) -> Any:
        # certificates are made of descriptions, so that their package is asked for by its name
        return import_module("wane.certificates").certify(self)

    @property
    def declared_adjacency(self) -> Adjacency:
        """The adjacency; a refusal if none was declared."""
        if self.adjacency is None:
            raise InvalidDescription(
                "adjacency must be declared to certify, write down or spend a mechanism, got None; "
                'say which data sets its sensitivity compares, such as adjacency="zero-out".'
            )
        return self.adjacency
