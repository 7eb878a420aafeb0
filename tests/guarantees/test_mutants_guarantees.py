"""Edges and roundings of guarantees, each against a value computed another way."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special

from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import (
    GaussianDP,
    GaussianMixture,
    GaussianMixtureStep,
    GaussianStep,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
    WithFailure,
    arguments,
)
from wane.guarantees.convolution import _coarsened, _ladder
from wane.guarantees.renyi import GroupCurve, LinearCurve, SumOfCurves
from wane.guarantees.steps import gaussian_renyi, normal_form, unsampled_mu
from wane.numerics.normal import gaussian_delta, gaussian_epsilon
from wane.numerics.sampled_gaussian import renyi_add_or_remove, renyi_fixed_size, renyi_replace

mp = mpmath.mp.clone()
mp.dps = 40
PAIRS = list(Pair)


def test_arguments_at_their_edges():
    assert arguments.level("x", 0.0) == 0.0
    assert arguments.level("x", math.inf) == math.inf
    assert arguments.probability("x", 0.0) == 0.0
    assert arguments.probability("x", 1.0) == 1.0
    assert arguments.renyi_order("x", math.nextafter(1.0, 2.0)) > 1.0
    assert arguments.count("x", np.int64(1)) == 1
    refused = [
        lambda: arguments.level("x", -5e-324),
        lambda: arguments.level("x", math.nan),
        lambda: arguments.level("x", True),
        lambda: arguments.level("x", "1"),
        lambda: arguments.probability("x", -5e-324),
        lambda: arguments.probability("x", math.nextafter(1.0, 2.0)),
        lambda: arguments.probability("x", math.nan),
        lambda: arguments.renyi_order("x", 1.0),
        lambda: arguments.count("x", 0),
        lambda: arguments.count("x", True),
        lambda: arguments.count("x", 1.0),
    ]
    for call in refused:
        with pytest.raises(InvalidDescription):
            call()


@pytest.mark.parametrize("pair", PAIRS)
def test_sampled_steps_at_their_edges(pair):
    inner = {
        Pair.REPLACE: renyi_replace,
        Pair.ADD_OR_REMOVE: renyi_add_or_remove,
        Pair.FIXED_SIZE: renyi_fixed_size,
    }[pair]
    assert SampledGaussianStep(0.0, 0.5, pair).renyi(3.0) == 0.0
    assert SampledGaussianStep(1.0, 0.0, pair).renyi(3.0) == 0.0
    assert SampledGaussianStep(1.0, 0.5, pair).renyi(3.0) == inner(3.0, 0.5, 1.0) > 0.0
    assert SampledGaussianStep(math.inf, 0.5, pair).renyi(3.0) == math.inf
    assert SampledGaussianStep(1.0, 0.5, pair).renyi(math.inf) == math.inf
    mu = 2.0 if pair is Pair.REPLACE else 1.0
    always = SampledGaussianStep(1.0, 1.0, pair)
    assert unsampled_mu(always) == pytest.approx(mu)
    assert always.renyi(3.0) == pytest.approx(3.0 * mu**2 / 2, rel=1e-14)
    ((merged, count),) = normal_form([(always, 2), (GaussianStep(3.0), 1)])
    assert (merged.mu, count) == (pytest.approx(math.sqrt(2 * mu**2 + 9)), 1)


def test_normal_form_counts_and_drops():
    one, other = (SampledGaussianStep(m, 0.25, Pair.REPLACE) for m in (1.0, 2.0))
    empty = (
        (SampledGaussianStep(0.0, 0.5, Pair.REPLACE), 7),
        (SampledGaussianStep(1.0, 0.0, Pair.REPLACE), 7),
        (GaussianStep(0.0), 7),
    )
    assert normal_form([(other, 1), (one, 2), *empty, (other, 3)]) == ((one, 2), (other, 4))
    assert normal_form(empty) == ()
    assert normal_form([(one, 1), (other, 1)]) == normal_form([(other, 1), (one, 1)])


def test_gaussian_divergences_are_raised_and_never_vanish():
    for mu in np.random.default_rng(1).uniform(0.1, 5.0, 200).tolist():
        exact = mp.mpf(3) * mp.mpf(mu) ** 2 / 2
        assert exact <= gaussian_renyi(3.0, mu) <= exact * (1 + mp.mpf("2e-15"))
        assert exact <= GaussianDP(mu).renyi(3.0)
    assert 0.0 < gaussian_renyi(2.0, 1e-200) < 1e-300
    assert gaussian_renyi(2.0, 0.0) == 0.0
    assert GaussianStep(2.0).renyi(3.0) == gaussian_renyi(3.0, 2.0)


@pytest.mark.parametrize("largest", [1e-9, 1e-4, 0.3, 0.7, 3.0, 30.0])
@pytest.mark.parametrize("order", [1.001, 2.0, 8.0])
def test_mixtures_of_gaussians(order, largest):
    mus, weights = (0.0, largest / 3, largest), (0.25, 0.5, 0.25)
    terms = [
        mp.mpf(w) * mp.exp((mp.mpf(order) - 1) * order * mp.mpf(m) ** 2 / 2)
        for m, w in zip(mus, weights, strict=True)
    ]
    exact = mp.log(mp.fsum(terms)) / (mp.mpf(order) - 1)
    for made in (GaussianMixtureStep(mus, weights), GaussianMixture(mus, weights)):
        assert exact <= made.renyi(order) <= exact * (1 + mp.mpf("1e-11"))


def test_mixtures_at_their_edges():
    step = GaussianMixtureStep((0.0,), (1.0,))
    assert step.renyi(2.0) == 0.0
    assert GaussianMixtureStep((1.0, math.inf), (0.5, 0.5)).renyi(2.0) == math.inf
    assert GaussianMixtureStep((1.0, 1e160), (0.5, 0.5)).renyi(2.0) == math.inf
    # (order-1) order mu^2 overflows where order mu^2 does not: the largest mu bounds all
    huge = GaussianMixtureStep((1.0, 1e100), (0.5, 0.5)).renyi(1e100)
    assert huge == gaussian_renyi(1e100, 1e100) < math.inf
    assert 0.0 < GaussianMixtureStep((0.0, 1e-200), (0.5, 0.5)).renyi(2.0) < 1e-300


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_mixture_profiles(epsilon):
    mus, weights = (0.5, 1.0, 2.0), (0.2, 0.3, 0.5)
    made = GaussianMixture(mus, weights)
    average = sum(w * float(gaussian_delta(epsilon, m)) for m, w in zip(mus, weights, strict=True))
    assert average <= made.delta(epsilon) <= average * (1 + 1e-13)
    found = made.epsilon(made.delta(epsilon))
    assert found == pytest.approx(epsilon, abs=1e-9)
    assert made.delta(found) <= made.delta(epsilon) * (1 + 1e-9)


def test_mixture_epsilon_at_its_edges():
    made = GaussianMixture((0.5, 1.0), (0.5, 0.5))
    assert made.epsilon(1.0) == 0.0
    assert made.epsilon(made.delta(0.0)) == 0.0
    assert made.epsilon(made.delta(0.0) * 0.999) > 0.0
    ruined = GaussianMixture((1.0, math.inf), (0.999, 0.001))
    assert ruined.epsilon(1e-4) == math.inf
    assert ruined.epsilon(1e-2) < 3.0  # the ruin is rarer than delta
    assert ruined.delta(5.0) >= 0.001
    assert GaussianMixture((0.0,), (1.0,)).delta(0.0) == 0.0
    assert GaussianMixture((math.inf,), (1.0,)).delta(0.0) == 1.0
    assert 0.0 < GaussianMixture((0.0, 1e-3), (0.5, 0.5)).delta(9.0) < 1e-300


def test_mixture_weights():
    assert GaussianMixture((2.0, 1.0, 2.0), (0.25, 0.5, 0.25)).mus == (1.0, 2.0)
    assert GaussianMixture((1.0, 2.0, 3.0), (0.5, 0.5, 0.0)).mus == (1.0, 2.0)
    short = GaussianMixture((1.0, 2.0), (0.5, 0.5 - 5e-10))
    assert math.fsum(short.weights) >= 1.0
    assert short.weights[0] == pytest.approx(0.5, abs=1e-15)
    assert short.weights[1] == pytest.approx(0.5, abs=1e-12)
    for mus, weights in [((), ()), ((1.0,), (0.5, 0.5)), ((1.0, 2.0), (0.5, 0.49))]:
        with pytest.raises(InvalidDescription):
            GaussianMixture(mus, weights)
    with pytest.raises(InvalidDescription, match="sum to 1"):
        GaussianMixture((1.0,), (1.0 - 2e-9,))


def test_mixtures_join():
    made = GaussianMixture((0.5, 1.0), (0.5, 0.5))
    joined = made.compose(GaussianDP(2.0))
    assert isinstance(joined, GaussianMixture)
    assert joined.mus == pytest.approx((math.sqrt(4.25), math.sqrt(5.0)))
    twice = made.compose(made)
    assert isinstance(twice, NumericalDP) and twice == made.repeat(2)
    assert made.repeat(1) is made and made.group(1) is made
    assert made.group(2).renyi(2.0) >= made.renyi(2.0)
    assert made.compose(made, GaussianDP(2.0)).parts[0] == (GaussianStep(2.0), 1)


def converted(rho, delta):
    """rho-zCDP at delta, by the conversion minimised over a fine grid of orders."""

    def at(order):
        return (
            rho * order + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        )

    return min(at(1 + 10 ** (k / 400)) for k in range(-1600, 3200))


@pytest.mark.parametrize("rho", [1e-3, 0.1, 2.0])
def test_renyi_conversions(rho):
    made = RenyiDP.zcdp(rho)
    for delta in (1e-2, 1e-5, 1e-12):
        best = max(converted(rho, delta), 0.0)
        assert made.epsilon(delta) == pytest.approx(best, rel=1e-5, abs=1e-9)
        assert made.epsilon(delta) >= best * (1 - 1e-5)
        if best > 0.0:
            assert made.delta(made.epsilon(delta)) == pytest.approx(delta, rel=1e-6)
            assert made.delta(made.epsilon(delta)) <= delta * (1 + 1e-9)
            assert made.epsilon(delta) >= gaussian_epsilon(delta, math.sqrt(2 * rho))
    assert made.epsilon(1.0) == 0.0
    assert made.epsilon(0.0) == math.inf
    assert made.delta(0.0) <= 1.0
    assert made.delta(math.inf) <= 5e-324 * 2
    assert RenyiDP.zcdp(50.0).delta(0.0) == 1.0


def test_nothing_leaks_and_everything_leaks():
    nothing, everything = RenyiDP.zcdp(0.0), RenyiDP.zcdp(math.inf)
    assert nothing.epsilon(1e-9) == nothing.epsilon(0.0) == nothing.delta(0.0) == 0.0
    assert nothing.renyi(5.0) == nothing.renyi(math.inf) == 0.0
    assert everything.epsilon(1e-5) == math.inf and everything.delta(100.0) == 1.0
    assert everything.delta(math.inf) == 1.0 and everything.epsilon(1.0) == 0.0


def test_renyi_curves_are_raised():
    rng = np.random.default_rng(2)
    for rho, order in rng.uniform(1.1, 9.0, (200, 2)).tolist():
        exact = mp.mpf(rho) * mp.mpf(order)
        assert exact <= LinearCurve(rho)(order) <= exact * (1 + mp.mpf("1e-15"))
        parts = ((LinearCurve(rho), 3), (LinearCurve(2 * rho), 2))
        assert 7 * exact <= SumOfCurves(parts)(order) <= 7 * exact * (1 + mp.mpf("4e-15"))
        assert (
            9 * exact <= GroupCurve(LinearCurve(rho), 3)(order) <= 9 * exact * (1 + mp.mpf("9e-15"))
        )


def test_largest_orders():
    made = RenyiDP(LinearCurve(0.1), max_order=4.0)
    assert made.renyi(4.0) == pytest.approx(0.4) and made.renyi(4.0000001) == math.inf
    free = RenyiDP(LinearCurve(0.1))
    assert made.epsilon(1e-9) > free.epsilon(1e-9)
    order = 4.0
    at_the_end = 0.4 + math.log1p(-1 / order) - (math.log(1e-9) + math.log(order)) / (order - 1)
    assert made.epsilon(1e-9) == pytest.approx(at_the_end, rel=1e-12)
    assert made.group(2).max_order == 2.0
    with pytest.raises(NoTheoremApplies):
        made.group(4)
    assert made.group(3).max_order == pytest.approx(4 / 3)
    assert made.compose(RenyiDP(LinearCurve(0.1), max_order=3.0)).max_order == 3.0
    assert made.compose(free).max_order == 4.0
    with pytest.raises(InvalidDescription):
        RenyiDP(LinearCurve(0.1), max_order=1.0)
    close = RenyiDP(LinearCurve(0.1), max_order=1.0 + 1e-3)
    assert close.epsilon(1e-5) > 1000.0


def test_renyi_repeats_and_composes_alike():
    made = RenyiDP.zcdp(0.1)
    assert made.repeat(1) is made and made.group(1) is made
    assert made.repeat(3) == made.compose(made, made)
    assert made.repeat(3).repeat(2).renyi(2.0) == pytest.approx(1.2)
    assert made.repeat(6) == made.repeat(3).repeat(2)
    assert made.repeat(5) == made.repeat(2).compose(made.repeat(3))
    mixed = made.compose(GaussianDP(1.0))
    assert mixed.renyi(2.0) == pytest.approx(0.2 + 1.0)
    assert RenyiDP(lambda order: math.exp(1e6)).renyi(2.0) == math.inf
    assert RenyiDP(lambda order: -1.0).renyi(2.0) == 0.0
    with pytest.raises(InvalidDescription, match="nan"):
        RenyiDP(lambda order: math.nan).renyi(2.0)
    with pytest.raises(InvalidDescription, match="curve"):
        RenyiDP(3.0)


@pytest.mark.parametrize("type_i", [0.0, 1e-6, 0.01, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_error_rates_from_a_profile(type_i, mu):
    """WithFailure knows only the profile; a Gaussian's own curve is the truth."""
    from_profile = WithFailure(GaussianDP(mu), 0.0)
    exact = float(special.ndtr(special.ndtri(1.0 - type_i) - mu))
    assert exact - 0.02 * (1 - exact) - 1e-9 <= from_profile.type_ii(type_i) <= exact * (1 + 1e-11)
    power = from_profile.true_positive_rate(type_i)
    assert power >= (1.0 - exact) * (1 - 1e-11)
    assert power == pytest.approx(1 - from_profile.type_ii(type_i), abs=1e-15)
    assert GaussianDP(mu).type_ii(type_i) == pytest.approx(exact)


