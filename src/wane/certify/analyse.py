"""Ask every theorem, keep every answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from wane.analyses import ANALYSES
from wane.certify.certificate import Certificate
from wane.describe import EveryIterate, NoisyDescent, check
from wane.theory import Analysis


def certify(run: NoisyDescent, analyses: Iterable[Analysis[Any]] = ANALYSES) -> Certificate:
    """Return the certificate of a described run: every theorem's verdict, and the best bound.

    Example:
        >>> import wane
        >>> run = wane.NoisyDescent(
        ...     objective=wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
        ...     records=1000, steps=400, step_size=1.0, noise=wane.NoiseMultiplier(4.0),
        ...     batches=wane.Cyclic(50),
        ... )
        >>> round(wane.certify(run).mu, 4)
        0.6982
    """
    check.kind("run", run, (NoisyDescent,))
    return Certificate(run, tuple(a(run) for a in analyses if isinstance(run, a.of)))


def composition_of(run: NoisyDescent) -> Certificate:
    """Return the certificate of the same run with every iterate released."""
    return certify(replace(run, release=EveryIterate()))
