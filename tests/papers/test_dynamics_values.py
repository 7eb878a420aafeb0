"""Dynamics of noisy descent under a log-Sobolev inequality: reference values and properties."""

import math
import re
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings, strategies as st
from vectors import TEN_DIGITS, load

from wane import certify
from wane.audit.linear import exact_scalar_mu
from wane.describe import NoisyDescent, Objective
from wane.describe.choices import Adjacency
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, RenyiDP
from wane.planning import (
    descent_noise,
    excess_risk,
    output_perturbation_risk,
    plan_descent,
)
from wane.theorems.lemmas.programme import Block, Pool
from wane.theorems.log_sobolev import dynamics as lsi
from wane_papers.dynamics import printed

SHEET = load("dynamics_and_diffusion")
FIGURE = {"Sg": 4, "n": 5000, "sigma": 0.02, "eta": 0.02}


def table(name):
    return pytest.mark.parametrize("case", SHEET[name]["values"], ids=lambda c: str(c["in"]))


def close(value, rel=TEN_DIGITS):
    return pytest.approx(value, rel=rel, abs=0.0)


def diffusion(*, Sg, n, sigma, eta, K, **_):
    return {"gradient_sensitivity": Sg / n, "temperature": sigma**2, "time": eta * K}


def descent(*, Sg, n, sigma, eta, K, lam, beta=None, **_):
    return {
        "gradient_sensitivity": Sg / n,
        "temperature": sigma**2,
        "step_size": eta,
        "steps": K,
        "strong_convexity": lam,
        "smoothness": lam if beta is None else beta,
    }


def quadratic(**given):
    fields = descent(**given)
    del fields["smoothness"]
    return lsi.quadratic_law(curvature=fields.pop("strong_convexity"), **fields)


def block(c, s, v):
    def log(x):
        return math.log(x) if x > 0 else -math.inf

    return Block(0.0, log(s), log(v), log(c) if c > 0 else -1e5)


def pooled(steps, start=0.0):
    pool = Pool()
    if start > 0:
        pool.push(block(1.0, start, 0.0))
    for step in steps:
        pool.push(block(*step))
    return pool.mu_squared


def test_every_table_has_a_test():
    tables = {name for name in SHEET if name.startswith(("d1.", "gdp."))}
    assert {name for name in tables if f'"{name}"' not in Path(__file__).read_text()} == set()


@table("d1.composition")
def test_composition(case):
    rho = lsi.composition(**diffusion(**case["in"]))
    assert case["in"]["alpha"] * rho == close(case["out"])
    assert printed.composition(**case["in"]) == close(case["out"])


@table("d1.lemma2_rhs")
def test_rate(case):
    given = case["in"]
    S, tau, J = given["Sv"], given["sigma2"], given["J"]
    best = given["alpha"] * (S * math.sqrt(J) - tau * J)
    assert [printed.rate(**given), best] == close(case["out"])
    split = S / (2 * tau * math.sqrt(J))
    assert printed.rate(**(given | {"gamma": split})) == pytest.approx(best, abs=1e-14)


@table("d1.thm1")
def test_composition_in_continuous_time(case):
    given = case["in"]
    rho = lsi.composition(
        gradient_sensitivity=given["Sv"], temperature=given["sigma2"], time=given["T"]
    )
    assert given["alpha"] * rho == close(case["out"])


@table("d1.lemma3")
def test_log_sobolev_inequality_for_gaussians(case):
    """R + a(a-1) dR/da <= a^2 J/(2k), k = 1/v2, with R and J of two Gaussians."""
    a, m, v1, v2 = (case["in"][name] for name in ("alpha", "m", "v1", "v2"))
    mixed = a * v2 + (1 - a) * v1
    volume = math.log(mixed) - (1 - a) * math.log(v1) - a * math.log(v2)
    slope = (v2 - v1) / mixed + math.log(v1 / v2)
    R = a * m**2 / (2 * mixed) - volume / (2 * (a - 1))
    dR = m**2 / (2 * mixed) - a * m**2 * (v2 - v1) / (2 * mixed**2)
    dR += volume / (2 * (a - 1) ** 2) - slope / (2 * (a - 1))
    tilt = 1 / (a / v1 + (1 - a) / v2)
    k = 1 / v2 - 1 / v1
    J = tilt * k**2 + (tilt * a * m / v1 * k + m / v1) ** 2
    assert [R + a * (a - 1) * dR, a**2 * v2 / 2 * J] == close(case["out"])


