"""The benchmark pages of throughput, sampling and scale, in their quick form: tables, not times."""

import csv
import math
import subprocess
import sys
from pathlib import Path

import pytest

import wane

ROOT = Path(wane.__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are not installed

from benchmarks import environments, sampling_page, scale_page, throughput  # noqa: E402
from benchmarks.report import Page, Table, write  # noqa: E402

PAGES = {
    "throughput": (
        throughput.page,
        {"throughput-roofline": throughput.ROOFLINE, "throughput-growth": throughput.GROWTH},
    ),
    "sampling": (
        sampling_page.page,
        {
            "sampling-certified": sampling_page.CERTIFIED,
            "sampling-draws": sampling_page.ESS,
            "sampling-cost": sampling_page.COST,
        },
    ),
    "scale": (
        scale_page.page,
        {"scale-table": scale_page.COLUMNS, "scale-step": scale_page.STEP},
    ),
}
TIMES = ("seconds", "over_wane", "over_one_process", "share_of", "per_second")
AN_HOUR = 3600.0


@pytest.fixture(scope="module")
def no_installing():
    """Peers that are not installed yet stay so; the pages must report them."""

    def refuse(*command: str) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="not installed in tests")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environments, "_run", refuse)
        yield


@pytest.fixture(scope="module", params=list(PAGES))
def made(request, no_installing) -> tuple[Page, dict[str, tuple[str, ...]]]:
    page, tables = PAGES[request.param]
    return page(True), tables


def by_column(table: Table) -> list[dict[str, object]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.mark.slow
def test_tables_have_their_columns_and_are_written_whole(made, tmp_path: Path):
    page, tables = made
    assert {table.name: table.columns for table in page.tables} == tables
    write(page, tmp_path, "a test")
    for table in page.tables:
        with (tmp_path / f"{table.name}.csv").open(newline="") as file:
            lines = list(csv.reader(file))
        assert tuple(lines[0]) == table.columns
        assert len(lines) == 1 + len(table.rows) > 1
    assert all((tmp_path / f"{plot.name}.svg").stat().st_size for plot in page.plots)
    assert (tmp_path / f"{page.name}.md").read_text().startswith(f"# {page.title}")


@pytest.mark.slow
def test_times_and_ratios_are_sensible(made):
    page, _ = made
    for table in page.tables:
        for row in by_column(table):
            for name, value in row.items():
                if any(word in name for word in TIMES) and value is not None:
                    assert 0.0 < value < math.inf, (table.name, name, value)
                if "seconds" in name and value is not None and row.get("how") != "extrapolated":
                    assert value < AN_HOUR, (table.name, name, value)
                if name.endswith("_low") and value is not None:
                    assert value <= row[name.removesuffix("low") + "high"]


@pytest.mark.slow
def test_what_is_missing_is_said(made):
    """A peer without numbers has a note; without a note it has numbers."""
    page, _ = made
    for table in page.tables:
        if "note" not in table.columns:
            continue
        watched = {
            "throughput-growth": "over_wane",
            "sampling-certified": "blackjax_over_wane",
            "sampling-draws": "draws_per_second",
        }[table.name]
        for row in by_column(table):
            assert (row[watched] is None) == bool(row["note"])


@pytest.mark.slow
def test_what_the_pages_claim_beyond_time(made):
    """Certificates hold, extrapolations are marked, no step sends less than it must, nor rows."""
    page, _ = made
    for table in page.tables:
        for row in by_column(table):
            if table.name == "sampling-certified":
                assert row["distance_reached"] <= row["distance"]
                assert row["steps_planned"] >= row["steps_needed"]
            if table.name == "scale-table":
                assert (row["rows"] == scale_page.FURTHER) == (row["how"] == "extrapolated")
                if row["least_bytes_per_step"] is not None:
                    one_column = 8 * row["rows"]  # of the table, which must stay where it is
                    sent = row["bytes_on_the_wire_per_step"]
                    assert row["least_bytes_per_step"] <= sent < one_column
                    # the line is not continued below the least
                    assert row["how"] == "extrapolated" or row["least_bytes_per_step"] < sent


def test_a_line_is_continued_and_never_falls():
    def row(rows: int, seconds: float, where: str) -> dict[str, object]:
        known = {"rows": rows, "where": where, "columns": 10, "workers": 0}
        known["bytes_on_the_wire_per_step"] = 5000.0
        return {**dict.fromkeys(scale_page.COLUMNS), **known, "seconds_per_step": seconds}

    rows = [
        row(size, seconds, mode.words)
        for mode in scale_page.scale.MODES.values()
        for size, seconds in ((10**5, 9.0), (10**6, 1.0), (10**7, 1.0 if mode.dask else 10.0))
    ]
    further = {r["where"]: r for r in scale_page.extrapolated(rows, 10**8)}
    for mode in scale_page.scale.MODES.values():
        found = further[mode.words]
        assert found["how"] == "extrapolated"
        assert found["seconds_per_step"] == pytest.approx(1.0 if mode.dask else 100.0)
        if mode.dask:
            assert found["dask_over_one_process"] == pytest.approx(0.01)
            assert found["bytes_on_the_wire_per_step"] == found["least_bytes_per_step"] > 5000.0


def test_rounds_take_turns():
    order: list[str] = []
    works = {name: lambda name=name: order.append(name) for name in "ab"}
    found = throughput.interleaved(works, 2)
    assert order == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 2, "b": 2}
    assert throughput.ratio([2.0, 9.0, 4.0], [1.0, 3.0, 4.0]) == throughput.Spread(1.5, 2.0, 2.5)
