"""Statistics by private sampling, in the style of scikit-learn; needs the extra `learn`."""

from wane.sampling.estimators.classification import PosteriorLogisticRegression
from wane.sampling.estimators.mean import PosteriorMean
from wane.sampling.estimators.regression import PosteriorLinearRegression

__all__ = ["PosteriorLinearRegression", "PosteriorLogisticRegression", "PosteriorMean"]
