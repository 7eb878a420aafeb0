"""Schedules: runs of equal steps, stored by column so that a million of them stay cheap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wane import arguments
from wane.arrays import Array, Mask, read_only
from wane.describe.noise import NOISES, GradientNoise, Noise
from wane.errors import InvalidDescription

MOST_STEPS = 10**15
"""Step numbers up to here stay exact as doubles."""


@dataclass(frozen=True)
class Phase:
    """A run of equal steps.

    Attributes:
        repeat: how many.
        step_size: their step size.
        noise: their noise.
        cool_down: the steps use no record: ridge, noise and prox only.
        public: the steps use the run's public records in place of the private ones.
    """

    repeat: int
    step_size: float
    noise: Noise
    cool_down: bool = False
    public: bool = False

    def __post_init__(self) -> None:
        arguments.whole("repeat", self.repeat, least=1, most=MOST_STEPS)
        object.__setattr__(
            self, "step_size", arguments.real("step_size", self.step_size, above=0.0)
        )
        arguments.kind("noise", self.noise, NOISES)
        arguments.kind("cool_down", self.cool_down, (bool,))
        arguments.kind("public", self.public, (bool,))
        if self.cool_down and self.public:
            raise InvalidDescription(
                "cool_down must be absent in a phase with public records, got both; a step uses "
                "records or none."
            )

    @property
    def uses_records(self) -> bool:
        """Whether the steps use private records."""
        return not (self.cool_down or self.public)


class Schedule:
    """Phases in order, as columns; equal when all phases are equal, and never changed.

    Build one from `Phase` objects, or with `Schedule.of_steps` from arrays.
    """

    __slots__ = ("_kinds", "_values", "cool_down", "public", "repeat", "step_size")

    repeat: NDArray[np.int64]
    step_size: Array
    cool_down: Mask
    public: Mask
    _values: Array
    _kinds: NDArray[np.int8]

    def __init__(self, phases: Iterable[Phase]) -> None:
        rows = tuple(phases)
        for row in rows:
            arguments.kind("schedule", row, (Phase,))
        if not rows:
            raise InvalidDescription("schedule must hold at least one phase, got none.")
        self._fill(
            np.array([p.repeat for p in rows], dtype=np.int64),
            np.array([p.step_size for p in rows], dtype=np.float64),
            np.array([p.noise.value for p in rows], dtype=np.float64),
            np.array([NOISES.index(type(p.noise)) for p in rows], dtype=np.int8),
            np.array([p.cool_down for p in rows], dtype=np.bool_),
            np.array([p.public for p in rows], dtype=np.bool_),
        )

    @classmethod
    def of_steps(
        cls,
        step_size: ArrayLike,
        noise: ArrayLike,
        *,
        kind: type[Noise] = GradientNoise,
        repeat: ArrayLike = 1,
        cool_down: ArrayLike = False,
    ) -> Schedule:
        """Return the schedule whose columns are these arrays, scalars repeated as needed."""
        try:
            steps, values, repeats, cool = np.broadcast_arrays(
                np.atleast_1d(np.asarray(step_size, dtype=np.float64)),
                np.asarray(noise, dtype=np.float64),
                np.asarray(repeat),
                np.asarray(cool_down, dtype=np.bool_),
            )
        except (TypeError, ValueError) as error:
            raise InvalidDescription(
                f"schedule must be columns of numbers of one length: {error}."
            ) from None
        if steps.ndim != 1 or not steps.size or not np.issubdtype(repeats.dtype, np.integer):
            raise InvalidDescription(
                "schedule must be one-dimensional, not empty, with whole numbers as repeat."
            )
        if not (np.all(np.isfinite(steps)) and np.all(steps > 0)):
            raise InvalidDescription("step_size must be > 0 and finite in every phase.")
        if not (np.all(np.isfinite(values)) and np.all(values >= 0)):
            raise InvalidDescription(f"noise.{kind.key} must be >= 0 and finite in every phase.")
        if repeats.min() < 1:
            raise InvalidDescription("repeat must be at least 1 in every phase.")
        made = cls.__new__(cls)
        codes = np.full(steps.shape, NOISES.index(kind), dtype=np.int8)
        none = np.zeros(steps.shape, dtype=np.bool_)
        made._fill(repeats.astype(np.int64), steps.copy(), values.copy(), codes, cool.copy(), none)
        return made

    def _fill(self, repeat: Any, *others: Any) -> None:
        if float(repeat.sum(dtype=np.float64)) > MOST_STEPS:
            raise InvalidDescription(f"schedule must have at most {MOST_STEPS} steps in all.")
        for name, column in zip(
            ("repeat", "step_size", "_values", "_kinds", "cool_down", "public"),
            (repeat, *others),
            strict=True,
        ):
            object.__setattr__(self, name, read_only(column))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Schedule is never changed; build another")

    def __len__(self) -> int:
        return len(self.repeat)

    def __iter__(self) -> Iterator[Phase]:
        for repeat, step, value, kind, cool, public in zip(*self._columns, strict=True):
            noise = NOISES[kind](float(value))
            yield Phase(int(repeat), float(step), noise, bool(cool), bool(public))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        if len(self) > 8:
            return f"Schedule(<{len(self)} phases, {self.total} steps>)"
        return f"Schedule({list(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Schedule, (tuple(self),))

    @property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        return (
            self.repeat,
            self.step_size,
            self._values,
            self._kinds,
            self.cool_down,
            self.public,
        )

    @property
    def _key(self) -> tuple[bytes, ...]:
        return tuple(column.tobytes() for column in self._columns)

    @property
    def total(self) -> int:
        """Number of steps."""
        return int(self.repeat.sum())

    @property
    def uses_records(self) -> Mask:
        """Which phases use private records."""
        return np.asarray(~(self.cool_down | self.public))

    def gradient_std(self, *, gradient_bound: float | None, size: int) -> Array:
        """Return the canonical noise of each phase: its deviation on the averaged gradient."""
        result = np.empty(len(self))
        with np.errstate(all="ignore"):
            for code, kind in enumerate(NOISES):
                rows = self._kinds == code
                if rows.any():
                    result[rows] = kind.gradient_std(
                        self._values[rows],
                        step_size=self.step_size[rows],
                        gradient_bound=gradient_bound,
                        size=size,
                    )
        if not np.isfinite(result).all():
            raise InvalidDescription(
                "noise must give the averaged gradient a finite deviation, got one beyond the "
                "doubles; choose other units."
            )
        return result

    def noise_scaled(self, factor: float) -> Schedule:
        """Return the same schedule with every noise deviation multiplied by `factor`."""
        powers = np.array([kind.power for kind in NOISES])[self._kinds]
        made = Schedule.__new__(Schedule)
        made._fill(
            self.repeat.copy(),
            self.step_size.copy(),
            self._values * factor**powers,
            self._kinds.copy(),
            self.cool_down.copy(),
            self.public.copy(),
        )
        return made
