"""One function for each statistic that people publish, with its options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Required, TypedDict, Unpack

from wane.describe import Adjacency
from wane.describe.choices import adjacency_of
from wane.errors import InvalidDescription
from wane.statistics.kinds import Counts, Covariance, Histogram, Mean, Quantiles, Statistic
from wane.statistics.publishing import Published, publish
from wane.tables import Schema


class Options(TypedDict, total=False):
    """What every statistic takes beside its own options."""

    adjacency: Required[Adjacency | str]
    epsilon: Required[float]
    delta: Required[float]
    columns: Iterable[str] | None
    levels: Mapping[str, float] | None
    account: Any
    rows_per_person: int | None
    seed_voids_privacy: int | None


def mean(data: Any, schema: Schema, **options: Unpack[Options]) -> Published:
    """Return private means of numbers and shares of words; see `publish` for the options.

    `data` is a CSV or Parquet file, or a data frame.  Options are `adjacency`, `epsilon`, `delta`,
    and `columns`, `levels`, `account`, `rows_per_person` where they are wanted.
    """
    return _published(Mean, data, schema, {}, options)


def counts(data: Any, schema: Schema, **options: Unpack[Options]) -> Published:
    """Return private counts of categories, whole and with the same total in every column."""
    return _published(Counts, data, schema, {}, options)


def histogram(
    data: Any, schema: Schema, *, bins: int = 10, **options: Unpack[Options]
) -> Published:
    """Return private counts of numbers in equal bins between their public bounds."""
    return _published(Histogram, data, schema, {"bins": bins}, options)


def covariance(data: Any, schema: Schema, **options: Unpack[Options]) -> Published:
    """Return a private covariance matrix, symmetric and without negative eigenvalues."""
    return _published(Covariance, data, schema, {}, options)


def quantiles(
    data: Any,
    schema: Schema,
    *,
    probabilities: tuple[float, ...] = (0.25, 0.5, 0.75),
    **options: Unpack[Options],
) -> Published:
    """Return private quantiles of numbers, between their bounds and in order."""
    chosen = {"probabilities": tuple(probabilities)}
    return _published(Quantiles, data, schema, chosen, options)


def _published(
    kind: type[Statistic], data: Any, schema: Schema, own: dict[str, Any], options: Options
) -> Published:
    """Tell the options of a statistic from those of its release."""
    given = dict(options)
    for name in ("adjacency", "epsilon", "delta"):
        if name not in given:
            raise InvalidDescription(f"{name} must be given to publish a statistic, got nothing.")
    names: Any = given.pop("columns", None)
    statistic = kind.of(
        schema,
        adjacency=adjacency_of("adjacency", given.pop("adjacency")),
        columns=None if names is None else tuple(names),
        **own,
    )
    return publish(statistic, data, schema, **given)  # type: ignore[arg-type]