@table("d1.thm2_eq66")
def test_fixed_split(case):
    given = case["in"]
    rho = lsi.fixed_split(**diffusion(**given), constant=given["c"], split=given["gamma"])
    assert given["alpha"] * rho == close(case["out"])
    assert printed.any_split(**given) == close(case["out"])


@table("d1.thm2_opt")
def test_optimal_split(case):
    given = case["in"]
    rho = lsi.optimal_split(**diffusion(**given), constant=given["c"])
    assert given["alpha"] * rho == close(case["out"])
    assert rho <= printed.log_sobolev(**(given | {"alpha": 1.0})) * (1 + 1e-13)


@table("d1.h")
def test_settling(case):
    assert lsi.settling(case["in"]["tau"]) == close(case["out"])


@table("d1.best_fixed_gamma_value")
def test_best_fixed_split(case):
    tau = case["in"]["tau"]
    assert printed.best_fixed_split(tau) == close(case["out"])
    assert lsi.settling(tau) <= printed.best_fixed_split(tau) * (1 + 1e-13)


@table("d1.warm_start_eq59")
def test_warm_start(case):
    given = case["in"]
    found = lsi.warm_start(
        given["alpha"],
        lambda order: given["R0"],
        gradient_sensitivity=math.sqrt(2 * given["a2"]),
        temperature=1.0,
        time=given["T"],
        constant=given["a1"],
        split=0.5,
    )
    assert found == close(case["out"])


@table("d1.lemma89_V")
def test_tracked_spread(case):
    given = case["in"]
    slope = max(abs(1 - given["eta"] * given["lam"]), abs(1 - given["eta"] * given["beta"]))
    step = lsi.LangevinStep(slope, 0.0, given["sigma"] ** 2, given["eta"], repeat=given["K"])
    assert lsi.tracked_spread([step], start_spread=given["V0"]) == close(case["out"])


@table("d1.lsi_track")
def test_tracked_bound(case):
    steps = case["in"]["steps_L_S_sigma2_eta"]
    if isinstance(steps[0], str):
        steps = [[*steps[1], int(steps[0].split()[0])]]
    made = [lsi.LangevinStep(*step) for step in steps]
    assert lsi.tracked_bound(made, start_spread=case["in"]["V0"]) == close(case["out"])


@table("d1.lemma5_cl")
def test_settled_constant(case):
    lam, tau, eta = case["in"]["lam"], case["in"]["sigma"] ** 2, case["in"]["eta"]
    known = {
        "strong_convexity": lam,
        "smoothness": lam,
        "temperature": tau,
        "step_size": eta,
    }
    found = [lsi.settled_constant(**known, start_spread=2 * tau / lam)]
    found.append(lsi.settled_constant(**known))
    assert found == close(case["out"])


@table("d1.cor1")
def test_strongly_convex(case):
    given = case["in"]
    assert given["alpha"] * lsi.strongly_convex(**descent(**given)) == close(case["out"])
    assert printed.strongly_convex(**given) == close(case["out"])


@table("d1.thm3_exact")
def test_quadratic_law(case):
    given = case["in"]
    rho = quadratic(**given)
    assert given["alpha"] * rho == close(case["out"])
    shift, std = given["eta"] * given["Sg"] / given["n"], math.sqrt(2 * given["eta"])
    K, c = given["K"], 1 - given["eta"] * given["lam"]
    exact = exact_scalar_mu([c] * K, [shift] * K, [std * given["sigma"]] * K)
    assert 2 * rho == close(float(exact) ** 2, rel=1e-11)


