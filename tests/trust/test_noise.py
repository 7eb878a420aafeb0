"""The release: its grid, the exact noise that may be added, and sums that keep their bound."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from trust.tally import COUNTS
from wane import (
    Adjacency,
    Ball,
    GradientNoise,
    NoisyDescent,
    Objective,
    Phase,
    Schedule,
    certify,
    losses,
)
from wane.certificates import Circumstances, certificate_document
from wane.errors import InvalidDescription
from wane.learn import PrivateMean, PrivateRidge
from wane.run import (
    DiscreteGaussian,
    LinearSums,
    descend,
    links,
    release_grid,
    seeded_generator_voids_privacy,
    to_grid,
)
from wane.run.discrete_gaussian import sample


def test_the_grid_is_a_power_of_two_below_the_last_noise(run_with):
    for std in (1e-300, 1e-9, 0.3, 1.0, 1.7, 1e12, 1e300):
        run = run_with(noise=GradientNoise(std), step_size=0.5)
        grid = release_grid(run)
        assert math.frexp(grid)[0] == 0.5
        assert 2.0**-11 < grid / (0.5 * std) <= 2.0**-10
    assert release_grid(run_with(noise=GradientNoise(1e-323), step_size=0.25)) in (0.0, 5e-324)


def test_the_grid_looks_at_the_noise_that_is_left_of_every_step(run_with):
    phases = [(3, 1.0, 4.0), (2, 0.5, 1.0), (1, 0.5, 0.0)]
    plan = Schedule(
        tuple(Phase(repeat=r, step_size=e, noise=GradientNoise(s)) for r, e, s in phases)
    )
    assert release_grid(run_with(schedule=plan)) == 2.0**-8
    # what a ridge, a cool-down or a set takes away does not count
    pulled = Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0, ridge=1.0)
    assert release_grid(run_with(schedule=plan, objective=pulled)) == 2.0**-11
    assert release_grid(run_with(schedule=plan, domain=Ball(0.5))) == 2.0**-10
    silent = Schedule((Phase(repeat=3, step_size=1.0, noise=GradientNoise(0.0)),))
    assert release_grid(run_with(schedule=silent)) == 0.0


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-1074, 1023),
)
def test_rounding_finds_the_nearest_multiple(value, exponent):
    spacing = math.ldexp(1.0, exponent)
    found = float(to_grid(np.array([value]), spacing)[0])
    if math.isinf(found):  # the nearest multiple is beyond the doubles
        assert abs(value) > 2.0**1022
        return
    exact = Fraction(found)
    assert exact % Fraction(spacing) == 0
    assert abs(exact - Fraction(value)) <= Fraction(spacing) / 2


def test_rounding_by_nothing_changes_nothing():
    values = np.array([0.1, -0.3])
    assert to_grid(values, 0.0) is values


def test_estimators_release_points_of_the_grid():
    chance = np.random.default_rng(0)
    rows = chance.uniform(-0.5, 0.5, (500, 3))
    model = PrivateRidge(target_bound=1.0, epsilon=8.0, fit_intercept=False).fit(rows, rows[:, 0])
    grid = release_grid(model.run_)
    assert grid > 0.0 and np.array_equal(to_grid(model.coef_, grid), model.coef_)
    assert np.unique(model.coef_).size == 3
    mean = PrivateMean(feature_norm=1.0).fit(rows)
    grid = release_grid(mean.run_)
    assert np.array_equal(to_grid(mean.mean_, grid), mean.mean_)


def test_the_certificate_says_what_the_grid_cures(run_with):
    run = run_with()
    plain = certificate_document(certify(run), delta=1e-5)["numerics"]
    rounded = certificate_document(
        certify(run), delta=1e-5, circumstances=Circumstances(grid=2.0**-11)
    )
    assert rounded["numerics"].startswith(plain)
    for words in ("0.000488281", "low-order bits", "does not make the noise inside"):
        assert words in rounded["numerics"] and words not in plain


def weights(variance: float, reach: int) -> np.ndarray:
    k = np.arange(-reach, reach + 1)
    w = np.exp(-(k**2) / (2.0 * variance))
    return w / w.sum()


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1), Fraction(25, 4), Fraction(300)])
def test_exact_samples_follow_their_law(variance):
    """Chi-square against the exact law, and the first four moments; fails once in a million."""
    count, reach = 6000, math.ceil(12 * math.sqrt(variance)) + 3
    drawn = np.array([sample(variance) for _ in range(count)])
    law = weights(float(variance), reach)
    assert np.abs(drawn).max() <= reach
    seen = np.bincount(drawn + reach, minlength=law.size)
    # cells of at least five expected, from left to right
    cuts = [0]
    while cuts[-1] < law.size:
        total = np.cumsum(law[cuts[-1] :]) * count
        cuts.append(cuts[-1] + min(int(np.searchsorted(total, 5.0)) + 1, law.size))
    cuts[-1] = law.size
    cells = [(seen[a:b].sum(), count * law[a:b].sum()) for a, b in pairwise(cuts)]
    last, kept = cells[-1], cells[:-1]
    kept[-1] = (kept[-1][0] + last[0], kept[-1][1] + last[1])
    chi = sum((s - e) ** 2 / e for s, e in kept)
    assert stats.chi2.sf(chi, len(kept) - 1) > 1e-6
    k = np.arange(-reach, reach + 1.0)
    for power in (1, 2, 3, 4):
        moment, square = (law * k**power).sum(), (law * k ** (2 * power)).sum()
        error = math.sqrt((square - moment**2) / count)
        assert abs((drawn.astype(float) ** power).mean() - moment) < 5.0 * error


def test_the_chi_square_test_would_notice():
    """The rounded continuous Gaussian, which is another law, is found out with the same counts."""
    law, reach = weights(0.25, 8), 8
    k = np.arange(-reach, reach + 1)
    rounded = stats.norm.cdf((k + 0.5) / 0.5) - stats.norm.cdf((k - 0.5) / 0.5)
    chi = 6000 * ((rounded - law)[6:11] ** 2 / law[6:11]).sum()
    assert stats.chi2.sf(chi, 4) < 1e-6


def test_noise_is_added_on_the_grid():
    noise = DiscreteGaussian(std=1.0, spacing=2.0**-10)
    values = np.linspace(-3.0, 3.0, 12).reshape(3, 4)
    found = noise.add(values)
    assert found.shape == values.shape
    assert np.array_equal(to_grid(found, noise.spacing), found)
    assert 0.05 < np.abs(found - values).mean() < 3.0
    assert not np.array_equal(found, noise.add(values))
    extreme = noise.add(np.array([np.nan, np.inf, -np.inf, 1e308]))
    assert np.isfinite(extreme).all()


def test_the_guarantee_of_exact_noise_dominates_the_exact_divergence():
    """The divergence of shifted laws, summed in full, never exceeds the claim without rounding."""
    noise = DiscreteGaussian(std=2.0, spacing=0.5)
    k = np.arange(-200.0, 201.0)
    total = math.log(np.exp(-(k**2) / 32.0).sum())
    for shift in (1, 3, 8):
        claim = noise.guarantee(0.5 * shift, 1)
        for order in (1.5, 2.0, 8.0):
            logs = -(order * k**2 + (1.0 - order) * (k - shift) ** 2) / 32.0
            exact = (math.log(np.exp(logs).sum()) - total) / (order - 1.0)
            bare = order * (shift / 4.0) ** 2 / 2.0
            assert exact == pytest.approx(bare, rel=1e-6)
            assert claim.renyi(order) > exact
    # two ends just across the middles of two cells are a cell farther apart than they were
    assert noise.guarantee(0.0, 4).renyi(2.0) >= 2.0 * (0.5 * 2.0 / 2.0) ** 2 / 2.0


def test_ends_with_the_same_inner_noise_are_as_close_as_the_guarantee_assumes():
    """Convex losses and steps of at most 2/M: the sum of the steps' sensitivities bounds them."""
    chance = np.random.default_rng(4)
    run = NoisyDescent(
        objective=losses.logistic(1.0),
        records=50,
        steps=40,
        step_size=2.0,
        noise=GradientNoise(0.05),
        adjacency=Adjacency.REPLACE_ONE,
    )
    farthest = run.total_steps * run.step_size * run.gradient_sensitivity
    rows = chance.standard_normal((50, 3))
    moved = []
    for row in range(10):
        other = rows.copy()
        other[row] = -5.0 * rows[row]
        ends = [
            descend(
                run,
                LinearSums(table, np.ones(50), links.Logistic(), feature_norm=1.0),
                generator=seeded_generator_voids_privacy(row),
            )
            for table in (rows, other)
        ]
        moved.append(np.linalg.norm(ends[0] - ends[1]))
    assert 0.05 * farthest < max(moved) <= farthest
    noise = DiscreteGaussian(std=4.0 * farthest, spacing=release_grid(run))
    assert noise.guarantee(farthest, 3).epsilon(1e-5) < 1.5


