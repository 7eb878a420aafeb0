"""How accounts are laid out: both directions, the grid, and what counts as shown."""

import math

import mpmath
import numpy as np
import pytest

from wane.guarantees import (
    GaussianMixtureStep,
    GaussianStep,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
)
from wane.guarantees.convolution import (
    _coarsened,
    _dots,
    _gaussian_dots,
    _interval,
    composed_losses,
)
from wane.guarantees.renyi import LinearCurve


def density(x, mean):
    return np.exp(-0.5 * (x - mean) ** 2) / math.sqrt(2 * math.pi)


def hockey_stick(first, second, epsilon, cell):
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum() * cell)


@pytest.mark.parametrize(("mu", "rate", "other"), [(1.5, 0.3, 0.0), (1.0, 0.6, 0.8)])
def test_each_direction_has_its_own_account(mu, rate, other):
    """Adding a record and removing it leak differently: each is compared with its integral.

    With epsilon >= 0 the first has been the larger one wherever we looked, for any number of
    steps.  Nobody has proved that, so both are computed, and both must be right.
    """
    recipe = [(SampledGaussianStep(mu, rate, Pair.ADD_OR_REMOVE), 1), (GaussianStep(other), 1)]
    with_record, without = composed_losses(tuple(recipe))
    x = np.linspace(-8.0, 10.0, 1201)
    step = x[1] - x[0]
    sampled, plain = (1 - rate) * density(x, 0) + rate * density(x, mu), density(x, 0)
    # A Gaussian step has no direction: it is N(other, 1) against N(0, 1) in both.
    p, q = (np.outer(sampled, density(x, other)), np.outer(plain, density(x, 0)))
    r, s = (np.outer(plain, density(x, other)), np.outer(sampled, density(x, 0)))
    for epsilon in (0.1, 0.3):
        removed = hockey_stick(p, q, epsilon, step**2)
        added = hockey_stick(r, s, epsilon, step**2)
        assert added < 0.995 * removed
        assert removed * (1 - 1e-3) <= with_record.delta(epsilon) <= removed * 1.003
        assert added * (1 - 1e-3) <= without.delta(epsilon) <= added * 1.003
        larger = max(with_record.delta(epsilon), without.delta(epsilon))
        assert NumericalDP(tuple(recipe)).delta(epsilon) == larger


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.25), (0.01, 0.9)])
def test_what_batches_of_fixed_size_do_not_move_is_counted_in_full(mu, rate):
    made = _dots(SampledGaussianStep(mu, rate, Pair.FIXED_SIZE), 1e-3, False)
    exact = (1 - mpmath.mpf(rate)) * mpmath.erf(mpmath.mpf(mu) / mpmath.sqrt(8))
    assert made.places[-1] == 0
    assert exact < made.masses[-1] < exact * (1 + 2e-12)


def test_symmetric_steps_have_one_account():
    assert len(composed_losses(((SampledGaussianStep(1.0, 0.5, Pair.REPLACE), 1),))) == 1
    assert len(composed_losses(((GaussianStep(1.0), 1),))) == 1
    mixed = ((SampledGaussianStep(1.0, 0.5, Pair.REPLACE), 1),)
    one_sided = ((SampledGaussianStep(1.0, 0.5, Pair.ADD_OR_REMOVE), 1),)
    assert len(composed_losses(mixed + one_sided)) == len(composed_losses(one_sided)) == 2


def loss_deviation(mu, rate):
    """Standard deviation of the loss of a sampled step with the record, by a plain sum."""
    x = np.linspace(-12.0, mu + 12.0, 200_001)
    ratio = 1 - rate + rate * np.exp(mu * x - mu**2 / 2)
    weights = density(x, 0) * ratio * (x[1] - x[0])
    losses = np.log(ratio)
    return math.sqrt(np.sum(weights * losses**2) - np.sum(weights * losses) ** 2)


