"""The public prior of a loss: the gradient bounds worth trying, and the noise that it tolerates.

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

from dataclasses import dataclass

RESIDUAL = 0.2
MARGIN_NOISE = 5.0
CLASSES_NOISE = 2.0
TARGET_NOISE = 0.15
LITTLE_DATA = 500.0
LITTLE_DATA_FOR_CLASSES = 10_000.0


@dataclass(frozen=True)
class Prior:
    """The public expectations of a loss before any data are seen; `wane.learn.plan` uses them.

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


def residual_bounds(scale: float = 1.0) -> tuple[float | None, ...]:
    """Return the usual residual, later ones that may save steps, and no clamp at all."""
    return (*(scale * r for r in (RESIDUAL, 0.3, 0.45, 0.65)), None)


def classes_prior(scale: float = 1.0) -> Prior:
    """Return the prior of a loss of several classes."""
    return Prior(residual_bounds(scale), CLASSES_NOISE, 0.5, LITTLE_DATA_FOR_CLASSES)


def regression_prior(scale: float = 1.0) -> Prior:
    """Return the prior of a regression on targets within [-1, 1], without a bound of its own."""
    return Prior(tuple(scale * r for r in (RESIDUAL, 0.4, 0.8)), TARGET_NOISE)
