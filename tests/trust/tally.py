"""What this folder's tests tried, printed at the end of the session, whoever ran them.

Under xdist tests run in other processes; each hands its counts to the one that prints.  That one
collects nothing, so the hooks are registered by the `conftest.py` that every session reads first.
"""

from collections import Counter

import pytest

COUNTS: Counter[str] = Counter()
"""By what was counted, such as "faults injected"."""
HANDED_OVER = "trust counts"


def pytest_sessionfinish(session):
    handing = getattr(session.config, "workeroutput", None)  # of an xdist worker
    if handing is not None:
        handing[HANDED_OVER] = dict(COUNTS)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    COUNTS.update(getattr(node, "workeroutput", {}).get(HANDED_OVER, {}))


def pytest_terminal_summary(terminalreporter):
    if COUNTS:
        counted = ", ".join(f"{count:,} {what}" for what, count in sorted(COUNTS.items()))
        terminalreporter.write_line(f"trust: {counted}")
