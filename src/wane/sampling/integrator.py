"""The exact step of underdamped Langevin with the gradient held fixed, without cancellation.

Over a time eta with `g = grad F(x)` frozen, `dv = -gam v dt - u g dt + sqrt(2 gam u tau) dB` and
`dx = v dt` have a Gaussian solution; gam is the friction, u the inverse mass, tau the temperature:

    x' = x + a v - b g + (k nv + sx xi2),    v' = E v - w g + nv,    nv = sv xi1.

Every coefficient is written so that no two nearly equal numbers are subtracted; near h = gam eta =
0 power series take over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wane import arguments

_SERIES = 0.3
"""Below this h the series are used; at it both sides agree to the last digits."""

_TANH_GAP = (
    1.0 / 3.0,
    -2.0 / 15.0,
    17.0 / 315.0,
    -62.0 / 2835.0,
    1382.0 / 155925.0,
    -21844.0 / 6081075.0,
    929569.0 / 638512875.0,
    -6404582.0 / 10854718875.0,
)
"""y - tanh y = y^3 times a polynomial in y^2 with these coefficients, y <= 0.15."""


@dataclass(frozen=True)
class ExactStep:
    """One step's coefficients.

    Attributes:
        velocity_kept: factor on the velocity, E.
        position_from_velocity: a.
        position_from_gradient: b, subtracted.
        velocity_from_gradient: w, subtracted.
        velocity_noise: sv, deviation of the velocity's noise.
        position_from_noise: k, the position's share of the velocity's noise.
        position_noise: sx, deviation of the position's own noise.
    """

    velocity_kept: float
    position_from_velocity: float
    position_from_gradient: float
    velocity_from_gradient: float
    velocity_noise: float
    position_from_noise: float
    position_noise: float

    @property
    def noise_covariance(self) -> tuple[float, float, float]:
        """Variances and covariance of the noise: position, both, velocity."""
        velocity = self.velocity_noise**2
        both = self.position_from_noise * velocity
        return self.position_from_noise * both + self.position_noise**2, both, velocity


def exact_step(
    *, friction: float, step_size: float, inverse_mass: float = 1.0, temperature: float = 1.0
) -> ExactStep:
    """Return the coefficients of the exact step; accurate from the shortest to the longest."""
    gam = arguments.real("friction", friction, above=0.0)
    eta = arguments.real("step_size", step_size, above=0.0)
    u = arguments.real("inverse_mass", inverse_mass, above=0.0)
    variance = u * arguments.real("temperature", temperature, above=0.0)
    h = gam * eta
    lost = -math.expm1(-h)
    return ExactStep(
        velocity_kept=math.exp(-h),
        position_from_velocity=lost / gam,
        position_from_gradient=u / gam * (_lag(h) / gam),
        velocity_from_gradient=u / gam * lost,
        velocity_noise=math.sqrt(-variance * math.expm1(-2.0 * h)),
        position_from_noise=math.tanh(0.5 * h) / gam,
        position_noise=math.sqrt(2.0 * variance * _tanh_gap(h)) / gam,
    )


def _lag(h: float) -> float:
    """Return h - (1 - e^-h) = h^2/2 - h^3/6 + ..."""
    if h >= _SERIES:
        return h + math.expm1(-h)
    term, total, k = 0.5 * h * h, 0.0, 2
    while total + term != total:
        total += term
        k += 1
        term *= -h / k
    return total


def _tanh_gap(h: float) -> float:
    """Return h - 2 tanh(h/2) = h^3/12 - h^5/120 + ..."""
    if h >= _SERIES:
        return h - 2.0 * math.tanh(0.5 * h)
    y = 0.5 * h
    total = 0.0
    for coefficient in reversed(_TANH_GAP):
        total = total * y * y + coefficient
    return 2.0 * y**3 * total
