"""Log-Sobolev constants and what follows from them, step by step in forty digits."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from runs import make_run
from wane.describe import Adjacency, Cyclic, FactKind, GradientNoise, Objective, Phase, Schedule
from wane.describe.domains import MCP, Ridge
from wane.errors import InvalidDescription, Unreachable
from wane.theorems.log_sobolev.dynamics import (
    LangevinStep,
    composition,
    contraction_gap,
    fixed_split,
    langevin_mu,
    log_one_minus,
    optimal_split,
    quadratic_law,
    settled_constant,
    settling,
    strongly_convex,
    strongly_convex_fixed_start,
    tracked_bound,
    tracked_spread,
    warm_start,
)
from wane.theorems.log_sobolev.spread import tracked_log_sobolev

mp = mpmath.mp.clone()
mp.dps = 40
ETA, STD, M, RIDGE = 0.3, 0.7, 0.25, 0.2
BENT = Objective(gradient_bound=1.0, smoothness=M)
ROUND = Objective(gradient_bound=1.0, smoothness=M, strong_convexity=0.0, ridge=RIDGE)
FLAT = replace(ROUND, ridge=0.0)
EXPANDING, SHRINKING = MCP(weight=1.0, shape=4.0), Ridge(0.3)


def run(**changes):
    base = {"records": 5, "steps": 4, "step_size": ETA, "noise": GradientNoise(STD)}
    return make_run(**(base | changes))


def steepest(losses, adjacency):
    """The Lipschitz constant of a step, over the numbers of records that data sets may have."""
    sizes = {Adjacency.REPLACE_ONE: (5,), Adjacency.ZERO_OUT: (5, 4), Adjacency.ADD_REMOVE: (4, 6)}
    if losses.strong_convexity is None:
        return 1 + mp.mpf(ETA) * mp.mpf(M) * max(sizes[adjacency]) / 5
    return 1 - mp.mpf(ETA) * mp.mpf(losses.ridge)


def widest(losses, adjacency, prox, steps, start):
    """The largest B_j, one step after the other."""
    L, fresh = steepest(losses, adjacency), (mp.mpf(ETA) * mp.mpf(STD)) ** 2
    spread = L**2 * mp.mpf(start) + fresh
    found = [spread]
    for _ in range(steps - 1):
        spread = (prox * L) ** 2 * spread + fresh
        found.append(spread)
    return max(found)


PROXES = {
    None: mp.mpf(1),
    SHRINKING: 1 / (1 + mp.mpf(ETA) * mp.mpf("0.3")),
    EXPANDING: 1 / (1 - mp.mpf(ETA) / 4),
}


@pytest.mark.parametrize("losses", [BENT, ROUND, FLAT])
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("domain", PROXES)
@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.parametrize("start", [0.0, 5.0])
def test_the_widest_law_of_a_run(losses, adjacency, domain, steps, start):
    where = {} if domain is None else {"domain": domain}
    described = run(objective=losses, adjacency=adjacency, steps=steps, **where)
    fact = tracked_log_sobolev(described, start_spread=start)
    assert fact.kind is FactKind.LOG_SOBOLEV
    exact = 1 / widest(losses, adjacency, PROXES[domain], steps, start)
    assert exact * (1 - mp.mpf("1e-10")) <= fact.value <= exact


@pytest.mark.parametrize(
    ("adjacency", "least"),
    [(Adjacency.REPLACE_ONE, 5), (Adjacency.ZERO_OUT, 4), (Adjacency.ADD_REMOVE, 4)],
)
def test_strongly_convex_losses_contract_least_with_a_record_less(adjacency, least):
    """The law of the data set with fewer records is the widest of all."""
    curved = Objective(gradient_difference_bound=1.0, smoothness=M, strong_convexity=0.2)
    made = tracked_log_sobolev(run(objective=curved, adjacency=adjacency, steps=9))
    square = (1 - mp.mpf(ETA) * mp.mpf(0.2) * least / 5) ** 2
    exact = (mp.mpf(ETA) * mp.mpf(STD)) ** 2 * (1 - square**9) / (1 - square)
    assert exact <= 1 / mp.mpf(made.value) <= exact * (1 + mp.mpf("1e-11"))


@pytest.mark.parametrize("steps", [300, 1000])
def test_spreads_of_long_runs_are_not_rounded_down(steps):
    """Exponents of some hundred lose digits."""
    for n in range(40):
        eta = 0.2 + 0.01 * n
        made = tracked_log_sobolev(run(objective=BENT, step_size=eta, steps=steps))
        square, fresh = (1 + mp.mpf(eta) * mp.mpf(M)) ** 2, (mp.mpf(eta) * mp.mpf(STD)) ** 2
        exact = fresh * (square**steps - 1) / (square - 1)
        assert exact <= 1 / mp.mpf(made.value) <= exact * (1 + mp.mpf("1e-11"))


def test_only_equal_full_batches_with_noise_are_tracked():
    phases = [Phase(2, ETA, GradientNoise(STD)), Phase(2, 0.5, GradientNoise(STD))]
    for wrong, words in (
        (make_run(records=5, schedule=Schedule(phases)), "equal steps"),
        (run(batches=Cyclic(5)), "full batches"),
        (run(batches=Cyclic(1)), "full batches"),
        (run(noise=GradientNoise(0.0)), "noise"),
        (run(objective=Objective(gradient_bound=1.0)), "smoothness"),
        (run(domain=MCP(weight=1.0, shape=0.2)), "prox"),
    ):
        with pytest.raises(InvalidDescription, match=words):
            tracked_log_sobolev(wrong)
    for start in (-1.0, -1e-9, math.nan):
        with pytest.raises(InvalidDescription, match="start_spread"):
            tracked_log_sobolev(run(), start_spread=start)


def test_a_spread_that_leaves_the_range_of_doubles_is_refused():
    with pytest.raises(Unreachable, match="spread"):
        tracked_log_sobolev(run(objective=BENT, steps=10_000))
    with pytest.raises(Unreachable, match="spread"):
        tracked_log_sobolev(run(noise=GradientNoise(1e-200)))


# the dynamics


@pytest.mark.parametrize("order", [1.0 + 1e-12, 1.5, 2.0, 30.0])
@pytest.mark.parametrize("split", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("time", [1e-3, 2.0, 60.0])
def test_a_warm_start_fades_at_an_order_that_sinks(order, split, time):
    """Against a Gaussian start, whose divergence grows in proportion to the order."""
    S, tau, k, rho0 = 0.4, 0.5, 0.7, 0.3
    found = warm_start(
        order,
        lambda b: rho0 * b * (1.0 + 1e-15),
        gradient_sensitivity=S,
        temperature=tau,
        time=time,
        constant=k,
        split=split,
    )
    g, a = mp.mpf(split), mp.mpf(order)
    x = 2 * (1 - g) * mp.mpf(tau) * mp.mpf(k) * mp.mpf(time)
    share = (1 - mp.exp(-x)) / x if x else mp.mpf(1)
    rho = mp.mpf(S) ** 2 * mp.mpf(time) / (4 * g * mp.mpf(tau)) * share
    exact = a * (rho + mp.exp(-x) * mp.mpf(rho0))
    assert exact <= found <= exact * (1 + mp.mpf("1e-13"))


def test_a_start_that_is_only_finite_at_low_orders_is_asked_below_them():
    """After long the order at which the start is asked sinks to one, where it is still finite."""
    known = {"gradient_sensitivity": 0.0, "temperature": 1.0, "constant": 1.0, "split": 0.5}
    found = warm_start(9.0, lambda b: 1.0 if b < 1.5 else math.inf, time=5.0, **known)
    exact = 9 * mp.exp(-5) / (1 + 8 * mp.exp(-5))
    assert exact <= found <= exact * (1 + mp.mpf("1e-13"))
    assert warm_start(9.0, lambda b: 1.0 if b < 1.5 else math.inf, time=0.1, **known) == math.inf
    assert warm_start(9.0, lambda _: 0.0, time=0.1, **known) == 0.0
    assert warm_start(9.0, lambda _: 1.0, time=1e6, **known) > 0.0
    for order in (1.0, 0.5):
        with pytest.raises(InvalidDescription, match="order"):
            warm_start(order, lambda _: 0.0, time=0.1, **known)


@pytest.mark.parametrize("m", [0.0, 1e-12, 0.4, 30.0])
def test_langevin_dynamics_in_forty_digits(m):
    S, tau, T = 0.3, 0.7, 2.5
    found = langevin_mu(gradient_sensitivity=S, strong_convexity=m, temperature=tau, time=T)
    y = mp.mpf(m) * mp.mpf(T) / 2
    squared = mp.mpf(S) ** 2 * mp.mpf(T) / (2 * mp.mpf(tau)) * (mp.tanh(y) / y if y else 1)
    exact = mp.sqrt(squared)
    assert exact <= found <= exact * (1 + mp.mpf("1e-13"))
    still = langevin_mu(gradient_sensitivity=S, strong_convexity=m, temperature=tau, time=0.0)
    assert still == 0.0


@pytest.mark.parametrize("eta", [0.1, 0.9, 1.0, 1.3, 1.9])
@pytest.mark.parametrize("steps", [1, 2, 3, 50])
@pytest.mark.parametrize("start", [0.0, 0.8])
@pytest.mark.parametrize("m", [1.0, 0.5])
def test_an_isotropic_quadratic_step_by_step(eta, steps, start, m):
    """Means and variances of both chains, by their recursions."""
    S, tau = 0.6, 0.4
    mean, variance, c = mp.mpf(0), mp.mpf(start), 1 - mp.mpf(eta) * m
    for _ in range(steps):
        mean = c * mean + mp.mpf(eta) * mp.mpf(S)
        variance = c**2 * variance + 2 * mp.mpf(eta) * mp.mpf(tau)
    exact = mean**2 / variance / 2
    known = {"gradient_sensitivity": S, "curvature": m, "temperature": tau, "step_size": eta}
    found = quadratic_law(**known, steps=steps, start_variance=start)
    assert exact <= found <= exact * (1 + mp.mpf("1e-12"))
    assert quadratic_law(**known, steps=0, start_variance=start) == 0.0
    assert quadratic_law(**known, steps=steps) >= found, "from a point, if nothing is said"
    assert quadratic_law(**known, steps=steps) == quadratic_law(
        **known, steps=steps, start_variance=0.0
    )
    with pytest.raises(InvalidDescription, match="steps"):
        quadratic_law(**known, steps=-1)


def test_no_sensitivity_of_about_one_leaks_nothing():
    """Whatever its last digits are."""
    known = {"curvature": 1.0, "temperature": 1.0, "step_size": 1.0, "steps": 1}
    for ulps in range(-200, 10):
        S = 1.0 + ulps * 2.0**-53
        assert quadratic_law(gradient_sensitivity=S, **known) >= S * S / 4.0 * (1 - 1e-15)
    assert quadratic_law(gradient_sensitivity=0.0, **known) == 0.0


def exact_tracking(steps, start):
    """Theorem B in forty digits: the spread and rho after each step."""
    V, rho = mp.mpf(start), mp.mpf(0)
    for step in steps:
        L, S, tau, eta = map(
            mp.mpf, (step.lipschitz, step.gradient_sensitivity, step.temperature, step.step_size)
        )
        for _ in range(step.repeat):
            W = L**2 * V
            A = mp.sqrt(2 * rho * W)
            if 2 * tau * A >= S * W:
                rho = (A + S * eta) ** 2 / (2 * (W + 2 * tau * eta))
            else:
                rho = rho + S**2 * eta / (4 * tau)
            V = W + 2 * eta * tau
    return V, rho


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("start", [0.0, 0.4])
def test_tracked_bounds_in_forty_digits(seed, start):
    draw = np.random.default_rng(seed)
    steps = [
        LangevinStep(
            lipschitz=float(draw.choice([0.0, 0.5, 1.0, 1.2])),
            gradient_sensitivity=float(draw.choice([0.0, 0.3, 1.1])),
            temperature=float(draw.uniform(0.1, 2.0)),
            step_size=float(draw.uniform(0.05, 1.0)),
            repeat=int(draw.integers(1, 4)),
        )
        for _ in range(5)
    ]
    V, rho = exact_tracking(steps, start)
    assert V <= tracked_spread(steps, start_spread=start) <= V * (1 + mp.mpf("1e-13"))
    assert rho <= tracked_bound(steps, start_spread=start) <= rho * (1 + mp.mpf("1e-12"))


def test_tracking_at_its_ends():
    still = LangevinStep(1.0, 0.0, 0.5, 0.5)
    assert still.repeat == 1
    assert tracked_bound([still]) == 0.0, "without a difference nothing leaks"
    assert tracked_bound([still], start_spread=1.0) == 0.0
    moved = LangevinStep(1.0, 0.4, 0.5, 0.5)
    unknown = tracked_bound([moved, moved], start_spread=math.inf)
    assert unknown == pytest.approx(2 * 0.4**2 * 0.5 / (4 * 0.5), rel=1e-13)
    wiped = LangevinStep(0.0, 0.0, 0.5, 0.5)
    assert tracked_bound([moved, wiped]) == 0.0, "a constant map forgets"
    assert tracked_bound([LangevinStep(1.0, 1e-200, 0.5, 0.5)]) >= 1e-300
    assert tracked_spread([LangevinStep(1e-200, 0.0, 0.5, 0.5)], start_spread=1e-10) > 0.5
    assert LangevinStep(1e-200, 0.0, 0.5, 0.5).stretched(1e-10) >= 1e-300
    assert tracked_spread([still]) == pytest.approx(0.5, rel=1e-14), "from a fixed start"
    for words, wrong in (
        ("^lipschitz must", {"lipschitz": -0.1}),
        ("^gradient_sensitivity must", {"gradient_sensitivity": -0.1}),
        ("^temperature must", {"temperature": 0.0}),
        ("^temperature must", {"temperature": -0.5}),
        ("^step_size must", {"step_size": -0.5}),
        ("^repeat must", {"repeat": 0}),
        ("units", {"temperature": 1e-150, "step_size": 1e-150}),
        ("units", {"temperature": 1e150, "step_size": 1e150}),
    ):
        with pytest.raises(InvalidDescription, match=words):
            replace(moved, **wrong)


def test_single_steps_are_not_rounded_down():
    draw = np.random.default_rng(3)
    for _ in range(400):
        S, tau, eta, start = 10.0 ** draw.uniform(-2, 2, 4)
        first = LangevinStep(0.9, float(S), float(tau), float(eta))
        later = LangevinStep(0.7, float(S) / 9.0, float(tau), float(eta))
        V, rho = exact_tracking([first, later], float(start))
        assert tracked_spread([first, later], start_spread=float(start)) >= V
        assert rho <= tracked_bound([first, later], start_spread=float(start))


def test_numbers_below_their_least_are_refused():
    known = {"gradient_sensitivity": 0.4, "temperature": 1.0, "time": 1.0}
    with pytest.raises(InvalidDescription, match="start_divergence"):
        warm_start(2.0, lambda _: -0.5, **known, constant=1.0, split=0.5)
    with pytest.raises(InvalidDescription, match="relative_time"):
        settling(-0.5)
    round_ = {"strong_convexity": 1.0, "smoothness": 1.0, "step_size": 0.1, "temperature": 1.0}
    for formula in (strongly_convex, strongly_convex_fixed_start):
        assert formula(gradient_sensitivity=0.4, steps=0, **round_) == 0.0
        with pytest.raises(InvalidDescription, match="steps"):
            formula(gradient_sensitivity=0.4, steps=-1, **round_)


# the formulas that need no tracking, with parameters of all sizes


def drawn(count):
    """S, tau, T, k, and m, M, eta of contracting steps, whose number is last."""
    draw = np.random.default_rng(11)
    for _ in range(count):
        S, tau, T, k, M = (10.0 ** draw.uniform(-3.0, 3.0, 5)).tolist()
        m, x = float(draw.uniform(0.0, 1.0)) * M, float(draw.choice([0.01, 0.3, 1.0, 1.9, 1.9999]))
        yield S, tau, T, k, m, M, x / M, int(draw.choice([1, 2, 30]))


def faded(x):
    """(1 - e^-x)/x."""
    return -mp.expm1(-x) / x if x else mp.mpf(1)


def no_less(found, exact):
    """Never rounded down, and right to twelve digits."""
    assert exact <= found <= exact * (1 + mp.mpf("1e-12"))


def test_formulas_of_time_in_forty_digits():
    for S, tau, T, k, *_ in drawn(150):
        known = {"gradient_sensitivity": S, "temperature": tau, "time": T}
        a, b, c, d = map(mp.mpf, (S, tau, T, k))
        no_less(composition(**known), a**2 * c / (4 * b))
        for split in (0.3, 1.0):
            g = mp.mpf(split)
            x = 2 * (1 - g) * b * d * c
            no_less(
                fixed_split(**known, constant=k, split=split), a**2 * c / (4 * b * g) * faded(x)
            )
        t = b * d * c
        settled = t / 2 if 2 * t <= 1 else (1 - mp.exp(mp.mpf(0.5) - t) / 2) ** 2
        no_less(optimal_split(**known, constant=k), a**2 / (2 * d * b**2) * settled)
        if t < 1e3:
            no_less(settling(float(t)), settled * (1 - mp.mpf("1e-15")) ** 3)


def test_formulas_of_steps_in_forty_digits():
    for S, tau, _, _, m, M, eta, steps in drawn(150):
        a, b, h, low, high = map(mp.mpf, (S, tau, eta, m, M))
        gap = min(h * low, 2 - h * high)
        assert contraction_gap(eta, m, M) == min(
            Fraction(eta) * Fraction(m), 2 - Fraction(eta) * Fraction(M)
        )
        no_less(-log_one_minus(contraction_gap(eta, m, M)) * (1 + 1e-15), -mp.log1p(-gap))
        q = gap * (2 - gap) / h
        curved = {"strong_convexity": m, "smoothness": M, "temperature": tau, "step_size": eta}
        for spread in (0.0, 1e-3, 10.0):
            kept = min(q / (2 * b), 1 / mp.mpf(spread)) if spread else q / (2 * b)
            found = settled_constant(**curved, start_spread=spread)
            assert kept * (1 - mp.mpf("1e-12")) <= found <= kept
        assert settled_constant(**curved) == settled_constant(**curved, start_spread=0.0)
        known = {"gradient_sensitivity": S, "steps": steps, **curved}
        T = h * steps
        no_less(strongly_convex_fixed_start(**known), a**2 * T / (2 * b) * faded(q * T / 2))
        if h * (low + high) <= 2:
            no_less(strongly_convex(**known), a**2 * T / (2 * b) * faded(low * T / 2))
        fixed = {"gradient_sensitivity": S, "temperature": tau, "time": float(T)}
        y = low * mp.mpf(fixed["time"]) / 2
        mu = mp.sqrt(a**2 * mp.mpf(fixed["time"]) / (2 * b) * mp.tanh(y) / y)
        no_less(langevin_mu(**fixed, strong_convexity=m), mu)


def test_spreads_of_single_steps_are_not_rounded_down():
    draw = np.random.default_rng(5)
    for _ in range(300):
        tau, eta, start = (10.0 ** draw.uniform(-2, 2, 3)).tolist()
        step = LangevinStep(float(draw.uniform(0.1, 1.0)), 1.0, tau, eta)
        exact = mp.mpf(step.lipschitz) ** 2 * mp.mpf(start) + 2 * mp.mpf(eta) * mp.mpf(tau)
        stretched = Fraction(step.lipschitz) ** 2 * Fraction(start)
        assert stretched <= Fraction(step.stretched(start))
        assert exact <= step.noisy(start) <= exact * (1 + mp.mpf("1e-14"))
        assert step.noisy(0.0) >= 2 * mp.mpf(eta) * mp.mpf(tau)


def test_what_leaked_before_a_step_without_the_record_is_kept():
    """Where nothing is known of the law a step without a difference forgets nothing."""
    moved, idle = LangevinStep(1.0, 0.4, 0.5, 0.5), LangevinStep(1.0, 0.0, 0.5, 0.5)
    both = tracked_bound([moved, idle], start_spread=math.inf)
    assert both == tracked_bound([moved], start_spread=math.inf) > 0.0


def test_equal_starts_leak_what_the_steps_do():
    known = {"gradient_sensitivity": 0.4, "temperature": 1.0, "time": 1.0}
    found = warm_start(3.0, lambda _: 0.0, **known, constant=1.0, split=0.5)
    no_less(found, 3 * mp.mpf(0.4) ** 2 / 2 * faded(mp.mpf(1)))


@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("step_size", (0.0, 1.0, 1.0)),
        ("step_size", (-0.5, 1.0, 1.0)),
        ("step_size", (2.0, 1.0, 1.0)),
        ("strong_convexity", (0.1, 0.0, 1.0)),
        ("strong_convexity", (0.1, -0.5, 1.0)),
        ("smoothness", (0.1, 1.0, -0.5)),
        ("strong_convexity", (0.1, 1.5, 1.0)),
        ("step_size", (1e-290, 1.0, 1.0)),
    ],
)
def test_steps_that_are_no_contraction_are_refused(word, wrong):
    with pytest.raises(InvalidDescription, match=word):
        contraction_gap(*wrong)


@pytest.mark.parametrize(
    "wrong", [{"temperature": 0.0}, {"temperature": -0.5}, {"time": -0.5}, {"constant": -0.5}]
)
def test_times_and_temperatures_below_zero_are_refused(wrong):
    known = {"gradient_sensitivity": 0.4, "temperature": 1.0, "time": 1.0, "constant": 1.0}
    with pytest.raises(InvalidDescription, match=next(iter(wrong))):
        optimal_split(**(known | wrong))


def test_the_longest_step_whose_formula_holds_and_the_longest_time():
    longest = {"strong_convexity": 0.5, "smoothness": 1.5, "step_size": 1.0, "steps": 3}
    known = {"gradient_sensitivity": 0.4, "temperature": 1.0, **longest}
    assert strongly_convex(**known) > 0.0, "2/(m + M) itself"
    with pytest.raises(InvalidDescription, match="step_size"):
        strongly_convex(**(known | {"step_size": 1.001}))
    assert settling(1e3) == 1.0, "no more than its limit"
    assert LangevinStep(1.0, 0.4, 0.5, 0.5).stretched(0.0) == 0.0, "a point stays one"
    times = {"gradient_sensitivity": 0.4, "temperature": 1.0, "time": 1.0}
    with pytest.raises(InvalidDescription, match="strong_convexity"):
        langevin_mu(**times, strong_convexity=-0.5)
    curved = {"temperature": 1.0, "step_size": 0.1}
    with pytest.raises(InvalidDescription, match="start_spread"):
        settled_constant(strong_convexity=1.0, smoothness=1.0, start_spread=-0.5, **curved)
    with pytest.raises(InvalidDescription, match="start_variance"):
        quadratic_law(
            gradient_sensitivity=0.4, curvature=1.0, steps=2, start_variance=-0.5, **curved
        )
    with pytest.raises(InvalidDescription, match="gradient_sensitivity"):
        composition(**(times | {"gradient_sensitivity": -0.5}))
    with pytest.raises(InvalidDescription, match="step_size"):
        strongly_convex(**(known | {"step_size": -0.5}))
    for split in (0.0, -0.5, 1.5):
        with pytest.raises(InvalidDescription, match="split"):
            fixed_split(**times, constant=1.0, split=split)


def test_no_law_is_narrower_than_its_last_noise():
    """A constant that says so is refused by whoever verifies."""
    pytest.importorskip("flint")
    from wane.balls.arithmetic import PRECISION, bits
    from wane.theorems.log_sobolev.verifier import log_sobolev_dynamics

    variance = (ETA * STD) ** 2
    with bits(PRECISION):
        assert log_sobolev_dynamics(run(), 0.999 / variance) is not None
        for narrower in (1.01, 1.5, 2.5):
            assert log_sobolev_dynamics(run(), narrower / variance) is None