@pytest.mark.parametrize(("eta", "K"), [(0.1, 7), (1.0, 3), (1.7, 4), (1.7, 5), (1e-9, 10)])
def test_quadratic_law_from_a_random_start(eta, K):
    """The paper's start has variance 2 sigma^2/lam; it hides a little."""
    sigma, lam = 0.3, 0.8
    given = {"Sg": 2, "n": 10, "sigma": sigma, "eta": eta, "K": K, "lam": lam}
    fields = descent(**given)
    del fields["smoothness"]
    curvature, spread = fields.pop("strong_convexity"), 2 * sigma**2 / lam
    found = lsi.quadratic_law(curvature=curvature, start_variance=spread, **fields)
    c, std = 1 - eta * lam, math.sqrt(2 * eta) * sigma
    stds = [math.sqrt(spread), *[std] * K]
    exact = float(exact_scalar_mu([0.0, *[c] * K], [0.0, *[eta * 0.2] * K], stds))
    assert 2 * found == close(exact**2, rel=1e-11)
    assert exact**2 / 2 <= lsi.strongly_convex_fixed_start(**descent(**given))


@table("d1.thm3_lower")
def test_printed_lower_bound(case):
    assert printed.quadratic_lower(**case["in"]) == close(case["out"])
    assert case["out"] <= case["in"]["alpha"] * quadratic(**case["in"], lam=1.0)


@table("d1.cor2")
def test_strongly_convex_fixed_start(case):
    given = case["in"]
    rho = lsi.strongly_convex_fixed_start(**descent(**given))
    assert given["alpha"] * rho == close(case["out"])
    if given["lam"] == 1.0:
        rest = {name: value for name, value in given.items() if name != "lam"}
        assert printed.quadratic(**rest) == close(case["out"])


@table("d1.figure2")
def test_figure_two(case):
    given = FIGURE | {"K": case["in"]["K"], "lam": 1.0}
    constant = lsi.settled_constant(
        strong_convexity=1.0, smoothness=1.0, temperature=0.02**2, step_size=0.02
    )
    found = [
        lsi.composition(**diffusion(**given)),
        lsi.strongly_convex_fixed_start(**descent(**given)),
        lsi.optimal_split(**diffusion(**given), constant=constant),
        quadratic(**given),
        printed.quadratic_lower(alpha=1.0, K=given["K"], **FIGURE),
    ]
    assert found == close(case["out"])


@table("d1.lemma6")
def test_excess_risk(case):
    given = case["in"]
    sharp = excess_risk(
        steps=given["K"],
        gradient_noise_std=math.sqrt(2 * given["sigma2"] / given["eta"]),
        strong_convexity=given["lam"],
        smoothness=given["beta"],
        dimension=given["d"],
        step_size=given["eta"],
        start_distance_squared=4 * given["L"] ** 2 / given["lam"] ** 2,
    )
    assert [printed.excess_risk(**given), sharp] == close(case["out"])


@table("d1.thm4_rdp")
def test_printed_design(case):
    given = case["in"]
    found = printed.design(**given)
    assert list(found) == close(case["out"])
    plan = plan_descent(
        mu=math.sqrt(2 * given["eps"] / given["alpha"]),
        sensitivity=2 * given["L"],
        strong_convexity=given["lam"],
        smoothness=given["beta"],
        dimension=given["d"],
        records=given["n"],
        step_size=found[0],
        start_distance_squared=4 * given["L"] ** 2 / given["lam"] ** 2,
    )
    assert 4 * plan.excess_risk < found[3]


@table("d1.thm4_dp")
def test_printed_design_with_delta(case):
    given = case["in"]
    found = printed.design_with_delta(**given)
    assert list(found) == close(case["out"])
    eta = given["lam"] / (2 * given["beta"] ** 2)
    noise = descent_noise(
        mu=GaussianDP.from_target(epsilon=given["eps"], delta=given["delta"]).mu,
        steps=math.ceil(found[1]),
        sensitivity=2 * given["L"],
        strong_convexity=given["lam"],
        smoothness=given["beta"],
        records=given["n"],
        step_size=eta,
    )
    assert 2.5 < found[0] / (noise.value**2 * eta / 2) < 6.0