def test_the_sketch_of_a_profile():
    made = WithFailure(GaussianDP(1.0), 0.0)
    epsilons = [0.0, *(2.0**power for power in range(-10, 14))]
    assert made._sketch == tuple((epsilon, made.delta(epsilon)) for epsilon in epsilons)


def test_a_profile_is_not_searched_where_it_tells_nothing(monkeypatch):
    """A delta of a large account may take a second; the mean loss of this one is 600."""
    asked, delta = [], RenyiDP.delta

    def counted(self, epsilon):
        asked.append(epsilon)
        return delta(self, epsilon)

    monkeypatch.setattr(RenyiDP, "delta", counted)
    made = RenyiDP.zcdp(600.0)
    assert made.type_ii(0.1) == 0.0
    assert asked == [8192.0, 4096.0, 2048.0, 1024.0, 512.0]
    assert {known for _, known in made._sketch[:-4]} == {1.0}


def test_failures():
    made = WithFailure(GaussianDP(1.0), 1e-3)
    assert made.delta(1.0) >= GaussianDP(1.0).delta(1.0) + 1e-3
    assert made.delta(1.0) == pytest.approx(GaussianDP(1.0).delta(1.0) + 1e-3, rel=1e-14)
    assert WithFailure(GaussianDP(9.0), 0.9).delta(0.0) == 1.0
    assert made.epsilon(1.0) == WithFailure(GaussianDP(9.0), 0.9).epsilon(1.0) == 0.0
    assert made.epsilon(0.999e-3) == math.inf and made.epsilon(1e-3) == math.inf
    assert WithFailure(GaussianDP(0.0), 1e-3).epsilon(1e-3) == 0.0
    assert made.epsilon(2e-3) == pytest.approx(GaussianDP(1.0).epsilon(1e-3), rel=1e-9)
    for delta in np.random.default_rng(3).uniform(1.1e-3, 1e-2, 100).tolist():
        assert made.delta(made.epsilon(delta)) <= delta * (1 + 1e-12)
        assert made.epsilon(delta) >= GaussianDP(1.0).epsilon(delta - 1e-3)
    assert made.renyi(2.0) == math.inf
    assert WithFailure(GaussianDP(1.0), 0.0).renyi(2.0) == GaussianDP(1.0).renyi(2.0)
    twice = made.repeat(2)
    assert twice == made.compose(made)
    assert twice.probability == pytest.approx(2e-3) and twice.inner == GaussianDP(1.0).repeat(2)
    assert WithFailure(GaussianDP(1.0), 0.7).repeat(2).probability == 1.0
    assert made.compose(GaussianDP(2.0)) == GaussianDP(2.0).compose(made)
    assert made.compose(GaussianDP(2.0)).inner.mu == pytest.approx(math.sqrt(5))
    assert made.group(1) is made
    with pytest.raises(NoTheoremApplies):
        made.group(2)
    assert WithFailure(GaussianDP(1.0), 0.0).group(2).inner == GaussianDP(1.0).group(2)
    with pytest.raises(InvalidDescription):
        WithFailure(1.0, 0.1)


