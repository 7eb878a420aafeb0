"""The theorems, one file per proof technique; the registry is the tuple below and nothing else."""

from typing import Any

from wane.analyses.composition import gaussian_composition
from wane.analyses.contraction import fixed_size_contraction, poisson_contraction
from wane.analyses.dynamics import log_sobolev_dynamics
from wane.analyses.interpolation import (
    averaged_last_iterate,
    last_iterate,
    last_iterate_bounded,
    secret_order,
)
from wane.analyses.modulus import last_iterate_modulus
from wane.analyses.subsampled_iteration import fixed_size_last_iterate, poisson_last_iterate
from wane.analyses.subsampling import fixed_size_composition, poisson_composition
from wane.theory.theorem import Analysis

ANALYSES: tuple[Analysis[Any], ...] = (
    gaussian_composition,
    poisson_composition,
    fixed_size_composition,
    last_iterate,
    averaged_last_iterate,
    last_iterate_bounded,
    secret_order,
    last_iterate_modulus,
    poisson_last_iterate,
    fixed_size_last_iterate,
    poisson_contraction,
    fixed_size_contraction,
    log_sobolev_dynamics,
)

__all__ = ["ANALYSES"]
