"""Langevin dynamics under a log-Sobolev inequality, again and in balls."""

from __future__ import annotations

from flint import arb

from wane.balls.arithmetic import ball, top
from wane.balls.bounds import Bound, Concentrated
from wane.balls.lemmas import reach
from wane.balls.lemmas.lipschitz import iterate_variance
from wane.balls.verifier import verifier
from wane.describe import FullBatch, LastIterate, NoisyDescent


@verifier(fact="log_sobolev")
def log_sobolev_dynamics(run: NoisyDescent, k: float | None = None) -> Bound | None:
    """rho-zCDP with `rho = S^2/(2 k tau^2) h(tau k T)`, if k was stated for this very run.

    k is a log-Sobolev constant of the laws before the prox, whatever that prox may be.
    """
    phases = list(run.plan)
    simple = isinstance(run.batches, FullBatch) and isinstance(run.release, LastIterate)
    if k is None or not reach.bounded(run) or not simple or len(phases) != 1:
        return None
    eta, variance = ball(phases[0].step_size), iterate_variance(run, phases[0])
    if not variance > 0:
        return None
    temperature = variance / (2 * eta)
    if ball(k) * variance > 1 + arb(2) ** -29:  # no law is narrower than its last noise
        return None
    t = temperature * ball(k) * phases[0].repeat * eta
    half = arb(1) / 2
    if t <= half:
        share = t / 2
    elif t > half:
        share = (1 - (half - t).exp() / 2) ** 2
    else:
        share = half / 2
    return Concentrated(top(reach.sensitivity(run) ** 2 / (2 * ball(k) * temperature**2) * share))
