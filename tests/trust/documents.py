"""Documents as they are written and read again, checked, and tampered with."""

import copy
import json

import jsonschema

from trust.sealed import sealed
from trust.tally import COUNTS
from wane.certificates import certificate_document, certificate_schema
from wane.verify import Outcome, verify
from wane.verify.claims import contradictions, described_run


def document_of(certificate, **at):
    made = certificate_document(certificate, **(at or {"delta": 1e-5}))
    return json.loads(json.dumps(made, allow_nan=False))


def valid(document):
    jsonschema.Draft202012Validator(certificate_schema()).validate(document)


def failures(found):
    return [row for row in found.checked if row.outcome is not Outcome.VERIFIED]


def lower(value):
    return value if not isinstance(value, float) else value * (1.0 - 1e-6)


def lowered(document):
    document["epsilon"] = lower(document["epsilon"])


def redescribed(document):
    document["description"]["records"] += 1


def rehashed(document):
    document["configuration_sha256"] = document["configuration_sha256"][::-1]


TAMPERED = (lowered, redescribed, rehashed)


def check(document):
    """The document is verified; lowered, described otherwise or with another hash it is not."""
    found = verify(document)
    assert found.verified, (failures(found), found.contradictions)
    COUNTS["certificates verified"] += 1
    COUNTS["certified numbers proven again"] += len(found.checked)
    for tamper in TAMPERED:
        changed = copy.deepcopy(document)
        tamper(changed)
        if changed == document:  # an epsilon of zero or infinity cannot be lowered
            continue
        # a document that contradicts itself is never called verified, whatever its numbers are
        for forged in (changed, sealed(changed)):
            assert contradictions(forged, described_run(forged)), tamper
        COUNTS["tampered certificates refused"] += 1
