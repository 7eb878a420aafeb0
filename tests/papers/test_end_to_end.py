"""Whole certificates against reference values."""

import math

import numpy as np
import pytest
from vectors import TEN_DIGITS, cases, load

import wane
from wane import calibrate, certify, mu_by_position
from wane.describe import (
    Cyclic,
    EveryIterate,
    IterateNoise,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    ShuffledOnce,
)
from wane.describe.domains import Ball, Ridge, Unbounded
from wane.guarantees import GaussianDP

SHEET = "cyclic_and_clipping"


def objective_with_constant(c: float, lam: float, *, bound: float = 1.0) -> Objective:
    """A class whose step has Lipschitz constant c at step size lam."""
    if c >= 1.0:
        low = (1.0 - c) / lam
        return Objective(gradient_bound=bound, smoothness=abs(low), strong_convexity=low)
    m = (1.0 - c) / lam
    return Objective(gradient_difference_bound=2 * bound, smoothness=m, strong_convexity=m)


@cases(SHEET, "end_to_end")
def test_end_to_end(case):
    name, lam = case["name"], case["lam"]
    objective = Objective(
        gradient_bound=case["C"],
        smoothness=1.0,
        strong_convexity=0.0,
        clipped="clip" in name,
    )
    ridge = {"ridge prox": 0.5, "clip+ridge": 0.5}.get(name)
    run = NoisyDescent(
        objective=objective,
        records=case["b"] * case["l"],
        steps=case["T"],
        step_size=lam,
        noise=IterateNoise(case["sigma"]),
        batches=Cyclic(case["b"]),
        domain=Ridge(ridge) if ridge else Unbounded(),
    )
    cert = certify(run)
    assert cert.mu == pytest.approx(case["mu"], rel=TEN_DIGITS)
    assert cert.guarantee.renyi(4.0) == pytest.approx(case["rdp_alpha4"], rel=TEN_DIGITS)
    assert cert.epsilon(1e-5) == pytest.approx(case["eps_at_1e5"], rel=TEN_DIGITS)
    composed = certify(NoisyDescent(**{**vars_of(run), "release": EveryIterate()}))
    assert composed.mu == pytest.approx(case["mu_composition"], rel=TEN_DIGITS)


def vars_of(run: NoisyDescent) -> dict:
    return {name: getattr(run, name) for name in run.__dataclass_fields__}


@cases(SHEET, "sigma_calibration")
def test_calibrated_noise(case):
    run = NoisyDescent(
        objective=Objective(
            gradient_bound=case["C"],
            smoothness=case["M"],
            strong_convexity=0.0,
            clipped=case["clipping"],
        ),
        records=case["b"] * case["l"],
        steps=case["T"],
        step_size=case["lam"],
        noise=NoiseMultiplier(1.0),
        batches=Cyclic(case["b"]),
        domain=Ridge(case["ridge_in_prox"]) if case["ridge_in_prox"] else Unbounded(),
    )
    delta = float(case["delta"])
    made = calibrate(run, epsilon=case["eps"], delta=delta)
    assert made.value == pytest.approx(case["noise_multiplier"], rel=TEN_DIGITS)
    assert made.certificate.epsilon(delta) <= case["eps"]
    iterate = calibrate(
        NoisyDescent(**{**vars_of(run), "noise": IterateNoise(1.0)}),
        epsilon=case["eps"],
        delta=delta,
    )
    assert iterate.value == pytest.approx(case["sigma"], rel=TEN_DIGITS)


@cases(SHEET, "shuffled_once")
def test_secret_order(case):
    lam = 1.0
    run = NoisyDescent(
        objective=objective_with_constant(case["c"], lam),
        records=case["l"],
        steps=case["l"] * case["n"],
        step_size=lam,
        noise=IterateNoise(2.0 / case["s_over_sigma"]),
        batches=ShuffledOnce(1),
    )
    verdicts = {v.analysis.name: v for v in certify(run).applicable}
    secret, worst = verdicts["secret_order"].guarantee, verdicts["last_iterate"].guarantee
    eps = case["eps"]
    assert secret.renyi(case["alpha"]) == pytest.approx(case["rdp"], rel=TEN_DIGITS)
    assert secret.delta(eps) == pytest.approx(case["delta"], rel=TEN_DIGITS)
    assert worst.renyi(case["alpha"]) == pytest.approx(case["rdp_worst_position"], rel=TEN_DIGITS)
    assert worst.delta(eps) == pytest.approx(case["delta_worst_position"], rel=TEN_DIGITS)


