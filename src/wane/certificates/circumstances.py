"""What a certificate says beside its theorem: how the run was carried out, and by whose word."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from wane.certificates import wording
from wane.certificates.wording import EarlierReleases, ExactNoise, NoiseSource
from wane.errors import InvalidDescription
from wane.theorems.theorem import Basis

MOST_LETTERS = 200
"""Of a name on the page to sign, so that the page stays one."""


@dataclass(frozen=True, kw_only=True)
class Particulars:
    """What the page to sign says of the release and its holder; empty where nobody said it.

    Attributes:
        product: what was made, in a few words.
        dataset: the public name of the records.
        organisation, responsible: who holds the records, and who answers for the release.
        date: when it was made, as YYYY-MM-DD.
    """

    product: str = ""
    dataset: str = ""
    organisation: str = ""
    responsible: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        for name, text in asdict(self).items():
            if not isinstance(text, str) or len(text) > MOST_LETTERS:
                raise InvalidDescription(
                    f"{name} must be a text of at most {MOST_LETTERS} letters, got {text!r:.60}."
                )
        if self.date:
            try:
                date.fromisoformat(self.date)
            except ValueError:
                raise InvalidDescription(
                    f"date must be written as YYYY-MM-DD, got {self.date!r:.60}."
                ) from None

    def to_fields(self) -> dict[str, str]:
        """Return what was said."""
        return {name: text for name, text in asdict(self).items() if text}


@dataclass(frozen=True)
class Circumstances:
    """What a certificate says beside its theorem.

    Attributes:
        noise: where the noise came from.
        released: what is released, in the words of whoever released it; beside it the
            document says the same of the iterates.
        origin: where the constants of the losses come from.
        declared: who vouches for what the description declares.
        tuning: what choosing the settings cost.
        voids: why there is no privacy after all, if there is none.
        context: public facts to file with the certificate, such as the hash of a schema.
        grid: the release was rounded to multiples of this; 0 if it was not rounded.
        exact: exact noise that was added to the release, if any was.
        earlier: what a ledger holds of the same records; None if no ledger was kept.
        files: name and SHA-256 of every file that is released with the document.
        particulars: what was made, of which data set, by whom and when, as far as it was said.
    """

    noise: NoiseSource = NoiseSource.NOT_RUN
    released: str = ""
    origin: str = "declared in the description"
    declared: str = Basis.DECLARED.meaning
    tuning: str = wording.NO_TUNING
    voids: tuple[str, ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    grid: float = 0.0
    exact: ExactNoise | None = None
    earlier: EarlierReleases | None = None
    files: tuple[tuple[str, str], ...] = ()
    particulars: Particulars = Particulars()

    def to_fields(self) -> dict[str, Any]:
        """Return what the document says of how it was carried out."""
        made: dict[str, Any] = {
            "released_as": self.released,
            "rounding": {
                "grid": self.grid,
                "exact_noise": None if self.exact is None else asdict(self.exact),
            },
            "numerics": wording.numerics(self.grid, self.exact),
            "noise": {"source": self.noise.value, "meaning": self.noise.meaning},
            "tuning": self.tuning,
            "earlier_releases": (
                wording.UNKNOWN_EARLIER if self.earlier is None else self.earlier.to_fields()
            ),
            "context": dict(self.context),
            "files": dict(self.files),
        }
        if self.particulars != Particulars():
            made["particulars"] = self.particulars.to_fields()
        return made


FROM_DESCRIPTION = Circumstances()
"""Nothing was run: a certificate of a description alone."""
