"""Exhibits of true theorems: the printed bound holds, and what wane computes is at or below it."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from vectors import load

from wane.audit.finite import finite_hockey_stick
from wane.mechanisms import coupled_renyi
from wane_papers.cyclic import printed as cyclic_paper
from wane_papers.federated import printed as federated_paper
from wane_papers.mixing import figures as mixing_figures, printed as mixing_paper
from wane_papers.modulus import printed as modulus_paper
from wane_papers.records import Standing
from wane_papers.reproduce import EXHIBITS
from wane_papers.sampler import printed as sampler_paper
from wane_papers.sampler.slips import SLIPS

BY_NAME = {e.name: e for e in EXHIBITS}


@cache
def rows(name):
    return BY_NAME[name].rows()


def test_theorem_1_of_the_mixing_paper_is_never_below_the_exact_amplification():
    """Two points attain the exact number, so that nothing below it can hold."""
    for row in rows("mixing-theorem-1"):
        assert row["exact"] <= row["threshold"] * (1 + 1e-12) <= row["dobrushin"] * (1 + 1e-11)
        assert row["exact_at_doeblin"] <= row["doeblin"]
        assert row["exact_at_ultra"] <= row["ultra"]
    first = rows("mixing-theorem-1")[0]
    eps, delta, kernel = 0.2, 0.1, mixing_figures._lazy_circle().matrix
    mu = np.zeros((2, 6))
    best = 0.0
    for x, y in itertools.permutations(range(6), 2):
        mu[:] = 0.0
        mu[0, x], mu[0, y] = delta, 1 - delta
        mu[1, x], mu[1, y] = 0.0, 1.0
        best = max(best, float(finite_hockey_stick(mu[0] @ kernel, mu[1] @ kernel, eps)))
    assert best == pytest.approx(first["exact"], rel=1e-9)


@pytest.mark.parametrize("name", ["dobrushin", "doeblin", "ultra_mixing"])
def test_the_statements_of_theorem_1_match_the_reference_values(name):
    place = {"dobrushin": (0,), "doeblin": (2, 3), "ultra_mixing": (4, 5)}[name]
    kernels = {
        k["in"]["K"]: k["out"] for k in load("dynamics_and_diffusion")["d2.coefficients"]["values"]
    }
    column = {"dobrushin": 0, "doeblin": 3, "ultra_mixing": 4}[name]
    for case in load("dynamics_and_diffusion")["d2.thm1"]["values"]:
        known = {"eps": case["in"]["eps"], "delta": case["in"]["delta"]}
        gamma = kernels[case["in"]["K"]][column]
        got = getattr(mixing_paper, name)(gamma=gamma, **known)
        wanted = [case["out"][i] for i in place]
        assert list(got)[-len(wanted) :] == pytest.approx(wanted, rel=1e-8)


def test_theorem_2_of_the_mixing_paper_is_what_wane_computes():
    rng = np.random.default_rng(2)
    for _ in range(50):
        plan = rng.dirichlet(np.ones(9)).reshape(3, 3)
        nu, kernel = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
        mu = plan.sum(axis=0)
        claimed = mixing_paper.coupling(alpha=3.0, nu=nu, pi=plan, K=kernel)
        exact = mixing_paper._renyi(3.0, mu @ kernel, nu @ kernel)
        ours = coupled_renyi(3.0, first=mu, second=nu, coupling=plan, kernel=kernel)
        assert exact <= claimed * (1 + 1e-12)
        assert ours == pytest.approx(claimed, rel=1e-9)
    absent = mixing_paper.coupling(
        alpha=2.0, nu=[1.0, 0.0], pi=[[0.5, 0.0], [0.0, 0.5]], K=[[0.5, 0.5], [0.5, 0.5]]
    )
    assert math.isinf(absent)


def test_theorem_4_of_the_mixing_paper():
    cases = {
        (c["in"]["L"], c["in"]["r"]): c["out"]
        for c in load("dynamics_and_diffusion")["d2.thm4"]["values"]
    }
    compared = 0
    for row in rows("mixing-theorem-4"):
        assert row["corrected"] <= row["printed"] * (1 + 1e-12)
        if (row["lipschitz"], row["steps"]) in cases:
            printed, _, optimum = cases[row["lipschitz"], row["steps"]]
            assert row["printed"] == pytest.approx(printed, rel=1e-9)
            assert row["corrected"] == pytest.approx(optimum, rel=1e-9)
            compared += 1
    assert compared >= 3
    # (3) is (2) along the path whose distances its proof means, and no path beats the optimum
    rng, L, r = np.random.default_rng(4), 0.9, 7
    best = next(x for x in rows("mixing-theorem-4") if (x["lipschitz"], x["steps"]) == (L, r))
    for _ in range(200):
        path = rng.dirichlet(np.ones(r))
        value = mixing_paper.iteration_path(alpha=1.0, L=L, sigma=1.0, distances=path)
        assert value >= best["corrected"] * (1 - 1e-12)
    weights = np.array([L ** (-2 * (r - i)) for i in range(1, r + 1)])
    value = mixing_paper.iteration_path(
        alpha=1.0, L=L, sigma=1.0, distances=weights / weights.sum()
    )
    assert value == pytest.approx(best["corrected"], rel=1e-9)


def test_theorem_5_of_the_mixing_paper():
    for case in load("dynamics_and_diffusion")["d2.thm5"]["values"]:
        given = dict(case["in"])
        r = given.pop("r")
        value = mixing_paper.per_index_appendix(**given, n=r + 1, i=1)
        assert value == pytest.approx(case["out"][0], rel=1e-8)
    made = rows("mixing-theorem-5")
    assert all(row["corrected"] <= row["appendix"] * (1 + 1e-12) for row in made)
    assert made[-1]["appendix"] == pytest.approx(2 / 16)
    assert made[-1]["corrected"] == pytest.approx(2 / 16)


def test_steps_on_public_records_grow_with_the_logarithm_of_the_dimension():
    made = rows("mixing-public-steps")
    assert all(row["mu"] <= 0.5 < row["mu_one_step_fewer"] for row in made)
    needed = {(row["contraction"], row["dimension"]): row["steps"] for row in made}
    assert [needed[c, 1e4] for c in (0.5, 0.9, 0.99)] == [9, 49, 402]
    for c in (0.5, 0.9, 0.99):
        tenfold = math.log(10) / (2 * math.log(1 / c))
        grown = needed[c, 1e6] - needed[c, 1e4]
        assert abs(grown - 2 * tenfold) <= 1
        lengths = [row["noise"] for row in made if row["contraction"] == c]
        assert lengths == pytest.approx([lengths[0]] * len(lengths))  # the error does not grow


def test_the_comparison_along_the_step_size():
    made = rows("modulus-comparison")
    for row in made:
        mended = row["contraction_mended"]
        assert row["certified"] <= min(row["iteration"], mended, row["composition"])
        assert row["contraction"] < mended
    short, long = made[0], made[-1]
    assert short["iteration"] < 0.01 * short["contraction_mended"]  # more gracefully
    assert long["contraction_mended"] < long["iteration"]
    assert made[8]["certified"] == pytest.approx(29.763, rel=1e-3)


def test_mixing_times_lie_between_an_exact_chain_and_the_paper():
    for row in rows("modulus-mixing-times"):
        assert row["exact"] <= min(row["full"], row["poisson"], row["fixed_size"], row["cyclic"])
        assert row["full"] <= 0.36 * row["printed"]
        assert row["composite_exact"] <= row["composite"] < row["full"]


def test_example_2_of_the_mixing_paper():
    by_order = {row["order"]: row for row in rows("mixing-example-2")}
    for case in load("dynamics_and_diffusion")["d2.iterated_laplace"]["values"]:
        given = case["in"]
        if (given["l1"], given["l2"], given["Delta"]) == (1, 2, 1):
            row = by_order[given["alpha"]]
            assert [row["exact"], row["printed"]] == pytest.approx(case["out"][:2], rel=1e-8)
    for row in by_order.values():
        assert row["exact"] <= row["printed"] <= row["one_noise"] <= row["pure"]


def test_theorem_4_of_the_dynamics_paper_promises_more_risk_than_the_plan():
    made = rows("dynamics-theorem-4")
    for row in made:
        assert row["by_lemma_6"] <= row["printed"] * (1 + 1e-9)
        assert row["corrected"] <= row["output_perturbation"] * (1 + 1e-9)
        assert row["corrected"] <= row["no_step"]
    assert made[6]["printed"] / made[6]["corrected"] == pytest.approx(10, rel=1e-2)


def test_the_comparison_with_minami():
    made = rows("sampler-minami")
    assert made[0]["minami"] == pytest.approx(1000 / 0.01)
    assert all(row["certified"] < row["minami"] for row in made)
    steps = [row["certified"] for row in made]
    assert steps == sorted(steps) and steps[-1] > 10 * steps[0]


def test_the_slips_of_the_sampler_paper_differ_from_what_is_meant():
    for exhibit in SLIPS:
        made = rows(exhibit.name)
        names = [name for name in ("printed", "claimed", "route") if name in made[0]]
        other = next(n for n in ("corrected", "certified", "exact") if n in made[0])
        for name in names:
            assert any(abs(row[name] - row[other]) > 1e-3 * abs(row[other]) for row in made)
    for row in rows("sampler-e18"):
        assert row["exact"] <= row["corrected"]
    for name in ("sampler-e10", "sampler-e12"):
        for row in rows(name):
            assert row["exact"] <= row["corrected"] <= row["printed"]
    for row in rows("sampler-e6"):
        assert row["moment"] == pytest.approx(row["corrected"], rel=1e-9)


def test_every_erratum_of_the_sampler_is_drawn_or_said_to_have_no_numbers():
    drawn = {e.name.removeprefix("sampler-") for e in EXHIBITS if e.name.startswith("sampler-e")}
    wordings = {"e5", "e9", "e19", "e20"}
    assert drawn - {"e4-underdamped"} == {f"e{n}" for n in range(1, 22)} - wordings


def test_the_minimiser_of_the_federated_proof_is_no_share():
    for row in rows("federated-theorem-3a")[1:]:
        assert 1 < row["first_share"] <= 1.5
    assert rows("federated-theorem-3a")[1]["first_share"] == pytest.approx(1.2)
    # unconstrained, the minimiser gives the printed bound; with shares in [0, 1] composition
    first = federated_paper.first_share(r=2.0, T=2)
    assert first**2 + (2 * (1 - first) + 1) ** 2 == pytest.approx(1.8)
    shares = np.linspace(0.0, 1.0, 1001)
    assert np.min(shares**2 + (3 - 2 * shares) ** 2) == pytest.approx(2.0)
    assert all(bound.standing is Standing.FALSE for bound in federated_paper.BOUNDS)


def test_lemmas_21_and_22_of_the_sampler_paper_hold_for_gaussians():
    from wane.audit import langevin_law as law

    L, target = 3.0, law.GaussianTarget((3.0,), (1,))
    order, bound = sampler_paper.wide_start(d=1, L=L)
    start = law.diffusion_divergences(target, order=order, time=0.0, start_variance=1.0)[0]
    assert start == pytest.approx((L - 1) / 2 * math.log(L))
    assert start <= bound
    for t in (0.1, 0.5, 1.0):
        later, most = sampler_paper.hypercontraction(alpha0=order, D0=start, t=t)
        found = law.diffusion_divergences(target, order=later, time=t, start_variance=1.0)[0]
        assert found <= most
    # a shifted Gaussian attains Lemma 21
    shifted = law.GaussianTarget((1.0,), (1,), (2.0,))
    start = law.diffusion_divergences(shifted, order=1.5, time=0.0, start_variance=1.0)[0]
    later, most = sampler_paper.hypercontraction(alpha0=1.5, D0=start, t=0.7)
    found = law.diffusion_divergences(shifted, order=later, time=0.7, start_variance=1.0)[0]
    assert found == pytest.approx(most, rel=1e-9)


def test_lemma_c_1_and_corollary_c_3_of_the_cyclic_paper_hold():
    for L, xi in ((1.01, 2.0), (1.5, 1.1), (3.0, 5.0)):
        s = max(1, math.ceil(0.5 * math.log(xi / (xi - 1)) / math.log(L)))
        exact = cyclic_paper.printed_fade(L, s)
        assert exact <= cyclic_paper.fade_bound(L=L, xi=xi, s=s) * (1 + 1e-12)
    # composition, 2 order (lambda C/(b sigma))^2 a use, is never above C.3 where it applies
    rng = np.random.default_rng(3)
    for _ in range(500):
        ell, T = int(rng.integers(1, 30)), int(rng.integers(30, 3000))
        M, m = rng.uniform(0.01, 5.0, size=2)
        epochs = T // ell
        lam = rng.uniform(0.01, 1.0) * min(1 / math.sqrt(epochs), 1 / (2 * (M + m)))
        L = cyclic_paper.lipschitz(lam=lam, m=m, M=M)
        claimed = cyclic_paper.without_epochs(alpha=2.0, C=1.0, b=1, sigma=1.0, L=L, ell=ell)
        assert 2 * 2.0 * lam**2 * -(-T // ell) <= claimed


def test_the_earlier_bounds_quoted_in_the_modulus_paper_are_above_its_own():
    for c, T in ((0.3, 5), (0.99, 50), (1.01, 50), (1.5, 10)):
        known = {"alpha": 2.0, "sigma": 1.0, "D": 1.0, "T": T}
        ours = modulus_paper.geometric_bound(**known, c=c, h=0.0)
        name = "earlier_contraction" if c < 1 else "earlier_expansion"
        assert getattr(modulus_paper, name)(**known, c=c) >= ours
