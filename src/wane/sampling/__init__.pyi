from wane.certificates import certify as certify_samples, certify as certify_underdamped
from wane.certificates.analyse import (
    DistanceCertificate as DistanceCertificate,
    certify_closeness as certify_closeness,
    certify_distance as certify_distance,
)
from wane.describe.chain import (
    Diffusion as Diffusion,
    Direction as Direction,
    NormalStart as NormalStart,
    Overdamped as Overdamped,
    PointStart as PointStart,
    Reference as Reference,
    Target as Target,
    Underdamped as Underdamped,
    distance_bound as distance_bound,
)
from wane.describe.posterior import Losses as Losses, Posterior as Posterior
from wane.describe.samples import OverdampedRun as OverdampedRun, UnderdampedRun as UnderdampedRun
from wane.losses import (
    LogCosh as LogCosh,
)
from wane.sampling.diagnostics import (
    DiagnosticsAreReleases as DiagnosticsAreReleases,
    Public as Public,
    PublicPaths as PublicPaths,
    effective_sample_size as effective_sample_size,
    plot_trace as plot_trace,
    public_paths as public_paths,
    split_r_hat as split_r_hat,
)
from wane.sampling.distance_plan import (
    SamplingPlan as SamplingPlan,
    plan_closeness as plan_closeness,
    plan_sampling as plan_sampling,
)
from wane.sampling.estimators import (
    PosteriorLinearRegression as PosteriorLinearRegression,
    PosteriorLogisticRegression as PosteriorLogisticRegression,
    PosteriorMean as PosteriorMean,
)
from wane.sampling.models import (
    DataPotential as DataPotential,
    linear_posterior as linear_posterior,
    location_posterior as location_posterior,
    mean_posterior as mean_posterior,
)
from wane.sampling.posterior_samples import (
    Distances as Distances,
    Wish as Wish,
    calibrated as calibrated,
    distances as distances,
    draw as draw,
    plan_posterior as plan_posterior,
)
from wane.sampling.potentials import (
    GaussianPotential as GaussianPotential,
    GradientPotential as GradientPotential,
    Potential as Potential,
)
from wane.sampling.simulation import (
    Projected as Projected,
    simulate as simulate,
)
from wane.theorems.gibbs.transfer import (
    exact_draws as exact_draws,
    exact_gibbs as exact_gibbs,
    exact_gibbs_bounded as exact_gibbs_bounded,
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
    "LogCosh",
    "Losses",
    "NormalStart",
    "Overdamped",
    "OverdampedRun",
    "PointStart",
    "Posterior",
    "PosteriorLinearRegression",
    "PosteriorLogisticRegression",
    "PosteriorMean",
    "Potential",
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
    "exact_draws",
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
