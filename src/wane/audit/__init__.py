"""Exact oracles: the true privacy of small instances, computed without any theorem.

No certificate may fall below what an oracle of this package finds.  It sees no theorem, so
that an error there cannot hide an error here.
"""

from wane.audit.bracket import Bracketed, ImpreciseError, OutOfReachError
from wane.audit.divergence import (
    gaussian_hockey_stick,
    gaussian_renyi,
    hockey_stick_of_masses,
    renyi_of_masses,
)
from wane.audit.finite import (
    TwoPoint,
    finite_hockey_stick,
    finite_renyi,
    private_vertices,
    push,
    pushed_hockey_stick,
    pushed_renyi,
    worst_rows,
    worst_two_point,
)
from wane.audit.grid import ExactPair, Run, chain_pair, pair_law
from wane.audit.law import PairLaw
from wane.audit.linear import (
    LinearStep,
    exact_joint_mu,
    exact_mu,
    exact_scalar_mu,
    linear_step,
)
from wane.audit.maps import (
    WHOLE_LINE,
    MonotoneMap,
    ScalarMap,
    clipped,
    followed_by,
    interval,
    shrinkage,
    soft_threshold,
)
from wane.audit.mesh import Branch, PairStep, Resolution, pair_step

__all__ = [
    "WHOLE_LINE",
    "Bracketed",
    "Branch",
    "ExactPair",
    "ImpreciseError",
    "LinearStep",
    "MonotoneMap",
    "OutOfReachError",
    "PairLaw",
    "PairStep",
    "Resolution",
    "Run",
    "ScalarMap",
    "TwoPoint",
    "chain_pair",
    "clipped",
    "exact_joint_mu",
    "exact_mu",
    "exact_scalar_mu",
    "finite_hockey_stick",
    "finite_renyi",
    "followed_by",
    "gaussian_hockey_stick",
    "gaussian_renyi",
    "hockey_stick_of_masses",
    "interval",
    "linear_step",
    "pair_law",
    "pair_step",
    "private_vertices",
    "push",
    "pushed_hockey_stick",
    "pushed_renyi",
    "renyi_of_masses",
    "shrinkage",
    "soft_threshold",
    "worst_rows",
    "worst_two_point",
]
