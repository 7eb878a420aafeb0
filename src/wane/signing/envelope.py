"""Write and check the DSSE envelope that signs the files of a release folder.

The envelope is read strictly: one signature, and no spelling but the one that is written here.  So
a changed byte is refused even where it changes no meaning, such as a blank between two fields.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wane.describe.files import read_json
from wane.errors import InvalidDescription
from wane.signing.keys import key_identifier
from wane.signing.statement import release_statement

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

ENVELOPE = "release.dsse.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_BYTES = 128 * 2**20


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that DSSE signs: both parts with their lengths, so that neither can shift.

    >>> pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_folder(folder: Path, key: Ed25519PrivateKey, *, force: bool = False) -> dict[str, Any]:
    """Write the signed statement of a release into its folder, and return the statement."""
    place = folder / ENVELOPE
    if place.exists() and not force:
        raise InvalidDescription(f"{place!s:.120} must not exist yet; say --force to replace it.")
    statement = release_statement(folder, without=ENVELOPE)
    payload = json.dumps(statement, separators=(",", ":"), allow_nan=False).encode()
    signature = key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    content = _spelled(payload, key_identifier(key.public_key()), signature)
    part = folder.parent / f".wane-{folder.name}.part"
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(place)
    except OSError as error:
        reason = error.strerror or "the system refuses it"
        raise InvalidDescription(f"{place!s:.120} cannot be written: {reason}.") from None
    finally:
        part.unlink(missing_ok=True)
    return statement


def check_signature(folder: Path, identity: Ed25519PublicKey) -> tuple[str, ...]:
    """Return why a release is not as this key signed it; nothing if it is, to the last byte."""
    from cryptography.exceptions import InvalidSignature

    try:
        raw = _content(folder / ENVELOPE)
        payload, named, signature = _parts(raw)
    except InvalidDescription as error:
        return (str(error),)
    if named != key_identifier(identity):
        return (f"{ENVELOPE} was signed by another key than the one that was named",)
    try:
        identity.verify(signature, pre_authentication_encoding(PAYLOAD_TYPE, payload))
    except InvalidSignature:
        return (f"the signature in {ENVELOPE} is not that of the named key over this statement",)
    if raw != _spelled(payload, named, signature):
        return (f"{ENVELOPE} must be spelled as wane spells it, got another spelling",)
    return tuple(_differences(folder, payload))


def _content(place: Path) -> bytes:
    try:
        with place.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InvalidDescription(f"{ENVELOPE} is missing: the release is not signed") from None
    except OSError as error:
        reason = error.strerror or "the system refuses it"
        raise InvalidDescription(f"{ENVELOPE} cannot be read: {reason}") from None
    if len(raw) > MOST_BYTES:
        raise InvalidDescription(f"{ENVELOPE} must be at most {MOST_BYTES} bytes, got more")
    return raw


def _parts(raw: bytes) -> tuple[bytes, str, bytes]:
    """Return the payload, the identifier of the key that signed it, and the signature."""
    envelope = read_json(raw, ENVELOPE)
    try:
        (row,) = envelope["signatures"]
        if envelope["payloadType"] != PAYLOAD_TYPE:
            raise ValueError
        payload = base64.b64decode(envelope["payload"], validate=True)
        return payload, str(row["keyid"]), base64.b64decode(row["sig"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise InvalidDescription(
            f"{ENVELOPE} must be a DSSE envelope with one in-toto statement and one signature, got "
            "something else"
        ) from None


def _spelled(payload: bytes, identifier: str, signature: bytes) -> bytes:
    """Return the envelope as text, in the only form that is accepted."""
    envelope = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": identifier, "sig": base64.b64encode(signature).decode()}],
    }
    return (json.dumps(envelope, indent=2) + "\n").encode()


def _differences(folder: Path, payload: bytes) -> Iterator[str]:
    """Yield each difference between the folder and the one that was signed."""
    try:
        signed = read_json(payload, "the signed statement")
        current = release_statement(folder, without=ENVELOPE)
        before, now = _digests(signed), _digests(current)
    except InvalidDescription as error:
        yield str(error)
        return
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            yield f"{name!a} was signed and is missing"
        elif name not in before:
            yield f"{name!a} was not signed"
        elif before[name] != now[name]:
            yield f"{name!a} is not the file that was signed"
    if signed.get("predicateType") != current["predicateType"]:
        yield "the signed statement is of another type than wane's certificates"
    elif signed != current and before == now:
        yield "the signed statement is not that of this release"


def _digests(statement: Any) -> dict[str, str]:
    try:
        return {row["name"]: row["digest"]["sha256"] for row in statement["subject"]}
    except (KeyError, TypeError):
        raise InvalidDescription(
            "the signed statement must be an in-toto statement, got something else"
        ) from None
