"""The command line: `wane certify`, `calibrate`, `explain`, `curve`, `demo`."""

from wane.cli.main import main

__all__ = ["main"]
