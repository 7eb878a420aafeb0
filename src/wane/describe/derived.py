"""What theorems use of the losses, derived from what was declared, in one place and rounded up.

A record's contribution is the vector that it adds to the sum of a step.  Four numbers bound it:

    sensitivity  how far apart the sums of two neighbouring data sets are at one point;
    change       how far one record's contribution moves between two points of the domain;
    apart        how far apart two records' contributions are at two points of the domain;
    member       how long the vector is that a coin puts into a batch or leaves out.

No theorem forms them by itself.  What was not declared and does not follow is infinite.
"""

from __future__ import annotations

import math
from fractions import Fraction

from wane.describe.batches import Batches, Poisson
from wane.describe.objective import Objective
from wane.describe.threat import Adjacency
from wane.errors import InvalidDescription

_ROUNDED_UP = 1.0 + 1e-9
"""A loss may attain a bound that its constants are only known to so many digits to obey."""


def difference(objective: Objective) -> float:
    """How far apart two real records' contributions can be at one point."""
    declared = objective.gradient_difference_bound
    return min(math.inf if declared is None else declared, 2.0 * _length(objective))


def sensitivity(objective: Objective, adjacency: Adjacency) -> float:
    """How far one record moves the sum at one point; a null or absent record adds nothing."""
    if adjacency is Adjacency.REPLACE_ONE:
        return difference(objective)
    return _length(objective)


def change(objective: Objective, diameter: float) -> float:
    """How far one record's contribution moves between two points of a set of this diameter."""
    known = [2.0 * _length(objective)]
    if objective.smoothness is not None:
        known.append(_grown(objective.smoothness, diameter, 1.0))
    if objective.holder_exponent is not None and objective.holder_constant is not None:
        known.append(_grown(objective.holder_constant, diameter, objective.holder_exponent))
    return min(known)


def apart(objective: Objective, adjacency: Adjacency, diameter: float) -> float:
    """How far apart the differing record's two contributions are at two points of such a set."""
    if adjacency is not Adjacency.REPLACE_ONE:
        return _length(objective)
    both = _up(difference(objective) + change(objective, diameter))
    return min(2.0 * _length(objective), both)


def member(objective: Objective, adjacency: Adjacency, batches: Batches) -> float:
    """How long the vector is that a coin puts into a batch, or exchanges for another."""
    if isinstance(batches, Poisson):
        return _length(objective)
    if adjacency is Adjacency.REPLACE_ONE:
        return difference(objective)
    return max(difference(objective), _length(objective))


def shared(total: float, size: int) -> float:
    """`total / size`, rounded up: what a bound on a sum is worth for the average."""
    if math.isinf(total):
        return total
    made = total / size
    return _up(made) if Fraction(made) * size < Fraction(total) else made


def refuse_impossible_bounds(objective: Objective, diameter: float) -> None:
    """Refuse a gradient bound that no loss of this curvature has in a set of this diameter.

    Between two points at distance D an unclipped gradient changes by at least m D, and by at least
    kappa D - lambda/D, but by no more than twice its bound.
    """
    bound = objective.gradient_bound
    if bound is None or objective.clipped or not diameter > 0.0:
        return
    limit = 2.0 * bound * _ROUNDED_UP
    m = objective.strong_convexity
    if m is not None and m > 0.0 and m * diameter > limit:
        _refuse("strong_convexity", f"{2.0 * bound / diameter:g}", f"{m:g}", bound, diameter)
    if objective.dissipativity is not None:
        lam, kappa = objective.dissipativity
        if kappa * diameter - lam / diameter > limit:
            most = (2.0 * bound + lam / diameter) / diameter
            _refuse("dissipativity[1]", f"{most:g}", f"{kappa:g}", bound, diameter)


def _refuse(name: str, most: str, value: str, bound: float, diameter: float) -> None:
    raise InvalidDescription(
        f"objective.{name} must be at most {most} for losses whose whole gradient is bounded by "
        f"gradient_bound={bound:g} on a domain of diameter {diameter:g}, got {value}; put the "
        "curvature that all losses share into ridge, or declare gradient_difference_bound in "
        "place of gradient_bound."
    )


def _length(objective: Objective) -> float:
    return math.inf if objective.gradient_bound is None else objective.gradient_bound


def _grown(constant: float, diameter: float, exponent: float) -> float:
    """`constant * diameter^exponent`, rounded up; zero times infinity is zero."""
    if constant == 0.0:
        return 0.0
    if exponent == 0.0:
        return constant
    power = diameter if exponent == 1.0 else diameter**exponent * (1.0 + 1e-15)
    return _up(constant * power)


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)
