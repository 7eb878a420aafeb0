"""`wane serve`: the local web page."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from wane.cli.options import Result, Verb, add_account, whole
from wane.errors import InvalidDescription


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("serve", serve, "turn the knobs of a description in a browser", spec=False)
    made.add_argument("--host", default="127.0.0.1", help="loopback address (default 127.0.0.1)")
    made.add_argument("--port", type=whole, default=8765, help="port (default 8765)")
    made.add_argument(
        "--table", metavar="FILE", help="also a page that fits a model to this table, here"
    )
    made.add_argument("--schema", metavar="FILE", help="with --table: a schema to start from")
    made.add_argument("--out", metavar="DIR", help="with --table: new folder for the release")
    add_account(made)


def serve(options: Namespace) -> Result:
    """Serve until interrupted."""
    from wane.web import serve as start

    def ready(address: str) -> None:
        sys.stderr.write(f"wane: {address} (stop with Ctrl-C)\n")
        sys.stderr.flush()

    start(options.host, options.port, table=_table(options), ready=ready)
    return {"served": True}, "stopped"


FORWARDED = ("ledger", "dataset", "organisation", "responsible")
"""Options of `wane fit` that the page hands on."""


def _table(options: Namespace) -> Any:
    """Return the table that --table names, or None."""
    if options.table is None:
        for name in ("schema", "out", *FORWARDED):
            if getattr(options, name) is not None:
                raise InvalidDescription(f"--{name} belongs to --table; give both or none.")
        return None
    if options.out is None:
        raise InvalidDescription("--out must name a new folder for the release, got none.")
    if options.ledger is not None and options.dataset is None:
        raise InvalidDescription("--ledger needs --dataset, the name whose budget it keeps.")
    from wane.web import LocalTable

    said = [(name, getattr(options, name)) for name in FORWARDED]
    handed = [f"--{name}={value}" for name, value in said if value is not None]
    handed += ["--new"] if options.new else []
    schema = None if options.schema is None else Path(options.schema)
    return LocalTable(Path(options.table), Path(options.out), schema, tuple(handed))
