"""Checkpoints for crash recovery, sealed with the user's key and deleted on release.

A checkpoint holds an inner iterate and the state of the generator.  Either would void the guarantee
if it were read, so it is written encrypted or not at all: ChaCha20-Poly1305 under a 256-bit key
that is never stored beside it, in a file that only its owner may read.  A run that is taken up
again continues bit for bit as if it had never stopped, and its end deletes the file.

**What must hold.**  A checkpoint is taken up on the same records only.  The same noise on two data
sets would show their difference, so the file carries, sealed, a keyed hash of the records, and
others are refused.  Sums that have no `fingerprint` are compared by gradients at two points, which
may miss a change that shows in neither.  Public records are compared in the same way: with others,
two ends of one run would share their noise.  Keep no copies of the file.

**One run, one spend.**  The file also holds the run's name, drawn at random when the run began.  It
is on the disk before the run is accounted for, and that before any noise; so a run that is taken up
again is accounted for under the name it had, and comes to the one end it would have come to.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.arrays import Array
from wane.describe import NoisyDescent
from wane.describe.fields import run_to_fields
from wane.errors import InvalidDescription, MissingExtra
from wane.randomness import public_generator

Sums = Callable[[Array, slice], Array]

MAGIC = b"wane-checkpoint-1\n"
KEY_BYTES, NONCE_BYTES, HASH_BYTES = 32, 12, 32
HEADER_BYTES = len(MAGIC) + HASH_BYTES
OWNER_ONLY = 0o600
PROBED_PARTS = 32
"""Records without a fingerprint are compared by so many sums of consecutive ones."""


def new_checkpoint_key() -> bytes:
    """Return a new key from the operating system; keep it apart from the checkpoint."""
    return secrets.token_bytes(KEY_BYTES)


@final
@dataclass(frozen=True)
class Checkpoint:
    """The file of a run's checkpoint, how often it is written, and the key that seals it.

    Attributes:
        path: the file; a run that finds one of its own there continues it.
        key: 32 bytes, as `new_checkpoint_key` makes them.
        every: number of steps between two savings.
        context: public words about the run beside its description; a run with others is refused.
        begun: told the run's name when it is on the disk, before any noise; what it raises ends a
            run, and one that had not begun before leaves no file.
    """

    path: str | Path
    key: bytes = field(repr=False)
    every: int = 1000
    context: str = field(default="", repr=False)
    begun: Callable[[str], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        arguments.whole("every", self.every, least=1)
        if not isinstance(self.key, bytes) or len(self.key) != KEY_BYTES:
            raise InvalidDescription(
                f"key must be {KEY_BYTES} bytes, got something else; make one with "
                "new_checkpoint_key()."
            )
        cipher_of(self.key)

    def __reduce__(self) -> Any:
        raise TypeError("a checkpoint is never pickled: it holds its key.")

    def __copy__(self) -> Checkpoint:
        return self

    def __deepcopy__(self, memo: object) -> Checkpoint:
        return self  # scikit-learn copies what an estimator is given


class Keeper:
    """The checkpoint of one running descent: it saves, resumes and deletes."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        run: NoisyDescent,
        start: Array,
        sums: Sums,
        generator: np.random.Generator,
        *,
        public: Sums | None = None,
    ) -> None:
        """Read the file, if there is one; leaves the generator as it was when the run began."""
        if run.domain.declared:
            raise InvalidDescription(
                "checkpoint must be None for a run with a prox of one's own, got one; a file "
                "cannot hold its function, and two functions could be run with the same noise."
            )
        self._path = Path(checkpoint.path)
        self._every = checkpoint.every
        self._cipher = cipher_of(checkpoint.key)
        self._begun = checkpoint.begun
        self._header = MAGIC + _fingerprint(run_to_fields(run), start, checkpoint.context)
        self._generator = generator
        self._records = _records_of(sums, checkpoint.key, self._header, start.shape, run.records)
        if run.public is not None and public is not None:
            count = run.public.records
            known = _records_of(public, checkpoint.key, self._header, start.shape, count)
            both = self._records.tobytes() + known.tobytes()
            self._records = np.frombuffer(both, np.uint8)
        self._found = self._read()
        self._first: Mapping[str, Any] = generator.bit_generator.state
        self._name = secrets.token_hex(16)
        if self._found is not None:
            self._name = str(self._found["name"])
            self._first = _state_in(str(self._found["first"]))
            self._set_generator(self._first)

    def begin(self, start: Array) -> tuple[Array, list[Array], int, int]:
        """Return where to begin: iterate, iterates to release, steps done, steps with records.

        A run that finds no file saves its start, so that a bad place is refused before any noise.
        """
        if self._found is None:
            self._write(start, [], 0, 0)
            try:
                self._tell()
            except BaseException:
                self.finish()  # nothing was drawn
                raise
            return start, [], 0, 0
        self._tell()
        state, self._found = self._found, None
        self._set_generator(_state_in(str(state["now"])))
        return state["iterate"], list(state["released"]), int(state["done"]), int(state["used"])

    def step(self, iterate: Array, released: list[Array], done: int, used: int) -> None:
        """Save the run if it is time; a disk that has filled up does not end it."""
        if done % self._every:
            return
        try:
            self._write(iterate, released, done, used)
        except InvalidDescription as error:
            warnings.warn(f"{error} The run goes on without saving.", stacklevel=3)

    def finish(self) -> None:
        """Delete the file; warn if that fails, since the release itself is not lost."""
        try:
            self._path.unlink(missing_ok=True)
            self._part.unlink(missing_ok=True)
        except OSError as error:
            warnings.warn(
                f"checkpoint {self._path!s:.120} cannot be deleted: {error.strerror}. "
                "Delete it, or its key.",
                stacklevel=3,
            )

    def _tell(self) -> None:
        if self._begun is not None:
            self._begun(self._name)

    @property
    def _part(self) -> Path:
        return self._path.with_name(self._path.name + ".part")

    def _set_generator(self, state: Mapping[str, Any]) -> None:
        own = dict(self._generator.bit_generator.state)
        if own["state"].keys() == state["state"].keys():
            # the name may be another: a private generator has a class of its own
            self._generator.bit_generator.state = own | {"state": state["state"]}
            return
        raise InvalidDescription(
            f"generator must be of the kind that the run began with, "
            f"got {type(self._generator.bit_generator).__name__}."
        )

    def _write(self, iterate: Array, released: list[Array], done: int, used: int) -> None:
        plain = BytesIO()
        np.savez(
            plain,
            iterate=iterate,
            released=np.stack(released) if released else np.empty(0),
            done=done,
            used=used,
            first=_state_out(self._first),
            now=_state_out(self._generator.bit_generator.state),
            records=self._records,
            name=self._name,
        )
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, plain.getvalue(), self._header)
        try:
            write_whole(self._part, self._path, self._header + sealed)
        except OSError as error:
            raise InvalidDescription(
                f"checkpoint {self._path!s:.120} cannot be written: {error.strerror}."
            ) from None

    def _read(self) -> dict[str, Any] | None:
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidDescription(
                f"checkpoint {self._path!s:.120} cannot be read: {error.strerror}."
            ) from None
        if not raw.startswith(MAGIC):
            raise InvalidDescription(f"{self._path!s:.120} must be a checkpoint, got another file.")
        if raw[:HEADER_BYTES] != self._header:
            raise InvalidDescription(
                f"checkpoint {self._path!s:.120} must be of this description and start, got "
                "another's; delete it to begin anew."
            )
        state = self._unsealed(raw[HEADER_BYTES:])
        if state["records"].tobytes() != self._records.tobytes():
            raise InvalidDescription(
                f"checkpoint {self._path!s:.120} must be taken up on the records it began with, "
                "got others; delete it to begin anew, and count the first run as spent."
            )
        return state

    def _unsealed(self, sealed: bytes) -> dict[str, Any]:
        from cryptography.exceptions import InvalidTag

        nonce, body = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            plain = self._cipher.decrypt(nonce, body, self._header)
        except (InvalidTag, ValueError):
            raise InvalidDescription(
                f"key must be the one that sealed the checkpoint {self._path!s:.120}, got another, "
                "or the file is damaged."
            ) from None
        with np.load(BytesIO(plain), allow_pickle=False) as archive:
            return dict(archive)


