"""Nothing but the release leaves a run: every way out that Python has is looked at.

Each estimator, and the loop itself, runs on two neighbouring data sets with the same noise.  What
they return, keep, pickle, log, warn of, print and ask of the generator must be the same but for the
release; and data that are refused are refused without a word of what they hold.
"""

import contextlib
import dataclasses
import io
import logging
import pickle
import re
import sys
import warnings

import numpy as np
import pytest

from learn.learn_cases import COLUMNS, declared, targets
from trust.tally import COUNTS
from wane import (
    Adjacency,
    Cyclic,
    FullBatch,
    GradientNoise,
    NoisyDescent,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
    losses,
    sampling,
)
from wane.audit.measured import replay
from wane.errors import PrivacyWarning
from wane.learn import PrivateMean
from wane.run import LinearSums, descend, links, seeded_generator_voids_privacy
from wane.sampling import PosteriorLinearRegression, PosteriorLogisticRegression
from wane.sampling.sums import LinearChainSums

ROWS = 400
RELEASED = {
    "coef_",
    "coef_samples_",
    "intercept_",
    "intercept_samples_",
    "mean_",
    "samples_",
}
PUBLIC = {
    "certificate_",
    "classes_",
    "feature_names_in_",
    "n_features_in_",
    "n_iter_",
    "release_noise_",
    "run_",
    "sampling_",
    "scaler_",
    "temperature_",
}
MARK = "QUOTEDCELL"
CELL = 987654.3210123


def estimators(**changes):
    """By name: an estimator and the kind of its targets; each fit takes few steps."""
    made = declared(**({"epsilon": 8.0, "steps": 20} | changes))
    mean = {k: v for k, v in changes.items() if k not in ("progress", "batches", "steps")}
    made["mean"] = (PrivateMean(**({"feature_norm": 1.0} | mean)), None)
    drawn = {k: v for k, v in changes.items() if k not in ("batches", "steps")}
    drawn = {"epsilon": 8.0, "steps": 20, "step_size": 0.05, "prior_precision": 10.0} | drawn
    made["sampled logistic"] = (PosteriorLogisticRegression(classes=[0, 1], **drawn), "binary")
    made["sampled linear"] = (PosteriorLinearRegression(target_bound=3.0, **drawn), "real")
    made["sampled mean"] = (sampling.PosteriorMean(centre=[0.1] * COLUMNS, **drawn), None)
    made["sampled centre"] = (sampling.PosteriorMean(width=0.5, **drawn), None)
    return made


CASES = tuple(estimators())
LINEAR = tuple(declared())


def data(kind, seed=0):
    chance = np.random.default_rng(seed)
    features = chance.uniform(-0.6, 0.6, (ROWS, COLUMNS))
    return features, None if kind is None else targets(kind, chance, ROWS)


def neighbour(features, labels):
    """One record is exchanged, for one that is as extreme as a valid one can be."""
    features, labels = features.copy(), None if labels is None else labels.copy()
    features[7] = (1e300, -1e300, 1e-300, 0.0)
    if labels is not None:
        labels[7] = labels[np.argmax(np.abs(labels.reshape(ROWS, -1)).sum(axis=1))]
    return features, labels


@dataclasses.dataclass
class Heard:
    """What a run said on its way, by every channel but its result."""

    printed: str
    complained: str
    warned: tuple[str, ...]
    logged: tuple[str, ...]


@contextlib.contextmanager
def listening():
    """Collect standard output and error, warnings, and every logger at its finest level."""
    heard = Heard("", "", (), ())
    out, err, lines = io.StringIO(), io.StringIO(), []

    class Collect(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    root, handler = logging.getLogger(), Collect(level=0)
    level = root.level
    root.addHandler(handler)
    root.setLevel(0)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(record=True) as said,
        ):
            warnings.simplefilter("always")
            # of public facts alone; learn/test_learn_warnings.py holds them to that
            warnings.simplefilter("ignore", PrivacyWarning)
            yield heard
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        heard.printed, heard.complained = out.getvalue(), err.getvalue()
        heard.warned = tuple(str(warning.message) for warning in said)
        heard.logged = tuple(lines)


SILENCE = Heard("", "", (), ())


def without_release(model):
    return {name: value for name, value in vars(model).items() if name not in RELEASED}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_keeps_the_release_and_public_facts_only(name):
    """Attributes on neighbouring data are equal but for the release, and nobody can add one."""
    found = []
    for change in (lambda *d: d, neighbour):
        model, kind = estimators()[name]
        parameters = set(vars(model))
        with listening() as heard:
            assert model.fit(*change(*data(kind))) is model
        assert heard == SILENCE
        assert set(vars(model)) - parameters <= RELEASED | PUBLIC
        found.append(model)
    first, second = (without_release(model) for model in found)
    assert first.keys() == second.keys()
    for key in first:
        assert np.array_equal(first[key], second[key]) or first[key] == second[key], key
    shapes = [[np.shape(getattr(m, r, None)) for r in sorted(RELEASED)] for m in found]
    assert shapes[0] == shapes[1]


