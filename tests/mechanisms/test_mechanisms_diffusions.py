"""Brownian and Ornstein-Uhlenbeck releases: laws, calibration, errors, refusals."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from wane.errors import InvalidDescription, Unreachable, WaneError
from wane.guarantees import GaussianDP
from wane.mechanisms import (
    BrownianMechanism,
    OrnsteinUhlenbeckMechanism,
    Outside,
    PrivacyTarget,
    calibrated_brownian,
    calibrated_ornstein_uhlenbeck,
)

DRAWS = 1_000_000
FIVE_SIGMA = 5.0
CHARGED = 1 + 2.0**-40 + 1e-12
"""Without a bound on the norm, what roundings cost, as a factor on mu."""

positive = st.floats(min_value=1e-6, max_value=1e6)


def ou(**changes):
    given = {"sensitivity": 1.0, "reversion": 0.7, "diffusion_scale": 0.5, "time": 0.4}
    return OrnsteinUhlenbeckMechanism(**{**given, **changes})


@settings(max_examples=300, deadline=None)
@given(positive, positive, positive, st.floats(min_value=1e-9, max_value=300.0))
def test_mu_is_never_below_the_truth(sensitivity, reversion, spread, exponent):
    time = exponent / reversion
    try:
        made = ou(sensitivity=sensitivity, reversion=reversion, diffusion_scale=spread, time=time)
    except InvalidDescription:
        return
    with mpmath.workdps(40):
        theta, rho, t, D = (mpmath.mpf(v) for v in (reversion, spread, time, sensitivity))
        truth = D / (rho * mpmath.sqrt(mpmath.expm1(2 * theta * t) / theta))
        assert truth <= made.mu <= truth * CHARGED + mpmath.mpf(1e-320)
        brownian = BrownianMechanism(sensitivity=sensitivity, time=time, diffusion_scale=spread)
        exact = D / (rho * mpmath.sqrt(2 * t))
        assert exact <= brownian.mu <= exact * CHARGED


def test_slow_reversion_is_brownian_motion():
    made = ou(reversion=1e-12)
    limit = BrownianMechanism(sensitivity=1.0, diffusion_scale=0.5, time=0.4)
    assert made.mu == pytest.approx(limit.mu, rel=1e-11)
    assert made.noise_std == pytest.approx(limit.noise_std, rel=1e-11)


def test_a_positive_leak_never_becomes_zero():
    assert ou(time=3000.0).mu > 0.0


@settings(max_examples=150, deadline=None)
@given(positive, positive, st.integers(1, 10_000), st.floats(0.01, 10.0))
def test_calibration_meets_mu_at_the_optimum(sensitivity, norm_bound, dimension, mu):
    try:
        made = calibrated_ornstein_uhlenbeck(
            PrivacyTarget(mu=mu),
            sensitivity=sensitivity,
            norm_bound=norm_bound,
            dimension=dimension,
            time=0.3,
        )
    except Unreachable:
        return
    assert mu * (1 - 1e-11) <= made.mu <= mu
    found = made.comparison()
    assert found.mechanism == pytest.approx(found.shrunk_gaussian, rel=1e-9)
    assert found.mechanism <= found.plain_gaussian * (1 + 1e-9)
    assert made.scale == pytest.approx(found.best_scale, rel=1e-9)


@pytest.mark.parametrize("factor", [0.8, 0.99, 1.01, 1.3])
def test_no_other_pull_does_better(factor):
    best = calibrated_ornstein_uhlenbeck(
        PrivacyTarget(mu=0.8), sensitivity=1.0, norm_bound=2.0, dimension=3
    )
    reversion = best.reversion * factor
    std = 1.0 / best.mu
    other = ou(
        reversion=reversion,
        time=1.0,
        diffusion_scale=std * math.sqrt(reversion / math.expm1(2 * reversion)),
        norm_bound=2.0,
        dimension=3,
    )
    assert other.mu == pytest.approx(best.mu, rel=1e-12)
    assert other.mean_squared_error() > best.mean_squared_error()


@pytest.mark.parametrize(
    "target",
    [
        PrivacyTarget(epsilon=1.0, delta=1e-6),
        PrivacyTarget(epsilon=0.0, delta=1e-3),
        PrivacyTarget(mu=0.3),
        PrivacyTarget(order=8.0, divergence=0.5),
    ],
    ids=str,
)
def test_every_kind_of_target_is_met(target):
    made = [
        calibrated_ornstein_uhlenbeck(target, sensitivity=0.7, norm_bound=3.0, dimension=4),
        calibrated_brownian(target, sensitivity=0.7, diffusion_scale=2.0),
    ]
    for mechanism in made:
        guarantee = mechanism.guarantee
        if target.delta is not None:
            assert guarantee.delta(target.epsilon) <= target.delta
            assert guarantee.delta(target.epsilon) == pytest.approx(target.delta, rel=1e-9)
        if target.order is not None:
            assert guarantee.renyi(target.order) <= target.divergence
            assert guarantee.renyi(target.order) == pytest.approx(target.divergence, rel=1e-9)
        if target.mu is not None:
            assert guarantee.mu <= target.mu


@pytest.mark.parametrize("process", ["ou", "brownian"])
@pytest.mark.parametrize("mu", [1e-150, 1e-3, 0.2, 1.0, 30.0, 1e150])
def test_time_for_a_level_is_late_enough(process, mu):
    made = ou() if process == "ou" else BrownianMechanism(sensitivity=2.0, time=1.0)
    time = made.time_for(mu)
    assert made.mu_at(time) <= mu
    assert made.mu_at(time * (1 - 1e-6)) > mu


def test_worst_error_is_at_the_edge_of_the_ball():
    made = ou(norm_bound=2.0, dimension=3)
    errors = [made.mean_squared_error(r) for r in (0.0, 1.0, 2.0)]
    assert errors == sorted(errors)
    assert made.mean_squared_error() == errors[-1]
    brownian = BrownianMechanism(sensitivity=1.0, time=0.5, dimension=3, norm_bound=1.0)
    assert brownian.mean_squared_error() == pytest.approx(3.0)
    assert brownian.comparison().plain_gaussian == pytest.approx(3.0)


@settings(max_examples=200, deadline=None)
@given(st.floats(0.01, 5), st.floats(0.01, 5), st.floats(0.01, 5), st.floats(0.1, 10))
def test_when_the_pull_beats_plain_noise(reversion, spread, time, norm_bound):
    made = ou(
        reversion=reversion, diffusion_scale=spread, time=time, norm_bound=norm_bound, dimension=2
    )
    found = made.comparison()
    if abs(found.mechanism / found.plain_gaussian - 1.0) > 1e-9:
        assert made.beats_plain_gaussian() is (found.mechanism < found.plain_gaussian)
    if made.always_beats_plain_gaussian():
        assert made.beats_plain_gaussian()


def test_release_has_the_marginal_law():
    made = ou(norm_bound=5.0)
    statistic = np.full(DRAWS, 4.0 / math.sqrt(DRAWS))
    drawn = made.release(statistic, seed_voids_privacy=1)
    law = made.law(statistic)
    standard = (drawn - law.mean) / law.std
    check_standard_normal(standard)
    other = law.mean + law.std * np.random.default_rng(2).standard_normal(DRAWS)
    assert stats.ks_2samp(drawn, other, method="asymp").pvalue > 1e-3


def check_standard_normal(values):
    n = values.size
    assert abs(values.mean()) < FIVE_SIGMA / math.sqrt(n)
    assert abs((values**2).mean() - 1.0) < FIVE_SIGMA * math.sqrt(2.0 / n)
    assert abs((values**3).mean()) < FIVE_SIGMA * math.sqrt(15.0 / n)
    assert abs((values**4).mean() - 3.0) < FIVE_SIGMA * math.sqrt(96.0 / n)
    assert stats.kstest(values, "norm").pvalue > 1e-3


@pytest.mark.parametrize("kind", ["ou", "brownian"])
def test_paths_have_the_joint_law(kind):
    made = ou() if kind == "ou" else BrownianMechanism(sensitivity=1.0, time=0.4)
    times = [1.3, 0.4, 0.9]
    start = np.full(DRAWS, 1.5)
    points = made.path(start, times, seed_voids_privacy=3)
    order = np.argsort(times)
    clock, before = 0.0, start
    residuals = []
    for place in order:
        span = times[place] - clock
        mean = made.decay_after(span) * before
        residuals.append((points[place] - mean) / math.sqrt(made.variance_after(span)))
        clock, before = times[place], points[place]
        check_standard_normal(residuals[-1])
        marginal = points[place] - made.decay_after(clock) * start
        check_standard_normal(marginal / math.sqrt(made.variance_after(clock)))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.mean(residuals[i] * residuals[j])) < FIVE_SIGMA / math.sqrt(DRAWS)


def test_any_shape_comes_back_in_its_shape():
    made = ou()
    for shape in ((), (3,), (2, 3), (2, 0), (1, 2, 3)):
        released = made.release(np.zeros(shape), seed_voids_privacy=0)
        assert released.shape == shape
        assert released.dtype == np.float64
    assert isinstance(made.release([[1, 2], [3, 4]]), np.ndarray)


def test_the_operating_system_seeds_by_default():
    made = ou()
    assert made.release([0.0, 0.0]).tolist() != made.release([0.0, 0.0]).tolist()


def test_outside_the_ball_refused_or_projected():
    made = ou(norm_bound=1.0)
    with pytest.raises(InvalidDescription, match="norm_bound") as refusal:
        made.release([3.0, 4.0])
    assert "3.0" not in str(refusal.value)
    assert "5" not in str(refusal.value)
    law = made.law([3.0, 4.0], outside=Outside.PROJECT)
    assert law.mean == pytest.approx(made.scale * np.array([0.6, 0.8]), rel=1e-15)
    inside = made.law([0.3, 0.4], outside=Outside.PROJECT)
    assert inside.mean == pytest.approx(made.scale * np.array([0.3, 0.4]), rel=1e-15)
    huge = made.law([3e300, 4e300], outside=Outside.PROJECT)
    assert np.linalg.norm(huge.mean) == pytest.approx(made.scale)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=6, max_size=6))
def test_projection_increases_distances_by_no_more_than_is_charged(numbers):
    made = ou(norm_bound=1.0)
    first, second = np.array(numbers[:3]), np.array(numbers[3:])
    a, b = (made.law(f, outside=Outside.PROJECT).mean / made.scale for f in (first, second))
    charged = made.rounding_charge * (1.0 + 1e-3)  # and the arithmetic of this test
    assert np.linalg.norm(a - b) <= np.linalg.norm(first - second) + charged


def test_paths_never_go_before_the_certified_time():
    with pytest.raises(InvalidDescription, match="times"):
        ou(time=0.4).path([0.0], [0.3, 0.5])


@pytest.mark.parametrize("name", ["sensitivity", "reversion", "diffusion_scale", "time"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, None, "1", True, [1.0]])
def test_bad_parameters_are_refused(name, value):
    with pytest.raises(InvalidDescription, match=name):
        ou(**{name: value})


@pytest.mark.parametrize(
    "call",
    [
        lambda: ou(norm_bound=0.0),
        lambda: ou(dimension=0),
        lambda: ou(dimension=2.5),
        lambda: ou(dimension=2).release([1.0, 2.0, 3.0]),
        lambda: ou().release([math.nan]),
        lambda: ou().release(["a"]),
        lambda: ou().release([[1.0], [1.0, 2.0]]),
        lambda: ou().release([1j]),
        lambda: ou().release([1.0], outside="project"),
        lambda: ou().release([1.0], seed_voids_privacy=-7),
        lambda: ou().mean_squared_error(),
        lambda: ou(dimension=2).mean_squared_error(),
        lambda: ou(dimension=2).mean_squared_error(-1.0),
        lambda: ou(time=1e-320, diffusion_scale=1e-10),
        PrivacyTarget,
        lambda: PrivacyTarget(epsilon=1.0),
        lambda: PrivacyTarget(mu=1.0, epsilon=1.0, delta=0.1),
        lambda: PrivacyTarget(order=1.0, divergence=1.0),
        lambda: PrivacyTarget(epsilon=-1.0, delta=0.1),
        lambda: PrivacyTarget(epsilon=1.0, delta=0.0),
        lambda: PrivacyTarget(epsilon=1.0, delta=1.5),
        lambda: PrivacyTarget(mu=math.nan),
        lambda: calibrated_brownian(PrivacyTarget(epsilon=1.0, delta=1.0), sensitivity=1.0),
        lambda: calibrated_ornstein_uhlenbeck(
            PrivacyTarget(mu=1e-200), sensitivity=1.0, norm_bound=1.0, dimension=1
        ),
    ],
)
def test_bad_requests_are_refused_in_one_line(call):
    with pytest.raises(WaneError) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_the_guarantee_is_gaussian():
    made = ou()
    assert made.guarantee == GaussianDP(made.mu)
    assert made.guarantee.renyi(7.0) == pytest.approx(7.0 * made.intrinsic_sensitivity)
