"""The mixing paper's amplification theorems and its example, beside what wane computes."""

from __future__ import annotations

import math

import numpy as np

from wane.describe import (
    Cyclic,
    GradientNoise,
    NoisyDescent,
    Objective,
    Phase,
    PublicRecords,
    Schedule,
)
from wane.mechanisms import (
    IteratedLaplace,
    MarkovKernel,
    constant_chain,
    gradient_contraction,
    per_index_sgd,
    public_steps_needed,
)
from wane.mechanisms.laplace import laplace_renyi
from wane_papers.certified import certified_mu
from wane_papers.exhibits import Chart, Exhibit, Row
from wane_papers.mixing import printed

KEY = "balle2019mixing"


def _lazy_circle(states: int = 6) -> MarkovKernel:
    """A walk that stays, or steps to either side, or jumps anywhere."""
    walk = np.zeros((states, states))
    for place in range(states):
        for step, chance in ((-1, 0.3), (0, 0.38), (1, 0.3)):
            walk[place, (place + step) % states] += chance
    return MarkovKernel(walk + 0.02 / states)


def _amplified() -> list[Row]:
    """The four statements for a (0.2, 0.1)-private input and powers of one walk."""
    eps, delta, made = 0.2, 0.1, []
    for power in (1, 2, 3, 4, 5, 6):
        kernel = _lazy_circle().power(power)
        threshold = printed.threshold(eps=eps, delta=delta)
        forgets = printed.doeblin(gamma=kernel.doeblin.coefficient, eps=eps, delta=delta)
        mixes = printed.ultra_mixing(gamma=kernel.ultra_mixing, eps=eps, delta=delta)
        exact = kernel.amplified_curve((eps, forgets[0], mixes[0]), epsilon=eps, delta=delta)
        known = {"eps": eps, "delta": delta}
        made.append(
            {
                "power": float(power),
                "dobrushin": printed.dobrushin(gamma=kernel.dobrushin, **known)[1],
                "threshold": kernel.dobrushin_at(threshold) * delta,
                "exact": exact[0],
                "doeblin_epsilon": forgets[0],
                "doeblin": forgets[1],
                "exact_at_doeblin": exact[1],
                "ultra_epsilon": mixes[0],
                "ultra": mixes[1],
                "exact_at_ultra": exact[2],
            }
        )
    return made


def _iteration() -> list[Row]:
    """Equation (3) and the best path of (2), for unit distance and noise, per order."""
    made: list[Row] = []
    for lipschitz in (0.5, 0.9, 1.0):
        for steps in (1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 100):
            chain = constant_chain(1.0, steps=steps, lipschitz=lipschitz, noise_std=1.0)
            made.append(
                {
                    "lipschitz": lipschitz,
                    "steps": float(steps),
                    "printed": printed.iteration(
                        alpha=1.0, L=lipschitz, sigma=1.0, Delta=1.0, r=steps
                    ),
                    "corrected": chain.mu**2 / 2.0,
                }
            )
    return made


def _by_index() -> list[Row]:
    """Theorem 5 as the appendix has it: 50 records, curvature between 0.2 and 1, step 0.5."""
    n, C, sigma, eta, beta, rho = 50, 1.0, 4.0, 0.5, 1.0, 0.2
    contraction = gradient_contraction(eta, strong_convexity=rho, smoothness=beta)
    known = {"alpha": 1.0, "C": C, "sigma": sigma, "eta": eta, "beta": beta, "rho": rho, "n": n}
    made: list[Row] = []
    for i in range(1, n + 1):
        ours = per_index_sgd(n - i, gradient_gap=2.0 * C, noise_std=sigma, contraction=contraction)
        made.append(
            {
                "index": float(i),
                "appendix": printed.per_index_appendix(**known, i=i),
                "corrected": ours.mu**2 / 2.0,
            }
        )
    return made


