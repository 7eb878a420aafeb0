"""The sets and regularisers whose proximal operator may end a step of noisy descent.

Every entry is frozen data with the same few answers: `lipschitz(step_size)` of its prox,
`diameter` of its set, `prox(x, step_size)`, `penalty(x)`, `dimension`, `has_interior`.

What is missing is missing on purpose.  Keeping the k largest entries (l0), truncating the rank,
rounding to a grid and normalising to a sphere jump or stretch without bound: two neighbouring
points can land far apart, so no finite Lipschitz constant exists, and no theorem about hidden
iterates survives such a step.  Use the l1 ball or lasso, the nuclear norm, no rounding at all,
and the ball in their places.

A prox that is missing for no such reason is described by `OwnProx`: its facts are declared.
"""

from wane.describe.domains.base import Domain, Unbounded
from wane.describe.domains.combined import Product, WithRidge
from wane.describe.domains.linear import Affine, Halfspace
from wane.describe.domains.matrices import NuclearNorm, PositiveSemidefiniteCone
from wane.describe.domains.nonconvex import MCP, SCAD
from wane.describe.domains.norms import (
    ElasticNet,
    Lasso,
    LInfinityNorm,
    LogBarrier,
    LTwoNorm,
    Ridge,
)
from wane.describe.domains.own import OwnProx
from wane.describe.domains.registry import DOMAINS, from_fields, to_fields
from wane.describe.domains.sets import (
    Ball,
    Box,
    Diameter,
    LOneBall,
    Orthant,
    SecondOrderCone,
    Simplex,
)
from wane.describe.domains.structured import GroupLasso, SortedLOne, TotalVariation

__all__ = [
    "DOMAINS",
    "MCP",
    "SCAD",
    "Affine",
    "Ball",
    "Box",
    "Diameter",
    "Domain",
    "ElasticNet",
    "GroupLasso",
    "Halfspace",
    "LInfinityNorm",
    "LOneBall",
    "LTwoNorm",
    "Lasso",
    "LogBarrier",
    "NuclearNorm",
    "Orthant",
    "OwnProx",
    "PositiveSemidefiniteCone",
    "Product",
    "Ridge",
    "SecondOrderCone",
    "Simplex",
    "SortedLOne",
    "TotalVariation",
    "Unbounded",
    "WithRidge",
    "from_fields",
    "to_fields",
]
