"""The type of a data frame as a whole follows from all cells: one record must not move others."""

import numpy as np
import pandas as pd
import pytest

from wane.errors import InvalidDescription
from wane.learn import PrivateLogisticRegression, PrivateRidge
from wane.learn.base import KINDS
from wane.learn.inputs import validated
from wane.learn.scaling import FeatureScaler

COUNT = 400


def scaled(frame: pd.DataFrame) -> np.ndarray:
    rows = validated(PrivateRidge(), frame, dtype=KINDS)
    return FeatureScaler.from_bounds(1.0, (0.0, [3.0, 70_000.0]), 2)(rows)


@pytest.mark.parametrize("last", [40_000, "3"])
def test_one_cell_does_not_change_how_others_are_rounded(last: object) -> None:
    """One larger count made a frame double that was single: every row moved in its last bits."""
    share = np.linspace(0.1, 0.9, COUNT).astype(np.float32)
    counts = np.arange(COUNT) % 7
    before = pd.DataFrame({"share": share, "count": counts.astype(np.int16)})
    cells: list[object] = [*counts[:-1].tolist(), last]
    changed = pd.DataFrame({"share": share, "count": cells})
    assert before.to_numpy().dtype == np.float32 != changed.to_numpy().dtype
    assert np.array_equal(scaled(before)[:-1], scaled(changed)[:-1])


def test_an_array_keeps_the_type_it_was_given() -> None:
    rows = np.ones((3, 2), dtype=np.float32)
    assert validated(PrivateRidge(), rows, dtype=KINDS).dtype == np.float32


@pytest.mark.parametrize("kind", ["datetime64[s]", "datetime64[ns]", "timedelta64[ms]"])
def test_times_are_refused(kind: str) -> None:
    """Their unit is that of the finest cell, by which all others would be counted."""
    times = np.arange(COUNT).astype(kind)
    labels = np.arange(COUNT) % 2
    model = PrivateLogisticRegression(epsilon=8.0, classes=(0, 1))
    for rows in (pd.DataFrame({"x": times}), times[:, np.newaxis]):
        with pytest.raises(InvalidDescription, match="got times"):
            model.fit(rows, labels)
    with pytest.raises(InvalidDescription, match="got times"):
        PrivateRidge(epsilon=8.0, target_bound=1.0).fit(labels[:, np.newaxis], times)
