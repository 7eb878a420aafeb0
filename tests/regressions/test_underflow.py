"""What underflows is raised: nothing that uses a Gaussian may claim pure or perfect privacy."""

import math

import pytest

import wane
from wane.certificates import certificate_document
from wane.guarantees import (
    GaussianDP,
    GaussianMixture,
    GaussianStep,
    NumericalDP,
    Pair,
    PureDP,
    RenyiDP,
    SampledGaussianStep,
    WithFailure,
)
from wane.guarantees.composed import composed_of
from wane.mechanisms import IteratedLaplace, coupling
from wane.mechanisms.laplace import laplace_renyi
from wane.theorems.contraction.recursion import recursion
from wane.theorems.gibbs.transfer import exact_gibbs, exact_gibbs_bounded
from wane.theorems.kernel.amplification import bounded_gaussian, by_doeblin, renyi_by_dobrushin
from wane.verify import verify

BATCHES = [
    wane.WithoutReplacement(2),
    wane.Poisson(2),
    wane.Cyclic(2),
    wane.ShuffledOnce(2),
    wane.FullBatch(),
]


def run(batches, **changes) -> wane.NoisyDescent:
    """Twenty noisy steps in the unit ball."""
    fields = {
        "objective": wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
        "records": 10,
        "steps": 20,
        "step_size": 0.1,
        "noise": wane.GradientNoise(1.0),
        "batches": batches,
        "domain": wane.Ball(1.0),
    }
    return wane.NoisyDescent(**(fields | changes))


@pytest.mark.parametrize("batches", BATCHES, ids=lambda b: b.kind)
def test_no_theorem_claims_pure_privacy(batches):
    """The contraction profiles said delta = 0.0 at epsilon 1e6."""
    verdicts = wane.certify(run(batches)).applicable
    assert any("contraction" in v.analysis.name for v in verdicts) == (batches in BATCHES[:2])
    for verdict in verdicts:
        guarantee = verdict.guarantee
        for epsilon in (1e3, 1e6, 1e300, math.inf):
            assert 0.0 < guarantee.delta(epsilon) < 1e-290, verdict.analysis.name
        assert guarantee.epsilon(0.0) == math.inf, verdict.analysis.name


@pytest.mark.parametrize("steps", [1, 20])
def test_a_contraction_that_underflows_is_raised(steps):
    assert recursion(5e-324, 5e-324, 0.2, steps) > 0.0
    assert recursion(0.5, 5e-324, 1e-300, steps) > 0.0
    assert recursion(5e-324, 0.0, 0.0, steps, start=5e-324) > 0.0
    assert recursion(0.0, 0.0, 0.2, steps) == 0.0
    assert recursion(0.5, 0.0, 0.2, steps) == 0.0


@pytest.mark.parametrize(
    "guarantee",
    [
        GaussianDP(1.0),
        GaussianDP(1e-200),
        GaussianDP(5e-324),
        GaussianMixture((0.0, 1.0), (1.0 - 1e-12, 1e-12)),
        GaussianMixture((0.0, 1e-160), (0.5, 0.5)),
        NumericalDP(((SampledGaussianStep(1.0, 0.1, Pair.REPLACE), 10),)),
        NumericalDP(((SampledGaussianStep(1.0, 1e-300, Pair.ADD_OR_REMOVE), 1),)),
        NumericalDP(((SampledGaussianStep(1e-170, 0.1, Pair.FIXED_SIZE), 10),)),
        NumericalDP(((GaussianStep(1e-10), 3), (SampledGaussianStep(1e-9, 0.1, Pair.REPLACE), 2))),
        RenyiDP.zcdp(5e-324),
        WithFailure(GaussianDP(1.0), 0.0),
    ],
    ids=repr,
)
def test_no_guarantee_that_leaks_claims_pure_privacy(guarantee):
    for epsilon in (0.0, 1e-3, 1e3, 1e6, 1e300, math.inf):
        assert guarantee.delta(epsilon) > 0.0
    assert guarantee.epsilon(0.0) == math.inf
    for order in (1.0 + 1e-9, 2.0, 1e6):
        assert guarantee.renyi(order) > 0.0


