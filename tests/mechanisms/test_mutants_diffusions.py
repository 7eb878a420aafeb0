"""Diffusions and Laplace noise added twice: formulas with many digits, and their edges."""

import math

import mpmath
import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.mechanisms import BrownianMechanism, IteratedLaplace, OrnsteinUhlenbeckMechanism
from wane.mechanisms.laplace import density, laplace_renyi, log_density
from wane.run.diffusions import shifted

mp = mpmath.mp.clone()
mp.dps = 60


def brownian(**changes):
    return BrownianMechanism(**({"sensitivity": 1.0, "time": 0.5} | changes))


def pulled(**changes):
    settings = {"sensitivity": 1.0, "time": 0.5, "reversion": 1.0}
    return OrnsteinUhlenbeckMechanism(**(settings | changes))


def test_the_process_spreads_by_root_two_unless_it_is_said():
    assert brownian() == brownian(diffusion_scale=1.0)
    assert brownian().noise_std == pytest.approx(1.0)
    assert pulled().noise_std == pytest.approx(math.sqrt(1 - math.exp(-1.0)))


def test_noise_that_no_double_holds_is_refused():
    with pytest.raises(InvalidDescription, match="noise"):
        brownian(time=1e308, diffusion_scale=1e10)
    with pytest.raises(InvalidDescription, match="noise"):
        brownian(time=1e-320, diffusion_scale=1e-10)


