"""Figures 1 and 2 and Table 1 of the modulus paper, as printed and as corrected."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from wane.audit.mixing_law import fewest_mixing_steps
from wane.certificates import certify
from wane.certificates.analyse import composition_of
from wane.describe import (
    Cyclic,
    GradientNoise,
    NoisyDescent,
    Objective,
    Poisson,
    Temperature,
    WithoutReplacement,
)
from wane.describe.domains import Ball, Diameter, WithRidge
from wane.mixing import mixing
from wane.theorems.lemmas import loss_moduli as moduli, modulus_programme as programme
from wane_papers.exhibits import Chart, Exhibit, Row
from wane_papers.modulus import printed as modulus_paper
from wane_papers.modulus.printed_mixing import printed_steps

EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
STEP_SIZES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1000 ** (-1 / 5))


def _effective_steps() -> list[Row]:
    """After how many steps the modulus paper's Poisson bound stops growing, and ours."""
    rows: list[Row] = []
    for eta in STEP_SIZES:
        needed = math.ceil(1000 / (4 * eta))
        for p in EXPONENTS:
            extra = modulus_paper.poisson_excess_steps(n=1000, L=1.0, M=2.0, p=p, D=1.0, eta=eta)
            rows.append(
                {
                    "step_size": eta,
                    "exponent": p,
                    "steps": 2 * needed + float(extra),
                    "corrected": _certified_steps(eta, p),
                }
            )
    return rows


def _certified_steps(eta: float, p: float) -> float:
    """The plateau of order two with batches of fixed size, in the paper's unit for one step."""
    order, n, b, noise = 2.0, 1000, 100, 8.0 * math.sqrt(2.0) / 100 * 1.001
    loss: dict[str, Any] = (
        {"smoothness": 2.0}
        if p == 1.0
        else {"holder_exponent": p, "holder_constant": 2.0, "holder_everywhere": True}
    )
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, strong_convexity=0.0, **loss),
        records=n,
        steps=10**9,
        step_size=eta,
        noise=GradientNoise(noise),
        batches=WithoutReplacement(b),
        domain=Diameter(1.0),
    )
    (found,) = (
        v.guarantee for v in certify(run).applicable if v.analysis.name == "fixed_size_last_iterate"
    )
    return found.renyi(order) * (n * noise) ** 2 / (16.0 * order)


def _energy() -> list[Row]:
    """Figure 2 of the modulus paper: three steps of a nonsmooth convex loss, D = 5."""
    offset, noises = moduli.nonsmooth_convex(1.0, 2.0).offset, (1.0, 0.01, 0.4)

    def spread(u: float) -> float:
        return math.sqrt(u * u + offset)

    def energy(u: float, v: float) -> float:
        gaps = (spread(5.0) - u, spread(u) - v, spread(v))
        return sum((gap / noise) ** 2 for gap, noise in zip(gaps, noises, strict=True))

    steps = programme.Steps(np.zeros(3), np.full(3, offset), np.square(noises))
    best, restarted = programme.value(steps, 5.0), programme.least(steps, 5.0)
    grid = np.linspace(0.0, 6.0, 49).tolist()
    return [
        {
            "u1": u,
            "u2": v,
            "printed": energy(u, v),
            "log10": math.log10(energy(u, v)),
            "minimum": best,
            "corrected": restarted,
        }
        for u in grid
        for v in grid
    ]


TABLE_ONE = {"D": 1.0, "eta": 0.1, "L": 1.0, "M": 2.0, "p": 0.5, "beta": 1.0, "kappa": 0.2}
DISSIPATIVE = 0.05
TABLE_STEPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)


def _modulus_table() -> list[Row]:
    """The six rows of Table 1 with numbers, noise 0.1 on the iterate, mu^2/2 per order."""
    t = TABLE_ONE
    eta, D, variance = t["eta"], t["D"], 0.01
    printed_c = modulus_paper.strongly_convex_factor(eta=eta, kappa=t["kappa"], beta=t["beta"])
    weak = modulus_paper.weak_smoothness_offset(eta=eta, M=t["M"], p=t["p"])
    tight = moduli.strongly_convex_smooth(eta, t["kappa"], t["beta"])
    lines = (
        (1.0, (2.0 * eta * t["L"]) ** 2, moduli.nonsmooth_convex(eta, 2.0 * t["L"])),
        (1.0, weak, moduli.weakly_smooth(eta, t["M"], t["p"])),
        (printed_c, 0.0, tight),
        (1.0, 0.0, moduli.smooth_convex(eta, t["beta"])),
        ((1.0 + eta * t["beta"]) ** 2, 0.0, moduli.smooth(eta, t["beta"])),
        (printed_c, 2.0 * eta * DISSIPATIVE, moduli.affine(printed_c, 2.0 * eta * DISSIPATIVE)),
    )
    rows: list[Row] = []
    for number, (c, h, ours) in enumerate(lines, 1):
        for steps in TABLE_STEPS:
            best = programme.least_constant(ours.log_factor, ours.offset, variance, D, steps)[1]
            rows.append(
                {
                    "row": float(number),
                    "steps": float(steps),
                    "printed": _table_entry(c, h, D, variance, steps, logarithm=number == 6),
                    "corrected": best / 2.0,
                }
            )
    return rows


