"""Every error wane raises on purpose.

WaneError
|-- InvalidDescription    an argument or a file says something impossible (also a ValueError)
|-- NoTheoremApplies      the description is fine, but nothing known covers it
|-- Unreachable           no setting of the searched quantity meets the target
`-- MissingExtra          an optional dependency is not installed
"""

from __future__ import annotations


class WaneError(Exception):
    """Base of all errors raised on purpose; its message is one line with the cure."""


class InvalidDescription(WaneError, ValueError):
    """An argument or a file says something impossible."""


class NoTheoremApplies(WaneError):
    """The description is valid, but no known theorem covers it."""


class Unreachable(WaneError):
    """No setting of the searched quantity meets the target."""


class MissingExtra(WaneError, ImportError):
    """An optional dependency is not installed."""