def test_what_a_failure_leaves_of_delta_is_rounded_down(monkeypatch):
    asked = []
    monkeypatch.setattr(GaussianDP, "epsilon", lambda self, delta: asked.append(delta) or 0.0)
    rows = np.random.default_rng(4).uniform(0.0, 0.3, (200, 2)).tolist()
    for probability, more in rows:
        delta = probability + more
        WithFailure(GaussianDP(1.0), probability).epsilon(delta)
        assert Fraction(asked[-1]) + Fraction(probability) <= Fraction(delta)
        assert asked[-1] == pytest.approx(more, rel=1e-12)


def test_gaussians():
    made = GaussianDP(1.5)
    assert made.repeat(4).mu == pytest.approx(3.0) and made.group(4).mu == pytest.approx(6.0)
    assert made.compose(GaussianDP(2.0)).mu == pytest.approx(2.5)
    assert made.recipe() == ((GaussianStep(1.5), 1),) and GaussianDP(0.0).recipe() == ()
    assert GaussianDP.from_target(epsilon=1.0, delta=1e-5).epsilon(1e-5) <= 1.0
    assert made.compose() is made
    with pytest.raises(InvalidDescription):
        made.compose(1.0)


def sampled(mu=1.0, rate=0.25, pair=Pair.ADD_OR_REMOVE, count=3):
    return NumericalDP(((SampledGaussianStep(mu, rate, pair), count),))


