"""Which of scikit-learn's checks the estimators do not pass, and why.

Everything else in `sklearn.utils.estimator_checks.check_estimator` passes.  scikit-learn's checks
fit without declaring classes or bounds, so they are run on estimators that read them from the data
on purpose (`FROM_DATA`), with a seed and a large epsilon.
"""

from __future__ import annotations

_WEIGHTS = "sample weights are refused: the certificate counts every record once"

EXPECTED_FAILED_CHECKS: dict[str, str] = {
    "check_parameters_default_constructible": (
        "adjacency and multiclass default to members of an Enum, a type that the check does not "
        "know; names in strings would be checked later and worse"
    ),
    "check_all_zero_sample_weights_error": _WEIGHTS,
    "check_classifiers_one_label_sample_weights": _WEIGHTS,
    "check_sample_weights_pandas_series": _WEIGHTS,
    "check_sample_weights_not_an_array": _WEIGHTS,
    "check_sample_weights_list": _WEIGHTS,
    "check_sample_weights_shape": _WEIGHTS,
    "check_sample_weights_not_overwritten": _WEIGHTS,
    "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
}
"""By the check's name: the reason, for `check_estimator(expected_failed_checks=...)`."""
