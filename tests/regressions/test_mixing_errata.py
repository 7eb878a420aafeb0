"""Mistakes in the paper on mixing and diffusion mechanisms: as printed they fail, ours hold.

Names follow our list of errata, E2.1 to E2.8.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP
from wane.mechanisms import (
    MarkovKernel,
    OrnsteinUhlenbeckMechanism,
    PrivacyTarget,
    calibrated_ornstein_uhlenbeck,
    constant_chain,
    intrinsic,
    per_index_sgd,
    public_steps_needed,
)
from wane.theorems.kernel import amplification

EXACT = 1e-12


def test_E2_1_threshold_coefficients_do_not_imply_dobrushin():
    """The paper has (g, eps)-Dobrushin imply g-Dobrushin; it is the other way round."""
    kernel = MarkovKernel.randomized_response(1.0)
    assert kernel.dobrushin_at(1.0) <= 1e-14
    assert kernel.dobrushin == pytest.approx(math.tanh(0.5), rel=EXACT)
    assert kernel.dobrushin_at(1.0) < kernel.dobrushin

    # As printed, the kernel would be 0-Dobrushin and wipe out delta.
    printed = amplification.by_dobrushin(kernel.dobrushin_at(1.0), 0.1, 0.2).delta
    first, second = np.array([0.2, 0.8]), np.array([0.0, 1.0])
    rows = kernel.matrix
    gap = first @ rows - math.exp(0.1) * (second @ rows)
    truth = float(np.maximum(gap, 0.0).sum())
    assert truth == pytest.approx(0.064139, rel=1e-4)
    assert printed < 1e-14 < truth
    ours = kernel.amplified_delta(0.1, epsilon=0.1, delta=0.2)
    assert truth <= ours <= truth * (1 + EXACT)


def test_E2_2_per_index_guarantee_needs_the_order():
    """The main text bounds the divergence of order a by eps_i; the appendix by a eps_i."""
    order, noise_std, gradient_bound = 10.0, 1.0, 1.0
    curvature, reach = 0.01, 20.0
    centre = gradient_bound / curvature - reach  # gradients curvature (x -+ centre)
    gap = curvature * 2 * centre
    exact = order * (gap / noise_std) ** 2 / 2  # the last step, whose mean moves by the gap
    assert exact == pytest.approx(12.8)
    printed = 2 * gradient_bound**2 / noise_std**2
    assert printed < exact <= order * printed
    known = {"noise_std": noise_std, "contraction": 1 - curvature}
    ours = per_index_sgd(0, gradient_gap=2 * gradient_bound, **known)
    assert exact <= ours.renyi(order) <= order * printed * (1 + EXACT)
    assert per_index_sgd(0, gradient_gap=gap, **known).renyi(order) == pytest.approx(exact)


def test_E2_3_the_equation_is_driven_by_sqrt_2_times_rho():
    """The paper's equation has sqrt(2 rho) dW; its kernel and its privacy belong to sqrt(2) rho."""
    theta, rho, t = 0.5, 2.0, 1.5
    made = OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=theta, diffusion_scale=rho, time=t)

    def simulated_variance(drive):
        """Variance of Euler steps with this coefficient of dW: a recursion, exact for them."""
        steps, variance = 20_000, 0.0
        h = t / steps
        for _ in range(steps):
            variance = (1 - theta * h) ** 2 * variance + drive**2 * h
        return variance

    printed = simulated_variance(math.sqrt(2 * rho))
    ours = simulated_variance(math.sqrt(2) * rho)
    assert ours == pytest.approx(made.noise_std**2, rel=1e-3)
    assert printed < 0.51 * made.noise_std**2
    # Simulating the printed equation while claiming the printed privacy would be false.
    assert made.scale / math.sqrt(printed) > made.mu * 1.4


def test_E2_4_interpolation_weights_and_expanding_maps():
    """The weights are divided by 1 - L^r, not 1 - L; and chains with L > 1 do amplify."""
    slope, steps = 0.9, 5
    assert (1 - slope**steps) / (1 - slope) == pytest.approx(4.0951)  # printed: not a weight
    assert (1 - slope**steps) / (1 - slope**steps) == 1.0

    values = [
        constant_chain(1.0, steps=r, lipschitz=1.2, noise_std=1.0).mu ** 2 for r in (1, 2, 5, 50)
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(1.2**2 - 1, rel=1e-6)
    for r, value in zip((1, 2, 5, 50), values, strict=True):
        linear = 1.2 ** (2 * r) / sum(1.2 ** (2 * k) for k in range(r))
        assert linear * (1 - 1e-14) <= value <= linear * (1 + 1e-11)


def test_E2_5_displays_in_the_proofs():
    """Decomposition of Theorem 13, and the last display of Theorem 8."""
    mu, nu, epsilon = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5]), 0.3
    share = float(np.maximum(mu - math.exp(epsilon) * nu, 0.0).sum())
    common = np.minimum(mu, math.exp(epsilon) * nu)
    moved = 1 + math.expm1(epsilon) / share  # the threshold of the exact formula
    first = (mu - common) / share
    second = (nu - common * math.exp(-epsilon) * 1.0) * math.exp(epsilon) / share / moved
    left, right = mu - math.exp(epsilon) * nu, share * (first - moved * second)
    assert left == pytest.approx(right, abs=EXACT)
    assert moved == pytest.approx(amplification.threshold(epsilon, share), rel=EXACT)

    # Theorem 8: R = 2 and y = d Delta^2/(2 eps) = 3.
    R, y = 2.0, 3.0
    printed = (R**2 * (y / R**2) ** 2 + R**4 * (y / R**2)) / (R**2 + y) ** 2
    truth = (R**2 * y**2 + R**4 * y) / (R**2 + y) ** 2
    assert printed == pytest.approx(0.2908, rel=1e-3)
    assert truth == pytest.approx(1.7143, rel=1e-4)
    made = calibrated_ornstein_uhlenbeck(
        PrivacyTarget(mu=1.0), sensitivity=1.0, norm_bound=R, dimension=3
    )
    # the rounding of the statistic is charged, a share of 2^-40
    assert made.mean_squared_error() == pytest.approx(truth, rel=1e-11)


