"""Misprints and loose constants of the sampler paper, drawn beside what is meant or true.

The letters E1, E2, ... are those of docs/errata/sampler.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import integrate, stats

from wane.audit import langevin_law as law
from wane.describe.chain import Direction
from wane.numerics.search import largest_satisfying
from wane.theorems.langevin import girsanov
from wane.theorems.lemmas.letters import Letters
from wane_papers.exhibits import Chart, Exhibit, Row
from wane_papers.sampler import corrected_route as route, printed

UNIT = law.GaussianTarget((1.0,), (1,))


def _centre() -> list[Row]:
    """Where f(x - x*) and f(x + x*) have their minimum, on a fine grid; f = (x - x*)^2."""
    grid, made = np.linspace(-10.0, 10.0, 20_001), []
    for place in (0.5, 1.0, 2.0, 3.0, 4.0):

        def f(x: float, place: float = place) -> float:
            return (x - place) ** 2

        moved = printed.centring.formula(f, place)
        made.append(
            {
                "minimiser": place,
                "printed": float(grid[np.argmin([moved(x) for x in grid])]),
                "corrected": float(grid[np.argmin([f(x + place) for x in grid])]),
            }
        )
    return made


def _scale() -> list[Row]:
    """For f = m x^2/2 a sample for f(x/sqrt(m)) has standard deviation one."""
    return [
        {
            "curvature": m,
            "printed": printed.scaling.formula(1.0, m),
            "corrected": 1.0 / math.sqrt(m),
            "target": math.sqrt(law.diffusion_variance(m, 1e3, 1.0)),
        }
        for m in (0.25, 0.5, 1.0, 2.0, 4.0, 16.0)
    ]


def _killed_mass() -> list[Row]:
    P, Q, X = np.array([0.5, 0.5]), np.array([0.4, 0.6]), np.array([0.5, 0.2])
    made: list[Row] = []
    for a in (1.5, 2.0, 3.0, 4.0, 6.0):
        mean = sum(
            integrate.quad(lambda y, q=q, a=a: (y / q) ** (a - 1.0), 0.0, x)[0]
            for q, x in zip(Q, X, strict=True)
        )
        made.append(
            {
                "order": a,
                "moment": float(np.sum(Q * (X / Q) ** a)),
                "printed": float(np.sum(P * (X / Q) ** (a - 1.0))),
                "corrected": a * float(mean),
            }
        )
    return made


def _multiple() -> list[Row]:
    made: list[Row] = []
    for alpha, eps in ((1.2, 0.1), (1.5, 0.1), (2.0, 0.1), (3.0, 0.1), (4.0, 0.1), (8.0, 0.1)):
        kappa = printed.order_multiple(alpha=alpha, eps=eps)
        value = printed.after_jensen(alpha=alpha, kappa=kappa)
        made.append(
            {
                "order": alpha,
                "multiple": kappa,
                "claimed": eps,
                "printed": value,
                "corrected": value + math.log(2.0) / ((alpha - 1.0) * kappa),
            }
        )
    return made


def _tail() -> list[Row]:
    return [
        {
            "beyond": x,
            "printed": printed.brownian_tail(x=x),
            "corrected": 2.0 * math.exp(-x * x / 2.0),
            "exact": 2.0 * float(stats.chi.sf(math.sqrt(3.0) + x, 3)),
        }
        for x in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
    ]


def _power_of_smoothness() -> list[Row]:
    known = {"d": 3, "B": 1.0, "tau": 1.0, "alpha": 2.0, "eps": 0.1}
    unit = printed.lipschitz_step(L=1.0, **known)
    return [
        {
            "smoothness": L,
            "printed": printed.lipschitz_step(L=L, **known) / unit,
            "corrected": L**-2,
        }
        for L in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    ]


def _reverse_rate() -> list[Row]:
    alpha, made = 3.0, []

    def exact(t: float) -> float:
        return law.diffusion_divergences(UNIT, order=alpha, time=t, start_variance=0.7)[1]

    start = exact(0.0)
    for t in (0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
        made.append(
            {
                "time": t,
                "printed": printed.reverse_mixing(alpha=alpha, D0=start, t=t),
                "corrected": math.exp(-2.0 * t / alpha) * start,
                "exact": exact(t),
            }
        )
    return made


def _mass() -> list[Row]:
    made: list[Row] = []
    for L in (1.0, 2.0, 4.0, 8.0):
        log_norm = -0.5 * math.log(2.0 * math.pi / L)
        mass = [
            integrate.quad(lambda x, s=s, L=L, c=log_norm: math.exp(c - s * L * x * x), -20, 20)[0]
            for s in (1.0, 0.5)
        ]
        made.append({"smoothness": L, "printed": mass[0], "corrected": mass[1]})
    return made


def _energy() -> list[Row]:
    gamma, mu = 2.0, 0.5
    made: list[Row] = []
    for t in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        flow = law.kinetic_flow(1.0, friction=gamma, velocity_variance=mu, time=t)
        made.append(
            {
                "time": t,
                "printed": 2.0 * gamma * mu,
                "corrected": gamma * mu,
                "exact": 0.5 * float(flow.noise[1, 1]) / t,
            }
        )
    return made


def _negative_potential() -> list[Row]:
    return [
        {"smoothness": L, "printed": 0.0, "exact": 0.5 * math.log(2.0 * math.pi / L)}
        for L in (1.0, 3.0, 6.0, 6.5, 10.0, 30.0, 100.0)
    ]


def _speed() -> list[Row]:
    mu, tau, delta, made = 0.7, 3.0, 0.01, []
    for gamma in (0.1, 0.3, 1.0, 2.0, 5.0, 10.0):
        flow = law.kinetic_flow(1.0, friction=gamma, velocity_variance=mu, time=tau)
        at_the_end = math.sqrt(float(flow.noise[1, 1])) * float(stats.norm.isf(delta / 2.0))
        bound = route.velocity_bound(
            d=1, L=1.0, gamma=gamma, mu=mu, eta=1e-3, tau=tau, delta=delta, phi0=0.0, discrete=False
        )
        made.append({"friction": gamma, "exact": at_the_end, "corrected": bound})
    return made


def _linear_step() -> list[Row]:
    known = {"d": 10, "m": 1.0, "L": 2.0}

    def ours(goal: float) -> float:
        def fits(eta: float) -> bool:
            N = math.ceil(3.0 / eta)
            x = Letters(d=10, m=1.0, L=2.0, M3=math.inf, B=math.inf, eta=eta, N=N, s0=0.5, r0=0.0)
            return girsanov.convex(x, Direction.CHAIN_FIRST, 2.0).value <= goal

        return largest_satisfying(fits, 1e-9, 0.1, relative=1e-2)

    def theirs(goal: float) -> float:
        def error(eta: float) -> float:
            T = math.ceil(3.0 / eta)
            return route.discretisation(alpha=2.0, T=T, eta=eta, s0=0.5, **known)  # type: ignore[arg-type]

        return route.largest_step(error, goal, 0.1)

    return [
        {"divergence": goal, "route": theirs(goal), "certified": ours(goal)}
        for goal in (0.003, 0.01, 0.03, 0.1, 0.3)
    ]


def _slip(
    number: str,
    title: str,
    place: str,
    *,
    says: tuple[str, str],
    rows: Callable[[], list[Row]],
    lines: dict[str, str],
    axes: tuple[str, str, str],
    logarithmic: str = "",
    more: dict[str, str] | None = None,
) -> Exhibit:
    """An exhibit whose lines are its columns; `axes` are the column, its words, the other axis."""
    return Exhibit(
        f"sampler-{number}",
        title,
        printed.KEY,
        place,
        *says,
        rows,
        Chart(axes[0], lines, axes[1], axes[2], logarithmic),
        {axes[0]: axes[1]} | lines | (more or {}),
    )


SLIPS = (
    _slip(
        "e1",
        "Centring moves the minimum the wrong way",
        "Section 2.1",
        says=(
            "f(x - x*) has its minimum at zero.",
            "at 2 x*; f(x + x*) is meant.  f = (x - x*)^2.",
        ),
        rows=_centre,
        lines={"printed": "minimum of f(x - x*)", "corrected": "minimum of f(x + x*)"},
        axes=("minimiser", "x*", "where the moved potential is least"),
    ),
    _slip(
        "e2",
        "A rescaled sample must be divided",
        "Section 2.1",
        says=(
            "a sample for f(x/sqrt m) is multiplied by sqrt m.",
            "it must be divided.  f = m x^2/2.",
        ),
        rows=_scale,
        lines={"printed": "multiplied", "corrected": "divided", "target": "of the target"},
        axes=("curvature", "m", "standard deviation of the sample"),
        logarithmic="xy",
    ),
    _slip(
        "e6",
        "A change of measure is no equality for killed mass",
        "proof of Theorem 15",
        says=(
            "E_Q[(X/Q)^a] = E_P[(X/Q)^(a-1)] for a part X of P.",
            "the left side is smaller.  What holds is a mean over y uniform below P, cut at X.  "
            "Two points.",
        ),
        rows=_killed_mass,
        lines={"moment": "left side", "printed": "right side", "corrected": "mean below P"},
        axes=("order", "a", "moment"),
        logarithmic="y",
    ),
    _slip(
        "e7",
        "The multiple of the order does not bring the divergence to eps",
        "proof of Theorem 15",
        says=(
            "raising the order by kappa brings the divergence to eps.",
            "not even with the printed ln 15, which must be ln 30.  eps = 0.1.",
        ),
        rows=_multiple,
        lines={"claimed": "claimed", "printed": "with ln 15", "corrected": "with ln 30"},
        axes=("order", "Renyi order", "divergence after Jensen's inequality"),
        more={"multiple": "kappa as printed"},
    ),
    _slip(
        "e10",
        "The tail of Brownian motion",
        "Fact 32",
        says=(
            "2 exp(-x^2/4) beyond sqrt(d) + x.",
            "2 exp(-x^2/2), by Levy's inequality.  d = 3.",
        ),
        rows=_tail,
        lines={"printed": "printed", "corrected": "corrected", "exact": "Levy's bound, exact law"},
        axes=("beyond", "x", "probability"),
        logarithmic="y",
    ),
    _slip(
        "e11",
        "How the step size depends on smoothness",
        "Theorem 19 and Figure 1, row 2",
        says=(
            "the step size is proportional to L^-4.",
            "to L^-2: for L < 1 more is claimed than proved.",
        ),
        rows=_power_of_smoothness,
        lines={"printed": "printed", "corrected": "as proved"},
        axes=("smoothness", "L", "step size, relative to L = 1"),
        logarithmic="xy",
    ),
    _slip(
        "e12",
        "How fast the target's divergence from the diffusion fades",
        "Lemma 20",
        says=(
            "like exp(-t/alpha).",
            "like exp(-2 t/alpha).  f = x^2/2 from N(0, 0.7), order 3.",
        ),
        rows=_reverse_rate,
        lines={"printed": "printed", "corrected": "corrected", "exact": "exact"},
        axes=("time", "time", "Renyi divergence"),
        logarithmic="y",
    ),
    _slip(
        "e13",
        "The mass of a printed density",
        "proof of Lemma 22",
        says=(
            "densities with exponent -L x^2.",
            "they have mass 0.707: a half is missing in the exponent.",
        ),
        rows=_mass,
        lines={"printed": "printed", "corrected": "with the half"},
        axes=("smoothness", "L", "mass"),
    ),
    _slip(
        "e16",
        "The growth of kinetic energy from rest",
        "Sections 6 and 7.3",
        says=(
            "the Ito term is 2 gamma mu d.",
            "gamma mu d.  f = x^2/2, gamma = 2, mu = 0.5.",
        ),
        rows=_energy,
        lines={"printed": "printed", "corrected": "corrected", "exact": "exact mean over time"},
        axes=("time", "time", "growth of mean kinetic energy"),
        logarithmic="x",
    ),
    _slip(
        "e17",
        "A normalised potential may be negative",
        "Lemma 27",
        says=(
            "uses f >= 0 for a density e^-f.",
            "at the minimum of L x^2/2 + c it is negative from L = 2 pi on.",
        ),
        rows=_negative_potential,
        lines={"printed": "assumed least value", "exact": "least value"},
        axes=("smoothness", "L", "potential at its minimum"),
        logarithmic="x",
    ),
    _slip(
        "e18",
        "A bound on velocities for every friction",
        "Lemma 27",
        says=(
            "a bound for gamma >= 2, with a hidden constant; its two claims add up to twice it.",
            "an exponential supermartingale gives one for every friction.  Exact: the quantile "
            "of the last velocity alone, f = x^2/2 from rest, time 3, probability 0.01.",
        ),
        rows=_speed,
        lines={"exact": "last velocity, exact quantile", "corrected": "all velocities, corrected"},
        axes=("friction", "friction", "velocity"),
        logarithmic="x",
    ),
    _slip(
        "e21",
        "The step size is linear in the divergence",
        "Section 8",
        says=(
            "leaves open whether the loss of 1/eps^2 is needed.",
            "it is a property of conditioning: wane's bound is linear in eps.  d = 10, "
            "curvature in [1, 2], time 3, order 2.",
        ),
        rows=_linear_step,
        lines={"route": "the paper's route, corrected", "certified": "certified by wane"},
        axes=("divergence", "divergence allowed", "step size"),
        logarithmic="xy",
    ),
)