ALMOST = 1.0 - 2.0**-50
LAYOUTS = {
    # one step: 2^15 intervals across its 25 deviations
    "one step": ([(GaussianStep(2.0), 1)], 50.0 / 2**15),
    # some: 2^15 intervals across twenty deviations of the sum
    "some steps": ([(GaussianStep(2.0), 100)], 20 * 20.0 / 2**15),
    # many: three hundredths of one step's deviation
    "many steps": ([(GaussianStep(2.0), 10**5)], 0.03 * 2.0),
    # too many: 2^18 intervals across twenty deviations of the sum, for steps are folded first
    "too many steps": ([(GaussianStep(2.0), 10**9)], 20 * 2.0 * math.sqrt(1e9) / 2**18),
    "two kinds": (
        [(GaussianStep(2.0), 40_000), (GaussianStep(4.0), 40_000)],
        0.03 * math.sqrt((4.0 + 16.0) / 2),
    ),
    "a wide one first": ([(GaussianStep(2.0), 1), (GaussianStep(0.5), 1)], 50.0 / 2**15),
    "a wide one last": ([(GaussianStep(0.5), 1), (GaussianStep(2.0), 1)], 50.0 / 2**15),
    "draws": (
        [(GaussianMixtureStep((0.0, 0.5, 2.0, 2e4), (0.2, 0.2, 0.1, 0.5)), 10**5)],
        0.03 * math.sqrt(0.2 * 0.25 + 0.1 * 4.0),
    ),
    "the largest draw": (
        [(GaussianMixtureStep((0.0, 1e4), (0.5, 0.5)), 1)],
        25e4 / 2**15,
    ),
    # a wide loss that is hardly ever drawn: 2^20 intervals across it, for memory is not endless
    "a rare draw": (
        [(GaussianMixtureStep((0.0, 1e4), (1.0 - 1e-12, 1e-12)), 1)],
        25e4 / 2**20,
    ),
    "sampled": (
        [(SampledGaussianStep(2.0, 0.1, Pair.ADD_OR_REMOVE), 10**5)],
        0.03 * loss_deviation(2.0, 0.1),
    ),
    "the largest sampled": (
        [(SampledGaussianStep(100.0, ALMOST, Pair.ADD_OR_REMOVE), 10**5)],
        0.03 * 100.0,
    ),
    # the record shows: a loss of ln(1/(1 - rate)) or an infinite one
    "shown": (
        [(SampledGaussianStep(101.0, 0.25, Pair.REPLACE), 3)],
        20 * math.log(4 / 3) * math.sqrt(3.0) / 2**15,
    ),
    "shown among others": (
        [(GaussianStep(2.0), 1), (SampledGaussianStep(101.0, 0.25, Pair.REPLACE), 1)],
        50.0 / 2**15,
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_how_fine_the_grid_is(name):
    """Any interval is sound; this one is fine enough to be tight and coarse enough to be quick."""
    recipe, expected = LAYOUTS[name]
    assert _interval(tuple(recipe)) == pytest.approx(expected, rel=2e-3)


def test_losses_beyond_any_grid():
    assert _interval(((GaussianStep(1e-101), 1),)) is None  # squares are close to underflow
    assert _interval(((GaussianStep(1e-99), 1),)) > 0.0
    assert _interval(((GaussianStep(1e4), 10**308),)) is None
    assert _interval(((GaussianMixtureStep((0.0, 2e4), (0.5, 0.5)), 1),)) is None


def test_where_no_privacy_begins():
    """What is said in convolution's constants: up to here on dots, beyond as if always shown."""
    assert _gaussian_dots(1e4, 100.0).infinite < 1e-30
    assert _gaussian_dots(math.nextafter(1e4, 2e4), 100.0).infinite == 1.0
    assert _gaussian_dots(0.0, 100.0).infinite == 0.0
    for pair in Pair:
        assert _dots(SampledGaussianStep(100.0, 0.25, pair), 1.0, False).infinite < 1e-30
        shown = SampledGaussianStep(math.nextafter(100.0, 200.0), 0.25, pair)
        assert _dots(shown, 1.0, False).infinite == 0.25
    assert _dots(SampledGaussianStep(101.0, 0.25, Pair.ADD_OR_REMOVE), 1.0, True).infinite == 0.0
    for mirrored in (Pair.REPLACE, Pair.FIXED_SIZE):
        assert _dots(SampledGaussianStep(101.0, 0.25, mirrored), 1.0, True).infinite == 0.25
    ruin = ((GaussianStep(math.nextafter(1e4, 2e4)), 1), *NumericalDP(LAYOUTS["shown"][0]).parts)
    assert NumericalDP(ruin).epsilon(0.9) == math.inf


def test_how_many_kinds_and_draws_are_kept():
    mus = np.linspace(1.0, 2.0, 257).tolist()
    kinds = tuple((SampledGaussianStep(mu, 0.25, Pair.REPLACE), 1) for mu in mus)
    assert _coarsened(kinds[:64]) == kinds[:64] and _coarsened(kinds[:65]) != kinds[:65]
    for count, kept in ((256, True), (257, False)):
        step = GaussianMixtureStep(tuple(mus[:count]), (1 / count,) * count)
        assert (_coarsened(((step, 1),))[0][0].mus == step.mus) is kept


def test_a_shown_record_is_no_longer_shown_to_the_divergences():
    """Far out the account's infinite loss is a fiction, and Renyi divergences know better."""
    made = NumericalDP(((SampledGaussianStep(101.0, 0.25, Pair.ADD_OR_REMOVE), 1),))
    assert made.delta(3e4) < 1e-100
    assert made.epsilon(1e-9) < 3e4


def test_steps_that_are_left_over_after_folding_are_counted():
    """Few more steps than a multiple of those made one: a little more is lost, and not less."""

    def delta(count):
        step = SampledGaussianStep(0.02, 0.01, Pair.ADD_OR_REMOVE)
        return NumericalDP(((step, count),)).delta(0.02)

    below, between, above = (delta(count) for count in (1_000_000, 1_000_003, 1_010_000))
    assert below * (1 - 1e-6) <= between <= above * (1 + 1e-6)
    assert between == pytest.approx(below, rel=1e-3)


def test_a_line_through_nothing_is_nothing():
    assert LinearCurve(0.0)(2.0) == 0.0
    assert LinearCurve(0.5)(2.0) == pytest.approx(1.0)


@pytest.mark.parametrize("atom", [SampledGaussianStep(0.5, 0.1, Pair.REPLACE), GaussianStep(0.5)])
def test_a_rough_delta_is_near_the_delta(atom):
    made = NumericalDP(((atom, 20),))
    assert made.rough_delta(0.5) == pytest.approx(made.delta(0.5), rel=0.05)


def test_a_rough_delta_never_asks_the_divergences_of_an_account(monkeypatch):
    """It is asked often, and a delta far below the account's own takes a search over orders."""
    account = NumericalDP(((SampledGaussianStep(0.5, 0.01, Pair.ADD_OR_REMOVE), 1),))
    rough = account.rough_delta(60.0)
    assert account.delta(60.0) < 1e-300 < rough < 1e-30
    without_account = NumericalDP(((SampledGaussianStep(100.0, 0.5, Pair.REPLACE), 10**308),))
    assert without_account.rough_delta(1.0) == without_account.delta(1.0) == 1.0
    assert account.rough_delta(math.inf) == account.delta(math.inf)
    monkeypatch.setattr(RenyiDP, "delta", lambda self, epsilon: pytest.fail("asked"))
    assert account.rough_delta(60.0) == rough
