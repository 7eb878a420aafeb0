"""Distances from a target: which free parameters prove something, and formulas in many digits."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from wane.certificates.analyse import TabulatedCurve, certify_closeness, certify_distance
from wane.describe.chain import (
    Diffusion,
    Direction,
    NormalStart,
    Overdamped,
    PointStart,
    Question,
    Target,
    Underdamped,
)
from wane.errors import InvalidDescription
from wane.theorems import chain_hypotheses as hypotheses
from wane.theorems.langevin.girsanov import (
    convex_divergence,
    largest_variance,
    lipschitz_divergence,
    mixing_divergence,
    weak_triangle,
)
from wane.theorems.lemmas.kinetic import (
    Contraction,
    KineticFree,
    _power_means,
    kinetic_discretisation,
    kinetic_divergence,
    steering_cost,
)
from wane.theorems.lemmas.letters import (
    KineticLetters,
    Letters,
    girsanov_price,
    kinetic_letters_of,
    letters_of,
)
from wane.theorems.lemmas.shifted_girsanov import Free, Grouping

mp = mpmath.mp.clone()
mp.dps = 40
FIRST, SECOND = Direction.CHAIN_FIRST, Direction.REFERENCE_FIRST
PLAIN = Letters(2, 1.0, 2.0, math.inf, 3.0, 0.01, 100, s0=0.5, r0=0.3)
KINETIC = KineticLetters(2, 1.0, 2.0, 3.0, 1.0, 1e-3, 20_000, s0=0.1, r0=0.2)

GOOD_EXPONENTS = [(20.0, 20.0), (2.5, 2.5), (1.5, 4.0), (4.0, 1.5)]
BAD_EXPONENTS = [(2.0, 2.0), (1.5, 2.0), (1.0, 9.0), (9.0, 1.0), (-2.0, 3.0), (3.0, -2.0)]


# free parameters: outside of their ranges nothing is proved


@pytest.mark.parametrize(("q1", "q2"), GOOD_EXPONENTS)
def test_exponents_that_leave_room_for_a_third_are_admissible(q1, q2):
    assert Free(q1=q1, q2=q2).admissible
    assert KineticFree(window=1, q1=q1, q2=q2).admissible
    assert math.isfinite(convex_divergence(PLAIN, FIRST, 1.01, q1=q1, q2=q2, u3=0.5))


@pytest.mark.parametrize(("q1", "q2"), BAD_EXPONENTS)
def test_exponents_that_leave_none_are_not(q1, q2):
    assert not Free(q1=q1, q2=q2).admissible
    assert not KineticFree(window=1, q1=q1, q2=q2).admissible
    assert kinetic_divergence(KINETIC, FIRST, 2.0, KineticFree(9, q1, q2)) == math.inf
    assert convex_divergence(PLAIN, FIRST, 2.0, q1=q1, q2=q2, u3=0.5) == math.inf


@pytest.mark.parametrize("u3", [0.0, -0.5, 1.0, 1.5])
def test_shares_lie_inside_of_one(u3):
    assert not Free(u3=u3).admissible
    assert convex_divergence(PLAIN, FIRST, 2.0, q1=9.0, q2=9.0, u3=u3) == math.inf
    assert lipschitz_divergence(PLAIN, FIRST, 2.0, q1=9.0, u3=u3) == math.inf
    for shares in ((u3, 0.5), (0.5, u3)):
        assert not KineticFree(1, w_start=shares[0], w_drift=shares[1]).admissible


def test_other_free_parameters():
    assert Free(nu=0.0).admissible and not Free(nu=-0.5).admissible
    assert Free(s=1.5).admissible and not Free(s=1.0).admissible
    for name in ("k1", "chi", "distance_scale", "gm"):
        assert not Free(**{name: 0.0}).admissible
        assert Free(**{name: 0.5}).admissible
    for w_start, w_drift in ((0.5, 0.5), (0.5, 0.6), (0.6, 0.5), (0.9, 0.9)):
        assert not KineticFree(1, w_start=w_start, w_drift=w_drift).admissible
    assert KineticFree(1, w_start=0.4, w_drift=0.4).admissible
    assert not KineticFree(0).admissible
    for q in (1.0, 0.5):
        assert lipschitz_divergence(PLAIN, FIRST, 2.0, q1=q, u3=0.5) == math.inf
        assert kinetic_discretisation(KINETIC, FIRST, 2.0, q) == math.inf
    assert math.isfinite(lipschitz_divergence(PLAIN, FIRST, 2.0, q1=1.5, u3=0.5))
    assert math.isfinite(kinetic_discretisation(KINETIC, FIRST, 2.0, 1.5))


def test_windows_are_no_longer_than_the_run():
    short = replace(KINETIC, N=5000)
    near_one = 1.0 + 1e-6  # with the target first the price is as small as order - 1
    assert math.isfinite(kinetic_divergence(short, SECOND, near_one, KineticFree(5000)))
    assert kinetic_divergence(short, SECOND, near_one, KineticFree(5001)) == math.inf


def test_without_a_start_or_a_pull_nothing_is_proved():
    far = replace(PLAIN, r0=math.inf)
    assert convex_divergence(far, FIRST, 2.0, q1=9.0, q2=9.0, u3=0.5) == math.inf
    far = replace(KINETIC, r0=math.inf)
    assert kinetic_divergence(far, FIRST, 2.0, KineticFree(100)) == math.inf
    assert kinetic_discretisation(far, FIRST, 2.0, 5.0) == math.inf
    asked = {"d": 2, "time": 1.0, "variance": 0.5}
    for m in (0.0, -0.5):
        assert mixing_divergence(2.0, m=m, offset=0.0, **asked) == math.inf
    assert mixing_divergence(2.0, m=1.0, offset=math.inf, **asked) == math.inf
    assert kinetic_discretisation(replace(KINETIC, eta=1.0), FIRST, 9.0, 5.0) == math.inf
    step = Contraction.of(replace(KINETIC, eta=2.0))
    assert (step.k1, step.gap) == (math.inf, -math.inf)
    for wrong in (0.0, -0.5):
        with pytest.raises(InvalidDescription, match="time"):
            Diffusion(Target(1.0, 1.0, 1), wrong)
        with pytest.raises(InvalidDescription, match="temperature"):
            Diffusion(Target(1.0, 1.0, 1), 1.0, temperature=wrong)


# formulas


def test_how_far_a_coordinate_spreads():
    assert largest_variance(replace(PLAIN, m=0.0)) == pytest.approx(0.5 + 2.0 * 100 * 0.01)
    assert largest_variance(PLAIN) == pytest.approx(1.0)
    assert largest_variance(replace(PLAIN, N=10)) == pytest.approx(0.5 + 2.0 * 10 * 0.01)
    assert largest_variance(replace(PLAIN, s0=1.5)) == pytest.approx(1.5)


def test_relative_entropy_of_a_diffusion():
    found = mixing_divergence(1.0, d=3, m=0.5, time=2.0, variance=0.25, offset=0.7)
    size = mp.sqrt(3 * (mp.mpf("0.25") + 2)) + mp.mpf(0.7)
    exact = mp.mpf("0.5") / (2 * mp.expm1(2)) * size**2
    assert exact <= found <= exact * (1 + mp.mpf("1e-12"))


def test_triangles_are_not_rounded_down():
    for row in (10.0 ** np.random.default_rng(1).uniform(-2, 1, (400, 4))).tolist():
        order, exponent, first, second = 1.0 + row[0], 1.0 + row[1], row[2], row[3]
        a, p = mp.mpf(order), mp.mpf(exponent)
        exact = (a - 1 / p) / (a - 1) * mp.mpf(first) + mp.mpf(second)
        found = weak_triangle(order, exponent, first, second)
        assert exact * (1 - mp.mpf("4e-15") / (a - 1)) <= found
        assert found <= exact * (1 + mp.mpf("2e-14") + mp.mpf("1e-15") / (a - 1))


@pytest.mark.parametrize("window", [1, 2, 63, 64, 65, 66, 100, 1000])
def test_means_of_powers(window):
    for p, found in enumerate(_power_means(window)[:7]):
        exact = Fraction(sum(k**p for k in range(window)), window ** (p + 1))
        assert float(abs(Fraction(found) - exact)) <= 4e-16


def exact_steering(x, window):
    """Both norms by quadrature of the Hermite path and its control, with forty digits."""
    gam, eta = mp.mpf(x.gam), mp.mpf(x.eta)
    r = window * eta

    def control(s):
        return (
            (6 - 12 * s) / r**2 + gam * (6 * s - 6 * s * s) / r,
            (4 - 6 * s) / r - gam * (1 - 4 * s + 3 * s * s),
        )

    def path(s):
        return 1 - 3 * s**2 + 2 * s**3, r * (s - 2 * s**2 + s**3)

    def norm(a, b, c):
        T = mp.matrix([[1 / gam, -1 / gam], [0, 1]])
        M = T.T * mp.matrix([[a, b], [b, c]]) * T
        return mp.sqrt(max(mp.eigsy(M, eigvals_only=True)))

    pairs = ((0, 0), (0, 1), (1, 1))
    G = [r * mp.quad(lambda s, i=i, j=j: control(s)[i] * control(s)[j], [0, 1]) for i, j in pairs]
    starts = [path(mp.mpf(k) / window) for k in range(window)]
    H = [eta * mp.fsum(y[i] * y[j] for y in starts) for i, j in pairs]
    return norm(*G) + mp.mpf(x.mu) * mp.mpf(x.L) * norm(*H)


@pytest.mark.parametrize("window", [1, 7, 64, 90])
def test_what_steering_costs(window):
    for gam, eta in ((3.0, 1e-3), (2.0, 0.05), (7.0, 0.3)):
        x = replace(KINETIC, gam=gam, eta=eta)
        exact = exact_steering(x, window)
        assert exact <= steering_cost(x, window) <= exact * (1 + mp.mpf("3e-12"))


def exact_kinetic(x, order, free):
    """The claim against the target with no offset, but for the steering's own cost."""
    m, L, gam, u, eta = (mp.mpf(v) for v in (x.m, x.L, x.gam, x.mu, x.eta))
    q1, q2, K = mp.mpf(free.q1), mp.mpf(free.q2), free.window
    k0 = u * L * eta**2 / mp.sqrt(2)
    k1 = k0 / (1 - k0)
    C = mp.exp(-min(u * m / gam, gam - u * L / gam) * eta) + k1
    lam = mp.mpf(girsanov_price(SECOND, float(1 / (1 - 1 / q1 - 1 / q2)), order)) / (2 * gam * u)
    cost = mp.mpf(steering_cost(x, K))
    S = (1 - C ** (x.N - K)) / (1 - C)
    start, drift = mp.mpf(free.w_start), mp.mpf(free.w_drift)
    inside = (u * L) ** 2 * (4 * eta**2 / mp.pi**2) * K * eta / (1 - start - drift)
    W = lam * (cost**2 * k1**2 * S**2 / drift + inside)
    A0 = q2 * lam * cost**2 * C ** (2 * (x.N - K)) * gam**2 / start
    total = -x.d / (2 * q1) * mp.log1p(-2 * q1 * W * u)
    total += -mp.mpf(x.d) / 2 * mp.log1p(-2 * A0 * (mp.mpf(x.s0) + 1 / m)) / q2
    return total / (mp.mpf(order) - 1)


