"""Laws that hold for every kind of guarantee, and for each kind alone."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import (
    GaussianDP,
    GaussianMixture,
    GaussianMixtureStep,
    GaussianStep,
    Guarantee,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
    WithFailure,
)
from wane.guarantees.renyi import GroupCurve

SLACK = 1e-6  # of searches over a continuous order or epsilon
DISCRETISATION = 1e-3


def bounded_curve(order: float) -> float:
    """Pure 0.3-DP, in Renyi divergences."""
    return min(0.3, 0.045 * order)


@cache
def kinds() -> dict[str, Guarantee]:
    replaced = SampledGaussianStep(0.8, 0.05, Pair.REPLACE)
    one_sided = SampledGaussianStep(1.1, 0.03, Pair.ADD_OR_REMOVE)
    mixture = GaussianMixture((0.2, 0.5, 1.0), (0.5, 0.3, 0.2))
    return {
        "gaussian": GaussianDP(0.7),
        "perfect": GaussianDP(0.0),
        "zcdp": RenyiDP.zcdp(0.2),
        "renyi": RenyiDP(bounded_curve, max_order=400.0),
        "mixture": mixture,
        "replace": NumericalDP(((replaced, 20),)),
        "add or remove": NumericalDP(((one_sided, 30), (GaussianStep(0.2), 1))),
        "failing": WithFailure(GaussianDP(0.5), 1e-7),
        "failing numerical": WithFailure(NumericalDP(((replaced, 5),)), 1e-9),
    }


NAMES = tuple(kinds())
every_kind = pytest.mark.parametrize("name", NAMES)
every_pair = pytest.mark.parametrize(
    ("first", "second"), [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i:]]
)


@every_kind
def test_delta_falls_with_epsilon_and_stays_a_probability(name: str) -> None:
    guarantee = kinds()[name]
    deltas = [
        guarantee.delta(epsilon) for epsilon in (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 1e3)
    ]
    assert all(0.0 <= delta <= 1.0 for delta in deltas)
    assert all(later <= earlier * (1 + SLACK) for earlier, later in pairwise(deltas))
    assert (deltas[0] == 0.0) == (name == "perfect")


@every_kind
def test_epsilon_and_delta_are_inverse_on_the_private_side(name: str) -> None:
    guarantee = kinds()[name]
    epsilons = []
    for delta in (1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.5):
        epsilon = guarantee.epsilon(delta)
        epsilons.append(epsilon)
        if math.isfinite(epsilon):
            assert guarantee.delta(epsilon) <= delta * (1 + SLACK)
            if epsilon > 1e-3:
                assert guarantee.delta(epsilon * (1 - 1e-3)) > delta * (1 - SLACK)
    assert all(later <= earlier for earlier, later in pairwise(epsilons))
    assert guarantee.epsilon(1.0) == 0.0


@every_kind
def test_renyi_grows_with_the_order(name: str) -> None:
    values = [kinds()[name].renyi(order) for order in (1.001, 1.5, 2.0, 8.0, 64.0, 300.0)]
    assert all(value >= 0.0 for value in values)
    assert all(earlier <= later * (1 + 1e-9) for earlier, later in pairwise(values))


@every_kind
def test_renyi_never_promises_less_than_the_profile(name: str) -> None:
    guarantee = kinds()[name]
    if math.isfinite(guarantee.renyi(2.0)):
        converted = RenyiDP(guarantee.renyi, max_order=400.0)
        for delta in (1e-8, 1e-4):
            assert converted.epsilon(delta) >= guarantee.epsilon(delta) * (1 - 1e-9)


@every_kind
def test_the_trade_off_curve_has_the_right_shape(name: str) -> None:
    guarantee = kinds()[name]
    rates = [0.0, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0]
    missed = [guarantee.type_ii(rate) for rate in rates]
    for rate, value in zip(rates, missed, strict=True):
        assert 0.0 <= value <= 1.0 - rate + 1e-15
        power = guarantee.true_positive_rate(rate)
        assert power >= rate
        assert power == pytest.approx(1.0 - value, abs=1e-9)
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(missed))
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(zip(rates, missed, strict=True))]
    assert all(earlier <= later + 1e-4 for earlier, later in pairwise(slopes))


@every_kind
@pytest.mark.parametrize("times", [1, 2, 5])
def test_repeating_is_composing_copies(name: str, times: int) -> None:
    guarantee = kinds()[name]
    assert guarantee.repeat(times) == guarantee.compose(*[guarantee] * (times - 1))


@every_kind
def test_repeating_never_helps(name: str) -> None:
    guarantee = kinds()[name]
    repeated = guarantee.repeat(3)
    for delta in (1e-6, 1e-3):
        assert repeated.epsilon(delta) >= guarantee.epsilon(delta) * (1 - DISCRETISATION)
    assert repeated.renyi(3.0) >= guarantee.renyi(3.0)


@every_pair
def test_composition_commutes_and_never_helps(first: str, second: str) -> None:
    a, b = kinds()[first], kinds()[second]
    one, other = a.compose(b), b.compose(a)
    for delta in (1e-6, 1e-2):
        epsilon = one.epsilon(delta)
        assert epsilon == other.epsilon(delta) or epsilon == pytest.approx(
            other.epsilon(delta), rel=1e-9
        )
        alone = max(a.epsilon(delta), b.epsilon(delta))
        assert epsilon >= alone * (1 - DISCRETISATION)
    assert one.renyi(4.0) >= max(a.renyi(4.0), b.renyi(4.0)) * (1 - 1e-12)


@every_kind
def test_groups(name: str) -> None:
    guarantee = kinds()[name]
    assert guarantee.group(1) == guarantee
    if isinstance(guarantee, WithFailure):
        with pytest.raises(NoTheoremApplies, match="bound the failure for the group"):
            guarantee.group(2)
        return
    group = guarantee.group(3)
    assert group.epsilon(1e-5) >= guarantee.epsilon(1e-5)
    assert group.renyi(2.0) >= guarantee.renyi(2.0)


# Gaussian -----------------------------------------------------------------------------------------


@given(mu=st.floats(0.0, 50.0), times=st.integers(1, 40))
def test_gaussian_arithmetic(mu: float, times: int) -> None:
    guarantee = GaussianDP(mu)
    assert guarantee.repeat(times) == guarantee.compose(*[guarantee] * (times - 1))
    assert guarantee.repeat(times).mu == pytest.approx(mu * math.sqrt(times), rel=1e-15, abs=5e-324)
    assert guarantee.group(times).mu == pytest.approx(mu * times, rel=1e-15)
    assert guarantee.renyi(3.0) >= 1.5 * mu * mu


@given(mus=st.lists(st.floats(0.0, 5.0), min_size=2, max_size=6))
def test_gaussian_composition_forgets_the_order(mus: list[float]) -> None:
    forward = GaussianDP(mus[0]).compose(*(GaussianDP(mu) for mu in mus[1:]))
    backward = GaussianDP(mus[-1]).compose(*(GaussianDP(mu) for mu in mus[-2::-1]))
    assert forward == backward
    assert isinstance(forward, GaussianDP)
    assert forward.mu >= math.hypot(*mus) * (1 - 1e-15)


@settings(deadline=None)
@given(mu=st.floats(0.01, 5.0), rate=st.floats(1e-6, 1.0))
def test_the_general_trade_off_search_agrees_with_the_gaussian_formula(
    mu: float, rate: float
) -> None:
    guarantee = GaussianDP(mu)
    searched = Guarantee.type_ii(guarantee, rate)
    assert searched <= guarantee.type_ii(rate) + 1e-12
    assert searched == pytest.approx(guarantee.type_ii(rate), abs=2e-4)


def test_no_privacy_and_perfect_privacy() -> None:
    nothing, perfect = GaussianDP(math.inf), GaussianDP(0.0)
    assert nothing.delta(100.0) == 1.0
    assert nothing.epsilon(0.5) == nothing.renyi(2.0) == math.inf
    assert nothing.type_ii(0.1) == 0.0
    assert perfect.epsilon(0.0) == perfect.delta(0.0) == perfect.renyi(math.inf) == 0.0
    assert nothing.compose(perfect) == nothing.repeat(3) == nothing.group(2) == nothing
    assert perfect.type_ii(0.3) == pytest.approx(0.7, abs=1e-15)


# Renyi --------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(log_rho=st.floats(-8.0, 4.0), log_delta=st.floats(-100.0, -1.0))
def test_zcdp_is_never_tighter_than_the_gaussian_it_contains(
    log_rho: float, log_delta: float
) -> None:
    rho, delta = 10.0**log_rho, 10.0**log_delta
    epsilon = RenyiDP.zcdp(rho).epsilon(delta)
    assert epsilon >= GaussianDP(math.sqrt(2 * rho)).epsilon(delta) * (1 - 1e-9)
    assert epsilon <= rho + 2 * math.sqrt(-rho * math.log(delta))
    assert RenyiDP.zcdp(rho).delta(epsilon) <= delta * (1 + SLACK)


def test_renyi_limits() -> None:
    assert RenyiDP.zcdp(0.0).epsilon(0.0) == RenyiDP.zcdp(0.0).delta(0.0) == 0.0
    assert RenyiDP.zcdp(1.0).epsilon(0.0) == math.inf
    assert RenyiDP.zcdp(math.inf).epsilon(1e-5) == math.inf
    assert RenyiDP.zcdp(math.inf).delta(3.0) == 1.0
    assert RenyiDP(bounded_curve, max_order=8.0).renyi(8.5) == math.inf
    assert RenyiDP(math.exp).renyi(1e8) == math.inf
    assert RenyiDP.zcdp(1.0).delta(math.inf) <= 5e-324
    with pytest.raises(InvalidDescription, match="nan at order"):
        RenyiDP(lambda order: math.nan).renyi(2.0)
    with pytest.raises(NoTheoremApplies, match="orders above 5"):
        RenyiDP(bounded_curve, max_order=4.0).group(5)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(2, 5),
    order=st.floats(1.01, 6.0),
    spread=st.floats(0.01, 2.0),
)
def test_the_group_rule_bounds_every_chain(
    seed: int, size: int, order: float, spread: float
) -> None:
    """Random chains of distributions on four points; adjacent ones define the curve."""
    rng = np.random.default_rng(seed)
    logits = np.cumsum(spread * rng.normal(size=(size + 1, 4)), axis=0)
    chain = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    def divergence(p: np.ndarray, q: np.ndarray, at: float) -> float:
        return float(np.log(np.sum(p**at * q ** (1 - at))) / (at - 1))

    def adjacent(at: float) -> float:
        both = [(p, q) for a, b in pairwise(chain) for p, q in ((a, b), (b, a))]
        return max(divergence(p, q, at) for p, q in both)

    bound = GroupCurve(adjacent, size)(order)
    assert divergence(chain[0], chain[-1], order) <= bound * (1 + 1e-9) + 1e-12
    assert divergence(chain[-1], chain[0], order) <= bound * (1 + 1e-9) + 1e-12


def test_the_group_rule_is_exact_for_gaussians() -> None:
    group = RenyiDP.zcdp(0.5).group(4)
    assert group.renyi(3.0) == pytest.approx(GaussianDP(1.0).group(4).renyi(3.0), rel=1e-13)


# Numerical ----------------------------------------------------------------------------------------


def test_recipes_have_a_normal_form() -> None:
    step = SampledGaussianStep(1.0, 0.1, Pair.REPLACE)
    whole = SampledGaussianStep(1.0, 1.0, Pair.REPLACE)
    added = SampledGaussianStep(1.0, 1.0, Pair.ADD_OR_REMOVE)
    empty = SampledGaussianStep(1.0, 0.0, Pair.REPLACE)
    assert NumericalDP(((whole, 1),)).parts == ((GaussianStep(2.0), 1),)
    assert NumericalDP(((added, 4),)).parts == ((GaussianStep(2.0), 1),)
    assert NumericalDP(((empty, 3), (GaussianStep(0.0), 2))).parts == ()
    assert NumericalDP(((step, 1), (empty, 1), (step, 2))) == NumericalDP(((step, 3),))
    assert (
        NumericalDP(()).delta(0.0)
        == NumericalDP(()).epsilon(0.0)
        == NumericalDP(()).renyi(2.0)
        == 0.0
    )


@pytest.mark.parametrize("pair", list(Pair))
def test_full_rate_is_the_limit_of_the_sampled_step(pair: Pair) -> None:
    """The replace pair at rate one lies 2 mu apart, the add-or-remove pair mu apart."""
    almost = NumericalDP(((SampledGaussianStep(0.6, 1.0 - 1e-9, pair), 3),))
    full = NumericalDP(((SampledGaussianStep(0.6, 1.0, pair), 3),))
    mu = (1.2 if pair is Pair.REPLACE else 0.6) * math.sqrt(3)
    assert full.epsilon(1e-5) == pytest.approx(GaussianDP(mu).epsilon(1e-5), rel=1e-12)
    assert almost.epsilon(1e-5) == pytest.approx(full.epsilon(1e-5), rel=DISCRETISATION)
    assert almost.renyi(4.0) == pytest.approx(full.renyi(4.0), rel=1e-6)


def test_gaussians_join_exactly() -> None:
    pure = NumericalDP(((GaussianStep(0.3), 4),))
    assert pure.epsilon(1e-6) == GaussianDP(0.6).epsilon(1e-6)
    assert pure.delta(0.5) == GaussianDP(0.6).delta(0.5)
    assert pure.group(2) == NumericalDP(((GaussianStep(1.2), 1),))
    joined = pure.compose(GaussianDP(0.8))
    assert joined == GaussianDP(0.8).compose(pure)
    assert joined.epsilon(1e-6) == GaussianDP(0.6).compose(GaussianDP(0.8)).epsilon(1e-6)


def test_a_tiny_sampled_part_hardly_changes_a_gaussian() -> None:
    tiny = NumericalDP(((SampledGaussianStep(0.1, 1e-4, Pair.REPLACE), 10),))
    both = GaussianDP(1.0).compose(tiny)
    exact = GaussianDP(1.0).epsilon(1e-6)
    assert exact <= both.epsilon(1e-6) <= exact * (1 + DISCRETISATION)


def test_larger_steps_and_rates_leak_more() -> None:
    def epsilon(mu: float, rate: float, count: int) -> float:
        return NumericalDP(((SampledGaussianStep(mu, rate, Pair.REPLACE), count),)).epsilon(1e-6)

    base = epsilon(1.0, 0.02, 100)
    assert base < epsilon(1.1, 0.02, 100)
    assert base < epsilon(1.0, 0.022, 100)
    assert base < epsilon(1.0, 0.02, 110)


def test_many_different_steps_are_rounded_up_together() -> None:
    def step(mu: float) -> SampledGaussianStep:
        return SampledGaussianStep(mu, 0.02, Pair.REPLACE)

    varied = NumericalDP(tuple((step(0.5 + i / 200), 1) for i in range(100)))
    least, most = NumericalDP(((step(0.5), 100),)), NumericalDP(((step(1.0), 100),))
    assert least.epsilon(1e-6) < varied.epsilon(1e-6) < most.epsilon(1e-6)


def test_huge_steps_show_whether_the_record_took_part() -> None:
    for pair in Pair:
        seen = NumericalDP(((SampledGaussianStep(1e3, 1e-3, pair), 10),))
        assert 1 - 0.999**10 <= seen.delta(1.0) <= 0.0102
        assert seen.epsilon(0.02) <= 0.02
        lost = NumericalDP(((SampledGaussianStep(math.inf, 1e-3, pair), 10),))
        assert lost.epsilon(1e-6) == lost.renyi(2.0) == math.inf
    both = NumericalDP(((GaussianStep(1e6), 1), (SampledGaussianStep(1.0, 0.1, Pair.REPLACE), 1)))
    assert both.delta(1.0) == 1.0
    assert both.epsilon(0.5) == math.inf


def test_deltas_below_the_truncation_are_answered_by_moments() -> None:
    guarantee = NumericalDP(((SampledGaussianStep(0.5, 0.1, Pair.REPLACE), 10),))
    epsilon = guarantee.epsilon(1e-60)
    assert guarantee.epsilon(1e-20) < epsilon < RenyiDP(guarantee.renyi).epsilon(1e-60) * (1 + 1e-9)
    assert guarantee.delta(epsilon) <= 1e-60 * (1 + SLACK)
    assert guarantee.epsilon(0.0) == math.inf
    assert guarantee.delta(math.inf) <= 1e-300


# Mixtures and failures ----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    mus=st.lists(st.floats(0.0, 4.0), min_size=1, max_size=6),
    epsilon=st.floats(0.0, 6.0),
)
def test_a_mixture_lies_between_its_extremes(mus: list[float], epsilon: float) -> None:
    mixture = GaussianMixture(tuple(mus), (1.0 / len(mus),) * len(mus))
    low, high = GaussianDP(min(mus)), GaussianDP(max(mus))
    assert low.delta(epsilon) * (1 - 1e-12) <= mixture.delta(epsilon)
    assert mixture.delta(epsilon) <= high.delta(epsilon) * (1 + 1e-12) + 1e-322
    assert (
        low.renyi(3.0) * (1 - 1e-9) <= mixture.renyi(3.0) <= high.renyi(3.0) * (1 + 1e-9) + 1e-323
    )
    if mixture.delta(epsilon) > 1e-300:
        assert mixture.delta(mixture.epsilon(1e-6)) <= 1e-6


def test_mixture_normal_form() -> None:
    assert GaussianMixture((1.0, 0.5, 1.0), (0.25, 0.5, 0.25)).mus == (0.5, 1.0)
    assert GaussianMixture((1.0, 0.5), (1.0, 0.0)).mus == (1.0,)
    thirds = GaussianMixture((0.1, 0.2, 3.0), (1 / 3, 1 / 3, 1 / 3))
    assert math.fsum(thirds.weights) >= 1.0
    short = GaussianMixture((0.1, 3.0), (0.5, 0.5 - 5e-10))
    assert short.weights[-1] >= 0.5  # what was missing went to the larger mu


def test_a_gaussian_joins_every_draw() -> None:
    mixture = GaussianMixture((0.0, 3.0), (0.5, 0.5))
    assert mixture.compose(GaussianDP(4.0)) == GaussianMixture((4.0, 5.0), (0.5, 0.5))
    assert GaussianDP(4.0).compose(mixture) == mixture.compose(GaussianDP(4.0))


def test_repeated_mixtures_average_over_all_draws() -> None:
    mixture = GaussianMixture((0.4, 1.2), (0.7, 0.3))
    draws = [(0.7 * 0.7, 0.4, 0.4), (2 * 0.7 * 0.3, 0.4, 1.2), (0.3 * 0.3, 1.2, 1.2)]
    twice = GaussianMixture(
        tuple(math.hypot(a, b) for _, a, b in draws), tuple(w for w, _, _ in draws)
    )
    for delta in (1e-2, 1e-5, 1e-9):
        exact = twice.epsilon(delta)
        assert (
            exact * (1 - 1e-12) <= mixture.repeat(2).epsilon(delta) <= exact * (1 + DISCRETISATION)
        )
    assert mixture.repeat(2).renyi(3.0) == pytest.approx(2 * mixture.renyi(3.0), rel=1e-12)


def test_a_draw_without_privacy_is_paid_with_its_weight() -> None:
    mixture = GaussianMixture((0.5, math.inf), (0.999, 0.001))
    assert mixture.delta(50.0) >= 0.001
    assert mixture.epsilon(1e-4) == math.inf
    assert math.isfinite(mixture.epsilon(0.01))
    assert mixture.renyi(2.0) == math.inf
    assert mixture.repeat(3).epsilon(0.002) == math.inf
    assert math.isfinite(mixture.repeat(3).epsilon(0.01))


def test_failure_is_paid_with_delta() -> None:
    inner = GaussianDP(1.0)
    failing = WithFailure(inner, 1e-6)
    assert failing.delta(1.0) >= inner.delta(1.0) + 1e-6
    assert failing.epsilon(1e-6) == failing.epsilon(1e-9) == math.inf
    assert failing.epsilon(1e-5) >= inner.epsilon(9e-6) * (1 - 1e-12)
    assert failing.delta(failing.epsilon(1e-5)) <= 1e-5
    assert failing.renyi(2.0) == math.inf
    assert WithFailure(inner, 0.0).renyi(2.0) == inner.renyi(2.0)
    assert WithFailure(inner, 0.0).group(2) == WithFailure(GaussianDP(2.0), 0.0)
    assert WithFailure(GaussianDP(0.0), 0.25).epsilon(0.25) == 0.0
    assert WithFailure(inner, 1.0).delta(3.0) == 1.0
    both = failing.compose(WithFailure(GaussianDP(2.0), 2e-6), GaussianDP(2.0))
    assert both == WithFailure(GaussianDP(3.0), both.probability)
    assert both.probability == pytest.approx(3e-6, rel=1e-15)
    assert both.probability >= 3e-6 * (1 - 1e-16)


# Arguments ----------------------------------------------------------------------------------------

NOT_NUMBERS: list[object] = [-1.0, math.nan, "1", None, True, [1.0], -math.inf, 1j]


@every_kind
@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_impossible_questions_are_refused_by_name(name: str, bad: object) -> None:
    guarantee = kinds()[name]
    for question, argument in [
        (guarantee.delta, "epsilon"),
        (guarantee.epsilon, "delta"),
        (guarantee.renyi, "order"),
        (guarantee.type_ii, "type_i"),
        (guarantee.true_positive_rate, "false_positive_rate"),
        (guarantee.repeat, "times"),
        (guarantee.group, "size"),
    ]:
        with pytest.raises(InvalidDescription, match=rf"^{argument} must be"):
            question(bad)  # type: ignore[operator]


@every_kind
def test_counts_and_probabilities_and_orders_have_ranges(name: str) -> None:
    guarantee = kinds()[name]
    for bad in (0, 1.5, 2.0):
        with pytest.raises(InvalidDescription, match=r"at least 1|a whole number"):
            guarantee.repeat(bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidDescription, match=r"at least 1|a whole number"):
            guarantee.group(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match="at most 1"):
        guarantee.epsilon(1.5)
    with pytest.raises(InvalidDescription, match="> 1"):
        guarantee.renyi(1.0)
    with pytest.raises(InvalidDescription, match="must be guarantees"):
        guarantee.compose("nothing")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_impossible_guarantees_are_refused_by_name(bad: object) -> None:
    with pytest.raises(InvalidDescription, match=r"^mu must be"):
        GaussianDP(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^mu must be"):
        GaussianStep(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^mu must be"):
        SampledGaussianStep(bad, 0.1, Pair.REPLACE)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^rate must be"):
        SampledGaussianStep(1.0, bad, Pair.REPLACE)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^rho must be"):
        RenyiDP.zcdp(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^probability must be"):
        WithFailure(GaussianDP(1.0), bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^mu must be"):
        GaussianMixture((bad,), (1.0,))  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^epsilon must be"):
        GaussianDP.from_target(epsilon=bad, delta=1e-5)  # type: ignore[arg-type]


def test_structural_mistakes_are_refused() -> None:
    with pytest.raises(InvalidDescription, match="sum to 1"):
        GaussianMixture((1.0, 2.0), (0.5, 0.4))
    with pytest.raises(InvalidDescription, match="equal length"):
        GaussianMixture((1.0, 2.0), (1.0,))
    with pytest.raises(InvalidDescription, match="equal length"):
        GaussianMixture((), ())
    with pytest.raises(InvalidDescription, match=r"^pair must be"):
        SampledGaussianStep(1.0, 0.1, "replace")  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match="pairs of a step and a count"):
        NumericalDP((("step", 1),))  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^count must be"):
        NumericalDP(((GaussianStep(1.0), 0),))
    with pytest.raises(InvalidDescription, match=r"^curve must be"):
        RenyiDP(0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match=r"^inner must be"):
        WithFailure(0.5, 0.1)  # type: ignore[arg-type]


@settings(max_examples=80, deadline=None)
@given(
    mu=st.floats(0.0, allow_infinity=True, allow_nan=False),
    epsilon=st.floats(0.0, allow_infinity=True, allow_nan=False),
    delta=st.floats(0.0, 1.0),
    order=st.floats(1.0, exclude_min=True, allow_infinity=True, allow_nan=False),
)
def test_every_valid_float_is_answered(
    mu: float, epsilon: float, delta: float, order: float
) -> None:
    for guarantee in (
        GaussianDP(mu),
        GaussianMixture((mu, 0.5), (0.5, 0.5)),
        RenyiDP.zcdp(mu),
        WithFailure(GaussianDP(mu), delta),
    ):
        assert 0.0 <= guarantee.delta(epsilon) <= 1.0
        assert guarantee.epsilon(delta) >= 0.0
        assert guarantee.renyi(order) >= 0.0
        assert 0.0 <= guarantee.type_ii(delta) <= 1.0


@settings(max_examples=12, deadline=None)
@given(
    mu=st.floats(0.0, allow_infinity=True, allow_nan=False),
    rate=st.floats(0.0, 1.0),
    pair=st.sampled_from(Pair),
    count=st.integers(1, 10**6),
    epsilon=st.floats(0.0, 1e9),
    delta=st.floats(0.0, 1.0),
)
def test_every_sampled_step_is_answered(
    *, mu: float, rate: float, pair: Pair, count: int, epsilon: float, delta: float
) -> None:
    guarantee = NumericalDP(((SampledGaussianStep(mu, rate, pair), count),))
    assert 0.0 <= guarantee.delta(epsilon) <= 1.0
    assert guarantee.epsilon(delta) >= 0.0
    assert guarantee.renyi(2.5) >= 0.0


def test_mixture_steps_inside_recipes() -> None:
    drawn = NumericalDP(((GaussianMixtureStep((0.0, 1.0), (0.5, 0.5)), 2),))
    assert drawn == GaussianMixture((0.0, 1.0), (0.5, 0.5)).repeat(2)
    many = GaussianMixture(tuple((i + 1) / 400 for i in range(400)), (1 / 400,) * 400)
    assert many.repeat(2).epsilon(1e-5) >= many.epsilon(1e-5)


def test_start_up_needs_no_heavy_library() -> None:
    """The two rooms alone, without the rest of the package around them."""
    script = (
        "import sys, types, pathlib, importlib.util as u\n"
        "root = pathlib.Path(u.find_spec('wane').origin).parent\n"
        "package = types.ModuleType('wane'); package.__path__ = [str(root)]\n"
        "sys.modules['wane'] = package\n"
        "import wane.guarantees\n"
        "heavy = {'dp_accounting', 'scipy.stats', 'scipy.optimize', 'mpmath'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
