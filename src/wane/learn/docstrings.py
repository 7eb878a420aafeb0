"""The whole docstring of an estimator: its own words, and the parameters that it inherits.

A parameter is described once, in the class that declares it; `help` shows all of them on every
estimator, as a reader of scikit-learn expects.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

SECTIONS = ("Args", "Attributes", "Example")
_OWN: dict[type, dict[str, str]] = {}


def completed(kind: type) -> str | None:
    """Return the class's docstring with the inherited entries of its sections behind its own."""
    own = _OWN[kind] = _sections(kind.__dict__.get("__doc__") or "")
    if not own[""]:
        return None
    parts = [own[""]]
    for name in SECTIONS[:2]:
        entries = "\n".join(_entries(name, kind))
        parts += [f"{name}:\n{entries}"] if entries else []
    if own["Example"]:
        parts.append(f"Example:\n{own['Example']}")
    return "\n\n".join(parts) + "\n"


def _sections(text: str) -> dict[str, str]:
    """Return the opening under an empty name, then each section that there is."""
    pieces = re.split(rf"^({'|'.join(SECTIONS)}):\n", inspect.cleandoc(text), flags=re.M)
    found = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return {"": pieces[0].strip()} | {name: found.get(name, "").rstrip() for name in SECTIONS}


def _entries(section: str, kind: type) -> Iterable[str]:
    """Entries of the class and of its ancestors; one that a class describes again is left out."""
    seen: set[str] = set()
    for one in kind.__mro__:
        text = _OWN.get(one, {}).get(section, "")
        for entry in re.split(r"\n(?=    \S)", text) if text else ():
            names = {name.strip() for name in entry.partition(":")[0].split(",")}
            if not names <= seen:
                yield entry
            seen |= names