@pytest.mark.parametrize("tiny", [1e-200, 5e-324])
def test_formulas_that_underflow_stay_positive(tiny):
    assert exact_gibbs(gradient_sensitivity=tiny, strong_convexity=1e200, temperature=1e200).mu > 0
    assert exact_gibbs(gradient_sensitivity=1e-3, strong_convexity=1e300, temperature=1e300).mu > 0
    assert exact_gibbs_bounded(range_of_difference=tiny, temperature=1e300).renyi(2.0) > 0
    assert laplace_renyi(2.0, tiny) > 0.0
    assert IteratedLaplace(1e-99, 1.0, 1.0).continuous_renyi(2.0) > 0.0
    assert renyi_by_dobrushin(tiny, 1e12, tiny) > 0.0
    assert by_doeblin(0.5, 0.0, tiny).delta > 0.0
    kept = {"epsilon": 1.0, "delta": tiny}
    assert bounded_gaussian(2.0, diameter=tiny, noise_std=1e300, **kept) > 0.0
    assert coupling.iterated_gaussian(tiny, 1e300, 1e300).mu > 0.0
    assert coupling.noisy_chain(tiny, [(1.0, 1e300)]).mu > 0.0


@pytest.mark.parametrize("batches", BATCHES, ids=lambda b: b.kind)
def test_tiny_shifts_are_not_no_shifts(batches):
    """Squares of mu that underflow are not zero."""
    tiny = wane.Objective(gradient_bound=1e-300, smoothness=1.0, strong_convexity=0.0)
    found = wane.certify(run(batches, objective=tiny, noise=wane.GradientNoise(1e20)))
    for verdict in found.applicable:
        assert verdict.guarantee.delta(0.0) > 0.0, verdict.analysis.name
        assert verdict.guarantee.renyi(2.0) > 0.0, verdict.analysis.name


def test_a_large_epsilon_is_verified():
    document = certificate_document(wane.certify(run(wane.Cyclic(2))), epsilon=1e6)
    assert document["delta"] > 0.0
    assert verify(document).verified


def test_iterated_laplace_at_a_huge_order_is_not_short():
    """It was 3.19e-11 below the exact value, computed here with 40 digits beforehand."""
    exact = 0.9999800017955452322727
    assert exact <= IteratedLaplace(1, 1, 1).continuous_renyi(1e10) <= exact * (1.0 + 2e-11)
    assert (
        0.9998001450151669466366 <= IteratedLaplace(1, 1, 1).continuous_renyi(1e8) <= 0.99980014503
    )
    assert IteratedLaplace(1, 1, 1).continuous_renyi(1e300) <= 1.0 + 1e-15


@pytest.mark.parametrize(
    ("rate", "mu", "exact"),
    [
        (5e-324, 0.3, 4.8920585e-319),
        (3.4329336e-317, 0.0839360192604946, 8.362661637e-316),
        (3.8145972524058e-311, 0.00019893040908731873, 3.843324525e-311),
    ],
)
def test_the_power_at_the_smallest_rates(rate, mu, exact):
    """It was 5e-324 wherever it is below 2.2e-308; exact values by 40 digits."""
    assert GaussianDP(mu).true_positive_rate(rate) >= exact


def test_the_least_pure_level_is_not_perfect_privacy():
    assert PureDP(5e-324).delta(0.0) > 0.0
    assert PureDP(1.0).delta(1.0) == 0.0 == PureDP(0.0).delta(0.0)


@pytest.mark.parametrize(
    ("epsilon", "exact"), [(2.7e-12, 3.7500000000056e-14), (2.9999999970000002e-12, 3.74999962e-22)]
)
def test_compositions_of_tiny_pure_levels(epsilon, exact):
    """Losses that e^loss rounds together were 0.2 % and 7 % short; exact: 1/8 (1 - e^(e - 3l))."""
    found = composed_of([PureDP(1e-12)] * 3).delta(epsilon)
    assert exact <= found <= 1.01 * exact


@pytest.mark.parametrize(
    ("mu", "rate", "epsilon", "exact"),
    [
        (3.4048651093789187e-18, 0.002718010839042621, 3.2629096826464537e-21, 2.28766962574e-21),
        (9.48453854451321e-15, 1.3094481102480288e-05, 3.7769995851798504e-20, 3.29354194714e-20),
    ],
)
def test_sampled_steps_that_hardly_tell_anything(mu, rate, epsilon, exact):
    """They were 1.4e-5 short, relatively; exact values by 60 digits."""
    for pair in (Pair.ADD_OR_REMOVE, Pair.FIXED_SIZE):
        found = NumericalDP(((SampledGaussianStep(mu, rate, pair), 1),)).delta(epsilon)
        assert exact * (1.0 - 1e-11) <= found <= 1.001 * exact
