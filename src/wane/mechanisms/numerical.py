"""Release through a diffusion of one's own, run as a chain whose privacy is proven.

What is released is the end of an Euler chain with reflection; its guarantee follows from declared
Lipschitz constants alone.  The numerical kernel of the diffusion itself gives sharper numbers that
rest on estimated errors: they are called estimates, and nothing is certified by them.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.diffusion import Outside, require_enough_noise
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP
from wane.mechanisms import intrinsic
from wane.mechanisms.coupling import constant_chain, gradient_contraction
from wane.mechanisms.spectral import Coefficient, ReflectedDiffusion
from wane.mechanisms.worst_pair import WorstPair
from wane.numerics.rounding import inflate
from wane.randomness import noise_generator
from wane.run.grid import grid_below, to_grid
from wane.run.statistics import checked_statistic
from wane.theorems.kernel.pairs import UNIT

ORDERS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
"""Orders at which divergences are computed; between them (order - 1) R is convex."""

RESOLVED = 1e-3
"""The kernel is trusted where its estimated relative error is below this."""

_SCAN = 97
_ZOOMS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class DiffusionMechanism:
    """A bounded number released as the position of a reflected diffusion that starts there.

    dX = drift(X) dt + sqrt(2) spread(X) dW on [low, high], reflected at both ends and stopped at
    `time`, run as a chain of `steps` equal Euler steps.

    Attributes:
        drift, spread: functions of an array of positions.
        low, high: the ends of the interval.
        sensitivity: the largest distance between the statistics of adjacent data sets.
        time: when the diffusion is stopped.
        drift_lipschitz: `|drift(x) - drift(y)| <= drift_lipschitz |x - y|` on [low, high].
            Values at finitely many points do not show what lies between them, so there is no
            guarantee unless this is declared.
        drift_contraction: `(drift(x) - drift(y)) (x - y) <= -drift_contraction (x - y)^2`;
            undeclared, it is `-drift_lipschitz`.
        spread_lipschitz: the same constant of `spread`; a guarantee needs 0.0, a constant spread.
        steps: number of steps of the chain.
    """

    drift: Coefficient
    spread: Coefficient
    low: float
    high: float
    sensitivity: float
    time: float
    drift_lipschitz: float | None = None
    drift_contraction: float | None = None
    spread_lipschitz: float | None = None
    steps: int = 256

    def __post_init__(self) -> None:
        arguments.real("sensitivity", self.sensitivity, above=0.0)
        arguments.real("time", self.time, above=0.0)
        arguments.whole("steps", self.steps, least=1, most=10**6)
        for name in ("drift_lipschitz", "spread_lipschitz"):
            if getattr(self, name) is not None:
                arguments.real(name, getattr(self, name), least=0.0)
        self._check_contraction()
        if not callable(self.drift) or not callable(self.spread):
            raise InvalidDescription("drift and spread must be functions of an array.")
        self.process  # noqa: B018  (checks the interval)

    def _check_contraction(self) -> None:
        kappa, slope = self.drift_contraction, self.drift_lipschitz
        if kappa is None:
            return
        if slope is None:
            raise InvalidDescription(
                "drift_lipschitz must be given with drift_contraction, got None."
            )
        arguments.real("drift_contraction", kappa, least=-slope, most=slope)

    @cached_property
    def guarantee(self) -> GaussianDP:
        """The Gaussian guarantee of the chain that `release` runs; use it to certify a release.

        Claim.  A step is fold(x + eta drift(x) + N(0, 2 eta spread^2)), eta = time/steps, and
        folding into the interval moves no two points apart.  With c the Lipschitz constant of
        x + eta drift(x), this is `coupling.constant_chain`, exact for linear drifts on the line.

        Raises `NoTheoremApplies` if `drift_lipschitz` and `spread_lipschitz` are not declared, or
        the spread is not constant.
        """
        if self.drift_lipschitz is None or self.spread_lipschitz is None:
            raise NoTheoremApplies(
                "drift_lipschitz and spread_lipschitz must be declared for a guarantee, got None; "
                "values of drift and spread at nodes prove nothing about what lies between them"
            )
        if self.spread_lipschitz > 0.0:
            raise NoTheoremApplies(
                f"spread_lipschitz must be 0 (a constant spread) for a guarantee, got "
                f"{self.spread_lipschitz:g}; change the coordinate so that the spread is constant"
            )
        self._refuted()
        eta, slope = self.time / self.steps, self.drift_lipschitz
        least = -slope if self.drift_contraction is None else self.drift_contraction
        exact = constant_chain(
            self.sensitivity,
            steps=self.steps,
            lipschitz=gradient_contraction(eta, strong_convexity=least, smoothness=slope),
            noise_std=self._step_std * (1.0 - 4.0 * UNIT),
        )
        return GaussianDP(inflate(exact.mu + self._rounding_charge(eta, slope), 4.0 * UNIT))

    def _rounding_charge(self, eta: float, slope: float) -> float:
        """What the roundings of the steps may add to mu.

        A step is off by at most e = 32 u times the largest number in it.  Two chains are then 2 e
        farther apart after each step; paid for at once, that adds 2 e/std to the payment of every
        step, and sqrt(steps) times as much to mu by the triangle inequality.
        """
        width = self.high - self.low
        first = abs(float(self.process.sampled("drift", np.array([self.low]))[0]))
        largest = max(abs(self.low), abs(self.high)) + 3.0 * width + eta * (first + slope * width)
        return 64.0 * UNIT * largest * math.sqrt(self.steps) / self._step_std

    def _refuted(self) -> None:
        """Refuse declared constants that the coefficients contradict at the nodes."""
        points = np.linspace(self.low, self.high, 4097)
        rise = np.diff(self.process.sampled("drift", points))
        allowed = (self.drift_lipschitz or 0.0) * (points[1] - points[0])
        noise = 1e-12 * (1.0 + float(np.max(np.abs(rise), initial=0.0)))
        if np.any(np.abs(rise) > allowed * (1.0 + 1e-9) + noise):
            steepest = float(np.max(np.abs(rise))) / (points[1] - points[0])
            raise InvalidDescription(
                f"drift_lipschitz must be at least {steepest:.6g}, the steepest slope that was "
                f"seen, got {self.drift_lipschitz:g}."
            )
        kappa = self.drift_contraction
        if kappa is not None and np.any(rise > -kappa * (points[1] - points[0]) + noise):
            raise InvalidDescription(
                f"drift_contraction must hold everywhere on [low, high], got {kappa:g}; "
                "the drift falls less steeply in places."
            )
        spread = self.process.sampled("spread", points, positive=True)
        if np.ptp(spread) > 0.0:
            raise InvalidDescription(
                "spread_lipschitz must not be 0 for a spread that varies over [low, high]."
            )

    @property
    def _step_std(self) -> float:
        """Deviation of the noise of one step."""
        spread = self.process.sampled("spread", np.array([self.low]), positive=True)
        return math.sqrt(2.0 * self.time / self.steps) * float(spread[0])

    @cached_property
    def process(self) -> ReflectedDiffusion:
        """The diffusion itself."""
        return ReflectedDiffusion(self.drift, self.spread, self.low, self.high)

    @cached_property
    def kernel_error(self) -> float:
        """Four times the estimated error of the kernel's density ratio, if it is resolved."""
        doubt = 4.0 * self.process.error(self.time)
        probes = np.linspace(self.low, self.high, _SCAN)
        smallest = float(np.min(self.process.ratio(self.time, probes, probes)))
        if not doubt <= RESOLVED * smallest:
            raise NoTheoremApplies(
                f"the kernel at time {self.time:g} is smaller in places ({smallest:.3g}) than its "
                f"numerical error allows ({doubt:.3g}); choose a later time"
            )
        return doubt

    def estimated_renyi_between(self, order: float, first: float, second: float) -> float:
        """An estimate of the Renyi divergence of the diffusion from two starts."""
        order = arguments.real("order", order, above=1.0)
        starts = np.array([self._start("first", first), self._start("second", second)])
        values = []
        for nodes, weights in ((self.process.nodes, self.process.weights), self._finer):
            ratios = self.process.ratio(self.time, starts, nodes)
            values.append(float(self._pair.divergences(order, ratios[:1], ratios[1:], weights)[0]))
        return inflate(max(values) + abs(values[0] - values[1]), 1e-12)

    def estimated_renyi(self, order: float) -> float:
        """An estimate, from above, of the diffusion's divergence over all adjacent pairs.

        Raises `NoTheoremApplies` if the kernel is not resolved at this time.
        """
        order = arguments.real("order", order, above=1.0)
        direct = self._curve_at(order)
        if math.isnan(self._verified):
            return direct
        return min(direct, inflate(order * self._verified, 1e-12))

    @cached_property
    def estimated_intrinsic_sensitivity(self) -> float:
        """An estimate of R/order for all orders and adjacent pairs, once the laws have merged.

        Claim.  R(t)/order <= D^2 * integral over s > t of sup over x, y of
        spread(y)^2 (d/dx d/dy log h_s(x, y))^2, with D the sensitivity.  Refused if the laws have
        not merged by the horizon.
        """
        self.kernel_error  # noqa: B018
        reach = min(self.sensitivity, self.high - self.low)
        grid = np.linspace(self.low, self.high, _SCAN)
        squared = self.process.squared_spread_at(grid)

        def rate(s: float) -> float:
            h = self.process.ratio(s, grid, grid)
            by_end = self.process.ratio_slope(s, grid, grid) / h
            mixed = self.process.ratio_mixed(s, grid, grid) / h - by_end.T * by_end
            return 1.02 * reach * reach * float(np.max(squared * mixed * mixed))

        return intrinsic.intrinsic_sensitivity(
            rate,
            lambda s: self._remaining(s, grid, grid),
            time=self.time,
            horizon=self._horizon,
            precision=1e-3,
        )

    def estimated_intrinsic_between(self, first: float, second: float) -> float:
        """The intrinsic sensitivity of one pair of starting points, once their laws have merged."""
        self.kernel_error  # noqa: B018
        starts = np.array([self._start("first", first), self._start("second", second)])
        return intrinsic.intrinsic_sensitivity(
            lambda s: self._pair_rate(s, starts),
            lambda s: self._remaining(s, starts, np.linspace(self.low, self.high, _SCAN)),
            time=self.time,
            horizon=self._horizon,
        )

    def release(
        self,
        statistic: float,
        *,
        outside: Outside = Outside.REFUSE,
        seed_voids_privacy: int | None = None,
    ) -> float:
        """One private release: the end of the chain that `guarantee` speaks of."""
        value = float(checked_statistic(statistic, None, 1, Outside.REFUSE, charge=0.0))
        if outside is Outside.PROJECT and math.isfinite(value):
            value = min(max(value, self.low), self.high)
        if not self.low <= value <= self.high:
            raise InvalidDescription(
                "statistic must lie in [low, high]; pass outside=Outside.PROJECT to move it there."
            )
        largest = max(abs(self.low), abs(self.high))
        require_enough_noise(self._step_std, largest, "take fewer steps or move the interval.")
        noise = noise_generator(seed_voids_privacy).standard_normal(self.steps) * self._step_std
        eta, position = self.time / self.steps, np.array([value])
        for push in noise:
            moved = position + eta * self.process.sampled("drift", position) + push
            position = self._folded(moved)
        # Multiples of a power of two: lower bits would tell from which statistic they were made.
        shown = to_grid(position, grid_below(self._step_std))
        return float(np.clip(shown, self.low, self.high)[0])

    def _folded(self, points: Array) -> Array:
        """The points reflected at both ends until they lie in the interval."""
        width = self.high - self.low
        place = np.abs((points - self.low + width) % (2.0 * width) - width)
        return np.asarray(self.low + np.minimum(place, width))

    @cached_property
    def _pair(self) -> WorstPair:
        return WorstPair(self.process, self.time, self.kernel_error)

    @cached_property
    def _finer(self) -> tuple[Array, Array]:
        return self.process.finer_rule()

    @cached_property
    def _divergences(self) -> dict[float, float]:
        return {}

    def _curve_at(self, order: float) -> float:
        """Below the first order by monotonicity, up to the last by convexity; beyond, no claim."""
        if order <= ORDERS[0] or order in ORDERS:
            return self._computed(max(order, ORDERS[0]))
        if order > ORDERS[-1]:
            return math.inf
        place = bisect.bisect_left(ORDERS, order)
        below, above = ORDERS[place - 1], ORDERS[place]
        low, high = (below - 1.0) * self._computed(below), (above - 1.0) * self._computed(above)
        share = (order - below) / (above - below)
        return inflate((low + share * (high - low)) / (order - 1.0), 1e-13)

    def _computed(self, order: float) -> float:
        if order not in self._divergences:
            self._divergences[order] = self._pair.largest(order, self.sensitivity)
        return self._divergences[order]

    @cached_property
    def _verified(self) -> float:
        """The intrinsic sensitivity, or nan if its end condition does not hold."""
        try:
            return self.estimated_intrinsic_sensitivity
        except NoTheoremApplies:
            return math.nan

    @cached_property
    def _horizon(self) -> float:
        return self.time + 16.0 / self.process.gap

    def _remaining(self, time: float, starts: Array, ends: Array) -> float:
        """Half the square of the largest log ratio, which bounds R/order."""
        h = self.process.ratio(time, starts, ends)
        span = float(np.max(h.max(axis=0) / h.min(axis=0) - 1.0))
        return 0.5 * (1.02 * span + 8.0 * self.process.error(time)) ** 2

    def _pair_rate(self, time: float, starts: Array) -> float:
        """Sup over y of spread^2 times the squared difference of the two scores."""
        scores = self.process.scores(time, starts)
        points, best = np.linspace(self.low, self.high, _SCAN), 0.0
        for _ in range(_ZOOMS):
            both = scores(points)
            values = self.process.squared_spread_at(points) * (both[0] - both[1]) ** 2
            place = int(np.argmax(values))
            best = max(best, float(values[place]))
            around = points[max(place - 1, 0)], points[min(place + 1, points.size - 1)]
            points = np.linspace(*around, 33)
        return best

    def _start(self, name: str, value: float) -> float:
        return arguments.real(name, value, least=self.low, most=self.high)
