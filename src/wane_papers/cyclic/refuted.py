"""Published bounds on cyclic clipped descent that exact instances exceed.

Each instance returns what is true and what the printed statement claims, so that a regression can
show the statement failing.  Printed: Kong and Ribero, "Privacy of the last iterate in
cyclically-sampled DP-SGD on nonconvex composite losses" (2024), in whose words lambda is the step
size, C the clipping bound, b the batch size, l the number of batches, -m and M the bounds of the
Hessian, and sigma the noise added to the iterate.  Losses are scaled so that C/b and sigma are one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane.arrays import Array
from wane.audit.linear import exact_mu, linear_step
from wane.errors import InvalidDescription
from wane_papers.cyclic.printed import printed_lipschitz, printed_renyi

PLACE_OF_LIPSCHITZ = "Proposition 3.4(b)"
PLACE_OF_RENYI = "Theorem 4.5, equation (21)"


@dataclass(frozen=True)
class Counterexample:
    """An exact value above the printed bound for it.

    Attributes:
        name: what goes wrong.
        place: the printed statement.
        exact: the true value.
        claimed: the printed upper bound.
    """

    name: str
    place: str
    exact: float
    claimed: float

    @property
    def ratio(self) -> float:
        """How many times the truth exceeds the claim."""
        return self.exact / self.claimed


def clip_jacobian(gradient: Array, hessian: Array, bound: float) -> Array:
    """The derivative of the clipped gradient: beyond the bound its length is frozen."""
    length = float(np.linalg.norm(gradient))
    if length <= bound:
        return hessian
    unit = gradient / length
    projector = np.eye(unit.size) - np.outer(unit, unit)
    return np.asarray(bound / length * projector @ hessian, dtype=float)


def clipped_step_expands(excess: float = 1.001) -> Counterexample:
    """A clipped gradient step on a convex quadratic moves two points apart (CE1).

    The loss x1^2/2 + excess*(4 x1 + 3 x2)/5 with C = 1 and step size 1/2, seen from the origin in
    the direction (3, 4)/5; as the excess falls to 1 the squared ratio rises to 1.1332.
    """
    if not excess > 1.0:
        raise InvalidDescription("the gradient must exceed the clipping bound: excess > 1")
    hessian = np.diag([1.0, 0.0])
    gradient = excess * np.array([0.8, 0.6])
    jacobian = np.eye(2) - 0.5 * clip_jacobian(gradient, hessian, 1.0)
    stretch = float(np.linalg.norm(jacobian @ np.array([0.6, 0.8])))
    claimed = printed_lipschitz(0.5, 0.0, 1.0)
    return Counterexample("clipped step expands", PLACE_OF_LIPSCHITZ, stretch, claimed)


def last_batch_has_no_cover(
    steps_per_epoch: int, shrinkage: float = 0.1, order: float = 2.0
) -> Counterexample:
    """A record of the last batch is followed by no further noise, wherever the bound starts (CE2).

    One epoch, losses zero except the differing record in the last batch, +C x and -C x; the prox
    shrinks by a factor.  No clipping is active and everything is linear and Gaussian.
    """
    quiet = linear_step([[shrinkage]], [0.0], noise_std=1.0)
    visit = linear_step([[shrinkage]], [2.0], noise_std=1.0)
    # The prox follows the noise, so it reaches a step as the factor of the next one.
    mu = exact_mu([quiet] * (steps_per_epoch - 1) + [visit])
    claimed = printed_renyi(order, 1.0, printed_lipschitz(0.5, 0.0, 1.0), *(steps_per_epoch,) * 2)
    exact = 0.5 * order * mu**2
    return Counterexample("last batch has no cover", PLACE_OF_RENYI, exact, claimed)


def unstable_batch(
    step_size: float, weak_convexity: float, smoothness: float, excess: float
) -> Array:
    """Four clipped records, balanced at the origin, whose averaged step expands one direction.

    Two mirror images of x'Hx/2 + g'x and x'Hx/2 - g'x with |g| = excess*C; H has eigenvalues -m
    and M and is turned so that clipping leaves the most negative numerical range.
    """
    m, big = weak_convexity, smoothness
    centre, radius = 0.5 * (big - m), 0.5 * (big + m)
    cosine = radius / (2.0 * centre)
    if not 0.0 < cosine < 1.0:
        raise InvalidDescription("clipping harms only if smoothness exceeds 3 weak convexities")
    along = np.array([math.sqrt(1.0 - cosine**2), cosine])
    axis = np.array([0.0, 1.0]) - along
    axis /= np.linalg.norm(axis)
    hessian = centre * np.eye(2) + radius * (2.0 * np.outer(axis, axis) - np.eye(2))
    gradient = excess * np.array([-cosine, along[0]])
    mirror = np.diag([-1.0, 1.0])
    records = [
        (sign * flip @ gradient, flip @ hessian @ flip)
        for sign in (1.0, -1.0)
        for flip in (np.eye(2), mirror)
    ]
    mean = sum((clip_jacobian(g, h, 1.0) for g, h in records), start=np.zeros((2, 2))) / 4.0
    return np.asarray(np.eye(2) - step_size * mean, dtype=float)


def clipping_remembers(
    steps_per_epoch: int,
    *,
    step_size: float = 0.5,
    weak_convexity: float = 0.0,
    smoothness: float = 1.0,
    excess: float = 1.01,
) -> Counterexample:
    """Clipping makes an unstable mode that keeps the first batch in memory (CE3).

    One epoch; the differing record is in the first batch, the best position there is, and shifts
    along the unstable mode; all other batches consist of the four balanced records.  The value
    is that of the dynamics linearised at the balance, the limit of small noise.
    """
    jacobian = unstable_batch(step_size, weak_convexity, smoothness, excess)
    visit = linear_step(jacobian, [0.0, 2.0], noise_std=1.0)
    quiet = linear_step(jacobian, [0.0, 0.0], noise_std=1.0)
    mu = exact_mu([visit] + [quiet] * (steps_per_epoch - 1))
    lipschitz = printed_lipschitz(step_size, weak_convexity, smoothness)
    # At order two the Renyi divergence of two Gaussians is mu squared; the ratio has no order.
    claimed = printed_renyi(2.0, 1.0, lipschitz, steps_per_epoch, steps_per_epoch)
    return Counterexample("clipping remembers", PLACE_OF_RENYI, mu**2, claimed)


def weakly_convex_clipping_remembers(steps_per_epoch: int = 200) -> Counterexample:
    """The same against the printed constant for weakly convex losses, which exceeds one (CE5)."""
    return clipping_remembers(steps_per_epoch, step_size=0.495, weak_convexity=0.01)
