"""Mechanisms: statistics released through diffusions, and privacy amplified by Markov kernels."""

from wane.mechanisms.accuracy import Comparison
from wane.mechanisms.amplification import ApproximateDP
from wane.mechanisms.amplified import AmplifiedGuarantee
from wane.mechanisms.branches import Branch, BranchedRelease, PublishedTree
from wane.mechanisms.calibration import (
    PrivacyTarget,
    calibrated_brownian,
    calibrated_ornstein_uhlenbeck,
)
from wane.mechanisms.coupling import (
    constant_chain,
    coupled_renyi,
    gradient_contraction,
    iterated_gaussian,
    lipschitz_gaussian,
    noisy_chain,
    per_index_sgd,
    public_steps_needed,
)
from wane.mechanisms.diffusions import (
    BrownianMechanism,
    GaussianLaw,
    OrnsteinUhlenbeckMechanism,
)
from wane.mechanisms.hierarchy import CoalitionCertificate, NestedRelease, OpenPath, Reading
from wane.mechanisms.kernel_calibration import CalibratedPower, calibrated_power
from wane.mechanisms.kernels import Amplification, Doeblin, MarkovKernel
from wane.mechanisms.laplace import IteratedLaplace
from wane.mechanisms.numerical import DiffusionMechanism
from wane.mechanisms.statistics import Outside

__all__ = [
    "Amplification",
    "AmplifiedGuarantee",
    "ApproximateDP",
    "Branch",
    "BranchedRelease",
    "BrownianMechanism",
    "CalibratedPower",
    "CoalitionCertificate",
    "Comparison",
    "DiffusionMechanism",
    "Doeblin",
    "GaussianLaw",
    "IteratedLaplace",
    "MarkovKernel",
    "NestedRelease",
    "OpenPath",
    "OrnsteinUhlenbeckMechanism",
    "Outside",
    "PrivacyTarget",
    "PublishedTree",
    "Reading",
    "calibrated_brownian",
    "calibrated_ornstein_uhlenbeck",
    "calibrated_power",
    "constant_chain",
    "coupled_renyi",
    "gradient_contraction",
    "iterated_gaussian",
    "lipschitz_gaussian",
    "noisy_chain",
    "per_index_sgd",
    "public_steps_needed",
]
