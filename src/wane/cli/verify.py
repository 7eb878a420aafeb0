"""`wane verify`: a certificate computed again by other means, number by number, field by field."""

from __future__ import annotations

import json
import signal
import threading
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from wane import arguments
from wane.cli.options import Result, Verb
from wane.describe.files import read_table
from wane.errors import InvalidDescription, MissingExtra
from wane.signing import ENVELOPE

if TYPE_CHECKING:
    from wane import verify as verifier
    from wane.documents import DocumentCheck, Stated


class OutOfTime(BaseException):
    """The limit has passed; no handler of ordinary errors may keep it from ending the work."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` inside the block once the limit passes, where the system has alarms."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_: int, __: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


MOST_BYTES = 64 * 2**20
MOST_SECONDS = 600.0
MOST_LINES = 40
"""Of contradictions; a document that was made up has more."""
SHORT_CURVE = 3
"""Points that are printed one by one."""


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("verify", verify_file, "compute a certificate again by other means", spec=False)
    made.add_argument(
        "certificate",
        metavar="CERTIFICATE",
        help="a certificate document, JSON, or the folder of a release",
    )
    made.add_argument(
        "--identity",
        metavar="PUBLICKEY",
        help="of a release: who must have signed it, a public key in PEM",
    )
    made.add_argument(
        "--seconds",
        type=float,
        default=MOST_SECONDS,
        help="give up after so long, with status 1 (default %(default)s)",
    )
    made.add_argument(
        "--every-number", action="store_true", help="print the points of each curve one by one"
    )


def verify_file(options: Namespace) -> Result:
    """`wane verify`: status 0 only if something is claimed and all of it is proven."""
    try:
        from wane import documents
    except ImportError as error:
        raise MissingExtra(
            f"verify needs python-flint ({error}); pip install wane[verify]."
        ) from None
    seconds = arguments.real("seconds", options.seconds, above=0.0)
    place = Path(options.certificate)
    if options.identity is not None:
        unsigned = _unsigned(place, options.identity)
        if unsigned:  # what nobody vouches for is not looked at any further
            options.status = 1
            words = "NOT verified: the release is not as the named key signed it"
            told = [words, *(f"  signature: {reason}" for reason in unsigned)]
            return _unread(words, list(unsigned)), "\n".join(told)
    try:
        with limited(seconds):
            if place.is_dir():
                found = documents.check_folder(place)
            else:
                found = documents.check_document(read_table(place, most_bytes=MOST_BYTES))
    except OutOfTime:
        options.status = 1
        words = f"NOT verified: no verdict within {seconds:g} seconds; allow more with --seconds."
        return _unread(words, _signed(place, options.identity)), words
    options.status = 0 if found.verified else 1
    signed = _signed(place, options.identity)
    told = [] if signed is None else [f"  signature: {signed}"]
    fields = _fields(found) | {"signature": signed}
    return fields, "\n".join((_text(found, options.every_number), *told))


def _unread(why: str, signature: str | list[str] | None) -> dict[str, Any]:
    """Return what is printed of a document of which no number was proven."""
    return {"verified": False, "void": None, "why": why, "files": [], "signature": signature}


def _unsigned(place: Path, identity: str) -> tuple[str, ...]:
    """Return the reasons why the release is not signed by this key; empty if it is."""
    from wane import signing

    if not place.is_dir():
        found = "a document" if place.exists() else "no folder of that name"
        raise InvalidDescription(
            f"--identity must go with the folder of a release, got {found}; a signature covers "
            "all files of the folder."
        )
    return signing.check_signature(place, signing.read_identity(identity))


def _signed(place: Path, identity: str | None) -> str | None:
    """Return what to say of the signature, once no check of it has failed; None of none."""
    if identity is not None:
        return f"by {identity}, over every file of the folder"
    there = place.is_dir() and (place / ENVELOPE).exists()
    return "not checked; name the signer with --identity" if there else None


def _fields(found: DocumentCheck) -> dict[str, Any]:
    return {
        "verified": found.verified,
        "void": found.void,
        "contradictions": list(found.contradictions),
        "numbers": [
            {
                "where": row.claim.where,
                "claimed": _shown(row.claim.value),
                "proven": None if row.proven is None else _shown(row.proven),
                "outcome": row.outcome.value,
                "why": row.why,
            }
            for row in found.numbers.checked
        ],
        "stated_not_checked": [_stated(row) for row in found.reading.stated],
        "in_other_words": [_stated(row) for row in found.reading.worded],
        "lacks": list(found.reading.lacks),
        "files": list(found.compared),
    }


def _text(found: DocumentCheck, every_number: bool) -> str:
    lines = [_verdict(found)]
    told = [f"  contradiction: {words}" for words in found.contradictions]
    lines += told[:MOST_LINES]
    if len(told) > MOST_LINES:
        lines.append(f"  and {len(told) - MOST_LINES} more contradictions")
    if not found.void:
        lines += _numbers(found.numbers.checked, every_number)
    lines += [f"  file as released: {name}" for name in found.compared if not found.files]
    lines += [
        f"  stated, not checked: {row.where} = {_brief(row.value)}" for row in found.reading.stated
    ]
    if found.reading.worded:
        lines.append(
            f"  stated, not checked: {len(found.reading.worded)} fields in the words of another "
            "version of wane"
        )
    if found.reading.lacks:
        lacks = ", ".join(found.reading.lacks)
        lines.append(f"  written by wane 0.1, which says nothing of: {lacks}")
    return "\n".join(lines)


def _verdict(found: DocumentCheck) -> str:
    rows = found.numbers.checked
    fine = sum(row.outcome.value == "verified" for row in rows)
    if found.void:
        return "void: the document claims no privacy, so there is nothing to verify"
    if found.verified:
        count = f"{fine} of {len(rows)} numbers proven by an independent computation"
        return f"verified: {count}; {len(found.reading.stated)} fields are stated, not checked"
    if found.contradictions:
        wrong = len(found.contradictions)
        places = "1 place" if wrong == 1 else f"{wrong} places"
        return f"NOT verified: the document is contradicted in {places}"
    return f"NOT verified: {len(rows) - fine} of {len(rows)} numbers are not proven"


def _numbers(rows: Sequence[verifier.CheckedClaim], every_number: bool) -> list[str]:
    """Return a line for each number; the points of a curve that are all proven share one."""
    curves: dict[str, list[verifier.CheckedClaim]] = {}
    for row in rows:
        curves.setdefault(row.claim.where.partition("[")[0], []).append(row)
    lines = []
    for name, points in curves.items():
        proven = all(row.outcome.value == "verified" for row in points)
        if every_number or len(points) <= SHORT_CURVE or not proven:
            lines += [_line(row) for row in points]
        else:
            lines.append(f"  verified: {name}, {len(points)} points")
    return lines


def _line(row: verifier.CheckedClaim) -> str:
    claim = row.claim
    at = f" at delta {claim.at!r}" if claim.quantity.value == "epsilon" else ""
    proven = "" if row.proven is None else f", proven {row.proven!r}"
    why = f" ({row.why})" if row.why else ""
    name = claim.quantity.value
    label = claim.where if claim.where.endswith(name) else f"{claim.where}, {name}"
    return f"  {row.outcome.value}: {label} = {claim.value!r}{at}{proven}{why}"


def _stated(row: Stated) -> dict[str, Any]:
    return {"where": row.where, "value": row.value}


def _brief(value: Any) -> str:
    """Return a value in one line of plain characters, whatever the document holds."""
    text = json.dumps(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _shown(value: float) -> float | str:
    return "infinity" if value == float("inf") else value
