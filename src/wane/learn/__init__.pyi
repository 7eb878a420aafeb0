from wane.learn.classifiers import (
    Multiclass as Multiclass,
    PrivateLinearSVC as PrivateLinearSVC,
    PrivateLogisticRegression as PrivateLogisticRegression,
)
from wane.learn.conformance import (
    EXPECTED_FAILED_CHECKS as EXPECTED_FAILED_CHECKS,
)
from wane.learn.curvature import (
    CurvatureBound as CurvatureBound,
    PrivateCurvature as PrivateCurvature,
    private_curvature as private_curvature,
)
from wane.learn.inputs import (
    FROM_DATA as FROM_DATA,
    DataDependentWarning as DataDependentWarning,
    TooFewRecords as TooFewRecords,
)
from wane.learn.loading import (
    load_model as load_model,
)
from wane.learn.mean import (
    PrivateMean as PrivateMean,
)
from wane.learn.models import (
    MODELS as MODELS,
)
from wane.learn.regressors import (
    PrivateElasticNet as PrivateElasticNet,
    PrivateHuberRegressor as PrivateHuberRegressor,
    PrivateLasso as PrivateLasso,
    PrivateLinearRegression as PrivateLinearRegression,
    PrivateMultiOutputRegression as PrivateMultiOutputRegression,
    PrivatePoissonRegressor as PrivatePoissonRegressor,
    PrivateQuantileRegressor as PrivateQuantileRegressor,
    PrivateRidge as PrivateRidge,
)
from wane.learn.scaling import (
    FeatureScaler as FeatureScaler,
    PublicScaler as PublicScaler,
    TargetScaler as TargetScaler,
)
from wane.learn.streamed import (
    fit_table as fit_table,
)
from wane.learn.tuning import (
    PublicData as PublicData,
    tuned as tuned,
)

__all__ = [
    "CurvatureBound",
    "DataDependentWarning",
    "EXPECTED_FAILED_CHECKS",
    "FROM_DATA",
    "FeatureScaler",
    "MODELS",
    "Multiclass",
    "PrivateCurvature",
    "PrivateElasticNet",
    "PrivateHuberRegressor",
    "PrivateLasso",
    "PrivateLinearRegression",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateMean",
    "PrivateMultiOutputRegression",
    "PrivatePoissonRegressor",
    "PrivateQuantileRegressor",
    "PrivateRidge",
    "PublicData",
    "PublicScaler",
    "TargetScaler",
    "TooFewRecords",
    "fit_table",
    "load_model",
    "private_curvature",
    "tuned",
]
