"""Diffusion mechanisms, kernels and couplings against reference values, one test per table."""

import math
from pathlib import Path

import numpy as np
import pytest
from vectors import TEN_DIGITS, load

from wane.guarantees import GaussianDP
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    BrownianMechanism,
    DiffusionMechanism,
    IteratedLaplace,
    MarkovKernel,
    NestedRelease,
    OrnsteinUhlenbeckMechanism,
    PrivacyTarget,
    calibrated_ornstein_uhlenbeck,
    coupling,
    laplace,
)
from wane.theorems.kernel import amplification
from wane.theorems.lemmas import noisy_chains

SHEET = load("dynamics_and_diffusion")
KERNELS = {name: MarkovKernel(rows) for name, rows in SHEET["d2.kernels"]["values"].items()}
RESIDUE = 1e-14
"""Tables made in doubles hold rounding residues where the value is zero."""


def table(name):
    return pytest.mark.parametrize("case", SHEET[name]["values"], ids=lambda c: str(c["in"]))


def close(value):
    return pytest.approx(value, rel=TEN_DIGITS, abs=RESIDUE)


def relative(value):
    return pytest.approx(value, rel=TEN_DIGITS, abs=0.0)


def ou(theta, rho, t, Delta=1.0, **more):
    return OrnsteinUhlenbeckMechanism(
        sensitivity=Delta, reversion=theta, diffusion_scale=rho, time=t, **more
    )


def test_every_table_has_a_test():
    tables = {name for name in SHEET if name.startswith("d2.")}
    source = Path(__file__).read_text()
    assert {name for name in tables if f'"{name}"' not in source} == set()


@table("d2.coefficients")
def test_coefficients(case):
    kernel = KERNELS[case["in"]["K"]]
    found = [kernel.dobrushin, *kernel.dobrushin_curve([0.5, 1.0])]
    found += [kernel.doeblin.coefficient, kernel.ultra_mixing]
    assert found == close(case["out"])
    assert kernel.doeblin.witness == close(case["in"]["omega"])


@table("d2.thm1")
def test_the_four_statements(case):
    epsilon, delta = case["in"]["eps"], case["in"]["delta"]
    found = KERNELS[case["in"]["K"]].amplify(epsilon=epsilon, delta=delta)
    assert (found.dobrushin.epsilon, found.threshold.epsilon) == (epsilon, epsilon)
    values = [found.dobrushin.delta, found.threshold.delta, *found.doeblin, *found.ultra_mixing]
    assert values == relative(case["out"])


@table("d2.exact_amplification")
def test_exact_amplification(case):
    epsilon, delta = case["in"]["eps"], case["in"]["delta"]
    kernel = KERNELS[case["in"]["K"]]
    found = kernel.amplified_curve([0.0, epsilon / 2, epsilon], epsilon=epsilon, delta=delta)
    assert found == relative(case["out"])


@table("d2.rdp_dobrushin")
def test_renyi_by_dobrushin(case):
    g, order, divergence = case["in"]["gamma"], case["in"]["alpha"], case["in"]["R"]
    assert amplification.renyi_by_dobrushin(g, order, divergence) == relative(case["out"])


@table("d2.clip_then_gauss")
def test_clipping_then_gaussian_noise(case):
    given = case["in"]
    found = amplification.bounded_gaussian(
        given["e"],
        epsilon=given["eps"],
        delta=given["delta"],
        diameter=given["Dm"],
        noise_std=1.0,
    )
    assert found == relative(case["out"])


@table("d2.thm2_coupling")
def test_finite_coupling(case):
    kernel = np.array(SHEET["d2.kernels"]["values"]["A"])
    first, second = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.4, 0.3])
    joint = [[0.4, 0.0, 0.0], [0.2, 0.2, 0.0], [0.0, 0.1, 0.1]]
    order = case["in"]["alpha"]
    exact = coupling.renyi_divergence(order, first @ kernel, second @ kernel)
    bound = coupling.coupled_renyi(order, first=first, second=second, coupling=joint, kernel=kernel)
    assert [exact, bound] == relative(case["out"])
    assert exact <= bound


@table("d2.lap2_pdf")
def test_density_of_two_laplace_variables(case):
    given = case["in"]
    assert laplace.density(given["x"], given["l1"], given["l2"]) == relative(case["out"])


@table("d2.iterated_laplace")
def test_iterated_laplace(case):
    given = case["in"]
    made = IteratedLaplace(given["Delta"], given["l1"], given["l2"])
    order, largest = given["alpha"], max(given["l1"], given["l2"])
    found = [
        made.continuous_renyi(order),
        made.coupled_renyi(order),
        made.intermediate_point(order),
    ]
    found.append(laplace.laplace_renyi(order, given["Delta"] / largest))
    assert found == relative(case["out"])


@table("d2.lemma3_pure_eps")
def test_pure_level_of_iterated_laplace(case):
    given = case["in"]
    made = IteratedLaplace(given["Delta"], given["l1"], given["l2"])
    assert made.continuous_pure_epsilon == relative(case["out"])


@table("d2.ex1_ex3_mu")
def test_gaussian_then_lipschitz_then_gaussian(case):
    given = case["in"]
    stds = given["Delta"], given["sd1"], given["sd2"]
    found = [coupling.iterated_gaussian(*stds).mu]
    found.append(coupling.lipschitz_gaussian(*stds, lipschitz=given["L"]).mu)
    assert found == relative(case["out"])


