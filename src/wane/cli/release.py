"""What a fit leaves behind: the model, its certificate and description, and a card for readers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wane import report
from wane.certificates import (
    Certificate,
    Circumstances,
    EarlierReleases,
    ExactNoise,
    NoiseSource,
    Particulars,
    certificate_document,
    with_files,
)
from wane.cli.folder import complaints, write_text
from wane.describe.fields import run_to_fields
from wane.describe.files import sha256_of
from wane.report.card import model_card
from wane.report.format import round_up_to

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
        count = self.model.coef_.size
        count += getattr(self.model.intercept_, "size", 1) if self.model.fit_intercept else 0
        from wane.run import release_grid  # slow to import

        seeded = self.model.seed_voids_privacy is not None
        return Circumstances(
            noise=NoiseSource.SEED if seeded else NoiseSource.OPERATING_SYSTEM,
            released=(
                f"The {count} coefficients of {self.words}, intercepts included: the last iterate "
                f"of {self.model.run_.total_steps} steps, and nothing else."
            ),
            origin=f"worked out by wane for the loss of {self.words} and the public feature norm",
            declared="worked out by wane when it wrote the description, and enforced while running",
            tuning=self._tuning,
            voids=self.certificate.void_because,
            context=self.context,
            grid=release_grid(self.model.run_),
            exact=self._exact(count),
            earlier=self.earlier,
            particulars=self.particulars,
        )

    @property
    def _tuning(self) -> str:
        if self.tuning is not None:
            return self.tuning
        public = self.model.tune_on
        return TUNING if public is None else str(public.statement)

    def _exact(self, count: int) -> ExactNoise | None:
        """The exact noise on the release; what it gives alone is claimed unless all is void."""
        model = self.model
        if model.release_noise is None:
            return None
        from wane.learn.exact import exact_guarantee  # slow to import
        from wane.run import DiscreteGaussian

        noise = DiscreteGaussian.on_release(model.run_, model.release_noise)
        alone = exact_guarantee(model.run_, model.release_noise, count)
        if alone is None or model.certificate_.void_because:
            return ExactNoise(noise.std, self.delta)
        return ExactNoise(noise.std, self.delta, round_up_to(alone.epsilon(self.delta)))

    def document(self) -> dict[str, Any]:
        """The certificate as a JSON document."""
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


def write_certificate(folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    """Bind a document to all files that are in the folder, and write it beside them."""
    with complaints(folder):
        hashes = {entry.name: sha256_of(entry) for entry in sorted(folder.iterdir())}
    made = with_files(document, hashes)
    write_json(folder / "certificate.json", made)
    write_text(folder / "certificate.html", report.html_page(made))
    return made


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write one JSON object, readably."""
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")
