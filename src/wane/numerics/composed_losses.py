"""Sums of many privacy losses by a Fourier transform, tilted so that the tail is accurate too.

A plain transform has a noise floor of about 1e-16 times the number of steps, which drowns small
deltas.  Every loss is therefore weighted by e^(tilt L) first, so that the losses that decide the
question become the typical ones, and unweighted at the end.  What remains is bounded, and charged:

    rounding of the transforms    a bound in mean square, added by Cauchy-Schwarz
    wrapping around the window    from above it is charged by Chernoff; from below it only adds
                                  mass, as long as epsilon itself lies inside the window
    dots and quadrature           see `discrete_losses`
    truncated losses              count as infinite

Nothing is rounded to the favour of privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft

from wane.arrays import Array
from wane.errors import Unreachable
from wane.numerics.discrete_losses import DiscreteLosses
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.numerics.search import first_at_most, largest_satisfying, minimise_scalar_bounded

_UNIT = 2.0**-53
_OUTSIDE = 30.0  # the tilted mass outside the window is at most e^-30
_GOOD_SHARE = 1e-5  # a view serves an epsilon if at most this share of its answer is noise
_RUNG = 1.1  # tilts are powers of this, so that close questions share a view
_LONGEST = 1 << 22
_COMFORTABLE = 1 << 21
_FAINT = -100.0  # logarithm of a coefficient that is not worth computing
_KEPT = 1 << 23  # bins of all views kept at a time


@dataclass(frozen=True, eq=False)
class View:
    """The composed loss near the losses that one tilt makes typical.

    `bins` holds the tilted masses at `start`, `start + 1`, ... intervals; their error is at most
    `noise` in root sum of squares.  Losses above the window have mass at most e^`log_tail`.
    """

    tilt: float
    log_moment: float
    interval: float
    start: int
    bins: Array
    noise: float
    log_tail: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return the hockey stick over the finite losses, and a bound on its error.

        Below the window it is all doubt: losses between epsilon and the window are not here.
        """
        above = math.floor(min(epsilon / self.interval, 1e18)) + 1 - self.start
        if above < 1:
            return 1.0, 1.0
        first = min(above, self.bins.size)
        kernel = self._unweighted[first:] * -np.expm1(
            np.minimum(epsilon - self._losses(first), 0.0)
        )
        tail = math.exp(min(self.log_tail, self.log_moment - self.tilt * epsilon, 0.0))
        doubt = self.noise * math.sqrt(float(np.sum(kernel**2))) + tail
        return float(np.sum(kernel * self.bins[first:])) + doubt, doubt

    @cached_property
    def _unweighted(self) -> Array:
        """The factors that undo the tilt of each bin; cached, since they are most of the work."""
        return np.exp(np.minimum(self.log_moment - self.tilt * self._losses(0), 700.0))

    def _losses(self, first: int) -> Array:
        places = np.arange(self.start + first, self.start + self.bins.size)
        return np.asarray(places * self.interval, dtype=np.float64)