@table("d1.opt_design")
def test_plan(case):
    given = case["in"]
    common = {
        "mu": given["mu"],
        "sensitivity": given["Sg"],
        "strong_convexity": given["lam"],
        "smoothness": given["beta"],
        "records": given["n"],
    }
    plan = plan_descent(
        **common,
        dimension=given["d"],
        step_size=given["eta"],
        start_distance_squared=given["D2"],
    )
    N, steps, risk, variance = case["out"]
    ceiling = descent_noise(**common, steps=math.ceil(steps), step_size=given["eta"])
    whole = output_perturbation_risk(**common, dimension=given["d"])
    assert whole == close(given["beta"] / 2 * N)
    assert [plan.ideal_steps, plan.ideal_risk] == close([steps, risk])
    assert ceiling.value**2 * given["eta"] / 2 == close(variance)
    assert plan.ideal_risk <= plan.excess_risk <= whole
    assert plan.steps in (math.floor(steps), math.ceil(steps))
    assert plan.excess_risk == close(
        excess_risk(
            steps=plan.steps,
            gradient_noise_std=plan.noise.value,
            strong_convexity=given["lam"],
            smoothness=given["beta"],
            dimension=given["d"],
            step_size=given["eta"],
            start_distance_squared=given["D2"],
        ),
        rel=1e-11,
    )
    c = 1 - given["eta"] * given["lam"]  # the quadratic attains the target
    eta, S = given["eta"], given["Sg"] / given["n"]
    K, std = plan.steps, given["eta"] * plan.noise.value
    reached = float(exact_scalar_mu([c] * K, [eta * S] * K, [std] * K))
    assert given["mu"] * (1 - 1e-11) <= reached <= given["mu"] * (1 + 1e-15)


@pytest.mark.parametrize("eta", [0.05, 0.4, 0.45])
def test_plans_are_certified_at_their_target(eta):
    """Also for steps above 2/(strong_convexity + smoothness), where the contraction turns."""
    objective = Objective(
        gradient_difference_bound=2.0, smoothness=4.0, strong_convexity=1.0, dimension=5
    )
    plan = plan_descent(
        mu=0.4,
        sensitivity=2.0,
        strong_convexity=1.0,
        smoothness=4.0,
        dimension=5,
        records=500,
        step_size=eta,
        start_distance_squared=2.0,
    )
    run = NoisyDescent(
        objective=objective, records=500, steps=plan.steps, step_size=eta, noise=plan.noise
    )
    assert run.adjacency is Adjacency.REPLACE_ONE
    assert certify(run).mu == pytest.approx(0.4, rel=1e-9)


@table("gdp.mu_noisy_gd")
def test_equal_steps(case):
    given = case["in"]
    step = (
        given["c"],
        given["eta"] * given["Sg"] / given["n"],
        2 * given["eta"] * given["sigma"] ** 2,
    )
    pool = Pool()
    pool.push(block(*step), given["K"])
    assert math.sqrt(pool.mu_squared) == close(case["out"])


@table("gdp.delta")
def test_delta(case):
    assert GaussianDP(case["in"]["mu"]).delta(case["in"]["eps"]) == close(case["out"])


@table("gdp.eps")
def test_epsilon(case):
    assert GaussianDP(case["in"]["mu"]).epsilon(case["in"]["delta"]) == close(case["out"])


@table("gdp.mu_from_eps_delta")
def test_mu_from_target(case):
    target = GaussianDP.from_target(epsilon=case["in"]["eps"], delta=case["in"]["delta"])
    assert target.mu == close(case["out"])


def schedule(text):
    """The sheet's notation: `n x (c,s,v)`, a list, or a cyclic run with a record's place."""
    if match := re.fullmatch(r"(\d+) x \((.*)\)", text):
        return [tuple(map(float, match[2].split(",")))] * int(match[1])
    if match := re.fullmatch(r"cyclic c=(\S+) l=(\d+) E=(\d+) (first|last)", text):
        c, length = float(match[1]), int(match[2])
        place = 0 if match[4] == "first" else length - 1
        return [(c, float(i == place), 1.0) for i in range(length)] * int(match[3])
    found = re.findall(r"\(([^()]*)\)", text)
    return [tuple(map(float, step.split(","))) for step in found]


@table("gdp.pav_mu2")
def test_pooling(case):
    assert pooled(schedule(case["in"]["steps"])) == close(case["out"])


