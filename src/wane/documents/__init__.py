"""Check certificate documents: write them again from their description, compare, verify numbers."""

from wane.documents.checking import DocumentCheck, check_document
from wane.documents.folders import check_folder
from wane.documents.reading import FieldComparison, Stated, read_again

__all__ = [
    "DocumentCheck",
    "FieldComparison",
    "Stated",
    "check_document",
    "check_folder",
    "read_again",
]
