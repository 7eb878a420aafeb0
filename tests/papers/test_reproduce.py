"""`wane reproduce` writes the papers' numbers."""

import csv
import json

import pytest
from vectors import TEN_DIGITS, load

from wane.cli import main


def read(path) -> list[dict[str, float]]:
    with path.open() as stream:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(stream)]


def test_figure_one_of_the_modulus_paper(tmp_path, capsys):
    assert main(["reproduce", "modulus-figure-1", "--out", str(tmp_path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["written"]) == 2
    rows = read(tmp_path / "modulus-figure-1.csv")
    got = {(round(r["step_size"], 6), r["exponent"]): r["steps"] for r in rows}
    cases = load("modulus")["figure1_2Tbar_plus_V"]
    assert len(cases) == len(got) == 60
    for case in cases:
        key = (round(case["eta"], 6), float(case["p"]))
        assert got[key] == pytest.approx(case["value"][2], rel=TEN_DIGITS)


def test_unknown_figures_are_refused(tmp_path, capsys):
    assert main(["reproduce", "figure-nine", "--out", str(tmp_path)]) == 2
    assert "modulus-figure-1" in capsys.readouterr().err
