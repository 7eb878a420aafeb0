"""Judge whether a declared constant is true of concrete losses: refuted, proven, or open.

The definitions are those of `wane.describe.constants`; here is, for each of them, a predicate.  It
takes the description that declares the constant and what it is claimed of, and reads nothing else:
no theorem, and no other package's opinion of what the constant means.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from wane.arrays import Array
from wane.audit.concrete import Family
from wane.audit.suprema import (
    Enclosure,
    clip,
    furthest_contributions,
    height_at_origin,
    holder_quotient,
    laplacian_quotient,
    largest_derivative,
    least_curvature,
    least_dissipation,
    longest_contribution,
    range_of_values,
)
from wane.describe import LossForm, Objective

ROUNDING = 1e-13
"""How far above its exact value, relative to itself, a bound may have been rounded."""
SAME = 1e-9
"""Relative difference below which two vectors that were computed on two ways are the same."""
ULPS = 1e-15
"""Rounding errors of a number, relative to it, where differences of near ones are looked at."""
NEAR = 1e-4
"""How far points are moved, relative to their length, to see how a map stretches."""
NODES = 200_001
"""Nodes between which a function of one number is looked at first."""
LOOKS = 3
"""How often it is looked at, closer each time, where it was steepest."""


class Truth(enum.Enum):
    """The judgement of a declared constant: refuted by a witness, proven, or open."""

    REFUTED = "refuted"
    PROVEN = "proven"
    OPEN = "open"


Predicate = Callable[[Any, Any], Truth]


class Start(NamedTuple):
    """The start of a chain, and a global minimiser of its potential."""

    centre: Array
    minimiser: Array


def at_most(enclosure: Enclosure, bound: float) -> Truth:
    """Return what an enclosed supremum says of a bound."""
    slack = ROUNDING * abs(bound)
    if enclosure.lower > bound + slack:
        return Truth.REFUTED
    return Truth.PROVEN if enclosure.upper <= bound + slack else Truth.OPEN


def judge(objective: Objective, family: Family) -> dict[str, Truth]:
    """Return what is known of every constant that this objective declares of these losses."""
    return {
        field.name: PREDICATES[f"objective.{field.name}"](objective, family)
        for field in fields(objective)
        if getattr(objective, field.name) != field.default
    }


def _threshold(objective: Objective) -> float | None:
    return objective.gradient_bound if objective.clipped else None


def _known(holds: bool) -> Truth:
    """Return the judgement of a finite computation, which is its own proof."""
    return Truth.PROVEN if holds else Truth.REFUTED


def _unrefuted(holds: bool) -> Truth:
    """Return the judgement of points that agree, which prove nothing."""
    return Truth.OPEN if holds else Truth.REFUTED


def gradient_bound(objective: Objective, family: Family) -> Truth:
    """Judge whether no contribution is longer than declared."""
    bound = objective.gradient_bound
    assert bound is not None
    return at_most(longest_contribution(family, _threshold(objective)), bound)


def gradient_difference_bound(objective: Any, family: Family) -> Truth:
    """Judge whether no two contributions at one point are further apart than declared."""
    furthest = furthest_contributions(family, _threshold(objective))
    return at_most(furthest, objective.gradient_difference_bound)


def harmless(objective: Objective) -> bool:
    """Return whether clipping makes such a loss another loss, whose constants may be declared."""
    m = objective.strong_convexity
    radial = objective.form is LossForm.RADIAL and m is not None and m >= 0.0
    return objective.clipped and (
        objective.form is LossForm.GLM or objective.dimension == 1 or radial
    )


def _readings(objective: Objective) -> list[float | None]:
    """Return the thresholds: none, and the clamped loss's where clipping makes one."""
    return [None, objective.gradient_bound] if harmless(objective) else [None]


def _best(truths: Sequence[Truth]) -> Truth:
    for truth in (Truth.PROVEN, Truth.OPEN):
        if truth in truths:
            return truth
    return Truth.REFUTED


def smoothness(objective: Objective, family: Family) -> Truth:
    """Judge whether gradients are Lipschitz with the declared constant."""
    M = objective.smoothness
    assert M is not None
    return _best([at_most(largest_derivative(family, r), M) for r in _readings(objective)])


