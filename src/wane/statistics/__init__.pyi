from wane.statistics.functions import (
    counts as counts,
    covariance as covariance,
    histogram as histogram,
    mean as mean,
    quantiles as quantiles,
)
from wane.statistics.kinds import (
    STATISTICS as STATISTICS,
    Counts as Counts,
    Covariance as Covariance,
    Histogram as Histogram,
    Mean as Mean,
    Quantiles as Quantiles,
    Statistic as Statistic,
    statistic_from_fields as statistic_from_fields,
)
from wane.statistics.publishing import (
    Level as Level,
    Published as Published,
    planned as planned,
    publish as publish,
)

__all__ = [
    "STATISTICS",
    "Counts",
    "Covariance",
    "Histogram",
    "Level",
    "Mean",
    "Published",
    "Quantiles",
    "Statistic",
    "counts",
    "covariance",
    "histogram",
    "mean",
    "planned",
    "publish",
    "quantiles",
    "statistic_from_fields",
]
