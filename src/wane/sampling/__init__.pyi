from wane.losses import (
    LogCosh as LogCosh,
)
from wane.sampling.chain import (
    NormalStart as NormalStart,
)
from wane.sampling.chain import (
    Overdamped as Overdamped,
)
from wane.sampling.chain import (
    PointStart as PointStart,
)
from wane.sampling.chain import (
    Target as Target,
)
from wane.sampling.chain import (
    Underdamped as Underdamped,
)
from wane.sampling.chain import (
    distance_bound as distance_bound,
)
from wane.sampling.diagnostics import (
    DiagnosticsAreReleases as DiagnosticsAreReleases,
)
from wane.sampling.diagnostics import (
    Public as Public,
)
from wane.sampling.diagnostics import (
    PublicPaths as PublicPaths,
)
from wane.sampling.diagnostics import (
    effective_sample_size as effective_sample_size,
)
from wane.sampling.diagnostics import (
    plot_trace as plot_trace,
)
from wane.sampling.diagnostics import (
    public_paths as public_paths,
)
from wane.sampling.diagnostics import (
    split_r_hat as split_r_hat,
)
from wane.sampling.distance import (
    Diffusion as Diffusion,
)
from wane.sampling.distance import (
    Direction as Direction,
)
from wane.sampling.distance import (
    DistanceCertificate as DistanceCertificate,
)
from wane.sampling.distance import (
    Reference as Reference,
)
from wane.sampling.distance import (
    SamplingPlan as SamplingPlan,
)
from wane.sampling.distance import (
    certify_closeness as certify_closeness,
)
from wane.sampling.distance import (
    certify_distance as certify_distance,
)
from wane.sampling.distance import (
    plan_closeness as plan_closeness,
)
from wane.sampling.distance import (
    plan_sampling as plan_sampling,
)
from wane.sampling.drawing import (
    draw as draw,
)
from wane.sampling.estimators import (
    PosteriorLinearRegression as PosteriorLinearRegression,
)
from wane.sampling.estimators import (
    PosteriorLogisticRegression as PosteriorLogisticRegression,
)
from wane.sampling.estimators import (
    PosteriorMean as PosteriorMean,
)
from wane.sampling.gibbs import (
    exact_gibbs as exact_gibbs,
)
from wane.sampling.gibbs import (
    exact_gibbs_bounded as exact_gibbs_bounded,
)
from wane.sampling.models import (
    DataPotential as DataPotential,
)
from wane.sampling.models import (
    linear_posterior as linear_posterior,
)
from wane.sampling.models import (
    location_posterior as location_posterior,
)
from wane.sampling.models import (
    mean_posterior as mean_posterior,
)
from wane.sampling.planning import (
    Distances as Distances,
)
from wane.sampling.planning import (
    Wish as Wish,
)
from wane.sampling.planning import (
    distances as distances,
)
from wane.sampling.planning import (
    plan_posterior as plan_posterior,
)
from wane.sampling.posterior import (
    Losses as Losses,
)
from wane.sampling.posterior import (
    Posterior as Posterior,
)
from wane.sampling.posterior import (
    calibrated as calibrated,
)
from wane.sampling.potentials import (
    GaussianPotential as GaussianPotential,
)
from wane.sampling.potentials import (
    GradientPotential as GradientPotential,
)
from wane.sampling.potentials import (
    Potential as Potential,
)
from wane.sampling.privacy import (
    certify_samples as certify_samples,
)
from wane.sampling.privacy import (
    certify_underdamped as certify_underdamped,
)
from wane.sampling.runs import (
    OverdampedRun as OverdampedRun,
)
from wane.sampling.runs import (
    UnderdampedRun as UnderdampedRun,
)
from wane.sampling.simulation import (
    Projected as Projected,
)
from wane.sampling.simulation import (
    simulate as simulate,
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
