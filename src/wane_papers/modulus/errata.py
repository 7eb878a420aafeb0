"""False statements on projected Langevin under a modulus of continuity, on exact instances.

The letters E1, E2, ... are those of docs/errata/modulus.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wane import mixing
from wane.arrays import Array
from wane.describe import Objective
from wane.numerics.sampled_gaussian import renyi_replace
from wane.theorems.lemmas import lipschitz as facts
from wane.theorems.lemmas.loss_moduli import Batch, step_modulus
from wane_papers.cyclic.refuted import clip_jacobian
from wane_papers.exhibits import Row, counterexample
from wane_papers.modulus import printed

KEY = printed.KEY
ORDERS = (2.0, 3.0, 4.0, 6.0, 10.0, 16.0, 32.0)


def _divergence(log_p: Array, log_q: Array, order: float) -> float:
    """Renyi divergence of densities on one grid, the first up to a factor."""
    norm = special.logsumexp(log_p)
    both = special.logsumexp(order * log_p + (1.0 - order) * log_q)
    return float(both - norm) / (order - 1.0)


def _mixture(x: Array, parts: list[tuple[float, float]]) -> Array:
    """Log density, up to a constant, of unit normals with weights and centres."""
    made = [math.log(weight) - 0.5 * (x - centre) ** 2 for weight, centre in parts]
    return np.asarray(special.logsumexp(made, axis=0))


def _direction() -> list[Row]:
    """Quadratics with step size 1/smoothness forget the past: the last step is all that is seen."""
    rate, shift = 1e-3, 3.0
    one, other = (
        _projected_mixture([(1.0 - rate, 0.0), (rate, sign * shift)], 10.0) for sign in (1.0, -1.0)
    )
    return [
        {
            "order": order,
            "printed": printed.poisson_min_over_steps(
                alpha=order, q=rate, shift=shift, D=20.0, noise_std=1.0, T=2000
            ),
            "exact": _divergence(one, other, order),
            "corrected": renyi_replace(order, rate, shift),
        }
        for order in ORDERS
    ]


def _projected_mixture(parts: list[tuple[float, float]], end: float) -> Array:
    """Log masses of a mixture of unit normals clipped to [-end, end]: both atoms and a grid."""
    x = np.linspace(-end, end, 20_001)
    tails = [
        special.logsumexp(
            [special.log_ndtr(sign * c - end) for _, c in parts], b=[w for w, _ in parts]
        )
        for sign in (-1.0, 1.0)
    ]
    cells = _mixture(x, parts) + math.log((x[1] - x[0]) / math.sqrt(2.0 * math.pi))
    cells[[0, -1]] -= math.log(2.0)  # the ends of the trapezoidal rule
    return np.concatenate([tails[:1], cells, tails[1:]])


def _large_batches() -> list[Row]:
    """The loss |x|, nominal batch size one: on both sides of zero the gradients add up."""
    eta = 0.1
    objective = Objective(gradient_bound=1.0, strong_convexity=0.0)
    made = []
    for size in (1, 2, 3, 5, 8):
        modulus = step_modulus(objective, Batch(eta, 1, 0, size))
        assert modulus is not None
        made.append(
            {
                "drawn": float(size),
                "printed": 2.0 * eta,
                "exact": 2.0 * eta * size,
                "corrected": modulus(1e-9),
            }
        )
    return made


def _flat_box() -> list[Row]:
    """A quadratic on [0,1] x [-w,w], Hoelder with exponent 1/2 on the box, from (0,0) and (1,0)."""
    noise, made = 0.02, []
    for log_width in range(3, 10):
        width = 10.0**-log_width
        steep = width**-0.45
        hessian = np.array([[1.0 / steep, 1.0], [1.0, steep]])
        constant = _holder_constant(hessian, width)
        declared = Objective(strong_convexity=0.0, holder_exponent=0.5, holder_constant=constant)
        modulus = step_modulus(declared, Batch(1.0, 1, 1, 1))
        assert modulus is not None
        moved = np.array([1.0, 0.0]) - hessian[:, 0]  # the other point stays at the origin
        exact = _projected_kl(0.0, float(moved[0]), noise, (0.0, 1.0))
        exact += _projected_kl(0.0, float(moved[1]), noise, (-width, width))
        claimed = 1.0 + printed.weak_smoothness_offset(eta=1.0, M=constant, p=0.5)
        made.append(
            {
                "width": width,
                "printed": claimed / (2.0 * noise**2),
                "exact": exact,
                "corrected": modulus(1.0) ** 2 / (2.0 * noise**2),
            }
        )
    return made


def _holder_constant(hessian: Array, width: float) -> float:
    """The largest |H d|/sqrt|d| over differences of the box, raised for what the grid misses."""
    u, v = np.meshgrid(np.linspace(0.0, 1.0, 401), np.linspace(-2.0, 2.0, 401) * width)
    d = np.stack([u.ravel(), v.ravel()])
    length = np.linalg.norm(d, axis=0)
    kept = length > 0.0
    ratio = np.linalg.norm(hessian @ d, axis=0)[kept] / np.sqrt(length[kept])
    return 1.01 * float(np.max(ratio))


def _projected_kl(one: float, other: float, std: float, ends: tuple[float, float]) -> float:
    """Kullback-Leibler divergence of two normals clipped to an interval: atoms and a density."""
    low, high = ((end - one) / std for end in ends)
    tails = [
        (special.log_ndtr(sign * (end - one) / std), special.log_ndtr(sign * (end - other) / std))
        for sign, end in ((1.0, ends[0]), (-1.0, ends[1]))
    ]
    atoms = sum(math.exp(mine) * (mine - yours) for mine, yours in tails)
    mass = float(special.ndtr(high) - special.ndtr(low))
    bulge = (math.exp(-0.5 * low * low) - math.exp(-0.5 * high * high)) / math.sqrt(2.0 * math.pi)
    mean = one * mass + std * bulge  # of the position, inside only
    return float(atoms + (one - other) * (2.0 * mean - (one + other) * mass) / (2.0 * std**2))


def _condition_on_delta() -> list[Row]:
    """The sampled step with half the noise, at the order that (22) takes for this delta."""
    A, L, b, n = 1.0, 10.0, 1, 100
    sigma = 2.0 * math.sqrt(10.0) * L / b
    shift, rate = math.sqrt(2.0) * L / (b * sigma), b / n
    x = np.linspace(-200.0, 30.0, 46_001)
    below, above = (_mixture(x, [(1.0 - rate, 0.0), (rate, s * shift)]) for s in (-1.0, 1.0))
    made = []
    for exponent in (4, 6, 8, 10, 12):
        order = 1.0 + sigma * math.sqrt(exponent * math.log(10.0) / A)
        made.append(
            {
                "log_delta": -float(exponent),
                "printed": 52.0 * order * L**2 / (n**2 * sigma**2),
                "exact": _divergence(below, above, order),
                "corrected": renyi_replace(order, rate, 2.0 * shift),
                "order": order,
                "largest_order": printed.nonconvex_order_limit(n=n, b=b, L=L, sigma=sigma),
            }
        )
    return made


def _contraction() -> list[Row]:
    """Two steps at most D apart, D = 2, eta = 0.5, L = 1, noise 2, rate 0.1."""
    D, eta, L, sigma, q = 2.0, 0.5, 1.0, 2.0, 0.1
    r = (D / eta + 2.0 * L) / sigma
    made = []
    for exponent in (3, 4, 5, 6, 7, 8, 10):
        delta = 10.0**-exponent
        claim, _ = printed.contraction_epsilon(D=D, eta=eta, L=L, sigma=sigma, q=q, delta=delta)
        theta = delta / (q + delta * (1.0 - q))  # where theta q/(1 - theta (1 - q)) is delta
        missing = D * L / (eta * sigma**2)
        made.append(
            {
                "log_delta": -float(exponent),
                "printed": claim,
                "exact": r * (r / 2.0 - float(special.ndtri(theta))),
                "corrected": (claim + missing) * (1.0 + 1e-12),
            }
        )
    return made


def _one_step() -> list[Row]:
    """Projected Langevin on |x| over an interval of length one, from both sides of zero."""
    made = []
    for eta in (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
        apart = 2.0 * eta / math.sqrt(2.0 * eta)
        made.append(
            {
                "step_size": eta,
                "printed": printed.one_step_kappa(D=1.0, eta=eta, L=1.0),
                "exact": 2.0 * float(special.ndtr(apart / 2.0)) - 1.0,
                "corrected": mixing.total_variation(mixing.one_step_value(1.0, eta, 1.0)),
            }
        )
    return made


def _fixed_size() -> list[Row]:
    """One record of ten; the others pull one way, the differing record the other way."""
    x = np.linspace(-80.0, 80.0, 80_001)
    mixed = _mixture(x, [(0.9, 1.0), (0.1, -1.0)])
    plain = _mixture(x, [(1.0, 1.0)])
    return [
        {
            "order": order,
            "printed": renyi_replace(order, 0.1, 1.0),
            "exact": _divergence(mixed, plain, order),
            "corrected": renyi_replace(order, 0.1, 2.0),
        }
        for order in ORDERS
    ]


def _sums() -> list[Row]:
    """The sum of n losses |x|, whose gradients jump by 2 n: exponent zero, constant 2 each."""
    eta, made = 0.2, []
    declared = Objective(
        strong_convexity=0.0, holder_exponent=0.0, holder_constant=2.0, holder_everywhere=True
    )
    for count in (1, 2, 5, 10, 30, 100):
        modulus = step_modulus(declared, Batch(eta, 1, count, count))
        assert modulus is not None
        made.append(
            {
                "losses": float(count),
                "printed": math.sqrt(printed.weak_smoothness_offset(eta=eta, M=2.0, p=0.0)),
                "exact": 2.0 * eta * count,
                "corrected": modulus(1e-9),
            }
        )
    return made


def _clipped() -> list[Row]:
    """Largest stretch on a grid: step size one, x' diag(1, k) x/2 clipped at one."""
    made = []
    angles = np.linspace(0.0, math.pi / 2.0, 721)
    for flat in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        hessian = np.diag([1.0, flat])
        stretch = max(
            float(np.linalg.norm(np.eye(2) - clip_jacobian(1.001 * g, hessian, 1.0), 2))
            for g in np.stack([np.cos(angles), np.sin(angles)], axis=1)
        )
        bound = math.exp(facts.log_clipped_lipschitz(np.array([1.0]), flat, 1.0).item())
        made.append({"flattest": flat, "printed": 1.0, "exact": stretch, "corrected": bound})
    return made


