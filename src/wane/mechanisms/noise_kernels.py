"""Kernels that apply a Lipschitz map to a bounded input and add noise, in closed form.

An input in a set of diameter B is mapped by an L-Lipschitz map, noise is added, and the result may
be projected to a convex set (which is post-processing).  Two output laws are then those of noise at
two points at most L B apart, exactly so for the identity.  Powers need the projection: without it
the second input is unbounded.  Proofs: `docs/proofs/continuous-kernels.md`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

from wane import arguments
from wane.errors import InvalidDescription
from wane.numerics.normal import gaussian_delta
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.theorems.kernel import amplification
from wane.theorems.kernel.amplifying import ContinuousKernel
from wane.theorems.lemmas.noisy_chains import constant_chain

_BLOCKS = 64


@dataclass(frozen=True, kw_only=True)
class NoiseKernel(ContinuousKernel):
    """x -> map(x) + noise on inputs of a bounded set; use one of its kinds.

    Attributes:
        diameter: largest distance between two inputs.
        lipschitz: the map moves no two inputs apart by more than this factor.
        dimension: number of entries of the input.
        projected: whether the output is projected back to a convex set of the same diameter, so
            that the kernel can be repeated.
        times: how often it is applied.
    """

    diameter: float
    lipschitz: float = 1.0
    dimension: int = 1
    projected: bool = False
    times: int = 1

    def __post_init__(self) -> None:
        for name in ("diameter", "lipschitz"):
            value = arguments.real(name, getattr(self, name), least=0.0)
            object.__setattr__(self, name, value)
        arguments.whole("dimension", self.dimension, least=1)
        if not isinstance(self.projected, bool):
            raise InvalidDescription(
                f"projected must be True or False, got {self.projected!r:.60}."
            )
        if arguments.whole("times", self.times, least=1) > 1 and not self.projected:
            raise InvalidDescription(
                f"times must be 1 unless projected, got {self.times}; noise without a projection "
                "leaves the bounded set that the kernel is described on."
            )

    def power(self, times: int) -> Self:
        """The kernel applied so many times as often."""
        return replace(self, times=self.times * arguments.whole("times", times, least=1))

    @abstractmethod
    def _block(self, length: int, multiplier: float) -> float:
        """The coefficient of so many applications by one argument."""

    def _lengths(self) -> Iterable[int]:
        """How long the blocks may be into which the applications are cut."""
        yield 1

    def coefficients(self, multipliers: Iterable[float]) -> list[float]:
        """The coefficient at each multiplier, the least over cuts into blocks of equal length.

        Claim.  For two kernels in a row g(m) <= g1(m) g2(1 + (m - 1)/g1(m)).
        """
        wanted = [arguments.real("multiplier", m, least=1.0) for m in multipliers]
        return [min(self._cut(length, m) for length in self._lengths()) for m in wanted]

    def _cut(self, length: int, multiplier: float) -> float:
        blocks, at, total = self.times // length, multiplier, 1.0
        for done in range(1, blocks + 1):
            share = self._block(length, at)
            if done == _BLOCKS:  # thresholds only rise: later factors are at most this one
                return amplification.exact(total, amplification.power_up(share, blocks - done + 1))
            total = amplification.exact(total, share)
            if total == 0.0 or share == 1.0:
                return total
            at = max(at, (1.0 + (multiplier - 1.0) / total) * (1.0 - amplification.SLACK))
            at = min(at, amplification.LARGEST_MULTIPLIER)
        return total

    def _submultiplied(self, once: float) -> float:
        return amplification.power_up(min(once, 1.0), self.times)


@final
@dataclass(frozen=True, kw_only=True)
class GaussianKernel(NoiseKernel):
    """x -> map(x) + N(0, noise_std^2 I); the diameter is Euclidean.

    Claim.  g(e^epsilon) is the delta(epsilon) of the Gaussian mechanism with mu = L B/noise_std,
    for r applications at most that of mu^2 = (B/noise_std)^2 c^r (1 - c)/(1 - c^r), c = L^2.
    Doeblin on an interval: erf(L B/(sqrt(8) noise_std)), the same as Dobrushin.
    """

    noise_std: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "noise_std", arguments.real("noise_std", self.noise_std, above=0.0)
        )

    def _lengths(self) -> Iterable[int]:
        length = 1
        while length < self.times:
            yield length
            length *= 2
        yield self.times

    def _block(self, length: int, multiplier: float) -> float:
        mu = constant_chain(
            self.diameter, steps=length, lipschitz=self.lipschitz, noise_std=self.noise_std
        ).mu
        if mu == 0.0:
            return 0.0
        if math.isinf(mu):
            return 1.0
        return min(1.0, gaussian_delta(_log_down(multiplier), mu))

    @cached_property
    def doeblin_coefficient(self) -> float:
        """In one dimension that of Dobrushin; in several no claim, that is one."""
        if self.diameter * self.lipschitz == 0.0:
            return 0.0
        return self._submultiplied(self._block(1, 1.0) if self.dimension == 1 else 1.0)

    @property
    def ultra_mixing(self) -> float:
        """One: likelihood ratios of Gaussians have no bound."""
        return 0.0 if self.diameter * self.lipschitz == 0.0 else 1.0


@final
@dataclass(frozen=True, kw_only=True)
class LaplaceKernel(NoiseKernel):
    """x -> map(x) + independent Laplace noise; the diameter is that of sums of absolute values.

    Claim.  With r = L B/scale, g(e^epsilon) = 1 - e^((epsilon - r)/2) below r and 0 from r on; the
    smallest likelihood ratio is e^-r.  Doeblin on an interval: 1 - e^(-r/2), else 1 - e^-r.
    """

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", arguments.real("scale", self.scale, above=0.0))

    @property
    def _ratio(self) -> float:
        spread = self.diameter * self.lipschitz / self.scale
        positive = self.diameter > 0.0 and self.lipschitz > 0.0
        return inflate(max(spread, SMALLEST_POSITIVE), 1e-15) if positive else 0.0

    def _block(self, length: int, multiplier: float) -> float:
        exponent = _log_down(multiplier) - self._ratio
        if exponent >= 0.0:
            return 0.0
        return min(1.0, inflate(max(-math.expm1(exponent / 2.0), SMALLEST_POSITIVE), 1e-15))

    @property
    def doeblin_coefficient(self) -> float:
        """On an interval that of Dobrushin, otherwise the one that likelihood ratios give."""
        return self._submultiplied(self._block(1, 1.0) if self.dimension == 1 else self._mixing)

    @property
    def ultra_mixing(self) -> float:
        """One minus e^-r, to the power of the number of applications."""
        return self._submultiplied(self._mixing)

    @property
    def _mixing(self) -> float:
        return min(1.0, inflate(-math.expm1(-self._ratio), 1e-15))


def _log_down(multiplier: float) -> float:
    """The logarithm of a number of at least one, never above it."""
    return max(0.0, math.log(multiplier) * (1.0 - 4e-16) - 4e-16)
