"""What is known of the losses; what is not said is not assumed."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from wane.describe import check
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
class Objective:
    """Regularity of every record's loss, on an open convex set that contains the domain.

    Attributes:
        gradient_bound: bound on the norm of one record's gradient: proven, or the clipping
            threshold if `clipped`.  The ridge term is not part of it, nor is any other part that
            all losses share: what is used is that two records differ by at most twice the bound.
        smoothness: upper end of the spectrum of one record's Hessian.
        strong_convexity: lower end of it; 0 is convex, negative is weakly convex.
        clipped: each record's gradient is scaled down to norm `gradient_bound`.
        form: the shape of the loss; decides whether clipping keeps monotonicity.
        ridge: weight of `ridge/2 |x|^2`, added for all records alike, outside any clipping.
        dimension: number of parameters, if it should be used (in dimension one clipping is
            harmless).
        holder_exponent, holder_constant: `|grad f(x) - grad f(y)| <= constant |x - y|^exponent`.
        holder_everywhere: that bound holds on the whole space, not only on the domain.
        dissipativity: `(lam, kappa)` with
            `<grad f(x) - grad f(y), x - y> >= kappa |x - y|^2 - lam`.
        log_sobolev: a log-Sobolev constant (that of N(0, v I) is 1/v) of the law of the iterate at
            every moment of the run, whatever the data; only for losses whose curvature is unknown,
            where it is the user's to prove.
    """

    gradient_bound: float | None = None
    smoothness: float | None = None
    strong_convexity: float | None = None
    clipped: bool = False
    form: LossForm = LossForm.GENERAL
    ridge: float = 0.0
    dimension: int | None = None
    holder_exponent: float | None = None
    holder_constant: float | None = None
    holder_everywhere: bool = False
    dissipativity: tuple[float, float] | None = None
    log_sobolev: float | None = None

    def __post_init__(self) -> None:
        self._keep("gradient_bound", above=0.0)
        self._keep("smoothness", least=0.0)
        self._keep("strong_convexity")
        self._keep("ridge", least=0.0)
        self._keep("holder_exponent", least=0.0, most=1.0)
        self._keep("holder_constant", least=0.0)
        self._keep("log_sobolev", above=0.0)
        self._check_flags()
        self._check_pairs()
        if self.dimension is not None:
            check.whole("objective.dimension", self.dimension, least=1)

    def _keep(self, name: str, **limits: float) -> None:
        value = getattr(self, name)
        if value is not None:
            number = check.real(f"objective.{name}", value, **limits)  # type: ignore[arg-type]
            object.__setattr__(self, name, number)

    def _check_flags(self) -> None:
        for name in ("clipped", "holder_everywhere"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidDescription(
                    f"objective.{name} must be true or false, got {getattr(self, name)!r}."
                )
        if not isinstance(self.form, LossForm):
            raise InvalidDescription(
                f"objective.form must be a LossForm, got {self.form!r}; "
                f"one of {', '.join(f.value for f in LossForm)}."
            )
        if self.clipped and self.gradient_bound is None:
            raise InvalidDescription(
                "objective.gradient_bound must be given when clipped is true, got None; "
                "it is the clipping threshold."
            )

    def _check_pairs(self) -> None:
        m, M = self.strong_convexity, self.smoothness
        if m is not None and M is not None and m > M:
            raise InvalidDescription(
                f"objective.strong_convexity must not exceed smoothness={M:g}, got {m:g}; "
                "the Hessian's spectrum lies between the two."
            )
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
            lam = check.real("objective.dissipativity[0]", pair[0], least=0.0)
            kappa = check.real("objective.dissipativity[1]", pair[1], above=0.0)
            object.__setattr__(self, "dissipativity", (lam, kappa))
