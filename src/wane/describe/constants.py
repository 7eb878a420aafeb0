"""What every declared constant means: its one definition, as a sentence and as a formula.

Docstrings, the schema, error messages and reports take the sentence from here; theorems and the
verifier rest on the formula; `wane.audit.meaning` has, for each entry, a predicate that says of a
concrete loss whether the constant is true of it.

In the formulas Z is the set of everything that one record may be (not only what a table holds), K
the set of the domain, D its diameter, U an open convex set around K (the whole space if K is
unbounded), R the whole space, l_z the loss of the record z.  Its contribution to the sum is
c_z(x) = Clip(grad l_z(x)) if gradients are clipped, else grad l_z(x); a null record contributes
zero.  A step is

    x' = prox(x - eta (sum of c_z(x) over the batch / divisor + ridge x + noise)).

What is not declared is not assumed: it is infinite (bounds) or minus infinity (lower bounds)
unless `undeclared` says what follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Constant:
    """One declared constant: where it is declared, what it promises, and what silence means.

    Attributes:
        name: the field, as users type it.
        of: the description that holds the field.
        sentence: the promise in words, a whole sentence.
        formula: the promise as mathematics, in the letters of this module.
        undeclared: what a theorem may use where nobody declared it.
    """

    name: str
    of: str
    sentence: str
    formula: str
    undeclared: str = "nothing is assumed"

    @property
    def key(self) -> str:
        """The full name, such as `objective.smoothness`, by which the table knows it."""
        return f"{self.of}.{self.name}"


_OBJECTIVE = (
    Constant(
        name="gradient_bound",
        of="objective",
        sentence="No record's contribution is ever longer than this: what a record adds to the sum "
        "before it is divided, after clipping, everything included that is added once per record.",
        formula="|c_z(x)| <= C for all z in Z, x in K",
    ),
    Constant(
        name="gradient_difference_bound",
        of="objective",
        sentence="At one point, the contributions of two records are never further apart than "
        "this; a null or absent record is not one of them.",
        formula="|c_z(x) - c_z'(x)| <= E for all z, z' in Z, x in K",
        undeclared="twice gradient_bound, where that is declared",
    ),
    Constant(
        name="smoothness",
        of="objective",
        sentence="The gradient of each record's loss, before clipping and without ridge, is "
        "Lipschitz with this constant.",
        formula="|grad l_z(x) - grad l_z(y)| <= M |x - y| for all z in Z, x, y in U",
    ),
    Constant(
        name="strong_convexity",
        of="objective",
        sentence="Each record's loss, before clipping and without ridge, curves upwards by at "
        "least this: zero is convex, negative is weakly convex.",
        formula="<grad l_z(x) - grad l_z(y), x - y> >= m |x - y|^2 for all z in Z, x, y in U",
        undeclared="-smoothness, where that is declared: it follows",
    ),
    Constant(
        name="clipped",
        of="objective",
        sentence="Each record's whole gradient is projected onto the ball of radius gradient_bound "
        "before it is summed, all parameters at once.",
        formula="c_z(x) = grad l_z(x) min(1, C/|grad l_z(x)|)",
        undeclared="gradients enter the sum as they are",
    ),
    Constant(
        name="form",
        of="objective",
        sentence="The shape of one record's loss, and nothing beside it: glm is a function of one "
        "linear form, radial a convex function of the length of a residual, least at zero.",
        formula="glm: l_z(x) = phi(<a, x>); radial: l_z(W) = psi(|W a - y|), psi'(0) = 0",
        undeclared="general: nothing is known of the shape",
    ),
    Constant(
        name="ridge",
        of="objective",
        sentence="This weight times the iterate is added once to every step: outside the sum, its "
        "divisor, the clipping and the sampling, with or without records.",
        formula="a step without records and noise sends x to prox((1 - eta ridge) x)",
        undeclared="zero: nothing is added",
    ),
    Constant(
        name="dimension",
        of="objective",
        sentence="The iterate has exactly this many coordinates.",
        formula="x lies in R^d",
    ),
    Constant(
        name="holder_exponent",
        of="objective",
        sentence="The exponent with which holder_constant bounds the change of one record's "
        "gradient: zero bounds the change itself, one is smoothness.",
        formula="0 <= p <= 1 in |grad l_z(x) - grad l_z(y)| <= H |x - y|^p",
    ),
    Constant(
        name="holder_constant",
        of="objective",
        sentence="The gradient of each record's loss changes by at most this constant times the "
        "distance to the power holder_exponent.",
        formula="|grad l_z(x) - grad l_z(y)| <= H |x - y|^p for all z in Z, x, y in U",
    ),
    Constant(
        name="holder_everywhere",
        of="objective",
        sentence="The losses are defined on the whole space, and there the Hoelder bound and, if "
        "strong_convexity >= 0 is declared, convexity hold as well.",
        formula="as holder_constant, and <grad l_z(x) - grad l_z(y), x - y> >= 0 if m >= 0, for "
        "all z in Z, x, y in R",
        undeclared="the bounds hold around the domain only",
    ),
    Constant(
        name="dissipativity",
        of="objective",
        sentence="Far apart, each record's loss, before clipping and without ridge, curves upwards "
        "by at least kappa, up to lambda; this is false of a null record.",
        formula="<grad l_z(x) - grad l_z(y), x - y> >= kappa |x - y|^2 - lambda for all z in Z, "
        "x, y in U",
    ),
)

_RUN = (
    Constant(
        name="records",
        of="run",
        sentence="The public number of records, which does not depend on the data; it fixes the "
        "divisor of a full batch and the rate at which records are sampled, and neither changes "
        "between neighbours.",
        formula="divisor b (n for full batches), rate b/n, for both data sets",
    ),
    Constant(
        name="diameter",
        of="domain",
        sentence="Two points that the prox returns are never further apart than this.",
        formula="|prox(x) - prox(y)| <= D for all x, y in R",
        undeclared="infinite: the set is unbounded",
    ),
    Constant(
        name="strong_convexity",
        of="domain",
        sentence="The regulariser curves upwards by at least this, so that its prox is Lipschitz "
        "with constant 1/(1 + step_size strong_convexity).",
        formula="|prox_eta(x) - prox_eta(y)| <= |x - y|/(1 + eta m_h) for all x, y in R",
        undeclared="zero: the regulariser is convex",
    ),
)

_FACTS = (
    Constant(
        name="log_sobolev",
        of="fact",
        sentence="For every data set that the adjacency allows, every step and every share of its "
        "noise, the law before the prox satisfies a log-Sobolev inequality with this constant "
        "(that of N(0, v I) is 1/v); it belongs to the very run it was stated for.",
        formula="Ent(f^2) <= (2/k) E|grad f|^2 for X_j - eta (g(X_j) + ridge X_j) + sqrt(u) eta s "
        "N(0, I), all j < T and 0 < u <= 1",
    ),
    Constant(
        name="average_smoothness",
        of="fact",
        sentence="The average of all records' losses, clipping included and without ridge, has on "
        "the whole space a gradient that is Lipschitz with this constant, for the very table of "
        "the run and each of its neighbours; it says nothing of batches or of single records.",
        formula="|F'(x) - F'(y)| <= u |x - y| for F' = (1/n) sum of c_z over the table or a "
        "neighbour, x, y in R",
    ),
)

_SAMPLING = (
    Constant(
        name="strong_convexity",
        of="target",
        sentence="The potential, everything included, curves upwards by at least this on the whole "
        "space, whatever the data.",
        formula="<grad F(x) - grad F(y), x - y> >= m |x - y|^2 for all x, y in R",
    ),
    Constant(
        name="smoothness",
        of="target",
        sentence="The gradient of the potential is Lipschitz with this constant on the whole "
        "space, whatever the data.",
        formula="|grad F(x) - grad F(y)| <= M |x - y| for all x, y in R",
    ),
    Constant(
        name="laplacian_lipschitz",
        of="target",
        sentence="The Laplacian of the potential is Lipschitz with this constant on the whole "
        "space; a Hessian with jumps has none.",
        formula="|Lap F(x) - Lap F(y)| <= M3 |x - y| for all x, y in R",
    ),
    Constant(
        name="gradient_bound",
        of="target",
        sentence="The gradient of the potential, shared parts included, is never longer than this.",
        formula="|grad F(x)| <= B for all x in R",
    ),
    Constant(
        name="distance",
        of="start",
        sentence="The potential has a global minimiser, and for every data set the centre of the "
        "start is within this distance of it.",
        formula="|centre - x*| <= r for a minimiser x* of F",
        undeclared="no distance to the target is certified",
    ),
    Constant(
        name="shared_curvature",
        of="losses",
        sentence="Every loss is this times |x|^2/2 plus a remainder, which `objective` describes; "
        "the shared part is applied as a ridge, and null and absent records keep it.",
        formula="l_z(x) = c |x|^2/2 + r_z(x)",
        undeclared="zero: the losses are described whole",
    ),
    Constant(
        name="laplacian_lipschitz",
        of="losses",
        sentence="The Laplacian of one record's remainder is Lipschitz with this constant on the "
        "whole space.",
        formula="|Lap r_z(x) - Lap r_z(y)| <= M3 |x - y| for all z in Z, x, y in R",
    ),
    Constant(
        name="height_at_start",
        of="losses",
        sentence="At the origin, where chains start, one record's remainder is at most this far "
        "above its infimum.",
        formula="r_z(0) - inf r_z <= h for all z in Z",
    ),
    Constant(
        name="range_of_loss",
        of="losses",
        sentence="The largest and the smallest value of one record's remainder differ by at most "
        "this.",
        formula="sup r_z - inf r_z <= r for all z in Z",
    ),
)

_MECHANISMS = (
    Constant(
        name="sensitivity",
        of="statistic",
        sentence="On adjacent data sets the statistic, before it is projected onto any ball, "
        "differs by at most this.",
        formula="|f(d) - f(d')| <= Delta for all adjacent d, d'",
    ),
    Constant(
        name="drift_lipschitz",
        of="diffusion",
        sentence="The drift is Lipschitz with this constant between the two ends.",
        formula="|b(x) - b(y)| <= L |x - y| for all x, y in [low, high]",
        undeclared="no certificate: what a drift does between nodes is unknown",
    ),
    Constant(
        name="spread_lipschitz",
        of="diffusion",
        sentence="The spread is Lipschitz with this constant between the two ends.",
        formula="|s(x) - s(y)| <= L |x - y| for all x, y in [low, high]",
        undeclared="no certificate: what a spread does between nodes is unknown",
    ),
)

CONSTANTS: Mapping[str, Constant] = MappingProxyType(
    {c.key: c for c in (*_OBJECTIVE, *_RUN, *_FACTS, *_SAMPLING, *_MECHANISMS)}
)
"""Every declared constant by its full name, such as `objective.smoothness`."""


def defined(of: str, name: str) -> Constant:
    """Return the definition of a field, where a message or a schema should quote it."""
    return CONSTANTS[f"{of}.{name}"]
