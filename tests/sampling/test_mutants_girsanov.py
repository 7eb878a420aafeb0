"""The shifted Girsanov bound, step by step in forty digits, and where it proves nothing."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from wane.theorems.lemmas.letters import (
    Letters,
    chi_mean,
    log_moment,
    log_moment_of_normal,
    minus_log_cos,
    minus_log_one_minus,
)
from wane.theorems.lemmas.shifted_girsanov import Free, Grouping, ShiftedGirsanov, local_error

mp = mpmath.mp.clone()
mp.dps = 40
SINGLY = Grouping(2, 0.0)
CHAIN = Letters(3, 0.5, 2.0, math.inf, math.inf, 0.02, 60, s0=0.25, r0=0.4)


def exact_pieces(bound, lam, free):
    """Steps 6 and 7 of the proof, one step after the other; None where a logarithm does not exist.

    The schedule of the weights is the code's own, block by block: any in (0, 1] is valid.
    """
    x, local = bound.x, local_error(bound.x)
    d, L, eta = x.d, mp.mpf(x.L), mp.mpf(x.eta)
    a0, a1, sig2 = mp.mpf(local.a0), mp.mpf(local.a1), mp.mpf(local.sig2)
    lam, s, u3, k1 = mp.mpf(lam), mp.mpf(free.s), mp.mpf(free.u3), mp.mpf(free.k1)
    c2 = (1 - mp.mpf(x.contraction_gap)) ** 2
    gbar = mp.mpf(free.gm) * mp.sqrt(L * d)
    a, other = a0 + a1 * gbar, s / (s - 1)
    angle = 2 * L * eta * mp.sqrt(other * lam / (1 - u3))
    if angle >= mp.pi / 2:
        return None
    C = -mp.mpf(d) / 2 / other * mp.log(mp.cos(angle)) + lam * a0 * a / (eta * k1)
    W = lam * L**2 * eta**3 / (3 * u3) + lam * a1 * a / (gbar * eta * k1)
    inverse = eta / (lam * c2 * (1 + k1 + mp.mpf(4) / 3 * s * lam * (L * eta) ** 2))
    J = noise = mp.mpf(0)
    schedule = np.repeat(bound._slack(float(a), free), bound.counts.astype(int))
    for slack in schedule.tolist():
        if inverse <= 2 * sig2:
            return None
        J += 1 / (inverse - 2 * sig2) / mp.mpf(slack)
        noise -= mp.mpf(d) / 2 * mp.log1p(-2 * sig2 / inverse)
        kept = 1 - mp.mpf(slack)
        inverse = (kept * inverse + eta / lam - 2 * sig2 * kept) / c2
    return 1 / inverse, C + noise + J * a * a0, W + J * a * a1 / gbar


FREES = [Free(), Free(s=3.0, u3=0.3, k1=0.7, gm=2.0, chi=0.3), Free(chi=40.0, distance_scale=0.2)]


@pytest.mark.parametrize("free", FREES)
@pytest.mark.parametrize("lam", [1e-3, 0.1, 1.0, 5.0])
def test_the_induction_step_by_step(free, lam):
    for x in (CHAIN, replace(CHAIN, m=1.5, M3=0.1), replace(CHAIN, N=1), replace(CHAIN, N=2)):
        bound = ShiftedGirsanov(x, SINGLY)
        wanted, found = exact_pieces(bound, lam, free), bound.pieces(lam, free)
        for exact, value in zip(wanted, (found.A0, found.C, found.W), strict=True):
            assert exact <= value <= exact * (1 + mp.mpf("1e-10"))
    slack = ShiftedGirsanov(CHAIN, SINGLY)._slack(0.01, free)
    assert ((slack > 0.0) & (slack <= 1.0)).all()


def test_weights_of_one_start_anew():
    """Where the planned distance is tiny the whole of it is corrected: the schedule reaches one."""
    bound = ShiftedGirsanov(CHAIN, SINGLY)
    local = local_error(CHAIN)
    a = local.a0 + local.a1 * math.sqrt(CHAIN.L * CHAIN.d)
    free = Free(chi=1.0, distance_scale=1e-9, nu=0.0)
    assert bound._slack(a, free).max() == 1.0
    wanted, found = exact_pieces(bound, 0.1, free), bound.pieces(0.1, free)
    for exact, value in zip(wanted, (found.A0, found.C, found.W), strict=True):
        assert exact <= value <= exact * (1 + mp.mpf("1e-10"))


@pytest.mark.parametrize("growth", [0.0, 0.1, 0.5])
def test_prices_of_every_size_are_bounded_or_refused(growth):
    """Beyond some price the logarithms do not exist, and the bound is infinite, not a number."""
    refused = 0
    for x in (CHAIN, replace(CHAIN, eta=0.3), replace(CHAIN, eta=0.3, m=1.9, N=5)):
        bound = ShiftedGirsanov(x, Grouping(4, growth))
        for power in range(-12, 20):
            lam = 1.7 ** (power - 4)
            exact = exact_pieces(bound, lam, Free())
            found = bound.pieces(lam, Free())
            for place, value in enumerate((found.A0, found.C, found.W)):
                assert value >= (math.inf if exact is None else exact[place])
            if math.isinf(found.A0):
                refused += 1
                assert bound.divergence(lam / 20.0, Free()) == math.inf
                assert bound.relative_entropy(Free(), lam) == math.inf
    assert 5 < refused < 80


CONCAVE = [
    (Letters(2, 0.0828, 1.413, 4.346, math.inf, 0.0791, 66, s0=0.99, r0=4.45), 9.26, 1.2e-3, 0.02),
    (
        Letters(2, 0.0362, 3.345, 1.499, math.inf, 0.1658, 63, s0=0.64, r0=26.2),
        8.19,
        1.1e-3,
        2.6e-3,
    ),
]


@pytest.mark.parametrize(("x", "chi", "scale", "lam"), CONCAVE)
@pytest.mark.parametrize("growth", [0.3, 0.7, 1.5])
def test_chords_are_not_drawn_where_the_summands_are_concave(x, chi, scale, lam, growth):
    """There a chord lies below them: with chords everywhere these bounds are half a percent low."""
    free = Free(chi=chi, distance_scale=scale, nu=0.6)
    bound = ShiftedGirsanov(x, Grouping(2, growth))
    _, C, W = exact_pieces(bound, lam, free)
    found = bound.pieces(lam, free)
    assert C <= found.C <= 1.3 * C and W <= found.W <= 1.3 * W


def test_divergences_from_their_pieces():
    """ln E exp(A0 |e|^2) of the start, without an offset, and the gradients' share."""
    for m in (0.5, 1.5):
        x = replace(CHAIN, m=m, r0=0.0, N=600)
        bound, free, lam = ShiftedGirsanov(x, SINGLY), Free(q1=8.0, q2=30.0), 0.01
        A0, C, W = exact_pieces(bound, free.q1 * lam, free)
        start = -mp.mpf(x.d) / 2 * mp.log1p(-2 * A0 * (mp.mpf(x.s0) + 1 / mp.mpf(m)))
        share = 2 * mp.mpf(30) / 8 * W * mp.mpf(x.L)
        exact = (start + C) / 8 - mp.mpf(x.d) / 2 / 30 * mp.log1p(-share)
        found = bound.divergence(lam, free)
        assert exact <= found <= exact * (1 + mp.mpf("1e-9"))
        assert bound.natural_distance == pytest.approx(math.sqrt(3 * (0.25 + 1 / m)))
        A0, C, W = exact_pieces(bound, 1e-6, free)
        entropy = A0 * 3 * (mp.mpf(x.s0) + 1 / mp.mpf(m)) + C + W * mp.mpf(x.L) * 3
        entropy /= 4 * mp.mpf(1e-6)
        assert entropy <= bound.relative_entropy(free, 1e-6) <= entropy * (1 + mp.mpf("1e-9"))


