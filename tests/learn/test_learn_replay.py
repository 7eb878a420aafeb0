"""Neighbouring data, same noise: no step of any estimator moves farther than was declared.

A neighbour exchanges one record (replace-one) or drops its gradient (zero-out).  Records are
adversarial: huge, tiny, along and against the parameters, with every extreme target.
"""

from dataclasses import replace

import numpy as np
import pytest
from learn_cases import COLUMNS, declared

from wane import Adjacency, EveryIterate, FullBatch, GradientNoise, NoisyDescent
from wane.learn import PrivateMean
from wane.run import descend, release_grid, seeded_generator_voids_privacy

CASES = tuple(declared())
ALIKE = 6  # records that both data sets share
FAST_PAIRS, ALL_PAIRS = 40, 10_000
EXTREME = {
    "binary": (0, 1),
    "three": (0, 1, 2),
    "counts": (0, 5, 10**9),
    "real": (-1e12, -1.0, 0.0, 3.0, 1e12),
}


class Some:
    """Some of the records of gradient sums, as a data set of their own."""

    def __init__(self, sums, rows, records):
        self.sums, self.rows, self.records = sums, np.asarray(rows), records
        self.shape, self.gradient_bound = sums.shape, sums.gradient_bound

    def __call__(self, parameters, rows):
        return self.sums(parameters, self.rows)


def nasty_rows(generator, count, direction):
    """Rows of every length, a third of them along or against one direction."""
    X = generator.standard_normal((count, COLUMNS))
    aligned = np.arange(count) % 3 == 0
    X[aligned] = direction * generator.choice([-1.0, 1.0], (aligned.sum(), 1))
    X *= 10.0 ** generator.choice([-9, -1, 0, 0, 1, 9, 150], (count, 1))
    X[::17] = 0.0
    return X


def nasty_targets(kind, generator, count):
    if kind == "several":
        return generator.choice([-1e12, -2.0, 0.0, 2.0, 1e12], (count, 3))
    return generator.choice(EXTREME[kind], count)


def prepared(name, adjacency, generator, count):
    """An estimator's own plan and gradients for adversarial records, and where to try them."""
    model, kind = declared(adjacency=adjacency, epsilon=8.0)[name]
    direction = generator.standard_normal(COLUMNS)
    X = nasty_rows(generator, count, direction)
    ready = model._prepare(X, nasty_targets(kind, generator, count))
    along = np.zeros(ready.gradients.shape)
    along[:COLUMNS] = direction.reshape(-1, *[1] * (along.ndim - 1))
    places = [np.zeros_like(along)]
    for size in (0.3, 3.0, 30.0):
        places += [size * along, -size * along, size * generator.standard_normal(along.shape)]
    return ready, places


@pytest.fixture(autouse=True)
def finer_release(monkeypatch):
    """Rounding to the usual grid would hide how far one record moves an iterate."""
    monkeypatch.setattr("wane.run.safeguards.FINER", 50)


def one_step(ready):
    """One step of the planned run, on the shared records and one more."""
    phase = next(iter(ready.run.plan))
    return NoisyDescent(
        objective=ready.run.objective,
        records=ALIKE + 1,
        steps=1,
        step_size=phase.step_size,
        noise=GradientNoise(0.1),
        batches=FullBatch(),
        domain=ready.run.domain,
        adjacency=ready.run.adjacency,
    )


def moves(name, adjacency, pairs, seed):
    """Each pair's distance after one step from one place with the same noise, and the limit."""
    generator = np.random.default_rng(seed)
    ready, places = prepared(name, adjacency, generator, 120)
    run = one_step(ready)
    for pair in range(pairs):
        *alike, first, second = generator.choice(120, ALIKE + 2, replace=False)
        place = places[pair % len(places)]
        neighbour = [*alike, second] if adjacency is Adjacency.REPLACE_ONE else alike
        ends = [
            descend(
                run,
                Some(ready.gradients, rows, run.records),
                generator=seeded_generator_voids_privacy(pair),
                start=place,
            )
            for rows in ([*alike, first], neighbour)
        ]
        rounding = 1e-13 * (1.0 + np.linalg.norm(place))
        yield np.linalg.norm(ends[0] - ends[1]), run.step_size * run.gradient_sensitivity + rounding


def check(name, pairs, seed):
    for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE):
        found = np.array(list(moves(name, adjacency, pairs, seed)))
        assert len(found) == pairs
        assert (found[:, 0] <= found[:, 1]).all(), adjacency
        # the test would notice: some pair comes close to the limit
        assert (found[:, 0] > 0.5 * found[:, 1]).any(), adjacency


@pytest.mark.parametrize("name", CASES)
def test_a_step_moves_no_farther_than_declared(name):
    check(name, FAST_PAIRS, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_step_moves_no_farther_than_declared_for_ten_thousand_pairs(name):
    check(name, -(-ALL_PAIRS // (2 * len(CASES))), seed=2)


def trajectories(name, adjacency, seed):
    """Two whole fits with the same noise, all iterates, on data that differ in the first record."""
    generator = np.random.default_rng(seed)
    changes = {"steps": 40, "batches": FullBatch()}
    model, kind = declared(adjacency=adjacency, epsilon=8.0, **changes)[name]
    direction = generator.standard_normal(COLUMNS)
    X, y = nasty_rows(generator, 60, direction), nasty_targets(kind, generator, 60)
    Z, w = X.copy(), y.copy()
    Z[0], w[0] = -X[1], y[1]
    ready, other = model._prepare(X, y), model._prepare(Z, w)
    assert ready.run == other.run
    run = replace(ready.run, release=EveryIterate())
    second = (
        other.gradients
        if adjacency is Adjacency.REPLACE_ONE
        else Some(ready.gradients, range(1, 60), 60)
    )
    return run, [
        descend(run, g, generator=seeded_generator_voids_privacy(seed))
        for g in (ready.gradients, second)
    ]


@pytest.mark.parametrize("name", CASES)
def test_fits_on_neighbouring_data_drift_apart_by_the_sensitivity_a_step(name):
    """Planned steps never move two iterates apart, so each step adds its sensitivity at most."""
    for seed, adjacency in enumerate((Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE)):
        run, (one, other) = trajectories(name, adjacency, seed)
        apart = np.linalg.norm((one - other).reshape(len(one), -1), axis=1)
        limit = np.concatenate([p.repeat * [p.step_size * (not p.cool_down)] for p in run.plan])
        limit = limit * run.gradient_sensitivity
        assert (np.diff(apart, prepend=0.0) <= limit + 1e-12).all()
        assert apart.max() > 0.0


@pytest.mark.parametrize("columns", [1, 3])
def test_a_mean_moves_no_farther_than_declared(columns):
    generator = np.random.default_rng(columns)
    model = PrivateMean(feature_norm=2.0, adjacency=Adjacency.REPLACE_ONE, seed_voids_privacy=1)
    X = 10.0 ** generator.integers(-9, 150, (100, 1)) * generator.standard_normal((100, columns))
    first = model.fit(X).mean_
    limit = model.run_.gradient_sensitivity
    moved = []
    for row in range(50):
        Z = X.copy()
        Z[row] *= -generator.choice([0.0, 1.0, 1e-150, 1e150])
        moved.append(np.linalg.norm(model.fit(Z).mean_ - first))
    rounded = release_grid(model.run_) * columns**0.5
    assert 0.9 * limit < max(moved) <= limit * (1.0 + 1e-12) + rounded
