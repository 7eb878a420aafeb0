"""Diffusions between mirrors: free motion by its cosines, worst pairs by all pairs of a grid."""

import math

import numpy as np
import pytest

from wane.errors import InvalidDescription, NoTheoremApplies
from wane.mechanisms import DiffusionMechanism, intrinsic
from wane.mechanisms.spectral import DEGREE, ReflectedDiffusion
from wane.mechanisms.worst_pair import CLOSE, WorstPair

LOW, HIGH, SPREAD = -0.5, 1.5, 0.75
WIDE = HIGH - LOW


def still(x):
    return np.zeros_like(x)


FREE = ReflectedDiffusion(still, lambda x: np.full_like(x, SPREAD), LOW, HIGH)
PULLED = ReflectedDiffusion(lambda x: -1.5 * x, lambda x: 0.75 + 0.1 * np.cos(x), LOW, HIGH)
STARTS, ENDS = np.array([LOW, 0.1, 1.2]), np.array([-0.3, 0.5, 1.5])


def cosines(time, starts, ends, by_start=0, by_end=0):
    """1 + 2 sum e^(-(k pi s/W)^2 t) cos cos, or its derivatives."""
    k = np.arange(1, 60)[:, None, None] * math.pi / WIDE
    x, y = (starts - LOW)[None, :, None], (ends - LOW)[None, None, :]
    left = -k * np.sin(k * x) if by_start else np.cos(k * x)
    right = -k * np.sin(k * y) if by_end else np.cos(k * y)
    total = 2.0 * np.sum(np.exp(-((k * SPREAD) ** 2) * time) * left * right, axis=0)
    return total if by_start or by_end else 1.0 + total


@pytest.mark.parametrize("time", [0.02, 0.1, 1.0])
def test_free_motion_between_mirrors_is_a_sum_of_cosines(time):
    exact = cosines(time, STARTS, ENDS)
    assert np.allclose(FREE.ratio(time, STARTS, ENDS), exact, rtol=0.0, atol=1e-10)
    slope = cosines(time, STARTS, ENDS, by_end=1)
    assert np.allclose(FREE.ratio_slope(time, STARTS, ENDS), slope, rtol=0.0, atol=1e-8)
    mixed = cosines(time, STARTS, ENDS, by_start=1, by_end=1)
    assert np.allclose(FREE.ratio_mixed(time, STARTS, ENDS), mixed, rtol=0.0, atol=1e-6)
    scores = FREE.scores(time, STARTS)(ENDS)
    seen = exact > 1e-3
    assert np.allclose(scores[seen], (slope / np.maximum(exact, 1e-3))[seen], rtol=1e-6, atol=1e-6)
    ratios, by_start = FREE.from_starts(time)(STARTS)
    assert np.allclose(ratios, cosines(time, STARTS, FREE.nodes), rtol=0.0, atol=1e-9)
    wanted = cosines(time, STARTS, FREE.nodes, by_start=1)
    assert np.allclose(by_start, wanted, rtol=0.0, atol=1e-7)
    assert 0.0 < FREE.error(time) < 1e-9


def test_the_spectrum_of_free_motion_and_its_rules():
    k = np.arange(1, 12)
    assert np.allclose(FREE.spectrum.rates[:11], (k * math.pi * SPREAD / WIDE) ** 2, rtol=1e-10)
    assert FREE.gap == pytest.approx((math.pi * SPREAD / WIDE) ** 2, rel=1e-12)
    assert len(FREE.nodes) == len(FREE.weights) == 2 * DEGREE
    assert FREE.nodes.min() > LOW and FREE.nodes.max() < HIGH
    assert FREE.weights.sum() == pytest.approx(1.0) and FREE.weights.min() > 0.0
    for nodes, weights in ((FREE.nodes, FREE.weights), FREE.finer_rule()):
        for power in (1, 2, 5):  # uniform in the end
            exact = (HIGH ** (power + 1) - LOW ** (power + 1)) / (power + 1) / WIDE
            assert (weights * nodes**power).sum() == pytest.approx(exact, rel=1e-12)
    assert len(FREE.finer_rule()[0]) == 3 * DEGREE
    assert FREE.coarse.centre.size == 2 * DEGREE // 3
    assert np.allclose(FREE.squared_spread_at(ENDS), SPREAD**2)
    assert not FREE.spectrum.rates.flags.writeable and not FREE.nodes.flags.writeable