def one_step_delta(epsilon, mu, rate, pair):
    """The hockey stick of one sampled step by quadrature, the larger of both directions."""
    x = np.linspace(-30, 30, 600_001)
    dx = x[1] - x[0]
    at = lambda m: np.exp(-0.5 * (x - m) ** 2) / math.sqrt(2 * math.pi)  # noqa: E731
    first = (1 - rate) * at(0) + rate * at(mu)
    second = (1 - rate) * at(0) + rate * at(-mu) if pair is Pair.REPLACE else at(0)
    ways = ((first, second), (second, first))
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * dx) for p, q in ways)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.25), (3.0, 0.01), (0.3, 0.9)])
def test_one_sampled_step(pair, mu, rate):
    made = sampled(mu, rate, pair, 1)
    for epsilon in (0.0, 0.1, 0.5):
        exact = one_step_delta(epsilon, mu, rate, pair)
        assert exact * (1 - 1e-7) <= made.delta(epsilon) <= exact * 1.01 + 1e-12
        if exact > 1e-9:
            assert made.epsilon(made.delta(epsilon)) == pytest.approx(epsilon, abs=1e-3)


def test_numerical_accounts():
    made = sampled()
    assert made.renyi(2.0) == pytest.approx(3 * made.parts[0][0].renyi(2.0), rel=1e-14)
    assert made.repeat(2).parts[0][1] == 6 and made.repeat(2) == made.compose(made)
    assert made.epsilon(1.0) == 0.0 and made.epsilon(0.0) == made._as_renyi.epsilon(0.0)
    assert made.delta(math.inf) <= 1e-300
    assert made.group(1) is made and made.group(2).renyi(2.0) > made.renyi(2.0)
    empty = NumericalDP(())
    assert empty.delta(0.0) == 0.0 and empty.epsilon(1e-9) == 0.0
    gaussian = NumericalDP(((GaussianStep(1.0), 4),))
    assert gaussian.delta(1.0) == gaussian_delta(1.0, gaussian.parts[0][0].mu)
    assert gaussian.epsilon(1e-5) == pytest.approx(gaussian_epsilon(1e-5, 2.0), rel=1e-12)
    assert gaussian.group(3).parts[0][0].mu == pytest.approx(6.0)
    assert NumericalDP(((GaussianStep(9e3), 1), *made.parts))._gaussian is None
    for parts in (((1.0, 1),), ((GaussianStep(1.0), 0),)):
        with pytest.raises(InvalidDescription):
            NumericalDP(parts)
    with_gaussian = made.compose(GaussianDP(1.0))
    assert with_gaussian.parts[0] == (GaussianStep(1.0), 1)
    assert with_gaussian.delta(1.0) > max(made.delta(1.0), GaussianDP(1.0).delta(1.0))


