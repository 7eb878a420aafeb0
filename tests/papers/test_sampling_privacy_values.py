"""Privacy of samplers: the reference values of the theory, through the code that certifies."""

import pytest
from vectors import TEN_DIGITS, load

import wane
from wane.guarantees import GaussianDP
from wane.losses import Logistic
from wane.sampling import OverdampedRun, Posterior, calibrated, certify_samples
from wane.sampling.integrator import exact_step
from wane.sampling.models import linear_losses
from wane.theorems.gibbs.transfer import two_triangles
from wane.theorems.kinetic.privacy import mu_with_window
from wane.theorems.lemmas.letters import KineticLetters

SHEET = load("langevin_sampling")


def table(name):
    return pytest.mark.parametrize("case", SHEET[name]["cases"], ids=lambda c: str(c["inputs"]))


def close(value):
    return pytest.approx(value, rel=TEN_DIGITS, abs=0.0)


@table("transfer_rdp")
def test_two_triangles(case):
    x = case["inputs"]
    exact = GaussianDP(x["muR"])
    found = two_triangles(x["alpha"], x["epsPR"], exact.renyi, x["epsRP"], p=x["p"], p2=x["p2"])
    assert found == close(case["output"])


@table("mu_ulmc")
def test_underdamped_last_state(case):
    x = case["inputs"]
    letters = KineticLetters(1, x["m"], x["L"], x["gam"], x["mu"], x["eta"], x["N"], s0=0.0, r0=0.0)
    assert min(mu_with_window(letters, x["GD"], K) for K in x["Ks"]) == close(case["output"])


@table("ulmc_step_coeffs")
def test_the_samplers_integrator(case):
    x, wanted = case["inputs"], case["output"]
    step = exact_step(friction=x["gam"], inverse_mass=x["mu"], step_size=x["eta"])
    position, both, velocity = step.noise_covariance
    found = {
        "E": step.velocity_kept,
        "a_xv": step.position_from_velocity,
        "b_x": step.position_from_gradient,
        "b_v": step.velocity_from_gradient,
        "Cvv": velocity,
        "Cxv": both,
        "Cxx": position,
        "s_v": step.velocity_noise,
        "k": step.position_from_noise,
        "s_x": step.position_noise,
    }
    assert found == {name: close(wanted[name]) for name in found}


@pytest.mark.parametrize("case", [c for c in SHEET["mu_lmc"]["cases"] if not c["inputs"]["e0"]])
def test_a_chain_is_a_noisy_descent(case):
    x = case["inputs"]
    run = wane.NoisyDescent(
        objective=wane.Objective(
            gradient_bound=x["GD"],
            smoothness=x["L"] - x["m"],
            strong_convexity=0.0,
            ridge=x["m"],
        ),
        records=1,
        steps=x["N"],
        step_size=x["eta"],
        noise=wane.Temperature(1.0),
        adjacency=wane.Adjacency.ZERO_OUT,
    )
    assert wane.certify(run).mu == close(case["output"])


@pytest.mark.parametrize(
    ("dimension", "steps", "step", "direct", "composed"),
    [(2, 7182, 5.65e-4, 0.9814, 1.466), (10, 16000, 2.96e-4, 0.9904, 1.593)],
)
def test_the_table_of_logistic_posteriors(dimension, steps, step, direct, composed):
    losses = linear_losses(Logistic(), columns=dimension, feature_norm=1.0)
    whole = Posterior(
        losses=losses, records=1000, prior_precision=1.0, adjacency=wane.Adjacency.ZERO_OUT
    )
    posterior = calibrated(whole, epsilon=1.0, delta=1e-6)
    assert posterior.temperature == pytest.approx(4.2247, rel=1e-4)
    run = OverdampedRun(
        posterior=posterior, step_size=step * 1000 / posterior.temperature, steps=steps
    )
    certificate = certify_samples(run)
    assert certificate.epsilon(1e-6) == pytest.approx(direct, abs=2e-4)
    by_name = {v.analysis.name: v.guarantee for v in certificate.applicable}
    assert by_name["gaussian_composition"].epsilon(1e-6) == pytest.approx(composed, abs=2e-3)
