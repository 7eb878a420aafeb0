"""A stranger's theorem: the closed form for full-batch descent that contracts at every step.

Run it: `python examples/extending/theorem/geometric.py`.  It is outside of wane and is asked beside
wane's own theorems; `docs/adding.md` says what changes if it moves into `src/wane/theorems`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import wane
from wane.describe import Adjacency, NoisyDescent
from wane.describe.domains import Unbounded
from wane.guarantees import GaussianDP
from wane.theorems import hypotheses as given
from wane.theorems.lemmas.lipschitz import log_step_lipschitz
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Answer, Citation, fails, holds, hypothesis, theorem

# 1. The oracle, before the theorem.  It knows quadratics, and nothing of hypotheses or formulas.


def exact_mu(
    curvature: float, step_size: float, steps: int, noise_std: float, shift: float
) -> float:
    """Return the exact mu of x' = (1 - eta k) x - eta (z + N), run step by step: two Gaussians."""
    mean = variance = 0.0
    for _ in range(steps):
        mean = (1.0 - step_size * curvature) * mean + step_size * shift
        variance = (1.0 - step_size * curvature) ** 2 * variance + (step_size * noise_std) ** 2
    return abs(mean) / math.sqrt(variance)


def members(count: int, seed: int = 0) -> Iterator[tuple[NoisyDescent, float]]:
    """Yield descriptions that the theorem covers, each with the mu of a member of its class."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        low, high = np.sort(rng.uniform(0.05, 1.0, size=2))
        step_size, steps = rng.uniform(0.05, 1.9) / high, int(rng.integers(1, 40))
        records, noise = int(rng.integers(1, 50)), rng.uniform(0.1, 3.0)
        run = NoisyDescent(
            # losses k x^2/2 + z x with |z| <= 1: only z differs between neighbours
            objective=wane.Objective(
                gradient_difference_bound=2.0, smoothness=high, strong_convexity=low
            ),
            records=records,
            steps=steps,
            step_size=step_size,
            noise=wane.GradientNoise(noise),
        )
        yield run, exact_mu(rng.choice([low, high]), step_size, steps, noise, 2.0 / records)


# 2. The statement: hypotheses of its own, those that wane has, and a formula of a few lines.


@hypothesis("one record is replaced by another")
def replaces_one(run: NoisyDescent) -> Answer:
    if run.adjacency is Adjacency.REPLACE_ONE:
        return holds("adjacency is replace-one")
    return fails(f"adjacency is {run.adjacency.value}", 'adjacency = "replace-one"')


@hypothesis("no prox ends a step")
def no_prox(run: NoisyDescent) -> Answer:
    if isinstance(run.domain, Unbounded):
        return holds("the domain is the whole space")
    return fails(f"the domain is {run.domain.kind}", "no domain")


@hypothesis("every step brings two runs nearer to each other")
def contracts(run: NoisyDescent) -> Answer:
    if run.objective.smoothness is not None and log_factor(run) < 0.0:
        return holds(f"by {math.exp(log_factor(run)):.6g} at least")
    return fails("steps may keep or increase distances", "a ridge, or a smaller step_size")


def log_factor(run: NoisyDescent) -> float:
    """Return the logarithm of the Lipschitz constant of one step, rounded up."""
    return float(log_step_lipschitz(run, run.plan.step_size)[0])


@theorem(
    of=NoisyDescent,
    source=Citation("bok2024shifted", "strongly convex losses, full batches"),
    assumes=(
        given.bounded_gradient,
        given.smooth,
        given.full_batch,
        given.noisy,
        given.one_phase,
        given.last_iterate,
        replaces_one,
        no_prox,
        contracts,
    ),
)
def geometric_last_iterate(run: NoisyDescent) -> GaussianDP:
    """Contracting steps forget a record geometrically, so what leaks levels off.

    Claim.  mu = Delta/s sqrt((1 - c^T)(1 + c) / ((1 + c^T)(1 - c))), c the Lipschitz constant of a
    step, T their number, Delta the change of the mean gradient, s the noise on it.
    Tight.  Attained by quadratics whose curvature k has |1 - eta k| = c.
    """
    assert run.gradient_sensitivity is not None
    log_c, s = log_factor(run), float(run.gradient_noise_stds[0])
    # (1 - c^T)/(1 + c^T) = tanh(-T ln(c)/2), without cancellation for c near one
    grown = math.tanh(-run.total_steps * log_c / 2.0) / math.tanh(-log_c / 2.0)
    return GaussianDP(run.gradient_sensitivity / s * math.sqrt(grown) * (1.0 + 1e-14))


def main() -> None:
    """Certify one run with wane's theorems and this one."""
    run, exact = next(members(1))
    certificate = wane.certify(run, theorems=(*THEOREMS, geometric_last_iterate))
    print(certificate.explain())
    print(f"mu of an exact member: {exact:.9f}")


if __name__ == "__main__":
    main()
