"""`wane serve`: the local web page."""

from __future__ import annotations

import sys
from argparse import Namespace

from wane.cli.options import Result, Verb, whole


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("serve", serve, "turn the knobs of a description in a browser", spec=False)
    made.add_argument("--host", default="127.0.0.1", help="loopback address (default 127.0.0.1)")
    made.add_argument("--port", type=whole, default=8765, help="port (default 8765)")


def serve(options: Namespace) -> Result:
    """Serve until interrupted."""
    from wane.web import serve as start

    def ready(address: str) -> None:
        sys.stderr.write(f"wane: {address} (stop with Ctrl-C)\n")
        sys.stderr.flush()

    start(options.host, options.port, ready=ready)
    return {"served": True}, "stopped"
