"""Guarantees after a kernel, and what verifies them: against sums over all pairs of rows."""

import math

import mpmath
import numpy as np
import pytest
from flint import arb

from wane.balls.arithmetic import bits
from wane.balls.lemmas.positions import TooLarge
from wane.describe.choices import Adjacency
from wane.describe.kernel import KernelRelease
from wane.describe.stated import StatedRelease
from wane.guarantees import ComposedDP, GaussianDP, PureDP
from wane.guarantees.fields import guarantee_from_fields
from wane.mechanisms import AmplifiedGuarantee, BrownianMechanism, GaussianKernel, MarkovKernel
from wane.theorems.kernel import verifier
from wane.theorems.kernel.amplification import pure_renyi
from wane.theorems.kernel.statement import kernel_amplification

mp = mpmath.mp.clone()
mp.dps = 40
ROWS = [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.125, 0.625]]
EPSILONS = [0.0, 0.1, 0.4, 0.9, 1.5]


def gaussian(mu):
    """The profile of N(mu, 1) against N(0, 1)."""
    return lambda e: mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


def point(epsilon, delta):
    """The worst profile of what is (epsilon, delta)-private, with mp arguments."""

    def profile(e):
        if e >= epsilon:
            return mp.mpf(delta)
        worst = (mp.exp(epsilon) - mp.exp(e)) / (1 + mp.exp(epsilon))
        return mp.mpf(delta) + (1 - mp.mpf(delta)) * worst

    return profile


def after(profile, rows, epsilon):
    """Th times the largest sum of (P - m Q)_+, m = 1 + (e^epsilon - 1)/Th."""
    e = mp.mpf(epsilon)
    before = profile(e)
    if before == 0:
        return mp.mpf(0)
    m = 1 + mp.expm1(e) / before
    made = [[mp.mpf(p) for p in row] for row in rows]
    gaps = [
        mp.fsum(max(p - m * q, mp.mpf(0)) for p, q in zip(one, other, strict=True))
        for one in made
        for other in made
    ]
    return before * max(gaps)


def near_and_not_below(found, exact, relative="1e-10"):
    assert exact <= found <= exact * (1 + mp.mpf(relative)) + mp.mpf("1e-300"), (found, exact)


PAIR = guarantee_from_fields({"epsilon": 0.5, "delta": 0.03125})
BEFORE = [
    (GaussianDP(0.75), gaussian(mp.mpf(0.75))),
    (PAIR, lambda e: mp.mpf(PAIR.delta(float(e)))),
    (PureDP(1.0), point(mp.mpf(1), 0)),
]


@pytest.mark.parametrize("number", range(3))
def test_whole_profiles_are_amplified_exactly(number):
    before, profile = BEFORE[number]
    made = AmplifiedGuarantee(before, MarkovKernel(ROWS))
    for e, found in zip(EPSILONS, made.deltas(EPSILONS), strict=True):
        near_and_not_below(found, after(profile, ROWS, e))
        assert made.delta(e) == found


@pytest.mark.parametrize("delta", [0.05, 0.01, 1e-4])
def test_epsilon_is_the_smallest_one_whose_delta_is_met(delta):
    made = AmplifiedGuarantee(GaussianDP(2.0), MarkovKernel(ROWS))
    epsilon = made.epsilon(delta)
    assert 0.0 < epsilon < 1.0
    profile = gaussian(mp.mpf(2))
    assert after(profile, ROWS, epsilon) <= delta < after(profile, ROWS, epsilon * (1 - 1e-6))


