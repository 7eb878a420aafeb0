"""The tightness table: no certified epsilon below an exact member, none above a sound bound."""

import csv
import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import wane
from wane.theorems.registry import THEOREMS

ROOT = Path(wane.__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are not installed

from benchmarks.tightness import CONFIGURATIONS, published  # noqa: E402
from benchmarks.tightness.composition import ACCOUNTANTS, Answers, told  # noqa: E402
from benchmarks.tightness.configurations import LONG, SHORT  # noqa: E402
from benchmarks.tightness.rows import COLUMNS, DELTAS, KEYS, rows_of  # noqa: E402

ROUNDING = 1e-9
GRIDS = 1e-3
"""Numerical accountants differ in their grids; wane's own margin is smaller."""
LOSSES = (
    "strongly convex",
    "convex bounded",
    "clipped GLM",
    "clipped",
    "weakly smooth",
    "nonsmooth",
    "nonconvex",
)
BATCHES = ("full", "cyclic", "poisson", "without-replacement")
NAMED = {made.name: made for made in CONFIGURATIONS}


def number(cell):
    return float(cell) if cell else None


def committed():
    with (ROOT / "docs/benchmarks/tightness.csv").open() as file:
        return list(csv.DictReader(file))


def holds(lower, epsilon, sound, slack):
    """lower <= epsilon <= every sound bound, and no sound bound below lower."""
    known = [value for value in sound if value is not None]
    if lower is not None:
        assert lower <= epsilon
        assert all(lower <= value * (1 + slack) for value in known)
    assert all(epsilon <= value * (1 + slack) for value in known)


def test_the_set_is_large_and_covers_every_regime():
    assert len(CONFIGURATIONS) >= 40
    assert len(NAMED) == len(CONFIGURATIONS)
    found = {(made.loss, made.batches, made.length) for made in CONFIGURATIONS}
    assert found >= set(itertools.product(LOSSES, BATCHES, (SHORT, LONG)))


def test_the_committed_table_is_whole_and_in_order():
    rows = committed()
    assert list(rows[0]) == list(COLUMNS)
    expected = {(name, f"{delta:g}") for name in NAMED for delta in DELTAS}
    assert {(row["configuration"], row["delta"]) for row in rows} == expected
    assert len(rows) == len(expected)
    names = {analysis.name for analysis in THEOREMS}
    for row in rows:
        lower, epsilon = number(row["lower bound"]), float(row["wane"])
        holds(lower, epsilon, [number(row[key]) for key in KEYS], ROUNDING)
        holds(lower, epsilon, [number(row[name]) for name in ACCOUNTANTS], GRIDS)
        assert row["theorem"] in names


def test_every_column_and_most_lower_bounds_are_filled():
    rows = committed()
    for name in (*ACCOUNTANTS, *KEYS):
        assert any(row[name] for row in rows), name
    for row in rows:
        assert any(row[name] for name in ACCOUNTANTS), row["configuration"]
    assert sum(bool(row["lower bound"]) for row in rows) >= 0.9 * len(rows)


def today(made):
    table = {(row["configuration"], row["delta"]): row for row in committed()}
    for row in rows_of(made, Answers({}, ())):
        holds(row.lower, row.wane, row.published.values(), ROUNDING)
        kept = table[made.name, f"{row.delta:g}"]
        assert row.wane == pytest.approx(float(kept["wane"]), rel=1e-6)
        assert row.theorem == kept["theorem"]
        for key in KEYS:
            assert (row.published[key] is None) == (kept[key] == "")


@pytest.mark.parametrize("made", CONFIGURATIONS[::12], ids=lambda made: made.name)
def test_some_rows_are_todays(made):
    today(made)


@pytest.mark.slow
@pytest.mark.parametrize("made", CONFIGURATIONS, ids=lambda made: made.name)
def test_all_rows_are_todays(made):
    today(made)


# ---- the published bounds, against numbers known from elsewhere --------------------------------


def test_distances_fade_as_in_the_reference_values():
    """Values of cor37_harmonic, cor38 and cor39_sum, worked out in many digits."""
    assert published.faded(1.0, 1.0, 0.04, 10)[-1] == pytest.approx(0.2171587302, rel=1e-9)
    assert published.faded(1.0, 1.5, 0.0, 10)[-1] == pytest.approx(0.5088237829, rel=1e-9)
    assert published.faded(1.0, 0.91, 0.2, 10)[-1] == pytest.approx(0.5812864937, rel=1e-9)
    assert math.isfinite(published.faded(1.0, 4.0, 0.0, 100_000)[-1])


def test_the_published_numbers_of_bok_and_others_come_back():
    run = NAMED["cyclic, strongly convex, 60000 records, long"].run
    assert published.bok(run).mu == pytest.approx(0.9925, abs=5e-5)
    assert published.bok(run).epsilon(1e-5) == pytest.approx(4.34, abs=5e-3)


def test_the_recursion_of_ye_and_shokri_by_hand():
    """Two batches, three steps, c = 1: the record is used first and last."""
    run = replace(NAMED["cyclic, convex, long"].run, batches=wane.Cyclic(500), steps=3)
    one = 0.5 * published.one_use(run) ** 2
    # after the first step V = 1, in units of the noise: the second halves what the first left
    assert published.ye(run).renyi(2.0) == pytest.approx(2.0 * (one / 2.0 + one), rel=1e-12)


def test_bounds_stay_silent_where_their_hypotheses_fail():
    clipped = NAMED["cyclic, clipped, long"].run
    assert published.bok(clipped) is None and published.feldman(clipped) is None
    assert published.altschuler(NAMED["Poisson, convex bounded, long"].run) is None
    assert published.bravo(NAMED["Poisson, nonsmooth, long"].run) is None
    assert published.chourasia(NAMED["full, convex, long"].run) is None
    on_the_set_only = replace(
        NAMED["full, weakly smooth, long"].run.objective, holder_everywhere=False
    )
    run = replace(NAMED["full, weakly smooth, long"].run, objective=on_the_set_only)
    assert published.bravo(run).epsilon(1e-5) > 2.0 * published.bravo(
        NAMED["full, weakly smooth, long"].run
    ).epsilon(1e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cyclic, convex, long", ("gaussian", 2.0, "add-remove", 1.0, 100)),
        ("cyclic, convex, zero-out, long", ("gaussian", 4.0, "add-remove", 1.0, 100)),
        ("Poisson, clipped, long", ("poisson", 2.0, "replace-one", 0.05, 2000)),
        ("Poisson, convex, zero-out, long", ("poisson", 2.0, "add-remove", 0.05, 2000)),
        ("without replacement, clipped, long",
         ("without-replacement", 1.0, "replace-one", 0.05, 2000)),
    ],
)  # fmt: skip
def test_peers_are_told_noise_over_what_one_record_moves(name, expected):
    said = dict(told(NAMED[name].run))
    kind, multiplier, relation, rate, steps = expected
    assert (said["mechanism"], said["relation"], said["steps"]) == (kind, relation, steps)
    assert said["multiplier"] == pytest.approx(multiplier)
    assert said["rate"] == pytest.approx(rate)
