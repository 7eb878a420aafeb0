"""A prox of one's own: its facts are declared, and its function is given where it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, final

import numpy as np

from wane.arguments import Count, Flag, Real, nonnegative, refused
from wane.arrays import Array
from wane.describe.domains.base import Domain, ProxFacts
from wane.errors import InvalidDescription

Compute = Callable[[Array, float], Array]
"""Takes a point and a step size, and returns the prox as a point of the same length."""
LONGEST_NAME = 60
SCALES = (1e-3, 1e-1, 1.0, 10.0, 1e3)
MOST_POINTS, MOST_NUMBERS = 16, 1 << 16
SLACK = 1e-6
"""How far, relatively, a function that is computed to a few digits may be from what is declared."""


def _name(name: str, value: object) -> str:
    """Return a word or two to know a prox by, or refuse it."""
    if not (isinstance(value, str) and value.isprintable() and 0 < len(value) <= LONGEST_NAME):
        raise refused(name, value, f"a text of 1 to {LONGEST_NAME} printable characters")
    return value


def _exact(name: str, value: object) -> Fraction:
    """Return a number that is not negative, exactly."""
    return Fraction(nonnegative(name, float(value) if isinstance(value, Fraction) else value))


@final
@dataclass(frozen=True)
class OwnProx(Domain):
    """A prox that is not in the catalogue: certified by declared facts, run by `computed_by`.

    The function must be the prox of a convex function h, must not depend on records, and is no part
    of the description: files and documents hold its name and its facts.

    Attributes:
        name: what it is called.
        strong_convexity: h - (strong_convexity/2)|x|^2 is convex, so that the prox is Lipschitz
            with 1/(1 + step_size*strong_convexity).
        diameter: no two points that it returns are further apart.
        dimension: the length of a point, if it takes points of one length only.
        projection: it is the same at every step size, as the projection onto a convex set is.
    """

    kind: ClassVar[str] = "own-prox"
    name: Annotated[str, _name]
    # The defaults only shadow the properties of the base class.
    strong_convexity: Annotated[Fraction, _exact] = Fraction(0)
    diameter: Annotated[float, Real(above=0.0, finite=False)] = math.inf
    dimension: Count | None = None
    projection: Flag = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.projection and self.strong_convexity > 0:
            raise InvalidDescription(
                "strong_convexity must be 0 for a projection, got "
                f"{float(self.strong_convexity)!r}; the function that is 0 on a set does not bend."
            )

    def computed_by(self, function: Compute) -> OwnProx:
        """Return the same prox, to be run by this function of a point and a step size."""
        if not callable(function):
            raise refused("function", function, "a function of a point and a step size")
        runnable = copy(self)
        runnable.__dict__.pop("_tried", None)
        object.__setattr__(runnable, "_function", function)
        return runnable

    def _describe(self) -> ProxFacts:
        return ProxFacts(
            diameter=self.diameter,
            has_interior=None,
            strong_convexity=self.strong_convexity,
            dimension=self.dimension,
            declared=(self.name,),
        )

    def _prox(self, points: Array, step_size: float) -> Array:
        size = points.shape[-1]
        key = size, math.frexp(step_size)[1]  # steps of nearly one size are tried once
        if key not in self._tried:
            self._try(size, step_size)
            self._tried.add(key)
        try:
            rows = [self._computed(row, step_size) for row in points.reshape(-1, size)]
        except Exception:
            # as a factorisation that did not converge: what it says may depend on the records
            raise np.linalg.LinAlgError(f"the prox {self.name!r} has no value here") from None
        return np.stack(rows).reshape(points.shape)

    def _penalty(self, points: Array) -> Array:
        raise InvalidDescription(
            f"domain must be of the catalogue to evaluate its penalty, got the prox {self.name!r}, "
            "of which only the prox is known."
        )

    @cached_property
    def _tried(self) -> set[tuple[int, int]]:
        return set()

    def _computed(self, point: Array, step_size: float) -> Array:
        function = self.__dict__.get("_function")
        if function is None:
            raise InvalidDescription(
                f"domain must say how the prox {self.name!r} is computed to be run, got its facts "
                "alone; give domain.computed_by(function)."
            )
        made = np.asarray(function(point.copy(), step_size), dtype=np.float64)
        if made.shape != point.shape or not np.isfinite(made).all():
            raise InvalidDescription(
                f"the prox {self.name!r} must return {point.size} finite numbers for a point of "
                f"{point.size}, got an array of shape {made.shape}."
            )
        return made

    def _try(self, size: int, step_size: float) -> None:
        """Refuse what the function contradicts at points that are the same whatever the data."""
        points = _points_to_try(size, self.diameter)
        images = self._images(points, step_size)
        bend = 1.0 + step_size * float(self.strong_convexity)
        for point, image in zip(points, images, strict=True):
            apart, moved = points - point, images - image
            squares, inner = (moved * moved).sum(axis=1), (apart * moved).sum(axis=1)
            distance = np.linalg.norm(apart, axis=1)
            size_of_both = np.linalg.norm(points, axis=1) + float(np.linalg.norm(point))
            slack = SLACK * distance**2 + 1e-9 * distance * size_of_both
            if np.any(bend * squares > inner + slack):
                raise self._contradicted(
                    "the prox of a convex function",
                    "strong_convexity",
                    float(self.strong_convexity),
                )
            if np.any(np.sqrt(squares) > self.diameter * (1.0 + SLACK)):
                raise self._contradicted("of that diameter", "diameter", self.diameter)
        if self.projection:
            again = self._images(images, step_size) - images
            other = self._images(points, 2.0 * step_size) - images
            largest = np.abs(points).max(axis=1, keepdims=True) + np.abs(images)
            if np.any(np.maximum(np.abs(again), np.abs(other)) > SLACK * (largest + 1e-9)):
                raise self._contradicted("a projection", "projection", True)

    def _images(self, points: Array, step_size: float) -> Array:
        try:
            return np.stack([self._computed(row, step_size) for row in points])
        except InvalidDescription:
            raise
        except Exception as error:
            raise InvalidDescription(
                f"the prox {self.name!r} must take every point, got {type(error).__name__}: "
                f"{error!s:.80}."
            ) from None

    def _contradicted(self, what: str, field: str, value: object) -> InvalidDescription:
        return InvalidDescription(
            f"domain must be true of what runs, got a function that is not {what} at points that "
            f"were tried, and {field}={value!r} declared of the prox {self.name!r}; declare what "
            "it is."
        )


def _points_to_try(size: int, diameter: float) -> Array:
    """Return the origin and points of several lengths, dense and with one entry, near and far."""
    count = max(3, min(MOST_POINTS, MOST_NUMBERS // size))
    place, entry = np.arange(1.0, count + 1.0)[:, None], np.arange(size)[None, :]
    dense = np.sin(place * np.sqrt(2.0 + 1.7 * entry))
    alone = np.where(entry == (place.astype(int) * 7) % size, np.cos(1.3 * place), 0.0)
    beside = dense + 1e-2 * np.cos(place * np.sqrt(3.0 + 1.3 * entry))
    shapes = np.concatenate([dense, alone, beside])
    scales = (*SCALES, diameter) if math.isfinite(diameter) else SCALES
    return np.concatenate([np.zeros((1, size)), *(scale * shapes for scale in scales)])