def test_mu_is_not_rounded_down_however_late_it_is():
    """Far out mu is e^(-reversion time), and the exponent's own rounding counts."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        reversion = float(10.0 ** rng.uniform(-2, 2))
        time = float(rng.uniform(1.0, 355.0)) / reversion
        made = pulled(reversion=reversion, time=time)
        s = mp.sqrt(mp.expm1(2 * mp.mpf(reversion) * mp.mpf(time)) / mp.mpf(reversion))
        exact = mp.mpf(made.charged_sensitivity) / s
        if exact > mp.mpf("1e-290"):
            assert exact <= made.mu <= exact * (1 + mp.mpf("1e-12"))
    for time, scale in (10.0 ** rng.uniform(-3, 1, (300, 2))).tolist():
        made = brownian(time=time, diffusion_scale=scale)
        exact = mp.mpf(made.charged_sensitivity) / (mp.mpf(scale) * mp.sqrt(2 * mp.mpf(time)))
        assert exact <= made.mu <= exact * (1 + mp.mpf("4e-15"))
    late = pulled(time=372.0)
    assert late.mu == pytest.approx(late.charged_sensitivity * math.exp(-372.0), rel=1e-11)


def test_statistics_that_drown_the_noise_are_refused():
    quiet = brownian(time=1e-30)
    for statistic in (1e10, [0.0, 1e10], [1e10, 0.0]):
        with pytest.raises(InvalidDescription, match="noise"):
            quiet.release(statistic)
    assert quiet.release([0.0]).shape == (1,)
    assert pulled(time=1e-30).release([0.0]).shape == (1,)
    with pytest.raises(InvalidDescription, match="noise"):
        pulled(time=1e-30, norm_bound=1e10)
    with pytest.raises(InvalidDescription, match="noise"):
        pulled(time=5.0, diffusion_scale=1e-18, norm_bound=5.0)


def test_a_process_that_has_forgotten_everything_has_noise_enough():
    assert pulled(time=1e4, norm_bound=5.0).scale == 0.0
    assert pulled(time=1e4).release([1.0]).shape == (1,)


def test_a_position_lost_in_the_noise_is_left_out_as_a_whole():
    noise = np.array([1e-3, 1e3])
    assert shifted(np.ones(2), 1e-308, noise).tolist() == noise.tolist()
    assert shifted(np.ones(2), 0.5, noise).tolist() == pytest.approx([0.501, 1000.5])


def test_errors_of_brownian_motion_need_no_norm():
    made = brownian(dimension=3)
    assert made.mean_squared_error() == pytest.approx(3.0)
    assert made.mean_squared_error(norm=5.0) == pytest.approx(3.0)
    assert made.mean_squared_error(dimension=2) == pytest.approx(2.0)
    with pytest.raises(InvalidDescription, match="dimension"):
        brownian().mean_squared_error(dimension=0)
    with pytest.raises(InvalidDescription, match="norm_bound"):
        pulled(dimension=1).mean_squared_error()
    with pytest.raises(InvalidDescription, match="norm"):
        pulled(dimension=1).mean_squared_error(norm=-0.5)


def test_when_a_pull_is_as_good_as_plain_noise():
    """Equal at reversion R^2 = 4 d diffusion_scale^2, at a time that is nearly none."""
    border = {"time": 1e-17, "norm_bound": 1.0, "dimension": 1}
    assert pulled(reversion=4.0, **border).beats_plain_gaussian()
    assert pulled(reversion=4.0, **border).always_beats_plain_gaussian()
    assert pulled(reversion=8.0, **(border | {"dimension": 2})).always_beats_plain_gaussian()
    for more in (4.001, 4.5):
        assert not pulled(reversion=more, **border).beats_plain_gaussian()
        assert not pulled(reversion=more, **border).always_beats_plain_gaussian()


# Laplace noise


def exact_laplace(order, ratio):
    a, t = mp.mpf(order), mp.mpf(ratio)
    moment = (a * mp.exp((a - 1) * t) + (a - 1) * mp.exp(-a * t)) / (2 * a - 1)
    return mp.log(moment) / (a - 1)


@pytest.mark.parametrize("excess", [1e-9, 1e-4, 0.3, 1.0, 30.0, 1e6])
def test_divergences_of_laplace_variables_are_raised_at_every_order(excess):
    """Near order one a difference of logarithms was 1e-11 short, more than its margin."""
    rng = np.random.default_rng(2)
    for ratio in [*(10.0 ** rng.uniform(-6, 2, 80)).tolist(), 0.999, 1.0, 30.0]:
        exact = exact_laplace(1.0 + excess, ratio)
        assert exact <= laplace_renyi(1.0 + excess, ratio) <= exact * (1 + mp.mpf("1e-13"))
    assert laplace_renyi(1.0 + excess, 0.0) == 0.0


@pytest.mark.parametrize("order", [1.001, 1.5, 40.0])
@pytest.mark.parametrize("ratio", [5.0, 40.0, 3e4])
def test_laplace_noises_that_are_far_apart(order, ratio):
    """Where the moment leaves the range of doubles its logarithm does not."""
    exact = exact_laplace(order, ratio)
    assert exact <= laplace_renyi(order, ratio) <= exact * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize("excess", [1e-9, 0.5, 9.0])
def test_coupled_bounds_are_the_sum_of_their_halves(excess):
    rng = np.random.default_rng(3)
    for first, second in (10.0 ** rng.uniform(-1, 1, (40, 2))).tolist():
        made = IteratedLaplace(1.0, first, second)
        t = mp.mpf(made.intermediate_point(1.0 + excess))
        parts = ((t, first), (1 - t, second))
        exact = mp.fsum(exact_laplace(1.0 + excess, size / mp.mpf(scale)) for size, scale in parts)
        found = made.coupled_renyi(1.0 + excess)
        assert exact * (1 - mp.mpf("1e-15")) <= found <= exact * (1 + mp.mpf("1e-13"))


@pytest.mark.parametrize("order", [1.01, 1.5, 4.0, 30.0])
def test_the_intermediate_point_is_the_best_one(order):
    for first, second in ((1.0, 1.0), (1.0, 2.0), (0.7, 0.6), (0.3, 0.31)):
        made = IteratedLaplace(1.0, first, second)
        best = min(
            laplace_renyi(order, t / first) + laplace_renyi(order, (1.0 - t) / second)
            for t in np.linspace(0.0, 1.0, 201).tolist()
        )
        assert made.coupled_renyi(order) <= best * (1 + 1e-12)


@pytest.mark.parametrize("shift", [0.2, 0.5, 1.0, 1.7, 3.0, 6.0])
def test_near_order_one_the_quadrature_leaves_room_for_its_rounding(shift):
    """The relative entropy of the sum of two equal Laplace variables, with thirty digits."""
    with mpmath.workdps(30):

        def log(x):
            return mpmath.log1p(abs(x)) - abs(x)

        def integrand(x):
            return mpmath.exp(log(x)) / 4 * (log(x) - log(x - shift))

        exact = mpmath.quad(integrand, [-80, -20, -5, 0, shift / 2, shift, 10, 20, 80])
    made = IteratedLaplace(shift, 1.0, 1.0)
    for excess in (1e-9, 3e-9, 7e-9):
        assert exact <= made.continuous_renyi(1.0 + excess) <= exact * (1 + 1e-3)


@pytest.mark.parametrize(("first", "second"), [(5.0, 0.1), (1.0, 1.0), (0.3, 1.0)])
@pytest.mark.parametrize("shift", [0.25, 4.0])
@pytest.mark.parametrize("order", [1.1, 3.0, 40.0])
def test_the_quadrature_reaches_both_tails(first, second, shift, order):
    """Unequal scales: a fine peak on a wide law, against twenty-five digits."""
    large, small = max(first, second), min(first, second)
    with mpmath.workdps(25):
        a, b = mpmath.mpf(large), mpmath.mpf(small)

        def log(x):
            y = abs(x) * (a - b) / (a * b)
            share = -mpmath.expm1(-y) / y if y > 0 else mpmath.mpf(1)
            return mpmath.log1p(abs(x) / a * share) - abs(x) / a - mpmath.log(2 * (a + b))

        def integrand(x):
            return mpmath.exp(order * log(x) + (1 - order) * log(x - shift))

        near = [small * k for k in (0.2, 1.0, 4.0, 15.0)]
        far = [large * k for k in (1.0, 4.0, 12.0, 30.0, 70.0)]
        out = sorted({*near, *far, *(math.sqrt(order) * k * large for k in (0.5, 1, 2, 4))})
        ends = [-x for x in reversed(out)] + [0.0]
        ends += [shift * k / 8 for k in range(1, 8)] + [shift] + [shift + x for x in out]
        exact = mpmath.log(mpmath.quad(integrand, ends)) / (order - 1)
    found = IteratedLaplace(shift, first, second).continuous_renyi(order)
    assert exact * (1 - mpmath.mpf("1e-13")) <= found <= exact * (1 + mpmath.mpf("1e-9"))


def test_beyond_the_largest_order_the_pure_level_answers():
    made = IteratedLaplace(1.0, 1.0, 2.0)
    assert (
        0.5 * (1 - 1e-11)
        <= made.continuous_renyi(2e12)
        == made.coupled_renyi(2e12)
        < made.continuous_pure_epsilon
    )
    assert 0.5 <= made.continuous_pure_epsilon <= 0.5 * (1 + 1e-15)
    assert made.continuous_renyi(1.5) < made.coupled_renyi(1.5) < made.continuous_pure_epsilon


def test_arguments_of_laplace_noise():
    assert isinstance(log_density(1.0, 1.0, 2.0), float)
    assert log_density(np.array([0.0, 1.0]), 1.0, 2.0).shape == (2,)
    for order in (1.0, 0.5):
        with pytest.raises(InvalidDescription, match="order"):
            laplace_renyi(order, 1.0)
        with pytest.raises(InvalidDescription, match="order"):
            IteratedLaplace(1.0, 1.0, 1.0).continuous_renyi(order)
    with pytest.raises(InvalidDescription, match="ratio"):
        laplace_renyi(2.0, -0.5)
    for scale in (0.0, -0.5, 1e100, 1e-100):
        with pytest.raises(InvalidDescription, match="first_scale"):
            density(0.0, scale, 1.0)