def numbers_in(value, seen):
    """Every float that can be reached from an object through containers and attributes."""
    if id(value) in seen:
        return
    seen[id(value)] = value  # keeps it alive, so that no identity is used twice
    if isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from numbers_in(pair, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from numbers_in(item, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from numbers_in(vars(value), seen)


@pytest.mark.parametrize("name", CASES)
def test_no_record_and_no_inner_iterate_can_be_reached_from_a_model_or_its_pickle(
    name, monkeypatch
):
    model, kind = estimators()[name]
    features, labels = data(kind)
    secret = set(features.ravel().tolist())
    steps = []

    def watched(run, x, total, *others, **options):
        made = plain(run, x, total, *others, **options)
        steps.append(made.copy())
        if total is not None:
            secret.update(np.ravel(total).tolist())
        return made

    plain = sys.modules["wane.run.descent"].noisy_step
    monkeypatch.setattr("wane.run.descent.noisy_step", watched)
    model.fit(features, labels)
    assert len(steps) == model.run_.total_steps
    secret.update(value for step in steps[:-1] for value in step.ravel().tolist())
    secret -= {0.0, 1.0, -1.0}
    for reached in (model, pickle.loads(pickle.dumps(model))):
        assert not secret & set(numbers_in(vars(reached), {}))
    raw = pickle.dumps(model)
    assert not any(np.float64(value).tobytes() in raw for value in secret if abs(value) > 1e-6)
    assert not any(np.float64(value).byteswap().tobytes() in raw for value in list(secret)[:500])


@pytest.mark.parametrize("name", sorted(set(CASES) - {"mean"}))
def test_the_bar_shows_the_same_on_neighbouring_data(name, monkeypatch):
    """With a clock that ticks once for each look at it, the bar is equal to the character."""
    shown = []
    for change in (lambda *d: d, neighbour):
        ticks = iter(range(10**9))
        monkeypatch.setattr("tqdm.std.time", lambda ticks=ticks: float(next(ticks)))
        model, kind = estimators(progress=True)[name]
        with listening() as heard:
            model.fit(*change(*data(kind)))
        assert heard.printed == "" and heard.warned == () and heard.logged == ()
        shown.append(heard.complained)
    assert shown[0] == shown[1] and "step" in shown[0]


BATCHES = (FullBatch(), Cyclic(40), ShuffledOnce(40), Poisson(40), WithoutReplacement(40))


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("batches", BATCHES, ids=lambda b: type(b).__name__)
def test_no_data_steer_the_generator_or_the_number_of_steps(name, batches):
    model, kind = estimators(batches=FullBatch(), adjacency=Adjacency.REPLACE_ONE)[name]
    ready = model._prepare(*data(kind))
    other = model._prepare(*neighbour(*data(kind)))
    assert ready.run == other.run and ready.certificate == other.certificate
    run = dataclasses.replace(ready.run, batches=batches)
    found = replay(run, ready.gradients, other.gradients)
    assert found.same_control_flow
    # both runs, each asked once a step that uses records
    assert found.steps == 2 * sum(phase.repeat for phase in run.plan if not phase.cool_down)


NASTY = {
    "nan": np.nan,
    "infinite": np.inf,
    "minus infinite": -np.inf,
    "huge": 1.7e308,
    "tiny": 5e-324,
    "zero": 0.0,
}


@pytest.mark.parametrize("value", NASTY.values(), ids=NASTY)
@pytest.mark.parametrize("batches", BATCHES, ids=lambda b: type(b).__name__)
def test_the_loop_says_nothing_whatever_the_records_hold(value, batches):
    features, labels = data("binary")
    features[::3] = value
    features[1::3, 2] = value
    link = links.Logistic()
    sums = LinearSums(features, 2.0 * labels - 1.0, link, feature_norm=1.0)
    run = NoisyDescent(
        objective=losses.logistic(1.0, ridge=0.01),
        records=ROWS,
        steps=30,
        step_size=1.0,
        noise=GradientNoise(0.1),
        batches=batches,
        adjacency=Adjacency.ZERO_OUT,
    )
    told = []
    with np.errstate(all="raise"), listening() as heard:
        end = descend(run, sums, generator=seeded_generator_voids_privacy(1), progress=told.append)
    assert heard == SILENCE
    assert told == list(range(1, 31))
    assert end.shape == (COLUMNS,) and np.isfinite(end).all()


def corrupted(kind):
    """Data that are refused or not, but never quoted: (what it is, features, targets)."""
    features, labels = data(kind)

    def cell(value, dtype=np.float64):
        made = features.astype(dtype)
        made[3, 1] = value
        return made

    yield "huge", cell(CELL * 1e300), labels
    yield "nan", cell(np.nan), labels
    yield "infinite", cell(np.inf), labels
    yield "huge single", cell(3.4e38, np.float32), labels
    yield "beyond doubles", cell(np.longdouble("1e4000"), np.longdouble), labels
    yield "text", cell(MARK, object), labels
    yield "bytes", cell(MARK.encode(), object), labels
    yield "all text", np.full((ROWS, COLUMNS), MARK), labels
    yield "long integer", cell(int(f"{10**400}") + 9876543210, object), labels
    yield "nested", cell([CELL, CELL], object), labels
    yield "mapping", cell({MARK: CELL}, object), labels
    yield "complex", features + 1j * CELL, labels
    yield "one dimension", features[:, 0] * CELL, labels
    yield "a number", np.float64(CELL), labels
    yield "three dimensions", features[:, :, None] * CELL, labels
    yield "ragged", [*features.tolist()[:-1], [CELL]], labels
    yield "no rows", features[:0], None if labels is None else labels[:0]
    yield "no columns", features[:, :0], labels
    if labels is None:
        return
    odd = labels.astype(object)
    odd.flat[3] = MARK
    yield "text target", features, odd
    yield "all text targets", features, np.full(labels.shape, MARK)
    numeric = labels.astype(np.float64)
    for name, value in (("nan", np.nan), ("infinite", np.inf), ("huge", CELL * 1e300)):
        made = numeric.copy()
        made.flat[3] = value
        yield f"{name} target", features, made
    made = numeric.copy()
    made.flat[3] = -CELL
    yield "wrong target", features, made
    long = numeric.astype(np.longdouble)
    long.flat[3] = np.longdouble("1e4000")
    yield "target beyond doubles", features, long
    yield "complex targets", features, numeric + 1j * CELL
    yield "too few targets", features, labels[:-1]
    yield "no targets", features, None


QUOTED = re.compile(rf"{MARK}|987654|9876543210|e\+?30\d|{'0' * 20}")


@pytest.mark.parametrize("name", CASES)
def test_refusals_and_warnings_quote_no_cell(name):
    tried = refused = 0
    model, kind = estimators()[name]
    for what, features, labels in corrupted(kind):
        tried += 1
        complaint = None
        with listening() as heard:
            try:
                model.fit(features, labels)
            except (ValueError, TypeError) as error:
                refused += 1
                complaint = error
        assert heard == SILENCE, what
        while complaint is not None:  # the reasons behind a reason may be logged as well
            assert not QUOTED.search(str(complaint)), (what, str(complaint))
            assert "\n" not in str(complaint), (what, str(complaint))
            complaint = complaint.__cause__ or complaint.__context__
    COUNTS["bad data sets tried"] += tried
    COUNTS["bad data sets refused, none quoted"] += refused
    assert refused >= 10


@pytest.mark.parametrize("name", CASES)
def test_huge_and_tiny_values_warn_of_nothing(name):
    """Even where numpy was told to raise."""
    model, kind = estimators(feature_norm=0.01)[name]
    for value in (1.7e308, -1.7e308, 5e-324, 1e-300):
        for dtype in (np.float64, np.float32):
            features, labels = data(kind)
            with np.errstate(all="ignore"):
                features = features.astype(dtype)
                limit = np.finfo(dtype).max
                features[5] = np.clip(value, -limit, limit)
            with np.errstate(all="raise"), listening() as heard:
                model.fit(features, labels)
            assert heard == SILENCE


def test_one_record_does_not_change_how_the_others_are_kept():
    """A table at the edge of being sparse; one record more or less full would tip it over.

    The others are equal and across the parameters, where their gradients turn fastest: whatever
    rounds their margins otherwise shows in the sum, where only the additions have room.
    """
    chance = np.random.default_rng(0)
    rows = np.zeros((40, 2000))
    rows[:, :600] = chance.standard_normal(600)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    empty, full = rows.copy(), rows.copy()
    empty[-1], full[-1] = 0.0, chance.standard_normal(2000)
    pair = [
        LinearChainSums(table, np.ones(40), links.Logistic(), feature_norm=0.5)
        for table in (empty, full)
    ]
    one, other = pair
    assert np.array_equal(one._rows[:-1], other._rows[:-1])
    for _ in range(10):
        x = 1e6 * chance.standard_normal((1, 2000))
        x -= (x @ rows[0])[:, None] * rows[:1]
        whole = slice(0, 40)
        moved = other(x, whole) - other(x, np.array([39])) - one(x, whole)
        assert np.linalg.norm(moved) < 40 * 50 * 2.0**-53


@pytest.mark.parametrize("full", [(), (0,), (299, 300, 301), range(300)])
def test_full_rows_among_sparse_ones_count_once(full, monkeypatch):
    monkeypatch.setattr("wane.sampling.sums._LONG_BLOCK", 100)
    chance = np.random.default_rng(1)
    rows = np.eye(12)[chance.integers(0, 12, 600)]
    rows[list(full)] = chance.uniform(0.1, 0.2, (len(full), 12))
    labels = np.sign(chance.standard_normal(600))
    sums = LinearChainSums(rows, labels, links.Logistic(), feature_norm=1.0)
    assert np.count_nonzero(~sums._kept_sparse) == len(full)
    x = chance.standard_normal((3, 12))
    parts = sum(sums(x, np.array([i])) for i in range(600))
    np.testing.assert_allclose(sums(x, slice(0, 600)), parts, rtol=1e-9, atol=1e-9)
