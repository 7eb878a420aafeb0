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
from wane.audit.tight import (
    ProgrammeBlock,
    TightInstance,
    programme_blocks,
    programme_value,
    tight_instance,
    tight_instance_by_rotation,
)
from wane.audit.tiny_sgd import (
    TinyDescent,
    cyclic_pair,
    fixed_size_pair,
    poisson_pair,
    shuffled_once_pair,
)

__all__ = [
    "WHOLE_LINE",
    "ProgrammeBlock",
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
    "TightInstance",
    "TinyDescent",
    "TwoPoint",
    "chain_pair",
    "clipped",
    "cyclic_pair",
    "exact_joint_mu",
    "exact_mu",
    "exact_scalar_mu",
    "finite_hockey_stick",
    "finite_renyi",
    "fixed_size_pair",
    "followed_by",
    "gaussian_hockey_stick",
    "gaussian_renyi",
    "hockey_stick_of_masses",
    "interval",
    "linear_step",
    "pair_law",
    "pair_step",
    "poisson_pair",
    "private_vertices",
    "programme_blocks",
    "programme_value",
    "push",
    "pushed_hockey_stick",
    "pushed_renyi",
    "renyi_of_masses",
    "shrinkage",
    "shuffled_once_pair",
    "soft_threshold",
    "tight_instance",
    "tight_instance_by_rotation",
    "worst_rows",
    "worst_two_point",
]
