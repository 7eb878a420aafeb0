"""Statements found false, each failing against an exact value while the certificate holds.

The numbering E1, E2, ... is that of docs/errata/cyclic.md.
"""

import math

import numpy as np
import pytest
from vectors import TEN_DIGITS, load

from wane import certify, losses, mu_by_position
from wane.describe import Cyclic, IterateNoise, LossForm, NoisyDescent, Objective
from wane.describe.domains import Ridge
from wane.theorems.lemmas import lipschitz as facts

COUNTEREXAMPLES = load("cyclic_and_clipping")["counterexample"]


def fading(c: float, r: int) -> float:
    """Exact squared mu of one unit shift followed by unit noise in r steps that stretch by c."""
    return c ** (2 * (r - 1)) / sum(c ** (2 * j) for j in range(r))


def clipped_cyclic(lam: float, m: float, M: float, period: int, **changes) -> NoisyDescent:
    """One epoch of batches of one record, unit shift over unit noise."""
    fields = {
        "objective": Objective(
            gradient_bound=1.0, smoothness=M, strong_convexity=m, clipped=True, dimension=2
        ),
        "records": period,
        "steps": period,
        "step_size": lam,
        "noise": IterateNoise(2 * lam),
        "batches": Cyclic(1),
    }
    return NoisyDescent(**(fields | changes))


@pytest.mark.parametrize("case", COUNTEREXAMPLES["CE2"], ids=lambda c: f"l={c['l']}")
def test_e1_record_of_the_last_batch_is_not_amplified(case):
    """Linear losses with a ridge prox: the last record is seen through one step of noise."""
    q, period = case["q"], case["l"]
    exact = (1 - q**2) / (1 - q ** (2 * period))  # all steps' noise, the last record's shift
    printed = 2 / period  # equation (22)
    assert exact / printed == pytest.approx(case["ratio"], rel=TEN_DIGITS)
    run = clipped_cyclic(
        1.0,
        0.0,
        0.0,
        period,
        objective=Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0),
        domain=Ridge(1 / q - 1),
    )
    assert exact <= certify(run).mu ** 2 == pytest.approx(1.0, rel=1e-12)


def test_e2_a_clipped_convex_step_can_expand():
    """CE1: f = x1^2/2 + 1.001 (4 x1 + 3 x2)/5, threshold 1, step 1/2."""

    def step(x: np.ndarray) -> np.ndarray:
        g = np.array([x[0], 0.0]) + 1.001 * np.array([0.8, 0.6])
        return x - 0.5 * g / max(1.0, float(np.linalg.norm(g)))

    rng = np.random.default_rng(0)
    pairs = rng.normal(scale=1e-4, size=(2000, 2, 2))
    stretch = max(np.linalg.norm(step(a) - step(b)) / np.linalg.norm(a - b) for a, b in pairs)
    assert stretch > 1.06, "the printed constant for this step is 1"
    certified = math.exp(facts.log_clipped_lipschitz(np.array([0.5]), 0.0, 1.0).item())
    assert certified == pytest.approx(COUNTEREXAMPLES["CE1_sup"], rel=TEN_DIGITS)
    assert certified >= stretch


@pytest.mark.parametrize("case", COUNTEREXAMPLES["CE3"], ids=lambda c: f"l={c['l']}")
def test_e3_clipping_alone_breaks_the_printed_bound(case):
    """Four mirrored record types give a convex batch an unstable mode: the first shift grows."""
    exact = fading(1 + 0.5 / (8 * 1.01), case["l"])
    printed = 2 / case["l"]  # equation (22), record of the first batch
    assert exact / printed == pytest.approx(case["ratio"], rel=TEN_DIGITS)
    run = clipped_cyclic(0.5, 0.0, 1.0, case["l"])
    first = mu_by_position(run)[0] ** 2
    assert exact <= first
    assert exact <= certify(run).mu ** 2


def test_e3_weakly_convex():
    """CE5: m = 0.01, M = 1, step 0.495, 200 batches."""
    case = COUNTEREXAMPLES["CE5"]
    claimed_constant = math.sqrt(
        1 + 2 * case["lam"] * case["m"] * (1 + case["m"] / (1 + case["m"]))
    )
    exact = case["ratio"] * 2 * fading(claimed_constant, case["l"])
    run = clipped_cyclic(case["lam"], -case["m"], 1.0, case["l"])
    assert exact <= mu_by_position(run)[0] ** 2
    assert 2 * fading(claimed_constant, case["l"]) < exact


