"""`wane verify`: a certificate computed again by other means, number by number."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from wane.cli.options import Result, Verb
from wane.describe.files import read_table
from wane.errors import InvalidDescription, MissingExtra

if TYPE_CHECKING:
    from wane.verify import Checked, Verification

MOST_BYTES = 64 * 2**20


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("verify", verify_file, "compute a certificate again by other means", spec=False)
    made.add_argument("certificate", metavar="CERTIFICATE", help="a certificate document, JSON")


def verify_file(options: Namespace) -> Result:
    """`wane verify`."""
    try:
        from wane.verify import verify
    except ImportError as error:
        raise MissingExtra(
            f"verify needs python-flint ({error}); pip install wane[verify]."
        ) from None
    document = read_table(options.certificate, most_bytes=MOST_BYTES)
    if not isinstance(document, dict):
        raise InvalidDescription(f"{options.certificate} must hold one JSON object.")
    found = verify(document)
    options.status = 0 if found.verified else 1
    return _fields(found), _text(found)


def _fields(found: Verification) -> dict[str, Any]:
    return {
        "verified": found.verified,
        "contradictions": list(found.contradictions),
        "numbers": [
            {
                "where": row.claim.where,
                "claimed": _shown(row.claim.value),
                "proven": None if row.proven is None else _shown(row.proven),
                "outcome": row.outcome.value,
                "why": row.why,
            }
            for row in found.checked
        ],
    }


def _text(found: Verification) -> str:
    lines = [f"  contradiction: {words}" for words in found.contradictions]
    lines += [_line(row) for row in found.checked]
    fine = sum(row.outcome.value == "verified" for row in found.checked)
    verdict = "verified" if found.verified else "NOT verified"
    count = f"{fine} of {len(found.checked)} numbers proven by an independent computation"
    return "\n".join([f"{verdict}: {count}", *lines])


def _line(row: Checked) -> str:
    proven = "" if row.proven is None else f", proven {row.proven!r}"
    why = f" ({row.why})" if row.why else ""
    return f"  {row.outcome.value}: {row.claim.where} = {row.claim.value!r}{proven}{why}"


def _shown(value: float) -> float | str:
    return "infinity" if value == float("inf") else value
