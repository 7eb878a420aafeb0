"""What is never read from private data without being asked, and what a fit is refused for."""

from __future__ import annotations

import math
import warnings
from enum import Enum

from wane.describe import Adjacency
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP


class DataDependentWarning(UserWarning):
    """Something public was read from the private data, so no certificate holds."""


class FromData(Enum):
    """The explicit wish to read classes or bounds from the data: for public data only."""

    FROM_DATA = "from-data"


FROM_DATA = FromData.FROM_DATA
"""Given as `classes=`, `feature_bounds=` or `target_bound=`; voids the certificate."""


class TooFewRecords(Unreachable, InvalidDescription):
    """So few rows that the noise drowns everything they could say."""


def read_from_data(name: str) -> str:
    """Warn that `name` was read from the data, and return the reason why privacy is void."""
    reason = f"{name} was read from the data, so the model shows it without noise"
    warnings.warn(
        f"{reason}; the certificate is void. Declare {name} unless the data are public.",
        DataDependentWarning,
        stacklevel=2,
    )
    return reason


def require_enough_records(
    records: int, parameters: int, *, epsilon: float, delta: float, adjacency: Adjacency
) -> None:
    """Refuse a fit whose noise must be longer than any gradient; uses public numbers only.

    One release of the average of vectors of norm C among n records needs noise of deviation
    k C / (n mu) in each of p directions, k being 1 or 2 by adjacency: its length is about
    sqrt(p) k C / (n mu).  Where that is more than C, not even one gradient can be seen.
    """
    mu = GaussianDP.from_target(epsilon=epsilon, delta=delta).mu
    needed = adjacency.sensitivity(1.0) * math.sqrt(parameters) / mu if mu > 0.0 else math.inf
    if records < needed:
        shown = f"{math.ceil(needed)}" if math.isfinite(needed) else "infinitely many"
        raise TooFewRecords(
            f"Too few rows: epsilon={epsilon:g} at delta={delta:g} with {parameters} parameters "
            f"needs at least {shown} rows, got n_samples = {records}; give more rows, fewer "
            "columns or a larger epsilon."
        )
