"""A column of decimals has one scale, that of its longest cell: others must read the same."""

import math
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from wane.describe import Adjacency
from wane.statistics import Mean
from wane.statistics.publishing import _computed
from wane.tables.encode import Cells
from wane.tables.schema import Schema

LONG = Decimal("0.5000000000000000000000001")


def schema_of(*missing: str) -> Schema:
    return Schema.from_fields(
        {
            "feature_norm": 1.0,
            "missing_words": list(missing),
            "target": {"name": "y", "low": 0, "high": 1},
            "columns": {"x": {"type": "numeric", "low": 0.0, "high": 100.0}},
        }
    )


@pytest.mark.parametrize("missing", ["99.99", "0.1", "-9.99", "9999.9"])
def test_one_long_cell_moves_one_record(missing: str) -> None:
    """The others were off by a bit, and no longer what the schema calls missing: a mean of 300
    records moved by 300 where 2 was claimed."""
    schema = schema_of(missing)
    statistic = Mean.of(schema, adjacency=Adjacency.REPLACE_ONE, columns=("x",))
    cells = [Decimal(missing)] * 300
    before, _ = _computed(statistic, pd.DataFrame({"x": [*cells, Decimal("0.5")]}), schema)
    after, _ = _computed(statistic, pd.DataFrame({"x": [*cells, LONG]}), schema)
    assert math.dist(before, after) <= statistic.sensitivity


@pytest.mark.parametrize("scale", range(1, 30))
@pytest.mark.parametrize("word", ["63.4746161", "8.206E-7", "-99.99", "0.1"])
def test_decimals_are_the_nearest_doubles_whatever_their_column_holds(
    word: str, scale: int
) -> None:
    cells = pa.array([Decimal(word), None, Decimal(1).scaleb(-scale)])
    found = Cells("x", cells, ()).numbers().tolist()
    assert found[0] == float(word) and math.isnan(found[1])