def test_pulled_motion_has_its_stationary_law_and_is_a_semigroup():
    nodes, weights = PULLED.nodes, PULLED.weights
    fine = np.linspace(LOW, HIGH, 40_001)
    squared = (0.75 + 0.1 * np.cos(fine)) ** 2
    steps = -1.5 * fine / squared
    potential = np.concatenate([[0.0], np.cumsum(0.5 * (steps[1:] + steps[:-1]))]) * (
        fine[1] - fine[0]
    )
    law = np.exp(potential) / squared
    law /= law.sum()
    for rule_nodes, rule_weights in ((nodes, weights), PULLED.finer_rule()):
        for power in (1, 2, 3):
            exact = float((law * fine**power).sum())
            assert (rule_weights * rule_nodes**power).sum() == pytest.approx(exact, abs=2e-4)
    for s, t in ((0.1, 0.2), (0.05, 0.5)):
        through = (PULLED.ratio(s, STARTS, nodes) * weights) @ PULLED.ratio(t, nodes, ENDS)
        assert np.allclose(through, PULLED.ratio(s + t, STARTS, ENDS), rtol=1e-8)
    assert np.allclose(
        PULLED.ratio(0.1, STARTS, ENDS), PULLED.ratio(0.1, ENDS, STARTS).T, rtol=1e-9
    )
    # backwards in the start: d/dt h = spread^2 h'' + drift h'
    time, x, step = 0.3, np.array([0.4]), 1e-3
    h = [PULLED.ratio(time, x + d, ENDS) for d in (-step, 0.0, step)]
    by_time = (PULLED.ratio(time + 1e-4, x, ENDS) - PULLED.ratio(time - 1e-4, x, ENDS)) / 2e-4
    bent = (h[2] - 2 * h[1] + h[0]) / step**2
    generator = (0.75 + 0.1 * np.cos(0.4)) ** 2 * bent - 0.6 * (h[2] - h[0]) / (2 * step)
    assert np.allclose(by_time, generator, rtol=1e-4, atol=1e-5)
    slopes = (PULLED.ratio(time, x, ENDS + 1e-5) - PULLED.ratio(time, x, ENDS - 1e-5)) / 2e-5
    inner = ENDS < HIGH
    found = PULLED.ratio_slope(time, x, ENDS)
    assert np.allclose(found[:, inner], slopes[:, inner], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("drift", "spread"),
    [
        (lambda x: np.where(x > 1.4, np.nan, 0.0), np.ones_like),
        (lambda x: np.where(x > 1.4, np.inf, 0.0), np.ones_like),
        (still, lambda x: np.where(x > 1.4, 0.0, 1.0)),
        (still, lambda x: np.where(x > 1.4, -1.0, 1.0)),
        (still, lambda x: np.where(x > 1.4, np.nan, 1.0)),
    ],
)
def test_coefficients_that_are_unusable_somewhere_are_refused(drift, spread):
    with pytest.raises(InvalidDescription, match="must be finite"):
        ReflectedDiffusion(drift, spread, LOW, HIGH).spectrum  # noqa: B018


def test_ends_of_the_interval_are_in_order():
    for low, high in ((1.0, 1.0), (1.0, 0.5), (math.nan, 1.0)):
        with pytest.raises(InvalidDescription):
            ReflectedDiffusion(still, np.ones_like, low, high)
    hill = ReflectedDiffusion(lambda x: 40.0 + still(x), np.ones_like, LOW, HIGH)
    with pytest.raises(NoTheoremApplies, match="narrow the interval"):
        hill.spectrum  # noqa: B018


# pairs of starts


def quadrature(process, order, time, first, second, *, error=0.0):
    """The divergence between two starts by the finer rule."""
    nodes, weights = process.finer_rule()
    p = process.ratio(time, np.array([first]), nodes)[0] + error
    q = process.ratio(time, np.array([second]), nodes)[0] - error
    return math.log(float((weights * p**order * q ** (1.0 - order)).sum())) / (order - 1.0)


