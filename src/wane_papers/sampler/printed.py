"""The bounds of Ganesh and Talwar, as printed (ganesh2020langevin).

Letters are the paper's: f is 1-strongly convex (or B-Lipschitz) and L-smooth on R^d, T steps of
size eta, time tau = T eta, Renyi order alpha, distance eps, friction gamma, inverse mass mu.
Hidden constants and logarithms are taken as one.  The same route with explicit, corrected
constants is `sampler_route`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from wane_papers.records import Printed, Standing
from wane_papers.sampler import corrected_route as sampler_route

KEY = "ganesh2020langevin"
_printed = partial(Printed, key=KEY)


def _killed(
    *, T: int, alpha: float, L: float, r: float, eta: float, mu: float = 1.0, gamma: float = 1.0
) -> float:
    return T * alpha * L**2 * r**2 * eta / 4.0 * (mu / gamma)


def _unconditioned(*, beta: float, gamma: float, theta: float) -> float:
    inner = gamma ** (1.0 / (1.0 + gamma)) + gamma ** (-gamma / (1.0 + gamma))
    last = theta * (1.0 + gamma) / (theta * (1.0 + gamma) - 1.0)
    return float(beta ** (1.0 / theta) * inner ** ((1.0 + gamma) / theta) * last)


def _simply_unconditioned(*, beta: float, theta: float) -> float:
    return float((4.0 * beta) ** (1.0 / theta)) * theta / (theta - 1.0)


LEAST_CONSTANT = 64.3
"""The least c for which the steps of the printed proof of Lemma 13 go through."""


def _radius(*, d: int, L: float, eta: float, T: int, delta: float, c: float) -> float:
    return c * L * (math.sqrt(d) + math.sqrt(math.log(T / delta))) * math.sqrt(eta)


def _overdamped_step(*, d: int, L: float, tau: float, alpha: float, eps: float) -> float:
    return eps**2 / (d * tau * L**4 * math.log(alpha) ** 2)


def _lipschitz_step(*, d: int, B: float, L: float, tau: float, alpha: float, eps: float) -> float:
    return eps**2 / ((B**2 + d) * tau * L**4 * math.log(alpha) ** 2)


def _underdamped_step(*, d: int, L: float, tau: float, alpha: float, eps: float) -> float:
    return eps / (math.sqrt(d) * tau * L * math.log(alpha))


def _steps(*, d: int, L: float, alpha: float, eps: float) -> float:
    return alpha**2 * L**4 * d / eps**2


def _time(*, d: int, L: float, alpha: float, eps: float) -> float:
    return alpha * math.log(d * math.log(L) / eps)


def _order_multiple(*, alpha: float, eps: float) -> float:
    return 3.0 * math.log(alpha) * math.log(1.0 / eps) / ((alpha - 1.0) * eps)


def _after_jensen(*, alpha: float, kappa: float) -> float:
    total = math.log(15.0) + 0.5 * math.log(alpha) + 0.5 * math.log(kappa)
    return total / ((alpha - 1.0) * kappa)


def _mixing(*, alpha: float, D0: float, t: float) -> float:
    return math.exp(-2.0 * t / alpha) * D0


def _reverse_mixing(*, alpha: float, D0: float, t: float) -> float:
    return math.exp(-t / alpha) * D0


def _start(*, d: int, L: float) -> float:
    return 0.5 * d * math.log(L)


def _reverse_start(*, d: int, L: float) -> float:
    return d * math.log(L)


def _hypercontracted(*, alpha0: float, D0: float, t: float) -> tuple[float, float]:
    """The order reached and the bound there."""
    later = 1.0 + math.exp(2.0 * t) * (alpha0 - 1.0)
    return later, (1.0 - 1.0 / alpha0) / (1.0 - 1.0 / later) * D0


def _wide_start(*, d: int, L: float) -> tuple[float, float]:
    """The order and the bound at it."""
    return 1.0 + 1.0 / L, 0.5 * d * L * math.log(L)


def _minami_steps(*, d: int, delta: float) -> float:
    return d**3 / delta**2


def _private_steps(*, d: int, zeta: float) -> float:
    return d / zeta**4


def _brownian_tail(*, x: float) -> float:
    return 2.0 * math.exp(-x * x / 4.0)


def _contraction(*, eta: float) -> float:
    return 1.0 - 0.5 * eta


def _lipschitz_radius(*, d: int, B: float, eta: float, T: int, delta: float, c: float) -> float:
    return 2.0 * B * eta + c * (math.sqrt(d) + math.sqrt(math.log(T / delta))) * math.sqrt(eta)


def _velocity(*, d: int, gamma: float, mu: float, tau: float, delta: float, c: float) -> float:
    return c * math.sqrt(gamma * mu) * (math.sqrt(tau * d) + math.sqrt(math.log(1.0 / delta)))


def _three_links(*, zeta: float, delta: float) -> tuple[float, float]:
    return 3.0 * zeta, 3.0 * delta


def _centred(f: Callable[[float], float], minimiser: float) -> Callable[[float], float]:
    return lambda x: f(x - minimiser)


def _rescaled(sample: float, m: float) -> float:
    return sample * math.sqrt(m)


killed_divergence = _printed(
    "divergence of the killed processes",
    "Lemma 10, Corollary 11 and Lemma 26",
    ("L-smooth", "neither process moves more than r within a step"),
    Standing.SOUND,
    "in continuous time it is Girsanov's theorem with a drift of at most L r/sqrt(2)",
    _killed,
)
unconditioning = _printed(
    "moments without conditioning",
    "Lemma 14, first bound",
    ("E[Y^theta | E_delta] <= beta/delta^gamma", "gamma < 1", "theta > 1 + gamma"),
    Standing.FALSE,
    "the last factor must be theta/(theta - 1 - gamma): for P(Y >= y) = y^-s, s = 2/1.9, beta = "
    "1/0.9, gamma = 0.9, theta = 2 the mean is 20 against 2.760",
    _unconditioned,
    within=lambda beta, gamma, theta: gamma < 1.0 and theta > 1.0 + gamma,
)
simple_unconditioning = _printed(
    "moments without conditioning, simplified",
    "Lemma 14, second bound",
    ("as the first bound",),
    Standing.FALSE,
    "the same example: 20 against 4.216",
    _simply_unconditioned,
)
movement = _printed(
    "movement within a step",
    "Lemma 13",
    ("1-strongly convex", "L-smooth", "eta <= 2/(L + 1)", "c large"),
    Standing.UNPROVED,
    "the step for the continuous process is false pathwise: f = x^2/2, eta = 1 and noise 0, -1, +1 "
    "give |x| = 1.337 > 1; a Bessel comparison mends it",
    _radius,
    within=lambda d, L, eta, T, delta, c: eta <= 2.0 / (L + 1.0),
)
overdamped_step = _printed(
    "overdamped step size",
    "Theorem 15 and Figure 1, row 1",
    ("1-strongly convex", "L-smooth", "constants and logarithms hidden"),
    Standing.FALSE,
    "false for fixed eps and large alpha: for f = x^2/2, tau = 1 the divergence is infinite from "
    "alpha = 1 + 2.31/eta on",
    _overdamped_step,
)
lipschitz_step = _printed(
    "overdamped step size, Lipschitz potential",
    "Theorem 19 and Figure 1, row 2",
    ("B-Lipschitz", "L-smooth", "constants and logarithms hidden"),
    Standing.UNPROVED,
    "its proof gives L^2 for L^4 and does not cover fixed eps and large alpha",
    _lipschitz_step,
)
underdamped_step = _printed(
    "underdamped step size",
    "Theorem 28 and Figure 1, row 3",
    ("1-strongly convex", "L-smooth", "constants and logarithms hidden"),
    Standing.FALSE,
    "false for fixed eps and large alpha: for f = x^2/2, gamma = 2, mu = 1, tau = 1 the divergence "
    "is infinite from alpha = 4.1/eta on",
    _underdamped_step,
)
steps = _printed(
    "steps to the target",
    "Theorems 1 and 12",
    ("1-strongly convex", "L-smooth", "constants and logarithms hidden"),
    Standing.UNPROVED,
    "rests on Theorem 15; for eps >= 3 ln(alpha)/(alpha - 1), as in the privacy application, what "
    "can be proved that way is alpha^4 L^4 d",
    _steps,
)
time_needed = _printed(
    "time to the target",
    "Theorem 1",
    ("1-strongly convex", "L-smooth"),
    Standing.UNPROVED,
    "omits the time ln((2 alpha - 1) L)/2 its proof uses, and is negative for d ln L < eps",
    _time,
)
order_multiple = _printed(
    "multiple of the order",
    "proof of Theorem 15",
    ("eps < 3 ln(alpha)/(alpha - 1)",),
    Standing.FALSE,
    "does not bring the divergence to eps: 1.76 eps at alpha = 1.5, eps = 0.1; and it is not above "
    "one for eps near one",
    _order_multiple,
)
after_jensen = _printed(
    "divergence after Jensen's inequality",
    "proof of Theorem 15",
    ("moments of order alpha kappa at most 15 sqrt(alpha')",),
    Standing.FALSE,
    "ln 15 must be ln 30, since alpha' = 4 alpha kappa - 2",
    _after_jensen,
)
mixing = _printed(
    "mixing of the diffusion",
    "Lemma 17",
    ("1-strongly convex",),
    Standing.SOUND,
    "Theorem 2 of Vempala and Wibisono (2019)",
    _mixing,
)
reverse_mixing = _printed(
    "mixing of the diffusion, target first",
    "Lemma 20",
    ("1-strongly convex", "1-strongly log-concave start"),
    Standing.LOOSE,
    "the rate is 2/alpha: the contraction 1 - eta keeps the log-Sobolev constant at one",
    _reverse_mixing,
)
start = _printed(
    "divergence of the start",
    "Lemma 16",
    ("1-strongly convex", "L-smooth", "start N(0, I/L)"),
    Standing.SOUND,
    "for every order",
    _start,
)
reverse_start = _printed(
    "divergence of the target from the start",
    "Lemma 22",
    ("1-strongly convex", "L-smooth", "start N(0, I)", "alpha >= 2"),
    Standing.LOOSE,
    "alpha/(alpha - 1) (d/2) ln L; the densities in its proof lack a factor of one half",
    _reverse_start,
)
hypercontraction = _printed(
    "a finite divergence at a larger order later",
    "Lemma 21",
    ("1-strongly convex", "alpha_0 > 1"),
    Standing.SOUND,
    "Lemma 14 of Vempala and Wibisono (2019); a shifted Gaussian attains it",
    _hypercontracted,
    within=lambda alpha0, D0, t: alpha0 > 1.0 and t >= 0.0,
)
wide_start = _printed(
    "divergence of a wide start at one small order",
    "Lemma 22, second bound",
    ("1-strongly convex", "L-smooth", "start N(0, I)", "order 1 + 1/L"),
    Standing.LOOSE,
    "for the target N(0, I/L) it is d (L - 1)/2 ln L",
    _wide_start,
    within=lambda d, L: L >= 1.0,
)
minami_steps = _printed(
    "steps of Minami and others for a (zeta, delta)-private sample",
    "Section 1.3",
    ("strongly log-concave prior", "constants and logarithms hidden"),
    Standing.SOUND,
    "quoted from Minami and others (2016), Proposition 13; recalled, not checked here",
    _minami_steps,
)
private_steps = _printed(
    "steps for a (zeta, delta)-private sample",
    "Section 1.3",
    ("1-strongly convex", "L-smooth", "constants and logarithms hidden"),
    Standing.UNPROVED,
    "rests on Theorem 15, which fails for orders of about ln(1/delta)/zeta at fixed eps",
    _private_steps,
)
brownian_tail = _printed(
    "tail of the norm of Brownian motion",
    "Fact 32",
    ("threshold sqrt(d) + x, time one",),
    Standing.LOOSE,
    "Levy's inequality gives 2 exp(-x^2/2)",
    _brownian_tail,
)
contraction = _printed(
    "contraction of a gradient step",
    "Facts 33 and 34",
    ("1-strongly convex", "L-smooth", "eta <= 2/(L + 1)"),
    Standing.LOOSE,
    "1 - eta, and exp(-t) in continuous time",
    _contraction,
)
lipschitz_movement = _printed(
    "movement within a step, Lipschitz potential",
    "Lemma 18",
    ("B-Lipschitz", "eta <= 1", "c large"),
    Standing.LOOSE,
    "the gradient moves by eta B, not 2 eta B",
    _lipschitz_radius,
    within=lambda d, B, eta, T, delta, c: eta <= 1.0,
)
velocity = _printed(
    "largest velocity",
    "Lemma 27",
    ("gamma >= 2", "eta <= gamma/(mu L)", "c large"),
    Standing.UNPROVED,
    "needs f >= 0; its two claims add up to twice what is claimed, the Ito term is gamma mu d, and "
    "the increments lack sqrt(2 gamma mu); an exponential supermartingale mends all",
    _velocity,
    within=lambda d, gamma, mu, tau, delta, c: gamma >= 2.0,
)
three_links = _printed(
    "closeness of three links",
    "Section 1.3",
    ("each link is (zeta, delta)-close",),
    Standing.FALSE,
    "(3 zeta, (1 + e^zeta + e^(2 zeta)) delta), attained on two points",
    _three_links,
)
centring = _printed(
    "centring",
    "Section 2.1",
    ("minimiser x*",),
    Standing.FALSE,
    "f(x - x*) has its minimum at 2 x*; f(x + x*) is meant",
    _centred,
)
scaling = _printed(
    "scaling",
    "Section 2.1",
    ("m-strongly convex",),
    Standing.FALSE,
    "a sample for f(x/sqrt(m)) must be divided by sqrt(m)",
    _rescaled,
)

BOUNDS: tuple[Printed, ...] = tuple(v for v in list(vars().values()) if isinstance(v, Printed))


def figure_one(
    dimensions: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000),
    *,
    L: float = 4.0,
    B: float = 1.0,
    alpha: float = 2.0,
    eps: float = 0.1,
    tau: float = 3.0,
) -> dict[str, list[float]]:
    """Figure 1 as columns: for each row and dimension the step size, printed and proved.

    `printed` takes the hidden constant and logarithms as one; `proved` is the largest step size
    for which the same route, corrected and with explicit constants, gives D_alpha <= eps after the
    time tau.  Rows 1 and 2 are overdamped (row 1 from N(0, I/L), row 2 from anywhere), row 3 is
    underdamped with mu = 1, gamma = sqrt(L + 1) (at least 2), from rest at the minimiser.
    """
    gamma = max(2.0, math.sqrt(L + 1.0))
    known = {"L": L, "tau": tau, "alpha": alpha, "eps": eps}

    def row_one(d: int, eta: float) -> float:
        return sampler_route.discretisation(
            alpha=alpha, d=d, m=1.0, L=L, eta=eta, T=math.ceil(tau / eta), s0=1.0 / L
        )

    def row_two(d: int, eta: float) -> float:
        return sampler_route.lipschitz_discretisation(
            alpha=alpha, d=d, B=B, L=L, eta=eta, T=math.ceil(tau / eta)
        )

    def row_three(d: int, eta: float) -> float:
        return sampler_route.kinetic_discretisation(
            alpha=alpha, d=d, L=L, gamma=gamma, mu=1.0, eta=eta, T=math.ceil(tau / eta)
        )

    rows: tuple[tuple[Callable[[int, float], float], Printed, dict[str, float]], ...] = (
        (row_one, overdamped_step, known),
        (row_two, lipschitz_step, known | {"B": B}),
        (row_three, underdamped_step, known),
    )
    names = ("row", "dimension", "printed_step_size", "printed_steps", "proved_step_size")
    columns: dict[str, list[float]] = {name: [] for name in (*names, "proved_steps")}
    for row, (error, printed, given) in enumerate(rows, start=1):
        for d in dimensions:
            claimed = printed(d=d, **given)
            proved = sampler_route.largest_step(partial(error, d), eps, 1.0 / L)
            line = (float(row), float(d), claimed, tau / claimed, proved, tau / proved)
            for name, value in zip(columns, line, strict=True):
                columns[name].append(value)
    return columns
