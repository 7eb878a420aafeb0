"""What a Langevin chain is, as frozen data: target, dynamics, step size, steps, initial law.

The target has density proportional to exp(-F/temperature).  All constants are those of the
potential F, so that a description says what runs:

    overdamped    x' = x - h grad F(x) + sqrt(2 h temperature) N(0, I)
    underdamped   dv = -friction v dt - inverse_mass grad F dt + sqrt(2 friction v0) dB,  dx = v dt,

with v0 = inverse_mass * temperature the stationary variance of the velocity.  The underdamped
equation is solved exactly over each step with the gradient frozen at its start.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from wane import arguments
from wane.errors import InvalidDescription

MOST_STEPS = 10**15
_DECLARE = "declare a proven constant; nothing is assumed"


@dataclass(frozen=True)
class Target:
    """A potential F on R^dimension, by its declared constants.

    Attributes:
        strong_convexity: F - (strong_convexity/2)|x|^2 is convex.  Zero for a convex potential;
            -smoothness is always true of a smooth one.
        smoothness: the gradient of F is Lipschitz with this constant.
        dimension: of the state.
        laplacian_lipschitz: the Laplacian of F is Lipschitz with this constant (zero for a
            quadratic); None where nobody declared one.  A Hessian with jumps has none.
        gradient_bound: the gradient's norm never exceeds this; None where it is unbounded or
            nobody declared it.
    """

    strong_convexity: float
    smoothness: float
    dimension: int
    laplacian_lipschitz: float | None = None
    gradient_bound: float | None = None

    def __post_init__(self) -> None:
        """Refuse what was not declared or cannot be."""
        L = arguments.real("smoothness", self.smoothness, above=0.0, cure=_DECLARE)
        arguments.real("strong_convexity", self.strong_convexity, least=-L, most=L, cure=_DECLARE)
        arguments.whole("dimension", self.dimension, least=1)
        for name in ("laplacian_lipschitz", "gradient_bound"):
            value = getattr(self, name)
            if value is not None:
                arguments.real(name, value, least=0.0)
        if self.gradient_bound is not None and self.strong_convexity > 0.0:
            raise InvalidDescription(
                f"gradient_bound must be None for a strongly convex potential on the whole space, "
                f"got {self.gradient_bound:g}; its gradient is unbounded."
            )

    @property
    def condition_number(self) -> float:
        """Smoothness over strong convexity; infinite without strong convexity."""
        m = self.strong_convexity
        return self.smoothness / m if m > 0.0 else math.inf


@dataclass(frozen=True)
class PointStart:
    """The chain starts at one point, at most `distance` from the minimiser of the potential.

    `distance` may be left None: then no distance to the target is certified.  The norm of the
    gradient at the start over `strong_convexity` is a valid bound (`PointStart.near`), but read
    from private data it is a release: use a bound that holds for all data.

    Attributes:
        distance: to the minimiser of the potential, for every data set.
        target: the potential that the distance was computed for; a chain on another refuses it.
            None for a distance that is declared of whatever chain it stands in.
    """

    distance: float | None = None
    target: Target | None = None

    @classmethod
    def near(cls, target: Target, gradient_norm: float) -> PointStart:
        """Return the start at a point where the gradient of this target is at most so long."""
        return cls(distance_bound(target, gradient_norm), target)

    def __post_init__(self) -> None:
        """Refuse a negative distance."""
        if self.distance is not None:
            arguments.real("distance", self.distance, least=0.0)

    @property
    def variance(self) -> float:
        """A point has none."""
        return 0.0


@dataclass(frozen=True)
class NormalStart:
    """The chain starts from N(centre, variance I), the centre within `distance` of the minimiser.

    `distance` may be left None: then no distance to the target is certified.  `target` is the
    potential that it was computed for, as for `PointStart`.
    """

    variance: float
    distance: float | None = None
    target: Target | None = None

    def __post_init__(self) -> None:
        """Refuse a negative distance or no variance."""
        arguments.real("variance", self.variance, above=0.0, cure="use PointStart for a point")
        if self.distance is not None:
            arguments.real("distance", self.distance, least=0.0)


InitialLaw = PointStart | NormalStart


def distance_bound(target: Target, gradient_norm: float) -> float:
    """The minimiser is at most |grad F(x)| / strong_convexity away from x."""
    m = arguments.real("strong_convexity", target.strong_convexity, above=0.0)
    norm = arguments.real("gradient_norm", gradient_norm, least=0.0)
    return norm / m * (1.0 + 4e-16)


@dataclass(frozen=True)
class Overdamped:
    """A chain of `steps` explicit Euler steps of overdamped Langevin dynamics.

    A step size of 2/smoothness or more is refused: there the chain runs away from a quadratic.
    """

    target: Target
    step_size: float
    steps: int
    start: InitialLaw = field(default_factory=PointStart)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an unstable step size, naming the largest stable one."""
        _check_common(self)
        _check_stable(self.step_size, largest_overdamped_step(self.target))


