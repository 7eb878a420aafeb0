"""A private generator belongs to one process, has one holder, and is the source of all noise."""

import copy
import multiprocessing
import os
import pickle

import cloudpickle
import numpy as np
import pytest

from wane.describe import FullBatch, ShuffledOnce, WithoutReplacement
from wane.errors import InvalidDescription
from wane.learn import PrivateCurvature, PrivateLogisticRegression, PrivateMean
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    BrownianMechanism,
    DiffusionMechanism,
    NestedRelease,
)
from wane.randomness import noise_generator, private_generator
from wane.run import seeded_generator_voids_privacy
from wane.sampling import PosteriorLogisticRegression, PosteriorMean


def in_a_child(work) -> np.ndarray:
    """What the work returns in a process that is forked here."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(into, np.asarray(work(), dtype=np.float64).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    found = np.frombuffer(os.read(out, 10**6))
    os.close(out)
    os.close(into)
    return found


@pytest.mark.parametrize(
    "way",
    [pickle.dumps, cloudpickle.dumps, copy.copy, copy.deepcopy, lambda one: one.spawn(2)],
    ids=["pickle", "cloudpickle", "copy", "deepcopy", "spawn"],
)
def test_a_private_generator_has_no_second_copy(way):
    generator = private_generator()
    for one in (generator, generator.bit_generator):
        with pytest.raises(TypeError, match="never pickled or copied"):
            way(one)


def test_a_seeded_generator_may_be_copied_since_it_protects_nothing():
    first = seeded_generator_voids_privacy(3)
    again = pickle.loads(pickle.dumps(first))
    assert np.array_equal(first.standard_normal(5), again.standard_normal(5))


def test_a_fork_takes_a_new_key():
    """Before, two children added the same noise to two statistics, and showed their difference."""
    generator = private_generator()
    generator.standard_normal(3)  # something is drawn ahead already
    first, second = 0.25, 0.75
    releases = [in_a_child(lambda s=s: s + generator.standard_normal(4)) for s in (first, second)]
    here = generator.standard_normal(4)
    assert np.all(releases[1] - releases[0] != second - first)
    assert not np.any(releases[0] - first == here) and not np.any(releases[1] - second == here)


def test_a_pool_of_forked_workers_shares_no_noise():
    context = multiprocessing.get_context("fork")
    generator = private_generator()
    with context.Pool(2, initializer=_hold, initargs=(generator,)) as pool:
        drawn = pool.map(_draw, range(8), chunksize=4)
    assert np.unique(np.concatenate(drawn)).size == 8 * 3


_HELD: list[np.random.Generator] = []


def _hold(generator):
    _HELD[:] = [generator]


def _draw(_):
    return _HELD[0].standard_normal(3)


@pytest.mark.parametrize("seed", [-1, 1.5, "3", np.random.default_rng(0)])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InvalidDescription, match="seed_voids_privacy must be a whole number"):
        noise_generator(seed)


BROWNIAN = BrownianMechanism(sensitivity=1.0, time=0.5)
NESTED = NestedRelease(BROWNIAN, {"near": 0.5, "far": 1.0})
TREE = BranchedRelease(BROWNIAN, {"a": Branch(None, 0.5), "b": Branch("a", 0.5)})
FLAT = DiffusionMechanism(
    drift=np.zeros_like, spread=np.ones_like, low=0.0, high=1.0, sensitivity=0.5, time=0.2
)
RELEASES = {
    "release": lambda **seed: BROWNIAN.release([0.0], **seed),
    "path": lambda **seed: np.ravel(BROWNIAN.path([0.0], [0.5, 1.0], **seed)),
    "levels": lambda **seed: NESTED.open([0.0], **seed).publish("far"),
    "tree": lambda **seed: TREE.publish([0.0], **seed).reader("b").points["b"],
    "numerical": lambda **seed: np.array([FLAT.release(0.3, **seed)]),
}


@pytest.mark.parametrize("name", RELEASES)
def test_every_mechanism_draws_from_the_private_source(name, monkeypatch):
    """With the key fixed releases repeat, so nothing else was drawn from; else they differ."""
    release = RELEASES[name]
    assert not np.array_equal(release(), release())
    assert np.array_equal(release(seed_voids_privacy=5), release(seed_voids_privacy=5))
    monkeypatch.setattr("wane.randomness._new_key", lambda: 7)
    assert np.array_equal(release(), release())


def test_an_open_path_is_neither_copied_nor_published_by_two_processes():
    path = NESTED.open([0.0])
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never pickled or copied"):
            way(path)

    def child():
        try:
            path.publish("far")
        except TypeError:
            return [1.0]
        return [0.0]

    assert in_a_child(child).tolist() == [1.0]


ROWS = np.random.default_rng(0).uniform(-0.6, 0.6, (300, 3))
LABELS = (ROWS[:, 0] > 0.0).astype(int)
SAMPLED = {"epsilon": 8.0, "steps": 10, "step_size": 0.05, "prior_precision": 10.0}
LEARNT = {"epsilon": 8.0, "steps": 6, "classes": [0, 1]}
FITS = {
    "all rows": lambda: PrivateLogisticRegression(batches=FullBatch(), **LEARNT),
    "a secret order": lambda: PrivateLogisticRegression(batches=ShuffledOnce(50), **LEARNT),
    "secret batches": lambda: PrivateLogisticRegression(batches=WithoutReplacement(50), **LEARNT),
    "curvature": lambda: PrivateLogisticRegression(curvature=PrivateCurvature(), **LEARNT),
    "sampled": lambda: PosteriorLogisticRegression(classes=[0, 1], n_samples=2, **SAMPLED),
    "sampled mean": lambda: PosteriorMean(**SAMPLED),
    "mean": lambda: PrivateMean(feature_norm=1.0),
}


def released(name):
    made = FITS[name]().fit(ROWS, LABELS)
    found = (getattr(made, key, None) for key in ("coef_", "mean_", "intercept_"))
    return np.concatenate([np.ravel(one) for one in found if one is not None])


@pytest.mark.parametrize("name", FITS)
def test_every_estimator_draws_from_the_private_source(name, monkeypatch):
    """Noise, orders, batches, side releases: with the key fixed all of it repeats."""
    assert not np.array_equal(released(name), released(name))
    monkeypatch.setattr("wane.randomness._new_key", lambda: 7)
    assert np.array_equal(released(name), released(name))


def test_fits_in_two_children_share_no_noise():
    first, second = in_a_child(lambda: released("mean")), in_a_child(lambda: released("mean"))
    assert first.size == second.size == 3
    assert not np.any(first == second)
