"""What reads a table tells its columns' types from all cells: one record must not move others."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from wane.errors import InvalidDescription
from wane.tables import (
    BooleanColumn,
    BoundedTarget,
    CategoricalColumn,
    Column,
    Indicate,
    NumericColumn,
    Schema,
    read_frame,
)
from wane.tables.frames import frame_block

NUMBER = NumericColumn(name="x", low=-10_000.0, high=10_000.0, missing=Indicate())
CODES = ("", "-", "NA", "-9999")


def words(*categories: str) -> CategoricalColumn:
    return CategoricalColumn(name="x", categories=categories, missing=Indicate())


def from_csv(cells: list[str]) -> pd.DataFrame:
    rows = "\n".join(f"{cell},0.5" for cell in cells)
    return pd.read_csv(io.StringIO(f"x,y\n{rows}\n"))


def from_json(cells: list[object]) -> pd.DataFrame:
    rows = json.dumps([{"x": cell, "y": 0.5} for cell in cells])
    return pd.read_json(io.StringIO(rows))


def read(frame: pd.DataFrame, column: Column) -> np.ndarray:
    schema = Schema(
        columns=(column,),
        target=BoundedTarget(name="y", low=0.0, high=1.0),
        feature_norm=10.0,
        missing_words=CODES,
    )
    return read_frame(frame, schema).features


@pytest.mark.parametrize(
    ("column", "cells", "other"),
    [
        (NUMBER, ["1", "-9999", "-9999.0", "5"], "-"),
        (words("2", "5"), ["2", "-9999", "-9999", "5"], "other"),
        (words("01", "02"), ["01", "02", "01", "02"], "other"),
        (words("1.50", "2.25"), ["1.50", "2.25", "2.25", "1.50"], "other"),
        (words("1e3", "+2"), ["1e3", "+2", "1e3", "+2"], "other"),
        (words("true", "false"), ["TRUE", "FALSE", "TRUE", "FALSE"], "other"),
        (words("007", "12"), ["007", "12", "12", "007"], ""),
    ],
)
def test_one_cell_of_text_moves_one_record(column: Column, cells: list[str], other: str) -> None:
    """A word beside numbers makes the column text: codes and categories of all others changed."""
    before, changed = from_csv(cells), from_csv([*cells[:-1], other])
    assert before.x.dtype != changed.x.dtype  # what makes the others read otherwise
    features, after = read(before, column), read(changed, column)
    assert np.array_equal(features[:-1], after[:-1])
    assert np.abs(features).max(axis=1).min() > 0.0  # every cell is a known one
    assert not np.array_equal(features[-1], after[-1])


@pytest.mark.parametrize(
    "column", [words("true", "false"), words("1", "0"), BooleanColumn(name="x")]
)
def test_booleans_beside_a_missing_one_are_read_as_booleans(column: Column) -> None:
    """A missing cell makes true 1.0 in JSON: no other record may lose its category."""
    before, changed = from_json([True, False, True]), from_json([True, False, None])
    assert (before.x.dtype, changed.x.dtype) == (bool, float)
    assert np.array_equal(read(before, column)[:-1], read(changed, column)[:-1])
    assert read(before, column).any()


@pytest.mark.parametrize("pair", [("1", "01"), ("1.5", "1.50"), ("true", "1"), ("True", "true")])
def test_words_with_one_number_need_a_column_of_text(pair: tuple[str, str]) -> None:
    column = words(*pair)
    with pytest.raises(InvalidDescription, match="must hold text"):
        read(from_csv([pair[0], pair[0]]), column)
    found = read(from_csv([*pair, "other"]), column)
    assert found[:, :2].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]


def test_typed_and_written_cells_agree() -> None:
    """Whatever the column became, a cell has the features it has among text."""
    pool = ["0", "1", "01", "1.0", "1.50", "-0", "+2", "2e0", "1000", "True", "0.10", ".5", "inf"]
    generator, compared = np.random.default_rng(3), 0
    for _ in range(300):
        cells = [str(cell) for cell in generator.choice(pool, 4)]
        category = words(*dict.fromkeys(str(cell) for cell in generator.choice(pool, 3)))
        typed, text = from_csv(cells), pd.DataFrame({"x": cells, "y": 0.5})
        try:
            features = read(typed, category)
        except InvalidDescription as error:
            assert "must hold text" in str(error)
            continue
        compared += 1
        assert np.array_equal(features, read(text, category))
    assert compared > 50


@pytest.mark.parametrize("cells", [[2**64, None], ["a", 10**25], [True, "x", 10**25], [1, 2j]])
def test_cells_that_no_column_holds_are_refused_in_words(cells: list[object]) -> None:
    """They ended in a bare TypeError or OverflowError, which depends on the data."""
    with pytest.raises(InvalidDescription, match="columns that Arrow knows"):
        frame_block(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), ("x",))
