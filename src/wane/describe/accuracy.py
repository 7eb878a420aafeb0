"""Mean squared errors at equal privacy: plain Gaussian noise against scaling the result down."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Worst mean squared errors over statistics in the ball, all at the same mu.

    Attributes:
        mechanism: of the mechanism at hand.
        plain_gaussian: of the statistic plus Gaussian noise.
        shrunk_gaussian: of the same, scaled by the best constant.
        best_scale: that constant; no other constant has a smaller worst error.
    """

    mechanism: float
    plain_gaussian: float
    shrunk_gaussian: float
    best_scale: float


def compared(own: float, std: float, norm_bound: float, dimension: int) -> Comparison:
    """Errors beside `own`, for noise of this standard deviation on the unscaled statistic.

    Claim.  best scale R^2/(R^2 + d s^2), error R^2 d s^2/(R^2 + d s^2).
    """
    plain = dimension * std * std
    best = best_scale(std, norm_bound, dimension)
    return Comparison(own, plain, best * plain, best)


def best_scale(std: float, norm_bound: float, dimension: int) -> float:
    """The constant in front of f + N(0, std^2) with the smallest worst error over the ball."""
    ratio = std / norm_bound
    return 1.0 / (1.0 + dimension * ratio * ratio)
