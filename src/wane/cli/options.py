"""What the commands' options share: numbers, delta, and the shape of a verb."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from wane.certificates import Particulars
from wane.errors import InvalidDescription, reason_of

Result = tuple[dict[str, Any], str]
"""What a command answers: JSON-ready data, and the same as text."""

Command = Callable[[argparse.Namespace], Result]


class Verb(Protocol):
    """Adds a command and returns its parser."""

    def __call__(self, name: str, command: Command, words: str, *, spec: bool = True) -> Any:
        """Add the command `name`; `spec` if it takes a description first."""
        ...


def add_delta(parser: Any) -> None:
    """Add --delta with its default."""
    parser.add_argument("--delta", type=number, default=1e-5, help="delta (default 1e-5)")


def number(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r:.60}") from None


def whole(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r:.60}") from None


def add_release(parser: Any) -> None:
    """Add --out and --force for the folder of a release, and what `add_account` adds."""
    parser.add_argument("--out", required=True, metavar="DIR", help="new folder for the release")
    parser.add_argument("--force", action="store_true", help="replace an earlier release")
    add_account(parser)


def add_account(parser: Any) -> None:
    """Add --ledger, and what page one of the certificate says of the records and their holder."""
    parser.add_argument("--ledger", metavar="FILE", help="enter the release there, with --dataset")
    parser.add_argument(
        "--new", action="store_true", help="begin an account, and the ledger if there is none"
    )
    add_particulars(parser)


def add_seed(parser: Any) -> None:
    """Add --seed-voids-privacy."""
    parser.add_argument(
        "--seed-voids-privacy", type=whole, metavar="N", help="repeatable, and not private at all"
    )


def add_particulars(parser: Any) -> None:
    """Add --dataset, --organisation and --responsible, which page one of a certificate names."""
    parser.add_argument("--dataset", metavar="NAME", help="public name of the records")
    parser.add_argument("--organisation", metavar="NAME", help="who holds the records")
    parser.add_argument("--responsible", metavar="NAME", help="who answers for the release")


def particulars_of(options: argparse.Namespace, product: str = "") -> Particulars:
    """Return what page one names: what the options say, what was made, and today's date."""
    names = ("dataset", "organisation", "responsible")
    said = {name: getattr(options, name) or "" for name in names}
    return Particulars(product=product, date=date.today().isoformat(), **said)


def account_of(options: argparse.Namespace) -> Any:
    """Return the account that --ledger and --dataset name, or None."""
    if options.ledger is None:
        return None
    if options.dataset is None:
        raise InvalidDescription("--ledger needs --dataset, the name whose budget it keeps.")
    from wane.ledger import HeldAccount, Ledger

    begun = options.new and not Path(options.ledger).exists()
    return HeldAccount(Ledger(options.ledger, new=begun).account(options.dataset, new=options.new))


def confirm(account: Any) -> None:
    """Write down that what was entered is out, if a ledger is kept."""
    if account is not None:
        account.confirm()


def earlier_releases(account: Any, delta: float) -> Any:
    """Return what the ledger holds of the same records, or None if none is kept."""
    return None if account is None else account.account.so_far(delta)


def add_checkpoint(parser: Any) -> None:
    """Add --checkpoint, --key-file and --checkpoint-every."""
    parser.add_argument(
        "--checkpoint", metavar="FILE", help="save the run there, sealed, and take it up again"
    )
    parser.add_argument(
        "--key-file", metavar="FILE", help="32 random bytes that seal it; keep them elsewhere"
    )
    parser.add_argument(
        "--checkpoint-every",
        type=whole,
        default=1000,
        metavar="STEPS",
        help="between two savings (default 1000)",
    )


def checkpoint_of(options: argparse.Namespace) -> Any:
    """Return the checkpoint that --checkpoint and --key-file name, or None."""
    if (options.checkpoint is None) != (options.key_file is None):
        raise InvalidDescription(
            "--checkpoint and --key-file belong together: a checkpoint is written encrypted or not "
            "at all; give both or none."
        )
    if options.checkpoint is None:
        return None
    from wane.run import Checkpoint

    key = _key_in(Path(options.key_file))
    return Checkpoint(options.checkpoint, key, every=options.checkpoint_every)


def _key_in(place: Path) -> bytes:
    """Return the key in a file that nobody but its owner can read."""
    try:
        shared = os.name == "posix" and stat.S_IMODE(place.stat().st_mode) & 0o077
        key = b"" if shared else place.read_bytes()
    except FileNotFoundError:
        raise InvalidDescription(
            f"--key-file {place!s:.120} must exist, got no such file; make one that only you can "
            "read, for instance with: (umask 077; openssl rand -out FILE 32)"
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidDescription(
            f"--key-file {place!s:.120} cannot be read: {reason_of(error)}."
        ) from None
    if shared:
        raise InvalidDescription(
            f"--key-file {place!s:.120} must be readable by its owner only; say chmod 600 FILE, or "
            "make another if others may have seen it."
        )
    if len(key) != 32:
        raise InvalidDescription(
            f"--key-file {place!s:.120} must hold 32 bytes, got {len(key)}; make one with: "
            "(umask 077; openssl rand -out FILE 32)"
        )
    return key