@pytest.mark.parametrize("m", [0.5, 1.0])
def test_the_kinetic_claim_with_many_digits(m):
    free = KineticFree(1500, q1=9.0, q2=30.0, w_start=0.1, w_drift=0.6)
    for N, eta in ((9000, 1e-3), (3000, 2e-3)):
        x = replace(KINETIC, m=m, N=N, eta=eta, r0=0.0)
        exact = exact_kinetic(x, 1.0 + 1e-5, free)
        found = kinetic_divergence(x, SECOND, 1.0 + 1e-5, free)
        assert exact <= found <= exact * (1 + mp.mpf("1e-9"))


def test_the_kinetic_claim_where_the_contraction_cancels():
    """There a rounding of the gap counts a million times: the margin grows with one over it."""
    rng = np.random.default_rng(2)
    free, order = KineticFree(10, q1=9.0, q2=9.0), 1.0 + 1e-13
    for _ in range(60):
        L, u = float(rng.uniform(1.0, 3.0)), float(rng.uniform(0.5, 2.0))
        gam = math.sqrt(u * (1.0 + L)) * 1.5

        def made(eta, L=L, u=u, gam=gam):
            return KineticLetters(1, 1.0, L, gam, u, eta, 3000, s0=0.0, r0=0.0)

        low, high = 1e-6, 1.0
        for _ in range(int(rng.integers(18, 30))):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if Contraction.of(made(middle)).gap > 0 else (low, middle)
        for eta in (low, 0.9 * low):
            exact = exact_kinetic(made(eta), order, free)
            found = kinetic_divergence(made(eta), SECOND, order, free)
            assert exact <= found <= exact * (1 + mp.mpf("1e-4"))


