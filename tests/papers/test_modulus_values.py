"""Moduli, their programme, sampled steps and mixing times against reference values."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from vectors import TEN_DIGITS, cases, load

from oracles import rollout
from wane import mixing
from wane.guarantees import GaussianDP, RenyiDP
from wane.numerics.normal import gaussian_delta
from wane.numerics.sampled_gaussian import renyi_add_or_remove, renyi_replace
from wane.numerics.search import smallest_integer_satisfying
from wane.theorems.contraction import recursion as contraction
from wane.theorems.lemmas import (
    loss_moduli as rows,
    modulus_programme as programme,
    sampled_steps,
)
from wane.theorems.lemmas.tangent_programme import Stretch, solve
from wane_papers.modulus import printed, printed_mixing as modulus_mixing

SHEET = "modulus"
UPPER = 1e-4
"""How far above a reference value that is itself an upper bound a certificate may be."""
BELOW = 1e-6
"""How far below it: the reference is only that accurate."""

close = pytest.approx


def agree(value, wanted):
    assert value == close(wanted, rel=TEN_DIGITS, abs=0)


def every(name, formula, pick=lambda value: value):
    """Check a formula of the keyword arguments of all cases."""
    for case in load(SHEET)[name]:
        arguments = {k: v for k, v in case.items() if k != "value"}
        agree(formula(**arguments), pick(case["value"]))


# moduli -----------------------------------------------------------------------------------------


def test_offsets_and_factors():
    every("h_lipschitz", lambda eta, L: rows.nonsmooth_convex(eta, 2 * L).offset)
    every("h_weakly_smooth", rows.weakly_smooth_offset)
    every(
        "c_strongly_convex_tight",
        lambda eta, kappa, beta: rows.strongly_convex_smooth(eta, kappa, beta).factor,
    )
    every("c_nonconvex_smooth", lambda eta, beta: rows.smooth(eta, beta).factor)


@cases(SHEET, "ch_strongly_dissipative")
def test_dissipative(case):
    made = rows.dissipative(case["eta"], case["lambda"], case["kappa"], M=case["beta"])
    agree([made.factor, made.offset], case["value"])


def test_moduli_at_a_distance():
    def refined(delta, eta, M, p, L):
        return rows.weakly_smooth_refined(eta, M, p, math.inf if L is None else 2 * L)(delta)

    every("phi_weakly_smooth_refined", refined)
    every("phi_saddle", lambda delta, eta, L, beta: rows.saddle(eta, 2 * L, beta)(delta))
    every(
        "phi_nonconvex_bounded",
        lambda delta, eta, L, beta: rows.smooth_bounded(eta, beta, 2 * L)(delta),
    )


# the programme ----------------------------------------------------------------------------------


def steps_of(case):
    return programme.Steps(
        np.log(np.array(case["c"], dtype=float)),
        np.array(case["h"], dtype=float),
        np.array(case["sigma2"], dtype=float),
    )


@cases(SHEET, "thm34_E")
def test_exact_recursion(case):
    agree(programme.value(steps_of(case), case["D"]), case["value"])


@cases(SHEET, "lemma35_u_star")
def test_optimal_path_is_feasible_and_optimal(case):
    steps = steps_of(case)
    path = programme.optimal_path(steps, case["D"])
    agree(path, case["value"])
    moduli = [rows.affine(c, h) for c, h in zip(case["c"], case["h"], strict=True)]
    if case["D"] > 0:
        at_path = rollout.certificate(moduli, case["sigma2"], case["D"], path)
        agree(at_path, programme.value(steps, case["D"]))


@cases(SHEET, "lemma33_residual_shift_and_bound")
def test_distance_left(case):
    moduli = [rows.affine(c, h) for c, h in zip(case["c"], case["h"], strict=True)]
    left, spent = rollout.shifts_spent(moduli, case["sigma2"], case["D"], case["a"])
    agree([left, case["alpha"] / 2 * spent], case["value"])


def test_constant_steps():
    def constant(*, alpha, sigma, D, T, h=0.0, c="1"):
        log_factor = math.log1p(float(c) - 1.0)
        return alpha / 2 * programme.constant_value(log_factor, h, sigma**2, D, T)

    every("cor37_harmonic", constant)
    every("cor38", constant)

    def dissipative(*, alpha, sigma, D, eta, kappa, beta, T, **more):
        c = 1 - 2 * eta * kappa + (eta * beta) ** 2
        h = 2 * eta * more["lambda"]
        return constant(alpha=alpha, sigma=sigma, D=D, T=T, h=h, c=c)

    every("cor39_sum", dissipative)


@cases(SHEET, "cor37_best_R")
def test_restarts(case):
    horizon, value = programme.least_constant(
        0.0, case["h"], case["sigma"] ** 2, case["D"], case["T"]
    )
    agree(case["alpha"] / 2 * value, case["value"][1])
    assert abs(horizon - case["value"][0]) <= 1  # neighbours of the best may tie with it


@cases(SHEET, "saddle_switch_scan")
def test_saddle(case):
    value, leading = programme.saddle_switch(
        case["two_eta_L"], case["eta_beta"], case["sigma2"], case["D"], case["T"]
    )
    agree(value, case["value"][0])
    assert leading == case["value"][1]
    modulus = rows.saddle(1.0, case["two_eta_L"], case["eta_beta"])
    lines = solve([Stretch(modulus, 0.0, case["sigma2"], case["T"])], case["D"], knots=400).value
    assert value * (1 - TEN_DIGITS) <= lines <= value * (1 + UPPER)


@cases(SHEET, "P_value_ws_refined_linesDP")
def test_tangent_lines_weakly_smooth(case):
    modulus = rows.weakly_smooth_refined(case["eta"], case["M"], case["p"])
    check_lines(modulus, case)


@cases(SHEET, "P_value_nonconvex_bounded_linesDP")
def test_tangent_lines_nonconvex(case):
    check_lines(rows.smooth_bounded(1.0, case["eta_beta"], case["two_eta_L"]), case)


def check_lines(modulus, case):
    stretches = [Stretch(modulus, 0.0, case["sigma2"], case["T"])]
    value = solve(stretches, case["D"], knots=400, passes=4).value
    assert case["value"] * (1 - BELOW) <= value <= case["value"] * (1 + UPPER)
    grid = rollout.least_by_grid(
        [modulus] * case["T"], [case["sigma2"]] * case["T"], case["D"], points=120
    )
    assert value * (1 - UPPER) <= grid  # a feasible point, on a coarse grid


@cases(SHEET, "exact_chain_renyi")
def test_exact_chains_stay_below(case):
    exact, bound = case["value"]
    eta, D = case["eta"], case["X"][1] - case["X"][0]
    modulus = {
        "|x| (L=1)": lambda: rows.nonsmooth_convex(eta, 2.0),
        "|x|^1.5/1.5 (p=.5,M=sqrt2)": lambda: rows.weakly_smooth(eta, math.sqrt(2), 0.5),
        "x^2/2": lambda: rows.strongly_convex_smooth(eta, 1.0, 1.0),
        "(x^2-1)^2/4": lambda: rows.affine((1 + eta) ** 2),
    }[case["potential"]]()
    value = programme.constant_value(
        modulus.log_factor, modulus.offset, case["sigma"] ** 2, D, case["T"]
    )
    agree(case["alpha"] / 2 * value, bound)
    assert case["alpha"] / 2 * value >= exact


# sampled steps ----------------------------------------------------------------------------------


def test_sampled_gaussians():
    every("S_rep", lambda q, mu, alpha: renyi_replace(alpha, q, mu))
    every(
        "S_addremove",
        lambda q, sigma_tilde, alpha: renyi_add_or_remove(alpha, q, 1 / sigma_tilde),
    )


def sampled_run(case, shift, steps):
    return sampled_steps.SampledRun(
        rate=case["b"] / case["n"],
        mu=shift * case["L"] / (case["b"] * case["sigma"]),
        variance=(case["eta"] * case["sigma"]) ** 2,
        steps=steps,
        diameter=case["D"],
    )


@cases(SHEET, "sgd_corrected_poisson")
def test_poisson_theorem(case):
    run = sampled_run(case, 1.0, case["T"])
    wanted = case["value"]
    agree(run.sampled(case["alpha"], case["theta"]), wanted["S_split"])
    agree(run.sampled(case["alpha"]), wanted["S_full"])
    exceeded = sampled_steps.binomial_tail(case["n"] - 1, run.rate, case["N_cap"])
    agree(case["R"] * exceeded, wanted["p_bad"])
    split = sampled_steps.Split(case["R"], case["theta"])

    def offset(sizes):
        step = case["eta"] / case["b"]
        return np.array([rows.weakly_smooth_offset(step * N, case["M"], case["p"]) for N in sizes])

    value = sampled_steps.poisson_renyi(
        run, split, case["alpha"], others=case["n"] - 1, cap=case["N_cap"], offset=offset
    )
    agree(value, min(wanted["total"], wanted["naive"]))


@cases(SHEET, "sgd_corrected_fixed_size")
def test_fixed_size_theorem(case):
    run = sampled_run(case, 2.0, case["R"])
    split = sampled_steps.Split(case["R"], case["theta"])
    agree(run.sampled(case["alpha"], case["theta"]), case["value"]["S_split"])
    offset = rows.weakly_smooth_offset(case["eta"], case["M"], case["p"])
    agree(sampled_steps.fixed_size_renyi(run, split, case["alpha"], offset), case["value"]["total"])


@cases(SHEET, "AD_delta_recursion")
def test_contraction_recursion(case):
    r = (case["D"] / case["eta"] + 2 * case["L"]) / case["sigma"]
    theta = gaussian_delta(case["eps"], r)
    agree(contraction.recursion(theta, theta, case["q"], case["T"]), case["value"])


@cases(SHEET, "gdp_delta")
def test_gaussian_profile(case):
    guarantee = GaussianDP(math.sqrt(case["E"]))
    agree([guarantee.mu, guarantee.delta(case["eps"])], case["value"])


@cases(SHEET, "rdp_to_eps")
def test_conversion(case):
    def curve(order):
        return case["R"] if order >= case["alpha"] * (1 - 1e-12) else math.inf

    agree(RenyiDP(curve, max_order=case["alpha"]).epsilon(case["delta"]), case["value"][0])


def test_no_reference_value_is_forgotten():
    names = set(load(SHEET))
    assert len(names) == 49
    text = Path(__file__).read_text()
    assert {name for name in names if f'"{name}"' not in text} == set()


# mixing -----------------------------------------------------------------------------------------


def test_mixing_formulas():
    every(
        "theta_lemma41",
        lambda p, M, D: modulus_mixing.half_mixing_threshold(exponent=p, constant=M, diameter=D),
    )
    every(
        "tmix_thm42",
        lambda D, eta, eps: modulus_mixing.paper_steps(diameter=D, step_size=eta, tv=eps),
    )
    every("propA14", lambda Tstar, eps: modulus_mixing.boosted_steps(half_steps=Tstar, tv=eps))


def steps_to(modulus, variance: float, diameter: float, tv: float) -> int:
    """The fewest steps whose own bound is at most `tv`."""

    def near(steps: int) -> bool:
        c, h = modulus.log_factor, modulus.offset
        value = programme.least_constant(c, h, variance, diameter, steps)[1]
        return mixing.total_variation(value) <= tv

    return smallest_integer_satisfying(near, 1)


@cases(SHEET, "T_half_gdp")
def test_half_mixing(case):
    modulus = rows.weakly_smooth(case["eta"], case["M"], case["p"])
    steps = steps_to(modulus, 2 * case["eta"], case["D"], 0.5)
    value = programme.constant_value(0.0, modulus.offset, 2 * case["eta"], case["D"], steps)
    agree([steps, mixing.total_variation(value)], case["value"])


@cases(SHEET, "appC_kappa")
def test_one_step(case):
    value = mixing.one_step_value(case["D"], case["eta"], case["L"])
    agree(math.sqrt(-math.expm1(-0.5 * value)), case["value"][0])  # Bretagnolle and Huber
    agree(mixing.total_variation(value), case["value"][2])


def test_sharper_route_is_three_and_a_half_times_faster():
    smooth = rows.smooth_convex(0.001, 1.0)
    ours = steps_to(smooth, 0.002, 1.0, 0.5)
    assert 3.5 * ours <= modulus_mixing.paper_steps(1.0, 0.001, 0.5)


# as printed -------------------------------------------------------------------------------------


def test_printed_formulas():
    every("c_strongly_convex_paper", printed.strongly_convex_factor.formula)
    every("cor37_log", printed.harmonic_bound.formula)
    every("kl_bound_9", printed.kl_to_stationarity.formula)
    every("S_A16_printed_direction", printed.sampled_divergence.formula)
    every("lemmaA18_bound", printed.sampled_bound.formula)
    every("alpha_star", printed.order_limit.formula)
    every("thm52_printed", lambda **c: list(printed.poisson_bound(**c)))
    every("thm54", lambda **c: list(printed.nonconvex_bound(**c)))
    every("thm54_alpha_star", printed.nonconvex_order_limit.formula)
    every("eq22_eps", printed.converted_epsilon.formula)
    every("eq22_alpha", lambda A, sigma, delta: 1 + sigma * math.sqrt(math.log(1 / delta) / A))
    every("eq23_logdelta_limit", lambda **c: list(printed.log_delta_limit(**c)), lambda v: v[1:])
    every("eq24_AD", lambda **c: list(printed.contraction_epsilon(**c)), lambda v: v[2:])
    every("appC_kappa", printed.one_step_kappa.formula, lambda v: v[1])


@cases(SHEET, "eq24_AD")
def test_corrected_contraction_epsilon_is_above_the_recursion(case):
    r = (case["D"] / case["eta"] + 2 * case["L"]) / case["sigma"]
    for epsilon in case["value"][:2]:
        theta = gaussian_delta(epsilon, r)
        assert contraction.recursion(theta, theta, case["q"], 10**9) <= case["delta"]


@cases(SHEET, "cor39_log")
def test_printed_geometric_bound(case):
    value = printed.geometric_bound(
        alpha=case["alpha"],
        sigma=case["sigma"],
        D=case["D"],
        c=1 - 2 * case["eta"] * case["kappa"] + (case["eta"] * case["beta"]) ** 2,
        h=2 * case["eta"] * case["lambda"],
        T=case["T"],
    )
    agree(value, case["value"])


@cases(SHEET, "remark53_V_and_cap")
def test_printed_plateau(case):
    arguments = {k: v for k, v in case.items() if k != "value"}
    shape = {k: v for k, v in arguments.items() if k not in ("alpha", "sigma")}
    agree([printed.poisson_excess_steps(**shape), printed.poisson_cap(**arguments)], case["value"])


def test_figure_one():
    for case in load(SHEET)["figure1_2Tbar_plus_V"]:
        arguments = {k: v for k, v in case.items() if k != "value"}
        steps, excess, total = case["value"]
        value = printed.poisson_excess_steps(**arguments)
        assert value == close(excess, rel=TEN_DIGITS, abs=1e-300)
        assert 2 * steps + value == close(total, rel=TEN_DIGITS)


@cases(SHEET, "kl_bound_inf_over_p_huber")
def test_least_over_exponents_huber(case):
    L, beta = case["L"], case["beta"]
    check_exponents(case, lambda p: 2 * L * (beta / (2 * L)) ** p, np.arange(2000) / 2000)


@cases(SHEET, "kl_bound_inf_over_p")
def test_least_over_exponents_power(case):
    m, p0 = (float(re.search(rf"{name}=([\d.]+)", case["potential"])[1]) for name in ("m", "p0"))
    half = case["D"] / 2
    check_exponents(case, lambda p: m * 2 ** (1 - p) * half ** (p0 - p), np.linspace(0, p0, 2001))


def check_exponents(case, constant, grid):
    D, eta, T = case["D"], case["eta"], case["T"]
    values = [printed.kl_to_stationarity(D=D, eta=eta, T=T, M=constant(p), p=p) for p in grid]
    best = int(np.argmin(values))
    agree([values[best], grid[best]], case["value"][:2])
    ours, _ = mixing.kl_over_exponents(D, eta, T, constant, most=float(grid[-1]))
    assert ours <= values[best]
