"""A Gibbs posterior of private records, as data: what it is, and the chain that samples it.

The posterior of n records has density proportional to

    exp(-(sum of the records' losses) / T - prior_precision |x|^2 / 2),

T being the temperature: one for the posterior proper, more for a flatter and more private one.  In
the units of `wane.NoisyDescent`, whose potential is the *average* of the losses plus a ridge, that
is temperature T/n and ridge prior_precision T/n; a chain on it is a noisy descent, step for step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from wane import arguments
from wane.describe import Adjacency, LossForm, NoisyDescent, Objective, Temperature
from wane.describe.chain import Overdamped, PointStart, Target
from wane.describe.choices import adjacency_of
from wane.describe.objective import shared
from wane.errors import InvalidDescription


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What is known of one record's loss, whatever the record holds.

    Attributes:
        objective: its regularity, without any ridge; the loss that is sampled is never clipped.
        dimension: number of parameters.
        shared_curvature: c if every loss is c |x|^2/2 plus a loss as in `objective`.
        laplacian_lipschitz: the Laplacian is Lipschitz with this constant; None if unknown, or if
            the Hessian jumps.
        height_at_start: how far the loss in `objective` at the origin, where chains start, is above
            its infimum; None if unknown.
        range_of_loss: largest minus smallest value of one record's loss over all parameters; None
            if it is unbounded, as every convex loss is.
    """

    objective: Objective
    dimension: int
    shared_curvature: float = 0.0
    laplacian_lipschitz: float | None = None
    height_at_start: float | None = None
    range_of_loss: float | None = None

    def __post_init__(self) -> None:
        """Refuse clipped or ridged losses: the potential must be a sum of what is described."""
        arguments.kind("objective", self.objective, (Objective,))
        arguments.whole("dimension", self.dimension, least=1)
        if self.objective.clipped or self.objective.ridge:
            raise InvalidDescription(
                "objective must be neither clipped nor ridged: clipped gradients need not be the "
                "gradient of anything; use a loss with bounded gradients and prior_precision."
            )
        for name in ("smoothness", "strong_convexity"):
            if getattr(self.objective, name) is None:
                raise InvalidDescription(
                    f"objective.{name} must be declared to sample, got None; nothing is assumed."
                )
        self.objective.refuse_impossible_bounds(math.inf)
        arguments.real("shared_curvature", self.shared_curvature, least=0.0)
        for name in ("laplacian_lipschitz", "height_at_start", "range_of_loss"):
            if getattr(self, name) is not None:
                arguments.real(name, getattr(self, name), least=0.0)


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """A Gibbs posterior, by public numbers only.

    Attributes:
        losses: what is known of one record's loss.
        records: their number.
        prior_precision: of the normal prior N(0, I/prior_precision); zero for none.
        temperature: T; one is the posterior itself.
        adjacency: which data sets must be indistinguishable.
    """

    losses: Losses
    records: int
    prior_precision: float
    temperature: float = 1.0
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse a posterior that is not strongly convex: no distance to it is certified."""
        arguments.kind("losses", self.losses, (Losses,))
        object.__setattr__(self, "adjacency", adjacency_of("adjacency", self.adjacency))
        arguments.whole("records", self.records, least=1)
        arguments.real("prior_precision", self.prior_precision, least=0.0)
        arguments.real("temperature", self.temperature, above=0.0)
        if not self.target.strong_convexity > 0.0:
            raise InvalidDescription(
                f"prior_precision must make the potential strongly convex, got "
                f"{self.prior_precision:g}; raise it."
            )

    @property
    def descent_temperature(self) -> float:
        """The temperature of the descent, T/n."""
        return self.temperature / self.records

    @property
    def ridge(self) -> float:
        """The descent's ridge: the prior's share and the curvature that all losses share."""
        return self.prior_precision * self.descent_temperature + self.losses.shared_curvature

    @cached_property
    def target(self) -> Target:
        """The potential's constants, in the units of the descent, for neighbouring data as well.

        A record that is null or absent does not bend; what all records share stays.  One record
        more adds its share, at the same divisor.
        """
        m, M = self.losses.objective.strong_convexity, self.losses.objective.smoothness
        assert m is not None and M is not None
        if self.adjacency is not Adjacency.REPLACE_ONE:
            m = m * (self.records - 1) / self.records if m > 0.0 else m * (1 + 1 / self.records)
        third = self.losses.laplacian_lipschitz
        return Target(
            strong_convexity=(m + self.ridge) * (1.0 - 1e-15),
            smoothness=(M * self._fullest + self.ridge) * (1.0 + 1e-15),
            dimension=self.losses.dimension,
            laplacian_lipschitz=None if third is None else third * self._fullest,
        )

    @property
    def _fullest(self) -> float:
        """The largest number of losses in the sum over its divisor, rounded up."""
        added = self.adjacency is Adjacency.ADD_REMOVE
        return (1.0 + 1.0 / self.records) * (1.0 + 4e-16) if added else 1.0

    @cached_property
    def start(self) -> PointStart:
        """The origin, and how far the minimiser can be from it whatever the records hold.

        With curvature m and at least r of it outside the losses, (m + r)/2 |x|^2 is at most the
        height of the losses at the origin; and m |x| is at most their gradient there, which is
        the sum of whole gradients, shared parts included.
        """
        m, bounds = self.target.strong_convexity, []
        if self.losses.objective.gradient_bound is not None:
            bounds.append(self.losses.objective.gradient_bound * self._fullest / m)
        if self.losses.height_at_start is not None:
            height = self.losses.height_at_start * self._fullest
            bounds.append(math.sqrt(2.0 * height / (m + self.ridge)))
        return PointStart(min(bounds) * (1.0 + 1e-15) if bounds else None, self.target)

    def chain(self, step_size: float, steps: int) -> Overdamped:
        """Return the chain that samples it, from the origin."""
        return Overdamped(self.target, step_size, steps, self.start, self.descent_temperature)

    def descent(self, step_size: float, steps: int, *, samples: int = 1) -> NoisyDescent:
        """Return the noisy descent that runs: `samples` chains side by side, as one.

        Together they are one descent in a product space, whose losses `stacked` describes.
        """
        arguments.whole("samples", samples, least=1)
        return NoisyDescent(
            objective=replace(stacked(self.losses.objective, samples), ridge=self.ridge),
            records=self.records,
            steps=steps,
            step_size=step_size,
            noise=Temperature(self.descent_temperature),
            adjacency=self.adjacency,
        )

    @property
    def gradient_sensitivity(self) -> float:
        """How far one record moves the gradient of the potential; refused if nothing bounds it."""
        made = self.losses.objective.sensitivity(self.adjacency)
        if math.isinf(made):
            raise InvalidDescription(
                "objective.gradient_bound must be declared for privacy, got None."
            )
        return shared(made, self.records)


def stacked(objective: Objective, samples: int) -> Objective:
    """What is known of one record's loss summed over `samples` chains side by side.

    Gradients are at most sqrt(samples) times as long, and curvature is the same; differences of
    lengths d_1, d_2, ... with squares that add up to d^2 have powers that add up to no more than
    samples^(1-p) d^(2p), and each chain brings its own lambda.
    """
    plain = replace(objective, dimension=None, form=LossForm.GENERAL)
    if samples == 1:
        return plain
    C, E = objective.gradient_bound, objective.gradient_difference_bound
    p, H, pair = objective.holder_exponent, objective.holder_constant, objective.dissipativity
    if p is not None and H is not None:
        H *= samples ** ((1.0 - p) / 2.0) * (1.0 + 1e-15)
    if pair is not None:
        pair = (math.nextafter(pair[0] * samples, math.inf), pair[1])
    return replace(
        plain,
        gradient_bound=None if C is None else stacked_bound(C, samples),
        gradient_difference_bound=None if E is None else stacked_bound(E, samples),
        holder_constant=H,
        dissipativity=pair,
    )


def stacked_bound(gradient_bound: float, samples: int) -> float:
    """The bound on one record's gradient for several chains side by side, rounded up."""
    if samples == 1:
        return gradient_bound
    return gradient_bound * math.sqrt(samples) * (1.0 + 4e-16)
