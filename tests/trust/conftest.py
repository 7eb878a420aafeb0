"""Print the counts of the trust tests, whatever else is captured."""

from trust.tally import COUNTS


def pytest_terminal_summary(terminalreporter):
    if COUNTS:
        counted = ", ".join(f"{count:,} {what}" for what, count in sorted(COUNTS.items()))
        terminalreporter.write_line(f"trust: {counted}")