@pytest.mark.parametrize("steps", [3, 20, 100])
def test_noise_contracts_too(steps):
    """Summing contracted sensitivities over uncontracted noise gives a quarter of the truth."""
    c = 0.9
    exact = (1 - c**steps) / (1 + c**steps) * (1 + c) / (1 - c)
    trap = sum(c ** (2 * t) for t in range(steps))
    assert trap < exact
    run = NoisyDescent(
        objective=Objective(gradient_difference_bound=2.0, smoothness=0.1, strong_convexity=0.1),
        records=1,
        steps=steps,
        step_size=1.0,
        noise=IterateNoise(2.0),
    )
    assert certify(run).mu ** 2 == pytest.approx(exact, rel=1e-12)
    assert certify(run).mu ** 2 >= exact


def test_softmax_clipping_gets_no_convex_claim():
    """Clipped softmax is not monotone: the step expands, and only a GLM keeps its constant."""
    soft = losses.softmax(1.0)
    clipped = Objective(
        gradient_bound=0.3, smoothness=soft.smoothness, strong_convexity=0.0, clipped=True
    )
    eta = np.array([1.0])

    def constant(objective: Objective) -> float:
        run = clipped_cyclic(1.0, 0.0, 0.5, 10, objective=objective)
        return math.exp(facts.log_step_lipschitz(run, eta).item())

    p, y = np.array([0.01, 0.8, 0.19]), np.array([1.0, 0.0, 0.0])
    H, g = np.diag(p) - np.outer(p, p), p - y
    P = np.eye(3) - np.outer(g, g) / (g @ g)
    expansion = np.linalg.norm(np.eye(3) - P @ H, 2)
    assert expansion > 1.0097
    assert constant(clipped) >= expansion
    assert constant(soft) == 1.0
    as_glm = Objective(
        gradient_bound=0.3, smoothness=0.5, strong_convexity=0.0, clipped=True, form=LossForm.GLM
    )
    assert constant(as_glm) == 1.0


def test_expansive_runs_do_not_overflow_to_perfect_privacy():
    """Two visits 9000 expanding steps apart: the plain recursion returns mu = 0."""
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, smoothness=0.1, strong_convexity=-0.1),
        records=9000,
        steps=18_000,
        step_size=1.0,
        noise=IterateNoise(2.0),
        batches=Cyclic(1),
    )
    first = mu_by_position(run)[0] ** 2
    assert first == pytest.approx(2 * (1 - 1.1**-2), rel=1e-9)
    assert first == pytest.approx(0.3471, abs=1e-4)


def test_a_vanishing_guarantee_is_never_zero():
    run = NoisyDescent(
        objective=Objective(gradient_difference_bound=2.0, smoothness=0.5, strong_convexity=0.5),
        records=3000,
        steps=3000,
        step_size=1.0,
        noise=IterateNoise(2.0),
        batches=Cyclic(1),
    )
    assert mu_by_position(run)[0] > 0


def test_a_zero_constant_does_not_hide_a_record():
    """One step with Lipschitz constant zero once gave NaN, which `max` overlooked: 0.28 for 20."""
    from wane.describe import GradientNoise, Iterates, Phase, Schedule

    noises = [(0.1, 10.0, False), (0.1, 10.0, False), (0.5, 10.0, True)]
    noises += [(0.1, 10.0, False), (0.1, 10.0, False), (0.1, 0.1, False)]
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0, ridge=2.0),
        records=3,
        schedule=Schedule([Phase(1, eta, GradientNoise(s), cool) for eta, s, cool in noises]),
        batches=Cyclic(1),
        release=Iterates((1,)),
    )
    assert certify(run).mu == pytest.approx(20.0, rel=1e-3)


def test_a_noiseless_phase_is_covered_by_later_noise():
    """A phase without noise once made composition NaN and the whole certificate fail."""
    from wane.describe import GradientNoise, Phase, Schedule

    phases = [Phase(2, 0.5, GradientNoise(0.0)), Phase(4, 0.5, GradientNoise(1.0))]
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
        records=10,
        schedule=Schedule(phases),
        batches=Cyclic(5),
    )
    verdicts = {v.analysis.name: v.guarantee.mu for v in certify(run).applicable}
    assert math.isinf(verdicts["gaussian_composition"])
    assert 0 < verdicts["last_iterate"] < math.inf


def test_long_expansion_then_contraction_is_not_rounded_down():
    """A million steps out and a million back: offsets of 1e5 must not cost digits unnoticed."""
    from wane.theorems.lemmas.programme import constant_block, quiet_block

    n, x = 10**6, 0.1
    grown = constant_block(0.0, x, 0.0, n)
    back = grown.then(quiet_block(-x, 0.0, n))
    powers = (1 - math.exp(-2 * x * n)) / (1 - math.exp(-2 * x))
    truth = math.exp(-2 * x) / (powers * (1 + math.exp(-2 * x)))
    assert truth <= back.value <= truth * (1 + 1e-8)
