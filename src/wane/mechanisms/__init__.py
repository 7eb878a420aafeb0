"""Mechanisms: statistics released through diffusions, and privacy amplified by Markov kernels."""

from wane.describe.diffusion import (
    BrownianMechanism,
    Comparison,
    OrnsteinUhlenbeckMechanism,
    Outside,
)
from wane.describe.hierarchy import Branch, BranchedRelease, NestedRelease
from wane.describe.kernel import KernelRelease
from wane.describe.linear_diffusion import LinearDiffusion
from wane.mechanisms.calibration import (
    PrivacyTarget,
    calibrated_brownian,
    calibrated_ornstein_uhlenbeck,
)
from wane.mechanisms.coupling import (
    coupled_renyi,
    iterated_gaussian,
    lipschitz_gaussian,
    noisy_chain,
    per_index_sgd,
    public_steps_needed,
)
from wane.mechanisms.coupling_search import BestCoupling, best_coupling
from wane.mechanisms.density_kernel import DensityKernel
from wane.mechanisms.kernel_calibration import CalibratedPower, calibrated_power
from wane.mechanisms.laplace import IteratedLaplace, calibrated_iterated_laplace
from wane.mechanisms.linear_calibration import calibrated_linear_diffusion
from wane.mechanisms.noise_kernels import GaussianKernel, LaplaceKernel
from wane.mechanisms.numerical import DiffusionMechanism
from wane.run.diffusions import GaussianLaw
from wane.run.hierarchies import OpenPath, PublishedTree, Reading
from wane.theorems.kernel.amplification import ApproximateDP
from wane.theorems.kernel.amplified import AmplifiedGuarantee
from wane.theorems.kernel.kernels import Amplification, Doeblin, MarkovKernel
from wane.theorems.lemmas.noisy_chains import constant_chain, gradient_contraction

__all__ = [
    "Amplification",
    "AmplifiedGuarantee",
    "ApproximateDP",
    "BestCoupling",
    "Branch",
    "BranchedRelease",
    "BrownianMechanism",
    "CalibratedPower",
    "Comparison",
    "DensityKernel",
    "DiffusionMechanism",
    "Doeblin",
    "GaussianKernel",
    "GaussianLaw",
    "IteratedLaplace",
    "KernelRelease",
    "LaplaceKernel",
    "LinearDiffusion",
    "MarkovKernel",
    "NestedRelease",
    "OpenPath",
    "OrnsteinUhlenbeckMechanism",
    "Outside",
    "PrivacyTarget",
    "PublishedTree",
    "Reading",
    "best_coupling",
    "calibrated_brownian",
    "calibrated_iterated_laplace",
    "calibrated_linear_diffusion",
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