def cipher_of(key: bytes) -> Any:
    """Return what seals and unseals under this key."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    except ImportError:
        raise MissingExtra(
            "checkpoints are written encrypted or not at all, which needs cryptography; "
            "install wane[checkpoints]."
        ) from None
    return ChaCha20Poly1305(key)


def write_whole(part: Path, place: Path, content: bytes) -> None:
    """Replace a file by new content in one instant, readable by its owner only."""
    part.unlink(missing_ok=True)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _fingerprint(described: dict[str, Any], start: Array, context: str) -> bytes:
    """Return the SHA-256 of the description, the context and the start, all of them public."""
    text = json.dumps([described, context], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode() + start.tobytes()).digest()


def _records_of(
    sums: Sums, key: bytes, header: bytes, shape: tuple[int, ...], records: int
) -> NDArray[Any]:
    """Return what identifies these records: their keyed hash, or else gradients at two points."""
    find: Callable[[bytes], bytes | None] = getattr(sums, "fingerprint", lambda key: None)
    digest = find(key)
    if digest is not None:
        return np.frombuffer(digest, np.uint8)
    chance = public_generator(int.from_bytes(hmac.digest(key, header, "sha256")))
    cuts = np.unique(np.linspace(0, records, PROBED_PARTS + 1).astype(np.intp)).tolist()
    with np.errstate(all="ignore"):
        gradients = [
            np.asarray(sums(point, slice(first, last)), dtype=np.float64)
            for point in (np.zeros(shape), chance.standard_normal(shape))
            for first, last in pairwise(cuts)
        ]
    return np.stack(gradients)


def _state_out(state: Mapping[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return {"array": value.tolist(), "dtype": str(value.dtype)}
        raise TypeError(type(value).__name__)

    return json.dumps(state, default=plain)


def _state_in(text: str) -> dict[str, Any]:
    def back(value: dict[str, Any]) -> Any:
        return np.array(value["array"], value["dtype"]) if "array" in value else value

    state: dict[str, Any] = json.loads(text, object_hook=back)
    return state


def write_sealed(checkpoint: Checkpoint, name: str, **arrays: Any) -> None:
    """Write arrays to the checkpoint's file, sealed under its key and bound to a public name."""
    plain, path = BytesIO(), Path(checkpoint.path)
    np.savez(plain, **arrays)
    header = MAGIC + hashlib.sha256((name + checkpoint.context).encode()).digest()
    nonce = secrets.token_bytes(NONCE_BYTES)
    sealed = nonce + cipher_of(checkpoint.key).encrypt(nonce, plain.getvalue(), header)
    try:
        write_whole(path.with_name(path.name + ".part"), path, header + sealed)
    except OSError as error:
        raise InvalidDescription(
            f"checkpoint {path!s:.120} cannot be written: {error.strerror}."
        ) from None


def read_sealed(checkpoint: Checkpoint, name: str) -> dict[str, Any]:
    """Return the arrays that `write_sealed` wrote under this name and key; delete the file."""
    from cryptography.exceptions import InvalidTag

    path = Path(checkpoint.path)
    header = MAGIC + hashlib.sha256((name + checkpoint.context).encode()).digest()
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InvalidDescription(
            f"checkpoint {path!s:.120} cannot be read: {error.strerror}."
        ) from None
    if raw[:HEADER_BYTES] != header:
        raise InvalidDescription(
            f"checkpoint {path!s:.120} must be of this run, got another's or another file."
        )
    nonce, body = raw[HEADER_BYTES : HEADER_BYTES + NONCE_BYTES], raw[HEADER_BYTES + NONCE_BYTES :]
    try:
        plain = cipher_of(checkpoint.key).decrypt(nonce, body, header)
    except (InvalidTag, ValueError):
        raise InvalidDescription(
            f"key must be the one that sealed the checkpoint {path!s:.120}, got another, or the "
            "file is damaged."
        ) from None
    with np.load(BytesIO(plain), allow_pickle=False) as archive:
        arrays = dict(archive)
    path.unlink()
    return arrays
