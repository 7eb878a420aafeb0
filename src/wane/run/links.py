"""Aliases of `wane.losses` under the names of versions before 0.2."""

from wane.losses import (
    Huber,
    Logistic,
    Loss as Link,
    MultiSquared,
    OneVsRest,
    PoissonCounts,
    Quantile,
    SmoothedHinge,
    Softmax,
    SoftmaxClamp,
    SoftmaxEnvelope,
    Squared,
)

__all__ = [
    "Huber",
    "Link",
    "Logistic",
    "MultiSquared",
    "OneVsRest",
    "PoissonCounts",
    "Quantile",
    "SmoothedHinge",
    "Softmax",
    "SoftmaxClamp",
    "SoftmaxEnvelope",
    "Squared",
]
