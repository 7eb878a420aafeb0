"""The theorems, one file per proof technique; the registry is the tuple below and nothing else."""

from typing import Any

from wane.analyses.composition import gaussian_composition
from wane.analyses.interpolation import last_iterate, last_iterate_bounded, secret_order
from wane.analyses.subsampling import fixed_size_composition, poisson_composition
from wane.theory.theorem import Analysis

ANALYSES: tuple[Analysis[Any], ...] = (
    gaussian_composition,
    poisson_composition,
    fixed_size_composition,
    last_iterate,
    last_iterate_bounded,
    secret_order,
)

__all__ = ["ANALYSES"]
