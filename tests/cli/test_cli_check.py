"""`wane check`: what the holder is told, and that nothing else is written."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wane.cli import main

SCHEMA = """
feature_norm = 1.0
[target]
name = "y"
classes = ["Yes", "No"]
[columns.age]
type = "numeric"
low = 20
high = 60
[columns.sex]
type = "categorical"
categories = ["F", "M"]
[columns.member]
type = "boolean"
"""

ROWS = """\
age,sex,member,y
20,F,true,Yes
25,f,no,No
NA,m,perhaps,no
70,X,1,Yes
"""


@pytest.fixture
def asked(tmp_path, capsys):
    def ask(text=ROWS, schema=SCHEMA, name="people.csv"):
        (tmp_path / "schema.toml").write_text(schema)
        if name.endswith(".csv"):
            (tmp_path / name).write_text(text)
        before = sorted(tmp_path.iterdir())
        status = main(
            ["check", str(tmp_path / name), "--schema", str(tmp_path / "schema.toml"), "--json"]
        )
        assert sorted(tmp_path.iterdir()) == before
        printed = capsys.readouterr()
        return status, json.loads(printed.out) if status == 0 else printed.err

    return ask


def test_shares_of_what_the_schema_does_not_foresee(asked):
    status, made = asked()
    assert status == 0
    assert made["rows"] == 4
    assert "holder of the data only" in made["not_private"]
    age, sex = made["columns"]["age"], made["columns"]["sex"]
    assert (age["missing"], age["clipped"], age["unknown"]) == (0.25, 0.25, 0.0)
    assert age["bounds_equal_extremes"] == 1
    assert (sex["unknown"], sex["unknown_by_case"]) == (0.75, 0.5)
    assert made["columns"]["member"]["unknown"] == 0.25
    assert made["columns"]["y"]["unknown_by_case"] == 0.25
    assert made["rows_shortened"] is None  # a cell that fit would refuse


def test_rows_longer_than_the_norm_are_counted(asked):
    text = ROWS.replace("perhaps", "no")
    assert asked(text)[1]["rows_shortened"] == 0.5
    assert (
        asked(text, SCHEMA.replace("feature_norm = 1.0", "feature_norm = 9.0"))[1]["rows_shortened"]
        == 0.0
    )


def test_bounds_that_equal_both_extremes_are_told(asked):
    made = asked(ROWS.replace("70", "60"))[1]
    assert made["columns"]["age"]["bounds_equal_extremes"] == 2


def test_text_among_numbers_is_counted_and_not_refused(asked):
    made = asked(ROWS.replace("25,f", "old,f"))[1]
    assert made["columns"]["age"]["unknown"] == 0.25
    assert made["columns"]["age"]["missing"] == 0.25


def test_parquet_tells_the_same(asked, tmp_path):
    columns = {
        "age": [20.0, 25.0, None, 70.0],
        "sex": ["F", "f", "m", "X"],
        "member": [True, False, True, True],
        "y": ["Yes", "No", "no", "Yes"],
    }
    pq.write_table(pa.table(columns), tmp_path / "people.parquet")
    made = asked(name="people.parquet")[1]
    plain = asked(ROWS.replace("perhaps", "yes"))[1]
    assert made == plain


def test_the_text_says_whom_it_is_for(tmp_path, capsys):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "people.csv").write_text(ROWS)
    assert main(["check", str(tmp_path / "people.csv"), "--schema", f"{tmp_path}/schema.toml"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("For the holder of the data only")
    assert "upper and lower case" in text
    assert "1 of 2 bounds equal" in text


def test_a_table_without_rows_or_columns_is_refused(asked):
    assert asked("age,sex,member,y\n")[0] == 2
    assert asked("a,b\n1,2\n")[0] == 2
