"""What a fit leaves behind: the model, its certificate and description, and a card for readers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wane.certificates import (
    Certificate,
    Circumstances,
    EarlierReleases,
    Particulars,
    certificate_document,
)
from wane.cli.folder import complaints, write_certificate, write_json, write_text
from wane.describe.fields import run_to_fields
from wane.report.card import model_card

TUNING = "None: every setting was planned from public numbers alone, which costs nothing."


@dataclass(frozen=True)
class Release:
    """A fitted model and the public words about it.

    Attributes:
        model: the fitted estimator.
        words: what kind of model it is.
        delta: at which delta it is certified.
        context: public facts to file with it.
        tuning: what choosing the settings cost; None if the model's own `tune_on` tells.
        earlier: what a ledger holds of the same records; None if none is kept.
        particulars: what page one names.
    """

    model: Any
    words: str
    delta: float
    context: tuple[tuple[str, str], ...] = ()
    tuning: str | None = None
    earlier: EarlierReleases | None = None
    particulars: Particulars = Particulars()

    @property
    def certificate(self) -> Certificate:
        """What is claimed of the model."""
        made: Certificate = self.model.certificate_
        return made

    @property
    def circumstances(self) -> Circumstances:
        """How the run was carried out."""
        from wane.learn.presented import conduct_of_linear_model  # slow to import

        return replace(
            conduct_of_linear_model(self.model, self.words),
            tuning=self._tuning,
            context=self.context,
            earlier=self.earlier,
            particulars=self.particulars,
        )

    @property
    def _tuning(self) -> str:
        if self.tuning is not None:
            return self.tuning
        public = self.model.tune_on
        return TUNING if public is None else str(public.statement)

    def document(self) -> dict[str, Any]:
        """Return the certificate as a JSON document."""
        return certificate_document(
            self.certificate, delta=self.delta, circumstances=self.circumstances
        )

    def write(self, folder: Path) -> dict[str, Any]:
        """Write everything into a folder that holds the schema, and return the certificate."""
        made = self.document()
        write_json(folder / "description.json", run_to_fields(self.model.run_))
        write_text(folder / "model-card.md", model_card(made, self.words))
        with complaints(folder):
            self.model.save_model(folder / "model.npz")
        return write_certificate(folder, made)