# hypotheses, questions and tables


def verdict(condition, **changes):
    settings = {"step_size": 1e-3, "steps": 10, "friction": 3.0, "start": PointStart(0.0)}
    target = changes.pop("target", Target(1.0, 2.0, 1))
    chain = Underdamped(target, **(settings | changes))
    return condition.check(Question(chain, 2.0, FIRST))


def test_convex_potentials():
    for m, holds in ((0.0, True), (0.5, True), (-0.5, False)):
        found = verdict(hypotheses.convex, target=Target(m, 2.0, 1))
        assert (found.holds is True) is holds


def test_declared_conditions():
    for m, holds in ((0.5, True), (0.0, False), (-0.5, False)):
        found = verdict(hypotheses.strongly_convex, target=Target(m, 2.0, 1))
        assert (found.holds is True) is holds
    for bound in (None, 3.0):
        found = verdict(
            hypotheses.bounded_gradient, target=Target(0.0, 2.0, 1, gradient_bound=bound)
        )
        assert (found.holds is True) is (bound is not None)
    assert Diffusion(Target(1.0, 1.0, 1), 1.0).temperature == 1.0
    assert Diffusion(Target(1.0, 1.0, 1), 1.0, temperature=0.5).temperature == 0.5


def test_steps_too_long_for_a_contraction():
    for k0 in (1.0 + 1e-9, 1.5, 1.9):
        eta = math.sqrt(k0 * math.sqrt(2.0) / (KINETIC.mu * KINETIC.L))
        assert Contraction.of(replace(KINETIC, eta=eta)).gap == -math.inf
    for eta in np.geomspace(1e-4, 3.0, 200).tolist():
        found = kinetic_discretisation(replace(KINETIC, eta=eta), FIRST, 3.0, 2.0)
        assert found > 0.0
    lasting = kinetic_discretisation(KINETIC, FIRST, 2.0, 5.0, KINETIC.N * KINETIC.eta)
    assert kinetic_discretisation(KINETIC, FIRST, 2.0, 5.0) == lasting