def one_pass_then_public(step_size: float, noise_std: float, steps: int) -> NoisyDescent:
    """One pass over 20 records, then steps on public ones; all losses bend by 1 to 2."""
    noise = GradientNoise(noise_std)
    losses = Objective(gradient_difference_bound=2.0, smoothness=2.0, strong_convexity=1.0)
    phases = [Phase(20, step_size, noise)]
    if steps:
        phases.append(Phase(steps, step_size, noise, public=True))
    return NoisyDescent(
        objective=losses,
        records=20,
        batches=Cyclic(1),
        schedule=Schedule(phases),
        public=PublicRecords(records=1000) if steps else None,
    )


def _public_steps() -> list[Row]:
    """Steps on public records for mu = 0.5 of everyone, noise whose length does not grow with d."""
    goal, made = 0.5, []
    for step_size in (0.5, 0.1, 0.01):
        contraction = gradient_contraction(step_size, strong_convexity=1.0, smoothness=2.0)
        for dimension in (10, 100, 1000, 10**4, 10**5, 10**6):
            noise = 1.0 / math.sqrt(dimension)
            needed = public_steps_needed(
                mu=goal, gradient_gap=2.0, noise_std=noise, contraction=contraction
            )
            certified = [
                certified_mu(one_pass_then_public(step_size, noise, steps))
                for steps in (needed, needed - 1, 0)
            ]
            made.append(
                {
                    "contraction": 1.0 - step_size,
                    "dimension": float(dimension),
                    "steps": float(needed),
                    "mu": certified[0],
                    "mu_one_step_fewer": certified[1],
                    "mu_no_public_step": certified[2],
                    "noise": dimension * (step_size * noise) ** 2 / (1.0 - contraction**2),
                }
            )
    return made


def _laplace_twice() -> list[Row]:
    """Example 2 with scales 1 and 2 and unit sensitivity."""
    sensitivity, first, second, made = 1.0, 1.0, 2.0, []
    mechanism = IteratedLaplace(sensitivity, first, second)
    for order in (1.1, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0):
        near = mechanism.intermediate_point(order)
        made.append(
            {
                "order": order,
                "one_noise": laplace_renyi(order, sensitivity / max(first, second)),
                "printed": printed.iterated_laplace(
                    alpha=order, near=near, far=sensitivity - near, l1=first, l2=second
                ),
                "exact": mechanism.continuous_renyi(order),
                "pure": mechanism.continuous_pure_epsilon,
            }
        )
    return made


