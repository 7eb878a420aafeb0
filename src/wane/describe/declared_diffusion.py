"""Releasing a statistic through a diffusion of one's own, known by its declared constants, as data.

What is released is the end of a chain of Euler steps,

    z' = keep(z + eta drift(z) + N(0, 2 eta spread^2 I)),

`keep` reflecting or projecting into a box.  Its privacy rests on how far the map z + eta drift(z)
may move two points apart, and that follows from the declared constants alone: they are what
documents hold.  The functions themselves are needed to release.  Proofs:
`docs/proofs/declared-diffusion.md`.

**What is charged.**  A step is off by at most 32 u times the largest number in it and the root of
the dimension, u = 2^-53.  Without a box every position is projected to a cube of 2^20 deviations of
a step around the origin, which is what bounds these numbers and changes nothing else.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from wane import arguments
from wane.arrays import Array, read_only
from wane.describe import drifts
from wane.describe.choices import Adjacency, adjacency_of
from wane.describe.description import Row as TableRow
from wane.describe.diffusion import Process
from wane.describe.drifts import Coefficient
from wane.describe.shapes import entries
from wane.errors import InvalidDescription

UNIT = 2.0**-53
_SAME_TIME = 1e-12  # relative: what the rounding of times may amount to
REACH = 2.0**20
"""Without a box, positions are kept within so many deviations of a step around the origin."""
LARGEST_NOISE = 40.0
"""No normal number that is drawn in doubles is longer."""


class Walls(enum.Enum):
    """How positions are kept in the box: mirrored at its faces, or moved to the nearest point."""

    REFLECT = "reflect"
    PROJECT = "project"


@dataclass(frozen=True, kw_only=True)
class DeclaredDiffusion(Process):
    """dX = drift(X) dt + sqrt(2) spread dW, run as a chain of `steps` equal Euler steps.

    Attributes:
        sensitivity: the largest Euclidean distance between the statistics of adjacent data sets.
        time: when the diffusion is stopped.
        steps: number of steps of the chain.
        spread: a number; or a function of an array of positions, for an interval.
        low, high: the faces of the box in which positions are kept, one number for all entries or
            one for each; left out, there is no box.
        walls: how they are kept there, "reflect" or "project".
        dimension: number of entries of the statistic.
        drift: a function: on the line of an array of positions, else of one vector.  It is needed
            to release, and no document holds it.
        drift_lipschitz: `|drift(x) - drift(y)| <= drift_lipschitz |x - y|` in the box (or
            everywhere).  Values at finitely many points do not show what lies between them, so
            there is no guarantee unless this is declared.
        drift_contraction: `(drift(x) - drift(y)).(x - y) <= -drift_contraction |x - y|^2`;
            undeclared, it is `-drift_lipschitz`.
        drift_is_gradient: whether the drift is the gradient of a function, as every drift on the
            line is.  Contraction is then sharper; it is false of a drift that turns.
        drift_at_centre: a bound on the length of the drift at the centre of the box, or at the
            origin; computed where the drift is given.
        drift_values: the drift at equally spaced points of a reflecting interval, both ends
            included; with them a bound without delta is proven.  `tabulated` fills them in.
        spread_lipschitz: the Lipschitz constant of a spread that is a function; a guarantee needs
            0.0, a constant spread.
        adjacency: which data sets the sensitivity compares; needed to certify.
    """

    kind: ClassVar[str] = "declared-diffusion"

    sensitivity: float
    time: float
    steps: int = 256
    spread: float | Coefficient = 1.0
    low: float | Sequence[float] | None = None
    high: float | Sequence[float] | None = None
    walls: Walls | str = Walls.REFLECT
    dimension: int | None = None
    drift_lipschitz: float | None = None
    drift_contraction: float | None = None
    drift_is_gradient: bool = False
    drift_at_centre: float | None = None
    drift_values: Sequence[float] | None = field(default=None, repr=False)
    spread_lipschitz: float | None = None
    adjacency: Adjacency | None = None
    drift: Coefficient | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.adjacency is not None:
            self._keep("adjacency", adjacency_of("adjacency", self.adjacency))
        for name in ("sensitivity", "time"):
            self._keep(name, arguments.real(name, getattr(self, name), above=0.0))
        arguments.whole("steps", self.steps, least=1, most=10**6)
        self._keep("walls", _walls(self.walls))
        self._check_box()
        self._check_spread()
        for name in ("drift_lipschitz", "spread_lipschitz", "drift_at_centre"):
            if getattr(self, name) is not None:
                self._keep(name, arguments.real(name, getattr(self, name), least=0.0))
        arguments.flag("drift_is_gradient", self.drift_is_gradient)
        self._check_contraction()
        self._check_drift()
        self._check_values()

    def _keep(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_box(self) -> None:
        if (self.low is None) != (self.high is None):
            raise InvalidDescription(
                f"low and high must be given together, got {self.low!r} and {self.high!r}; leave "
                "both out for a diffusion without a box."
            )
        sizes = set() if self.dimension is None else {self.dimension}
        for name in ("low", "high"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, (int, float)):
                self._keep(name, entries(name, value))
                sizes.add(len(getattr(self, name)))
            elif value is not None:
                self._keep(name, arguments.real(name, value))
        if len(sizes) > 1:
            raise InvalidDescription(
                f"low, high and dimension must agree, got {sorted(sizes)} entries."
            )
        size = arguments.whole("dimension", sizes.pop() if sizes else 1, least=1)
        self._keep("dimension", size)
        if self.low is not None:
            for low, high in zip(*(corner.tolist() for corner in self.corners), strict=True):
                arguments.real("high", high, above=low)

    def _check_spread(self) -> None:
        if not callable(self.spread):
            self._keep("spread", arguments.real("spread", self.spread, above=0.0))
        elif self.low is None or self.size > 1:
            raise InvalidDescription(
                "spread must be a number unless low and high are the ends of an interval, got a "
                "function."
            )

    def _check_contraction(self) -> None:
        kappa, slope = self.drift_contraction, self.drift_lipschitz
        if kappa is None:
            return
        if slope is None:
            raise InvalidDescription(
                "drift_lipschitz must be given with drift_contraction, got None."
            )
        checked = arguments.real("drift_contraction", kappa, least=-slope, most=slope)
        self._keep("drift_contraction", checked)

    def _check_drift(self) -> None:
        """Refuse a drift that contradicts what is declared of it, and note its size."""
        if self.drift is None:
            return
        if not callable(self.drift):
            raise InvalidDescription(
                f"drift must be a function of an array, got {self.drift!r:.60}."
            )
        if self.drift_lipschitz is None:
            return  # nothing is certified
        seen = drifts.length(drifts.read("drift", self.drift, self.centre))
        if self.drift_at_centre is None:
            self._keep("drift_at_centre", seen)
        elif self.drift_at_centre < seen * (1.0 - 1e-12):
            raise InvalidDescription(
                f"drift_at_centre must be at least {seen:.6g}, which was seen there, got "
                f"{self.drift_at_centre:g}."
            )
        if self.constant_spread is None:
            return
        low, high = self.corners
        if self.low is None:  # look where positions are likely to be
            far = 8.0 * (self.sensitivity + self.noise_std * math.sqrt(self.steps))
            low, high = np.maximum(low, -far), np.minimum(high, far)
        declared = self.drift_lipschitz, self.drift_contraction
        if self.size == 1:
            drifts.refute_on_line(self.drift, float(low[0]), float(high[0]), *declared)
        else:
            drifts.refute_in_space(
                self.drift, low, high, *declared, gradient=self.drift_is_gradient
            )

    def _check_values(self) -> None:
        if self.drift_values is None:
            return
        self._keep("drift_values", entries("drift_values", self.drift_values))
        if self.size > 1 or self.low is None or self.walls is not Walls.REFLECT:
            raise InvalidDescription(
                "drift_values must be left out unless low and high are the ends of an interval "
                f"that reflects, got {len(self.drift_values)} values."
            )
        if not 3 <= len(self.drift_values) <= 4001:
            raise InvalidDescription(
                f"drift_values must have 3 to 4001 entries, got {len(self.drift_values)}."
            )
        if self.drift is not None:
            self._check_read_values(np.array(self.drift_values), self.drift)
        self._refute_values(np.diff(np.array(self.drift_values)))

    def _refute_values(self, rises: Array) -> None:
        """Refuse values that the declared constants contradict."""
        spacing, most = (
            float(self.corners[1][0] - self.corners[0][0]) / rises.size,
            float(rises.max()),
        )
        steepest = max(most, -float(rises.min()))
        slope = math.inf if self.drift_lipschitz is None else self.drift_lipschitz
        noise = 1e-12 * (1.0 + steepest)
        if steepest > slope * spacing * (1.0 + 1e-9) + noise:
            raise InvalidDescription(
                f"drift_lipschitz must be at least {steepest / spacing:.6g}, the "
                f"steepest slope of drift_values, got {slope:g}."
            )
        kappa = self.drift_contraction
        if kappa is not None and most > (1e-9 * slope - kappa) * spacing + noise:
            raise InvalidDescription(
                f"drift_contraction must be at most {-most / spacing:.6g}, the least that "
                f"drift_values fall by, got {kappa:g}."
            )

    def _check_read_values(self, values: Array, drift: Coefficient) -> None:
        """Refuse values that are not those of the drift: what is proven speaks of them alone."""
        seen = drifts.read("drift", drift, self._nodes(values.size))
        size = (self.drift_at_centre or 0.0) + np.abs(seen)
        wrong = np.flatnonzero(np.abs(values - seen) > 4.0 * UNIT * size)
        if wrong.size:
            raise InvalidDescription(
                f"drift_values must be the drift at equally spaced points, {seen[wrong[0]]:.17g} "
                f"at place {wrong[0]}, got {values[wrong[0]]:.17g}; let `tabulated` fill them in."
            )

    def _nodes(self, number: int) -> Array:
        """Return equally spaced points of an interval, both ends included."""
        return np.linspace(*self.corners, number)[:, 0]

    @property
    def size(self) -> int:
        """The number of entries of the statistic."""
        return 1 if self.dimension is None else self.dimension

    @property
    def is_gradient(self) -> bool:
        """Whether the drift is a gradient: declared, or because the line has no other."""
        return self.drift_is_gradient or self.size == 1

    @property
    def least_contraction(self) -> float | None:
        """The declared contraction, or what the Lipschitz constant says of it; None if neither."""
        slope = self.drift_lipschitz
        if self.drift_contraction is not None or slope is None:
            return self.drift_contraction
        return -slope

    @cached_property
    def constant_spread(self) -> float | None:
        """The spread as a number; None for a function that varies."""
        if not callable(self.spread):
            return self.spread
        if self.spread_lipschitz:
            return None
        found = drifts.constant("spread", self.spread, *self.corners)
        if found is not None and not found > 0.0:
            raise InvalidDescription("spread must be finite and positive on [low, high].")
        if found is None and self.spread_lipschitz == 0.0:
            raise InvalidDescription(
                "spread_lipschitz must not be 0 for a spread that varies over [low, high], got 0."
            )
        return found

    @property
    def step_size(self) -> float:
        """The time that a step takes."""
        return self.time / self.steps

    @property
    def noise_std(self) -> float:
        """The standard deviation of the noise that a step adds to each entry."""
        return self.std_of(self.step_size)

    def std_of(self, duration: float) -> float:
        """Return the standard deviation of the noise of one step of this duration."""
        if self.constant_spread is None:
            raise InvalidDescription(
                "spread must be constant to be run, got a function that varies; change the "
                "coordinate so that it does not."
            )
        return math.sqrt(2.0 * duration) * self.constant_spread

    def steps_within(self, duration: float) -> int:
        """Return how many steps a duration is cut into: none is longer than `step_size`."""
        return max(1, math.ceil(duration / self.step_size * (1.0 - _SAME_TIME)))

    def steps_until(self, time: float) -> int | None:
        """Return after how many steps of `step_size` the chain is there; None if between two."""
        steps = self.steps_within(time)
        on_the_way = abs(time / self.step_size - steps) <= _SAME_TIME * steps
        return steps if on_the_way else None

    def cut(self, duration: float) -> tuple[int, float]:
        """Return how many steps a duration takes and their size, `step_size` where that fits.

        Positions of one path must be ends of such steps: then each is the end of the same chain,
        whatever else of the path is shown.
        """
        steps = self.steps_until(duration)
        if steps is not None:
            return steps, self.step_size
        steps = self.steps_within(duration)
        return steps, duration / steps

    def require_on_path(self, time: float) -> None:
        """Refuse a time between two steps: no guarantee of another chain speaks of it."""
        if self.steps_until(time) is None:
            steps = self.steps_within(time)
            raise InvalidDescription(
                f"times of one path must be whole numbers of steps of {self.step_size:.9g}, got "
                f"{time:.9g}; take {steps * self.step_size:.9g}, or more steps."
            )

    @cached_property
    def corners(self) -> tuple[Array, Array]:
        """The lowest and highest corner of where positions are kept."""
        if self.low is None:
            _, exponent = math.frexp(REACH * self.noise_std)
            reach = np.full(self.size, math.ldexp(1.0, exponent))
            return read_only(-reach), read_only(reach)
        return _filled(self.low, self.size), _filled(self.high, self.size)

    @property
    def centre(self) -> Array:
        """The middle of where positions are kept."""
        low, high = self.corners
        return np.asarray(0.5 * low + 0.5 * high)

    @property
    def sensitivity_words(self) -> str:
        """The declared number."""
        return f"{self.sensitivity:g}"

    def at(self, time: float) -> Self:
        """Return the same chain stopped at another time, with steps of the same size or less."""
        time = arguments.real("time", time, above=0.0)
        return replace(self, time=time, steps=self.steps_within(time))

    def tabulated(self, cells: int = 500) -> Self:
        """Return the mechanism with its drift read at cells + 1 points, for a pure guarantee."""
        arguments.whole("cells", cells, least=2, most=4000)
        if self.drift is None:
            raise InvalidDescription("drift must be given to be tabulated, got None.")
        if self.low is None or self.size > 1:
            raise InvalidDescription(
                "low and high must be the ends of an interval to tabulate a drift, got "
                f"{self.low!r:.60} and {self.high!r:.60}."
            )
        values = drifts.read("drift", self.drift, self._nodes(cells + 1))
        return replace(self, drift_values=tuple(values.tolist()))

    def parameters(self) -> dict[str, Any]:
        """Return what is declared, by name, without the functions."""
        given = super().parameters()
        for name in ("drift", "spread_lipschitz"):
            given.pop(name, None)
        given["walls"] = _walls(self.walls).value
        if self.constant_spread is None:
            raise InvalidDescription(
                "spread must be constant to be written down, got a function that varies."
            )
        given["spread"] = self.constant_spread
        return {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()}

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers, all else in words."""
        given = self.parameters().items()
        rows = {k: f"{len(v)} numbers" for k, v in given if isinstance(v, list)}
        return [(k, rows.get(k, str(v).lower() if isinstance(v, bool) else v)) for k, v in given]

    def summary(self) -> str:
        """Return the release in one line."""
        return f"{super().summary()}, in {self.steps} steps"

    def symbols(self) -> list[TableRow]:
        """Return what the letters of the theorem stand for."""
        return [
            ("D", "sensitivity: largest distance of adjacent statistics", self.sensitivity),
            ("r", "number of steps", self.steps),
            ("eta", "time that a step takes", self.step_size),
            ("s", "standard deviation of the noise of a step", self.noise_std),
            ("L", "Lipschitz constant of the drift", self.drift_lipschitz),
            ("kappa", "how fast the drift brings points together", self.least_contraction),
        ]


def _walls(value: object) -> Walls:
    return value if isinstance(value, Walls) else arguments.member("walls", value, Walls)


def _filled(values: Any, size: int) -> Array:
    """One number for all entries, or one for each, as an array."""
    return read_only(np.full(size, values, dtype=np.float64))
