"""The intrinsic sensitivity of a symmetric diffusion, trusted only once the laws have merged.

With kappa(s) = sup_y Gamma(log p_s(x, y)/p_s(x', y)) the Renyi divergence of every order obeys

    R(t) <= order * integral of kappa from t to T + R(T)          for every T > t,

and the usual form drops R(T) because the two laws merge.  They need not: a process that is pushed
apart remembers where it began.  So R(T) is evaluated, and the usual form is refused unless it is
negligible.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import integrate

from wane import arguments
from wane.errors import NoTheoremApplies
from wane.numerics.rounding import inflate

MERGED = 1e-9
"""The laws count as merged when R(T)/order is below this share of the integral before T."""


def finite_horizon(
    rate: Callable[[float], float],
    remaining: Callable[[float], float],
    *,
    time: float,
    horizon: float,
) -> float:
    """The divergence per order at `time`, through a later time; true whether or not laws merge.

    `rate(s)` is kappa at time s, `remaining(s)` a bound on R(s)/order at time s.
    """
    time = arguments.real("time", time, above=0.0)
    horizon = arguments.real("horizon", horizon, above=time)
    return inflate(_integral(rate, time, horizon, 1e-11) + remaining(horizon), 1e-10)


def intrinsic_sensitivity(
    rate: Callable[[float], float],
    remaining: Callable[[float], float],
    *,
    time: float,
    horizon: float,
    precision: float = 1e-11,
) -> float:
    """The divergence per order at `time`, if the laws have merged by the horizon; else a refusal.

    The remaining divergence is added even so: what is returned is true without the limit.  The
    integral is computed to about this relative precision, and its error estimate is added.
    """
    time = arguments.real("time", time, above=0.0)
    horizon = arguments.real("horizon", horizon, above=time)
    gathered, left = _integral(rate, time, horizon, precision), remaining(horizon)
    if not left <= MERGED * gathered:
        raise NoTheoremApplies(
            f"the laws from adjacent starting points have not merged by time {horizon:g}: "
            f"{left:.3g} of divergence per order remains, so the intrinsic sensitivity proves "
            "nothing; choose a later horizon, or use the divergence of the kernel itself"
        )
    return inflate(gathered + left, 1e-10)


def _integral(rate: Callable[[float], float], low: float, high: float, precision: float) -> float:
    """The integral over a logarithmic time scale, with its own error estimate added."""
    value, doubt, *_ = integrate.quad(
        lambda u: rate(math.exp(u)) * math.exp(u),
        math.log(low),
        math.log(high),
        epsabs=0.0,
        epsrel=precision,
        limit=400,
        full_output=1,
    )
    return float(value) + float(doubt)
