"""One missing cell makes a column of whole numbers one of doubles: others must read the same."""

import math

import pandas as pd
import pyarrow as pa
import pytest

from wane.describe import Adjacency
from wane.errors import InvalidDescription
from wane.statistics import Counts
from wane.statistics.publishing import _computed
from wane.tables.encode import Cells
from wane.tables.schema import Schema

CODES = (2, -7, 0, 10_000_000, 123_456_789_012, 123_456_789_012_345, 2**53 - 1)


def schema_of(*words: str) -> Schema:
    return Schema.from_fields(
        {
            "feature_norm": 1.0,
            "target": {"name": "y", "low": 0, "high": 1},
            "columns": {"code": {"type": "categorical", "categories": list(words)}},
        }
    )


@pytest.mark.parametrize("adjacency", [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT])
def test_one_missing_code_moves_one_record(adjacency: Adjacency) -> None:
    """Twelve digits and more became 1.2e+11: three records moved where one may, by sqrt(2)."""
    schema = schema_of(*map(str, CODES))
    statistic = Counts.of(schema, adjacency=adjacency, columns=("code",))
    codes = [code for code in CODES for _ in range(3)]
    before, _ = _computed(statistic, pd.DataFrame({"code": codes}), schema)
    for place in range(len(codes)):
        missing = [*codes[:place], None, *codes[place + 1 :]]
        frame = pd.DataFrame({"code": missing})
        assert frame.code.dtype == float  # what makes the others read otherwise
        after, _ = _computed(statistic, frame, schema)
        assert math.isclose(math.hypot(*(after - before)), math.sqrt(2.0))


def test_codes_that_doubles_do_not_tell_apart_must_be_text() -> None:
    schema = schema_of("2", str(2**53 + 1))
    statistic = Counts.of(schema, adjacency=Adjacency.REPLACE_ONE, columns=("code",))
    for codes in ([2**53 + 1, 2], [2**53 + 1, None], [2.0, None]):
        with pytest.raises(InvalidDescription, match="'code' must hold text"):
            _computed(statistic, pd.DataFrame({"code": codes}), schema)
    counted, _ = _computed(statistic, pd.DataFrame({"code": [str(2**53 + 1), None]}), schema)
    assert counted.tolist() == [0.0, 1.0, 1.0]


def test_numbers_that_are_not_whole_keep_their_text() -> None:
    cells = Cells("x", pa.array([0.5, -0.0, math.inf, math.nan, None, 1e300, 3.0]), ())
    assert cells.text().to_pylist() == ["0.5", "0", "inf", None, None, "1e+300", "3"]
    halves = Cells("x", pa.array([0.5, 3.0], pa.float32()), ())
    assert halves.text().to_pylist() == ["0.5", "3"]
