"""What samples cost: exact draws, the way through the target, and friction, with many digits."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from wane.certificates.analyse import certify_distance
from wane.describe import Objective
from wane.describe.chain import Direction, Overdamped, PointStart
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.sampling import (
    Losses,
    OverdampedRun,
    Posterior,
    Target,
    Underdamped,
    UnderdampedRun,
    certify_samples,
    certify_underdamped,
    exact_gibbs,
    exact_gibbs_bounded,
)
from wane.theorems.gibbs import transfer
from wane.theorems.gibbs.transfer import Closeness, TransferredCurve, closeness, transferred
from wane.theorems.kinetic.privacy import (
    _per_temperature,
    composed_mu,
    last_state_mu,
    mu_with_window,
)
from wane.theorems.lemmas.kinetic import steering_cost
from wane.theorems.lemmas.letters import KineticLetters

mp = mpmath.mp.clone()
mp.dps = 40
SQUARE = Target(strong_convexity=1.0, smoothness=4.0, dimension=2)

# exact draws


def test_a_draw_has_temperature_one_unless_it_is_said():
    told = exact_gibbs(gradient_sensitivity=1.0, strong_convexity=1.0, temperature=1.0)
    assert exact_gibbs(gradient_sensitivity=1.0, strong_convexity=1.0) == told
    pure = exact_gibbs_bounded(range_of_difference=1.0, temperature=1.0)
    assert exact_gibbs_bounded(range_of_difference=1.0) == pure


@pytest.mark.parametrize("wrong", [0.0, -0.5])
def test_curvatures_and_temperatures_of_draws_are_positive(wrong):
    with pytest.raises(InvalidDescription, match="strong_convexity"):
        exact_gibbs(gradient_sensitivity=1.0, strong_convexity=wrong)
    with pytest.raises(InvalidDescription, match="temperature"):
        exact_gibbs(gradient_sensitivity=1.0, strong_convexity=1.0, temperature=wrong)
    with pytest.raises(InvalidDescription, match="temperature"):
        exact_gibbs_bounded(range_of_difference=1.0, temperature=wrong)
    with pytest.raises(InvalidDescription, match="range_of_difference"):
        exact_gibbs_bounded(range_of_difference=-0.5)


def test_the_mu_of_a_draw_is_never_rounded_down():
    for row in (10.0 ** np.random.default_rng(1).uniform(-3, 3, (2000, 3))).tolist():
        Delta, m, tau = row
        found = exact_gibbs(gradient_sensitivity=Delta, strong_convexity=m, temperature=tau).mu
        exact = mp.mpf(Delta) / mp.sqrt(mp.mpf(tau) * mp.mpf(m))
        assert exact <= found <= exact * (1 + mp.mpf("2e-15"))


def test_a_bounded_range_is_taken_per_temperature():
    for r, tau in ((0.8, 2.0), (3.0, 0.25)):
        found = exact_gibbs_bounded(range_of_difference=r, temperature=tau).curve.epsilon
        assert mp.mpf(r) / mp.mpf(tau) <= found <= r / tau * (1 + 2e-15)
    assert exact_gibbs_bounded(range_of_difference=0.0, temperature=2.0).curve.epsilon == 0.0


# the way through the target


def known(orders=(2.0, 4.0, 16.0, 64.0)):
    """Closeness that grows with the order, as divergences do."""
    return Closeness(orders, tuple(0.01 * o for o in orders), tuple(0.02 * o for o in orders))


def test_distances_are_asked_a_hair_below_the_orders_where_they_are_known(monkeypatch):
    """The two orders of the claim, p a and q2 (o - 1/p2), formed with many digits."""
    asked = []

    def kept(order, chain_first, exact, target_first, *, p, p2):
        asked.append((order, chain_first, target_first, mp.mpf(p), mp.mpf(p2)))
        return 1.0

    monkeypatch.setattr(transfer, "two_triangles", kept)
    for order in (1.01, 1.3, 1.99, 3.0):
        TransferredCurve(known(), GaussianDP(0.3))(order)
    assert len(asked) > 10
    for order, chain_first, target_first, p, p2 in asked:
        middle = p / (p - 1) * (order - 1 / p)
        last = p2 / (p2 - 1) * (middle - 1 / p2)
        for used, at in ((p * order, chain_first / 0.01), (last, target_first / 0.02)):
            assert at * (1 - 3e-6) < used < at * (1 - 5e-7)


def test_the_transfer_leaves_room_for_rounding(monkeypatch):
    """A part in 1e12 above the least of the claims."""
    real, found = transfer.two_triangles, []

    def kept(*given, **chosen):
        found.append(real(*given, **chosen))
        return found[-1]

    monkeypatch.setattr(transfer, "two_triangles", kept)
    value = TransferredCurve(known(), GaussianDP(0.3))(1.5)
    assert 5e-13 < value / min(found) - 1.0 < 2e-12


def test_orders_near_one_are_answered_by_a_larger_one():
    curve = TransferredCurve(known(), GaussianDP(0.3))
    assert curve(1.0 + 1e-9) == curve(1.0005) == curve(1.001) > 0.0
    assert len({curve(order) for order in (1.001, 1.01, 1.5, 2.001)}) == 4
    # at an order where the closeness is known, and at no smaller one, the exponent is one
    assert math.isfinite(curve(2.0 * (1.0 - 1e-6)))
    assert curve(64.0) == math.inf
    assert transferred(known(), GaussianDP(0.3)).max_order == 64.0


def test_closeness_is_useful_in_both_directions_or_not_at_all():
    near, far = (0.1, 0.2), (math.inf, math.inf)
    assert Closeness((2.0, 3.0), near, (0.1, math.inf)).useful
    assert not Closeness((2.0, 3.0), near, far).useful
    assert not Closeness((2.0, 3.0), far, near).useful


@pytest.mark.parametrize(
    ("chain", "least", "most"),
    [
        (Overdamped(SQUARE, 1e-3, 5000, PointStart(0.0)), 1.0, 1.1),
        (Underdamped(SQUARE, 1e-3, 20_000, 3.0, 1.0, PointStart(0.0)), 2.5, 5.0),
    ],
)
def test_tables_are_not_far_above_the_optimised_distance(chain, least, most):
    """Few parameters are tried for a table; with fewer still it would be looser, never smaller."""
    found = closeness(chain)
    columns = {
        Direction.CHAIN_FIRST: found.chain_first,
        Direction.REFERENCE_FIRST: found.target_first,
    }
    for direction, column in columns.items():
        for order, value in list(zip(found.orders, column, strict=True))[:4]:
            best = certify_distance(chain, order=order, direction=direction).value
            assert least * best <= value <= most * best


@pytest.mark.parametrize("m", [0.0, -0.5])
def test_without_strong_convexity_no_distance_is_tabulated(m):
    for chain in (
        Overdamped(replace(SQUARE, strong_convexity=m), 1e-3, 5000, PointStart(0.0)),
        Underdamped(replace(SQUARE, strong_convexity=m), 1e-3, 5000, 3.0, 1.0, PointStart(0.0)),
    ):
        found = closeness(chain)
        assert {*found.chain_first, *found.target_first} == {math.inf}


# friction


def test_records_that_move_no_gradient_cost_nothing():
    chain = Underdamped(SQUARE, 1e-3, 100, 3.0)
    assert composed_mu(chain, 0.0) == last_state_mu(chain, 0.0) == 0.0
    assert _per_temperature(chain, 0.0) == 0.0
    for wrong in (composed_mu, last_state_mu):
        with pytest.raises(InvalidDescription, match="gradient_sensitivity"):
            wrong(chain, -0.5)
        assert 0.0 < wrong(chain, 5e-324) < 1e-300


def test_few_steps_and_long_ones_have_a_window():
    """At long steps the shortest windows round to nothing, and one step is the least."""
    coarse = Underdamped(Target(1.0, 1.0, 1), 0.5, 30, 2.0)
    assert composed_mu(coarse, 1.0) < last_state_mu(coarse, 1.0) < 15.0
    single = Underdamped(Target(1.0, 1.0, 1), 0.1, 1, 2.0)
    assert last_state_mu(single, 1.0) == pytest.approx(composed_mu(single, 1.0), rel=1e-12)


def test_friction_at_its_limit_is_accepted_however_it_rounds():
    for row in (10.0 ** np.random.default_rng(2).uniform(-1, 1, (300, 3))).tolist():
        u, m, more = row
        friction = math.sqrt(u * (m + (m + more)))
        chain = Underdamped(Target(m, m + more, 1), 1e-4, 100, friction, u)
        assert math.isfinite(last_state_mu(chain, 1.0))


def exact_mu(x, window):
    """The claim for one window at sensitivity one, but for the steering's own cost."""
    gam, u, m, L, eta = (mp.mpf(v) for v in (x.gam, x.mu, x.m, x.L, x.eta))
    k0 = u * L * eta**2 / mp.sqrt(2)
    k1 = k0 / (1 - k0)
    C = mp.exp(-min(u * m / gam, gam - u * L / gam) * eta) + k1
    Psi = mp.sqrt(2) * u * eta * (1 + k1) * (1 - C ** (x.N - window)) / (1 - C)
    energy = u * mp.sqrt(window * eta)
    return (mp.mpf(steering_cost(x, window)) * Psi + energy) / mp.sqrt(2 * gam * u)


