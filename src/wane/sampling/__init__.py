"""Sampling by Langevin chains, with two certificates: how private, and how close to the target.

chains       Overdamped, Underdamped, Projected on a Target; `simulate` runs many at once
potentials   GradientPotential, GaussianPotential, and posteriors of data
privacy      `certify_samples`, `certify_underdamped`; `draw` runs on private records
distance     `certify_distance`, `plan_sampling` and more
statistics   PosteriorMean, PosteriorLogisticRegression, PosteriorLinearRegression (extra `learn`)
diagnostics  on public data only (extra `sampling`)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wane.errors import MissingExtra
from wane.sampling.chain import (
    NormalStart,
    Overdamped,
    PointStart,
    Target,
    Underdamped,
    distance_bound,
)
from wane.sampling.diagnostics import (
    DiagnosticsAreReleases,
    Public,
    PublicPaths,
    effective_sample_size,
    plot_trace,
    public_paths,
    split_r_hat,
)
from wane.sampling.distance import (
    Diffusion,
    Direction,
    DistanceCertificate,
    Reference,
    SamplingPlan,
    certify_closeness,
    certify_distance,
    plan_closeness,
    plan_sampling,
)
from wane.sampling.draw import draw
from wane.sampling.gibbs import exact_gibbs, exact_gibbs_bounded
from wane.sampling.log_cosh import LogCosh
from wane.sampling.models import (
    DataPotential,
    linear_posterior,
    location_posterior,
    mean_posterior,
)
from wane.sampling.planning import Distances, Wish, distances, plan_posterior
from wane.sampling.posterior import Losses, Posterior, calibrated
from wane.sampling.potentials import GaussianPotential, GradientPotential, Potential
from wane.sampling.privacy import KineticCertificate, certify_samples, certify_underdamped
from wane.sampling.runs import OverdampedRun, UnderdampedRun
from wane.sampling.simulate import Projected, simulate

if TYPE_CHECKING:
    from wane.sampling.estimators import (
        PosteriorLinearRegression,
        PosteriorLogisticRegression,
        PosteriorMean,
    )

__all__ = [
    "DataPotential",
    "DiagnosticsAreReleases",
    "Diffusion",
    "Direction",
    "DistanceCertificate",
    "Distances",
    "GaussianPotential",
    "GradientPotential",
    "KineticCertificate",
    "LogCosh",
    "Losses",
    "NormalStart",
    "Overdamped",
    "OverdampedRun",
    "PointStart",
    "Posterior",
    "PosteriorLinearRegression",
    "PosteriorLogisticRegression",
    "Potential",
    "PosteriorMean",
    "Projected",
    "Public",
    "PublicPaths",
    "Reference",
    "SamplingPlan",
    "Target",
    "Underdamped",
    "UnderdampedRun",
    "Wish",
    "calibrated",
    "certify_closeness",
    "certify_distance",
    "certify_samples",
    "certify_underdamped",
    "distance_bound",
    "distances",
    "draw",
    "effective_sample_size",
    "exact_gibbs",
    "exact_gibbs_bounded",
    "linear_posterior",
    "location_posterior",
    "mean_posterior",
    "plan_closeness",
    "plan_posterior",
    "plan_sampling",
    "plot_trace",
    "public_paths",
    "simulate",
    "split_r_hat",
]

_ESTIMATORS = ("PosteriorLinearRegression", "PosteriorLogisticRegression", "PosteriorMean")


def __getattr__(name: str) -> Any:
    """Import an estimator at its first use: it needs scikit-learn."""
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'wane.sampling' has no attribute {name!r}")
    try:
        return getattr(import_module("wane.sampling.estimators"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise MissingExtra(
            f"wane.sampling.{name} needs scikit-learn; install wane[learn]."
        ) from None
