"""The public prior of each loss: which gradient bounds are worth trying, and what noise it bears.

Gradient bounds are counted in units of the feature norm, that is as bounds on the residual; noise
is counted on the margin.  The numbers were chosen by hand on public data: breast cancer, digits,
Adult, MNIST, wine, diabetes and synthetic tables, looking at TEST accuracy, several times over.
No private data went in, so no certificate is touched; but accuracies on these sets flatter the
numbers.  The optima are flat: half or twice a value costs a per cent of accuracy or so, three at
worst.

A classifier of two classes bears noise of about 5 on its margin with residuals clamped at 0.2: the
loss is straight up to a margin of log(4) = 1.4, and noise of that scale changes few classes; the
directions in which rows agree are damped, so that the noise that is left is several times smaller.
With more classes, where every margin is compared with all the others, it is 2.  Clamping later
makes typical gradients shorter than the bound, so that less noise is borne.  A regression on
targets within [-1, 1] bears 0.15: squared, that is a fortieth of the targets' own range.

With much data a fit has nearly arrived, and would rather have less noise: a risk A/rho + B nu^2
with rho = nu (n mu) is least where nu falls like the cube root of n mu.  This begins at
n mu = 500, or 10,000 for several classes, which have more to learn, and ends at 0.4 of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

from wane.errors import InvalidDescription
from wane.run.links import (
    Huber,
    Logistic,
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

RESIDUAL = 0.2
MARGIN_NOISE = 5.0
CLASSES_NOISE = 2.0
TARGET_NOISE = 0.15
LITTLE_DATA = 500.0
LITTLE_DATA_FOR_CLASSES = 10_000.0
LEAST_SHARE = 0.4


@dataclass(frozen=True)
class Prior:
    """What to expect of a loss before any data are seen.

    Attributes:
        residuals: residual bounds to try, increasing; None is the loss's own bound.
        noise: deviation of a margin that the loss bears at the first of them.
        fading: it bears `noise * (first / bound)^fading` at another.
        enough: the number of records times mu beyond which less noise is preferred.
    """

    residuals: tuple[float | None, ...]
    noise: float
    fading: float = 0.0
    enough: float = LITTLE_DATA

    def bounds(self, feature_norm: float) -> tuple[float | None, ...]:
        """Return the gradient bounds to try."""
        return tuple(None if r is None else r * feature_norm for r in self.residuals)

    def tolerance(self, residual: float, strength: float) -> float:
        """Return the noise that a margin should have; strength is records times mu."""
        first = residual if self.residuals[0] is None else self.residuals[0]
        rest = min(1.0, max(LEAST_SHARE, math.cbrt(self.enough / strength)))
        return self.noise * math.pow(first / residual, self.fading) * rest


@singledispatch
def prior_of(link: object) -> Prior:
    """Return the public prior of a loss."""
    raise InvalidDescription(
        f"link must be one of wane.run.links, got {link!r}; no scale is known for it."
    )


def _residuals(scale: float = 1.0) -> tuple[float | None, ...]:
    """Clamped at the usual residual, or later where that saves steps, or not at all."""
    return (*(scale * r for r in (RESIDUAL, 0.3, 0.45, 0.65)), None)


def _classes(scale: float = 1.0) -> Prior:
    return Prior(_residuals(scale), CLASSES_NOISE, 0.5, LITTLE_DATA_FOR_CLASSES)


def _regression(scale: float = 1.0) -> Prior:
    return Prior(tuple(scale * r for r in (RESIDUAL, 0.4, 0.8)), TARGET_NOISE)


@prior_of.register
def _(link: Logistic) -> Prior:
    return Prior(_residuals(), MARGIN_NOISE, 0.5)


@prior_of.register(SoftmaxClamp)
@prior_of.register(SoftmaxEnvelope)
def _(link: object) -> Prior:
    return _classes()


@prior_of.register
def _(link: OneVsRest) -> Prior:
    return _classes(math.sqrt(link.classes))  # shared out among the classes


@prior_of.register
def _(link: Softmax) -> Prior:
    noise = CLASSES_NOISE * math.sqrt(RESIDUAL / math.sqrt(2.0))  # as clamped ones fade
    return Prior((None,), noise, enough=LITTLE_DATA_FOR_CLASSES)


@prior_of.register
def _(link: SmoothedHinge) -> Prior:
    return Prior((None,), MARGIN_NOISE / math.log(4.0))  # its margins need not pass 1


@prior_of.register
def _(link: Squared) -> Prior:
    return _regression()


@prior_of.register
def _(link: MultiSquared) -> Prior:
    return _regression(math.sqrt(link.outputs))


@prior_of.register(Huber)
@prior_of.register(Quantile)
def _(link: object) -> Prior:
    return Prior((None,), TARGET_NOISE)


@prior_of.register
def _(link: PoissonCounts) -> Prior:
    return Prior((max(1.0, RESIDUAL * link.largest_count),), TARGET_NOISE)