def _table_entry(
    c: float, h: float, D: float, variance: float, steps: int, *, logarithm: bool
) -> float:
    """A row of the table at order one: the printed sum, or the logarithm in its place."""
    sigma = math.sqrt(variance)
    if logarithm:
        value: float = modulus_paper.geometric_bound(alpha=1.0, sigma=sigma, D=D, c=c, h=h, T=steps)
        return value
    fade = 1.0 / steps if c == 1.0 else c**steps * (1.0 - c) / (1.0 - c**steps)
    harmonic = math.fsum(1.0 / t for t in range(1, steps + 1)) if h else 0.0
    return (D * D * fade + h * harmonic) / (2.0 * variance)


SAMPLED = {"n": 1000, "b": 100, "L": 1.0, "D": 1.0, "sigma": 1.0}


def sampled_run(step_size: float, steps: int = 10**9) -> NoisyDescent:
    """Smooth losses, convex or not, batches of 100 of 1000 records, gradient noise 1, D = 1."""
    return NoisyDescent(
        objective=Objective(gradient_bound=SAMPLED["L"], smoothness=1.0),
        records=int(SAMPLED["n"]),
        steps=steps,
        step_size=step_size,
        noise=GradientNoise(SAMPLED["sigma"]),
        batches=WithoutReplacement(int(SAMPLED["b"])),
        domain=Diameter(SAMPLED["D"]),
    )


def _along_the_step_size() -> list[Row]:
    """(22) where its order is admissible, (24) as printed and mended, and what wane certifies."""
    n, b, L, D, sigma = (SAMPLED[name] for name in ("n", "b", "L", "D", "sigma"))
    delta, made = 1e-5, []
    for eta in np.geomspace(1e-3, 10.0, 17).tolist():
        known = {"n": int(n), "L": L, "D": D, "eta": eta, "sigma": sigma}
        _, A, _ = modulus_paper.nonconvex_bound(alpha=2.0, beta=1.0, b=int(b), **known)
        order = 1.0 + sigma * math.sqrt(math.log(1.0 / delta) / A)
        limit = modulus_paper.nonconvex_order_limit(n=int(n), b=int(b), L=L, sigma=sigma)
        (_, contracted) = modulus_paper.contraction_epsilon(
            D=D, eta=eta, L=L, sigma=sigma, q=b / n, delta=delta
        )
        converted = modulus_paper.converted_epsilon(A=A, sigma=sigma, delta=delta)
        certificate = certify(sampled_run(eta))
        made.append(
            {
                "step_size": eta,
                "iteration": converted if order <= limit else math.inf,
                "contraction": contracted,
                "contraction_mended": contracted + D * L / eta / sigma**2,
                "composition": composition_of(sampled_run(eta)).epsilon(delta),
                "certified": certificate.epsilon(delta),
            }
        )
    return made


def langevin(step_size: float) -> NoisyDescent:
    """Convex losses, smooth by 1, on a ball of diameter 2, temperature one, 100 records."""
    return NoisyDescent(
        objective=Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
        records=100,
        steps=1,
        step_size=step_size,
        noise=Temperature(1.0),
        domain=Ball(radius=1.0),
    )


def _mixing_times() -> list[Row]:
    """Steps to total variation 0.01, certified, printed, and of an exact chain."""
    tv, made = 0.01, []
    for eta in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        run = langevin(eta)
        pulled = replace(run, domain=WithRidge(Ball(radius=1.0), 2.0))
        made.append(
            {
                "step_size": eta,
                "printed": float(printed_steps(run, tv) or math.inf),
                "full": float(mixing(run, tv).steps),
                "poisson": float(mixing(replace(run, batches=Poisson(10)), tv).steps),
                "fixed_size": float(mixing(replace(run, batches=WithoutReplacement(10)), tv).steps),
                "cyclic": float(mixing(replace(run, batches=Cyclic(30)), tv).steps),
                "exact": float(fewest_mixing_steps(run, tv) or math.nan),
                "composite": float(mixing(pulled, tv).steps),
                "composite_exact": float(fewest_mixing_steps(pulled, tv) or math.nan),
            }
        )
    return made


