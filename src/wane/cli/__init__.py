"""The command line: `wane fit`, `certify`, `calibrate`, `explain` and the rest; see `--help`."""

from wane.cli.main import main

__all__ = ["main"]