@table("gdp.pav_mu2_bounded")
def test_pooling_with_a_diameter(case):
    steps, D = schedule(case["in"]["steps"]), case["in"]["D"]
    tails = [pooled(steps[m:], D) for m in range(len(steps) - 1, -1, -1)]
    assert min(pooled(steps), *tails) == close(case["out"])


@table("gdp.langevin_mu2")
def test_langevin(case):
    given = case["in"]
    mu = lsi.langevin_mu(
        gradient_sensitivity=given["S"],
        strong_convexity=given["lam"],
        temperature=given["sigma"] ** 2,
        time=given["T"],
    )
    assert mu**2 == close(case["out"])


def test_edges():
    known = {"gradient_sensitivity": 1.0, "temperature": 1.0, "time": 1.0}
    assert lsi.settling(0.0) == 0.0
    assert lsi.composition(**(known | {"time": 0.0})) == 0.0
    assert quadratic(**FIGURE, K=0, lam=1.0) == 0.0
    assert pooled([(1.0, 1.0, 0.0)]) == math.inf
    assert pooled([(1.0, 1.0, 0.0), (0.5, 0.0, 1.0)]) == close(0.25)
    quiet = [lsi.LangevinStep(1.3, 0.0, 1.0, 1.0, repeat=4000)]
    seen = lsi.LangevinStep(1.3, 1.0, 1.0, 1.0)
    overflown = lsi.tracked_bound([seen, *quiet, seen])  # spread is infinite: composition
    assert math.isinf(lsi.tracked_spread([seen, *quiet]))
    assert math.isfinite(overflown)
    decayed = 0.25 / sum(2.0 / 2.0 * 1.3 ** (-2 * k) for k in range(4001))
    assert overflown == close(0.25 + decayed, rel=1e-11)
    kept = lsi.tracked_bound([seen, *quiet])
    assert pooled([(1.3, 1.0, 2.0)] + [(1.3, 0.0, 2.0)] * 4000) / 2 <= kept * (1 + 1e-11)
    assert lsi.tracked_bound([seen], start_spread=math.inf) == close(0.25)
    assert RenyiDP.zcdp(overflown).renyi(2.0) >= 2 * overflown


