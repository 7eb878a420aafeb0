"""Losses: one file for each, with its slope, constants, rounding error and prior.

`wane.losses.Huber(width)` is the loss, which acts on margins and targets;
`wane.losses.huber(feature_norm, width=...)` returns its constants as an `Objective`.

Files and functions share their names: importing a file sets it on this package, so every file is
imported here before the function of its name is bound.
"""

from wane.losses import registry
from wane.losses.base import ClassesLoss, Loss, Prior, SampledLoss, ScalarLoss, linear_objective
from wane.losses.huber import Huber, huber
from wane.losses.least_squares import Squared, least_squares
from wane.losses.log_cosh import LogCosh, log_cosh
from wane.losses.logistic import Logistic, logistic
from wane.losses.multi_squared import MultiSquared, multi_squared
from wane.losses.one_vs_rest import OneVsRest, one_vs_rest
from wane.losses.poisson import PoissonCounts, poisson
from wane.losses.quantile import Quantile, quantile
from wane.losses.smoothed_hinge import SmoothedHinge, smoothed_hinge
from wane.losses.softmax import Softmax, softmax
from wane.losses.softmax_clamp import SoftmaxClamp
from wane.losses.softmax_envelope import SoftmaxEnvelope, softmax_envelope

LOSSES = registry.losses()
"""Every loss of wane."""

__all__ = [
    "LOSSES",
    "ClassesLoss",
    "Huber",
    "LogCosh",
    "Logistic",
    "Loss",
    "MultiSquared",
    "OneVsRest",
    "PoissonCounts",
    "Prior",
    "Quantile",
    "SampledLoss",
    "ScalarLoss",
    "SmoothedHinge",
    "Softmax",
    "SoftmaxClamp",
    "SoftmaxEnvelope",
    "Squared",
    "huber",
    "least_squares",
    "linear_objective",
    "log_cosh",
    "logistic",
    "multi_squared",
    "one_vs_rest",
    "poisson",
    "quantile",
    "smoothed_hinge",
    "softmax",
    "softmax_envelope",
]