def test_how_much_a_gradient_step_contracts():
    """The larger end of the spectrum, never said to contract more than it does."""
    assert replace(PLAIN, eta=0.75).contraction_gap == pytest.approx(0.5)
    assert replace(PLAIN, eta=0.01).contraction_gap == pytest.approx(0.01)
    for eta, L in np.random.default_rng(5).uniform((1.2, 1.0), (1.9, 1.05), (300, 2)).tolist():
        gap = Letters(1, 0.99, L, math.inf, math.inf, eta, 1, s0=0.0, r0=0.0).contraction_gap
        exact = 2 - Fraction(eta) * Fraction(L)
        assert exact - Fraction(1, 10**14) <= Fraction(gap) <= exact
    assert KINETIC.rate == pytest.approx(1 / 3)
    light = replace(KINETIC, gam=1.1, L=1.0)
    assert light.rate == pytest.approx(1.1 - 1 / 1.1)


def test_letters_at_another_temperature():
    target = Target(1.0, 4.0, 3, laplacian_lipschitz=6.0)
    x = letters_of(Overdamped(target, 0.01, 10, PointStart(0.3), temperature=2.0))
    assert (x.d, x.m, x.L, x.M3, x.B) == (3, 0.5, 2.0, 3.0, math.inf)
    assert (x.eta, x.N, x.s0, x.r0) == (0.02, 10, 0.0, 0.3)
    unknown = letters_of(Overdamped(Target(0.0, 4.0, 3, gradient_bound=5.0), 0.01, 10))
    assert (unknown.M3, unknown.B, unknown.r0) == (math.inf, 5.0, math.inf)
    chain = Underdamped(target, 0.01, 10, 3.0, 0.5, NormalStart(0.2, 0.3), temperature=2.0)
    k = kinetic_letters_of(chain)
    assert (k.d, k.m, k.L, k.gam, k.mu) == (3, 0.5, 2.0, 3.0, 1.0)
    assert (k.eta, k.N, k.s0, k.r0) == (0.01, 10, 0.2, 0.3)


