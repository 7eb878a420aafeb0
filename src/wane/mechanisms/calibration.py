"""The most accurate diffusion release that meets a privacy target."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from wane import arguments
from wane.describe.diffusion import (
    BrownianMechanism,
    GaussianDiffusion,
    OrnsteinUhlenbeckMechanism,
    rounding_charge,
)
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.numerics.rounding import inflate, round_down

_NUDGES = 200


@dataclass(frozen=True, kw_only=True)
class PrivacyTarget:
    """Exactly one of: epsilon and delta; mu of Gaussian DP; a Renyi order and its divergence."""

    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None
    order: float | None = None
    divergence: float | None = None

    def __post_init__(self) -> None:
        given = {
            "epsilon and delta": (self.epsilon, self.delta),
            "mu": (self.mu,),
            "order and divergence": (self.order, self.divergence),
        }
        chosen = [name for name, values in given.items() if any(v is not None for v in values)]
        if len(chosen) != 1 or any(v is None for v in given[chosen[0]]):
            raise InvalidDescription(f"target must be exactly one of: {'; '.join(given)}.")
        limits = {"epsilon": 0.0, "delta": 0.0, "mu": 0.0, "order": 1.0, "divergence": 0.0}
        for name, limit in limits.items():
            value = getattr(self, name)
            if value is not None:
                least = {"least": limit} if name == "epsilon" else {"above": limit}
                arguments.real(name, value, **least)  # type: ignore[arg-type]
        if self.delta is not None:
            arguments.real("delta", self.delta, most=1.0)

    @property
    def largest_mu(self) -> float:
        """The largest mu that meets the target."""
        if self.mu is not None:
            return self.mu
        if self.epsilon is not None and self.delta is not None:
            found = GaussianDP.from_target(epsilon=self.epsilon, delta=self.delta).mu
        else:
            assert self.order is not None and self.divergence is not None
            found = _mu_of_divergence(self.order, self.divergence)
        if not 0.0 < found < math.inf:
            raise Unreachable("the target leaves nothing to calibrate: choose 0 < delta < 1")
        return found


def _mu_of_divergence(order: float, divergence: float) -> float:
    """The largest mu found with order mu^2/2 <= divergence, checked by the guarantee itself."""
    mu = math.sqrt(2.0 * divergence / order)
    for _ in range(_NUDGES):
        if GaussianDP(mu).renyi(order) <= divergence:
            return mu
        mu = round_down(mu, 2)
    raise Unreachable(f"no mu has divergence {divergence:g} at order {order:g}")


def calibrated_brownian(
    target: PrivacyTarget,
    *,
    sensitivity: float,
    diffusion_scale: float = 1.0,
    norm_bound: float | None = None,
    dimension: int | None = None,
) -> BrownianMechanism:
    """Brownian motion stopped as early as the target allows."""
    mu = target.largest_mu
    first = BrownianMechanism(
        sensitivity=sensitivity,
        time=1.0,
        diffusion_scale=diffusion_scale,
        norm_bound=norm_bound,
        dimension=dimension,
    )
    made = first.at(first.time_for(mu))
    for _ in range(_NUDGES):
        if made.mu <= mu:
            return made
        made = made.at(inflate(made.time, 4e-16))
    raise _out_of_reach(made, mu)


def calibrated_ornstein_uhlenbeck(
    target: PrivacyTarget,
    *,
    sensitivity: float,
    norm_bound: float,
    dimension: int,
    time: float = 1.0,
) -> OrnsteinUhlenbeckMechanism:
    """The process whose release at `time` meets the target with the smallest worst error.

    Claim.  With s = sensitivity/mu the factor e^(-reversion time) = R^2/(R^2 + d s^2) is the best,
    and the worst mean squared error is R^2 d s^2/(R^2 + d s^2).
    """
    mu = target.largest_mu
    sensitivity = arguments.real("sensitivity", sensitivity, above=0.0)
    norm_bound = arguments.real("norm_bound", norm_bound, above=0.0)
    time = arguments.real("time", time, above=0.0)
    dimension = arguments.whole("dimension", dimension, least=1)
    std = (sensitivity + rounding_charge(sensitivity, norm_bound)) / mu
    exponent = _best_exponent(std, norm_bound, dimension)
    reversion = exponent / time
    spread = std * math.sqrt(reversion / math.expm1(2.0 * exponent))
    made = OrnsteinUhlenbeckMechanism(
        sensitivity=sensitivity,
        time=time,
        diffusion_scale=spread,
        norm_bound=norm_bound,
        dimension=dimension,
        reversion=reversion,
    )
    for _ in range(_NUDGES):
        if made.mu <= mu:
            return made
        made = replace(made, diffusion_scale=inflate(made.diffusion_scale, 4e-16))
    raise _out_of_reach(made, mu)


def _best_exponent(std: float, norm_bound: float, dimension: int) -> float:
    """Minus the logarithm of the best factor on the statistic, log(1 + d (std/R)^2)."""
    ratio = std / norm_bound
    exponent = math.log1p(dimension * ratio * ratio)
    if 0.0 < exponent < 350.0:
        return exponent
    raise Unreachable(
        f"the noise this target needs, {std:g} per entry, is out of proportion to norm_bound = "
        f"{norm_bound:g}"
    )


def _out_of_reach(made: GaussianDiffusion, mu: float) -> Unreachable:
    return Unreachable(f"mu = {mu:g} cannot be met; the nearest found is {made.mu:g}")