def test_nothing_is_proved_without_contraction_start_or_admissible_parameters():
    at = ShiftedGirsanov(CHAIN, SINGLY)
    for wrong in (Free(q1=2.0, q2=2.0), Free(u3=0.0), Free(s=1.0)):
        assert at.divergence(1e-3, wrong) == math.inf
        assert at.relative_entropy(wrong) == math.inf
    for x in (replace(CHAIN, m=0.0), replace(CHAIN, m=-0.5), replace(CHAIN, r0=math.inf)):
        assert ShiftedGirsanov(x, SINGLY).divergence(1e-3, Free()) == math.inf
        assert ShiftedGirsanov(x, SINGLY).relative_entropy(Free()) == math.inf


# special functions


@pytest.mark.parametrize("d", [1, 2, 3, 10, 299, 300, 301, 302, 400, 1000, 10**5, 10**7])
def test_mean_norms(d):
    x = mp.mpf(d) / 2
    exact = mp.sqrt(2) * mp.exp(mp.loggamma(x + mp.mpf("0.5")) - mp.loggamma(x))
    assert abs(chi_mean(d) / exact - 1) < mp.mpf("3e-14")


def test_logarithms_of_cosines():
    angles = [*np.geomspace(1e-12, 1.5, 300), 0.99e-4, 1e-4, 1.01e-4, 0.999, 1.0, 1.001, 1.57]
    for angle in angles:
        exact = -mp.log(mp.cos(mp.mpf(float(angle))))
        assert abs(minus_log_cos(float(angle)) / exact - 1) < mp.mpf("1e-13")
    assert minus_log_cos(0.5 * math.pi) == minus_log_cos(2.0) == math.inf
    assert minus_log_cos(0.0) == 0.0
    assert minus_log_one_minus(1.0) == minus_log_one_minus(1.5) == math.inf
    for x in (1e-300, 1e-9, 0.3, 0.999):
        exact = -mp.log1p(-mp.mpf(x))
        assert abs(minus_log_one_minus(x) / exact - 1) < mp.mpf("1e-14")


