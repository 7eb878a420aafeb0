"""One table in two formats is one table; what is copied from one to another is only text."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa
from pyarrow import parquet

from trust.tables import SCHEMA, write_table
from wane.cli import main
from wane.tables import Schema, cell_text, read_table

COLUMNS = {
    "flag": [True, False, True, None],
    "level": [1.0, 2.0, 3.0, None],
    "number": [True, False, True, True],
    "share": [1.5, 2.5, 1.5, 2.5],
    "y": [0.5, 0.25, 0.0, 1.0],
}


def schema(**categories):
    return Schema.from_fields(
        {
            "target": {"name": "y", "low": 0, "high": 1},
            "columns": {
                "flag": {"type": "categorical", "categories": categories["flag"]},
                "level": {"type": "categorical", "categories": categories["level"]},
                "number": {"type": "numeric", "low": 0, "high": 1},
                "share": {"type": "categorical", "categories": ["1.5", "2.5"]},
            },
        }
    )


@pytest.mark.parametrize("flag", [["true", "false"], ["True", "False"], [True, False]])
@pytest.mark.parametrize("level", [["1", "2", "3"], ["1.0", "2.0", "3.0"], [1, 2, 3]])
@pytest.mark.parametrize("truth", ["True", "true", "TRUE"])
def test_booleans_and_whole_numbers_are_the_same_in_both_formats(tmp_path, flag, level, truth):
    """CSV and Parquet of one table gave other features."""
    parquet.write_table(pa.table(COLUMNS), tmp_path / "t.parquet")
    words = {True: truth, False: {"True": "False", "true": "false", "TRUE": "FALSE"}[truth]}
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in zip(*COLUMNS.values(), strict=True):
            plain = ["" if c is None else words[c] if isinstance(c, bool) else c for c in row]
            writer.writerow(plain)
    described = schema(flag=flag, level=level)
    one = read_table(tmp_path / "t.csv", described)
    other = read_table(tmp_path / "t.parquet", described)
    assert np.array_equal(one.features, other.features)
    assert np.array_equal(one.targets, other.targets)
    assert one.features[:, :2].sum() > 0 and one.features[:, 2:5].sum() > 0


def test_words_that_differ_only_so_are_told_apart_exactly(tmp_path):
    (tmp_path / "t.csv").write_text("flag,level,number,share,y\nTrue,1.0,1,1.5,0\ntrue,1,1,1.5,0\n")
    described = schema(flag=["True", "true"], level=["1.0", "1"])
    found = read_table(tmp_path / "t.csv", described).features > 0
    assert found[:, :2].tolist() == [[True, False], [False, True]]
    assert found[:, 2:4].tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("cell", ["=1+1", "@SUM(A1)", "+cmd", "-x", "\tx"])
def test_text_that_a_spreadsheet_would_run_is_quoted(cell):
    assert cell_text(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-5", "+1.5e3", "plain", 3, -2.5, None])
def test_all_else_is_copied(cell):
    assert cell_text(cell) == cell


TABLE = "id,a,label\n" + "".join(f"=p{i},{i % 7},{'yes' if i % 3 else 'no'}\n" for i in range(400))


@pytest.fixture
def place(tmp_path):
    return write_table(tmp_path, TABLE, SCHEMA)


def fit_words(place, data, out):
    words = ["fit", data, "--schema", place / "schema.toml", "--model", "logistic"]
    words += ["--epsilon", 8, "--delta", "1e-5", "--adjacency", "zero-out", "--out", out]
    return [str(word) for word in words]


def test_an_identifier_is_kept_beside_the_predictions(place):
    assert main(fit_words(place, place / "data.csv", place / "out")) == 0
    words = ["predict", place / "out", place / "data.csv", "--out", place / "p.csv", "--keep", "id"]
    assert main([str(word) for word in words]) == 0
    with (place / "p.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:2] == ["id", "label"] and len(rows) == 401
    assert rows[1][0] == "'=p0" and rows[400][0] == "'=p399"
    assert main([*map(str, words[:-1]), "nobody", "--force"]) == 2


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no such device here")
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_table_through_a_pipe(place, name):
    done = subprocess.run(
        [sys.executable, "-m", "wane", *fit_words(place, name, place / "out")],
        input=TABLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (place / "out" / "model.npz").exists()


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="no bash here")
def test_a_table_that_a_process_writes(place):
    words = " ".join(fit_words(place, "DATA", place / "out"))
    words = words.replace("DATA", f"<(cat {place / 'data.csv'})")
    done = subprocess.run(
        ["/bin/bash", "-c", f"{sys.executable} -m wane {words}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
