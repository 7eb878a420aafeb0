"""What docs/choose.md says of batches, ridge and length is what the sweep shows."""

import csv
import importlib.util
from pathlib import Path

import pytest

import wane

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def rows():
    with (DOCS / "figures" / "sweep.csv").open(encoding="utf-8") as file:
        return [
            {name: text if name == "batches" else float(text) for name, text in row.items()}
            for row in csv.DictReader(file)
        ]


def test_rows_are_those_that_certifying_gives(rows):
    spec = importlib.util.spec_from_file_location("sweep", DOCS / "sweep.py")
    sweep = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sweep)
    assert len(rows) == 288
    kinds = {batches.kind: batches for batches in sweep.BATCHES}
    for row in rows[:: len(rows) // 12]:
        settings = (row[name] for name in ("ridge", "multiplier", "step_size"))
        run = sweep.described(kinds[row["batches"]], *settings, int(row["steps"]))
        epsilon = wane.certify(run).epsilon(sweep.DELTA)
        assert epsilon <= row["last_iterate"] <= epsilon * (1 + 1e-4)


def test_hidden_state_gains_where_the_page_says_so(rows):
    gains = [row | {"gain": row["composition"] / row["last_iterate"]} for row in rows]
    cyclic = [row["gain"] for row in gains if row["batches"] == "cyclic"]
    assert min(cyclic) >= 2.2 and 630 < max(cyclic) < 640
    bare = [row for row in gains if row["batches"] != "cyclic" and row["ridge"] == 0.0]
    assert bare and all(row["gain"] < 1.0001 for row in bare)
    most = [row for row in gains if row["ridge"] == 0.05 and row["steps"] == 100_000]
    assert all(row["gain"] > 20.0 for row in most)


def test_poisson_or_cyclic_is_decided_by_length_and_step_size_times_ridge(rows):
    settings = ("ridge", "multiplier", "step_size", "steps")

    def epsilons(kind):
        found = [row for row in rows if row["batches"] == kind]
        return {tuple(row[n] for n in settings): row["last_iterate"] for row in found}

    poisson, cyclic = epsilons("poisson"), epsilons("cyclic")
    for (ridge, multiplier, rate, steps), epsilon in poisson.items():
        other = cyclic[ridge, multiplier, rate, steps]
        if ridge * rate >= 0.04 or steps == 100:
            assert epsilon < other
        elif ridge * rate <= 0.01 and steps >= 10_000:
            assert epsilon > other


def test_the_table_of_the_page_is_in_the_file(rows):
    page = (DOCS / "choose.md").read_text(encoding="utf-8")
    for kind, name in (("cyclic", "cyclic"), ("poisson", "Poisson"), ("full", "full")):
        for ridge, words in ((0.0, "no ridge"), (0.05, "ridge 0.05")):
            (line,) = [
                one
                for one in page.splitlines()
                if one.startswith(f"| {name},") and one.split("|")[1].strip().endswith(words)
            ]
            told = [cell.split(" / ") for cell in line.split("|")[2:-1]]
            found = [
                row
                for row in rows
                if (row["batches"], row["ridge"], row["multiplier"], row["step_size"])
                == (kind, ridge, 3.0, 1.0)
            ]
            for (hidden, composed), row in zip(told, found, strict=True):
                assert row["last_iterate"] <= float(hidden) <= row["last_iterate"] * 1.02
                assert row["composition"] <= float(composed) <= row["composition"] * 1.02
