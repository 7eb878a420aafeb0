"""Figures 1 and 2 and Table 1 of the modulus paper, as printed and as corrected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.certificates import certify
from wane.describe import GradientNoise, NoisyDescent, Objective, WithoutReplacement
from wane.describe.domains import Diameter
from wane.theorems.lemmas import modulus_programme as programme, modulus_rows as moduli
from wane_papers.exhibits import Chart, Exhibit, Row
from wane_papers.modulus import printed as modulus_paper

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


FIGURES = (
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