def test_E2_6_laws_that_do_not_merge_are_refused():
    """A process pushed away from a mirror keeps its memory: the integral alone is too small."""
    t = 0.5

    def folded(y, start, s):
        """Density of the reflected process: the sum of a normal density and its mirror image."""
        std = math.sqrt(math.expm1(2 * s))
        mean = start * math.exp(s)
        return stats.norm.pdf(y, mean, std) + stats.norm.pdf(y, -mean, std)

    def rate(s):
        """The largest squared slope of the log ratio, over positions."""
        y = np.linspace(0.0, 40.0, 4001) * math.sqrt(math.expm1(2 * s))
        a = math.exp(s) / math.expm1(2 * s)
        return float(np.max((a * np.tanh(a * y)) ** 2))

    def remaining(s):
        """Half the divergence of order two, by quadrature."""
        std = math.sqrt(math.expm1(2 * s))
        y = np.linspace(0.0, 40.0 * std, 200_001)
        ratio = folded(y, 1.0, s) ** 2 / np.maximum(folded(y, 0.0, s), 1e-300)
        return 0.5 * math.log(float(integrate.trapezoid(ratio, y)))

    # the only measure without flux through the mirror is exp(x^2/2): p' - x p = 0
    printed = integrate.quad(rate, t, 16.0)[0]
    assert printed == pytest.approx(0.2910, abs=1e-4)
    assert remaining(t) == pytest.approx(0.4651, abs=1e-4)
    assert printed < remaining(t)
    with pytest.raises(NoTheoremApplies, match="not merged"):
        intrinsic.intrinsic_sensitivity(rate, remaining, time=t, horizon=16.0)
    ours = intrinsic.finite_horizon(rate, remaining, time=t, horizon=16.0)
    assert remaining(t) <= ours <= 1.1 * remaining(t)
    with pytest.raises(InvalidDescription, match="reversion"):
        OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=-1.0, time=t)


@pytest.mark.parametrize(
    ("d", "Delta", "R", "eps", "worst"),
    [(10, 1.0, 1.0, 0.1, 5.08), (100, 2.0, 5.0, 0.05, 15.0)],
)
def test_E2_7_the_suggested_parameters_are_not_better_at_every_time(d, Delta, R, eps, worst):
    """The second choice of Theorem 8 violates the hypothesis of the first half."""
    made = calibrated_ornstein_uhlenbeck(
        PrivacyTarget(mu=math.sqrt(2 * eps)), sensitivity=Delta, norm_bound=R, dimension=d
    )
    assert not made.always_beats_plain_gaussian()
    assert made.beats_plain_gaussian()  # at time one the claim is true

    def ratio(time):
        found = made.at(time).comparison()
        return found.mechanism / found.plain_gaussian

    largest = max(ratio(t) for t in np.linspace(1e-3, 1.0, 2000))
    assert largest == pytest.approx(worst, rel=2e-2)
    assert largest > 1.0


def test_E2_8_public_steps_hide_a_factor_and_the_mechanism_is_a_scaled_gaussian():
    """`Theta(log d)` steps hide 1/log(1/L); and at a fixed time the process is nothing new."""
    d = 1e4
    needed = {
        c: public_steps_needed(mu=0.5, gradient_gap=2.0, noise_std=1 / math.sqrt(d), contraction=c)
        for c in (0.5, 0.9, 0.99, 0.999)
    }
    assert needed == {0.5: 9, 0.9: 49, 0.99: 402, 0.999: 2885}
    everything = public_steps_needed(mu=0.5, gradient_gap=2.0, noise_std=0.01, contraction=1.0)
    assert everything == 159_999

    made = OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=0.7, time=0.9)
    law = made.law([0.4, -0.2])
    plain_std = 1.0 / made.mu
    assert law.mean == pytest.approx(made.scale * np.array([0.4, -0.2]), rel=EXACT)
    assert law.std == pytest.approx(made.scale * plain_std, rel=EXACT)
    assert made.guarantee == GaussianDP(made.mu)
