"""From a target to a setting: the answer is always on the private side, and certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from wane.certify.analyse import certify
from wane.certify.certificate import Certificate, gaussian_mu_of
from wane.describe import NoisyDescent, check
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.numerics.roots import first_at_most

MOST_STEPS = 10**12
"""A run that meets its target here meets it for ever, for all that anyone will notice."""


SEARCH_WIDTH = 1e-6
"""How closely a noise that has no formula is searched for, relatively."""
LARGEST_FACTOR = 1e17
"""How far noise may be scaled, either way."""
HOPELESS = 1e3
"""So many times the mu that is asked for, nobody needs to know how many."""


class Over(Enum):
    """What calibration may change."""

    NOISE = "noise"
    STEPS = "steps"
    STEP_SIZE = "step-size"


@dataclass(frozen=True)
class Calibrated:
    """A run that meets its target, and its certificate.

    Attributes:
        certificate: of the calibrated run.
        over: what was changed.
        value: its new value: the noise in the description's own convention (for a schedule: the
            factor on all of them), the number of steps, or the step size.
        limited: False if the search ended at its own limit, so that more would do as well.
    """

    certificate: Certificate
    over: Over
    value: float
    limited: bool = True

    @property
    def run(self) -> NoisyDescent:
        """The calibrated description."""
        return self.certificate.run

    @property
    def noise(self) -> object:
        """The calibrated noise."""
        return self.run.noise if self.run.schedule is None else self.run.schedule


def calibrate(
    run: NoisyDescent, *, epsilon: float, delta: float, over: Over | str = Over.NOISE
) -> Calibrated:
    """Return the cheapest setting that is (epsilon, delta)-private, with its certificate.

    Least noise, most steps, or largest step size.  Raises `Unreachable` if no setting will do.
    """
    check.kind("run", run, (NoisyDescent,))
    target = _Target(
        check.real("epsilon", epsilon, least=0.0),
        check.real(
            "delta", delta, above=0.0, most=1.0, cure="Gaussian noise gives no pure guarantee"
        ),
    )
    return _SEARCHES[_over(over)](run, target)


def _over(over: Over | str) -> Over:
    try:
        return Over(over.replace("_", "-") if isinstance(over, str) else over)
    except ValueError:
        names = ", ".join(o.value for o in Over)
        raise InvalidDescription(f"over must be one of {names}, got {over!r}.") from None


@dataclass(frozen=True)
class _Target:
    epsilon: float
    delta: float

    def met_by(self, certificate: Certificate) -> bool:
        return certificate.epsilon(self.delta) <= self.epsilon

    def mu_of(self, epsilon: float) -> float:
        """The mu of a Gaussian guarantee with this epsilon at the target's delta."""
        if math.isinf(epsilon):
            return math.inf
        return GaussianDP.from_target(epsilon=epsilon, delta=self.delta).mu

    def __str__(self) -> str:
        return f"epsilon={self.epsilon:g} at delta={self.delta:g}"


def _least_noise(run: NoisyDescent, target: _Target) -> Calibrated:
    start = certify(run)
    if not (run.gradient_noise_stds > 0).all() and math.isinf(start.epsilon(target.delta)):
        raise Unreachable(
            "The noise is zero somewhere, so scaling it cannot reach the target; "
            "start from any noise > 0."
        )
    factor = _gaussian_factor(start, target) or _searched_factor(run, target)
    found = certify(run.noise_scaled(factor))
    while not target.met_by(found):  # the factor was right up to rounding
        factor *= 1.0 + 1e-12
        found = certify(run.noise_scaled(factor))
    noise = found.run.noise
    return Calibrated(found, Over.NOISE, factor if noise is None else noise.value)


def _gaussian_factor(start: Certificate, target: _Target) -> float | None:
    """If every bound is a Gaussian one, mu is inversely proportional to the noise."""
    mus = [gaussian_mu_of(v.guarantee) for v in start.applicable]
    least = min((mu for mu in mus if mu is not None), default=None)
    if None in mus or least is None or not 0.0 < least < math.inf:
        return None
    return least / target.mu_of(target.epsilon)


def _searched_factor(run: NoisyDescent, target: _Target) -> float:
    """By the mu that each answer amounts to at delta, which falls about as the noise grows."""
    goal = target.mu_of(target.epsilon)
    if math.isinf(goal):  # delta is 1: anything will do
        return 1.0 / LARGEST_FACTOR

    @cache
    def mu(factor: float) -> float:
        found = target.mu_of(certify(run.noise_scaled(factor)).epsilon(target.delta))
        return min(found, HOPELESS * goal)  # finite, so that a chord can be drawn

    low = high = 1.0
    stride = 1.0 + 4.0 * SEARCH_WIDTH
    while mu(high) > goal:
        stride = _stride(stride, mu(high) / goal)
        low, high = high, high * stride
        if high > LARGEST_FACTOR:
            raise Unreachable(f"No amount of noise reaches {target}.")
    while mu(low) <= goal:
        stride = _stride(stride, goal / mu(low))
        low, high = low / stride, low
        if low < 1.0 / LARGEST_FACTOR:
            return high
    return first_at_most(mu, goal, low, high, relative=SEARCH_WIDTH)


def _stride(last: float, missing: float) -> float:
    """A little beyond where the goal should be, and longer than the last one, which fell short."""
    return min(max(1.05 * missing, last**2), math.e)


def _most_steps(run: NoisyDescent, target: _Target) -> Calibrated:
    if run.schedule is not None:
        raise InvalidDescription(
            "over must not be steps when a schedule is given; describe the run with steps, "
            "step_size and noise."
        )

    def at(steps: int) -> Certificate:
        return certify(replace(run, steps=steps))

    if not target.met_by(at(1)):
        raise Unreachable(
            f"No number of steps reaches {target}: one step already costs "
            f"{at(1).epsilon(target.delta):.6g}; add noise."
        )
    low, high = 1, 2
    while high <= MOST_STEPS and target.met_by(at(high)):
        low, high = high, 2 * high
    if high > MOST_STEPS:
        return Calibrated(at(low), Over.STEPS, low, limited=False)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if target.met_by(at(middle)) else (low, middle)
    return Calibrated(at(low), Over.STEPS, low)


def _largest_step_size(run: NoisyDescent, target: _Target) -> Calibrated:
    """Privacy is not monotone in the step size: scan from above, then bisect one boundary."""
    if run.schedule is not None or run.step_size is None:
        raise InvalidDescription(
            "over must not be step-size when a schedule is given; describe the run with steps, "
            "step_size and noise."
        )
    base = run.step_size

    def at(step_size: float) -> Certificate:
        return certify(replace(run, step_size=step_size))

    def private(step_size: float) -> bool:
        return target.met_by(at(step_size))

    found = next((k for k in range(40, -61, -1) if private(base * 2.0**k)), None)
    if found is None:
        raise Unreachable(f"No step size reaches {target}; add noise or release less.")
    low = base * 2.0**found
    if found == 40:
        return Calibrated(at(low), Over.STEP_SIZE, low, limited=False)
    high = 2.0 * low
    while high / low > 1.0 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if private(middle) else (low, middle)
    return Calibrated(at(low), Over.STEP_SIZE, low)


_SEARCHES: dict[Over, Callable[[NoisyDescent, _Target], Calibrated]] = {
    Over.NOISE: _least_noise,
    Over.STEPS: _most_steps,
    Over.STEP_SIZE: _largest_step_size,
}
