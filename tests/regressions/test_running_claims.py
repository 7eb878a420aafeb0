"""What ran was not what was certified: each old claim with its exact value, and what stops it now.

The event that gives a record away is the same throughout: a released number between 1e-6 and 1/2 in
size that is no multiple of 2^-53.  Numbers that were near 1 before they were released cannot be
such; numbers that were near 0 usually are.
"""

import math
import pickle
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest

from wane import (
    Adjacency,
    Ball,
    Box,
    Cyclic,
    GradientNoise,
    NoisyDescent,
    Objective,
    Phase,
    Schedule,
    certify,
)
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.learn import PrivateQuantileRegressor
from wane.learn.resumable import NOT_SEALED, public_settings
from wane.mechanisms import BrownianMechanism, Outside
from wane.randomness import private_generator
from wane.run import Checkpoint, LinearSums, descend, links, new_checkpoint_key
from wane.run.descent import noisy_step
from wane.run.safeguards import farthest_iterate
from wane.sampling import OverdampedRun, UnderdampedRun, draw, linear_posterior
from wane.sampling.sums import MeanChainSums

LINEAR = Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0)


class Push:
    """Records whose gradients are the same everywhere; without any, all are null records."""

    def __init__(self, records: int, push: float, size: int = 1):
        self.records, self.shape, self.push = records, (size,), push
        self.gradient_bound = 1.0

    def __call__(self, parameters, rows):
        return np.full(self.shape, self.push * len(range(self.records)[rows]))


def tells(values) -> np.ndarray:
    """Where the event happens: between 1e-6 and 1/2 in size, and no multiple of 2^-53."""
    values = np.asarray(values)
    scaled = values * 2.0**53
    size = np.abs(values)
    return (size > 1e-6) & (size < 0.5) & (scaled != np.rint(scaled))


def cooled() -> NoisyDescent:
    """One record, a step of size 1 with noise 1, then a cool-down step of size 1e-30."""
    noise = GradientNoise(1.0)
    phases = [Phase(1, 1.0, noise), Phase(1, 1e-30, noise, cool_down=True)]
    return NoisyDescent(
        objective=LINEAR, records=1, schedule=Schedule(phases), adjacency=Adjacency.ZERO_OUT
    )


def decaying(size: float) -> NoisyDescent:
    """Fourteen steps, each 0.03 times as long as the one before."""
    phases = [Phase(1, size * 0.03**k, GradientNoise(1.0)) for k in range(14)]
    return NoisyDescent(
        objective=LINEAR, records=1, schedule=Schedule(phases), adjacency=Adjacency.ZERO_OUT
    )


@pytest.fixture
def raw(monkeypatch):
    """Releases as they were before they were rounded: what the tests below would find."""
    monkeypatch.setattr("wane.run.descent.to_grid", lambda values, spacing: values)
    monkeypatch.setattr("wane.run.diffusions.to_grid", lambda values, spacing: values)


def ends(run, push, times, size=100):
    return np.concatenate([descend(run, Push(1, push, size)) for _ in range(times)])