@cases(SHEET, "K_position")
def test_positions(case):
    if case["n"] == 0:
        return
    run = NoisyDescent(
        objective=objective_with_constant(case["c"], 1.0),
        records=case["l"],
        steps=case["T"],
        step_size=1.0,
        noise=IterateNoise(2.0),
        batches=Cyclic(1),
    )
    got = mu_by_position(run)[case["tstar"] - 1] ** 2
    assert got == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "K_diameter")
def test_bounded(case):
    run = NoisyDescent(
        objective=objective_with_constant(case["c"], 1.0),
        records=case["l"],
        steps=case["T"],
        step_size=1.0,
        noise=IterateNoise(2.0),
        batches=Cyclic(1),
        domain=Ball(radius=case["d_over_s"]),  # diameter 2R over shift 2
    )
    assert certify(run).mu ** 2 == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "gdp_delta")
def test_gaussian_delta(case):
    got = GaussianDP(case["mu"]).delta(case["eps"])
    assert got == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "gdp_eps")
def test_gaussian_epsilon(case):
    got = GaussianDP(case["mu"]).epsilon(float(case["delta"]))
    assert got == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "gdp_mu")
def test_gaussian_mu(case):
    got = GaussianDP.from_target(epsilon=case["eps"], delta=float(case["delta"])).mu
    assert got == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "paper_bounds_for_comparison")
def test_sound_bounds_beside_the_printed_one(case):
    ratio = 2 * case["lamC_over_bsigma"]
    for clipped, name in ((False, "sound_unclipped"), (True, "sound_clipped")):
        run = NoisyDescent(
            objective=Objective(
                gradient_bound=1.0,
                smoothness=case["M"],
                strong_convexity=-case["m"],
                clipped=clipped,
            ),
            records=case["l"],
            steps=case["T"],
            step_size=case["lam"],
            noise=IterateNoise(2 * case["lam"] / ratio),
            batches=Cyclic(1),
        )
        got = certify(run).guarantee.renyi(case["alpha"])
        assert got == pytest.approx(case[name], rel=TEN_DIGITS)


@pytest.mark.parametrize("ridge", [0.002, 0.004])
@pytest.mark.parametrize("epochs", [50, 100, 200])
def test_published_cyclic_logistic_regression(ridge, epochs):
    """Never above the published formula of Bok, Su and Altschuler (2024) in their own setting."""
    run = NoisyDescent(
        objective=Objective(
            gradient_bound=10.0, smoothness=32.5, strong_convexity=0.0, ridge=ridge
        ),
        records=60_000,
        steps=40 * epochs,
        step_size=0.05,
        noise=NoiseMultiplier(3.0),
        batches=Cyclic(1500),
    )
    c, period = 1 - 0.05 * ridge, 40
    faded = c ** (2 * period - 2) * (1 - c**2) / (1 - c**period) ** 2
    again = (1 - c ** (period * (epochs - 1))) / (1 + c ** (period * (epochs - 1)))
    published = 2 / 3 * math.sqrt(1 + faded * again)
    printed_epsilon = {
        (0.002, 50): 4.34, (0.002, 100): 5.60, (0.002, 200): 7.58,
        (0.004, 50): 4.32, (0.004, 100): 5.51, (0.004, 200): 7.09,
    }[ridge, epochs]  # fmt: skip
    cert = certify(run)
    assert cert.mu <= published * (1 + 1e-12)
    assert round(cert.epsilon(1e-5), 2) <= printed_epsilon


def test_every_reference_table_is_used():
    """A new table must get a test."""
    used = {
        "L_smooth", "L_clip", "ridge_threshold", "glm_smoothness_clipped_logistic",
        "explicit_ridge_clip", "theta", "K_worst", "K_position", "mu2_general", "K_diameter",
        "clipped_convex_K", "gdp_delta", "gdp_eps", "gdp_mu", "end_to_end", "sigma_calibration",
        "shuffled_once", "cooldown", "counterexample", "paper_bounds_for_comparison", "softmax",
    }  # fmt: skip
    planning_only = {"nu_numerical_range"}  # the most negative curvature clipping can create
    assert set(load(SHEET)) == used | planning_only


def test_the_contract_example_runs():
    run = wane.NoisyDescent(
        objective=wane.Objective(
            gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0, ridge=0.01
        ),
        records=10_000, steps=2_000, step_size=1.0, noise=wane.GradientNoise(0.002),
        batches=wane.Cyclic(500), domain=wane.Ball(radius=5.0),
    )  # fmt: skip
    cert = wane.certify(run)
    assert cert.delta(cert.epsilon(1e-6)) <= 1e-6 * (1 + 1e-9)
    noise = wane.calibrate(run, epsilon=1.0, delta=1e-6, over="noise").noise
    assert isinstance(noise, wane.GradientNoise)
    assert "last_iterate" in cert.explain()
    assert np.max(mu_by_position(run)) == pytest.approx(cert.mu, rel=1e-12)