@pytest.mark.parametrize("process", [FREE, PULLED], ids=["free", "pulled"])
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_divergences_and_their_slopes(process, order):
    pair = WorstPair(process, 0.3, 1e-6)
    starts = np.array([0.2, 1.1])
    for first, second in (starts, starts[::-1]):
        exact = quadrature(process, order, 0.3, first, second, error=1e-6)
        ratios = process.ratio(0.3, np.array([first, second]), process.nodes)
        found = pair.divergences(order, ratios[:1], ratios[1:], process.weights)
        assert found.tolist() == pytest.approx([exact], rel=1e-9)
        kernel = process.from_starts(0.3)
        expanded = pair._expanded(order, kernel(np.array([first])), kernel(np.array([second])))
        assert expanded.value.tolist() == pytest.approx([exact], rel=1e-9)
        by_first, by_second = (
            (
                quadrature(process, order, 0.3, first + a, second + b)
                - quadrature(process, order, 0.3, first - a, second - b)
            )
            / 2e-4
            for a, b in ((1e-4, 0.0), (0.0, 1e-4))
        )
        assert expanded.by_first[0] == pytest.approx(by_first, rel=1e-3, abs=1e-5)
        assert expanded.by_second[0] == pytest.approx(by_second, rel=1e-3, abs=1e-5)
    same = process.ratio(0.3, np.array([0.2, 0.2]), process.nodes)
    assert WorstPair(process, 0.3, 0.0).divergences(order, same[:1], same[1:], process.weights)[
        0
    ] == pytest.approx(0.0, abs=1e-12)


def test_steepest_slopes_are_those_of_a_fine_grid_and_a_tenth_more():
    pair = WorstPair(FREE, 0.3, 0.0)
    grid = np.linspace(LOW, HIGH, 801)
    slopes = FREE.ratio_slope(0.3, grid, grid) / FREE.ratio(0.3, grid, grid)
    steepest = float(np.abs(slopes).max())
    bent = float(np.abs(np.diff(slopes, axis=1)).max() / (grid[1] - grid[0]))
    slope, bend = pair.steepest
    assert steepest * 1.05 <= slope <= steepest * 1.11
    assert bent * 1.05 <= bend <= bent * 1.11


def test_how_much_a_divergence_grows_in_a_cell():
    """The first order, half of the second, and never more than the steepest slope alone."""
    pair = WorstPair(FREE, 0.3, 0.0)
    slope, bend = pair.steepest
    near, far, rx, rd = np.array([0.25, -0.5]), np.array([-1.0, 0.125]), 0.01, 0.02
    for order in (1.5, 2.0, 8.0):
        by = rx + rd
        spread = max(order * rx + (order - 1) * by, order * by + (order - 1) * rx) * slope
        curved = bend * (2 * order - 1) * by**2
        for i in (0, 1):
            linear = abs(near[i] + far[i]) * rx + abs(far[i]) * rd
            exact = min(
                linear + (spread**2 + curved) / (2 * (order - 1)),
                slope * (2 * order - 1) / (order - 1) * by,
            )
            assert pair._rise(order, near, far, rx, rd)[i] == pytest.approx(exact, rel=1e-12)
    assert pair._rise(2.0, near, far, 5.0, 5.0).tolist() == pytest.approx([slope * 30.0] * 2)


@pytest.mark.parametrize("process", [FREE, PULLED], ids=["free", "pulled"])
@pytest.mark.parametrize(("order", "sensitivity"), [(2.0, 0.5), (8.0, 0.25), (1.5, 9.0)])
def test_the_worst_pair_is_no_better_than_any_of_a_grid(process, order, sensitivity):
    found = WorstPair(process, 0.4, 0.0).largest(order, sensitivity)
    grid = np.linspace(LOW, HIGH, 65)
    nodes, weights = process.nodes, process.weights
    h = process.ratio(0.4, grid, nodes)
    moments = np.einsum("in,jn,n->ij", h**order, h ** (1.0 - order), weights)
    near = np.abs(grid[:, None] - grid[None, :]) <= sensitivity + 1e-12
    exact = float(np.max(np.log(np.where(near, moments, 1.0)))) / (order - 1.0)
    assert exact <= found <= exact * (1 + 3 * CLOSE)
    assert WorstPair(process, 0.4, 1e-4).largest(order, sensitivity) > found


# integrals over time


