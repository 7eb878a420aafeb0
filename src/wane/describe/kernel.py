"""A release that went through a Markov kernel, of which only the kernel's output is seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from wane import arguments
from wane.arrays import read_only
from wane.describe.choices import Adjacency, adjacency_of
from wane.describe.description import Description, Row
from wane.describe.diffusion import SECRET_NOISE, SECRET_STATISTIC, GaussianDiffusion
from wane.describe.fields import class_of
from wane.describe.matrices import as_doubles, checked
from wane.describe.stated import StatedRelease
from wane.errors import InvalidDescription

MOST_ENTRIES = 1 << 18
"""Of a described matrix, which is written down whole in every document."""
MOST_POWER = 1 << 40
STATED = "stated-release"


@dataclass(frozen=True, eq=False)
class KernelRelease(Description):
    """The output of a Markov kernel, applied `power` times to what was released `before`.

    Attributes:
        before: what the kernel is applied to: a release whose cost is stated, or a diffusion.  Its
            output is turned into a row of the kernel by a public rule.
        matrix: the kernel's probabilities, row = input, column = output, as given; rows are divided
            by their sum.
        power: how often the kernel is applied.
    """

    kind: ClassVar[str] = "kernel-release"
    released_as: ClassVar[str] = "kernel-output"

    before: StatedRelease | GaussianDiffusion
    matrix: Any
    power: int = 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.summary()}"

    def __post_init__(self) -> None:
        arguments.kind("before", self.before, (StatedRelease, GaussianDiffusion))
        if isinstance(self.before, StatedRelease) and self._unsuited(self.before):
            raise InvalidDescription(
                "before must state mu, or epsilon and delta, for one row of a person, got "
                f"{self.before.cost!r:.80}; state one of them."
            )
        arguments.whole("power", self.power, least=1, most=MOST_POWER)
        rows = as_doubles(self._given())
        if rows.ndim == 2 and rows.shape[0] * rows.shape[1] > MOST_ENTRIES:
            raise InvalidDescription(
                f"matrix must have at most {MOST_ENTRIES} entries to be described, got "
                f"{rows.shape[0]} x {rows.shape[1]}; merge states that behave alike."
            )
        checked(rows)
        if self.power > 1 and rows.shape[0] != rows.shape[1]:
            raise InvalidDescription(
                f"matrix must be square to be repeated, got {rows.shape[0]} x {rows.shape[1]}."
            )
        dense = rows if not hasattr(rows, "toarray") else rows.toarray()
        object.__setattr__(self, "matrix", read_only(dense))

    def _given(self) -> Any:
        """The matrix; that of a `MarkovKernel` if it is the one that was given, and no product."""
        if not hasattr(self.matrix, "relative_error"):
            return self.matrix
        rows = self.matrix.matrix
        if self.matrix.lost_mass > 0.0 or self.matrix.relative_error > 2e-16 * (rows.shape[1] + 9):
            raise InvalidDescription(
                "matrix must be a kernel as it was given, got a product of kernels, which is known "
                "up to rounding only, or one with probabilities below 1e-290, which it leaves out; "
                "give the matrix itself, and how often it is applied as power."
            )
        return rows

    @staticmethod
    def _unsuited(stated: StatedRelease) -> bool:
        return bool(stated.other) or stated.rows_per_person != 1

    @property
    def adjacency(self) -> Adjacency | None:
        """Which data sets the release before the kernel compares."""
        return self.before.adjacency

    def parameters(self) -> dict[str, Any]:
        """Return what stands before the kernel, and the kernel."""
        return {"before": self._before(), "matrix": self.matrix.tolist(), "power": self.power}

    def _before(self) -> dict[str, Any]:
        if isinstance(self.before, GaussianDiffusion):
            return {"kind": self.before.kind, **self.before.parameters()}
        given = asdict(self.before)
        kept = {"name", "source", "mu", "epsilon", "delta", "failure"}
        named = {name: value for name, value in given.items() if name in kept}
        return {"kind": STATED} | {n: v for n, v in named.items() if v is not None and v != 0.0}

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> KernelRelease:
        """Return the release of these parameters."""
        table = dict(given)
        before, adjacency = dict(table.pop("before")), table.pop("adjacency", None)
        kind = before.pop("kind", STATED)
        if kind == STATED:
            known = adjacency_of("adjacency", adjacency)
            if "epsilon" in before:
                before = {"delta": 0.0} | before
            return cls(before=StatedRelease(**before, adjacency=known), **table)
        found = class_of(kind)
        if not issubclass(found, GaussianDiffusion):
            raise InvalidDescription(f"before.kind must be that of a diffusion, got {kind!r:.60}.")
        return cls(before=found.from_parameters(before | {"adjacency": adjacency}), **table)

    def summary(self) -> str:
        """Return the release in one line."""
        rows, columns = self.matrix.shape
        return (
            f"a kernel of {rows} inputs and {columns} outputs, applied {self.power} times, after: "
            f"{self.before.summary()}"
        )

    def released_words(self) -> str:
        """Return what is released, in words."""
        return f"The output of a Markov kernel, applied {self.power} times, and nothing else."

    def secrets(self) -> list[str]:
        """Return what must stay secret."""
        return [
            SECRET_STATISTIC,
            "What the kernel is applied to, and its states on the way.",
            SECRET_NOISE,
        ]

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorem stand for."""
        return [
            ("K", "Markov kernel, inputs x outputs", " x ".join(map(str, self.matrix.shape))),
            ("t", "how often it is applied", self.power),
        ]

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers of what stands before, and the power."""
        named = self._before()
        return [*((f"before.{n}", v) for n, v in named.items()), ("power", self.power)]