FIGURES = (
    Exhibit(
        "mixing-theorem-1",
        "What a kernel does to (0.2, 0.1) privacy, by four statements and exactly",
        KEY,
        "Theorem 1",
        "(1) and (2) multiply delta by a coefficient; (3) and (4) lower epsilon as well.",
        "all four hold.  The exact amplification is at or below each of them at its own epsilon.  "
        "A walk on a circle of six states that stays with probability 0.38 and jumps anywhere "
        "with probability 0.02, and its powers.",
        _amplified,
        Chart(
            "power",
            {
                "dobrushin": "(1), epsilon 0.2",
                "threshold": "(2), epsilon 0.2",
                "doeblin": "(3), its epsilon'",
                "exact_at_doeblin": "exact at (3)'s epsilon'",
                "ultra": "(4), its epsilon'",
                "exact_at_ultra": "exact at (4)'s epsilon'",
            },
            "power of the kernel",
            "delta after the kernel",
            "",
        ),
        {
            "power": "how often the kernel is applied",
            "dobrushin": "delta by (1) at epsilon 0.2",
            "threshold": "delta by (2) at epsilon 0.2",
            "exact": "exact worst delta at epsilon 0.2",
            "doeblin_epsilon": "epsilon' of (3)",
            "doeblin": "delta' of (3)",
            "exact_at_doeblin": "exact worst delta at the epsilon' of (3)",
            "ultra_epsilon": "epsilon' of (4)",
            "ultra": "delta' of (4)",
            "exact_at_ultra": "exact worst delta at the epsilon' of (4)",
        },
    ),
    Exhibit(
        "mixing-theorem-4",
        "Amplification by iteration (unit distance, unit noise)",
        KEY,
        "Theorem 4",
        "equation (3), from one path of laws; for expanding maps 'not useful'.",
        "true.  The best path of (2), which linear maps attain, is far below for strong "
        "contractions, and equal where maps do not contract.",
        _iteration,
        Chart(
            "steps",
            {"printed": "(3), L =", "corrected": "best path, L ="},
            "steps",
            "Renyi divergence / order",
            by="lipschitz",
        ),
        {
            "lipschitz": "Lipschitz constant of the maps",
            "steps": "number of steps",
            "printed": "equation (3)",
            "corrected": "equation (2) at its best path: mu^2/2 of `constant_chain`",
        },
    ),
    Exhibit(
        "mixing-theorem-5",
        "Privacy of each record of one pass of projected SGD",
        KEY,
        "Theorem 5, appendix",
        "eps_i per unit order, exponentially smaller for early records.",
        "true in the appendix's form (the main text lacks the order, mixing-e2-2).  Corrected: the "
        "noise of the record's own step counts too, on the best path.  Curvature in [0.2, 1], "
        "step size 0.5, gradients at most 1, noise 4 on the gradient, 50 records.",
        _by_index,
        Chart(
            "index",
            {"appendix": "Theorem 5, appendix", "corrected": "per_index_sgd"},
            "place of the record",
            "Renyi divergence / order",
            "y",
        ),
        {
            "index": "when the record is used",
            "appendix": "eps_i of the appendix",
            "corrected": "mu^2/2 of `per_index_sgd`",
        },
    ),
    Exhibit(
        "mixing-public-steps",
        "Steps on public records that make one pass of SGD private for everyone",
        KEY,
        "after Theorem 5",
        "Theta(log d) further iterations on public data give privacy to all individuals at the "
        "optimisation error of SGD without privacy.",
        "true for a fixed contraction c; the constant is 1/(2 log(1/c)), hundreds where c is near "
        "one.  One pass over 20 records and then public ones, as one description each; losses "
        "that bend by 1 to 2, gradients of two records at most 2 apart, noise 1/sqrt(d) per "
        "coordinate, so that its length, and with it the error, does not grow with d.  The number "
        "of steps is the least by `public_steps_needed`; mu is that of the certified description, "
        "which uses every step's noise.",
        _public_steps,
        Chart(
            "dimension",
            {"steps": "contraction"},
            "dimension",
            "steps on public records",
            "x",
            by="contraction",
        ),
        {
            "contraction": "Lipschitz constant of a step",
            "dimension": "number of parameters",
            "steps": "steps on public records for mu = 0.5",
            "mu": "certified mu of the run with so many",
            "mu_one_step_fewer": "certified mu with one fewer",
            "mu_no_public_step": "certified mu without any",
            "noise": "squared length of all noise in the last iterate, after many steps, at most",
        },
    ),
    Exhibit(
        "mixing-example-2",
        "Laplace noise added twice (scales 1 and 2, sensitivity 1)",
        KEY,
        "Example 2 and Lemma 3",
        "a bound through a coupling, at any intermediate point; pure privacy is not amplified.",
        "true.  At its best point the bound is above the exact divergence by a tenth to a half; "
        "both tend to the pure level of the larger noise.",
        _laplace_twice,
        Chart(
            "order",
            {
                "one_noise": "larger noise alone",
                "printed": "Example 2, best point",
                "exact": "exact",
                "pure": "pure level",
            },
            "Renyi order",
            "Renyi divergence",
        ),
        {
            "order": "Renyi order",
            "one_noise": "divergence of the larger noise alone",
            "printed": "the bound of Example 2 at its best point",
            "exact": "divergence of the sum of both noises",
            "pure": "sensitivity divided by the larger scale",
        },
    ),
)
