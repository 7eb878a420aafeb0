"""How often a kernel must be applied until its output is private enough."""

from __future__ import annotations

from dataclasses import dataclass

from wane import arguments
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import Guarantee
from wane.theorems.kernel.amplification import ApproximateDP, checked_target, worst_profile
from wane.theorems.kernel.amplifying import ContinuousKernel
from wane.theorems.kernel.kernels import MarkovKernel

MOST = 1 << 40
"""Powers beyond are not looked at."""


@dataclass(frozen=True, eq=False)
class CalibratedPower:
    """The smallest power found that meets a target.

    Attributes:
        power: how often to apply the kernel.
        kernel: that power of it.
        delta: at the epsilon asked for, never above the delta asked for.
    """

    power: int
    kernel: MarkovKernel | ContinuousKernel
    delta: float


def calibrated_power(
    kernel: MarkovKernel | ContinuousKernel,
    before: Guarantee | tuple[float, float],
    *,
    epsilon: float,
    delta: float,
    most: int = MOST,
) -> CalibratedPower:
    """The smallest power after which what was `before` is (epsilon, delta)-private.

    `before` is a guarantee, or an epsilon and a delta of which nothing else is known; then the
    answer is exact for the worst such input, up to rounding.  One more application is
    post-processing, so that delta only falls; powers are doubled until the target is met, and
    the answer's own delta is what is returned.
    """
    goal = checked_target(epsilon, delta)
    most = arguments.whole("most", most, least=1)
    if isinstance(kernel, ContinuousKernel):
        return _searched(kernel, goal, _delta_before(before, goal.epsilon), most)
    if kernel.inputs != kernel.outputs:
        raise InvalidDescription(
            f"kernel must be square to be repeated, got {kernel.inputs} x {kernel.outputs}."
        )
    total = _delta_before(before, goal.epsilon)
    squares, known = [kernel], _after(kernel, goal.epsilon, total)
    while known > goal.delta:
        if 1 << len(squares) > most:
            raise Unreachable(
                f"no power up to {most} meets delta {goal.delta:g} at epsilon {goal.epsilon:g}: "
                f"delta {known:g} is left; a kernel that keeps part of its input has a limit"
            )
        squares.append(_squared(squares[-1]))
        known = _after(squares[-1], goal.epsilon, total)
    best, power = squares[-1], 1 << (len(squares) - 1)
    if len(squares) > 1:
        short, steps = squares[-2], power // 2  # this many are not enough
        for place in range(len(squares) - 3, -1, -1):
            tried = short.then(squares[place])
            found = _after(tried, goal.epsilon, total)
            if found > goal.delta:
                short, steps = tried, steps + (1 << place)
            else:
                best, power, known = tried, steps + (1 << place), found
    return CalibratedPower(power, best, known)


def _searched(
    kernel: ContinuousKernel, goal: ApproximateDP, total: float, most: int
) -> CalibratedPower:
    """The smallest power found by halving: powers of a continuous kernel cost no products."""

    def after(times: int) -> float:
        return _after(kernel.power(times), goal.epsilon, total)

    high = 1
    while after(high) > goal.delta:
        if high >= most:
            raise Unreachable(
                f"no power up to {most} is known to meet delta {goal.delta:g} at epsilon "
                f"{goal.epsilon:g}: delta {after(high):g} is left"
            )
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if after(middle) <= goal.delta else (middle, high)
    return CalibratedPower(high, kernel.power(high), after(high))


def _squared(kernel: MarkovKernel) -> MarkovKernel:
    return kernel.settled(2) or kernel.then(kernel)


def _delta_before(before: Guarantee | tuple[float, float], epsilon: float) -> float:
    if isinstance(before, Guarantee):
        return before.delta(epsilon)
    return worst_profile(epsilon, *ApproximateDP(*before))


def _after(kernel: MarkovKernel | ContinuousKernel, epsilon: float, total: float) -> float:
    return kernel.amplified_profile([epsilon], [total])[0]
