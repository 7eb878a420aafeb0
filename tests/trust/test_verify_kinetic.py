"""Underdamped chains: the certified levels are those of a second computation, rounded up."""

import math

import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("flint")

from trust.tally import COUNTS
from wane.balls.arithmetic import PRECISION, ball, bits
from wane.balls.lemmas import kinetic
from wane.errors import InvalidDescription
from wane.sampling import Target, Underdamped, certify_underdamped
from wane.theorems.kinetic.privacy import composed_mu, last_state_mu, mu_with_window
from wane.theorems.lemmas.letters import kinetic_letters_of

ROUNDING = 1e-9


def again(chain, sensitivity):
    """The same chain, as the verifier knows it."""
    with bits(PRECISION):
        T, far = ball(chain.temperature), chain.start.distance
        return kinetic.UnderdampedChain(
            d=chain.target.dimension,
            m=ball(chain.target.strong_convexity) / T,
            L=ball(chain.target.smoothness) / T,
            gam=ball(chain.friction),
            mu=ball(chain.inverse_mass) * T,
            eta=ball(chain.step_size),
            N=chain.steps,
            r0=ball(math.inf if far is None else far),
            moved=ball(sensitivity) / T,
        )


def power(low, high):
    return st.floats(low, high).map(lambda place: 10.0**place)


@st.composite
def chains(draw):
    """From gentle to extreme; friction just heavy enough or far more."""
    m, inverse_mass = draw(power(-6, 6)), draw(power(-6, 6))
    L = m * draw(st.one_of(st.just(1.0), power(0, 4)))
    heavy = draw(st.one_of(st.just(1.0), power(0, 2)))
    friction = math.sqrt(inverse_mass * (m + L)) * (1.0 + 1e-15) * heavy
    # a step shorter than the rate over the square of the stiffness contracts
    step_size = draw(power(-6, -0.5)) * m / (friction * L)
    target = Target(strong_convexity=m, smoothness=L, dimension=3)
    steps, temperature = round(draw(power(0, 14))), draw(power(-6, 6))
    try:
        return Underdamped(
            target, step_size, steps, friction, inverse_mass, temperature=temperature
        )
    except InvalidDescription:  # not stable
        return None


def test_levels_are_never_below_the_proven_ones():
    seen = {"finite": 0, "infinite": 0}

    @settings(max_examples=150, deadline=None)
    @given(chains(), power(-9, 9))
    def each(chain, sensitivity):
        if chain is None:
            return
        proven, x = again(chain, sensitivity), kinetic_letters_of(chain)
        whole = composed_mu(chain, sensitivity)
        assert proven.composed() <= ball(whole) <= proven.composed() * (1 + ROUNDING)
        windows = {1, 2, min(65, chain.steps), max(chain.steps // 3, 1), chain.steps}
        for window in sorted(w for w in windows if w <= chain.steps):
            claimed = mu_with_window(x, sensitivity / chain.temperature, window)
            found = proven.with_window(window)
            seen["finite" if math.isfinite(claimed) else "infinite"] += 1
            if math.isfinite(claimed):
                assert found <= ball(claimed) <= found * (1 + 1e-6)
                COUNTS["certified numbers proven again"] += 1
        assert proven.last_state() <= ball(last_state_mu(chain, sensitivity))

    each()
    assert seen["finite"] > 5 * seen["infinite"]


def test_what_contracts_nowhere_has_no_level():
    target = Target(strong_convexity=1.0, smoothness=4.0, dimension=1)
    light = Underdamped(target, 0.01, 100, friction=1.0)
    assert not again(light, 1.0).with_window(10).is_finite()
    assert math.isinf(last_state_mu(light, 1.0))
    assert again(light, 1.0).composed().is_finite()


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_means_of_powers_are_exact(count):
    from fractions import Fraction

    for p in range(7):
        plain = sum(Fraction(k, count) ** p for k in range(count)) / count
        assert kinetic.power_mean(count, p) == plain


def test_a_certificate_of_underdamped_samples():
    """Its two theorems for several samples: squares add up."""
    from wane.describe import Adjacency, Objective
    from wane.sampling import Losses, Posterior, UnderdampedRun

    objective = Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)
    posterior = Posterior(
        losses=Losses(objective=objective, dimension=3, height_at_start=0.7),
        records=200,
        prior_precision=10.0,
        temperature=4.0,
        adjacency=Adjacency.ZERO_OUT,
    )
    target = posterior.target
    friction = math.sqrt(target.strong_convexity + target.smoothness) * (1.0 + 1e-12)
    run = UnderdampedRun(
        posterior=posterior, step_size=0.02, steps=10**6, friction=friction, samples=4
    )
    certified = {v.analysis.name: v for v in certify_underdamped(run).verdicts}
    proven = again(run.chain, 1.0 / 200)
    for name, level in (
        ("kinetic_composition", proven.composed()),
        ("kinetic_last_state", proven.last_state()),
    ):
        assert 2 * level <= ball(certified[name].guarantee.mu)
