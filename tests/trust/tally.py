"""What this folder's tests tried, printed at the end of the session."""

from collections import Counter

COUNTS: Counter[str] = Counter()
"""By what was counted, such as "faults injected"."""
