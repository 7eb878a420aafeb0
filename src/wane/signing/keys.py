"""Read and write Ed25519 keys as PEM files; a private key's file is readable by its owner only."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from wane.errors import InvalidDescription, MissingExtra, reason_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

OWNER_ONLY = 0o600
PUBLIC_SUFFIX = ".pub"
MOST_BYTES = 2**16
"""Of a key file; a real one has about a hundred."""


def new_key_pair(path: str | Path) -> Path:
    """Write a new private key to `path` and its public key beside it; return the latter's path.

    Neither file may exist yet: an overwritten key signs nothing any more.
    """
    _require_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Path(path)
    public = private.with_name(private.name + PUBLIC_SUFFIX)
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write_new(public, public_text(key.public_key()), 0o644)
    try:
        _write_new(private, secret, OWNER_ONLY)
    except InvalidDescription:
        public.unlink(missing_ok=True)
        raise
    return public


def read_signer(path: str | Path) -> Ed25519PrivateKey:
    """Return the private key of a PEM file that nobody but its owner can read."""
    _require_library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    place = Path(path)
    raw = _bytes_of("key", place)
    if os.name == "posix" and stat.S_IMODE(place.stat().st_mode) & 0o077:
        raise InvalidDescription(
            f"key {place!s:.120} must be readable by its owner only; say chmod 600 FILE, or make "
            "another with wane key new if others may have seen it."
        )
    try:
        key = load_pem_private_key(raw, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm):  # its words might quote the key
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidDescription(
            f"key {place!s:.120} must be an Ed25519 private key in PEM, without a password, got "
            "something else; make one with wane key new --out FILE."
        )
    return key


def read_identity(path: str | Path) -> Ed25519PublicKey:
    """Return the public key of a PEM file, whose owner is expected to have signed."""
    _require_library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    place = Path(path)
    raw = _bytes_of("identity", place)
    try:
        key = load_pem_public_key(raw)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidDescription(
            f"identity {place!s:.120} must be an Ed25519 public key in PEM, got something else; "
            f"it is the file that ends in {PUBLIC_SUFFIX}."
        )
    return key


def public_text(key: Ed25519PublicKey) -> bytes:
    """Return a public key as PEM."""
    from cryptography.hazmat.primitives import serialization

    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def key_identifier(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of the key's SubjectPublicKeyInfo, which names it in the envelope."""
    from cryptography.hazmat.primitives import serialization

    raw = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(raw).hexdigest()


def _bytes_of(name: str, place: Path) -> bytes:
    try:
        with place.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InvalidDescription(
            f"{name} {place!s:.120} cannot be read: {reason_of(error)}."
        ) from None
    if len(raw) > MOST_BYTES:
        raise InvalidDescription(f"{name} {place!s:.120} must be a key in PEM, got a large file.")
    return raw


def _write_new(place: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise InvalidDescription(
            f"{place!s:.120} must not exist yet; a key is never replaced, name another file."
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidDescription(f"{place!s:.120} cannot be written: {reason_of(error)}.") from None


def _require_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingExtra("signatures need cryptography; install wane[sign].") from None
