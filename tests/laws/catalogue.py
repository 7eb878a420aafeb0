"""Families of concrete losses, each with the exact constants that its definition gives it.

`CATALOGUE` maps a name to a function that draws a member: what one record may be (`losses`), the
box, and the constants in closed form where there is one.  `measured` computes constants from the
definitions alone, for any losses; the tests compare the two.  The numbers L1 to L18 say what a
family tells apart:

L1 lines; L2 lines with a large common slope; L3 hills with a shared curvature; L4 a hill beside a
flatter valley; L5 parabolas around different centres; L6 steep where clipping hides it; L7 a plane
where clipping turns the gradient; L8 Hoelder, in the plane convex on the domain only; L9 double
wells; L10 waves; L11 parabolas beside null records; L12 parabolas of two records; L13 lines under
a ridge; L14 one curved record among flat ones; L16 absolute values; L18 sums and products.  (L15
are drifts of diffusions, L17 schedules: they are drawn elsewhere.)
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from laws.loss_cases import (
    Bent,
    Glm,
    LogCosh,
    Logistic,
    OnLine,
    Power,
    Quadratic,
    Saddle,
    Separable,
    Sum,
    Wave,
    Well,
    huber,
    line,
    parabola,
    steep,
)
from wane.audit.concrete import Family
from wane.audit.suprema import (
    furthest_contributions,
    holder_quotient,
    largest_derivative,
    least_curvature,
    least_dissipation,
    longest_contribution,
)

OUTWARDS = 1e-9
"""Measured constants are declared this much further out, relative to the largest of them."""


@dataclass(frozen=True)
class Drawn:
    """Concrete losses of records, and what is exactly true of them."""

    name: str
    losses: tuple
    half_width: float | None
    exact: dict[str, Any]
    clip: float | None = None
    shape: str = "general"
    dimension: int = 1
    everywhere: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> Family:
        ends = np.full(self.dimension, math.inf if self.half_width is None else self.half_width)
        if self.dimension > 1:
            losses, points = self.losses, np.zeros((1, self.dimension))
        else:
            losses = tuple(OnLine(scalar) for scalar in self.losses)
            inside = {k for s in self.losses for k in s.kinks if abs(k) <= ends[0]}
            # beside a kink, since derivatives jump there
            places = [k * (1 + t) + t for k in inside for t in (-1e-9, 0.0, 1e-9)] or [0.0]
            points = np.clip(np.array(places)[:, None], -ends, ends)
        return Family(losses, -ends, ends, points, reach=self.extra.get("reach", 50.0))


def _width(rng) -> float:
    return float(10 ** rng.uniform(-0.4, 0.4))


def lines(rng) -> Drawn:
    c = _width(rng)
    return Drawn(
        "L1",
        (line(c), line(-c)),
        None,
        {
            "gradient_bound": c,
            "gradient_difference_bound": 2 * c,
            "smoothness": 0.0,
            "strong_convexity": 0.0,
        },
        everywhere=True,
    )


def common_slope(rng) -> Drawn:
    c = _width(rng)
    a = c * float(rng.uniform(2.0, 12.0))
    return Drawn(
        "L2",
        (line(a + c), line(a - c)),
        None,
        {
            "gradient_bound": a + c,
            "gradient_difference_bound": 2 * c,
            "smoothness": 0.0,
            "strong_convexity": 0.0,
        },
    )


def hills(rng) -> Drawn:
    B, a, c = _width(rng), _width(rng), _width(rng) * float(rng.choice([0.1, 1.0]))
    return Drawn(
        "L3",
        tuple(Sum((parabola(-a), line(s * c))) for s in (1, -1)),
        B,
        {
            "gradient_bound": a * B + c,
            "gradient_difference_bound": 2 * c,
            "smoothness": a,
            "strong_convexity": -a,
            "holder": (0.0, 2 * a * B),
        },
    )


def hill_and_valley(rng) -> Drawn:
    B, k, c = _width(rng), _width(rng), _width(rng) * 0.3
    h = k * float(rng.uniform(0.0, 0.9))
    return Drawn(
        "L4",
        (Sum((parabola(-k), line(c))), parabola(h)),
        B,
        {
            "gradient_bound": max(k * B + c, h * B),
            "gradient_difference_bound": (k + h) * B + c,
            "smoothness": k,
            "strong_convexity": -k,
        },
    )


def parabolas(rng) -> Drawn:
    B, k, r = _width(rng), _width(rng), _width(rng)
    return Drawn(
        "L5",
        (parabola(k, r), parabola(k, -r), parabola(k, r * float(rng.uniform(-1, 1)))),
        B,
        {
            "gradient_bound": k * (B + r),
            "gradient_difference_bound": 2 * k * r,
            "smoothness": k,
            "strong_convexity": k,
            "holder": (1.0, k),
            "dissipativity": (0.0, k),
        },
    )


def parabolas_everywhere(rng) -> Drawn:
    k, r = _width(rng), _width(rng)
    return Drawn(
        "L5",
        (parabola(k, r), parabola(k, -r)),
        None,
        {"gradient_difference_bound": 2 * k * r, "smoothness": k, "strong_convexity": k},
        everywhere=True,
    )


def clipped_parabolas(rng) -> Drawn:
    B, k, r = _width(rng), _width(rng), _width(rng)
    C = k * (B + r) * float(rng.uniform(0.1, 0.9))
    return Drawn(
        "L5",
        (parabola(k, r), parabola(k, -r)),
        B,
        {"gradient_bound": C, "smoothness": k, "strong_convexity": k},
        clip=C,
    )


def steep_outside(rng) -> Drawn:
    """Curved by one inside and by a hundred where gradients are clipped; described before it."""
    C = _width(rng)
    B = C * float(rng.uniform(1.1, 2.0))
    return Drawn(
        "L6",
        (steep(C, 100.0), Sum((steep(C, 100.0), line(C / 10)))),
        B,
        {
            "gradient_bound": C,
            "smoothness": 100.0,
            "strong_convexity": 1.0,
        },
        clip=C,
    )


def steep_hidden(rng) -> Drawn:
    C = _width(rng)
    B = C * float(rng.uniform(1.1, 2.0))
    return Drawn(
        "L6",
        (steep(C, 100.0), Bent((-2 * C, -C, C, 2 * C), (-C, -C, C, C))),
        B,
        {"gradient_bound": C, "smoothness": 1.0, "strong_convexity": 0.0},
        clip=C,
        shape="glm",
        extra={"clamped": True},
    )


def smooth_links(rng) -> Drawn:
    B, h, w = 6.0 * _width(rng), _width(rng), _width(rng)
    return Drawn(
        "L6",
        (Logistic(h, w), Sum((Logistic(h, w), line(-h)))),
        B,
        {
            "gradient_bound": h / (1 + math.exp(-B / w)),
            "gradient_difference_bound": h,
            "smoothness": h / w / 4,
            "strong_convexity": h / w / (2 * math.cosh(B / w / 2)) ** 2,
        },
        shape="glm",
    )


def log_cosh(rng) -> Drawn:
    B, h, w, z = 3.0 * _width(rng), _width(rng), _width(rng), 0.3 * _width(rng)
    return Drawn(
        "L6",
        (LogCosh(h, w, z), LogCosh(h, w, -z)),
        B,
        {
            "gradient_bound": h * math.tanh((B + z) / w),
            "gradient_difference_bound": 2 * h * math.tanh(z / w),
            "smoothness": h / w,
            "strong_convexity": h / w / math.cosh((B + z) / w) ** 2,
        },
    )


def hubers(rng) -> Drawn:
    h, w, z = _width(rng), _width(rng), _width(rng)
    return Drawn(
        "L6",
        (huber(h, w, z), huber(h, w, -z)),
        None,
        {
            "gradient_bound": h,
            "gradient_difference_bound": h * min(2.0, 2 * z / w),
            "smoothness": h / w,
            "strong_convexity": 0.0,
            "holder": (0.0, 2 * h),
        },
        everywhere=True,
        extra={"reach": 20.0},
    )


def turned_by_clipping(rng) -> Drawn:
    """M <u, x>^2/2 + g <v, x> in the plane, u almost along v, clipped far below g."""
    M, angle, g = _width(rng), float(rng.uniform(0.05, 1.5)), 5.0 * _width(rng)
    u, v = np.array([math.cos(angle), math.sin(angle)]), np.array([1.0, 0.0])
    H = tuple(map(tuple, M * np.outer(u, u)))
    B = 0.05 * _width(rng)
    return Drawn(
        "L7",
        (Quadratic(H, tuple(g * v)), Quadratic(H, tuple(-g * v))),
        B,
        {"gradient_bound": g / 4, "smoothness": M, "strong_convexity": 0.0},
        clip=g / 4,
        dimension=2,
    )


def powers(rng) -> Drawn:
    B, A = _width(rng), _width(rng)
    p = float(rng.choice([0.3, 0.5, 0.8]))
    return Drawn(
        "L8",
        (Power(A, p), Sum((Power(A, p), line(A * B**p / 2)))),
        B,
        {
            "gradient_bound": A * B**p * 1.5,
            "gradient_difference_bound": A * B**p / 2,
            "strong_convexity": A * p * B ** (p - 1),
            "holder": (p, A * 2 ** (1 - p)),
        },
        everywhere=True,
        extra={"convex_only": True},
    )


def saddle(rng) -> Drawn:
    return Drawn(
        "L8",
        (Saddle(), Saddle(6.0), Saddle(-6.0)),
        None,
        {},
        dimension=2,
        extra={"reach": 2.0},
    )


def wells(rng) -> Drawn:
    A, kappa = _width(rng), float(rng.uniform(0.1, 6.0))
    return Drawn(
        "L9",
        (Well(A), Sum((Well(A), line(A / 3)))),
        2.0,
        {
            "gradient_bound": 6 * A + A / 3,
            "gradient_difference_bound": A / 3,
            "smoothness": 11 * A,
            "strong_convexity": -A,
            "dissipativity": (A * (1 + kappa) ** 2, A * kappa),
        },
    )


def waves(rng) -> Drawn:
    A, w = _width(rng), _width(rng) * 2
    return Drawn(
        "L10",
        (Wave(A, w), Wave(A, w, math.pi), Wave(A, w, 1.0)),
        2.5 * math.pi / w,
        {
            "gradient_bound": A * w,
            "gradient_difference_bound": 2 * A * w,
            "smoothness": A * w * w,
            "strong_convexity": -A * w * w,
        },
    )


def two_records(rng) -> Drawn:
    return Drawn(
        "L12",
        (parabola(0.5, -1.2), parabola(0.5, 4.7)),
        1.0,
        {
            "gradient_bound": 2.85,
            "gradient_difference_bound": 2.95,
            "smoothness": 0.5,
            "strong_convexity": 0.5,
        },
    )


def one_curved(rng) -> Drawn:
    B, c = _width(rng), _width(rng)
    return Drawn(
        "L14",
        (parabola(1.0), line(c), line(-c)),
        B,
        {
            "gradient_bound": max(B, c),
            "gradient_difference_bound": max(B + c, 2 * c),
            "smoothness": 1.0,
            "strong_convexity": 0.0,
        },
    )


def absolute(rng) -> Drawn:
    z, A = _width(rng), _width(rng)
    return Drawn(
        "L16",
        (Power(A, 0.0, z), Power(A, 0.0, -z)),
        2 * z,
        {
            "gradient_bound": A,
            "gradient_difference_bound": 2 * A,
            "strong_convexity": 0.0,
            "holder": (0.0, 2 * A),
        },
        everywhere=True,
        extra={"convex_only": True},
    )


def sums(rng) -> Drawn:
    """Two or three parts, weights of either sign, constants by measurement only."""
    B = _width(rng)

    def part():
        kinds = (
            lambda: parabola(float(rng.normal()), float(rng.normal())),
            lambda: line(float(rng.normal())),
            lambda: Wave(0.5 * _width(rng), 2 * _width(rng), float(rng.uniform(0, 6))),
            lambda: LogCosh(_width(rng), _width(rng), float(rng.normal())),
            lambda: huber(_width(rng), _width(rng), float(rng.normal())),
        )
        return kinds[int(rng.integers(len(kinds)))]()

    shared = part()
    losses = tuple(Sum((shared, part(), line(float(rng.normal())))) for _ in range(3))
    return Drawn("L18", losses, B, {})


def products(rng) -> Drawn:
    """A second coordinate beside the first, as another chain has it; constants of the stack."""
    B, k, r, A = _width(rng), _width(rng), _width(rng), _width(rng)
    one, two = parabola(k, r), parabola(k, -r)
    hill = parabola(-A)
    return Drawn(
        "L18",
        (Separable((one, hill)), Separable((two, hill))),
        B,
        {
            "gradient_bound": math.hypot(k * (B + r), A * B),
            "gradient_difference_bound": 2 * k * r,
            "smoothness": max(k, A),
            "strong_convexity": -A,
        },
        dimension=2,
    )


def stacked_wells(rng) -> Drawn:
    kappa = float(rng.uniform(0.1, 2.0))
    return Drawn(
        "L18",
        (Separable((Well(1.0), Well(1.0))),),
        2.0,
        {"dissipativity": (2 * (1 + kappa) ** 2, kappa), "smoothness": 11.0},
        dimension=2,
    )


def links_in_the_plane(rng) -> Drawn:
    h, w, angle = _width(rng), _width(rng), float(rng.uniform(0, 3))
    a = (2 * math.cos(angle), 2 * math.sin(angle))
    return Drawn(
        "L6",
        (Glm(LogCosh(h, w), a), Glm(LogCosh(h, w, w), a)),
        None,
        {"smoothness": 4 * h / w, "strong_convexity": 0.0},
        shape="glm",
        dimension=2,
        extra={"reach": 4.0},
    )


CATALOGUE: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    f.__name__: f
    for f in (
        lines,
        common_slope,
        hills,
        hill_and_valley,
        parabolas,
        parabolas_everywhere,
        clipped_parabolas,
        steep_outside,
        steep_hidden,
        smooth_links,
        log_cosh,
        hubers,
        turned_by_clipping,
        powers,
        saddle,
        wells,
        waves,
        two_records,
        one_curved,
        absolute,
        sums,
        products,
        stacked_wells,
        links_in_the_plane,
    )
}


def _out(value: float) -> float:
    return value + OUTWARDS * abs(value)


def _convexity(family: Family, reading: float | None) -> float:
    """Minus the largest bend downwards; what is zero but for rounding is zero."""
    down = least_curvature(family, reading).lower
    scale = largest_derivative(family, reading).lower
    return 0.0 if abs(down) <= 1e-12 * min(scale, 1e6) else -_out(down)


def _holder(family: Family, p: float) -> float:
    """Searches of pairs keep off the diagonal: there the derivative is the quotient."""
    if p == 1.0:
        return _out(largest_derivative(family, None).lower)
    return holder_quotient(family, p).lower * (1 + 1e-6)


def measured(drawn: Drawn, names: tuple[str, ...], *, kappa: float = 0.0, p: float = 1.0) -> dict:
    """Constants of these losses from their definitions, rounded outwards."""
    family, clip = drawn.family, drawn.clip
    reading = clip if drawn.extra.get("clamped") else None
    made: dict[str, Any] = {}
    if "gradient_bound" in names:
        made["gradient_bound"] = clip or _out(longest_contribution(family, clip).lower)
    if "gradient_difference_bound" in names:
        made["gradient_difference_bound"] = _out(furthest_contributions(family, clip).lower)
    if "smoothness" in names:
        made["smoothness"] = _out(largest_derivative(family, reading).lower)
    if "strong_convexity" in names:
        made["strong_convexity"] = _convexity(family, reading)
    if {"smoothness", "strong_convexity"} <= made.keys():  # two searches may end a bit apart
        made["smoothness"] = max(made["smoothness"], abs(made["strong_convexity"]))
    if "holder" in names:
        made["holder"] = (p, _holder(family, p))
        if p == 1.0 and "strong_convexity" in made:
            made["holder"] = (p, max(made["holder"][1], abs(made["strong_convexity"])))
    if "dissipativity" in names:
        made["dissipativity"] = (least_dissipation(family, kappa).lower * (1 + 1e-6) + 1e-12, kappa)
    return made
