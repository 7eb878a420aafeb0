"""Laplace noise added twice or more: the density of the sum, and what further helpings buy.

The level of pure DP does not change, sensitivity/max of the scales; Renyi divergences and deltas
shrink.  What is released is a sum of discrete noises, drawn and accounted for exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import overload

import numpy as np
from scipy import special

from wane import arguments
from wane.arrays import Array
from wane.describe.laplace import LaplaceRelease, checked_scale
from wane.errors import InvalidDescription
from wane.mechanisms.calibration import PrivacyTarget
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.numerics.search import smallest_satisfying

RAISED = 1e-11
"""Relative amount by which divergences found by quadrature are raised."""

LARGEST_ORDER = 1e12
"""Beyond it the level of pure privacy is used, which no divergence exceeds."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_BISECTIONS = 200


@overload
def log_density(x: float, first_scale: float, second_scale: float) -> float: ...
@overload
def log_density(x: Array, first_scale: float, second_scale: float) -> Array: ...
def log_density(x: float | Array, first_scale: float, second_scale: float) -> float | Array:
    """Logarithm of the density of the sum of two independent Laplace variables.

    Claim.  For scales a >= b: e^(-|x|/a) (1 + (|x|/a) E(y))/(2 (a + b)), y = |x| (a - b)/(a b),
    E(y) = (1 - e^-y)/y.  One formula for equal and unequal scales, without cancellation.
    """
    a, b = max(first_scale, second_scale), min(first_scale, second_scale)
    size = np.abs(np.asarray(x, dtype=np.float64))
    value = _log_bulge(size, a, b) - size / a - math.log(2.0 * (a + b))
    return float(value) if np.ndim(x) == 0 else np.asarray(value)


def _log_bulge(size: Array, a: float, b: float) -> Array:
    """ln(1 + (|x|/a) E(y)): how much flatter than one Laplace density the sum is."""
    y = size * ((a - b) / (a * b))
    share = -np.expm1(-y) / np.where(y > 0.0, y, 1.0)
    return np.asarray(np.log1p(size / a * np.where(y > 0.0, share, 1.0)))


def density(x: float, first_scale: float, second_scale: float) -> float:
    """The density of the sum of two independent Laplace variables."""
    checked_scale("first_scale", first_scale)
    checked_scale("second_scale", second_scale)
    return math.exp(log_density(float(x), first_scale, second_scale))


def laplace_renyi(order: float, ratio: float) -> float:
    """The Renyi divergence of two Laplace variables `ratio` scales apart, rounded up."""
    order = arguments.real("order", order, above=1.0)
    ratio = arguments.real("ratio", ratio, least=0.0)
    if ratio == 0.0:
        return 0.0
    return inflate(max(_log_moment(order, ratio) / (order - 1.0), SMALLEST_POSITIVE), 1e-14)


def _log_moment(order: float, t: float) -> float:
    """Log of (a e^((a-1) t) + (a-1) e^(-a t))/(2a - 1), accurate relative to itself."""
    if order * t < 1.0:
        return math.log1p(_moment_excess(order, t))
    if (order - 1.0) * t < 30.0:  # the moment minus one, which order - 1 may divide
        excess = order * math.expm1((order - 1.0) * t) + (order - 1.0) * math.expm1(-order * t)
        return math.log1p(excess / (2.0 * order - 1.0))
    up = math.log(order) + (order - 1.0) * t
    return float(np.logaddexp(up, math.log(order - 1.0) - order * t)) - math.log(2.0 * order - 1.0)


def _moment_excess(order: float, t: float) -> float:
    """The moment minus one by its series, whose first term vanishes."""
    total, up, down = 0.0, 1.0, 1.0
    for n in range(1, 20):
        up *= (order - 1.0) * t / n
        down *= -order * t / n
        total += order * up + (order - 1.0) * down if n > 1 else 0.0
    return total / (2.0 * order - 1.0)


