"""The one-dimensional oracle against closed forms, a naive grid and reference tables."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from oracles.tight import programme_value
from wane.audit import (
    WHOLE_LINE,
    Branch,
    ExactPair,
    ImpreciseError,
    MonotoneMap,
    OutOfReachError,
    PairStep,
    Resolution,
    Run,
    ScalarMap,
    chain_pair,
    clipped,
    exact_scalar_mu,
    followed_by,
    gaussian_hockey_stick,
    gaussian_renyi,
    hockey_stick_of_masses,
    interval,
    pair_law,
    pair_step,
    renyi_of_masses,
    shrinkage,
    soft_threshold,
)
from wane.audit.bracket import bracket
from wane.errors import InvalidDescription

QUADRATURE = 1e-11
TABLE = 1e-9

ABSOLUTE = ScalarMap(lambda x: x - 0.2 * np.sign(x), kinks=(0.0,))
ROOT = ScalarMap(lambda x: x - 0.5 * np.sign(x) * np.sqrt(np.abs(x)), kinks=(0.0,))
SQUARE = ScalarMap(lambda x: 0.7 * x)
WELLS = ScalarMap(lambda x: x - 0.1 * x * (x * x - 1.0))
# (drift, half width of the domain, steps, order, exact Renyi divergence from opposite ends)
CHAINS = [
    (ABSOLUTE, 1.0, 1, 2, 18.036071881097214),
    (ABSOLUTE, 1.0, 1, 8, 19.163770643216875),
    (ABSOLUTE, 1.0, 2, 2, 6.3189024796847395),
    (ABSOLUTE, 1.0, 2, 8, 7.840353175363371),
    (ABSOLUTE, 1.0, 5, 2, 0.5926869154841219),
    (ABSOLUTE, 1.0, 5, 8, 1.8489651113789016),
    (ROOT, 1.0, 1, 2, 9.320561616912904),
    (ROOT, 1.0, 1, 8, 11.589671080383242),
    (ROOT, 1.0, 2, 2, 1.0937481761111312),
    (ROOT, 1.0, 2, 8, 3.041560350891922),
    (ROOT, 1.0, 5, 2, 0.00047251423927097136),
    (ROOT, 1.0, 5, 8, 0.0019057766978293042),
    (SQUARE, 1.0, 1, 2, 15.15320981273099),
    (SQUARE, 1.0, 1, 8, 16.634095691511742),
    (SQUARE, 1.0, 2, 2, 5.688128046385369),
    (SQUARE, 1.0, 2, 8, 7.510971351946007),
    (SQUARE, 1.0, 5, 2, 0.5601588027781181),
    (SQUARE, 1.0, 5, 8, 1.4173292466426912),
    (WELLS, 1.5, 1, 2, 44.48403099095126),
    (WELLS, 1.5, 1, 8, 45.599867576583925),
    (WELLS, 1.5, 2, 2, 21.154682292222354),
    (WELLS, 1.5, 2, 8, 22.576634258290742),
    (WELLS, 1.5, 5, 2, 7.323856373942167),
    (WELLS, 1.5, 5, 8, 8.54938208652423),
]
CHAIN_NAMES = [
    f"{name}-{steps}-{order}"
    for name in ("absolute", "root", "square", "wells")
    for steps in (1, 2, 5)
    for order in (2, 8)
]


def affine(slope, shift=0.0):
    return ScalarMap(lambda x: slope * x + shift)


def tanh_pair(prox, noise_std=0.3, gap=0.5):
    left = ScalarMap(lambda x: x - 0.3 * np.tanh(x - gap))
    right = ScalarMap(lambda x: x - 0.3 * np.tanh(x + gap))
    return pair_step(left, right, noise_std=noise_std, prox=prox)


@pytest.mark.parametrize(("drift", "half", "steps", "order", "value"), CHAINS, ids=CHAIN_NAMES)
def test_reference_chains(drift, half, steps, order, value):
    step = pair_step(drift, noise_std=0.3, prox=interval(-half, half))
    pair = chain_pair([step] * steps, -half, half)
    found = pair.renyi(order)
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.error <= TABLE * found.value
    assert pair.renyi(order, reverse=True).value == pytest.approx(found.value, rel=QUADRATURE)


GAUSSIAN = [
    ([0.9] * 6, [0.5] * 6, [1.0] * 6),
    ([1.0] * 4, [0.3, 0.0, -0.2, 0.6], [0.7, 1.0, 0.4, 0.9]),
    ([1.3, -0.8, 1.1], [0.3, 0.2, 0.4], [1.0, 0.5, 1.2]),
    ([0.0], [2.0], [1.0]),
]


@pytest.mark.parametrize(("slopes", "shifts", "noises"), GAUSSIAN)
def test_linear_chains_follow_the_gaussian_closed_forms(slopes, shifts, noises):
    steps = [
        pair_step(affine(c), affine(c, s), noise_std=d)
        for c, s, d in zip(slopes, shifts, noises, strict=True)
    ]
    pair = chain_pair(steps)
    mu = float(exact_scalar_mu(slopes, shifts, noises))
    for order in (1.25, 2.0, 6.0):
        found = pair.renyi(order)
        assert found.value == pytest.approx(gaussian_renyi(mu, order), rel=QUADRATURE)
        assert found.lower <= gaussian_renyi(mu, order) <= found.upper
    for epsilon in (-0.5, 0.0, 0.7, 2.0):
        for reverse in (False, True):
            delta = gaussian_hockey_stick(mu, epsilon)
            found = pair.hockey_stick(epsilon, reverse=reverse)
            assert found.value == pytest.approx(delta, rel=1e-9, abs=1e-14)
            assert found.lower <= delta * (1.0 + QUADRATURE)
            assert found.error <= 1e-11


def test_unknown_tails_are_never_claimed():
    """A delta below what the cut tails could hide has lower bound zero, never a wrong one."""
    steps = [pair_step(affine(0.9), affine(0.9, 0.05), noise_std=1.0)] * 3
    pair = chain_pair(steps)
    mu = float(exact_scalar_mu([0.9] * 3, [0.05] * 3, 1.0))
    for epsilon in (1.0, 1.5, 3.0, 10.0):
        assert pair.hockey_stick(epsilon).lower <= gaussian_hockey_stick(mu, epsilon) * (1 + 1e-9)


def test_far_apart_points_are_exact_in_log_space():
    step = pair_step(affine(1.0), noise_std=1.0)
    found = chain_pair([step], -20.0, 20.0).renyi(1.2)
    assert found.value == pytest.approx(gaussian_renyi(40.0, 1.2), rel=QUADRATURE)
    # Some log densities on the way are near -1600, far below what a double can hold.
    assert chain_pair([step], -20.0, 20.0).laws()[1].densities[0].min() < -1000.0


def naive_laws(steps, cells=3000):
    """Midpoint rule on a uniform grid after the prox box [-1, 1], atoms at the ends and at zero."""
    width = 2.0 / cells
    inner = -1.0 + width * (np.arange(cells) + 0.5)
    laws = []
    for which in (0, 1):
        points, masses = np.zeros(1), np.ones(1)
        for threshold, noise_std, drifts in steps:
            centres = drifts[which](points)
            # An even number of cells: each lies on one side of zero and is pushed outwards.
            shift = np.sign(inner) * threshold
            lower = ((inner - 0.5 * width + shift)[:, None] - centres[None, :]) / noise_std
            upper = ((inner + 0.5 * width + shift)[:, None] - centres[None, :]) / noise_std
            moved = (ndtr(upper) - ndtr(lower)) @ masses
            left = ndtr((-1.0 - threshold - centres) / noise_std) @ masses
            right = ndtr(-(1.0 + threshold - centres) / noise_std) @ masses
            atom = ndtr((threshold - centres) / noise_std) - ndtr(
                (-threshold - centres) / noise_std
            )
            masses = np.concatenate([moved, [left, right, atom @ masses]])
            masses /= masses.sum()
            points = np.concatenate([inner, [-1.0, 1.0, 0.0]])
        laws.append(masses)
    return laws


@pytest.mark.parametrize("threshold", [0.0, 0.15])
def test_a_naive_grid_agrees(threshold):
    box = interval(-1.0, 1.0)
    prox = followed_by(soft_threshold(threshold), box) if threshold else box
    step = tanh_pair(prox)
    pair = chain_pair([step] * 3)
    drifts = (step.first[0].drift, step.second[0].drift)
    naive = naive_laws([(threshold, 0.3, drifts)] * 3, cells=1200)
    # Without a threshold the last cell, the atom at zero, is empty.
    logs = [np.log(law if threshold else law[:-1]) for law in naive]
    assert renyi_of_masses(*logs, 3.0) == pytest.approx(pair.renyi(3.0).value, rel=2e-4)
    delta = hockey_stick_of_masses(*logs, 0.4)
    assert delta == pytest.approx(pair.hockey_stick(0.4).value, rel=2e-4)


PROXES = [
    WHOLE_LINE,
    soft_threshold(0.2),
    interval(-1.0, 1.0),
    shrinkage(0.8),
    followed_by(soft_threshold(0.2), interval(-1.0, 1.0)),
    followed_by(soft_threshold(0.2), shrinkage(0.8)),
    followed_by(interval(-0.5, 2.0), soft_threshold(0.1)),
]


@pytest.mark.parametrize("prox", PROXES)
def test_binning_is_post_processing(prox):
    pair = chain_pair([tanh_pair(prox)] * 4)
    cells = pair.laws()[1].cells()
    for masses in cells:
        assert np.exp(masses).sum() == pytest.approx(1.0, rel=1e-12)
    for order in (1.5, 3.0):
        assert renyi_of_masses(*cells, order) <= pair.renyi(order).value * (1 + QUADRATURE)
    for epsilon in (0.0, 0.5, 1.5):
        exact = pair.hockey_stick(epsilon)
        assert hockey_stick_of_masses(*cells, epsilon) <= exact.value * (1 + QUADRATURE)
        assert exact.lower > 0.0
        assert exact.error < 1e-11


def test_refinement_converges_from_a_coarse_start():
    step = pair_step(affine(0.8, 0.1), affine(0.8, -0.1), noise_std=0.3, prox=interval(-1.0, 1.0))
    truth = chain_pair([step] * 4).renyi(3.0).value
    gaps = []
    for nodes in (4, 5, 6):
        law = pair_law((Run((step,) * 4),), Resolution(1.6, nodes_per_panel=nodes))
        gaps.append(abs(law.renyi(3.0) - truth))
    assert all(b < 0.1 * a for a, b in pairwise(gaps))
    coarse = chain_pair([step] * 4, resolution=Resolution(1.6, nodes_per_panel=4)).renyi(3.0)
    assert coarse.error > gaps[0]
    assert coarse.lower <= truth <= coarse.upper
    with pytest.raises(ImpreciseError):
        chain_pair([step] * 4, resolution=Resolution(0.2, nodes_per_panel=4)).renyi(3.0)
    with pytest.raises(InvalidDescription):
        Resolution(nodes_per_panel=2)


CLIP = ScalarMap(lambda x: x - 0.5 * np.clip(2.0 * x, -0.5, 0.5), kinks=(-0.25, 0.25))
LEAP = ScalarMap(lambda x: np.where(x > 0.1, 4.0, -4.0) + 0.0 * x, kinks=(0.1,))


@pytest.mark.parametrize(
    "drift", [ABSOLUTE, ROOT, CLIP, LEAP], ids=["jump", "root", "bend", "leap"]
)
def test_undeclared_kinks_are_found(drift):
    hidden = ScalarMap(drift.function)
    domain = interval(-1.0, 1.1)
    truth, found = (
        chain_pair([pair_step(d, noise_std=0.3, prox=domain)] * 3, -1.0, 1.0)
        for d in (drift, hidden)
    )
    assert found.renyi(2.0).value == pytest.approx(truth.renyi(2.0).value, rel=1e-10)
    assert found.hockey_stick(0.2).value == pytest.approx(truth.hockey_stick(0.2).value, rel=1e-10)
    assert found.renyi(2.0).error < 1e-9 * found.renyi(2.0).value


def test_hockey_stick_is_a_decreasing_convex_profile_in_exp_epsilon():
    pair = chain_pair([tanh_pair(interval(-1.0, 1.0))] * 3)
    scales = np.linspace(0.5, 4.0, 30)
    deltas = np.array([pair.hockey_stick(float(np.log(g))).value for g in scales])
    assert np.all(np.isfinite(deltas))
    assert np.all(np.diff(deltas) <= 1e-13)
    assert np.all(np.diff(deltas, 2) >= -1e-12)


def test_more_public_steps_and_projections_tell_less():
    public = pair_step(ScalarMap(np.sin), noise_std=0.2)
    boxed = pair_step(ScalarMap(np.sin), noise_std=0.2, prox=interval(-0.5, 0.5))
    steps = [tanh_pair(WHOLE_LINE)] * 2
    seen, later = chain_pair(steps), chain_pair([*steps, public])
    cut = chain_pair([*steps, boxed])
    for order in (1.5, 4.0):
        assert cut.renyi(order).value < later.renyi(order).value < seen.renyi(order).value
    for epsilon in (0.0, 1.0):
        values = [p.hockey_stick(epsilon).value for p in (cut, later, seen)]
        assert values[0] <= values[1] * (1 + QUADRATURE)
        assert values[1] < values[2]


def test_a_signed_contraction_must_not_be_used():
    """Maps -.9x -+ .25 tanh(x/4) from 100: exact mu 2.411, though |slope| seems to say less."""
    left = ScalarMap(lambda x: -0.9 * x - 0.25 * np.tanh(x / 4.0))
    right = ScalarMap(lambda x: -0.9 * x + 0.25 * np.tanh(x / 4.0))
    pair = chain_pair([pair_step(left, right, noise_std=0.5)] * 6, 100.0)
    mu = math.sqrt(pair.renyi(2.0).value)
    assert mu == pytest.approx(2.411, abs=5e-4)
    saturated = 0.5 * sum(0.9**k for k in range(6)) / 0.5
    assert mu == pytest.approx(saturated / math.sqrt(sum(0.81**k for k in range(6))), rel=1e-8)


def random_nonlinear_chain(rng):
    """Steps whose maps have a known Lipschitz constant and a known largest difference."""
    steps, shifts, constants, noises = [], [], [], []
    prox = [interval(-1.0, 1.5), soft_threshold(0.1), WHOLE_LINE][rng.integers(3)]
    for _ in range(int(rng.integers(2, 6))):
        slope, size = rng.uniform(0.0, 0.8), rng.uniform(0.0, 0.5)
        gap, noise = rng.uniform(0.0, 0.6) * (rng.random() < 0.6), rng.uniform(0.2, 0.6)
        shape = [np.tanh, np.sin, lambda x: np.clip(x, -0.3, 0.2)][rng.integers(3)]
        first = ScalarMap(lambda x, c=slope, a=size, f=shape: c * x + a * f(x))
        second = ScalarMap(lambda x, c=slope, a=size, f=shape, g=gap: c * x + a * f(x) + g)
        steps.append(pair_step(first, second, noise_std=noise, prox=prox))
        shifts.append(gap)
        constants.append(slope + size)
        noises.append(noise)
    return steps, float(programme_value(shifts, constants, noises))


def test_no_nonlinear_chain_exceeds_the_joint_programme():
    rng = np.random.default_rng(32)
    for _ in range(12):
        steps, value = random_nonlinear_chain(rng)
        pair = chain_pair(steps)
        mu = math.sqrt(value)
        for epsilon in (0.0, 0.4, 1.5):
            for reverse in (False, True):
                found = pair.hockey_stick(epsilon, reverse=reverse)
                assert math.isfinite(found.lower)
                assert found.lower <= gaussian_hockey_stick(mu, epsilon) + 1e-13
        assert pair.renyi(2.0).lower <= gaussian_renyi(mu, 2.0) * (1 + QUADRATURE)
        assert pair.renyi(3.0, reverse=True).lower <= gaussian_renyi(mu, 3.0) * (1 + QUADRATURE)


def test_identical_chains_are_identical():
    step = tanh_pair(interval(-1.0, 1.0), gap=0.0)
    pair = chain_pair([step] * 3)
    assert pair.renyi(2.0).value == pytest.approx(0.0, abs=1e-14)
    assert pair.hockey_stick(0.0).value == pytest.approx(0.0, abs=1e-13)
    assert pair.hockey_stick(0.1).lower == 0.0
    assert pair.hockey_stick(0.1).upper < 1e-40


def test_a_hidden_draw_of_runs_is_the_mixture():
    step = tanh_pair(soft_threshold(0.1))
    other = tanh_pair(step.prox, gap=1.0)
    drawn = ExactPair((Run((step,), probability=0.25), Run((other,), probability=0.75)))
    first = (Branch(0.25, step.first[0].drift), Branch(0.75, other.first[0].drift))
    second = (Branch(0.25, step.second[0].drift), Branch(0.75, other.second[0].drift))
    mixed = chain_pair([PairStep(first, second, 0.3, step.prox)])
    assert drawn.renyi(3.0).value == pytest.approx(mixed.renyi(3.0).value, rel=QUADRATURE)
    assert drawn.hockey_stick(0.3).value == pytest.approx(
        mixed.hockey_stick(0.3).value, rel=QUADRATURE
    )


def test_long_domains_and_tiny_noise():
    """The domain is far longer than the noise: only part of it is gridded."""
    step = pair_step(affine(0.9), affine(0.9, 0.02), noise_std=0.01, prox=interval(-5.0, 5.0))
    pair = chain_pair([step] * 5, 0.3)
    mu = float(exact_scalar_mu([0.9] * 5, [0.02] * 5, 0.01))
    assert pair.hockey_stick(1.0).value == pytest.approx(gaussian_hockey_stick(mu, 1.0), rel=1e-10)
    assert pair.renyi(1.5).value == pytest.approx(gaussian_renyi(mu, 1.5), rel=1e-10)


def test_what_cannot_be_vouched_for_is_refused():
    spread = [pair_step(affine(1.0), affine(1.0, 9.0), noise_std=1.0)] * 2
    with pytest.raises(OutOfReachError):
        chain_pair(spread).renyi(16.0)
    wider = pair_step(affine(2.0), affine(0.1), noise_std=1.0)
    with pytest.raises(OutOfReachError):
        chain_pair([pair_step(affine(0.0), noise_std=1.0), wider]).renyi(8.0)
    broken = pair_step(ScalarMap(lambda x: x * np.nan), noise_std=1.0)
    with pytest.raises(ImpreciseError):
        chain_pair([broken]).hockey_stick(0.0)


def test_brackets_refuse_nan():
    with pytest.raises(ImpreciseError):
        bracket(1.0, math.nan)
    with pytest.raises(ImpreciseError):
        bracket(math.inf, 1.0)
    assert bracket(math.inf, math.inf).lower == math.inf
    found = bracket(1.0, 1.25)
    assert found.lower <= 1.0
    assert found.value == pytest.approx(1.25)
    assert found.upper >= 1.5


def test_proxes_know_their_flats():
    both = followed_by(soft_threshold(0.2), interval(-1.0, 1.0))
    assert both.atoms == (-1.0, 0.0, 1.0)
    assert [end for flat in both.flats for end in flat] == pytest.approx(
        [-math.inf, -1.2, -0.2, 0.2, 1.2, math.inf]
    )
    swallowed = followed_by(soft_threshold(0.2), MonotoneMap(np.maximum, flats=()))
    assert swallowed.flats == ((-0.2, 0.2),)
    one_sided = followed_by(soft_threshold(0.2), interval(-0.0, 1.0))
    assert one_sided.atoms == (0.0, 1.0)
    assert one_sided.flats[0][1] == pytest.approx(0.2)
    assert interval(-1.0, 1.0).preimage(0.25) == (0.25, 0.25)
    assert interval(-1.0, 1.0).preimage(3.0) == (math.inf, math.inf)
    assert soft_threshold(0.5).preimage(0.0) == pytest.approx((-0.5, 0.5))


def test_clipping_finds_its_kinks():
    gradient = clipped(ScalarMap(lambda x: x**3), 0.5, -2.0, 2.0)
    assert gradient.kinks == pytest.approx((-(0.5 ** (1 / 3)), 0.5 ** (1 / 3)), abs=1e-12)
    assert float(gradient(np.array([2.0]))[0]) == 0.5


def test_nonsense_is_refused():
    with pytest.raises(InvalidDescription):
        pair_step(affine(1.0), noise_std=0.0)
    with pytest.raises(InvalidDescription):
        PairStep((Branch(0.5, affine(1.0)),), (Branch(1.0, affine(1.0)),), 1.0)
    with pytest.raises(InvalidDescription):
        chain_pair([])
    with pytest.raises(InvalidDescription):
        interval(1.0, -1.0)
    with pytest.raises(InvalidDescription):
        soft_threshold(0.0)
    with pytest.raises(InvalidDescription):
        shrinkage(-1.0)
    with pytest.raises(InvalidDescription):
        MonotoneMap(lambda z: z, flats=((0.0, 2.0), (1.0, 3.0)))
    with pytest.raises(InvalidDescription):
        MonotoneMap(np.zeros_like, flats=((-math.inf, math.inf),))
    step = pair_step(affine(1.0), noise_std=1.0)
    with pytest.raises(InvalidDescription):
        ExactPair((Run((step,), probability=0.5),))
    louder = pair_step(affine(1.0), noise_std=2.0)
    with pytest.raises(InvalidDescription):
        ExactPair((Run((step,), probability=0.5), Run((louder,), probability=0.5)))
    with pytest.raises(InvalidDescription):
        chain_pair([step], 0.0, 1.0).renyi(1.0)


@pytest.mark.slow
def test_random_linear_chains_never_leave_their_brackets():
    rng = np.random.default_rng(31)
    refused = 0
    for _ in range(60):
        steps = int(rng.integers(1, 6))
        slopes = rng.normal(size=steps)
        shifts = rng.normal(size=steps) * rng.choice([0.01, 0.3, 1.5])
        noises = np.exp(rng.normal(0.0, 0.7, steps))
        chain = [
            pair_step(affine(c), affine(c, s), noise_std=float(d))
            for c, s, d in zip(slopes, shifts, noises, strict=True)
        ]
        pair, mu = chain_pair(chain), float(exact_scalar_mu(slopes, shifts, noises))
        for epsilon in (0.0, 0.3, 1.0, 3.0):
            found, delta = pair.hockey_stick(epsilon), gaussian_hockey_stick(mu, epsilon)
            assert found.lower <= delta * (1 + 1e-10)
            assert delta <= found.upper * (1 + 1e-10)
        for order in (1.1, 2.0, 4.0, 10.0):
            try:
                found = pair.renyi(order)
            except OutOfReachError:
                refused += 1
                continue
            assert found.value == pytest.approx(gaussian_renyi(mu, order), rel=1e-10)
    assert refused < 10


def test_long_poisson_descent_exceeds_the_printed_sampling_bound():
    """Domain [-10, 10], 1e7 equal quadratics, rate 1e-3, divisor 1e4; settled before 100 steps."""
    size, rate, others = 10_000, 1e-3, 10_000_000 - 1
    counts = np.arange(size - 800, size + 801)
    spread = math.sqrt(others * rate * (1 - rate))
    chances = np.exp(-0.5 * ((counts - others * rate) / spread) ** 2)
    chances /= chances.sum()

    def mixture(push):
        branches = []
        for count, chance in zip(counts[::40], chances[::40] / chances[::40].sum(), strict=True):
            for joined in (0, 1):
                slope = 1.0 - (count + joined) / size
                weight = chance * (rate if joined else 1.0 - rate)
                branches.append(Branch(float(weight), affine(slope, push * joined)))
        return tuple(branches)

    step = PairStep(mixture(-3.0), mixture(3.0), 1.0, interval(-10.0, 10.0))
    pair = chain_pair([step] * 100)
    for order, value in ((4.0, 7.749), (10.0, 15.129), (32.0, 17.83)):
        assert pair.renyi(order).value == pytest.approx(value, rel=2e-4)