MODULUS = (
    counterexample(
        "modulus-e1",
        "The sampled Gaussian in its smaller direction",
        source=(KEY, "Theorem 5.2 before simplification, (15) to (17)"),
        says=(
            "a Poisson step costs the divergence of N(0,1) from the mixture.",
            "both runs see a mixture, and that pair is worse.  Rate 0.001, shift 3, domain of "
            "length 20.  Corrected: the pair of two mixtures, one step.",
        ),
        rows=_direction,
        along=("order", "Renyi order"),
        of="Renyi divergence",
    ),
    counterexample(
        "modulus-e2",
        "Poisson batches are sometimes large",
        source=(KEY, "Theorem 5.2, equation (14)"),
        says=(
            "a step with a Poisson batch has the modulus of a step on b records.",
            "a batch of N records is a step N/b times as large.  Loss |x|, b = 1, step size 0.1.  "
            "Corrected: the modulus for batches of up to N records.",
        ),
        rows=_large_batches,
        along=("drawn", "records drawn, N"),
        of="distance of two close points after the step",
        logarithmic="",
    ),
    counterexample(
        "modulus-e3",
        "Weak smoothness on the domain only",
        source=(KEY, "equation (2), Corollary 3.7"),
        says=(
            "a convex function that is weakly smooth on the domain has the modulus (2).",
            "the proof leaves the domain.  A quadratic on [0,1] x [-w,w] with p = 1/2, one step "
            "with noise 0.02.  Corrected: the modulus that uses the Hoelder bound alone.",
        ),
        rows=_flat_box,
        along=("width", "half width w of the box"),
        of="Kullback-Leibler divergence of one step",
    ),
    counterexample(
        "modulus-e4",
        "The test for an admissible delta passes where the bound does not hold",
        source=(KEY, "equation (23)"),
        says=(
            "ln(1/delta) <= 6.25 A ln^2(n/b) makes the order used for delta admissible.",
            "an algebra slip: the order is then far beyond the largest admissible one, and the "
            "sampling term at it is too small.  A = 1, L = 10, b = 1, n = 100.  Corrected: with "
            "the shift of E8.",
        ),
        rows=_condition_on_delta,
        along=("log_delta", "log10 of delta"),
        of="Renyi divergence of one sampled step",
        logarithmic="y",
        columns={
            "order": "the order that (22) uses for this delta",
            "largest_order": "the largest admissible order",
        },
    ),
    counterexample(
        "modulus-e5",
        "A constant of the contraction bound",
        source=(KEY, "equation (24)"),
        says=(
            "the derivation of asoodeh2023dpsgd, solved for epsilon, contains D L/eta.",
            "2 D L/eta.  Here `exact` is the epsilon at which the derivation itself reaches the "
            "target delta, by inverting it; D = 2, eta = 0.5, L = 1, noise 2, rate 0.1.",
        ),
        rows=_contraction,
        along=("log_delta", "log10 of the target delta"),
        of="epsilon",
        logarithmic="",
    ),
    counterexample(
        "modulus-e6",
        "One step can spread points",
        source=(KEY, "Lemma C.1"),
        says=(
            "the total variation after one step is at most sqrt(1 - exp(-D^2/(4 eta))).",
            "that forgets the distance the step adds.  Loss |x| on an interval of length one.  "
            "Corrected: two Gaussians sqrt(D^2 + 4 eta^2 L^2) apart.",
        ),
        rows=_one_step,
        along=("step_size", "step size"),
        of="total variation after one step",
        logarithmic="x",
    ),
    counterexample(
        "modulus-e8",
        "A batch of fixed size moves by two records",
        source=(KEY, "proof of Theorem 5.4"),
        says=(
            "drawing a record into a batch of fixed size shifts the step by L/b.",
            "it takes another's place, so by 2 L/b.  One record of ten, noise one.  (The printed "
            "constant 52 of the theorem survives.)",
        ),
        rows=_fixed_size,
        along=("order", "Renyi order"),
        of="Renyi divergence of one step",
    ),
    counterexample(
        "modulus-e11",
        "A sum of weakly smooth losses is not as smooth as one",
        source=(KEY, "Section 4"),
        says=(
            "a sum of (p, M)-weakly smooth losses has the modulus of one of them.",
            "only their average has; the sum has n times the constant.  Losses |x|, step size 0.2.",
        ),
        rows=_sums,
        along=("losses", "losses in the sum"),
        of="distance of two close points after the step",
    ),
    counterexample(
        "modulus-e12",
        "Clipping may destroy convexity",
        source=(KEY, "Section 5.2"),
        says=(
            "the modulus stays the same under clipping.  (True of the nonconvex modulus, for which "
            "it is said, and false of the convex ones.)",
            "the clipped gradient of a convex quadratic expands.  Corrected: the exact constant of "
            "a clipped step.",
        ),
        rows=_clipped,
        along=("flattest", "smallest eigenvalue of the Hessian, the largest being one"),
        of="Lipschitz constant of the step",
        logarithmic="x",
    ),
)