def strong_convexity(objective: Objective, family: Family) -> Truth:
    """Judge whether the losses that are as smooth as declared also curve as declared."""
    m, M = objective.strong_convexity, objective.smoothness
    assert m is not None
    readings = _readings(objective)
    if M is not None:
        smooth = [at_most(largest_derivative(family, r), M) for r in readings]
        fit = [r for r, truth in zip(readings, smooth, strict=True) if truth is not Truth.REFUTED]
        readings = fit or readings
    return _best([at_most(least_curvature(family, r), -m) for r in readings])


def _gradients(family: Family) -> list[Array]:
    """Return every loss's gradients at a few hundred points of the window."""
    low, high = family.window
    points = low + (high - low) * np.random.default_rng(0).random((400, family.dimension))
    if family.points is not None:
        points = np.vstack([points, family.points])
    return [loss.gradient(points) for loss in family.losses]


def _equal(one: Array, two: Array) -> bool:
    return bool(np.all(np.abs(one - two) <= SAME * (1.0 + np.abs(two))))


def _alike(one: Array, two: Array, sizes: Array) -> bool:
    """Return whether two arrays are the same but for rounding errors of their terms."""
    return bool(np.all(np.abs(one - two) <= 10.0 * ROUNDING * sizes + SAME * np.abs(two)))


def clipped(objective: Objective, family: Family) -> Truth:
    """Judge whether the run clips, or maps firmly nonexpansively into the ball."""
    run = family.contribution
    if run is None:
        return Truth.OPEN
    gradients = np.vstack(_gradients(family))
    contributions = run(gradients)
    if not objective.clipped:
        return _unrefuted(_equal(contributions, gradients))
    C = objective.gradient_bound
    assert C is not None
    if _equal(contributions, clip(gradients, C)):
        return Truth.OPEN
    change, before = contributions[1:] - contributions[:-1], gradients[1:] - gradients[:-1]
    squares = np.sum(change * change, axis=1)
    firm = squares <= np.sum(change * before, axis=1) * (1.0 + SAME) + SAME * SAME
    inside = np.linalg.norm(contributions, axis=1) <= C * (1.0 + ROUNDING)
    return _unrefuted(bool(np.all(firm) and np.all(inside)))


def form(objective: Objective, family: Family) -> Truth:
    """Judge the form: gradients of a GLM lie on a line, and a radial loss bends them lengthwise."""
    if objective.form is LossForm.GENERAL:
        return Truth.PROVEN
    if objective.form is LossForm.GLM:
        ranks = [np.linalg.svd(g, compute_uv=False) for g in _gradients(family)]
        return _unrefuted(all(len(s) < 2 or s[1] <= SAME * s[0] for s in ranks))
    low, high = family.window
    points = low + (high - low) * np.random.default_rng(0).random((400, family.dimension))
    for loss in family.losses:
        gradient = loss.gradient(points)
        bent = np.einsum("kij,kj->ki", loss.hessian(points), gradient)
        along = np.sum(bent * gradient, axis=1) / np.sum(gradient * gradient, axis=1)
        if not _equal(bent, along[:, None] * gradient):
            return Truth.REFUTED
    return Truth.OPEN


def ridge(objective: Objective, family: Family) -> Truth:
    """Judge whether every step adds the ridge times the iterate for no record."""
    if family.shared is None:
        return Truth.OPEN
    low, high = family.window
    points = low + (high - low) * np.random.default_rng(0).random((400, family.dimension))
    added = family.shared(points)
    return _unrefuted(_alike(added, objective.ridge * points, np.abs(added)))


def dimension(objective: Objective, family: Family) -> Truth:
    """Judge whether the losses are functions of so many coordinates."""
    return _known(objective.dimension == family.dimension)


def holder_constant(objective: Objective, family: Family) -> Truth:
    """Judge whether gradients are Hoelder continuous as declared, around the domain."""
    p, H = objective.holder_exponent, objective.holder_constant
    assert p is not None and H is not None
    return at_most(holder_quotient(family, p), H)


