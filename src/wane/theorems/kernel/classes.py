"""Walks that are in turn in one class of their states, then in the next one, and so around.

A walk from left to right and back of a line without rest is one, or any on a tree.  The matrix of a
round, from one class to itself, is smaller, and settles where the walk as a whole never does.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

_MOST = 16  # classes; walks with more of them are hardly anything else than a circle

States: TypeAlias = NDArray[np.intp]


def of(rows: Any) -> list[States] | None:
    """Return the states of each class of a square sparse matrix, the smallest first, or None.

    None if there is one class only, or if some states cannot be reached from others.  Every step is
    from a class to the next; that is all that is used, and it is seen.
    """
    parts, _ = csgraph.connected_components(rows, directed=True, connection="strong")
    if parts > 1:
        return None
    order, before = csgraph.breadth_first_order(rows, 0, directed=True)
    depth = np.zeros(rows.shape[0], dtype=np.int64)
    for state in order[1:]:
        depth[state] = depth[before[state]] + 1
    cells = rows.tocoo()
    period = int(np.gcd.reduce(depth[cells.row] + 1 - depth[cells.col]))
    if not 2 <= period <= _MOST:
        return None
    found = [np.flatnonzero(depth % period == number) for number in range(period)]
    least = min(range(period), key=lambda number: len(found[number]))
    return found[least:] + found[:least]
