"""Documents read back: written again from their description, compared, and their numbers proven."""

from wane.documents.checking import Checked, check_document, check_folder
from wane.documents.reading import Reading, Stated, read_again

__all__ = ["Checked", "Reading", "Stated", "check_document", "check_folder", "read_again"]
