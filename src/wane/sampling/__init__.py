"""Sampling by Langevin chains, with two certificates: how private, and how close to the target.

chains       Overdamped, Underdamped, Projected on a Target; `simulate` runs many at once
potentials   GradientPotential, GaussianPotential, and posteriors of data
privacy      `certify_samples`, `certify_underdamped`; `draw` runs on private records
distance     `certify_distance`, `plan_sampling` and more
statistics   PosteriorMean, PosteriorLogisticRegression, PosteriorLinearRegression (extra `learn`)
diagnostics  on public data only (extra `sampling`)
"""

from wane._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