@pytest.mark.parametrize(
    "std, spacing", [(0.0, 0.5), (1.0, 0.3), (1.0, 0.0), (0.1, 0.5), (1e30, 0.5), (math.nan, 0.5)]
)
def test_noise_that_means_nothing_is_refused(std, spacing):
    with pytest.raises(InvalidDescription):
        DiscreteGaussian(std, spacing)


# Sums in floating point


def crafted_rows(kind: str, count: int, columns: int, chance) -> np.ndarray:
    """Rows against rounding: ties, cancellation, lengths a hair around the norm."""
    made = chance.standard_normal((count, columns))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    if kind == "aligned":  # every partial sum grows, so that each addition rounds the most
        made = np.ones((count, columns)) / math.sqrt(columns)
        made *= 1.0 + chance.integers(-3, 4, (count, 1)) * 2.0**-52
    elif kind == "cancelling":
        made[1::2] = -made[: 2 * (count // 2) : 2] * (1.0 + 2.0**-52)
    elif kind == "ties":  # halves of the last place of a sum of many
        made = np.where(chance.random((count, columns)) < 0.5, 1.0, 2.0**-53)
        made *= chance.choice([-1.0, 1.0], (count, columns))
    elif kind == "scales":
        made *= 10.0 ** chance.integers(-139, 139, (count, 1)).astype(float)
    elif kind == "at the norm":
        made *= 1.0 + chance.integers(-64, 65, (count, 1)) * 2.0**-53
    elif kind == "single":
        return made.astype(np.float32)
    return made


LINKS = {
    "logistic": (links.Logistic(), lambda c, n: c.choice([-1.0, 1.0], n)),
    "squared": (links.Squared(), lambda c, n: c.choice([-1e6, -1.0, 0.0, 1.0, 1e6], n)),
    "huber": (links.Huber(0.5), lambda c, n: c.choice([-1e6, -1.0, 1.0, 1e6], n)),
    "envelope": (links.SoftmaxEnvelope(3), lambda c, n: c.integers(0, 3, n)),
    "clamped": (links.SoftmaxClamp(3), lambda c, n: c.integers(0, 3, n)),
}
KINDS = ("aligned", "cancelling", "ties", "scales", "at the norm", "single", "random")


def longest_moves(link, made_targets, kind, *, shared, others, intercept, seed):
    """All pairs of data sets that share all records but one, by one call for each data set.

    Returns the largest distance of two sums, replaced and zeroed, over the declared, and the pairs.
    """
    chance = np.random.default_rng(seed)
    rows = crafted_rows(kind, shared + others, 4, chance)
    bound = 0.7
    sums = LinearSums(
        rows,
        made_targets(chance, shared + others),
        link,
        feature_norm=1.0,
        gradient_bound=bound,
        intercept=intercept,
    )
    x = 10.0 ** chance.integers(-3, 3) * chance.standard_normal(sums.shape)
    common = np.arange(shared)
    alone = sums(x, common).ravel()
    found = np.stack([sums(x, np.append(common, shared + j)).ravel() for j in range(others)])
    # differences and norms in extended precision: the test itself must not round in our favour
    table = found.astype(np.longdouble)
    zeroed = np.sqrt(((table - alone) ** 2).sum(axis=1)).max()
    squares = [((table[j + 1 :] - table[j]) ** 2).sum(axis=1).max() for j in range(others - 1)]
    replaced = np.sqrt(max(squares))
    pairs = others + others * (others - 1) // 2
    return float(zeroed / bound), float(replaced / (2.0 * bound)), pairs


def all_moves(shared, others):
    zeroed = replaced = 0.0
    pairs = 0
    for seed, name in enumerate(LINKS):
        for place, kind in enumerate(KINDS):
            intercept = 0.5 if (seed + place) % 2 else 0.0
            a, b, count = longest_moves(
                *LINKS[name],
                kind,
                shared=shared,
                others=others,
                intercept=intercept,
                seed=seed * 100 + place,
            )
            assert a <= 1.0 and b <= 1.0, (name, kind)
            zeroed, replaced, pairs = max(zeroed, a), max(replaced, b), pairs + count
    # the test would notice: some pair comes within a millionth of the declared
    assert zeroed > 1.0 - 1e-6 and replaced > 1.0 - 1e-6
    COUNTS["adversarial pairs of sums"] += pairs
    return zeroed, replaced, pairs


def test_crafted_records_move_a_sum_no_farther_than_declared():
    all_moves(shared=100, others=12)


@pytest.mark.slow
def test_100_000_crafted_pairs_move_a_sum_no_farther_than_declared():
    _, _, pairs = all_moves(shared=4000, others=80)
    assert pairs >= 100_000
