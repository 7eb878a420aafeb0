"""Records in parts: the same sums, a bound that survives adding them, and fits from a file."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import wane
from wane import losses
from wane.describe import Cyclic, FullBatch, Poisson, ShuffledOnce
from wane.errors import InvalidDescription
from wane.learn import PrivateLogisticRegression, fit_table, streamed
from wane.learn.parts import Reader
from wane.run import LinearSums, links
from wane.run.parts import PartedSums, reserve
from wane.tables import (
    BoundedTarget,
    ClassTarget,
    NumericColumn,
    Schema,
    parquet_bytes,
    parquet_parts,
    read_part,
    read_table,
)

ROOT = Path(wane.__file__).parents[2]
ROWS = 2300
CLOSE = {"rtol": 1e-6, "atol": 1e-8}  # the reserve for rounding, and the order of summation


@pytest.fixture(autouse=True)
def finer_release(monkeypatch):
    """Releases are rounded to a coarse grid, which would hide differences, or enlarge them."""
    monkeypatch.setattr("wane.run.safeguards.FINER", 45)


def parted(X, y, sizes):
    """A whole, and the same records in parts of these sizes."""
    settings = {"feature_norm": 1.0, "gradient_bound": 0.3}
    ends = np.cumsum(sizes)
    parts = [
        LinearSums(X[a:b], y[a:b], links.Logistic(), reserve=reserve(sizes), **settings)
        for a, b in zip(ends - sizes, ends, strict=True)
    ]

    def evaluate(parameters, wanted):
        return [parts[part](parameters, rows) for part, rows in wanted]

    whole = LinearSums(X, y, links.Logistic(), **settings)
    return whole, PartedSums(sizes, evaluate, shape=whole.shape, objective=whole.objective)


SIZES = (700, 1, 899, 700)
INDEX = np.random.default_rng(1).permutation(ROWS)[:800]


@pytest.mark.parametrize(
    "rows",
    [
        slice(0, ROWS),
        slice(650, 1700),
        slice(700, 701),
        slice(5, 5),
        INDEX,
        np.sort(INDEX),
        np.array([], dtype=np.intp),
    ],
    ids=["all", "across", "one", "none", "shuffled", "sorted", "empty"],
)
def test_parts_add_up(rows):
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((ROWS, 3)), generator.choice([-1.0, 1.0], ROWS)
    whole, parts = parted(X, y, SIZES)
    assert (parts.records, parts.shape) == (whole.records, whole.shape)
    assert (parts.gradient_bound, parts.objective) == (whole.gradient_bound, whole.objective)
    x = generator.standard_normal(3)
    np.testing.assert_allclose(parts(x, rows), whole(x, rows), **CLOSE)


def test_a_reserve_is_kept_free():
    for bound, row in ((0.3, 100.0), (1.0, 100.0)):  # capped by the gradient, by the norm
        one = LinearSums(
            np.array([[row]]),
            np.array([-1.0]),
            links.Logistic(),
            feature_norm=1.0,
            gradient_bound=bound,
            reserve=0.001,
        )
        length = float(one(np.array([1e9]), slice(0, 1))[0])
        assert 0.998 * bound < length <= 0.999 * bound


def difference(first, rest, bound):
    """By how much one record of the first part moves the sum of two parts, exactly."""
    shape, sizes = (1,), (1, 2**30)
    objective = losses.logistic(bound)
    made = []
    for value in (first, 0.0):
        sums = PartedSums(
            sizes,
            lambda x, wanted, value=value: [np.array([value]), np.array([rest])],
            shape=shape,
            objective=objective,
        )
        made.append(Fraction(float(sums(np.zeros(1), slice(0, sum(sizes)))[0])))
    return made[0] - made[1]


def test_adding_parts_keeps_the_bound_because_of_the_reserve():
    generator = np.random.default_rng(0)
    share = reserve((1, 2**30))
    with_reserve, without = [], []
    for bound in generator.uniform(0.5, 1.0, 300):
        rest = bound * 2**30 * generator.uniform(0.5, 0.99)
        with_reserve.append(difference(bound * (1 - share), rest, bound) <= Fraction(bound))
        without.append(difference(bound, rest, bound) <= Fraction(bound))
    assert all(with_reserve)
    assert not all(without)


def test_parts_are_checked():
    objective = losses.logistic(1.0)
    for sizes in ((), (3, 0)):
        with pytest.raises(InvalidDescription, match="at least one row"):
            PartedSums(sizes, lambda x, w: [], shape=(1,), objective=objective)
    with pytest.raises(InvalidDescription, match="reserve"):
        LinearSums(np.ones((1, 1)), np.ones(1), links.Logistic(), feature_norm=1.0, reserve=-1.0)


# From a file

SCHEMA = Schema(
    columns=tuple(NumericColumn(name=name, low=-3.0, high=3.0) for name in "abc"),
    target=ClassTarget(name="target", classes=("0", "1")),
)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file of three row groups, read in small blocks."""
    monkeypatch.setattr("wane.tables.source.BLOCK_ROWS", 300)
    generator = np.random.default_rng(0)
    X = generator.standard_normal((ROWS, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(target=(X[:, 0] > 0).astype(int))
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=900)
    return path


def model(**changes):
    settings = {"classes": (0, 1), "steps": 12, "seed_voids_privacy": 5}
    return PrivateLogisticRegression(**(settings | changes))


@pytest.mark.parametrize("batches", [FullBatch(), Cyclic(500), Cyclic(170)], ids=repr)
def test_a_streamed_fit_is_the_fit(table, batches):
    whole = read_table(table, SCHEMA)
    alone = model(batches=batches).fit(whole.features, whole.targets)
    made = fit_table(model(batches=batches), table, SCHEMA)
    np.testing.assert_allclose(made.coef_, alone.coef_, **CLOSE)
    assert made.certificate_ == alone.certificate_
    assert made.n_features_in_ == 3


@pytest.mark.parametrize("rule", [ShuffledOnce, pytest.param(Poisson, marks=pytest.mark.slow)])
def test_other_batches_are_slow_and_right(table, rule):
    whole = read_table(table, SCHEMA)
    alone = model(batches=rule(1000), steps=3).fit(whole.features, whole.targets)
    made = fit_table(model(batches=rule(1000), steps=3), table, SCHEMA)
    assert made.run_ == alone.run_
    np.testing.assert_allclose(made.coef_, alone.coef_, **CLOSE)


def test_a_planned_secret_order_becomes_the_files(table, monkeypatch):
    monkeypatch.setattr("wane.learn.plan.LITTLE_WORK", 0)
    planned = {"steps": None, "seed_voids_privacy": None, "epsilon": 0.3}
    whole = read_table(table, SCHEMA)
    alone = model(**planned).fit(whole.features, whole.targets).run_
    made = fit_table(model(**planned), table, SCHEMA)
    assert isinstance(alone.batches, ShuffledOnce)
    assert made.run_.batches == Cyclic(alone.batches.size)
    assert made.run_.noise == alone.noise
    assert made.certificate_.epsilon(1e-5) <= 0.3


def test_going_forward_reads_every_block_once(table, monkeypatch):
    read = []
    blocks = streamed.read_part_blocks

    def counted(*given, **options):
        for block in blocks(*given, **options):
            read.append(len(block.features))
            yield block

    monkeypatch.setattr(streamed, "read_part_blocks", counted)
    fit_table(model(batches=Cyclic(115), steps=40), table, SCHEMA)  # two epochs
    assert sum(read) == 3 * ROWS  # to check them, and once in each epoch


def test_every_block_keeps_the_reserve_of_all(table, monkeypatch):
    kept = set()
    sums = Reader.sums

    def noted(reader, bounding, rows, targets):
        kept.add(bounding.reserve)
        return sums(reader, bounding, rows, targets)

    monkeypatch.setattr(Reader, "sums", noted)
    fit_table(model(), table, SCHEMA)
    assert kept == {reserve((300, 300, 300, 300, 300, 300, 300, 200))}


def test_bad_rows_are_refused_before_noise(table, monkeypatch):
    monkeypatch.setattr("wane.learn.base.generator", lambda seed: pytest.fail("noise was drawn"))
    narrow = Schema(columns=SCHEMA.columns, target=ClassTarget(name="target", classes=("1", "2")))
    with pytest.raises(InvalidDescription, match="declared classes"):
        fit_table(model(), table, narrow)
    with pytest.raises(InvalidDescription, match="none of the 2 classes"):
        fit_table(model(classes=("no", "yes")), table, SCHEMA)
    bounded = Schema(columns=SCHEMA.columns, target=BoundedTarget(name="d", low=0.0, high=1.0))
    with pytest.raises(InvalidDescription, match="column 'd'"):
        fit_table(model(), table, bounded)


def test_a_file_that_changes_stops_the_fit(table, monkeypatch):
    ready = model()._finish

    def other(prepared):
        monkeypatch.setattr("wane.tables.source.BLOCK_ROWS", 250)
        return ready(prepared)

    made = model()
    monkeypatch.setattr(made, "_finish", other)
    with pytest.raises(InvalidDescription, match="must not change"):
        fit_table(made, table, SCHEMA)


def test_a_file_with_as_many_other_rows_stops_the_fit(table, monkeypatch):
    """Rows were counted and not compared: one record could have taken the place of all."""
    made = model()
    ready = made._finish

    def other(prepared):
        found = parquet.read_table(table)
        same = pa.array([found["a"][0].as_py()] * len(found), found["a"].type)
        found = found.set_column(0, "a", same)
        parquet.write_table(found, table, row_group_size=900)
        return ready(prepared)

    monkeypatch.setattr(made, "_finish", other)
    with pytest.raises(InvalidDescription, match="data must not change during a fit"):
        fit_table(made, table, SCHEMA)


def test_row_groups(table, tmp_path):
    parts = parquet_parts(table, SCHEMA)
    assert [part.rows for part in parts] == [900, 900, 500]
    found = np.concatenate([read_part(part, SCHEMA).features for part in parts])
    np.testing.assert_array_equal(found, read_table(table, SCHEMA).features)
    assert parquet_bytes(table, SCHEMA) == ROWS * 3 * 8
    assert parquet_parts(tmp_path, SCHEMA) == parts
    words = tmp_path / "words.csv"
    words.write_text("a,b,c,target\n1,2,3,0\n")
    assert parquet_bytes(words, SCHEMA) is None
    with pytest.raises(InvalidDescription, match="must be a Parquet file"):
        parquet_parts(words, SCHEMA)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidDescription, match="must hold Parquet files"):
        parquet_parts(tmp_path / "empty", SCHEMA)


@pytest.mark.slow
def test_ten_million_rows_in_less_than_two_gigabytes(tmp_path):
    script = ROOT / "benchmarks" / "scale.py"
    done = subprocess.run(
        [sys.executable, script, "--rows", "10000000", "--passes", "1", "--folder", tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["rows"] == 10_000_000
    assert found["peak_bytes"] < 2 * 2**30
    assert found["epsilon"] <= 1.0
    assert "step" in done.stderr  # the bar