def test_heavy_friction_and_the_least_one():
    heavy = hypotheses.heavy_friction
    assert verdict(heavy, target=Target(2.0, 2.0, 1), friction=2.0).holds
    assert verdict(heavy, target=Target(0.25, 0.5, 1), friction=0.9).holds
    for m, more, u in (10.0 ** np.random.default_rng(3).uniform(-1, 1, (200, 3))).tolist():
        target = Target(m, m + more, 1)
        asked = {"target": target, "inverse_mass": u, "step_size": 1e-5}
        light = verdict(heavy, friction=0.5 * math.sqrt(u * (m + m + more)), **asked)
        assert light.holds is False
        least = float(light.remedy.split(">= ")[1])
        assert verdict(heavy, friction=least, **asked).holds
        assert not verdict(heavy, friction=least * (1 - 1e-12), **asked).holds


def test_the_longest_step_that_contracts():
    short = hypotheses.short_kinetic_step
    for target in (Target(1.0, 2.0, 1), Target(0.2, 0.4, 1), Target(1.0, 9.0, 1)):
        friction = math.sqrt(target.strong_convexity + target.smoothness) * 1.2
        asked = {"target": target, "friction": friction}
        long = verdict(short, step_size=0.9 / math.sqrt(target.smoothness), **asked)
        assert long.holds is False and "too long" in long.because
        most = float(long.remedy.split("<= ")[1])
        assert verdict(short, step_size=0.999 * most, **asked).holds
        assert not verdict(short, step_size=1.001 * most, **asked).holds
    for m in (0.0, -0.5):
        flat = verdict(short, target=Target(m, 2.0, 1))
        assert flat.holds is False and "without strong convexity" in flat.because


def test_tables_are_joined_by_chords():
    """(order - 1) D is convex in the order and zero at one."""
    curve = TabulatedCurve((2.0, 4.0, 8.0), (0.3, 0.5, 1.1))
    moments = {1.0: 0.0, 2.0: 0.3, 4.0: 1.5, 8.0: 7.7}
    assert curve(1.25) == pytest.approx(0.3) and curve(8.1) == math.inf
    for order in (2.0, 2.5, 3.7, 4.0, 4.5, 7.9, 8.0):
        low = max(o for o in (1.0, 2.0, 4.0) if o < order)
        high = min(o for o in moments if o >= order)
        share = (Fraction(order) - Fraction(low)) / (Fraction(high) - Fraction(low))
        ends = [(Fraction(o) - 1) * Fraction(v) for o, v in ((2, 0.3), (4, 0.5), (8, 1.1))]
        at = dict(zip((1.0, 2.0, 4.0, 8.0), [Fraction(0), *ends], strict=True))
        exact = (at[low] + share * (at[high] - at[low])) / (Fraction(order) - 1)
        assert exact <= Fraction(curve(order)) <= exact * (1 + Fraction(1, 10**14))


def test_closeness_reaches_to_the_last_order_that_is_bounded():
    chain = Overdamped(Target(1.0, 4.0, 2), 1e-3, 5000, PointStart(0.0))
    made = certify_closeness(chain, (1.5, 2.0, 4.0))
    assert made.max_order == 4.0 and math.isinf(made.renyi(4.5))
    both = [certify_distance(chain, order=2.0, direction=way).value for way in Direction]
    assert max(both) <= made.renyi(2.0) <= max(both) * (1 + 1e-12)
    assert max(both) > 1.0001 * min(both)


@pytest.mark.parametrize("growth", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 11, 500])
def test_blocks_hold_every_step_once(growth, steps):
    starts, counts = Grouping(8, growth).cut(steps)
    places = [p for s, c in zip(starts, counts, strict=True) for p in range(int(s), int(s + c))]
    assert places == list(range(2, steps + 1))
    early = [c for s, c in zip(starts, counts, strict=True) if s < 8]
    assert all(c == 1.0 for c in early)
    assert all(c <= max(1.0, growth * s) for s, c in zip(starts, counts, strict=True))
    assert Grouping(8, growth).chord
