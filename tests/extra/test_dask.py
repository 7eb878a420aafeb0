"""Fits on a real Dask cluster: equal to those in memory, whatever happens to a worker."""

import logging
import os
import signal

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask.sizeof import sizeof
from distributed import Client, LocalCluster
from pyarrow import parquet

from wane.describe import Cyclic, FullBatch, Poisson, ShuffledOnce
from wane.errors import InvalidDescription
from wane.extra import dask as wane_dask
from wane.extra.dask import fit, fit_table
from wane.learn import (
    FROM_DATA,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMultiOutputRegression,
    PrivateRidge,
)
from wane.run import LinearSums, links
from wane.tables import ClassTarget, NumericColumn, Schema, read_table

ROWS, COLUMNS = 3000, 4
CLOSE = {"rtol": 1e-6, "atol": 1e-8}  # the reserve for rounding, and the order of summation


@pytest.fixture(autouse=True)
def finer_release(monkeypatch):
    """Releases are rounded to a coarse grid, which would hide differences, or enlarge them."""
    monkeypatch.setattr("wane.run.safeguards.FINER", 45)


@pytest.fixture(scope="module")
def here():
    """A cluster in this process: quick to start."""
    with (
        LocalCluster(processes=False, dashboard_address=":0", n_workers=2) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((ROWS, COLUMNS))
    return X, (X[:, 0] > 0.3 * generator.standard_normal(ROWS)).astype(int)


def model(**changes):
    settings = {"steps": 12, "seed_voids_privacy": 5, "feature_norm": 2.0}
    return PrivateLogisticRegression(classes=[0, 1], **(settings | changes))


def split(X, y, rows=700):
    """X also cut across columns, y into other parts: both must be put right."""
    return da.from_array(X, chunks=(rows, 3)), da.from_array(y, chunks=(450, *y.shape[1:]))


@pytest.mark.parametrize(
    "batches",
    [
        FullBatch(),
        Cyclic(400),
        ShuffledOnce(400),
        pytest.param(Poisson(400), marks=pytest.mark.slow),  # to calibrate
    ],
    ids=repr,
)
def test_arrays_give_the_model_of_memory(here, data, batches):
    alone, spread = model(batches=batches).fit(*data), fit(model(batches=batches), *split(*data))
    np.testing.assert_allclose(spread.coef_, alone.coef_, **CLOSE)
    np.testing.assert_allclose(spread.intercept_, alone.intercept_, **CLOSE)
    assert spread.run_ == alone.run_
    assert spread.certificate_ == alone.certificate_
    assert spread.n_features_in_ == COLUMNS


def test_other_losses(here, data):
    X, _ = data
    Y = X @ np.arange(8.0).reshape(COLUMNS, 2)
    common = {"target_bound": 9.0, "feature_norm": 2.0, "steps": 9, "seed_voids_privacy": 1}
    for kind, y in ((PrivateRidge, Y[:, 0]), (PrivateMultiOutputRegression, Y)):
        alone, spread = kind(**common).fit(X, y), fit(kind(**common), *split(X, y), client=here)
        np.testing.assert_allclose(spread.coef_, alone.coef_, **CLOSE)
        np.testing.assert_allclose(spread.predict(X), alone.predict(X), **CLOSE)


def test_data_frames_may_have_empty_partitions(here, data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd")).assign(target=y, place=np.arange(ROWS))
    spread = dd.from_pandas(frame, npartitions=5)
    spread = spread[spread.place > ROWS // 3]  # leaves the first partition without rows
    made = fit(model(), spread[list("abcd")], spread["target"])
    kept = frame[frame.place > ROWS // 3]
    alone = model().fit(kept[list("abcd")], kept["target"])
    np.testing.assert_allclose(made.coef_, alone.coef_, **CLOSE)
    assert made.feature_names_in_.tolist() == list("abcd")
    assert made.run_.records == len(kept)


def test_neither_workers_nor_timing_change_a_bit(here, data, monkeypatch):
    first = fit(model(), *split(*data))
    monkeypatch.setattr(wane_dask, "_homes", lambda client, n: sorted(client.nthreads())[:1] * n)
    np.testing.assert_array_equal(fit(model(), *split(*data)).coef_, first.coef_)


def test_dask_knows_the_size_of_a_part(data):
    """Or it would take parts for tiny, and move them between workers at each step."""
    assert sizeof(LinearSums(*data, links.Logistic(), feature_norm=2.0)) >= data[0].nbytes


def test_a_certificate_without_a_seed(here, data):
    made = fit(model(seed_voids_privacy=None), *split(*data))
    assert made.certificate_.epsilon(1e-5) <= 1.0
    assert not np.array_equal(made.coef_, fit(model(), *split(*data)).coef_)


# What is refused, and what a refusal tells

SECRET = 987_654.25


def spoiled_row(X, y):
    X[1234, 2] = np.nan
    return X, y


def spoiled_label(X, y):
    return X, np.where(np.arange(ROWS) == 2000, SECRET, y.astype(float))


def spoiled_text(X, y):
    X = X.astype(object)
    X[1234, 2] = f"<{SECRET}>"
    return X, y


@pytest.mark.parametrize("spoil", [spoiled_row, spoiled_label, spoiled_text])
def test_bad_rows_are_refused_before_noise_and_not_shown(here, data, spoil, monkeypatch, caplog):
    def no_noise(seed):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("wane.learn.base.generator", no_noise)
    with caplog.at_level(logging.DEBUG), pytest.raises(InvalidDescription) as refused:
        fit(model(), *split(*spoil(*data)))
    assert str(SECRET) not in str(refused.value) + caplog.text
    assert "Compute Failed" not in caplog.text  # Dask would log the arguments


def test_wrong_requests_are_refused(here, data):
    X, y = split(*data)
    with pytest.raises(InvalidDescription, match="Dask array or data frame"):
        fit(model(), *data)
    with pytest.raises(InvalidDescription, match="must be declared for rows in parts"):
        fit(model(feature_bounds=FROM_DATA), X, y)
    with pytest.raises(InvalidDescription, match="private linear model"):
        fit(PrivateMean(feature_norm=1.0), X, y)
    with pytest.raises(InvalidDescription, match="partitions of X"):
        frame = dd.from_pandas(pd.DataFrame(data[0]), npartitions=3)
        fit(model(), frame, dd.from_pandas(pd.Series(data[1]), npartitions=2))
    with pytest.raises(InvalidDescription, match="at least one row"):
        fit(model(), X[:0], y[:0])


def test_workers_get_no_seed_no_start_and_no_account():
    reader = wane_dask.Reader.of(model(warm_start=np.ones(COLUMNS + 1), progress=True))
    assert not {"seed_voids_privacy", "warm_start", "progress", "account"} & set(reader.arguments)


# Parquet

SCHEMA = Schema(
    columns=tuple(NumericColumn(name=name, low=-3.0, high=3.0) for name in "abcd"),
    target=ClassTarget(name="target", classes=("0", "1")),
    feature_norm=2.0,
)


@pytest.fixture
def folder(tmp_path, data):
    """Two files of several row groups each."""
    frame = pd.DataFrame(data[0], columns=list("abcd")).assign(target=data[1])
    for name, rows in (("1.parquet", frame[:1700]), ("2.parquet", frame[1700:])):
        table = pa.Table.from_pandas(rows, preserve_index=False)
        parquet.write_table(table, tmp_path / name, row_group_size=600)
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "all.table", row_group_size=600)
    return tmp_path


@pytest.mark.parametrize("keep", [True, False])
def test_parquet_row_groups(here, folder, keep):
    made = fit_table(model(batches=Cyclic(1000)), folder, SCHEMA, keep=keep)
    table = read_table(folder / "all.table", SCHEMA)
    alone = model(batches=Cyclic(1000)).fit(table.features, table.targets)
    np.testing.assert_allclose(made.coef_, alone.coef_, **CLOSE)
    assert made.certificate_ == alone.certificate_


@pytest.mark.parametrize("keep", [True, False])
def test_an_unknown_class_in_a_file(here, folder, keep, caplog):
    narrow = Schema(columns=SCHEMA.columns, target=ClassTarget(name="target", classes=("1", "2")))
    with pytest.raises(InvalidDescription, match="declared classes"):
        fit_table(model(), folder, narrow, keep=keep)
    assert "Compute Failed" not in caplog.text


# A worker that is killed


@pytest.fixture
def processes():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "10s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


class Killer:
    """Calls a client's gather, and kills a worker just before one of the calls."""

    def __init__(self, client, call):
        self.gather, self.call, self.calls = client.gather, call, 0
        self.victim = next(iter(client.run(os.getpid).values()))

    def __call__(self, futures):
        self.calls += 1
        if self.calls == self.call:  # the step's tasks are with the workers
            os.kill(self.victim, signal.SIGKILL)
        return self.gather(futures)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
def test_a_killed_worker_changes_nothing(processes, folder, keep, monkeypatch):
    settings = {"steps": 14, "batches": FullBatch()}
    undisturbed = fit_table(model(**settings), folder, SCHEMA, keep=keep, client=processes)
    killer = Killer(processes, call=7)
    with monkeypatch.context() as patch:
        patch.setattr(processes, "gather", killer)
        made = fit_table(model(**settings), folder, SCHEMA, keep=keep, client=processes)
    assert killer.calls == 15  # the facts, and one for each step
    assert killer.victim not in processes.run(os.getpid).values()
    np.testing.assert_array_equal(made.coef_, undisturbed.coef_)
    np.testing.assert_array_equal(made.intercept_, undisturbed.intercept_)
    assert made.certificate_ == undisturbed.certificate_


@pytest.mark.slow
def test_a_killed_worker_with_arrays_in_its_memory(processes, data, monkeypatch):
    undisturbed = fit(model(), *split(*data), client=processes)
    killer = Killer(processes, call=5)
    with monkeypatch.context() as patch:
        patch.setattr(processes, "gather", killer)
        made = fit(model(), *split(*data), client=processes)
    np.testing.assert_array_equal(made.coef_, undisturbed.coef_)
    assert made.certificate_ == undisturbed.certificate_


# Rows that change while a fit is under way


class Swapping:
    """Calls a client's gather, and changes the data just before one of the calls."""

    def __init__(self, client, call, change):
        self.gather, self.call, self.calls, self.change = client.gather, call, 0, change

    def __call__(self, futures):
        self.calls += 1
        if self.calls == self.call:
            self.change()
        return self.gather(futures)


def written(path, rows):
    """A table of so many rows in one file, in row groups of a thousand."""
    chance = np.random.default_rng(rows)
    X = chance.standard_normal((rows, COLUMNS))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(target=(X[:, 0] > 0).astype(int))
    part = path.with_suffix(".part")
    parquet.write_table(
        pa.Table.from_pandas(frame, preserve_index=False), part, row_group_size=1000
    )
    part.replace(path)


@pytest.mark.parametrize("rows", [4, 4000])
def test_a_file_that_is_swapped_during_a_fit_is_noticed(here, tmp_path, monkeypatch, rows):
    """From 4,000 rows to 4 was accepted, and one row then counted a thousand times."""
    path = tmp_path / "table.parquet"
    written(path, 4001)
    swapping = Swapping(here, 4, lambda: written(path, rows))
    monkeypatch.setattr(here, "gather", swapping)
    with pytest.raises(InvalidDescription):
        fit_table(model(steps=9), path, SCHEMA, keep=False, client=here)
    assert 4 <= swapping.calls < 10


@pytest.mark.slow
def test_a_killed_worker_whose_rows_come_back_changed_ends_the_fit(
    processes, data, tmp_path, monkeypatch
):
    """One person's row filled two of four partitions, and epsilon 1 was certified."""
    X, y = (half[:2000] for half in data)
    place = str(tmp_path)

    def rows(part):
        from pathlib import Path

        seen = Path(place) / str(part)
        found = X[500 * part : 500 * (part + 1)] if not seen.exists() else np.repeat(X[:1], 500, 0)
        seen.touch()
        return found

    lazy = [da.from_delayed(dask.delayed(rows)(p), (500, COLUMNS), float) for p in range(4)]
    killer = Killer(processes, call=5)
    monkeypatch.setattr(processes, "gather", killer)
    with pytest.raises(InvalidDescription, match="data must not change during a fit"):
        fit(
            model(steps=12, batches=FullBatch()),
            da.concatenate(lazy),
            da.from_array(y, chunks=500),
            client=processes,
        )
    assert 5 <= killer.calls < 13