FIGURES = (
    Exhibit(
        "modulus-mixing-times",
        "Steps of projected Langevin to total variation 0.01",
        "bravo2025modulus",
        "Theorem 4.2",
        "ceil(D^2/eta) steps for each halving, for gradients of all records.",
        "true, on the whole space.  Gaussian total variation and blocks of the best length need a "
        "quarter; batches of any kind need the same (docs/proofs/mixing.md), a strongly convex "
        "part that enters by its prox fewer.  The exact chain is flat, from both ends of an "
        "interval of the same length; no sound number is below it.",
        _mixing_times,
        Chart(
            "step_size",
            {
                "printed": "Theorem 4.2",
                "full": "certified, all records",
                "cyclic": "certified, cyclic batches of 30",
                "exact": "an exact chain",
                "composite": "certified, with a ridge of 2",
                "composite_exact": "an exact chain with it",
            },
            "step size",
            "steps",
        ),
        {
            "step_size": "step size",
            "printed": "Theorem 4.2; infinite where its condition on the step size fails",
            "full": "certified, gradients of all records",
            "poisson": "certified, each of 100 records with probability 0.1",
            "fixed_size": "certified, 10 of 100 records",
            "cyclic": "certified, batches of 30 of 100 records in turn, whole passes",
            "exact": "steps before which a flat chain from both ends is not mixed",
            "composite": "certified, with a ridge of 2 in the prox",
            "composite_exact": "the same for the flat chain with that ridge",
        },
    ),
    Exhibit(
        "modulus-comparison",
        "Two bounds on the last iterate of noisy SGD along the step size (delta = 1e-5)",
        "bravo2025modulus",
        "equations (22) to (24)",
        "(22), from iteration and sampling, and (24), from contraction, both blow up as steps get "
        "short, (22) more gracefully.",
        "true, with D L/eta in (24) doubled (modulus-e5) and (22) only at orders that are "
        "admissible (modulus-e4).  What wane certifies of the same runs, 1e9 steps with batches "
        "of 100 of 1000 records, is below both everywhere: hidden steps are solved with the "
        "exact divergences of sampled steps, contraction with the modulus of the losses.",
        _along_the_step_size,
        Chart(
            "step_size",
            {
                "iteration": "(22)",
                "contraction": "(24) as printed",
                "contraction_mended": "(24) mended",
                "composition": "composition, 1e9 steps",
                "certified": "certified, 1e9 steps",
            },
            "step size",
            "epsilon",
        ),
        {
            "step_size": "step size",
            "iteration": "(22); infinite where its order is not admissible",
            "contraction": "(24) as printed, with the logarithm in place of the quantile",
            "contraction_mended": "(24) with 2 D L/eta",
            "composition": "every step seen",
            "certified": "the least of wane's theorems",
        },
    ),
    Exhibit(
        "modulus-figure-1",
        "Steps after which the bound is constant (n = 1000, L = 1, M = 2, D = 1)",
        modulus_paper.KEY,
        "Figure 1",
        "2 T + V of Remark 5.3, against the step size, for Hoelder exponents p: after so many "
        "steps the bound for Poisson batches stops growing.",
        "the proof is not valid for Poisson batches (E1, E2); for batches of fixed size it is "
        "(docs/proofs/sampled-steps.md, Theorem F).  Corrected: the divergence of order two that "
        "wane certifies for a billion steps with batches of 100, in units of 16 order L^2/(n "
        "noise)^2.",
        _effective_steps,
        Chart(
            "step_size",
            {"steps": "printed, p =", "corrected": "corrected, p ="},
            "step size",
            "steps' worth of divergence",
            by="exponent",
            among=(0.0, 0.3, 0.5, 0.7, 1.0),
        ),
        {
            "step_size": "the step size",
            "exponent": "the Hoelder exponent p; one is smooth",
            "steps": "2 T + V, as printed",
            "corrected": "the certified plateau in the same unit",
        },
    ),
    Exhibit(
        "modulus-figure-2",
        "The energy of three steps is not convex (D = 5, noise 1, 0.01, 0.4)",
        modulus_paper.KEY,
        "Figure 2",
        "E(u1, u2), the cost of two intermediate distances for a nonsmooth convex loss.  Its least "
        "value is taken for the tightest bound that can be had.",
        "the runs are at most D apart at any time, so the chain may start later: the bound is the "
        "least over all starts.",
        _energy,
        Chart("u1", {"u2": ""}, "u1", "u2", level="log10"),
        {
            "u1": "distance after the first step",
            "u2": "distance after the second step",
            "printed": "E(u1, u2)",
            "log10": "its logarithm, which is drawn",
            "minimum": "the least value of E over both distances",
            "corrected": "the least value over all starts: mu^2",
        },
    ),
    Exhibit(
        "modulus-table-1",
        "Divergence of projected steps from different starts",
        modulus_paper.KEY,
        "Table 1",
        "six rows of bounds: (1) convex, Lipschitz; (2) convex, weakly smooth; (3) strongly "
        "convex, smooth; (4) convex, smooth; (5) smooth; (6) dissipative, smooth.",
        "all hold (row 2 if weak smoothness holds on the whole space).  Corrected: the sum for its "
        "logarithm, the tight factor in row 3, and the best start, which keeps rows 1, 2 and 6 "
        "from growing.  D = 1, step size 0.1, L = 1, M = 2, p = 1/2, beta = 1, kappa = 0.2, lambda "
        "= 0.05, noise 0.1 on the iterate.",
        _modulus_table,
        Chart(
            "steps",
            {"printed": "printed, row", "corrected": "corrected, row"},
            "steps",
            "Renyi divergence / order",
            by="row",
            among=(1.0, 2.0, 3.0, 5.0, 6.0),
        ),
        {
            "row": "row of the table",
            "steps": "number of steps",
            "printed": "Renyi divergence / order, as printed",
            "corrected": "the same, with the best start and the tight factor",
        },
    ),
)