def holder_everywhere(objective: Objective, family: Family) -> Truth:
    """Judge whether they are so on the whole space, and convex there if declared convex."""
    if not objective.holder_everywhere:
        return Truth.PROVEN
    everywhere, m = family.everywhere, objective.strong_convexity
    truths = [holder_constant(objective, everywhere)]
    if m is not None and m >= 0.0:
        truths.append(at_most(least_curvature(everywhere, None), 0.0))
    for truth in (Truth.REFUTED, Truth.OPEN):
        if truth in truths:
            return truth
    return Truth.PROVEN


def dissipativity(objective: Objective, family: Family) -> Truth:
    """Judge whether the losses curve upwards far apart as declared."""
    assert objective.dissipativity is not None
    lam, kappa = objective.dissipativity
    return at_most(least_dissipation(family, kappa), lam)


def records(run: Any, used: Sequence[tuple[int, float]]) -> Truth:
    """Judge whether data sets are summed with the divisor, and sampled at the rate, of the run."""
    size = run.batch_size
    return _known(all(divisor == size and q == size / run.records for divisor, q in used))


def _projected(prox: Callable[[Array, float], Array], d: int) -> tuple[Array, Array]:
    """Return points of many scales, and their images under the prox with step one."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(2000, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = directions * 10.0 ** rng.uniform(-3, 4, size=(2000, 1))
    points = np.vstack([points, -points, *(s * 1e4 * np.eye(d) for s in (1.0, -1.0))])
    return points, prox(points, 1.0)


def diameter(domain: Any, prox: Callable[[Array, float], Array]) -> Truth:
    """Judge whether points that the prox returns are no further apart than declared."""
    if math.isinf(domain.diameter):
        return Truth.PROVEN
    _, images = _projected(prox, domain.dimension or 2)
    far = max(float(np.max(np.linalg.norm(images - point, axis=1))) for point in images[::8])
    return at_most(Enclosure(far), domain.diameter)


def prox_lipschitz(domain: Any, prox: Callable[[Array, float], Array]) -> Truth:
    """Judge whether the prox with step one stretches distances only as convexity allows.

    Points outside and inside are moved at random, along themselves, and along the set.
    """
    points, images = _projected(prox, domain.dimension or 2)
    rng = np.random.default_rng(1)
    middle = (images + images[rng.permutation(len(images))]) / 2
    starts = np.vstack([points, images, middle])
    sizes = np.linalg.norm(starts, axis=1, keepdims=True)
    along = images[rng.integers(len(images), size=len(starts))] - prox(starts, 1.0)
    stretch = 0.0
    anywhere = np.asarray(rng.normal(size=starts.shape))
    for ways in (anywhere, starts, along):
        lengths = np.linalg.norm(ways, axis=1, keepdims=True)
        fit = ((sizes > 0.0) & (lengths > 0.0))[:, 0]
        # as near as their own size asks for: what stretches most may be narrow
        ends = starts[fit] + NEAR * sizes[fit] * ways[fit] / lengths[fit]
        moved = np.linalg.norm(prox(ends, 1.0) - prox(starts[fit], 1.0), axis=1)
        stretch = max(stretch, float(np.max(moved / np.linalg.norm(ends - starts[fit], axis=1))))
    allowed = 1.0 / (1.0 + float(domain.strong_convexity))
    return _unrefuted(bool(stretch <= allowed * (1.0 + SAME) + SAME))


def log_sobolev(fact: Any, covariances: Sequence[Array]) -> Truth:
    """Judge whether Gaussian laws with these covariances satisfy it; others are not judged."""
    widest = max(float(np.linalg.eigvalsh(covariance)[-1]) for covariance in covariances)
    return _known(fact.value * widest <= 1.0 + ROUNDING)


def _of_losses(name: str, measured: Callable[[Family], Enclosure], sign: float = 1.0) -> Predicate:
    def holds(description: Any, family: Family) -> Truth:
        return at_most(measured(family.everywhere), sign * getattr(description, name))

    return holds


def distance(start: Any, where: Start) -> Truth:
    """Judge whether the centre is as near to the minimiser as declared."""
    return at_most(
        Enclosure(*[float(np.linalg.norm(where.centre - where.minimiser))] * 2), start.distance
    )


def shared_curvature(losses: Any, parts: tuple[Family, Family]) -> Truth:
    """Judge whether the losses and their remainders differ by the declared parabola."""
    low, high = parts[0].window
    points = low + (high - low) * np.random.default_rng(0).random((400, parts[0].dimension))
    for loss, rest in zip(parts[0].losses, parts[1].losses, strict=True):
        one, two = loss.gradient(points), rest.gradient(points)
        if not _alike(one - two, losses.shared_curvature * points, np.abs(one) + np.abs(two)):
            return Truth.REFUTED
    return Truth.OPEN


def sensitivity(statistic: Any, values: Sequence[tuple[Array, Array]]) -> Truth:
    """Judge whether statistics of adjacent data sets are as near as declared."""
    far = max(float(np.linalg.norm(np.subtract(one, two))) for one, two in values)
    return at_most(Enclosure(far), statistic.sensitivity)


def _lipschitz_between(name: str) -> Predicate:
    def holds(mechanism: Any, function: Callable[[Array], Array]) -> Truth:
        nodes, steepest = np.linspace(mechanism.low, mechanism.high, NODES), 0.0
        for _ in range(LOOKS):
            values, gaps = function(nodes), np.diff(nodes)
            lost = ULPS * (np.abs(values[1:]) + np.abs(values[:-1]))
            # the points are rounded, too
            moved = ULPS * (abs(mechanism.low) + abs(mechanism.high)) / gaps
            quotients = (np.abs(np.diff(values)) - lost) / gaps * (1.0 - moved)
            best = int(np.argmax(quotients))
            steepest = max(steepest, float(quotients[best]))
            around = nodes[max(best - 2, 0)], nodes[min(best + 3, len(nodes) - 1)]
            nodes = np.linspace(*around, 41)
        return at_most(Enclosure(steepest * (1.0 - SAME)), getattr(mechanism, name))

    return holds


PREDICATES: Mapping[str, Predicate] = MappingProxyType(
    {
        "objective.gradient_bound": gradient_bound,
        "objective.gradient_difference_bound": gradient_difference_bound,
        "objective.smoothness": smoothness,
        "objective.strong_convexity": strong_convexity,
        "objective.clipped": clipped,
        "objective.form": form,
        "objective.ridge": ridge,
        "objective.dimension": dimension,
        "objective.holder_exponent": holder_constant,
        "objective.holder_constant": holder_constant,
        "objective.holder_everywhere": holder_everywhere,
        "objective.dissipativity": dissipativity,
        "run.records": records,
        "domain.diameter": diameter,
        "domain.strong_convexity": prox_lipschitz,
        "fact.log_sobolev": log_sobolev,
        "fact.average_smoothness": _of_losses("value", lambda f: largest_derivative(f, None)),
        "target.strong_convexity": _of_losses(
            "strong_convexity", lambda f: least_curvature(f, None), -1.0
        ),
        "target.smoothness": _of_losses("smoothness", lambda f: largest_derivative(f, None)),
        "target.laplacian_lipschitz": _of_losses("laplacian_lipschitz", laplacian_quotient),
        "target.gradient_bound": _of_losses(
            "gradient_bound", lambda f: longest_contribution(f, None)
        ),
        "start.distance": distance,
        "losses.shared_curvature": shared_curvature,
        "losses.laplacian_lipschitz": _of_losses("laplacian_lipschitz", laplacian_quotient),
        "losses.height_at_start": _of_losses("height_at_start", height_at_origin),
        "losses.range_of_loss": _of_losses("range_of_loss", range_of_values),
        "statistic.sensitivity": sensitivity,
        "diffusion.drift_lipschitz": _lipschitz_between("drift_lipschitz"),
        "diffusion.spread_lipschitz": _lipschitz_between("spread_lipschitz"),
    }
)
"""The predicate of every constant in `wane.describe.constants.CONSTANTS`, by its full name."""
