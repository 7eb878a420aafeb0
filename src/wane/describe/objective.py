"""What is known of the losses; what is not said is not assumed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
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
from wane.errors import InvalidDescription


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

    A record's *contribution* is the vector that it adds to the sum of a step: its gradient, after
    clipping if `clipped`.  The ridge is no part of it.

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
        """A gradient that changes by m |x - y| or more has no smaller Lipschitz constant."""
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
