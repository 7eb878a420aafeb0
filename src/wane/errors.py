"""Every error wane raises on purpose.

WaneError
|-- InvalidDescription    an argument or a file says something impossible (also a ValueError)
|-- NoTheoremApplies      the description is fine, but nothing known covers it
|-- Unreachable           no setting of the searched quantity meets the target
`-- MissingExtra          an optional dependency is not installed

PrivacyWarning            what was asked for is likely a mistake; says so from public facts alone
|-- UnscaledFeatures      no public bounds of the columns were declared
`-- NothingGained         hidden state makes no difference to this run
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


class PrivacyWarning(UserWarning):
    """What was asked for is likely a mistake; the warning looks at public facts alone."""


class UnscaledFeatures(PrivacyWarning):
    """No public bounds of the columns were declared."""


class NothingGained(PrivacyWarning):
    """The guarantee would be the same if every iterate were published."""


def reason_of(error: OSError | ValueError) -> str:
    """Return why the system does not open a file, in its words, which do not name the file."""
    return getattr(error, "strerror", None) or "the name is not one of a file"