def test_epsilon_at_its_edges():
    kernel = MarkovKernel(ROWS)
    apart = kernel.dobrushin
    assert apart == pytest.approx(0.375)
    made = AmplifiedGuarantee(GaussianDP(40.0), kernel)
    assert made.epsilon(apart) == 0.0 < made.epsilon(apart * 0.99)
    # nothing is known before, but the kernel's ratios are at most three
    unknown = AmplifiedGuarantee(GaussianDP(math.inf), kernel)
    ratio = max(p / q for a in ROWS for b in ROWS for p, q in zip(a, b, strict=True))
    assert unknown.pure_epsilon == pytest.approx(math.log(ratio), rel=1e-6)
    assert unknown.epsilon(0.0) == unknown.pure_epsilon
    assert unknown.epsilon(0.125) == pytest.approx(math.log(3.0), rel=1e-6)
    # neither the one nor the other has a bound
    silent = AmplifiedGuarantee(GaussianDP(math.inf), MarkovKernel(np.eye(2)))
    assert silent.pure_epsilon == silent.epsilon(0.5) == math.inf
    # a kernel that keeps everything keeps what was known
    kept = AmplifiedGuarantee(GaussianDP(1.0), MarkovKernel(np.eye(2)))
    for delta in (0.1, 1e-6):
        assert kept.epsilon(delta) == pytest.approx(GaussianDP(1.0).epsilon(delta), rel=1e-9)
        assert kept.epsilon(delta) <= GaussianDP(1.0).epsilon(delta)
    assert AmplifiedGuarantee(PureDP(1.0), MarkovKernel(np.eye(2))).pure_epsilon == 1.0


