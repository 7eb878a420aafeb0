"""Adversarial pairs of tables: how far one record really moves a statistic.

Nothing here knows a sensitivity.  Tables are made of the most extreme records that a schema lets
through, and of some that it does not, and the very sums that would be released are compared.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

from wane.describe import Adjacency
from wane.statistics.publishing import _computed
from wane.tables import (
    BooleanColumn,
    BoundedTarget,
    CategoricalColumn,
    ClassTarget,
    Fill,
    NumericColumn,
    Scale,
    Schema,
)

WORDS = ["red", "green", "blue"]


def schema_of(rule: Any = None, scale: Scale = Scale.SYMMETRIC) -> Schema:
    """Two numbers, a category, a boolean, and a target."""
    more = {} if rule is None else {"missing": rule}
    filled = isinstance(rule, Fill)
    return Schema(
        columns=(
            NumericColumn(name="age", low=0.0, high=100.0, scale=scale, **more),
            NumericColumn(name="height", low=-3.0, high=5.0, scale=scale, **more),
            CategoricalColumn(
                name="colour",
                categories=tuple(WORDS),
                **({"missing": Fill("red")} if filled else more),
            ),
            BooleanColumn(name="smoker", **({"missing": Fill(True)} if filled else more)),
        ),
        target=ClassTarget(name="ill", classes=("no", "yes")),
    )


def numeric_target() -> Schema:
    """Three numbers, one of them the target."""
    return Schema(
        columns=(
            NumericColumn(name="age", low=0.0, high=100.0),
            NumericColumn(name="height", low=-3.0, high=5.0),
        ),
        target=BoundedTarget(name="cost", low=0.0, high=1e6),
    )


def cells(schema: Schema, column: str) -> list[Any]:
    """Cells of one column that an adversary would try."""
    if column in ("age", "height", "cost"):
        bounds = {"age": (0.0, 100.0), "height": (-3.0, 5.0), "cost": (0.0, 1e6)}[column]
        low, high = bounds
        return [low, high, (low + high) / 2, None, -1e300, 1e300, low + 0.3 * (high - low)]
    return {
        "colour": ["red", "blue", "purple", None],
        "smoker": ["true", "no", None],
        "ill": ["no", "yes"],
    }[column]


def vector(statistic: Any, schema: Schema, rows: list[tuple[Any, ...]]) -> np.ndarray:
    """The sums of a table of these rows, as they would be released without noise."""
    names = [column.name for column in statistic.columns]
    table = pa.table(
        {name: pa.array([row[i] for row in rows], _type(name)) for i, name in enumerate(names)}
    )
    return _computed(statistic, table, schema)[0]


def _type(name: str) -> Any:
    return pa.float64() if name in ("age", "height", "cost") else pa.string()


def worst_distance(statistic: Any, schema: Schema, most: int = 200) -> float:
    """The farthest that one record moves the vector, over the pairs that were tried."""
    names = [column.name for column in statistic.columns]
    records = list(itertools.product(*(cells(schema, name) for name in names)))
    if len(records) > most:
        chosen = np.random.default_rng(3).choice(len(records), most, replace=False)
        corners = list(itertools.product(*(cells(schema, name)[:2] for name in names)))
        records = [records[i] for i in chosen] + corners
    base = [records[0], records[-1]]
    whole = vector(statistic, schema, base)
    with_each = [vector(statistic, schema, [*base, record]) for record in records]
    if statistic.adjacency is not Adjacency.REPLACE_ONE:
        return max(float(np.linalg.norm(one - whole)) for one in with_each)
    made = np.array(with_each)
    squares = (made**2).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2.0 * made @ made.T
    i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return float(np.linalg.norm(made[i] - made[j]))