def split_moment(w, rate, d, variance, offset):
    """The bound for one way of sharing the square between the normal and the offset."""
    if not 2 * rate * variance < w < 1:
        return math.inf
    return -d / 2 * math.log1p(-2 * rate * variance / w) + rate * offset**2 / (1 - w)


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("variance", [0.0, 0.01, 1.0, 3.0])
@pytest.mark.parametrize("offset", [0.0, 0.1, 1.0, 30.0])
def test_moments_of_starts(d, variance, offset):
    """The least over all ways of sharing, and not below the moment itself where d is one."""
    for rate in (0.0, 1e-6, 0.01, 0.1, 0.16):
        found = log_moment(rate, d=d, variance=variance, offset=offset)
        shared = [split_moment(w, rate, d, variance, offset) for w in np.linspace(0, 1, 20_001)]
        alone = -d / 2 * math.log1p(-2 * rate * variance)
        best = min(shared) if offset > 0.0 < variance and rate > 0.0 else alone + rate * offset**2
        assert found <= best * (1 + 1e-12) + 1e-300
        assert found >= best * (1 - 2e-3)
        exact = alone + rate * offset**2 / (1 - 2 * rate * variance)
        shifted = log_moment_of_normal(rate, d=d, variance=variance, offset=offset)
        assert shifted == pytest.approx(exact, rel=1e-12, abs=1e-300)
        assert found >= exact * (1 - 1e-12)
    for rate in (0.5, 0.7):
        for moment in (log_moment, log_moment_of_normal):
            assert moment(rate, d=d, variance=1.0, offset=offset) == math.inf


def test_moments_of_far_starts_keep_their_digits():
    """Both ways of solving for the best share, with forty digits at the share that they found."""
    rng = np.random.default_rng(4)
    for rate, variance, offset in (10.0 ** rng.uniform(-4, 2, (300, 3))).tolist():
        if 2 * rate * variance < 0.99:
            found = log_moment(rate, d=3, variance=variance, offset=offset)
            a, v, o = mp.mpf(rate), 2 * mp.mpf(rate) * mp.mpf(variance), mp.mpf(offset)

            def at(w, a=a, v=v, o=o):
                return -mp.mpf(3) / 2 * mp.log1p(-v / w) + a * o**2 / (1 - w)

            P, Q = a * o**2, mp.mpf(3) / 2 * v
            # P w (w - v) = Q (1 - w)^2 at the least
            b, root = 2 * Q - P * v, mp.sqrt((2 * Q - P * v) ** 2 + 4 * (P - Q) * Q)
            w = next(r for r in ((root - b) / 2 / (P - Q), -(root + b) / 2 / (P - Q)) if v < r < 1)
            assert abs(found / at(w) - 1) < mp.mpf("1e-11")


def test_a_rate_of_one_is_a_rate_like_others():
    found = log_moment(1.0, d=1, variance=0.1, offset=1.0)
    best = min(split_moment(w, 1.0, 1, 0.1, 1.0) for w in np.linspace(0.2, 1.0, 20_001))
    assert found == pytest.approx(best, rel=1e-6)