def test_a_ruinous_gaussian_ruins_the_account():
    parts = sampled().parts
    ruined = NumericalDP(((GaussianStep(2e4), 1), *parts))
    assert ruined.delta(10.0) == 1.0 and ruined.epsilon(1e-5) == math.inf


def test_far_below_the_truncation_divergences_take_over():
    made = sampled(0.5, 0.01, Pair.ADD_OR_REMOVE, 1)
    assert made.delta(60.0) < 1e-60
    assert made.epsilon(1e-60) < 60.0
    assert made._floor == 1e6 * max(account.infinite for account in made._accounts)


@pytest.mark.parametrize(("mu", "count"), [(0.05, 400), (0.005, 40_000), (1.0, 1)])
@pytest.mark.parametrize("pair", PAIRS)
def test_almost_certain_steps_are_almost_gaussian(pair, mu, count):
    """The account is fine enough: at a rate of nearly one the truth is a Gaussian's."""
    total = mu * math.sqrt(count) * (2.0 if pair is Pair.REPLACE else 1.0)
    made = sampled(mu, 1.0 - 1e-12, pair, count)
    exact = gaussian_epsilon(1e-5, total)
    assert exact * (1 - 1e-9) <= made.epsilon(1e-5) <= exact * 1.001


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.02), (1e-9, 5.0), (3.0, 1e9)])
def test_ladders_round_up_a_little(low, high):
    mus = np.geomspace(low, high, 300).tolist()
    ladder = _ladder(mus, 32)
    assert set(ladder) == set(mus) and len(set(ladder.values())) <= 33
    assert all(mu <= ladder[mu] for mu in mus) and ladder[mus[-1]] == mus[-1]
    top, ratio = min(high, 2e4), min(high, 2e4) / max(low, 1e-4 * min(high, 2e4))
    for mu in mus:
        if 1e-4 * top < mu < top / ratio ** (1.01 / 31):
            assert ladder[mu] <= mu * ratio ** (1.01 / 31) * 1.001
    assert _ladder(mus[:32], 32) == {mu: mu for mu in mus[:32]}
    assert len(set(_ladder(mus[:33], 32).values())) < 33