REFUSED = [
    ("split", 2.0),
    ("split", 0.0),
    ("split", math.nan),
    ("temperature", 0.0),
    ("temperature", -1.0),
    ("time", math.nan),
    ("constant", -1.0),
    ("gradient_sensitivity", math.inf),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_refusals_name_argument_value_and_cure(name, value):
    known = {"gradient_sensitivity": 1.0, "temperature": 1.0, "time": 1.0, "constant": 1.0}
    with pytest.raises(InvalidDescription, match=f"{name} must be .*{value}"):
        lsi.fixed_split(**(known | {"split": 0.5} | {name: value}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eta": 0.0}, "step_size"),
        ({"eta": math.nan}, "step_size"),
        ({"sigma": 0.0}, "temperature"),
        ({"lam": 2.0, "beta": 1.0}, "strong_convexity must be at most smoothness, got 2.0"),
        ({"eta": 1.5, "beta": 1.0}, "step_size must be"),
        ({"K": -1}, "steps"),
    ],
)
def test_strongly_convex_refusals(changes, words):
    given = FIGURE | {"K": 10, "lam": 0.5, "beta": 2.0} | changes
    with pytest.raises(InvalidDescription, match=words):
        lsi.strongly_convex(**descent(**given))


positive = st.floats(1e-6, 1e6)
slopes = st.floats(0.0, 1.5)
steps_of_any_kind = st.lists(
    st.builds(
        lsi.LangevinStep,
        slopes,
        st.one_of(st.just(0.0), st.floats(1e-3, 1e3)),
        st.floats(1e-3, 1e3),
        st.floats(1e-3, 1e3),
    ),
    min_size=1,
    max_size=12,
)


def linear_mu(steps, start_spread, signs):
    """The linear chain with these slopes, started from a Gaussian, its gaps all helping."""
    multipliers, shifts, stds = [0.0], [0.0], [math.sqrt(start_spread)]
    sign = 1.0
    for step, flip in zip(steps, signs, strict=True):
        sign = -sign if flip else sign
        multipliers.append(-step.lipschitz if flip else step.lipschitz)
        shifts.append(sign * step.gradient_sensitivity * step.step_size)
        stds.append(math.sqrt(2 * step.temperature * step.step_size))
    return float(exact_scalar_mu(multipliers, shifts, stds))


@settings(max_examples=300, deadline=None)
@given(steps_of_any_kind, st.one_of(st.just(0.0), positive), st.data())
def test_tracked_bound_is_never_below_a_linear_chain(steps, start, data):
    signs = data.draw(st.lists(st.booleans(), min_size=len(steps), max_size=len(steps)))
    bound = lsi.tracked_bound(steps, start_spread=start)
    assert math.isfinite(bound)
    assert linear_mu(steps, start, signs) ** 2 / 2 <= bound * (1 + 1e-13)
    if start == 0.0:
        triples = [
            (s.lipschitz, s.gradient_sensitivity * s.step_size, 2 * s.temperature * s.step_size)
            for s in steps
        ]
        # the programme never answers less than 1e-300, lest an underflow look like privacy
        assert pooled(triples) / 2 <= bound * (1 + 1e-12) + 1e-299


@settings(max_examples=200, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(1e-3, 1e3), positive, positive, st.integers(1, 60))
def test_tracked_bound_is_exact_for_equal_steps_from_a_point(L, S, tau, eta, K):
    bound = lsi.tracked_bound([lsi.LangevinStep(L, S, tau, eta, repeat=K)])
    exact = float(exact_scalar_mu([L] * K, [S * eta] * K, [math.sqrt(2 * tau * eta)] * K))
    assert bound == close(exact**2 / 2, rel=1e-11)
    pool = Pool()
    pool.push(block(L, S * eta, 2 * tau * eta), K)
    assert bound == close(pool.mu_squared / 2, rel=1e-11)


@settings(max_examples=300, deadline=None)
@given(st.floats(0.0, 100.0), st.floats(1e-3, 1.0))
def test_settling_is_below_every_fixed_split(tau, g):
    h = lsi.settling(tau)
    x = 2 * (1 - g) * tau
    fixed = tau / (2 * g) * (-math.expm1(-x) / x if x > 0 else 1.0)
    assert h <= min(tau / 2, -math.expm1(-tau), fixed) * (1 + 1e-13)


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(st.floats(1e-9, 1e9), positive, positive, positive),
    st.floats(1e-6, 1.0),
    st.integers(1, 10**6),
)
def test_values_are_rounded_up(sizes, g, K):
    S, tau, T, k = sizes
    known = {"gradient_sensitivity": S, "temperature": tau, "time": T}
    with mpmath.workdps(60):
        S_, tau_, T_, k_, g_ = map(mpmath.mpf, (S, tau, T, k, g))
        t = tau_ * k_ * T_
        x = 2 * (1 - g_) * t
        energy = S_**2 * T_ / tau_
        h = t / 2 if t <= 0.5 else (1 - mpmath.exp(0.5 - t) / 2) ** 2
        pairs = [
            (lsi.composition(**known), energy / 4),
            (
                lsi.fixed_split(**known, constant=k, split=g),
                energy / (4 * g_) * (-mpmath.expm1(-x) / x if x > 0 else 1),
            ),
            (lsi.optimal_split(**known, constant=k), energy / (2 * t) * h),
            (
                lsi.langevin_mu(**known, strong_convexity=k * 1.0),
                mpmath.sqrt(S_**2 / (k_ * tau_) * mpmath.tanh(k_ * T_ / 2)),
            ),
        ]
        eta = 1.9 * g / k  # a contraction of either sign
        c = 1 - mpmath.mpf(eta) * k_
        exact = S_**2 * (1 + c) / (4 * k_ * tau_) * (1 - c**K) / (1 + c**K)
        made = lsi.quadratic_law(
            gradient_sensitivity=S, curvature=k, temperature=tau, step_size=eta, steps=K
        )
        pairs.append((made, exact))
        for found, value in pairs:
            assert value <= found <= value * (1 + mpmath.mpf(10) ** -12)