class ComposedLosses:
    """The sum of independent losses on dots; every answer is an upper bound."""

    def __init__(self, parts: Sequence[tuple[DiscreteLosses, int]], interval: float) -> None:
        """Compose `parts`: pairs of the loss of one step and the number of such steps."""
        self._parts = tuple(parts)
        self._interval = interval
        self._views: dict[float, View] = {}
        self._answers: dict[float, float] = {}
        self.infinite = min(1.01 * math.fsum(n * dots.infinite for dots, n in parts), 1.0)

    def delta(self, epsilon: float) -> float:
        """Return the hockey stick at `epsilon`, never below the truth."""
        if self.infinite >= 1.0:
            return 1.0
        if len(self._parts) == 1 and self._parts[0][1] == 1:
            finite = self._parts[0][0].hockey_stick(epsilon, self._interval)
        else:
            finite = self._convolved_delta(epsilon)
        # Sums of a million positive terms are good to 1e-10, even one after the other.
        return min(inflate(finite + self.infinite, 1e-9) + SMALLEST_POSITIVE, 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon at which `self.delta` was seen to be at most `delta`."""
        if delta not in self._answers:
            self._answers[delta] = self._inverted(delta)
        return self._answers[delta]

    def _inverted(self, delta: float) -> float:
        if delta <= self.infinite:
            return math.inf
        high = self._chernoff_epsilon(delta)
        while self.delta(high) > delta:
            high = 2.0 * high
            if math.isinf(high):
                return math.inf
        # Stay near the view just made as long as possible, rather than ask at zero at once.
        mean, deviation = self._centre(0.0)
        low = max(0.5 * high, min(mean - 3.0 * deviation, 0.999 * high))
        while self.delta(low) <= delta:
            low, high = (0.5 * low if low > self._interval else 0.0), low
            if high == 0.0:
                return 0.0
        try:
            return first_at_most(self.delta, delta, low, high, relative=1e-8)
        except Unreachable:  # a view that was dropped meanwhile had seen that `high` is enough
            return high

    def _convolved_delta(self, epsilon: float) -> float:
        """Return delta by the first view that serves, else by a new one."""
        least = math.inf
        for view in self._views.values():
            total, doubt = view.delta(epsilon)
            least = min(least, total)
            if doubt <= _GOOD_SHARE * total:
                return least
        return min(least, self._view(self._tilt_for(epsilon), epsilon).delta(epsilon)[0])

    def _window(self, tilt: float) -> tuple[int, int]:
        """Start and length of a window that holds all but e^-30 of the tilted mass, each side."""
        log_moment = self._log_moment(tilt)
        down, up = (
            self._least_over_turns(
                tilt,
                lambda turn, side=side: (  # type: ignore[misc]
                    (self._log_moment(tilt + side * turn) - log_moment + _OUTSIDE) / turn
                ),
            )
            for side in (-1.0, 1.0)
        )
        start = math.floor(-down / self._interval) - 1
        return start, max(math.ceil(up / self._interval) + 2 - start, 64)

    def _least_over_turns(self, tilt: float, bound: Callable[[float], float]) -> float:
        """Return the best of Chernoff's bounds, unimodal in how far the tilt is turned."""
        scale = math.log(self._centre(tilt)[1])
        # Typical losses call for a turn of one over the deviation, rare huge ones for much less.
        low, high = math.log(1e-8) - scale, math.log(1e2) - scale
        return minimise_scalar_bounded(lambda x: bound(math.exp(x)), low, high, steps=24)[1]

    def _view(self, tilt: float, epsilon: float) -> View:
        """Return a view at this tilt whose window reaches down to `epsilon` at least."""
        start, length = self._window(tilt)
        floor = math.floor(min(epsilon / self._interval, 1e18))
        length, start = length + max(start - floor, 0), min(start, floor)
        cached = self._views.get(tilt)
        if cached is not None and cached.start <= start:
            return cached
        length = int(fft.next_fast_len(min(length, _LONGEST), real=True))
        top = (start + length) * self._interval
        bins, noise = self._convolved(tilt, length)
        self._views[tilt] = View(
            tilt=tilt,
            log_moment=self._log_moment(tilt) + self._doubt(tilt),
            interval=self._interval,
            start=start,
            # A negative mass is certainly below the truth, and zero is closer.
            bins=np.maximum(np.roll(bins, -(start % length)), 0.0),
            noise=noise,
            log_tail=self._least_over_turns(
                tilt, lambda turn: self._log_moment(tilt + turn) - (tilt + turn) * top
            ),
        )
        while len(self._views) > 1 and sum(view.bins.size for view in self._views.values()) > _KEPT:
            del self._views[next(iter(self._views))]
        return self._views[tilt]

    def _convolved(self, tilt: float, length: int) -> tuple[Array, float]:
        """Return the tilted masses of the sum, modulo `length`, and a bound on their error."""
        # Forward error of one transform of a probability vector, per coefficient.
        rounding = _UNIT * (4.0 * math.log2(length) + 8.0)
        product = np.ones(length // 2 + 1, dtype=np.complex128)
        log_bound = np.zeros(length // 2 + 1)
        relative = np.zeros(length // 2 + 1)
        faint = np.zeros(length // 2 + 1, dtype=bool)
        for dots, count in self._parts:
            masses, _ = dots.tilted(tilt, self._interval)
            factor = fft.rfft(np.bincount(dots.places % length, masses, length))
            size = np.abs(factor) + rounding
            log_size = np.log(size)
            log_bound += count * log_size
            relative += count * (rounding / size + 8.0 * _UNIT * (1.0 + np.abs(log_size)))
            faint |= log_bound <= _FAINT
            product[~faint] *= factor[~faint] ** count
        product[faint] = 0.0
        # |prod (f + e)^n - prod f^n| is at most prod (|f| + |e|)^n times this; that is also what
        # leaving a faint one out can do.
        share = np.where(relative < 1.0, np.expm1(np.minimum(relative, 1.0)), 2.0)
        share[faint] = 2.0
        errors = np.exp(np.minimum(log_bound, 700.0)) * (share + rounding)
        # Parseval; every frequency but the first and the last stands for two.
        return fft.irfft(product, length), math.sqrt(2.0 * float(np.sum(errors**2)) / length)

    def _log_moment(self, tilt: float) -> float:
        return math.fsum(n * dots.log_moment(tilt, self._interval) for dots, n in self._parts)

    def _doubt(self, tilt: float) -> float:
        """Return a bound on what rounding in the weights e^(tilt L) does to a log mass."""
        total = 0.0
        for dots, count in self._parts:
            masses, log_moment = dots.tilted(tilt, self._interval)
            typical = float(np.sum(masses * np.abs(tilt * self._interval * dots.places)))
            total += count * 1e-15 * (4.0 + typical + abs(log_moment))
        return total

    def _centre(self, tilt: float) -> tuple[float, float]:
        """Return mean and standard deviation of the tilted sum."""
        mean = variance = 0.0
        for dots, count in self._parts:
            masses, _ = dots.tilted(tilt, self._interval)
            losses = dots.places * self._interval
            average = float(np.sum(masses * losses))
            mean += count * average
            variance += count * float(np.sum(masses * (losses - average) ** 2))
        return mean, max(math.sqrt(variance), self._interval)

    def _tilt_for(self, epsilon: float) -> float:
        """Return a tilt >= 0 that makes `epsilon` the mean, or the mean a little less.

        Never more: rare huge losses can take over just beyond, and drown everything else.
        """
        largest = 100.0 / self._interval
        if self._centre(0.0)[0] >= epsilon:
            return 0.0
        tilt = largest_satisfying(
            lambda tilt: self._centre(tilt)[0] <= epsilon, 0.0, largest, relative=1e-2
        )
        if tilt == 0.0:
            return 0.0
        rung = math.floor(math.log(tilt, _RUNG))
        # Such losses can also stretch the window beyond what a transform can hold.
        while self._window(_RUNG**rung)[1] > _COMFORTABLE and _RUNG**rung > 1e-3 * tilt:
            rung -= 1
        return float(_RUNG**rung)

    def _chernoff_epsilon(self, delta: float) -> float:
        """Return an epsilon slightly above the answer, where Chernoff's bound is `delta`."""
        nats = -math.log(delta)

        def bound(log_tilt: float) -> float:
            return (self._log_moment(math.exp(log_tilt)) + nats) / math.exp(log_tilt)

        low, high = math.log(1e-6), math.log(100.0 / self._interval)
        return max(minimise_scalar_bounded(bound, low, high, steps=40)[1], self._interval)
