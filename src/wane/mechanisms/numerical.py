"""Release through a diffusion of one's own: its privacy is computed from its numerical kernel."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from wane.describe import check
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import RenyiDP
from wane.mechanisms import intrinsic
from wane.mechanisms.randomness import generator
from wane.mechanisms.spectral import Coefficient, ReflectedDiffusion
from wane.mechanisms.statistics import Outside
from wane.mechanisms.worst_pair import WorstPair
from wane.numerics.rounding import inflate

Array = NDArray[np.float64]

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
    `time`.  Every such diffusion is symmetric.  Its kernel is numerical, with an estimated error
    by which all divergences are raised; where the estimate is too large, they are refused.
    """

    drift: Coefficient
    spread: Coefficient
    low: float
    high: float
    sensitivity: float
    time: float

    def __post_init__(self) -> None:
        check.real("sensitivity", self.sensitivity, above=0.0)
        check.real("time", self.time, above=0.0)
        if not callable(self.drift) or not callable(self.spread):
            raise InvalidDescription("drift and spread must be functions of an array.")
        self.process  # noqa: B018  (checks the interval)

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

    def renyi_between(self, order: float, first: float, second: float) -> float:
        """The Renyi divergence of the laws from two starts, raised by the kernel's error."""
        order = check.real("order", order, above=1.0)
        starts = np.array([self._start("first", first), self._start("second", second)])
        values = []
        for nodes, weights in ((self.process.nodes, self.process.weights), self._finer):
            ratios = self.process.ratio(self.time, starts, nodes)
            values.append(float(self._pair.divergences(order, ratios[:1], ratios[1:], weights)[0]))
        return inflate(max(values) + abs(values[0] - values[1]), 1e-12)

    def renyi(self, order: float) -> float:
        """A bound on the divergence of every adjacent pair: the best of what can be certified.

        Raises `NoTheoremApplies` if the kernel is not resolved at this time.
        """
        order = check.real("order", order, above=1.0)
        direct = self._curve_at(order)
        if math.isnan(self._verified):
            return direct
        return min(direct, inflate(order * self._verified, 1e-12))

    @cached_property
    def guarantee(self) -> RenyiDP:
        """The Renyi curve of the release."""
        self.kernel_error  # noqa: B018  (refuses early)
        return RenyiDP(self.renyi, max_order=ORDERS[-1], label="numerical kernel")

    @cached_property
    def intrinsic_sensitivity(self) -> float:
        """A bound on R/order for all orders and adjacent pairs, once the laws were seen to merge.

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

    def intrinsic_between(self, first: float, second: float) -> float:
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
        insecure_rng: np.random.Generator | None = None,
    ) -> float:
        """One private release: a draw from the numerical law that starts at the statistic."""
        value = float(statistic)
        if outside is Outside.PROJECT and math.isfinite(value):
            value = min(max(value, self.low), self.high)
        if not self.low <= value <= self.high:
            raise InvalidDescription(
                "statistic must lie in [low, high]; pass outside=Outside.PROJECT to move it there."
            )
        self.kernel_error  # noqa: B018
        series = self.process.cumulative(self.time, value)
        total = float(legendre.legval(1.0, series))
        level = generator(insecure_rng).random() * total
        low, high = -1.0, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = float(legendre.legval(middle, series)) < level
            low, high = (middle, high) if below else (low, middle)
        return self.low + (self.high - self.low) * 0.5 * (low + 1.0)

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
            return self.intrinsic_sensitivity
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
        return check.real(name, value, least=self.low, most=self.high)
