"""The theorems: one folder for each proof technique, found by walking; imports nothing of wane.

Python runs this file before any verifier below it, and a verifier may load nothing of a theorem.
"""

from collections.abc import Iterable

FOLDERS = (
    "composition",
    "joint_programme",
    "modulus",
    "sampled",
    "contraction",
    "log_sobolev",
    "kinetic",
    "gibbs",
    "diffusion",
    "kernel",
    "laplace",
)
"""The order in which theorems are asked and shown; folders that are not named here come last."""


def in_order(folders: Iterable[str]) -> list[str]:
    """Return these folders in the order in which their theorems are asked and shown."""
    first = {name: place for place, name in enumerate(FOLDERS)}
    return sorted(folders, key=lambda name: (first.get(name, len(FOLDERS)), name))
