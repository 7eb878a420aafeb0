"""What the commands' options share: numbers, delta, and the shape of a verb."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Protocol

from wane.errors import InvalidDescription

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


def add_account(parser: Any) -> None:
    """Add --ledger and --dataset."""
    parser.add_argument("--ledger", metavar="FILE", help="enter the release there")
    parser.add_argument("--dataset", metavar="NAME", help="whose budget the ledger keeps")


def account_of(options: argparse.Namespace) -> Any:
    """Return the account that --ledger and --dataset name, or None."""
    if (options.ledger is None) != (options.dataset is None):
        raise InvalidDescription("--ledger and --dataset belong together; give both or none.")
    if options.ledger is None:
        return None
    from wane.ledger import Ledger

    return Ledger(options.ledger).account(options.dataset)
