"""How records are chosen at each step.

In every case the step uses the sum of the chosen records' gradients divided by the stated size,
which is public; an incomplete last batch keeps that divisor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wane.arguments import Checked, Count


@dataclass(frozen=True)
class FullBatch:
    """Every record at every step."""

    kind: ClassVar[str] = "full"


@dataclass(frozen=True)
class _Sized(Checked):
    fields_of: ClassVar[str] = "batches."
    kind: ClassVar[str]
    size: Count


@dataclass(frozen=True)
class Cyclic(_Sized):
    """Fixed disjoint batches, visited in the same public order each epoch."""

    kind: ClassVar[str] = "cyclic"


@dataclass(frozen=True)
class ShuffledOnce(_Sized):
    """As `Cyclic`, after one uniformly random permutation that stays secret for ever."""

    kind: ClassVar[str] = "shuffled-once"


@dataclass(frozen=True)
class Poisson(_Sized):
    """Each record joins each batch independently with probability `size / records`."""

    kind: ClassVar[str] = "poisson"


@dataclass(frozen=True)
class WithoutReplacement(_Sized):
    """A fresh uniformly random set of exactly `size` records at each step."""

    kind: ClassVar[str] = "without-replacement"


Batches = FullBatch | Cyclic | ShuffledOnce | Poisson | WithoutReplacement
BATCHES: tuple[type[Batches], ...] = (FullBatch, Cyclic, ShuffledOnce, Poisson, WithoutReplacement)