@dataclass(frozen=True)
class Underdamped:
    """A chain of `steps` steps of underdamped Langevin dynamics, exact for the frozen gradient.

    Velocities start from their stationary law N(0, inverse_mass * temperature I).  A step size at
    which the chain runs away from some quadratic of the class is refused.
    """

    target: Target
    step_size: float
    steps: int
    friction: float
    inverse_mass: float = 1.0
    start: InitialLaw = field(default_factory=PointStart)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an unstable step size, naming the largest stable one."""
        _check_common(self)
        arguments.real("friction", self.friction, above=0.0)
        arguments.real("inverse_mass", self.inverse_mass, above=0.0)
        most = largest_underdamped_step(self.target, self.friction, self.inverse_mass)
        _check_stable(self.step_size, most)

    @property
    def velocity_variance(self) -> float:
        """The stationary variance of each coordinate of the velocity."""
        return self.inverse_mass * self.temperature


@dataclass(frozen=True)
class Diffusion:
    """Continuous overdamped dynamics dx = -grad F dt + sqrt(2 temperature) dB, run for `time`."""

    target: Target
    time: float
    start: InitialLaw = field(default_factory=PointStart)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a time that is not positive."""
        check_start(self.target, self.start)
        arguments.real("time", self.time, above=0.0)
        arguments.real("temperature", self.temperature, above=0.0)


Chain = Overdamped | Underdamped


def largest_overdamped_step(target: Target) -> float:
    """The largest double below 2/smoothness, the stable step sizes."""
    limit = 2.0 / target.smoothness
    while not limit * target.smoothness < 2.0:
        limit = math.nextafter(limit, 0.0)
    return limit


def largest_underdamped_step(target: Target, friction: float, inverse_mass: float) -> float:
    """The largest step size at which both eigenvalues of every quadratic's step are inside one.

    The step's matrix on a quadratic with curvature l has trace and determinant affine in l, so
    that it is stable for all l up to the smoothness if it is for the smoothness itself.
    """
    # in units of time 1/friction only this number is left
    stiffness = inverse_mass * target.smoothness / friction**2

    def stable(h: float) -> bool:
        lost = -math.expm1(-h)
        kick = h - lost if h > 0.1 else h * h / 2.0 * (1.0 - h / 3.0 * (1.0 - h / 4.0))
        excess = stiffness * (lost * lost - (1.0 - lost) * kick) - lost  # determinant minus one
        flip = 2.0 * (2.0 - lost) + stiffness * (lost * lost - (2.0 - lost) * kick)
        return excess < 0.0 < flip

    # tiny steps are stable; beyond 4/stiffness + 4 one eigenvalue is below minus one
    low, high = 1e-6 / (1.0 + stiffness), 8.0 / stiffness + 8.0
    while high - low > 1e-12 * high:
        wide = low < 0.5 * high  # then halve the orders of magnitude
        middle = math.sqrt(low) * math.sqrt(high) if wide else low + 0.5 * (high - low)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low / friction


def _check_common(chain: Overdamped | Underdamped) -> None:
    check_start(chain.target, chain.start)
    arguments.real("step_size", chain.step_size, above=0.0)
    arguments.whole("steps", chain.steps, least=1, most=MOST_STEPS)
    arguments.real("temperature", chain.temperature, above=0.0)


def check_start(target: Target, start: InitialLaw) -> None:
    """Refuse a start whose distance was computed for another potential."""
    arguments.kind("target", target, (Target,))
    arguments.kind("start", start, (PointStart, NormalStart))
    if start.target is not None and start.target != target:
        raise InvalidDescription(
            f"start must be one of this target, got a distance of {start.distance} that was "
            "computed for another; compute it for this one."
        )


def _check_stable(step_size: float, largest: float) -> None:
    if step_size > largest:
        raise InvalidDescription(
            f"step_size must be at most {largest!r}, the largest stable one for this smoothness, "
            f"got {step_size:g}; lower step_size."
        )


class Direction(enum.Enum):
    """Which of the two laws comes first in the divergence D(first || second)."""

    CHAIN_FIRST = "D(chain || reference)"
    REFERENCE_FIRST = "D(reference || chain)"


class Reference(enum.Enum):
    """The law the chain is compared with."""

    TARGET = "the target"
    DIFFUSION = "the continuous dynamics from the same start"


Dynamics = Overdamped | Underdamped | Diffusion


@dataclass(frozen=True)
class Question:
    """One divergence of one chain.

    Attributes:
        chain: the dynamics; for the underdamped the law is that of position and velocity.
        order: Renyi order; one asks for the Kullback-Leibler divergence.
        direction: which law comes first.
        reference: the law it is compared with.
    """

    chain: Dynamics
    order: float
    direction: Direction
    reference: Reference = Reference.TARGET

    def __post_init__(self) -> None:
        """Refuse orders below one."""
        arguments.kind("chain", self.chain, (Overdamped, Underdamped, Diffusion))
        arguments.real("order", self.order, least=1.0)
        arguments.kind("direction", self.direction, (Direction,))
        arguments.kind("reference", self.reference, (Reference,))
