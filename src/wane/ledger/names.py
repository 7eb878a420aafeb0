"""Names of data sets: one spelling, no control characters, and similar names told apart."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

from wane.errors import InvalidDescription
from wane.report.text import UNSEEN, visible

MOST_CHARACTERS = 200


def normal_name(given: object, what: str = "dataset") -> str:
    """Return a public name with its characters composed and its white space single, or refuse it.

    Control characters are refused: in a list of accounts they could forge a line.
    """
    if not isinstance(given, str) or not given.strip() or len(given) > MOST_CHARACTERS:
        raise InvalidDescription(
            f"{what} must be a name of 1 to {MOST_CHARACTERS} characters, got {given!a:.60}."
        )
    name = same_name(given)
    for character in name:
        if unicodedata.category(character) in UNSEEN:
            raise InvalidDescription(
                f"{what} must be a name of visible characters, got {given!a:.60}; leave out "
                f"{character!a}."
            )
    return name


def same_name(given: str) -> str:
    """Return the form under which two spellings of one name are equal; refuses nothing."""
    composed = unicodedata.normalize("NFC", given)
    spaced = "".join(" " if unicodedata.category(c) == "Zs" else c for c in composed)
    return " ".join(word for word in spaced.split(" ") if word)


def near_words(name: str, names: Iterable[str]) -> str:
    """Return the names that may have been meant, as the end of an error message."""
    folded = {one.casefold(): one for one in names}
    close = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    if not close:
        return ""
    return "; did you mean " + " or ".join(repr(visible(folded[one])) for one in close) + "?"
