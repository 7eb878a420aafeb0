"""Descent-ascent with Lipschitz steps against the closed form, in sixty digits."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint")

from wane.balls.arithmetic import PRECISION, bits, top
from wane.describe import Adjacency
from wane.describe.saddle import NoisyDescentAscent
from wane.theorems.modulus import saddle
from wane.theorems.modulus.verifier import _Saddle, saddle_last_iterate

mp = mpmath.mp.clone()
mp.dps = 60


def games(count):
    """Games in units of all sizes, whose steps contract or expand, with few or many steps."""
    draw = np.random.default_rng(7)
    for _ in range(count):
        eta, moved = (10.0 ** draw.uniform(-140.0, 140.0, 2)).tolist()
        yield NoisyDescentAscent(
            gradient_difference_bound=moved,
            smoothness=float(draw.uniform(0.9, 1.3) / eta),
            strong_monotonicity=float(draw.uniform(0.0, 0.9) / eta),
            records=int(draw.integers(1, 1000)),
            steps=int(draw.integers(1, 6)),
            step_size=eta,
            noise_std=moved * float(10.0 ** draw.uniform(-3.0, 3.0)),
        )


def squared_constant(game):
    """L^2 = 1 - 2 eta m + (eta M)^2."""
    eta, m, M = map(mp.mpf, (game.step_size, game.strong_monotonicity, game.smoothness))
    return 1 - 2 * eta * m + (eta * M) ** 2


def closed_form(game):
    """mu^2 of a linear field that contracts every step by L; of one that expands, composition.

    A sum of shifts, or of what is left of the diameter of the set after some last steps, over a
    sum of noises.  Where steps expand, following the shift at once is best.
    """
    constant = min(mp.sqrt(squared_constant(game)), mp.mpf(1))
    shift = mp.mpf(game.gradient_difference_bound) / game.records * mp.mpf(game.step_size)
    std = mp.mpf(game.noise_std) * mp.mpf(game.step_size)

    def cost(steps, apart):
        moved = apart * constant**steps + shift * sum(constant**k for k in range(steps))
        return (moved / std) ** 2 / sum(constant ** (2 * k) for k in range(steps))

    known = [cost(game.steps, mp.mpf(0))]
    if math.isfinite(game.diameter):
        known += [cost(steps, mp.mpf(game.diameter)) for steps in range(1, game.steps + 1)]
    return min(known)


def test_lipschitz_steps_are_never_rounded_down():
    """In units of any size; the logarithms of large and small ones lose digits."""
    for game in games(300):
        exact, found = closed_form(game), saddle._hidden(game)
        assert exact <= found <= exact * (1 + mp.mpf("1e-11")), game


@pytest.mark.parametrize("large", ["gradient_difference_bound", "noise_std"])
def test_one_large_number_loses_digits_alone(large):
    """The logarithm of either is raised, or lowered, by what it may have lost."""
    draw = np.random.default_rng(10)
    for _ in range(500):
        numbers = {"gradient_difference_bound": 1.0, "noise_std": 1.0}
        eta, numbers[large] = (10.0 ** draw.uniform([-0.01, -140.0], [0.01, 140.0])).tolist()
        game = NoisyDescentAscent(
            smoothness=0.95 / eta, records=1, steps=2, step_size=eta, **numbers
        )
        exact, found = closed_form(game), saddle._hidden(game)
        assert exact <= found <= exact * (1 + mp.mpf("1e-11")), game


def in_sets(count):
    """Games that contract, in sets of which a few or all steps see the other side."""
    draw = np.random.default_rng(8)
    for game in games(count):
        eta, inward = game.step_size, float(draw.uniform(0.5, 0.9))
        flat = replace(game, smoothness=0.95 / eta, strong_monotonicity=inward / eta)
        width = eta * game.gradient_difference_bound / game.records
        yield replace(flat, steps=game.steps + 20, diameter=width * float(draw.uniform(0.1, 6.0)))


def test_lipschitz_steps_in_a_set_are_never_rounded_down():
    for game in in_sets(30):
        exact, found = closed_form(game), saddle._hidden(game)
        assert exact <= found <= exact * (1 + mp.mpf("1e-11")), game


def test_constants_of_steps_are_never_rounded_down():
    wide = np.random.default_rng(9).uniform(0.0, 9.0, 300)
    for drawn, more in zip(games(300), wide.tolist(), strict=True):
        game = replace(drawn, smoothness=10.0**more / drawn.step_size)
        exact = mp.log(squared_constant(game)) / 2
        found = mp.mpf(saddle._lipschitz(game))
        assert exact <= found <= exact * (1 + mp.mpf("1e-13")) + mp.mpf("1e-13"), game
    assert saddle._lipschitz(replace(game, smoothness=None, strong_monotonicity=0.0)) == math.inf


def test_composition_is_never_rounded_down():
    """Without smoothness and without a bound on fields there is nothing else."""
    for game in games(300):
        rough = replace(game, smoothness=None, strong_monotonicity=0.0)
        shift = mp.mpf(game.gradient_difference_bound) / game.records
        exact = game.steps * (shift / mp.mpf(game.noise_std)) ** 2
        assert exact <= saddle.least_cost(rough) <= exact * (1 + mp.mpf("1e-14"))
        with bits(PRECISION):
            proven = float(top(saddle_last_iterate(rough).mu_squared))
        assert exact * (1 - mp.mpf("1e-15")) <= proven <= exact * (1 + mp.mpf("1e-14"))


# the programme of the modulus, by trying where the runs may be after each step

NEAR = NoisyDescentAscent(
    gradient_bound=1.25,
    smoothness=1.5,
    strong_monotonicity=0.3,
    records=8,
    steps=3,
    step_size=0.4,
    noise_std=1.0,
    diameter=0.6,
)
GAMES = {
    "all is declared": NEAR,
    "fields are bounded": replace(
        NEAR, smoothness=None, strong_monotonicity=0.0, records=1, steps=6, diameter=0.1
    ),
    "no set": replace(NEAR, strong_monotonicity=0.0, diameter=math.inf),
    "no set, steep fields": replace(
        NEAR, smoothness=20.0, strong_monotonicity=0.0, diameter=math.inf
    ),
    "bounded fields that turn inwards": replace(
        NEAR, smoothness=None, strong_monotonicity=0.5, records=1, steps=6, diameter=0.1
    ),
    "fields that turn far inwards": replace(
        NEAR, smoothness=None, strong_monotonicity=1.5, records=1, steps=6, diameter=0.4
    ),
    "two steps, no set": replace(NEAR, strong_monotonicity=0.0, steps=2, diameter=math.inf),
    "two steps": replace(NEAR, steps=2, noise_std=0.7, records=3),
    "differences": replace(NEAR, gradient_difference_bound=0.5, adjacency="replace-one"),
    "zero out": replace(NEAR, adjacency="zero-out"),
}


def moved(game):
    """How far one record moves the iterate."""
    C = game.gradient_bound
    two = game.gradient_difference_bound or 2.0 * C
    apart = two if game.adjacency is Adjacency.REPLACE_ONE else C
    return game.step_size * apart / game.records


def after(game, u, change):
    """phi(u), rising from phi(0+); `change` bounds how far a field moves between two points."""
    eta, m = game.step_size, game.strong_monotonicity
    least = change if game.smoothness is None else np.minimum(change, game.smoothness * u)
    return np.sqrt(max(1.0 - 2.0 * eta * m, 0.0) * u * u + (eta * least) ** 2)


def start_apart(game, done, change):
    """How far apart the runs can be after so many steps: in the set, by noise, by stretching."""
    eta, s = game.step_size, moved(game)
    known = [game.diameter, done * s + eta * change * math.sqrt(done)]
    if game.smoothness is not None:
        stretch = math.sqrt(
            1.0 - 2.0 * eta * game.strong_monotonicity + (eta * game.smoothness) ** 2
        )
        known.append(s * sum(stretch**k for k in range(done)))
    return min(known)


def tried(game, change):
    """The least cost over 1,000 distances after each step, for each step to begin at."""
    s, std, best = moved(game), game.step_size * game.noise_std, math.inf
    for left in range(1, game.steps + 1):
        u = np.array([start_apart(game, game.steps - left, change)])
        cost = np.zeros(1)
        for step in range(left):
            last = step == left - 1
            top = after(game, u, change).max() + s
            following = np.zeros(1) if last else np.linspace(0.0, top, 1000)
            a = np.maximum(after(game, u, change)[:, None] + s - following[None, :], 0.0)
            cost = (cost[:, None] + (a / std) ** 2).min(axis=0)
            u = following
        best = min(best, float(cost[0]))
    return best


def composed(game):
    """Runs at one point stay together if every step follows what the record moves."""
    return game.steps * (moved(game) / (game.step_size * game.noise_std)) ** 2


@pytest.mark.parametrize("name", GAMES)
def test_the_programme_of_the_modulus_by_trial(name):
    """A claim is at least the least cost, and near it; distances tried cost a little more."""
    game = GAMES[name]
    jump = 2.0 * game.gradient_bound
    inside = jump if game.smoothness is None else min(jump, game.smoothness * game.diameter)
    exact = tried(game, inside)
    assert exact * (1.0 - 1e-3) <= saddle._followed(game) <= exact * 1.01
    with bits(PRECISION):
        proven = _Saddle.of(game).followed()
        assert proven is not None
        exact = tried(game, jump)
        assert exact * (1.0 - 1e-3) <= float(top(proven)) <= exact * 1.01


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_the_least_of_three_is_claimed_and_proven(game):
    """Composition, Lipschitz steps where a constant is known, and the programme."""
    known = [composed(game) * (1.0 + 1e-15), saddle._followed(game)]
    if game.smoothness is not None:
        known.append(saddle._hidden(game))
    assert saddle.least_cost(game) == pytest.approx(min(known), rel=1e-14)
    with bits(PRECISION):
        bound = saddle_last_iterate(game)
        proven = [float(top(bound.mu_squared)), float(top(bound.longer()))]
    assert min(proven) == pytest.approx(min(known), rel=1e-2)
    assert proven[0] <= composed(game) * (1.0 + 1e-12)


def test_steps_that_contract_cost_less_than_composition():
    """A smooth field that turns inwards forgets the record."""
    for game in in_sets(10):
        exact = closed_form(game)
        assert exact <= saddle.least_cost(game) <= exact * (1 + mp.mpf("1e-2"))


def test_where_fields_have_no_bound_the_programme_does_not_follow_them():
    """From any distance two runs cannot be met; together from the start they can be followed."""
    game = replace(
        NEAR, smoothness=None, strong_monotonicity=0.0, steps=6, records=1, diameter=math.inf
    )
    assert saddle._followed(game) >= composed(game) * (1.0 - 1e-12)
    with bits(PRECISION):
        assert float(top(_Saddle.of(game).followed())) >= composed(game) * (1.0 - 1e-12)
        smooth = replace(NEAR, gradient_bound=None, gradient_difference_bound=1.0)
        assert _Saddle.of(smooth).followed() is None
        assert saddle_last_iterate(replace(NEAR, gradient_bound=None)) is None


def test_what_is_proven_of_lipschitz_steps():
    """The closed form again, of which the verifier must not prove less."""
    for game in [*games(30), *in_sets(20)]:
        exact = closed_form(game)
        with bits(PRECISION):
            (proven,) = _Saddle.of(game).hidden()
            assert exact * (1 - mp.mpf("1e-15")) <= float(top(proven)) <= exact * (1 + 1e-12)
            assert (
                _Saddle.of(replace(game, smoothness=None, strong_monotonicity=0.0)).hidden() == []
            )