def one_dimensional(count, push):
    """Many independent runs in one dimension are one run in many, so far as bits go."""
    return ends(cooled(), push, times=count // 100)


def test_a_cool_down_step_of_1e_30_no_longer_decides_the_grid():
    """Delta(5): 5.8e-7 was certified; the event has probability 0.26 without the record."""
    assert certify(cooled()).delta(5.0) == pytest.approx(5.8e-7, rel=0.02)
    for push in (1.0, 0.0):
        assert not tells(one_dimensional(4000, push)).any()


@pytest.mark.usefixtures("raw")
def test_without_rounding_a_cool_down_step_gives_the_record_away():
    present, absent = (tells(one_dimensional(20_000, push)).mean() for push in (1.0, 0.0))
    assert present == 0.0 and 0.24 < absent < 0.28
    bound = certify(cooled()).delta(5.0)
    assert absent - math.exp(5.0) * present > 0.24 > 1e5 * bound


def test_steps_that_fade_away_leave_no_bits():
    """145 of 300 released numbers kept bits below 2^-53."""
    assert not tells(ends(decaying(1.0), 0.0, times=3)).any()


@pytest.mark.usefixtures("raw")
def test_without_rounding_steps_that_fade_away_leave_bits():
    found = tells(ends(decaying(1.0), 0.0, times=3))
    assert 60 < found.sum() < 220


def test_a_diffusion_releases_no_low_order_bits():
    """Brownian motion, statistic 0 or 1: delta(10) 9.8e-23 / at least 0.24."""
    made = BrownianMechanism(sensitivity=1.0, time=0.5)
    assert made.guarantee.delta(10.0) == pytest.approx(9.8e-23, rel=0.02)
    for statistic in (0.0, 1.0):
        assert not tells(made.release(np.full(4000, statistic))).any()


@pytest.mark.usefixtures("raw")
def test_without_rounding_a_diffusion_gives_the_statistic_away():
    made = BrownianMechanism(sensitivity=1.0, time=0.5)
    zero, one = (tells(made.release(np.full(20_000, s))).mean() for s in (0.0, 1.0))
    assert one == 0.0 and zero > 0.24


def test_whole_numbers_that_are_no_doubles_are_refused():
    """2^60 + 128 and 2^60 + 129 are 256 apart as doubles: mu 1 / 256."""
    made = BrownianMechanism(sensitivity=1.0, time=0.5)
    assert made.mu == pytest.approx(1.0)
    first, second = 2**60 + 128, 2**60 + 129
    assert abs(float(first) - float(second)) == 256.0
    for statistic in (first, second, np.int64(first), np.array([-second]), np.uint64(first)):
        with pytest.raises(InvalidDescription, match=r"at most 2\^53") as refused:
            made.release(statistic)
        assert "115" not in str(refused.value)  # neither statistic is quoted
    assert made.release(np.int64(2**30)) is not None
    with pytest.raises(InvalidDescription, match="doubles at most"):
        made.release(np.longdouble(1.0))


def test_a_projection_that_increases_distances_is_charged_or_refused():
    """Norm bound 7.7e9, sensitivity 1e-7: mu 1.0 / 19.1, since an ulp there is 9.5e-7."""
    with pytest.raises(InvalidDescription, match=r"2\^10 units in the last place"):
        BrownianMechanism(sensitivity=1e-7, time=0.5e-14, norm_bound=7.7e9)
    made = BrownianMechanism(sensitivity=1e-7, time=0.5, norm_bound=7.7e9)
    assert made.mu > 500.0 * 1e-7  # what roundings may add is more than was declared, and charged
    chance = np.random.default_rng(0)
    charged = 0.0
    for _ in range(3000):
        first = chance.standard_normal(3) * (1e10, 1e10, 1e7)
        second = first + np.array([0.0, 0.0, 1e-7])  # changes the norm by less than it is rounded
        means = [made.law(f, outside=Outside.PROJECT).mean for f in (first, second)]
        gaps = [Fraction(a) - Fraction(b) for a, b in zip(*means, strict=True)]
        apart = math.sqrt(sum(gap * gap for gap in gaps))
        declared = math.dist(first, second)
        charged = max(charged, apart - declared)
        assert apart <= declared + made.rounding_charge
    assert charged > 1e-7  # the old claim was broken, by more than the sensitivity
    assert made.rounding_charge == 2.0**-47 * 7.7e9


def test_noise_below_a_thousand_ulps_is_refused_without_a_bound_too():
    made = BrownianMechanism(sensitivity=1.0, time=0.5)
    assert np.isfinite(made.release(2.0**42))
    with pytest.raises(InvalidDescription, match="units in the last place"):
        made.release(2.0**44)


def summed_in_sequence(rows):
    return rows.sum(axis=0)


def by_blocks(rows):
    sums = MeanChainSums(rows, norm=1.0)
    return -sums(np.zeros((1, 2)), slice(0, sums.records))[0]


def farthest_sums(summed, ones=2**19, tiny=2**19, gap=2.0**-14):
    """How far zeroing one record of norm 1 moves a sum whose other rows were chosen to round.

    Half of them bring the sum just past a power of two with the record, and just below without;
    then each of the others is rounded up with the record, by half as much again, and not without.
    """
    first = np.zeros((1 + ones + tiny, 2))  # one column would be added in pairs
    first[:, 0] = 1.0
    top = 2.0 ** math.floor(math.log2(ones))
    unit = math.ulp(top / 2.0)
    first[1 + ones :, 0] = 1.25 * unit
    first[ones, 0] = 1.0 - gap  # with the record just above the power of two
    second = first.copy()
    second[0] = 0.0
    a, b = summed(first), summed(second)
    return abs(Fraction(float(a[0])) - Fraction(float(b[0])))


def test_a_mean_is_summed_as_its_margin_counts():
    """Each row rounds the whole sum if they are added in sequence, and its block's sum if not."""
    assert farthest_sums(summed_in_sequence) > 1.00003
    assert farthest_sums(by_blocks) <= 1
    listed = MeanChainSums(np.full((5000, 1), 0.1), norm=1.0)
    by_rows = listed(np.zeros((1, 1)), np.arange(5000))
    assert np.array_equal(by_rows, listed(np.zeros((1, 1)), slice(0, 5000)))


@pytest.mark.slow
def test_a_mean_of_ten_million_rows_moves_by_no_more_than_declared():
    """In sequence 1.0026 for a declared 1; at 1e8 rows 1.2351, so epsilon 0.967 becomes 1.215."""
    sizes = {"ones": 2**22, "tiny": 10**7 - 2**22, "gap": 2.0**-8}
    assert 1.0026 < farthest_sums(summed_in_sequence, **sizes) < 1.0028
    assert farthest_sums(by_blocks, **sizes) <= 1
    mu = GaussianDP.from_target(epsilon=0.967, delta=1e-6).mu
    assert GaussianDP(1.2351 * mu).epsilon(1e-6) == pytest.approx(1.215, abs=1e-3)


class Stopped(Exception):
    """The machine stops here."""


def test_a_checkpoint_of_another_quantile_is_refused(tmp_path, monkeypatch):
    """Two quantiles shared their noise: their difference repeated to 9.5e-7, at noise 1.5e-3."""
    chance = np.random.default_rng(0)
    X = chance.uniform(-0.5, 0.5, (400, 2))
    y = X[:, 0] + 0.1 * chance.standard_normal(400)
    checkpoint = Checkpoint(tmp_path / "run", new_checkpoint_key(), every=2)
    settings = {"target_bound": 1.0, "epsilon": 8.0, "steps": 10, "checkpoint": checkpoint}
    first = PrivateQuantileRegressor(quantile=0.25, **settings)
    second = PrivateQuantileRegressor(quantile=0.75, **settings)
    assert first._prepare(X, y).run == second._prepare(X, y).run  # nothing else tells them apart

    done = []

    def stop(run, *others):
        done.append(run)
        if len(done) == 5:
            raise Stopped
        return noisy_step(run, *others)

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr("wane.run.descent.noisy_step", stop)
        first.fit(X, y)
    assert checkpoint.path.exists()
    for changed in (second, PrivateQuantileRegressor(quantile=0.25, **(settings | {"width": 0.2}))):
        with pytest.raises(InvalidDescription, match="another's"):
            changed.fit(X, y)
    first.fit(X, y)
    assert not checkpoint.path.exists()


def test_every_public_setting_is_sealed():
    """Any argument that says what is run is in the seal; the rest are named."""
    model = PrivateQuantileRegressor(target_bound=1.0)
    sealed = public_settings(model)
    assert {f.name for f in fields(model)} == (sealed.keys() - {"model"}) | set(NOT_SEALED)
    long = PrivateQuantileRegressor(feature_bounds=(np.zeros(5000), np.arange(1.0, 5001.0)))
    assert "2500.0" in public_settings(long)["feature_bounds"]


def test_the_loss_is_part_of_what_a_checkpoint_calls_its_records():
    X, y, key = np.eye(3), np.zeros(3), new_checkpoint_key()

    def mark(level, norm=1.0):
        return LinearSums(X, y, links.Quantile(level), feature_norm=norm).fingerprint(key)

    assert mark(0.25) == mark(0.25) != mark(0.75)
    assert mark(0.25) != mark(0.25, norm=2.0)


def test_generators_that_were_copied_showed_the_difference_of_two_statistics():
    """Mu 0.07 / infinite: the same noise twice.  See also tests/trust/test_randomness.py."""
    generator = private_generator()
    assert GaussianDP(0.07).epsilon(1e-5) < 0.3
    with pytest.raises(TypeError, match="never pickled or copied"):
        pickle.dumps(generator)


# Runs that are not what their description says


def table(count=30, seed=0):
    chance = np.random.default_rng(seed)
    rows = chance.uniform(-0.4, 0.4, (count, 3))
    return LinearSums(rows, np.sign(rows[:, 0]), links.Logistic(), feature_norm=1.0)


def described(**changes):
    objective = {"gradient_bound": 1.0, "smoothness": 0.25, "strong_convexity": 0.0}
    known = {k: changes.pop(k) for k in list(changes) if k in Objective.__dataclass_fields__}
    rest = {"records": 30, "steps": 5, "step_size": 0.5, "noise": GradientNoise(0.1)}
    return NoisyDescent(objective=Objective(**(objective | known)), **(rest | changes))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"smoothness": 0.2}, "objective.smoothness must be what the sums know"),
        ({"smoothness": 0.25 - 1e-12}, "objective.smoothness"),
        ({"strong_convexity": 0.01, "domain": Ball(5.0)}, "true of the null record"),
        ({"dissipativity": (1.0, 0.1), "domain": Ball(5.0)}, "true of the null record"),
        ({"gradient_difference_bound": 0.5}, "true of the null record"),
        ({"gradient_difference_bound": 1.5}, "objective.gradient_difference_bound"),
        ({"holder_exponent": 0.5, "holder_constant": 9.0}, "objective.holder_constant"),
        ({"gradient_bound": 0.9}, "bounded by the described"),
        ({"adjacency": Adjacency.ADD_REMOVE}, "adjacency must be replace-one or zero-out"),
        ({"ridge": 5.0, "steps": 10_000, "step_size": 1.0}, "step_size must keep iterates within"),
        ({"ridge": 4.1, "steps": 9000}, "step_size must keep iterates within"),
    ],
)
def test_a_run_that_claims_more_than_its_sums_know_is_refused(changes, words):
    with pytest.raises(InvalidDescription, match=words):
        descend(described(**changes), table())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"smoothness": 0.3, "strong_convexity": -0.1},
        {"smoothness": None, "strong_convexity": None},
        {"gradient_difference_bound": 2.0},
        {"gradient_bound": 2.0, "gradient_difference_bound": 2.0},
        {"ridge": 3.9, "steps": 2000},
        {"batches": Cyclic(7), "adjacency": Adjacency.ZERO_OUT},
    ],
)
def test_a_run_that_claims_no_more_is_run(changes):
    assert np.isfinite(descend(described(**changes), table())).all()