class IteratedLaplace(LaplaceRelease):
    """Numbers released with Laplace noise, to which further Laplace noise is added.

    `LaplaceRelease` lists the attributes; `wane.certify` needs an adjacency.  What the literature
    knows of noises with a density is here as well, under names that say so.
    """

    @property
    def continuous_pure_epsilon(self) -> float:
        """The level of noises with a density, which no release costs: sensitivity/largest scale."""
        return inflate(self.sensitivity / max(self.scales), 4e-16)

    def continuous_renyi(self, order: float) -> float:
        """The exact Renyi divergence of two noises with a density, by quadrature, rounded up.

        The densities are log-concave, so the worst shift is the whole sensitivity.  A release is
        rounded to multiples of the unit, entry by entry, and costs more: see `renyi`.
        """
        order = arguments.real("order", order, above=1.0)
        if self.further_scales:
            raise InvalidDescription(
                f"further_scales must be empty for a density in closed form, got "
                f"{len(self.further_scales)} more noises; ask renyi, of what is released."
            )
        known = min(self.coupled_renyi(order), self.continuous_pure_epsilon)
        if order > LARGEST_ORDER:
            return known
        nodes, weights = self._panels(order)
        near = log_density(nodes, self.first_scale, self.second_scale)
        loss = self._losses(nodes)
        log_total = float(special.logsumexp(near + (order - 1.0) * loss, b=weights))
        doubt = 4e-15 * (1.0 + abs(log_total))
        exact = max((log_total + doubt) / (order - 1.0), SMALLEST_POSITIVE)
        return min(known, inflate(exact, RAISED))

    def _losses(self, x: Array) -> Array:
        """The log ratio of both densities: a large order magnifies what a difference would lose."""
        a = max(self.first_scale, self.second_scale)
        b = min(self.first_scale, self.second_scale)
        moved = np.clip(self.sensitivity - 2.0 * x, -self.sensitivity, self.sensitivity) / a
        sizes = np.abs(x), np.abs(x - self.sensitivity)
        near, far = (_log_bulge(size, a, b) for size in sizes)
        return np.asarray(moved + (near - far))

    def coupled_renyi(self, order: float) -> float:
        """The coupling bound at its best intermediate point; above `continuous_renyi`."""
        t = self.intermediate_point(order)
        total = _log_moment(order, t / self.first_scale)
        total += _log_moment(order, (self.sensitivity - t) / self.second_scale)
        return inflate(total / (order - 1.0), 1e-14)

    def intermediate_point(self, order: float) -> float:
        """Where the coupling bound is smallest: the slopes of its two convex halves agree."""
        order = arguments.real("order", order, above=1.0)
        low, high = 0.0, self.sensitivity
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            rising = _slope(order, middle / self.first_scale) / self.first_scale
            falling = _slope(order, (self.sensitivity - middle) / self.second_scale)
            low, high = (low, middle) if rising > falling / self.second_scale else (middle, high)
        return 0.5 * (low + high)

    def _panels(self, order: float) -> tuple[Array, Array]:
        """Gauss-Legendre panels that end at the two kinks and reach far into the tails."""
        largest = max(self.first_scale, self.second_scale)
        smallest = min(self.first_scale, self.second_scale)
        # On the left the integrand decays like e^(x/largest), order by order, likewise right.
        reach = largest * 60.0 + order * self.sensitivity
        width = min(smallest, largest / order) * 2.0
        # Equal scales have a peak near the root of the order, about its fourth root wide.
        growth = 1.0 + min(0.25, 3.0 * order**-0.25)
        count = math.ceil(math.log(reach / width) / math.log(growth)) + 1
        fine = np.concatenate([[0.0], width * growth ** np.arange(float(count))])
        side = np.append(fine[fine < reach], reach)
        inside = side[side < self.sensitivity / 2.0]
        middle = np.concatenate([inside, [self.sensitivity / 2.0], self.sensitivity - inside[::-1]])
        edges = np.concatenate([-side[:0:-1], middle, self.sensitivity + side[1:]])
        half, centre = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
        nodes = centre[:, None] + half[:, None] * _NODES
        return nodes.reshape(-1), (half[:, None] * _WEIGHTS).reshape(-1)


def _slope(order: float, t: float) -> float:
    """Derivative of the log moment: a (a-1) (1 - e^(-(2a-1) t))/(a + (a-1) e^(-(2a-1) t))."""
    fade = -math.expm1(-(2.0 * order - 1.0) * t)
    return order * (order - 1.0) * fade / (order + (order - 1.0) * (1.0 - fade))


def calibrated_iterated_laplace(
    target: PrivacyTarget,
    *,
    sensitivity: float,
    proportions: Sequence[float] = (1.0, 1.0),
    dimension: int = 1,
) -> IteratedLaplace:
    """Return the least noise of these proportions whose release meets an epsilon and a delta."""
    if target.epsilon is None or target.delta is None:
        raise InvalidDescription("target must be an epsilon and a delta for Laplace noise.")
    if len(proportions) < 2:
        raise InvalidDescription(
            f"proportions must name at least two noises, got {len(proportions)}."
        )
    shares = [arguments.real(f"proportions[{i}]", p, above=0.0) for i, p in enumerate(proportions)]
    goal = target

    def made(factor: float) -> IteratedLaplace:
        first, second, *others = (factor * share for share in shares)
        return IteratedLaplace(
            sensitivity, first, second, further_scales=tuple(others), dimension=dimension
        )

    def meets(factor: float) -> bool:
        return made(factor).delta(goal.epsilon or 0.0) <= (goal.delta or 0.0)

    sensitivity = arguments.real("sensitivity", sensitivity, above=0.0)
    start = sensitivity / max(shares) / 1024.0
    return made(smallest_satisfying(meets, start, relative=1e-3))