def test_rates_are_integrated_over_time_and_what_is_left_is_added():
    def rate(s):
        return math.exp(-3.0 * s)

    def left(s):
        return 1e-12 * s

    exact = (math.exp(-0.6) - math.exp(-30.0)) / 3.0
    found = intrinsic.finite_horizon(rate, lambda s: 0.125 * s, time=0.2, horizon=10.0)
    assert exact + 1.25 <= found <= (exact + 1.25) * (1 + 2e-10)
    merged = intrinsic.intrinsic_sensitivity(rate, left, time=0.2, horizon=10.0)
    assert exact + 1e-11 <= merged <= (exact + 1e-11) * (1 + 3e-10)
    for share, refused in ((0.9e-9, False), (1.1e-9, True)):
        ask = {"time": 0.2, "horizon": 10.0}
        if refused:
            with pytest.raises(NoTheoremApplies, match="have not merged"):
                intrinsic.intrinsic_sensitivity(rate, lambda s, x=share: x * exact, **ask)
        else:
            intrinsic.intrinsic_sensitivity(rate, lambda s, x=share: x * exact, **ask)
    for time, horizon in ((0.0, 1.0), (-0.5, 1.0), (1.0, 1.0), (1.0, 0.5)):
        for function in (intrinsic.finite_horizon, intrinsic.intrinsic_sensitivity):
            with pytest.raises(InvalidDescription):
                function(rate, left, time=time, horizon=horizon)


# the mechanism's estimates


def mechanism(**changes):
    given = {"drift": still, "spread": SPREAD, "low": LOW, "high": HIGH, "sensitivity": 0.5}
    return DiffusionMechanism(**(given | {"time": 0.4} | changes))


def test_estimates_between_two_starts():
    made = mechanism()
    assert made.kernel_error == pytest.approx(4.0 * FREE.error(0.4), rel=1e-9)
    for order in (1.5, 3.0):
        exact = quadrature(FREE, order, 0.4, 0.1, 0.6)
        assert exact * (1 - 1e-9) <= made.estimated_renyi_between(order, 0.1, 0.6)
        assert made.estimated_renyi_between(order, 0.1, 0.6) <= exact * (1 + 1e-7)
    for first, second in ((LOW - 0.1, 0.0), (0.0, HIGH + 0.1)):
        with pytest.raises(InvalidDescription):
            made.estimated_renyi_between(2.0, first, second)
    assert made.estimated_renyi_between(2.0, LOW, HIGH) > 0.0
    with pytest.raises(InvalidDescription):
        made.estimated_renyi_between(1.0, 0.0, 0.1)
    early = mechanism(time=0.004)
    with pytest.raises(NoTheoremApplies, match="choose a later time"):
        early.kernel_error  # noqa: B018


def test_orders_between_are_chords_and_those_beyond_are_infinite(monkeypatch):
    made = mechanism()
    asked = []
    monkeypatch.setattr(
        DiffusionMechanism, "_computed", lambda self, order: asked.append(order) or order**2 / 64
    )
    assert made._curve_at(1.5) == made._curve_at(2.0) == 4.0 / 64
    assert made._curve_at(8.0) == 1.0 and made._curve_at(64.0) == 64.0
    assert made._curve_at(64.0001) == math.inf
    for order, below, above in ((5.0, 4.0, 6.0), (20.0, 16.0, 24.0), (2.5, 2.0, 3.0)):
        low, high = (below - 1) * below**2 / 64, (above - 1) * above**2 / 64
        share = (order - below) / (above - below)
        exact = (low + share * (high - low)) / (order - 1)
        assert exact <= made._curve_at(order) <= exact * (1 + 1e-12)
    assert set(asked) <= {2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 24.0, 64.0}


def test_what_two_starts_still_tell_apart_is_integrated():
    """For free motion the scores are known, and so is the integral."""
    made = mechanism(time=0.5)
    found = made.estimated_intrinsic_between(0.1, 0.6)
    ends, starts = np.linspace(LOW, HIGH, 161), np.array([0.1, 0.6])

    def rate(s):
        scores = cosines(s, starts, ends, by_end=1) / cosines(s, starts, ends)
        return SPREAD**2 * float(np.max((scores[0] - scores[1]) ** 2))

    logs = np.linspace(math.log(0.5), math.log(0.5 + 16.0 / FREE.gap), 201)
    values = np.array([rate(math.exp(u)) * math.exp(u) for u in logs])
    exact = float(np.sum(0.5 * (values[1:] + values[:-1])) * (logs[1] - logs[0]))
    assert found == pytest.approx(exact, rel=1e-3)
    assert made._horizon == pytest.approx(0.5 + 16.0 / FREE.gap)
    span = cosines(1.0, starts, ends)
    wanted = 0.5 * (1.02 * np.max(span.max(axis=0) / span.min(axis=0) - 1.0)) ** 2
    assert made._remaining(1.0, starts, ends) == pytest.approx(wanted, rel=1e-6)
