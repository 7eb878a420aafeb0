"""What is known of the losses, and what theorems use of it; what is not said is not assumed.

A record's contribution is the vector that it adds to the sum of a step.  Four numbers bound it:

    sensitivity  how far apart the sums of two neighbouring data sets are at one point;
    change       how far one record's contribution moves between two points of the domain;
    apart        how far apart two records' contributions are at two points of the domain;
    member       how long the vector is that a coin puts into a batch or leaves out.

They are derived here alone, and rounded up.  What was not declared and does not follow is infinite.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from wane.arguments import (
    Checked,
    Count,
    Finite,
    Flag,
    Kind,
    NonNegative,
    Positive,
    Probability,
    nonnegative,
    positive,
)
from wane.describe.choices import Adjacency, Batches, Poisson
from wane.errors import InvalidDescription

_ROUNDED_UP = 1.0 + 1e-9
"""Constants are known to about nine digits: a loss that just attains its bound is not refused."""


class LossForm(enum.Enum):
    """The shape of one record's loss, which decides what clipping does to it.

    GENERAL  nothing is known.
    GLM      f(x) = phi(<a, x>): clipping the gradient clamps phi', and keeps convexity.
    RADIAL   f(W) = psi(|W a - y|), psi convex with psi'(0) = 0: likewise.
    """

    GENERAL = "general"
    GLM = "glm"
    RADIAL = "radial"


@dataclass(frozen=True, kw_only=True)
class Objective(Checked):
    """Regularity of every record's loss, on an open convex set that contains the domain.

    A contribution is the gradient, after clipping if `clipped`; the ridge is no part of it.

    Attributes:
        gradient_bound: No record's contribution is ever longer than this: what a record adds to the
            sum before it is divided, after clipping, everything included that is added once per
            record.
        gradient_difference_bound: At one point, the contributions of two records are never further
            apart than this; a null or absent record is not one of them.
        smoothness: The gradient of each record's loss, before clipping and without ridge, is
            Lipschitz with this constant.
        strong_convexity: Each record's loss, before clipping and without ridge, curves upwards by
            at least this: zero is convex, negative is weakly convex.
        clipped: Each record's whole gradient is projected onto the ball of radius gradient_bound
            before it is summed, all parameters at once.
        form: The shape of one record's loss, and nothing beside it: glm is a function of one linear
            form, radial a convex function of the length of a residual, least at zero.
        ridge: This weight times the iterate is added once to every step: outside the sum, its
            divisor, the clipping and the sampling, with or without records.
        dimension: The iterate has exactly this many coordinates.
        holder_exponent: The exponent with which holder_constant bounds the change of one record's
            gradient: zero bounds the change itself, one is smoothness.
        holder_constant: The gradient of each record's loss changes by at most this constant times
            the distance to the power holder_exponent.
        holder_everywhere: The losses are defined on the whole space, and there the Hoelder bound
            and, if strong_convexity >= 0 is declared, convexity hold as well.
        dissipativity: Far apart, each record's loss, before clipping and without ridge, curves
            upwards by at least kappa, up to lambda; this is false of a null record.
    """

    fields_of: ClassVar[str] = "objective."
    gradient_bound: Positive | None = None
    gradient_difference_bound: Positive | None = None
    smoothness: NonNegative | None = None
    strong_convexity: Finite | None = None
    clipped: Flag = False
    form: Annotated[LossForm, Kind((LossForm,))] = LossForm.GENERAL
    ridge: NonNegative = 0.0
    dimension: Count | None = None
    holder_exponent: Probability | None = None
    holder_constant: NonNegative | None = None
    holder_everywhere: Flag = False
    dissipativity: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clipped and self.gradient_bound is None:
            raise InvalidDescription(
                "objective.gradient_bound must be given when clipped is true, got None; "
                "it is the clipping threshold."
            )
        self._check_pairs()
        self._check_curvature()

    def _check_pairs(self) -> None:
        if (self.holder_exponent is None) != (self.holder_constant is None):
            raise InvalidDescription(
                "objective.holder_exponent and holder_constant belong together; give both or none."
            )
        if self.dissipativity is not None:
            pair = self.dissipativity
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InvalidDescription(
                    f"objective.dissipativity must be a pair (lambda, kappa), got {pair!r}."
                )
            lam = nonnegative("objective.dissipativity[0]", pair[0])
            kappa = positive("objective.dissipativity[1]", pair[1])
            self._keep(dissipativity=(lam, kappa))

    def _check_curvature(self) -> None:
        """Refuse a curvature m beyond M: gradients that change by m |x - y| are not M-Lipschitz."""
        m, M = self.strong_convexity, self.gradient_lipschitz
        if m is None or M is None or abs(m) <= M:
            return
        name = "smoothness" if self.smoothness == M else "holder_constant"
        cure = (
            f"a loss that bends by {m:g} has smoothness at least {-m:g}; declare smoothness={-m:g}"
            if m < 0.0
            else "no loss bends upwards by more than its gradient changes; correct one of the two"
        )
        raise InvalidDescription(
            f"objective.strong_convexity must lie between -{name}={-M:g} and {name}={M:g}, "
            f"got {m:g}; {cure}."
        )

    @property
    def gradient_lipschitz(self) -> float | None:
        """The gradient's Lipschitz constant, which a Hoelder exponent of one declares too."""
        known = [self.smoothness]
        if self.holder_exponent == 1.0:
            known.append(self.holder_constant)
        return min((M for M in known if M is not None), default=None)

    @property
    def difference(self) -> float:
        """How far two real records' contributions can be apart at one point."""
        declared = self.gradient_difference_bound
        return min(math.inf if declared is None else declared, 2.0 * self._longest)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """How far one record moves the sum at one point; a null or absent record adds nothing."""
        return self.difference if adjacency is Adjacency.REPLACE_ONE else self._longest

    def change(self, diameter: float) -> float:
        """How far one record's contribution moves between two points of a set of this diameter."""
        known = [2.0 * self._longest]
        if self.smoothness is not None:
            known.append(_grown(self.smoothness, diameter, 1.0))
        if self.holder_exponent is not None and self.holder_constant is not None:
            known.append(_grown(self.holder_constant, diameter, self.holder_exponent))
        return min(known)

    def apart(self, adjacency: Adjacency, diameter: float) -> float:
        """How far apart the differing record's contributions are at two points of such a set."""
        if adjacency is not Adjacency.REPLACE_ONE:
            return self._longest
        return min(2.0 * self._longest, _up(self.difference + self.change(diameter)))

    def member(self, adjacency: Adjacency, batches: Batches) -> float:
        """How long the vector is that a coin puts into a batch, or exchanges for another."""
        if isinstance(batches, Poisson):
            return self._longest
        if adjacency is Adjacency.REPLACE_ONE:
            return self.difference
        return max(self.difference, self._longest)

    @property
    def _longest(self) -> float:
        return math.inf if self.gradient_bound is None else self.gradient_bound

    def refuse_impossible_bounds(self, diameter: float) -> None:
        """Refuse a gradient bound that no loss of this curvature has in a set of this diameter.

        Between two points at distance D an unclipped gradient changes by at least m D, and by at
        least kappa D - lambda/D, but by no more than twice its bound.
        """
        bound, m = self.gradient_bound, self.strong_convexity
        if bound is None or self.clipped or not diameter > 0.0:
            return
        limit = 2.0 * bound * _ROUNDED_UP
        contradiction = None
        if m is not None and m > 0.0 and m * diameter > limit:
            contradiction = ("strong_convexity", 2.0 * bound / diameter, m)
        elif self.dissipativity is not None:
            lam, kappa = self.dissipativity
            if kappa * diameter - lam / diameter > limit:
                most = (2.0 * bound + lam / diameter) / diameter
                contradiction = ("dissipativity[1]", most, kappa)
        if contradiction is not None:
            name, most, value = contradiction
            raise InvalidDescription(
                f"objective.{name} must be at most {most:g} for losses whose whole gradient is "
                f"bounded by gradient_bound={bound:g} on a domain of diameter {diameter:g}, got "
                f"{value:g}; put the curvature that all losses share into ridge, or declare "
                "gradient_difference_bound in place of gradient_bound."
            )


def shared(total: float, size: int) -> float:
    """Return `total / size`, rounded up: what a bound on a sum is worth for the average."""
    if math.isinf(total):
        return total
    average = total / size
    return _up(average) if Fraction(average) * size < Fraction(total) else average


def _grown(constant: float, diameter: float, exponent: float) -> float:
    """Return `constant * diameter^exponent`, rounded up; zero times infinity is zero."""
    if constant == 0.0:
        return 0.0
    if exponent == 0.0:
        return constant
    power = diameter if exponent == 1.0 else diameter**exponent * (1.0 + 1e-15)
    return _up(constant * power)


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)
