"""What a notebook shows of an estimator, and how the certificate of a fit is written to files."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from wane.certificates import Circumstances, Particulars, certificate_document, save_document
from wane.describe.words import adjacency_of, batches_of
from wane.errors import InvalidDescription
from wane.learn.docstrings import completed

WORDS = {"adjacency": adjacency_of, "batches": batches_of}
"""Settings of estimators that may be given by the word the command line has for them."""
MOST_LETTERS = 300
"""Of the settings, in a repr."""


class PresentedEstimator:
    """Short words in a notebook, a page to sign in a file, and a whole docstring.

    A setting that is given as a word becomes what the word names, whenever it is set; a word that
    names nothing is refused by `fit`, as scikit-learn asks.
    """

    delta: float

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = completed(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in WORDS and isinstance(value, str):
            with suppress(InvalidDescription):
                value = WORDS[name](name, value)
        super().__setattr__(name, value)

    def __repr__(self, N_CHAR_MAX: int = MOST_LETTERS) -> str:
        said = " ".join(super().__repr__(N_CHAR_MAX).split())  # type: ignore[call-arg]
        if "certificate_" not in vars(self):
            return said
        return f"{said}\n{vars(self)['certificate_']!r}"

    def _repr_html_(self) -> str:
        """Return the settings and, once fitted, the verdict, the curve and the reason."""
        settings, *_ = repr(self).splitlines()
        found = vars(self).get("certificate_")
        shown = "<p>Not fitted.</p>" if found is None else found._repr_html_()
        return f"<p><code>{escape(settings)}</code></p>{shown}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def to_json(self, delta: float | None = None, **particulars: str) -> str:
        """Return the certificate document of this fit as JSON; see `save`."""
        return json.dumps(self._document(delta, particulars), indent=2, allow_nan=False)

    def save(self, path: str | Path, delta: float | None = None, **particulars: str) -> None:
        """Write the certificate of this fit, as a page to sign (.html) or a document (.json).

        `particulars` are what page one names: `dataset`, `organisation`, `responsible`.  The model
        itself is written by `save_model`, where there is one.
        """
        save_document(self._document(delta, particulars), path)

    def plot(self, axis: Any = None) -> Any:
        """Draw what is certified of this fit against delta; return matplotlib's axis."""
        check_is_fitted(self, "certificate_")
        return vars(self)["certificate_"].plot(axis)

    def _document(self, delta: float | None, said: dict[str, str]) -> dict[str, Any]:
        check_is_fitted(self, "certificate_")
        named = {"product": self._product(), "date": date.today().isoformat()} | said
        try:
            particulars = Particulars(**named)
        except TypeError:
            raise InvalidDescription(
                "particulars must be dataset, organisation, responsible, product or date, got "
                f"{', '.join(said)!r:.80}."
            ) from None
        return certificate_document(
            vars(self)["certificate_"],
            delta=self.delta if delta is None else delta,
            circumstances=replace(self._circumstances(), particulars=particulars),
        )

    def _product(self) -> str:
        """Return what was released, in a few words."""
        raise NotImplementedError

    def _circumstances(self) -> Circumstances:
        """Return how this fit was carried out."""
        raise NotImplementedError
