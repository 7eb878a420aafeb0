"""False statements on privacy dynamics, and misuses of true ones, failing on exact instances.

The letters E1.1, E1.2, ... are those of docs/errata/dynamics.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wane.audit.linear import exact_scalar_mu
from wane.describe import IterateNoise, NoisyDescent, Objective
from wane.theorems.log_sobolev import dynamics as log_sobolev
from wane_papers.certified import certified_mu
from wane_papers.dynamics import printed
from wane_papers.exhibits import Row, counterexample

KEY = printed.KEY
FIGURE = {"Sg": 4.0, "n": 5000, "sigma": 0.02, "eta": 0.02}
"""The setting of the paper's Figure 2, a quadratic of curvature one."""


def figure_two_exact(steps: int) -> float:
    """The divergence per order in the setting of Figure 2, from the law of the chain."""
    shift, std = 0.02 * 4.0 / 5000.0, math.sqrt(2.0 * 0.02) * 0.02
    return float(exact_scalar_mu([0.98] * steps, [shift] * steps, [std] * steps)) ** 2 / 2.0


def _heated(order: float, time: float) -> float:
    """Divergence of N(0,1) given x > 1 from N(0,1), both after heat flow, by quadrature."""
    spread = 1.0 + 2.0 * time
    x = np.linspace(-12.0, 40.0, 200_001)
    log_ratio = special.log_ndtr((x / spread - 1.0) / math.sqrt(2.0 * time / spread))
    log_ratio -= special.log_ndtr(-1.0)
    exponent = order * log_ratio - x * x / (2.0 * spread) - 0.5 * math.log(2.0 * math.pi * spread)
    total = float(special.logsumexp(exponent)) + math.log(x[1] - x[0])
    return total / (order - 1.0)


def _frozen_order() -> list[Row]:
    constant, made = 1.0 / 1.5, []  # of both laws until time 0.25: the widest is N(0, 1.5)
    for order in (2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0):
        start = _heated(order, 0.05)
        made.append(
            {
                "order": order,
                "printed": printed.frozen_order(
                    R=start, alpha=order, a1=2.0 * constant, a2=0.0, t=0.2
                ),
                "exact": _heated(order, 0.25),
                "corrected": log_sobolev.warm_start(
                    order,
                    lambda a: _heated(a, 0.05),
                    gradient_sensitivity=0.0,
                    temperature=1.0,
                    time=0.2,
                    constant=constant,
                    split=1e-12,
                ),
            }
        )
    return made


def _any_split() -> list[Row]:
    constant, steps = (2.0 - 0.02) / (2.0 * 0.02**2), 5
    best = log_sobolev.optimal_split(
        gradient_sensitivity=4.0 / 5000.0,
        temperature=0.02**2,
        time=0.02 * steps,
        constant=constant,
    )
    return [
        {
            "split": split,
            "printed": printed.any_split(alpha=1.0, K=steps, c=constant, gamma=split, **FIGURE),
            "exact": figure_two_exact(steps),
            "corrected": best,
        }
        for split in (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
    ]


def _signed() -> list[Row]:
    """The maps -0.9 x -+ 0.25 tanh(x/4) from 100: so far out they are affine."""
    made = []
    for steps in range(1, 13):
        gaps = [0.5 * (-1.0) ** k for k in range(steps)]
        run = NoisyDescent(
            objective=Objective(
                gradient_difference_bound=0.5, smoothness=1.9625, strong_convexity=0.8
            ),
            records=1,
            steps=steps,
            step_size=1.0,
            noise=IterateNoise(0.5),
        )
        made.append(
            {
                "steps": float(steps),
                "printed": printed.signed_contraction(s_over_sd=1.0, c=0.2, K=steps),
                "exact": float(exact_scalar_mu([-0.9] * steps, gaps, [0.5] * steps)),
                "corrected": certified_mu(run),
                "corollary": math.sqrt(
                    printed.strongly_convex_large_step(
                        alpha=2.0,
                        Sg=0.5,
                        n=1,
                        sigma=0.5 / math.sqrt(2.0),
                        eta=1.0,
                        K=steps,
                        lam=0.8,
                    )
                ),
            }
        )
    return made


DYNAMICS = (
    counterexample(
        "dynamics-e1-1",
        "A divergence fades from a smaller order than the one asked for",
        source=(KEY, "equations (60), (61) and (64)"),
        says=(
            "a divergence of some order fades at the rate of the log-Sobolev constant, the order "
            "staying as it is.",
            "the order it fades from is smaller, as (59) says.  N(0,1) given x > 1 against N(0,1) "
            "under heat flow from time 0.05 to 0.25.  Corrected: (59).",
        ),
        rows=_frozen_order,
        along=("order", "Renyi order"),
        of="Renyi divergence",
        logarithmic="x",
    ),
    counterexample(
        "dynamics-e1-2",
        "A split above one certifies less than the truth",
        source=(KEY, "equation (66)"),
        says=(
            "the bound holds for every gamma > 0.",
            "for gamma in (0, 1].  The setting of Figure 2 with five steps.  Corrected: the best "
            "gamma at every moment.",
        ),
        rows=_any_split,
        along=("split", "gamma"),
        of="Renyi divergence / order",
    ),
    counterexample(
        "dynamics-e-m1",
        "Contraction is the larger of two absolute values",
        source=(KEY, "Corollary 1 beyond its step size"),
        says=(
            "steps contract by 1 - eta lam, also above eta = 2/(lam + beta).  (The paper does not "
            "say so; it is how the bound is misused.)",
            "by max(|1 - eta lam|, |1 - eta beta|), here 0.9625 for 0.2.  Corrected: wane's "
            "certificate.",
        ),
        rows=_signed,
        along=("steps", "steps"),
        of="mu",
        logarithmic="",
        columns={"corollary": "Corollary 1 at this step size, which it excludes"},
    ),
)