def printed_chain(slope, steps):
    """Equation (3) and the phi form of the paper, for order = distance = noise = 1."""
    plain = slope ** (steps + 1) / (2 * steps)
    if slope == 1.0:
        return plain, plain
    phi = slope ** ((steps - 1) / 2) * (1 - slope) / (1 - slope**steps)
    return plain, plain * (steps * phi) ** 2


@table("d2.thm4")
def test_chain_of_lipschitz_maps(case):
    slope, steps = case["in"]["L"], case["in"]["r"]
    made = noisy_chains.constant_chain(1.0, steps=steps, lipschitz=slope, noise_std=1.0)
    general = coupling.noisy_chain(1.0, [(slope, 1.0)] * steps)
    assert [*printed_chain(slope, steps), made.mu**2 / 2] == relative(case["out"])
    assert general.mu == pytest.approx(made.mu, rel=1e-11)
    assert made.mu**2 / 2 <= min(printed_chain(slope, steps)) * (1 + 1e-11)


def printed_per_index(*, alpha, C, sigma, eta, beta, rho, r):
    """The paper's appendix, with its factor alpha."""
    if r == 0:
        return alpha * 2 * C**2 / sigma**2
    shrink = 1 - 2 * eta * beta * rho / (beta + rho)
    return alpha * 2 * C**2 / (r * sigma**2) * shrink ** ((r + 1) / 2)


@table("d2.thm5")
def test_record_used_before_the_end(case):
    given = case["in"]
    contraction = noisy_chains.gradient_contraction(
        given["eta"], strong_convexity=given["rho"], smoothness=given["beta"]
    )
    made = coupling.per_index_sgd(
        given["r"],
        gradient_gap=2 * given["C"],
        noise_std=given["sigma"],
        contraction=contraction,
    )
    found = [printed_per_index(**given), made.renyi(given["alpha"])]
    assert found == relative(case["out"])


@table("d2.extra_public_iterations")
def test_public_steps(case):
    given = case["in"]
    known = {"gradient_gap": given["C2"], "noise_std": given["sigma"], "contraction": given["c"]}
    steps = coupling.public_steps_needed(mu=given["mu"], **known)
    assert steps == case["out"]
    assert coupling.per_index_sgd(steps, **known).mu <= given["mu"] * (1 + 1e-12)


@table("d2.cor7_lambda")
def test_intrinsic_sensitivity_of_ornstein_uhlenbeck(case):
    made = ou(**case["in"])
    assert made.intrinsic_sensitivity == relative(case["out"])
    assert made.mu**2 / 2 == relative(case["out"])


@table("d2.eq4_mse")
def test_mean_squared_error(case):
    given = case["in"]
    made = ou(given["theta"], given["rho"], given["t"], dimension=given["d"])
    assert made.mean_squared_error(math.sqrt(given["f2"])) == relative(case["out"])


@table("d2.thm8")
def test_calibrated_to_the_least_error(case):
    given = case["in"]
    made = calibrated_ornstein_uhlenbeck(
        PrivacyTarget(order=2.0, divergence=2.0 * given["eps"]),
        sensitivity=given["Delta"],
        norm_bound=given["R"],
        dimension=given["d"],
    )
    found = [made.reversion, made.diffusion_scale**2, made.scale, made.mean_squared_error()]
    assert [*found, made.comparison().plain_gaussian] == relative(case["out"][:5])
    assert made.always_beats_plain_gaussian() is case["out"][5]
    assert made.comparison().shrunk_gaussian == pytest.approx(found[3], rel=1e-12)
    assert made.guarantee.renyi(2.0) <= 2.0 * given["eps"]


@table("d2.hierarchical")
def test_paths_branches_and_independent_releases(case):
    s = case["in"]["s"]
    made = ou(**{name: value for name, value in case["in"].items() if name != "s"})
    t = made.time
    path = NestedRelease(made, {"inner": t, "public": t + s})
    fork = BranchedRelease(
        made, {"stem": Branch(None, t), "left": Branch("stem", s), "right": Branch("stem", s)}
    )
    apart = BranchedRelease(made, {"one": Branch(None, t), "two": Branch(None, t + s)})
    found = [path.coalition(["inner", "public"]).mu, path.guarantee("public").mu]
    found += [apart.coalition(["one", "two"]).mu, fork.coalition(["left", "right"]).mu]
    assert [mu**2 for mu in found] == relative(case["out"])


def mirrors(t):
    return DiffusionMechanism(
        drift=np.zeros_like, spread=np.ones_like, low=0.0, high=1.0, sensitivity=1.0, time=t
    )


@table("d2.reflecting_bm")
def test_reflected_brownian_motion(case):
    given = case["in"]
    made = mirrors(given["t"])
    found = [
        made.estimated_renyi_between(order, given["x"], given["xp"]) for order in (1.5, 4.0, 16.0)
    ]
    assert found == relative(case["out"])


@table("d2.thm6_lambda_reflecting_bm")
def test_intrinsic_sensitivity_of_reflected_brownian_motion(case):
    given = case["in"]
    found = mirrors(given["t"]).estimated_intrinsic_between(given["x"], given["xp"])
    assert found == relative(case["out"])


@table("d2.ex4_bm")
def test_brownian_motion(case):
    made = BrownianMechanism(sensitivity=case["in"]["Delta"], time=case["in"]["t"])
    assert [made.intrinsic_sensitivity, made.mu] == relative(case["out"])
    assert made.guarantee == GaussianDP(made.mu)