def test_no_iterate_ever_leaves_the_bound_that_is_computed_beforehand():
    """Noise of 40 deviations in every coordinate and gradients as long as they may be."""

    class Worst:
        def standard_normal(self, shape):
            return np.full(shape, -40.0)

    for changes in ({}, {"ridge": 0.5}, {"ridge": 4.5, "steps": 60}, {"steps": 300}):
        run = described(smoothness=0.0, **changes)
        bound = farthest_iterate(run, 0.0, 4)
        end = descend(run, Push(30, -0.5, 4), generator=Worst())
        assert 0.2 * bound < np.linalg.norm(end) <= bound or "ridge" in changes
        assert np.linalg.norm(end) <= bound


def test_samplers_compare_the_losses_too():
    """Huber's loss bends four times as much as the logistic one, with shorter gradients."""
    chance = np.random.default_rng(0)
    rows = chance.uniform(-0.4, 0.4, (30, 3))
    labels = np.sign(rows[:, 0])
    settings = {"feature_norm": 1.0, "prior_precision": 5.0}
    described, other = (
        linear_posterior(rows, labels, link, **settings)
        for link in (links.Logistic(), links.Huber(0.9))
    )
    assert described.sums.gradient_bound > other.sums.gradient_bound
    common = {"posterior": described.posterior, "step_size": 0.05, "steps": 3, "samples": 2}
    for run in (OverdampedRun(**common), UnderdampedRun(friction=2.0, **common)):
        assert draw(run, described.sums).shape == (2, 3)
        with pytest.raises(InvalidDescription, match="smoothness must be what the sums"):
            draw(run, other.sums)
    lengthened = replace(described.posterior, adjacency=Adjacency.ADD_REMOVE)
    for run in (
        OverdampedRun(**common | {"posterior": lengthened}),
        UnderdampedRun(friction=2.0, **common | {"posterior": lengthened}),
    ):
        with pytest.raises(InvalidDescription, match="adjacency must be replace-one or zero-out"):
            draw(run, described.sums)


@pytest.mark.parametrize(
    "changes, start",
    [
        ({}, 1e13),
        ({"domain": Box(1e13, 1e13 + 1.0, 3)}, None),
        ({"noise": GradientNoise(1e-12)}, 9.0),
    ],
)
def test_noise_that_is_lost_in_the_last_bits_of_an_iterate_is_refused(changes, start):
    """Two iterates there are as far apart as doubles are, whatever a step does to them."""
    begin = None if start is None else np.full(3, start)
    with pytest.raises(InvalidDescription, match=r"noise must be at least 2\^10 units"):
        descend(described(**changes), table(), start=begin)
    assert descend(described(), table(), start=np.full(3, 9.0)) is not None
