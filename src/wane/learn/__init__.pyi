from wane.learn.classifiers import (
    Multiclass as Multiclass,
)
from wane.learn.classifiers import (
    PrivateLinearSVC as PrivateLinearSVC,
)
from wane.learn.classifiers import (
    PrivateLogisticRegression as PrivateLogisticRegression,
)
from wane.learn.conformance import (
    EXPECTED_FAILED_CHECKS as EXPECTED_FAILED_CHECKS,
)
from wane.learn.curvature import (
    CurvatureBound as CurvatureBound,
)
from wane.learn.curvature import (
    PrivateCurvature as PrivateCurvature,
)
from wane.learn.curvature import (
    private_curvature as private_curvature,
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
from wane.learn.public_scaler import (
    PublicScaler as PublicScaler,
)
from wane.learn.refusals import (
    FROM_DATA as FROM_DATA,
)
from wane.learn.refusals import (
    DataDependentWarning as DataDependentWarning,
)
from wane.learn.refusals import (
    TooFewRecords as TooFewRecords,
)
from wane.learn.regressors import (
    PrivateElasticNet as PrivateElasticNet,
)
from wane.learn.regressors import (
    PrivateHuberRegressor as PrivateHuberRegressor,
)
from wane.learn.regressors import (
    PrivateLasso as PrivateLasso,
)
from wane.learn.regressors import (
    PrivateLinearRegression as PrivateLinearRegression,
)
from wane.learn.regressors import (
    PrivateMultiOutputRegression as PrivateMultiOutputRegression,
)
from wane.learn.regressors import (
    PrivatePoissonRegressor as PrivatePoissonRegressor,
)
from wane.learn.regressors import (
    PrivateQuantileRegressor as PrivateQuantileRegressor,
)
from wane.learn.regressors import (
    PrivateRidge as PrivateRidge,
)
from wane.learn.scaling import (
    FeatureScaler as FeatureScaler,
)
from wane.learn.scaling import (
    TargetScaler as TargetScaler,
)
from wane.learn.streamed import (
    fit_table as fit_table,
)
from wane.learn.tuning import (
    PublicData as PublicData,
)
from wane.learn.tuning import (
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
