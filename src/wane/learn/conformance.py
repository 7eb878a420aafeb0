"""Which of scikit-learn's checks the estimators do not pass, and why.

Everything else in `sklearn.utils.estimator_checks.check_estimator` passes.  scikit-learn's checks
fit without declaring classes or bounds, so they are run on estimators that read them from the data
on purpose (`FROM_DATA`), with a seed and a large epsilon.
"""

from __future__ import annotations

EXPECTED_FAILED_CHECKS: dict[str, str] = {
    "check_parameters_default_constructible": (
        "adjacency and multiclass default to members of an Enum, a type that the check does not "
        "know; names in strings would be checked later and worse"
    ),
}
"""By the check's name: the reason, for `check_estimator(expected_failed_checks=...)`."""
