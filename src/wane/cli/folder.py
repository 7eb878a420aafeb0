"""Files and folders that appear whole or not at all, and the certificate that binds their files."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from wane import report
from wane.certificates import with_files
from wane.describe.files import sha256_of
from wane.errors import InvalidDescription, reason_of
from wane.signing import ENVELOPE

OURS = frozenset(
    {
        "model.npz",
        "schema.json",
        "description.json",
        "certificate.json",
        "certificate.html",
        "model-card.md",
        "samples.csv",
        "distance.json",
        "statistic.json",
        ENVELOPE,
    }
)
"""What `fit`, `sample`, `release` and `sign` write; a folder with anything else is not replaced."""


HIDDEN = ".wane-"
"""How the names begin of what is not whole yet."""


@contextmanager
def new_folder(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which takes its place if all goes well.

    It is made before any work begins, so that a place that cannot be written to is refused first,
    and so is a place that another run is about to take.
    """
    place = Path(path)
    with complaints(place):
        _check_free(place, force)
        place.parent.mkdir(parents=True, exist_ok=True)
        _sweep(place.parent)
    with _reserved(place) as made:
        with complaints(place):
            _check_free(place, force)  # another run may just have ended
        yield made
        with complaints(place):
            _flushed(made)
            _take_place(made, place, force)


@contextmanager
def _reserved(place: Path) -> Iterator[Path]:
    """Yield the one folder in which a run may prepare what takes this place."""
    name = hashlib.sha256(place.name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    made = place.parent / f"{HIDDEN}{name}"
    with complaints(place):
        made.mkdir(exist_ok=True)
        held = _lock(made)
        if held is None:
            raise InvalidDescription(
                f"{place!s:.120} must be written by one run at a time, got another that has begun; "
                "name another folder."
            )
    try:
        with complaints(place):
            for entry in made.iterdir():  # of a run that was killed
                entry.unlink()
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(held)


def _lock(folder: Path) -> int | None:
    """Hold a folder as long as the descriptor is open; None if another process holds it."""
    held = os.open(folder, os.O_RDONLY)
    try:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    except (ImportError, OSError):  # no locks on this system
        return held
    return held


def _sweep(parent: Path) -> None:
    """Remove the empty folders of runs that were killed; those of running ones are held."""
    with suppress(OSError):
        for entry in parent.glob(f"{HIDDEN}*"):
            if not entry.is_dir() or any(entry.iterdir()):
                continue
            held = _lock(entry)
            if held is not None:
                with suppress(OSError):
                    entry.rmdir()
                os.close(held)


@contextmanager
def new_file(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Yield the name of a file beside `path`, which takes its place if all goes well."""
    place = Path(path)
    check_new(place, force=force)
    with complaints(place):
        made = _beside(place)
        made.touch(exist_ok=False)
    try:
        with complaints(place):
            yield made
            made.replace(place)
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def check_new(path: str | Path, *, force: bool = False) -> None:
    """Refuse to write over a file, unless it may be replaced."""
    place = Path(path)
    with complaints(place):
        if place.is_dir() or (place.exists() and not force):
            raise InvalidDescription(
                f"{place!s:.120} must not exist yet; say --force to replace it."
            )


def write_text(path: Path, text: str) -> None:
    """Write a file, or say in one line why not."""
    with complaints(path):
        path.write_text(text, encoding="utf-8")


def _beside(place: Path) -> Path:
    """Return a name in the same folder that nobody else uses."""
    return place.parent / f"{HIDDEN}{secrets.token_hex(8)}"


def _check_free(place: Path, force: bool) -> None:
    try:
        place.lstat()  # also refuses names that no file can have
    except FileNotFoundError:
        return
    if not force:
        raise InvalidDescription(f"{place!s:.120} must not exist yet; say --force to replace it.")
    if place.is_symlink() or not place.is_dir():
        raise InvalidDescription(f"{place!s:.120} must be a folder to be replaced, got a file.")
    if any(not _ours(entry.name) for entry in place.iterdir()):
        raise InvalidDescription(
            f"{place!s:.120} must hold nothing but an earlier result to be replaced, got other "
            "files; name another folder."
        )


def _ours(name: str) -> bool:
    """Whether a file is one that a release writes; each level of a statistic has two more."""
    return name in OURS or name.startswith(("statistic-", "certificate-"))


def _take_place(made: Path, place: Path, force: bool) -> None:
    _check_free(place, force)  # somebody may have come first
    if place.exists():
        old = _beside(place)
        place.replace(old)
        made.replace(place)
        shutil.rmtree(old, ignore_errors=True)
    else:
        made.replace(place)


def _flushed(folder: Path) -> None:
    """Have the files on the disk before the folder gets its name."""
    for entry in folder.iterdir():
        with entry.open("rb") as stream:
            os.fsync(stream.fileno())


@contextmanager
def complaints(place: Path) -> Iterator[None]:
    """Turn what the file system refuses into one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidDescription):
            raise
        raise InvalidDescription(f"{place!s:.120} cannot be written: {reason_of(error)}.") from None


def write_certificate(folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    """Bind a document to all files that are in the folder, and write it beside them."""
    with complaints(folder):
        hashes = {entry.name: sha256_of(entry) for entry in sorted(folder.iterdir())}
    made = with_files(document, hashes)
    write_json(folder / "certificate.json", made)
    write_text(folder / "certificate.html", report.html_page(made))
    return made


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write one JSON object, readably."""
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")