def test_the_claim_for_one_window_is_not_below_itself_where_the_contraction_cancels():
    """The gap is a small difference of two numbers here, down to a part in ten million."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        m, kappa, u = rng.uniform(0.5, 2.0), rng.uniform(1.0, 5.0), rng.uniform(0.5, 2.0)
        L = m * kappa
        gam = math.sqrt(u * (m + L)) * (1.0 + 1e-9)

        def made(eta, m=m, L=L, gam=gam, u=u):
            return KineticLetters(1, m, L, gam, u, eta, 10**6, s0=0.0, r0=0.0)

        low, high = 1e-6, 1.0  # between them the gap changes its sign
        for _ in range(int(rng.integers(15, 25))):
            middle = 0.5 * (low + high)
            if math.isfinite(mu_with_window(made(middle), 1.0, 10)):
                low = middle
            else:
                high = middle
        for eta in (low, 0.5 * low, 1e-3 * low):
            exact = exact_mu(made(eta), 10)
            assert exact <= mu_with_window(made(eta), 1.0, 10) <= exact * (1 + mp.mpf("1e-5"))
    assert mu_with_window(made(low), 0.0, 10) == 0.0


# certificates


def posterior(**settings):
    objective = Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0)
    losses = Losses(objective=objective, dimension=2, **settings)
    return Posterior(losses=losses, records=50, prior_precision=50.0)


@pytest.mark.parametrize("range_of_loss", [None, 0.5])
@pytest.mark.parametrize("height_at_start", [None, 0.5])
def test_what_more_is_known_of_losses_narrows_the_class(range_of_loss, height_at_start):
    """A lower bound for the whole class would not bound what these losses leak."""
    made = posterior(range_of_loss=range_of_loss, height_at_start=height_at_start)
    certificate = certify_samples(OverdampedRun(posterior=made, step_size=0.01, steps=100))
    assert certificate.narrowed is not (range_of_loss is None and height_at_start is None)


def test_the_least_friction_that_is_named_suffices():
    made = posterior(height_at_start=0.5)
    light = UnderdampedRun(
        posterior=made, step_size=1e-3, steps=100, friction=0.1, inverse_mass=2.5
    )
    verdict = {v.analysis.name: v for v in certify_underdamped(light).verdicts}
    (obstacle,) = verdict["kinetic_last_state"].obstacles
    named = float(obstacle.remedy.split(">= ")[1].split(",")[0])
    m, M = made.target.strong_convexity, made.target.smoothness
    assert named == pytest.approx(math.sqrt(2.5 * (m + M)), rel=1e-12)
    heavy = {
        v.analysis.name: v for v in certify_underdamped(replace(light, friction=named)).verdicts
    }
    assert heavy["kinetic_last_state"].guarantee.mu > 0.0


def test_underdamped_certificates_give_a_delta_between_nothing_and_one():
    made = posterior(height_at_start=0.5)
    run = UnderdampedRun(posterior=made, step_size=1e-2, steps=1000, friction=3.0)
    certificate = certify_underdamped(run)
    mu = certificate.mu
    assert certificate.delta(0.1) == pytest.approx(GaussianDP(mu).delta(0.1), rel=1e-9)
    assert 0.0 < certificate.delta(0.1) < certificate.delta(0.0) < 1.0
    with pytest.raises(InvalidDescription, match="epsilon"):
        certificate.delta(-0.5)


def test_the_certified_distance_is_told_with_the_verdict():
    made = posterior(height_at_start=0.5)
    run = OverdampedRun(posterior=made, step_size=1e-4, steps=10**6)
    verdict = {v.analysis.name: v for v in certify_samples(run).verdicts}["gibbs_transfer"]
    (told,) = [f.because for f in verdict.findings if "distance" in f.statement]
    least = min(closeness(run.chain).chain_first)
    assert f"{least:.3g}" in told and math.isfinite(least)
