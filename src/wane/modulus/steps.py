"""The moduli of common steps, as functions of the step's number and the distance.

A step size is one number, or one for each step.  Every function returns what `best_path` takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.modulus.path import GridModulus, UserModulus
from wane.theorems.lemmas import loss_moduli
from wane.theorems.lemmas.moduli import ROUNDING, SMALLEST_DISTANCE, Modulus

StepSize = float | Sequence[float]
_SHARES = 24
_REMEMBERED = 64


def smooth_convex(
    step_size: StepSize, smoothness: float, strong_convexity: float = 0.0
) -> UserModulus:
    """Return the modulus max(1 - eta m, eta M - 1) of a step on a smooth convex function."""
    M = arguments.real("smoothness", smoothness, above=0.0)
    m = arguments.real("strong_convexity", strong_convexity, least=0.0, most=M)
    return _rows(step_size, lambda eta: loss_moduli.strongly_convex_smooth(eta, m, M))


def smooth(step_size: StepSize, smoothness: float, change: float = math.inf) -> UserModulus:
    """Return the modulus of a step on a smooth function whose gradients differ by <= `change`."""
    M, G = arguments.real("smoothness", smoothness, least=0.0), _change(change)
    return _rows(step_size, lambda eta: loss_moduli.smooth_bounded(eta, M, G))


def bounded_change(
    step_size: StepSize, change: float, strong_convexity: float = 0.0
) -> UserModulus:
    """Return the modulus of a step on a convex function whose gradients differ by <= `change`."""
    G = arguments.real("change", change, least=0.0)
    m = arguments.real("strong_convexity", strong_convexity, least=0.0)
    return _rows(step_size, lambda eta: loss_moduli.nonsmooth_convex(eta, G, m))


def hoelder(
    step_size: StepSize, exponent: float, constant: float, change: float = math.inf
) -> UserModulus:
    """Return the modulus of a step on a convex function whose gradient is Hoelder everywhere."""
    p = arguments.real("exponent", exponent, least=0.0, most=1.0)
    H, G = arguments.real("constant", constant, least=0.0), _change(change)
    return _rows(step_size, lambda eta: loss_moduli.weakly_smooth_refined(eta, H, p, G))


def descent_ascent(
    step_size: StepSize,
    *,
    smoothness: float,
    change: float = math.inf,
    strong_monotonicity: float = 0.0,
) -> UserModulus:
    """Return the modulus of descent in x and ascent in y on f(x, y), convex in x, concave in y.

    The field (df/dx, -df/dy) is monotone, Lipschitz with `smoothness`, and changes by at most
    `change` between two points.

    Claim.  psi(w) = (1 - 2 eta m) w + min((eta G)^2, (eta M)^2 w).
    """
    M, G = arguments.real("smoothness", smoothness, least=0.0), _change(change)
    m = arguments.real("strong_monotonicity", strong_monotonicity, least=0.0, most=M)
    return _rows(step_size, lambda eta: loss_moduli.saddle(eta, G, M, m))


def sum_of_parts(
    step_size: StepSize, parts: Sequence[Callable[[StepSize], UserModulus]]
) -> UserModulus:
    """Return the modulus of a gradient step on a sum of functions of different regularity.

    Each part is a function from a step size to the modulus of a step on that part alone, such as
    `lambda eta: wane.modulus.hoelder(eta, 0.5, 2.0)`.

    Claim.  I - eta (g_1 + ... + g_k) is the average, with any weights a_i, of the steps I -
    (eta/a_i) g_i, so the weighted mean of their moduli bounds it; the least over many weights is
    returned at every distance.
    """
    if not parts or not all(callable(part) for part in parts):
        raise InvalidDescription(
            f"parts must be functions from a step size to a modulus, got {parts!r:.60}."
        )
    sizes = _sizes(step_size)
    shares = _weights(len(parts))
    return _Sum(sizes, shares, parts)


def from_values(distances: ArrayLike, values: ArrayLike) -> UserModulus:
    """Return the modulus with these values; between two distances the larger one's value is used.

    `values` is one row for all steps, or a row for each step.  Beyond the largest distance nothing
    is known, and the modulus is infinite.
    """
    knots, table = np.asarray(distances, dtype=float), np.asarray(values, dtype=float)
    rows = np.atleast_2d(table)
    if knots.ndim != 1 or not knots.size or rows.ndim != 2 or rows.shape[1] != knots.size:
        raise InvalidDescription(
            "distances and values must have one length, got shapes "
            f"{knots.shape} and {table.shape}."
        )
    if not (np.all(knots > 0.0) and np.all(np.diff(knots) > 0.0)):
        raise InvalidDescription("distances must be > 0 and grow from one to the next.")
    if not (np.all(rows >= 0.0) and np.all(np.diff(rows, axis=1) >= 0.0)):
        raise InvalidDescription("values must be >= 0 and must not fall as the distance grows.")

    def at(step: int, distance: float) -> float:
        if table.ndim == 2 and step > len(rows):
            raise InvalidDescription(
                f"values must have a row for each step, got {len(rows)} rows and step {step}."
            )
        row = rows[step - 1 if table.ndim == 2 else 0]
        place = int(np.searchsorted(knots, distance))
        return float(row[place]) if place < knots.size else math.inf

    return at


def _weights(parts: int) -> list[list[float]]:
    """Return weights that sum to one: a grid for two parts, near-equal ones for more."""
    if parts == 1:
        return [[1.0]]
    ends = [0.01, 0.03, *(i / _SHARES for i in range(1, _SHARES)), 0.97, 0.99]
    if parts == 2:
        return [[a, 1.0 - a] for a in ends]
    favoured = [
        [a if i == j else (1.0 - a) / (parts - 1) for i in range(parts)]
        for a in ends
        for j in range(parts)
    ]
    return [[1.0 / parts] * parts, *favoured]


def _change(value: float) -> float:
    """Return a checked bound on the change of a gradient; infinity stands for an unknown bound."""
    return math.inf if value == math.inf else arguments.real("change", value, least=0.0)


def _sizes(step_size: StepSize) -> Callable[[int], float]:
    """Return the function that gives the size of each step, counted from one."""
    if isinstance(step_size, Sequence):
        sizes = [arguments.real("step_size", one, above=0.0) for one in step_size]

        def chosen(step: int) -> float:
            if step > len(sizes):
                raise InvalidDescription(
                    f"step_size must have a number for each step, got {len(sizes)} and step {step}."
                )
            return sizes[step - 1]

        return chosen
    one = arguments.real("step_size", step_size, above=0.0)
    return lambda _: one


class ModulusPerStep(GridModulus):
    """A modulus for each step, computed once for each step size."""

    def __init__(self, sizes: Callable[[int], float], row: Callable[[float], Modulus]) -> None:
        self._sizes, self._row = sizes, row
        self._made: dict[float, Modulus] = {}
        self._known: dict[tuple[float, bytes], Array] = {}

    def _modulus(self, step: int) -> tuple[float, Modulus]:
        eta = self._sizes(step)
        if eta not in self._made:
            self._made[eta] = self._row(eta)
        return eta, self._made[eta]

    def __call__(self, step: int, distance: float) -> float:
        """Return the modulus of a step at one distance > 0."""
        return self._modulus(step)[1](distance)

    def on_grid(self, step: int, grid: Array) -> Array:
        """Return the values at these distances."""
        eta, modulus = self._modulus(step)
        key = (eta, grid.tobytes())
        if key not in self._known:
            squares = np.maximum(grid, SMALLEST_DISTANCE) ** 2
            slope, intercept = modulus.tangents(squares)
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            self._known[key] = np.sqrt(slope * squares + intercept) * (1.0 + ROUNDING)
        return self._known[key].copy()


class _Sum(GridModulus):
    """The least weighted mean of the moduli of longer steps on the parts."""

    def __init__(
        self,
        sizes: Callable[[int], float],
        shares: list[list[float]],
        parts: Sequence[Callable[[StepSize], UserModulus]],
    ) -> None:
        self._sizes, self._shares, self._parts = sizes, shares, parts
        self._made: dict[float, list[list[tuple[float, UserModulus]]]] = {}

    def _means(self, step: int) -> list[list[tuple[float, UserModulus]]]:
        eta = self._sizes(step)
        if eta not in self._made:
            self._made[eta] = [
                [(a, part(eta / a)) for a, part in zip(row, self._parts, strict=True)]
                for row in self._shares
            ]
        return self._made[eta]

    def __call__(self, step: int, distance: float) -> float:
        means = self._means(step)
        least = min(math.fsum(a * phi(step, distance) for a, phi in row) for row in means)
        return least * (1.0 + 1e-15)

    def on_grid(self, step: int, grid: Array) -> Array:
        means = [
            np.sum([a * _on_grid(phi, step, grid) for a, phi in row], axis=0)
            for row in self._means(step)
        ]
        return np.asarray(np.min(means, axis=0)) * (1.0 + 1e-15)


def _on_grid(phi: UserModulus, step: int, grid: Array) -> Array:
    if isinstance(phi, GridModulus):
        return phi.on_grid(step, grid)
    return np.array([phi(step, u) if u > 0.0 else 0.0 for u in grid.tolist()])


def _rows(step_size: StepSize, row: Callable[[float], Modulus]) -> UserModulus:
    return ModulusPerStep(_sizes(step_size), row)