def responses(epsilon):
    """Randomised response as rows."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [[right, 1 - right], [1 - right, right]]


@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 7.0, 60.0])
def test_divergences_of_two_randomised_responses_in_a_row(order):
    """Both are symmetric, and so is what comes out: its divergence is known."""
    first, second = responses(1.0), responses(0.75)
    made = AmplifiedGuarantee(PureDP(1.0), MarkovKernel(second))
    p = mp.mpf(first[0][0]) * mp.mpf(second[0][0]) + mp.mpf(first[0][1]) * mp.mpf(second[1][0])
    a = mp.mpf(order)
    exact = mp.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
    assert exact <= made.renyi(order) <= exact * (1 + mp.mpf("1e-3"))
    assert made.renyi(math.inf) == made.pure_epsilon
    assert made.pure_epsilon == pytest.approx(float(mp.log(p / (1 - p))), rel=1e-6)


def test_probability_without_any_likelihood_makes_divergences_infinite():
    """One output has probability 0.1 or none: no finite order has a finite divergence."""
    kernel = MarkovKernel([[0.9, 0.1], [1.0, 0.0]])
    made = AmplifiedGuarantee(guarantee_from_fields({"epsilon": 1.0, "delta": 0.5}), kernel)
    assert made.delta(50.0) == pytest.approx(0.05, rel=1e-6)
    for order in (1.5, 2.0, 10.0):
        assert made.renyi(order) == math.inf


def test_divergences_take_the_best_of_three():
    """Each of the Dobrushin coefficient, the pure bound and the profile is an upper bound."""
    kernel = MarkovKernel(responses(0.5))
    made = AmplifiedGuarantee(GaussianDP(6.0), kernel)
    for order in (1.5, 3.0, 40.0):
        rows = [[mp.mpf(p) for p in row] for row in responses(0.5)]
        a = mp.mpf(order)
        exact = mp.log(sum(p**a * q ** (1 - a) for p, q in zip(*rows, strict=True))) / (a - 1)
        assert made.renyi(order) <= exact * (1 + mp.mpf("1e-6"))
        assert made.renyi(order) >= exact * mp.mpf("0.98")
    one = MarkovKernel(np.full((2, 2), 0.5))
    assert AmplifiedGuarantee(GaussianDP(math.inf), one).renyi(2.0) == 0.0
    assert AmplifiedGuarantee(GaussianDP(1.0), one).renyi(2.0) == 0.0
    far = AmplifiedGuarantee(GaussianDP(math.inf), MarkovKernel(np.eye(2)))
    assert far.renyi(2.0) == math.inf
    # a kernel that keeps nearly everything, and has no pure bound
    kept = AmplifiedGuarantee(GaussianDP(1.0), MarkovKernel([[1.0, 0.0], [0.1, 0.9]]))
    assert kept.renyi(2.0) <= GaussianDP(1.0).renyi(2.0)


@pytest.mark.parametrize("order", [1.2, 2.0, 5.0])
def test_the_profile_says_more_than_coefficients(order):
    """1 + a (a - 1) int (e^((a-1) t) + e^(-a t)) delta(t), both ways alike."""
    made = AmplifiedGuarantee(GaussianDP(0.75), MarkovKernel(ROWS))
    profile = gaussian(mp.mpf(0.75))
    t = np.linspace(0.0, made.pure_epsilon, 201)
    weights = np.exp((order - 1) * t) + np.exp(-order * t)
    values = weights * np.array([float(after(profile, ROWS, e)) for e in t.tolist()])
    area = float(np.sum(0.5 * (values[1:] + values[:-1]))) * (t[1] - t[0])
    exact = math.log1p(order * (order - 1) * area) / (order - 1)
    assert exact * (1 - 1e-3) <= made.renyi(order) <= exact * 1.01


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 3.0, 50.0])
def test_the_largest_divergence_of_a_pure_guarantee(epsilon):
    for order in (1.001, 1.5, 4.0, 300.0):
        a, e = mp.mpf(order), mp.mpf(epsilon)
        exact = mp.log((mp.exp(a * e) + mp.exp((1 - a) * e)) / (1 + mp.exp(e))) / (a - 1)
        found = pure_renyi(order, epsilon)
        doubt = mp.mpf("2e-15") * (1 + 2 * a * e) / (a - 1)
        assert exact <= found <= min((exact + doubt) * (1 + mp.mpf("4e-15")), epsilon)
    assert pure_renyi(2.0, 0.0) == 0.0 and pure_renyi(2.0, math.inf) == math.inf


def test_groups_repetitions_and_points():
    kernel = MarkovKernel(ROWS)
    made = AmplifiedGuarantee(GaussianDP(0.5), kernel)
    assert made.group(3).before.mu == pytest.approx(1.5) and made.group(3).kernel is kernel
    assert made.repeat(1) is made
    assert isinstance(made.repeat(2), ComposedDP)
    assert made.repeat(2).delta(0.1) > made.delta(0.1)
    for states, points in ((3, 512), (32, 512), (64, 256), (682, 24), (900, 24)):
        wide = AmplifiedGuarantee(GaussianDP(0.5), MarkovKernel(np.full((states, 2), 0.5)))
        assert wide.profile_points == points
    continuous = AmplifiedGuarantee(GaussianDP(0.5), GaussianKernel(diameter=1.0, noise_std=1.0))
    assert continuous.profile_points == 512


# descriptions and their verifier


def stated(**cost):
    return StatedRelease(name="x", source="y", adjacency=Adjacency.ZERO_OUT, **cost)


RELEASES = [
    (stated(mu=0.75), gaussian(mp.mpf(0.75))),
    (stated(mu=0.75, failure=0.0625), lambda e: gaussian(mp.mpf(0.75))(e) + mp.mpf(0.0625)),
    (stated(epsilon=0.5, delta=0.03125), point(mp.mpf(0.5), 0.03125)),
    (
        stated(epsilon=0.5, delta=0.03125, failure=0.0625),
        lambda e: point(mp.mpf(0.5), 0.03125)(e) + mp.mpf(0.0625),
    ),
    (stated(epsilon=0.0, delta=0.25), point(mp.mpf(0), 0.25)),
    (stated(epsilon=1.0, delta=0.0), point(mp.mpf(1), 0)),
]


def upper(bound, epsilon):
    with bits(200):
        return mp.mpf(bound.delta(arb(epsilon)).upper().str(35, radius=False))


@pytest.mark.parametrize("number", range(len(RELEASES)))
@pytest.mark.parametrize("power", [1, 3])
def test_what_is_claimed_is_proven_again_and_both_are_exact(number, power):
    before, profile = RELEASES[number]
    release = KernelRelease(before=before, matrix=ROWS, power=power)
    rows = mp.matrix([[mp.mpf(p) for p in row] for row in ROWS]) ** power
    rows = [[rows[i, j] for j in range(3)] for i in range(3)]
    proven, claimed = (
        verifier.kernel_amplification(release),
        kernel_amplification(release).guarantee,
    )
    for e in EPSILONS:
        exact = after(profile, rows, e)
        found = upper(proven, e)
        assert exact * (1 - mp.mpf("1e-25")) <= found <= exact * (1 + mp.mpf("1e-15"))
        loose = "0.05" if before.epsilon == 0.5 else "1e-9"  # a chord stands for the worst profile
        near_and_not_below(claimed.delta(e), exact, loose)


def test_the_verifier_divides_rows_by_their_sums():
    off = [[0.5 + 4e-10, 0.5], [0.25, 0.75 - 4e-10]]
    proven = verifier.kernel_amplification(KernelRelease(before=stated(mu=60.0), matrix=off))
    exact = [[mp.mpf(p) / sum(map(mp.mpf, row)) for p in row] for row in off]
    wanted = after(lambda e: mp.mpf(1), exact, 0.1)
    assert abs(upper(proven, 0.1) - wanted) <= mp.mpf("1e-25")


def test_the_verifier_looks_at_every_pair_that_may_be_the_worst():
    rng = np.random.default_rng(4)
    for states in (2, 5, 12):
        rows = (rng.integers(1, 64, (states, 4)) / 64.0).tolist()
        rows = [[p / sum(row) for p in row] for row in rows]
        rows += rows[:1]
        release = KernelRelease(before=stated(mu=3.0), matrix=rows)
        divided = [[mp.mpf(p) / sum(map(mp.mpf, row)) for p in row] for row in rows]
        proven = verifier.kernel_amplification(release)
        for e in (0.0, 0.3, 1.0):
            exact = after(gaussian(mp.mpf(3)), divided, e)
            assert abs(upper(proven, e) - exact) <= mp.mpf("1e-20")
    # beyond every double only what the other row lacks is left
    lacking = KernelRelease(before=stated(mu=50.0), matrix=[[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])
    assert upper(verifier.kernel_amplification(lacking), 720.0) == pytest.approx(0.25, rel=1e-9)
    nothing = KernelRelease(before=stated(mu=0.0), matrix=ROWS)
    assert upper(verifier.kernel_amplification(nothing), 0.5) == 0


def test_large_kernels_are_not_verified():
    def release(inputs, outputs):
        return KernelRelease(before=stated(mu=1.0), matrix=np.full((inputs, outputs), 1 / outputs))

    for allowed in ((100, 2), (2, 100)):
        proven = verifier.kernel_amplification(release(*allowed))
        assert upper(proven, 0.0) <= mp.mpf("1e-12")
    for refused in ((101, 2), (2, 101)):
        with pytest.raises(TooLarge, match="100 states"):
            verifier.kernel_amplification(release(*refused))


def test_diffusions_before_a_kernel():
    process = BrownianMechanism(sensitivity=1.0, time=2.0, adjacency=Adjacency.ZERO_OUT)
    release = KernelRelease(before=process, matrix=ROWS)
    profile = gaussian(mp.mpf(process.charged_sensitivity) / 2)
    proven, claimed = (
        verifier.kernel_amplification(release),
        kernel_amplification(release).guarantee,
    )
    for e in EPSILONS:
        exact = after(profile, ROWS, e)
        assert abs(upper(proven, e) - exact) <= mp.mpf("1e-9") * exact
        near_and_not_below(claimed.delta(e), exact, "1e-9")


def test_a_kernel_that_forgets_everything_leaves_no_divergence_of_what_has_none():
    """And one that keeps something leaves an infinite one."""
    before = PureDP(math.inf)
    assert math.isinf(before.renyi(2.0))
    forgets = MarkovKernel(np.array([[0.25, 0.75], [0.25, 0.75]]))
    assert AmplifiedGuarantee(before, forgets).renyi(2.0) == 0.0
    assert AmplifiedGuarantee(before, MarkovKernel(np.array(ROWS))).renyi(2.0) > 0.0
