"""The dynamics paper's design of a private descent, beside the best number of steps and noise."""

from __future__ import annotations

import math
from typing import Any

from wane.guarantees import GaussianDP
from wane.planning import (
    Problem,
    objective_perturbation_risk_of,
    output_perturbation_risk,
    plan_descent,
)
from wane_papers.dynamics import printed
from wane_papers.exhibits import Chart, Exhibit, Row

ALPHA, EPSILON, DIMENSION = 10.0, 1.0, 20
DELTA = 1e-6
LIPSCHITZ, CURVATURE, SMOOTHNESS = 1.0, 0.5, 1.0


def _design() -> list[Row]:
    """Theorem 4 at order 10 and divergence 1: curvature in [0.5, 1], gradients at most 1."""
    mu = math.sqrt(2.0 * EPSILON / ALPHA)
    known = {"L": LIPSCHITZ, "lam": CURVATURE, "beta": SMOOTHNESS, "d": DIMENSION}
    ours: dict[str, Any] = {
        "mu": mu,
        "sensitivity": 2.0 * LIPSCHITZ,
        "strong_convexity": CURVATURE,
        "smoothness": SMOOTHNESS,
        "dimension": DIMENSION,
    }
    reach = 4.0 * LIPSCHITZ**2 / CURVATURE**2  # the squared diameter that the paper assumes
    made: list[Row] = []
    for n in (30, 60, 100, 200, 300, 600, 1000, 3000, 10_000, 30_000, 100_000):
        eta, sigma2, steps, risk = printed.design(alpha=ALPHA, eps=EPSILON, n=n, **known)
        whole = max(1, math.ceil(steps))
        plan = plan_descent(**ours, records=n, step_size=eta, start_distance_squared=reach)
        made.append(
            {
                "records": float(n),
                "printed_steps": steps,
                "printed": risk,
                "by_lemma_6": printed.excess_risk(**known, sigma2=sigma2, eta=eta, K=whole),
                "steps": float(plan.steps),
                "corrected": plan.excess_risk,
                "no_step": 0.5 * SMOOTHNESS * reach,
                "output_perturbation": output_perturbation_risk(**ours, records=n),
                "objective_perturbation": _by_noise_on_the_objective(mu, n, math.sqrt(reach)),
            }
        )
    return made


def _by_noise_on_the_objective(mu: float, records: int, distance: float) -> float:
    """The rival has no Gaussian curve: it is asked for the plan's epsilon at one delta."""
    problem = Problem(
        gradient_bound=LIPSCHITZ,
        smoothness=SMOOTHNESS,
        strong_convexity=CURVATURE,
        dimension=DIMENSION,
        records=records,
        start_distance=distance,
    )
    return objective_perturbation_risk_of(problem, GaussianDP(mu).epsilon(DELTA), DELTA)


FIGURES = (
    Exhibit(
        "dynamics-theorem-4",
        "Certified excess risk of a private descent (order 10, divergence 1)",
        printed.KEY,
        "Theorem 4",
        "steps and noise that give (alpha, eps')-Renyi privacy, with a risk of the order of "
        "alpha beta d L^2/(eps' lam^2 n^2), here with the constant 10 of its proof.",
        "the same privacy needs a fraction of the noise: the plan of docs/proofs/log-sobolev.md "
        "promises the least risk of any number of steps, for an optimum in the interior (which "
        "the theorem needs too, and does not say).  Curvature in [0.5, 1], gradients at most 1, "
        "dimension 20, squared distance of the start at most 16.",
        _design,
        Chart(
            "records",
            {
                "printed": "Theorem 4",
                "by_lemma_6": "its design, by Lemma 6",
                "corrected": "wane's plan",
                "output_perturbation": "output perturbation",
                "objective_perturbation": "objective perturbation",
                "no_step": "no step at all",
            },
            "records",
            "excess risk",
        ),
        {
            "records": "number of records",
            "printed_steps": "K* of Theorem 4, no whole number",
            "printed": "risk of Theorem 4",
            "by_lemma_6": "Lemma 6 at the theorem's design, steps rounded up",
            "steps": "steps of the plan",
            "corrected": "risk the plan promises",
            "no_step": "risk of the start, half the smoothness times the squared distance",
            "output_perturbation": "noise on the exact optimum, at the same privacy",
            "objective_perturbation": "noise on the objective of generalised linear losses, or no "
            "step, at the epsilon that the plan has at delta 1e-6",
        },
    ),
)
