"""The four numbers that theorems use of a record: their table, their rounding, their refusals."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from regressions.exact_laws import mixture_delta
from runs import make_run
from wane import (
    Adjacency,
    Box,
    Cyclic,
    FullBatch,
    GradientNoise,
    InvalidDescription,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
    certify,
)
from wane.describe import LossForm
from wane.describe.objective import shared
from wane.describe.posterior import stacked
from wane.sampling import Losses, OverdampedRun, Posterior, certify_samples

REPLACED, ZERO, ADDED = Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT, Adjacency.ADD_REMOVE
WHOLE = Objective(gradient_bound=3.0)
APART = Objective(gradient_difference_bound=1.0)
BOTH = Objective(gradient_bound=3.0, gradient_difference_bound=1.0)
LOOSE = Objective(gradient_bound=3.0, gradient_difference_bound=9.0)
INF = math.inf


@pytest.mark.parametrize(
    ("objective", "replaced", "null"),
    [(WHOLE, 6.0, 3.0), (APART, 1.0, INF), (BOTH, 1.0, 3.0), (LOOSE, 6.0, 3.0)],
)
def test_sensitivity_and_member(objective, replaced, null):
    assert objective.sensitivity(REPLACED) == replaced
    assert objective.sensitivity(ZERO) == objective.sensitivity(ADDED) == null
    for adjacency in Adjacency:
        assert objective.member(adjacency, Poisson(1)) == null
    fixed = WithoutReplacement(1)
    assert objective.member(REPLACED, fixed) == replaced
    assert objective.member(ZERO, fixed) == max(replaced, null)


def test_change_is_the_least_that_is_known():
    assert WHOLE.change(INF) == LOOSE.change(5.0) == 6.0
    assert APART.change(5.0) == INF
    smooth = replace(BOTH, smoothness=0.5)
    assert 2.0 <= smooth.change(4.0) <= 2.0 * (1 + 1e-15)
    assert smooth.change(INF) == 6.0
    assert replace(APART, smoothness=0.0).change(INF) == 0.0
    weak = replace(APART, holder_exponent=0.5, holder_constant=0.5)
    assert 1.0 <= weak.change(4.0) <= 1.0 + 1e-14
    assert weak.change(INF) == INF
    jump = replace(APART, holder_exponent=0.0, holder_constant=0.5)
    assert jump.change(INF) == 0.5


def test_apart_is_a_difference_and_a_change():
    smooth = replace(BOTH, smoothness=0.5)
    assert 3.0 <= smooth.apart(REPLACED, 4.0) <= 3.0 * (1 + 1e-15)
    assert smooth.apart(REPLACED, 100.0) == 6.0
    assert smooth.apart(ZERO, 4.0) == smooth.apart(ADDED, 4.0) == 3.0
    assert APART.apart(REPLACED, 4.0) == INF


def test_shares_are_rounded_up_and_by_no_more_than_needed():
    rng = np.random.default_rng(0)
    for _ in range(500):
        total, size = float(10 ** rng.uniform(-320, 300)), int(rng.integers(1, 10**6))
        made = shared(total, size)
        assert Fraction(made) * size >= Fraction(total)
        assert Fraction(math.nextafter(made, 0.0)) * size < Fraction(total)


# ---- what is refused, with the cure ----------------------------------------------------------


def described(objective, **changes):
    return make_run(objective=objective, noise=GradientNoise(0.1), **changes)


@pytest.mark.parametrize("known", [{"strong_convexity": 0.1}, {"dissipativity": (1.0, 0.1)}])
def test_no_bounded_gradient_bends_for_ever(known):
    with pytest.raises(InvalidDescription, match=r"ridge.*gradient_difference_bound"):
        described(Objective(gradient_bound=1.0, **known))
    described(Objective(gradient_bound=1.0, clipped=True, **known))
    described(Objective(gradient_difference_bound=1.0, **known))


def test_a_parabola_on_an_interval_is_not_refused():
    """Its gradient is as long as half the side times its curvature, and no bound is smaller."""
    box = Box(-1.3, 1.3, dimension=1)
    described(Objective(gradient_bound=0.1 * 1.3, strong_convexity=0.1), domain=box)
    with pytest.raises(InvalidDescription, match="at most"):
        described(Objective(gradient_bound=0.1 * 1.3 * 0.999, strong_convexity=0.1), domain=box)
    wide = Box(-2, 2, dimension=1)  # (x^2 - 1)^2/4 has kappa = 1 with lambda = 4, and slope 6
    described(Objective(gradient_bound=6.0, dissipativity=(4.0, 1.0)), domain=wide)
    described(Objective(gradient_bound=1.5, dissipativity=(4.0, 1.0)), domain=wide)
    with pytest.raises(InvalidDescription, match="dissipativity"):
        described(Objective(gradient_bound=1.49, dissipativity=(4.0, 1.0)), domain=wide)


@pytest.mark.parametrize("m", [-1.01, 1.01, -3.0])
def test_curvature_lies_within_smoothness(m):
    with pytest.raises(InvalidDescription, match="strong_convexity must lie between"):
        Objective(smoothness=1.0, strong_convexity=m)
    with pytest.raises(InvalidDescription, match="holder_constant"):
        Objective(holder_exponent=1.0, holder_constant=1.0, strong_convexity=m)
    Objective(smoothness=abs(m), strong_convexity=m)


def test_a_multiplier_needs_the_whole_gradient():
    with pytest.raises(InvalidDescription, match="gradient_bound"):
        make_run(objective=APART, noise=NoiseMultiplier(1.0))


@pytest.mark.parametrize(
    "batches", [FullBatch(), Cyclic(5), ShuffledOnce(5), WithoutReplacement(5)]
)
def test_differences_are_enough_to_replace_a_record(batches):
    smooth = replace(APART, smoothness=0.5, strong_convexity=0.1)
    run = described(smooth, batches=batches)
    half = described(
        Objective(gradient_bound=0.5, smoothness=0.4, strong_convexity=0.0, ridge=0.1),
        batches=batches,
    )
    assert certify(run).epsilon(1e-5) == pytest.approx(certify(half).epsilon(1e-5), rel=1e-6)
    assert not certify(replace(run, adjacency=ZERO)).applicable
    assert not certify(replace(run, adjacency=ADDED)).applicable


def test_a_coin_needs_the_whole_gradient():
    assert not certify(described(APART, batches=Poisson(5))).applicable
    assert certify(described(BOTH, batches=Poisson(5))).applicable


def test_hidden_batches_of_fixed_size_that_share_a_steep_slope():
    """Slopes 5 and 5 +- 1/2 with a ridge, nothing else known: exact mixtures of 256 normal laws."""
    eta, ridge, noise, steps = 0.5, 0.6, 0.4, 8
    keep = 1 - eta * ridge
    laws = []
    for way in (1, -1):
        law = []
        for coins in itertools.product((0, 1), repeat=steps):
            mean = 0.0
            for coin in coins:
                mean = keep * mean - eta * (5.0 + 0.5 * way * coin)
            law.append((0.5**steps, mean))
        laws.append(law)
    std = eta * noise * math.sqrt(sum(keep ** (2 * t) for t in range(steps)))
    run = NoisyDescent(
        objective=Objective(gradient_difference_bound=1.0, smoothness=0.0, ridge=ridge),
        records=2,
        steps=steps,
        step_size=eta,
        noise=GradientNoise(noise),
        batches=WithoutReplacement(1),
    )
    certificate = certify(run)
    assert "fixed_size_last_iterate" in {v.analysis.name for v in certificate.applicable}
    for epsilon in (0.0, 0.5, 2.0):
        exact = mixture_delta(*laws, epsilon, std)
        for verdict in certificate.applicable:
            assert verdict.guarantee.delta(epsilon) >= exact, verdict.analysis.name


# ---- several chains, one record more ----------------------------------------------------------


def test_chains_side_by_side_have_the_constants_of_their_sum():
    """|x|^(3/2)/(3/2) and the double well, k copies of each, at random pairs of points."""
    rng, k = np.random.default_rng(1), 5
    weak = stacked(Objective(holder_exponent=0.5, holder_constant=math.sqrt(2)), k)
    far = stacked(Objective(dissipativity=(4.0, 1.0)), k)
    worst = tight = 0.0
    for _ in range(2000):
        x, y = rng.normal(size=(2, k)) * 10 ** rng.uniform(-2, 1)
        d = np.linalg.norm(x - y)
        change = np.sign(x) * np.sqrt(abs(x)) - np.sign(y) * np.sqrt(abs(y))
        worst = max(worst, np.linalg.norm(change) / d**0.5 / weak.holder_constant)
        dot = ((x**3 - x) - (y**3 - y)) @ (x - y)
        assert dot >= far.dissipativity[1] * d**2 - far.dissipativity[0]
    both = np.full(k, 0.3)  # all chains alike: no smaller constant would do
    tight = np.linalg.norm(2 * np.sqrt(both)) / np.linalg.norm(2 * both) ** 0.5
    assert worst <= 1.0
    assert weak.holder_constant == pytest.approx(tight, rel=1e-12)
    assert stacked(BOTH, 4).gradient_bound == pytest.approx(6.0)
    assert stacked(BOTH, 4).gradient_difference_bound == pytest.approx(2.0)
    assert stacked(replace(BOTH, form=LossForm.GLM), 1).form is LossForm.GENERAL


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_target_holds_for_every_neighbour(adjacency):
    """Losses k (x - z)^2/2 with |z| <= r, and n - 1, n or n + 1 of them at the divisor n."""
    n, k, r, prior = 4, 0.7, 2.0, 0.3
    losses = Losses(
        objective=Objective(smoothness=k, strong_convexity=k),
        dimension=1,
        laplacian_lipschitz=0.5,
        height_at_start=k * r**2 / 2,
    )
    posterior = Posterior(losses=losses, records=n, prior_precision=prior, adjacency=adjacency)
    counts = {REPLACED: (n,), ZERO: (n - 1, n), ADDED: (n - 1, n, n + 1)}[adjacency]
    ridge = prior / n
    curvatures = [k * count / n + ridge for count in counts]
    assert posterior.target.strong_convexity <= min(curvatures)
    assert posterior.target.smoothness >= max(curvatures)
    assert posterior.target.laplacian_lipschitz >= 0.5 * max(counts) / n
    minimisers = [k * r * count / n / (k * count / n + ridge) for count in counts]
    assert posterior.start.distance >= max(minimisers)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_start_holds_for_every_neighbour_of_linear_losses(adjacency):
    """Slopes up to C: n + 1 of them at the divisor n move the minimiser further."""
    losses = Losses(
        objective=Objective(gradient_bound=2.0, smoothness=0.0, strong_convexity=0.0), dimension=1
    )
    posterior = Posterior(losses=losses, records=4, prior_precision=0.5, adjacency=adjacency)
    most = 5 if adjacency is ADDED else 4
    assert posterior.start.distance >= 2.0 * most / 4 / (0.5 / 4)
    assert posterior.start.distance <= 2.0 * most / 4 / (0.5 / 4) * (1 + 1e-12)


def test_members_of_unbounded_range_say_nothing_of_losses_that_have_one():
    """A lower bound stood above the certified epsilon: linear losses have no bounded range."""
    losses = Losses(
        objective=Objective(gradient_bound=100.0, smoothness=1.0, strong_convexity=-0.5),
        dimension=2,
        range_of_loss=0.1,
        height_at_start=0.1,
    )
    posterior = Posterior(losses=losses, records=10, prior_precision=100.0, temperature=10.0)
    run = OverdampedRun(posterior=posterior, step_size=1e-5, steps=10**6)
    assert certify(run.descent).lower_bound_epsilon(1e-5) > certify_samples(run).epsilon(1e-5)
    assert certify_samples(run).lower_bound_epsilon(1e-5) is None
