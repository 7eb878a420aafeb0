"""Check a document: prove its numbers again, and compare all other fields with what wane writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wane.documents.reading import FieldComparison, read_again
from wane.errors import InvalidDescription
from wane.verify import Verification, verify


@dataclass(frozen=True)
class DocumentCheck:
    """The result of checking a document.

    Attributes:
        numbers: every upper bound, held against an independent computation.
        reading: all other fields, held against what wane writes.
        files: where the files of the folder are not those that the document names.
        compared: the files that are.
    """

    numbers: Verification
    reading: FieldComparison
    files: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()

    @property
    def void(self) -> bool:
        """Whether the document claims nothing."""
        return self.numbers.void

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Every disagreement between the document and the checks."""
        disagreements = (*self.numbers.contradictions, *self.reading.contradictions, *self.files)
        return tuple(dict.fromkeys(disagreements))

    @property
    def verified(self) -> bool:
        """Whether something is claimed, all of it is proven, and nothing is contradicted."""
        return self.numbers.verified and not self.contradictions


def check_document(document: object) -> DocumentCheck:
    """Return what can be proven of a certificate document, what contradicts it, what it states."""
    if not isinstance(document, Mapping):
        raise InvalidDescription("the file must hold one JSON object, a certificate document.")
    return DocumentCheck(verify(document), read_again(document))
