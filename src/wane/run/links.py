"""The losses under the names by which versions before 0.2 had them; see `wane.losses`."""

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
