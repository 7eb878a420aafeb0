"""Langevin dynamics: what a log-Sobolev constant alone is worth."""

from __future__ import annotations

import math

from wane.describe.descent import NoisyDescent
from wane.guarantees import RenyiDP
from wane.theorems import hypotheses as given
from wane.theorems.log_sobolev import dynamics as log_sobolev
from wane.theorems.theorem import Citation, theorem


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/log-sobolev.md, Theorem A"),
    assumes=(
        given.bounded_gradient,
        given.full_batch,
        given.last_iterate,
        given.noisy,
        given.one_phase,
        given.log_sobolev_constant,
    ),
)
def log_sobolev_dynamics(run: NoisyDescent, constant: float) -> RenyiDP:
    """If the laws inside every step obey a log-Sobolev inequality, what leaks levels off.

    Claim.  rho-zCDP with rho = S^2/(2 k tau^2) h(tau k T), h(t) = t/2 up to t = 1/2, then
    (1 - exp(1/2 - t)/2)^2.
    Source.  chourasia2021dynamics, Theorem 2, with the free parameter chosen at every moment.
    Translation.  T = steps * eta; tau = eta s^2 / 2 (paper sigma^2); S = Delta (paper S_g / n).
    Differs from the paper.  Its free parameter is fixed, and a step of its proof is false.  The
    inequality is asked of the laws before the prox, at every share of the noise, of one data set at
    a time, and not of the iterates.
    """
    assert run.gradient_sensitivity is not None
    eta, s = float(run.plan.step_size[0]), float(run.gradient_noise_stds[0])
    tau, time = eta * s * s / 2.0, run.total_steps * eta
    if not 0.0 < tau < math.inf or math.isinf(time):
        raise FloatingPointError("temperature or time leave the range of doubles")
    rho = log_sobolev.optimal_split(
        gradient_sensitivity=run.gradient_sensitivity,
        temperature=tau,
        time=time,
        constant=constant,
    )
    return RenyiDP.zcdp(rho * (1.0 + 1e-14))