def test_many_draws_and_kinds_are_coarsened():
    mus = tuple(np.linspace(1.0, 1.02, 512).tolist())
    ((draws, count),) = _coarsened(((GaussianMixtureStep(mus, (1 / 512,) * 512), 2),))
    assert count == 2 and 100 < len(draws.mus) <= 257
    assert 1.0 < math.fsum(draws.weights) <= 1.0 + 1e-12
    mean = math.fsum(m * w for m, w in zip(draws.mus, draws.weights, strict=True))
    assert 1.01 <= mean <= 1.0101
    kinds = tuple((SampledGaussianStep(m, 0.25, Pair.REPLACE), 1) for m in mus[:100])
    coarse = _coarsened(kinds)
    assert all(
        a.mu >= b.mu and a.rate == b.rate for (a, _), (b, _) in zip(coarse, kinds, strict=True)
    )
    assert 32 < len({a.mu for a, _ in coarse}) <= 65
    assert _coarsened(kinds[:64]) == kinds[:64]
    assert _coarsened(((GaussianStep(1.0), 3),)) == ((GaussianStep(1.0), 3),)


@pytest.mark.parametrize("pair", PAIRS)
def test_enormous_sampled_steps_show_the_record(pair):
    """Beyond the largest mu the step says for certain whether the record took part."""
    assert sampled(101.0, 0.25, pair, 1).delta(1.0) == pytest.approx(0.25, rel=2e-2)
    assert 1 - 0.75**2 <= sampled(101.0, 0.25, pair, 2).delta(1.0) <= 0.51


