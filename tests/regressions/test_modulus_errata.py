"""Errata of bravo2025modulus: the printed statement failing, the certificate holding."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from laws.chains import Chain, Loss, hockey_stick, renyi
from wane import mixing
from wane.describe import (
    GradientNoise,
    LossForm,
    NoisyDescent,
    Objective,
    Poisson,
    Temperature,
    WithoutReplacement,
)
from wane.describe.domains import Diameter
from wane.numerics.normal import gaussian_delta
from wane.numerics.sampled_gaussian import renyi_replace
from wane.theorems.contraction.statement import poisson_contraction
from wane.theorems.lemmas import loss_moduli as rows, modulus_programme as programme
from wane.theorems.lemmas.loss_moduli import Batch, is_convex, step_modulus
from wane.theorems.lemmas.moduli import AffineSquare
from wane.theorems.lemmas.sampled_plan import SampledPlan
from wane.theorems.lemmas.sampled_steps import binomial_tail
from wane.theorems.modulus.statement import last_iterate_modulus
from wane.theorems.sampled.statement import fixed_size_last_iterate, poisson_last_iterate
from wane_papers.modulus import printed
from wane_papers.modulus.printed import Standing


def linear(C: float) -> Loss:
    return Loss("linear", lambda x: 0.0 * x, {"gradient_bound": C, "strong_convexity": 0.0})


def guarantee(analysis, run):
    return analysis(run).guarantee


def divergence(log_p, log_q, order):
    """Renyi divergence of densities on one grid."""
    norm = special.logsumexp(log_p)
    return float(special.logsumexp(order * log_p + (1 - order) * log_q) - norm) / (order - 1)


def test_e1_sampled_gaussian_in_the_wrong_direction():
    """A record drawn rarely and seen at once: the printed minimum is below the divergence."""
    rate, shift = 1e-3, 3.0
    z = np.linspace(-10, 10, 20_001)

    def mixture(sign):
        # quadratic losses with eta = 1/beta forget the past: the last step is all that is seen
        return np.logaddexp(
            math.log1p(-rate) - 0.5 * z**2, math.log(rate) - 0.5 * (z - sign * shift) ** 2
        )

    exact = [divergence(mixture(1), mixture(-1), order) for order in (4, 10, 32)]
    claims = [
        printed.poisson_min_over_steps(alpha=a, q=rate, shift=shift, D=20.0, noise_std=1.0, T=2000)
        for a in (4, 10, 32)
    ]
    assert claims == pytest.approx([2.530, 4.001, 8.401], abs=2e-3)
    assert all(e > c for e, c in zip(exact, claims, strict=True))
    assert printed.poisson_min_over_steps.standing is Standing.FALSE
    for order, value in zip((4, 10, 32), exact, strict=True):
        assert renyi_replace(order, rate, shift) >= value * (1 - 1e-9)


def test_e2_large_batches_have_another_modulus():
    """Three records in a batch of nominal size one: the jump is three times the printed one."""
    objective = Objective(gradient_bound=1.0, strong_convexity=0.0)
    eta = 0.1
    jump = 2 * eta * 3  # |x| on both sides of zero
    assert jump**2 > rows.nonsmooth_convex(eta, 2.0).offset
    three = step_modulus(objective, Batch(eta, 1, 0, 3))
    assert isinstance(three, AffineSquare)
    assert three.offset >= jump**2 * (1 - 1e-12)
    run = NoisyDescent(
        objective=objective,
        records=50,
        steps=100,
        step_size=eta,
        noise=GradientNoise(1.0),
        batches=Poisson(1),
        domain=Diameter(1.0),
    )
    cap, exceeded = SampledPlan(run).cap(1e-5)
    assert cap > 1
    assert 0 < exceeded * 100 <= 1e-8
    assert exceeded >= binomial_tail(49, 0.02, cap)


def test_e3_weak_smoothness_on_the_domain_only():
    """A flat box: the printed modulus is below the true one, and so is its one-step divergence."""
    w, eta, p = 1e-7, 1.0, 0.5
    C = w**-0.45
    hessian = np.array([[1 / C, 1.0], [1.0, C]])
    d = np.array([1.0, 0.0])
    moved = float(np.linalg.norm(d - eta * hessian @ d)) ** 2
    M = 1.01
    claim = 1.0 + printed.weak_smoothness_offset(eta=eta, M=M, p=p)
    assert moved == pytest.approx(1.999, abs=1e-3)
    assert claim < 1.1 < moved
    assert moved / (2 * 0.02**2) > claim / (2 * 0.02**2)  # Kullback-Leibler of one step
    declared = {"strong_convexity": 0.0, "holder_exponent": p, "holder_constant": M}
    honest = step_modulus(Objective(**declared), Batch(eta, 1, 1, 1))
    assert honest(1.0) ** 2 >= moved
    everywhere = step_modulus(Objective(**declared, holder_everywhere=True), Batch(eta, 1, 1, 1))
    assert everywhere(1.0) ** 2 < moved  # which is why the flag must be declared


def test_e4_condition_on_delta():
    A, L, b, n, delta = 1.0, 10.0, 1, 100, 1e-8
    sigma = 2 * math.sqrt(10) * L / b
    _, simplified = printed.log_delta_limit(A=A, sigma=sigma, b=b, L=L, n=n)
    order = 1 + sigma * math.sqrt(math.log(1 / delta) / A)
    assert math.log(1 / delta) <= simplified  # the printed test passes
    assert order > 20 * printed.nonconvex_order_limit(n=n, b=b, L=L, sigma=sigma)
    claimed = 52 * order * L**2 / (n**2 * sigma**2)
    true = renyi_replace(order, b / n, 2 * math.sqrt(2) * L / (b * sigma))
    assert true > 20 * claimed


def test_e5_contraction_constant():
    D, eta, L, sigma, q, delta = 2.0, 0.5, 1.0, 2.0, 0.1, 1e-6
    claim, _ = printed.contraction_epsilon(D=D, eta=eta, L=L, sigma=sigma, q=q, delta=delta)
    r = (D / eta + 2 * L) / sigma

    def derived(epsilon):  # the derivation's own delta, with theta replaced by its upper bound
        theta = float(special.ndtr(r / 2 - epsilon / r))
        return theta * q / (1 - theta * (1 - q))

    assert derived(claim) > 2 * delta
    run = NoisyDescent(
        objective=Objective(gradient_bound=L),
        records=10,
        steps=10**6,
        step_size=eta,
        noise=GradientNoise(sigma),
        batches=Poisson(1),
        domain=Diameter(D),
    )
    chain = Chain(replace(run, steps=50), linear(L), D / 2)
    first, second = chain.laws()
    ours = guarantee(poisson_contraction, run)
    for epsilon in (0.0, 0.5, 2.0):
        assert hockey_stick(first, second, epsilon) <= ours.delta(epsilon)


def test_e6_one_step_total_variation():
    D, eta, L = 1.0, 8.0, 1.0
    claim = printed.one_step_kappa(D=D, eta=eta, L=L)
    exact = 2 * float(special.ndtr((2 * eta * L - 0.0) / math.sqrt(2 * eta) / 2)) - 1
    assert exact == pytest.approx(0.9545, abs=1e-4)  # |x| from both sides of zero
    assert claim < 0.2 < exact
    assert mixing.total_variation(mixing.one_step_value(D, eta, L)) >= exact
    run = NoisyDescent(
        objective=Objective(gradient_bound=L, strong_convexity=0.0),
        records=1,
        steps=1,
        step_size=eta,
        noise=Temperature(1.0),
        domain=Diameter(D),
    )
    assert mixing.mixing(run, 0.9).block_tv >= exact


def test_e7_sampling_rate_of_the_printed_bound():
    """The lemma behind Theorem 5.2 needs q <= 1/5, which the theorem does not say."""
    assert "b < n/5 (not stated)" in printed.poisson_bound.assumes
    assert "q <= 1/5" in printed.sampled_bound.assumes
    assert printed.poisson_bound.standing is Standing.UNPROVED
    for rate in (0.3, 0.9):
        run = NoisyDescent(
            objective=Objective(gradient_bound=1.0, smoothness=0.1, strong_convexity=0.0),
            records=10,
            steps=3,
            step_size=1.0,
            noise=GradientNoise(3.0),
            batches=Poisson(round(10 * rate)),
            domain=Diameter(2.0),
        )
        loss = Loss("flat", lambda x: 0.1 * x, {})
        first, second = Chain(run, loss, 1.0).laws()
        assert renyi(first, second, 4.0) <= guarantee(poisson_last_iterate, run).renyi(4.0)


def test_e8_fixed_size_needs_twice_the_shift():
    """One record of ten at each step: the replaced record counts as well."""
    q, z, order = 0.1, 1.0, 8.0
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0),
        records=10,
        steps=1,
        step_size=1.0,
        noise=GradientNoise(z),
        batches=WithoutReplacement(1),
        domain=Diameter(40.0),
    )
    # the others pull one way; the differing record the other way, or the same way as they do
    x = np.linspace(-40, 40, 80_001)

    def law(shifts):
        return special.logsumexp([math.log(w) - 0.5 * (x - s) ** 2 for w, s in shifts], axis=0)

    exact = divergence(law([(0.9, 1.0), (0.1, -1.0)]), law([(0.9, 1.0), (0.1, 1.0)]), order)
    assert exact > renyi_replace(order, q, 1 / z)  # a shift of C alone is not enough
    assert exact <= renyi_replace(order, q, 2 / z)
    assert guarantee(fixed_size_last_iterate, run).renyi(order) >= exact


def test_e9_restarts_keep_the_bound_from_growing():
    D, h = 2.0, 0.16
    early = printed.harmonic_bound(alpha=1, sigma=1.0, D=D, h=h, T=10**3)
    late = printed.harmonic_bound(alpha=1, sigma=1.0, D=D, h=h, T=10**6)
    assert late > early
    ours = [programme.least_constant(0.0, h, 1.0, D, T)[1] for T in (10**3, 10**6)]
    assert ours[0] == ours[1]
    assert ours[1] == pytest.approx(0.7706, abs=1e-4)
    assert programme.constant_value(0.0, h, 1.0, D, 10**6) == pytest.approx(2.3028, abs=1e-4)


def test_e10_strongly_convex_factor():
    eta, kappa, beta = 1.0, 0.2, 1.0
    assert printed.strongly_convex_factor(eta=eta, kappa=kappa, beta=beta) > 1
    ours = rows.strongly_convex_smooth(eta, kappa, beta).factor
    assert ours == pytest.approx(0.64)
    curvature = np.linspace(kappa, beta, 100)
    assert np.all((1 - eta * curvature) ** 2 <= ours)


def test_e11_sums_are_not_averages():
    """A sum of n weakly smooth losses has n times the constant."""
    eta, n = 0.2, 5
    one, many = (rows.weakly_smooth(eta, M, 0.5).offset for M in (1.0, n * 1.0))
    assert many > one * n
    objective = Objective(
        strong_convexity=0.0, holder_exponent=0.5, holder_constant=1.0, holder_everywhere=True
    )
    summed = step_modulus(objective, Batch(eta, 1, n, n))
    assert summed(10.0) ** 2 - 100.0 == pytest.approx(many, rel=1e-6)


def test_e12_clipping_may_destroy_convexity():
    hessian = np.diag([1.0, 0.05])
    rng = np.random.default_rng(0)

    def clipped(x):
        g = x @ hessian
        return g / np.maximum(np.linalg.norm(g, axis=-1, keepdims=True), 1.0)

    x = rng.normal(size=(200_000, 2)) * [1.5, 25.0]
    y = x + rng.normal(size=x.shape) * 0.05
    stretch = np.linalg.norm(x - y - clipped(x) + clipped(y), axis=1)
    worst = float(np.max(stretch / np.linalg.norm(x - y, axis=1)))
    assert worst > 1.1  # the step of a smooth convex loss would not expand at all
    loss = {"gradient_bound": 1.0, "smoothness": 1.0, "strong_convexity": 0.0}
    assert not is_convex(Objective(**loss, clipped=True))
    assert is_convex(Objective(**loss, clipped=True, form=LossForm.GLM))
    modulus = step_modulus(Objective(**loss, clipped=True), Batch(1.0, 1, 1, 1))
    distance = np.linalg.norm(x - y, axis=1)
    slope, intercept = modulus.tangents(distance**2)
    assert np.all(stretch**2 <= (slope * distance**2 + intercept) * (1 + 1e-12))


def test_e13_composition_is_eight_times_cheaper():
    order, n, b, C, s = 2.0, 1000, 100, 1.0, 0.2
    per_step = 16 * order * C**2 / (n * s) ** 2
    assert renyi_replace(order, b / n, C / (b * s)) < per_step / 7.9
    run = NoisyDescent(
        objective=Objective(gradient_bound=C, smoothness=0.1, strong_convexity=0.0),
        records=n,
        steps=100,
        step_size=0.1,
        noise=GradientNoise(s),
        batches=Poisson(b),
        domain=Diameter(1.0),
    )
    assert guarantee(poisson_last_iterate, run).renyi(order) <= 100 * per_step / 7.9


def test_contractive_losses_are_not_taken_at_the_cap():
    """One other record whose step forgets everything, drawn rarely: c at the cap would be zero."""
    L, q, ratio = 1.0, 0.05, 0.5
    eta, b = 0.5, 1
    run = NoisyDescent(
        objective=Objective(gradient_bound=L, smoothness=2.0, strong_convexity=0.0),
        records=20,  # q = 1/20; the other nineteen do nothing
        steps=20,
        step_size=eta,
        noise=GradientNoise(ratio * L / b),
        batches=Poisson(1),
        domain=Diameter(2 * eta * L / b),
    )
    assert SampledPlan(run).rate == q
    for cap in (1, 5, 19):
        modulus = step_modulus(run.objective, Batch(eta, 1, 0, cap))
        assert modulus(1.0) >= 1.0  # an empty batch forgets nothing
    first, second = Chain(run, linear(L), eta * L / b).laws()
    ours = guarantee(poisson_last_iterate, run)
    for epsilon in (0.0, 0.2):
        assert hockey_stick(first, second, epsilon) <= ours.delta(epsilon)
    assert hockey_stick(first, second, 0.0) > 0.0477  # what the false rule claimed


def test_full_batch_certificate_holds_for_every_erratum_loss():
    for loss in (linear(1.0), Loss("abs", np.sign, {"gradient_bound": 1.0, "strong_convexity": 0})):
        run = NoisyDescent(
            objective=Objective(**loss.declared),
            records=4,
            steps=20,
            step_size=0.3,
            noise=GradientNoise(1.0),
            domain=Diameter(2.0),
        )
        first, second = Chain(run, loss, 1.0).laws()
        ours = guarantee(last_iterate_modulus, run)
        assert renyi(first, second, 4.0) <= ours.renyi(4.0)


def test_printed_bounds_say_what_they_are():
    assert len(printed.BOUNDS) >= 18
    for bound in printed.BOUNDS:
        assert bound.place and bound.assumes and bound.because
    assert gaussian_delta(0.0, 1.0) > 0
