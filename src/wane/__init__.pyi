from wane import (
    audit as audit,
)
from wane import (
    learn as learn,
)
from wane import (
    ledger as ledger,
)
from wane import (
    losses as losses,
)
from wane import (
    mechanisms as mechanisms,
)
from wane import (
    mixing as mixing,
)
from wane import (
    modulus as modulus,
)
from wane import (
    planning as planning,
)
from wane import (
    plots as plots,
)
from wane import (
    run as run,
)
from wane import (
    sampling as sampling,
)
from wane import (
    tables as tables,
)
from wane import (
    web as web,
)
from wane._version import (
    __version__ as __version__,
)
from wane.certificates import (
    Calibrated as Calibrated,
)
from wane.certificates import (
    Certificate as Certificate,
)
from wane.certificates import (
    Curve as Curve,
)
from wane.certificates import (
    Over as Over,
)
from wane.certificates import (
    calibrate as calibrate,
)
from wane.certificates import (
    certify as certify,
)
from wane.certificates import (
    curve as curve,
)
from wane.certificates import (
    mu_by_position as mu_by_position,
)
from wane.certificates import (
    mu_of_group as mu_of_group,
)
from wane.describe import (
    Adjacency as Adjacency,
)
from wane.describe import (
    Cyclic as Cyclic,
)
from wane.describe import (
    EveryIterate as EveryIterate,
)
from wane.describe import (
    Fact as Fact,
)
from wane.describe import (
    FactKind as FactKind,
)
from wane.describe import (
    FullBatch as FullBatch,
)
from wane.describe import (
    GradientNoise as GradientNoise,
)
from wane.describe import (
    IterateNoise as IterateNoise,
)
from wane.describe import (
    Iterates as Iterates,
)
from wane.describe import (
    LastIterate as LastIterate,
)
from wane.describe import (
    LossForm as LossForm,
)
from wane.describe import (
    NoiseMultiplier as NoiseMultiplier,
)
from wane.describe import (
    NoisyDescent as NoisyDescent,
)
from wane.describe import (
    Objective as Objective,
)
from wane.describe import (
    Phase as Phase,
)
from wane.describe import (
    Poisson as Poisson,
)
from wane.describe import (
    Schedule as Schedule,
)
from wane.describe import (
    ShuffledOnce as ShuffledOnce,
)
from wane.describe import (
    StatedRelease as StatedRelease,
)
from wane.describe import (
    Temperature as Temperature,
)
from wane.describe import (
    WithoutReplacement as WithoutReplacement,
)
from wane.describe.domains import (
    MCP as MCP,
)
from wane.describe.domains import (
    SCAD as SCAD,
)
from wane.describe.domains import (
    Affine as Affine,
)
from wane.describe.domains import (
    Ball as Ball,
)
from wane.describe.domains import (
    Box as Box,
)
from wane.describe.domains import (
    Diameter as Diameter,
)
from wane.describe.domains import (
    Domain as Domain,
)
from wane.describe.domains import (
    ElasticNet as ElasticNet,
)
from wane.describe.domains import (
    GroupLasso as GroupLasso,
)
from wane.describe.domains import (
    Halfspace as Halfspace,
)
from wane.describe.domains import (
    Lasso as Lasso,
)
from wane.describe.domains import (
    LInfinityNorm as LInfinityNorm,
)
from wane.describe.domains import (
    LogBarrier as LogBarrier,
)
from wane.describe.domains import (
    LOneBall as LOneBall,
)
from wane.describe.domains import (
    LTwoNorm as LTwoNorm,
)
from wane.describe.domains import (
    NuclearNorm as NuclearNorm,
)
from wane.describe.domains import (
    Orthant as Orthant,
)
from wane.describe.domains import (
    PositiveSemidefiniteCone as PositiveSemidefiniteCone,
)
from wane.describe.domains import (
    Product as Product,
)
from wane.describe.domains import (
    Ridge as Ridge,
)
from wane.describe.domains import (
    SecondOrderCone as SecondOrderCone,
)
from wane.describe.domains import (
    Simplex as Simplex,
)
from wane.describe.domains import (
    SortedLOne as SortedLOne,
)
from wane.describe.domains import (
    TotalVariation as TotalVariation,
)
from wane.describe.domains import (
    Unbounded as Unbounded,
)
from wane.describe.domains import (
    WithRidge as WithRidge,
)
from wane.errors import (
    InvalidDescription as InvalidDescription,
)
from wane.errors import (
    MissingExtra as MissingExtra,
)
from wane.errors import (
    NoTheoremApplies as NoTheoremApplies,
)
from wane.errors import (
    Unreachable as Unreachable,
)
from wane.errors import (
    WaneError as WaneError,
)
from wane.guarantees import (
    GaussianDP as GaussianDP,
)
from wane.guarantees import (
    GaussianMixture as GaussianMixture,
)
from wane.guarantees import (
    Guarantee as Guarantee,
)
from wane.guarantees import (
    NumericalDP as NumericalDP,
)
from wane.guarantees import (
    RenyiDP as RenyiDP,
)
from wane.guarantees import (
    WithFailure as WithFailure,
)
from wane.losses.files import (
    read_run as read_run,
)
from wane.planning import (
    Plan as Plan,
)
from wane.planning import (
    plan as plan,
)
from wane.theorems.log_sobolev.spread import (
    tracked_log_sobolev as tracked_log_sobolev,
)
from wane.theorems.registry import (
    THEOREMS as THEOREMS,
)
from wane_papers import (
    literature as literature,
)

__all__ = [
    "Adjacency",
    "Affine",
    "Ball",
    "Box",
    "Calibrated",
    "Certificate",
    "Curve",
    "Cyclic",
    "Diameter",
    "Domain",
    "ElasticNet",
    "EveryIterate",
    "Fact",
    "FactKind",
    "FullBatch",
    "GaussianDP",
    "GaussianMixture",
    "GradientNoise",
    "GroupLasso",
    "Guarantee",
    "Halfspace",
    "InvalidDescription",
    "IterateNoise",
    "Iterates",
    "LInfinityNorm",
    "LOneBall",
    "LTwoNorm",
    "Lasso",
    "LastIterate",
    "LogBarrier",
    "LossForm",
    "MCP",
    "MissingExtra",
    "NoTheoremApplies",
    "NoiseMultiplier",
    "NoisyDescent",
    "NuclearNorm",
    "NumericalDP",
    "Objective",
    "Orthant",
    "Over",
    "Phase",
    "Plan",
    "Poisson",
    "PositiveSemidefiniteCone",
    "Product",
    "RenyiDP",
    "Ridge",
    "SCAD",
    "Schedule",
    "SecondOrderCone",
    "ShuffledOnce",
    "Simplex",
    "SortedLOne",
    "StatedRelease",
    "THEOREMS",
    "Temperature",
    "TotalVariation",
    "Unbounded",
    "Unreachable",
    "WaneError",
    "WithFailure",
    "WithRidge",
    "WithoutReplacement",
    "__version__",
    "calibrate",
    "certify",
    "curve",
    "losses",
    "mu_by_position",
    "mu_of_group",
    "plan",
    "read_run",
    "tracked_log_sobolev",
]