def test_ruinous_draws_inside_an_account():
    step = GaussianMixtureStep((0.0, 1.0, 2e4), (0.25, 0.5, 0.25))
    made = NumericalDP(((step, 1),))
    exact = 0.5 * gaussian_delta(1.0, 1.0) + 0.25
    assert exact * (1 - 1e-9) <= made.delta(1.0) <= exact * 1.02
    border = NumericalDP(((GaussianStep(1e4), 1), (SampledGaussianStep(1.0, 0.5, Pair.REPLACE), 1)))
    assert border._gaussian is None


def test_losses_too_large_to_convolve():
    endless = sampled(100.0, 0.5, Pair.REPLACE, 10**308)
    assert endless.delta(1.0) == 1.0 and endless.epsilon(1e-5) > 1e100


def test_one_mu_drawn_for_certain_is_that_gaussian():
    """Its delta is rounded up, so the search for epsilon has to look beyond the Gaussian's own."""
    for delta in (1e-3, 1e-5, 1e-9, 0.2):
        found = GaussianMixture((1.0,), (1.0,)).epsilon(delta)
        assert found == pytest.approx(GaussianDP(1.0).epsilon(delta), rel=1e-9)


def test_one_step_that_cannot_be_exported_stops_the_export():
    from wane.extra.privacy_loss_distribution import privacy_loss_distribution

    mixed = NumericalDP(((GaussianStep(1.0), 1), (GaussianMixtureStep((0.5, 1.0), (0.5, 0.5)), 1)))
    with pytest.raises(InvalidDescription, match="Gaussian or sampled Gaussian"):
        privacy_loss_distribution(mixed)


def test_the_largest_delta_needs_no_epsilon():
    mixture = GaussianMixture((0.5, 1.0), (0.5, 0.5))
    assert mixture.epsilon(mixture.delta(0.0)) == 0.0


def test_errors_too_small_to_be_told_are_zero_and_no_power_exceeds_one():
    for rho in (30.0, 33.0, 100.0, 1e6):
        made = RenyiDP.zcdp(rho)
        assert made.type_ii(0.1) == 0.0
        assert made.true_positive_rate(0.1) == 1.0
