"""The private mean: one step of descent on squared distances, from the declared centre."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from wane.certificates import Certificate, Circumstances, calibrate, certify
from wane.describe import Adjacency, NoiseMultiplier, NoisyDescent
from wane.errors import InvalidDescription
from wane.learn.inputs import (
    Voids,
    check_target,
    feature_scaler,
    generator,
    require_enough_records,
    seed_voids,
    surrounding_voids,
    validated,
)
from wane.learn.persons import check_rows_per_person, planned_for_persons, share_of_one_row
from wane.learn.presented import Certified, conduct_of_mean, entered
from wane.learn.scaling import FeatureScaler
from wane.losses import Loss, MultiSquared, Squared
from wane.run import descend
from wane.run.linear import LinearSums


@dataclass(frozen=True)
class PreparedMean:
    """A mean that is checked, calibrated and certified; no noise has been drawn."""

    scaler: FeatureScaler
    gradients: LinearSums
    certificate: Certificate
    voids: Voids


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMean(Certified, BaseEstimator):  # type: ignore[misc]
    """The mean of rows of bounded norm, by the Gaussian mechanism.

    One step of size one from the origin on the squared distances to the rows, residuals cut to the
    norm bound, ends at the mean of the cut rows plus noise.  One step has nothing to hide, so its
    certificate is composition's, which is exact.  A null record counts as the middle of the bounds,
    or as zero if there are none.

    Args:
        epsilon: the target of this release.
        delta: the probability that goes with epsilon.
        adjacency: ZERO_OUT (the default), REPLACE_ONE, or the word for one of them.
        rows_per_person: the most rows that one person may have, declared without looking.
        feature_bounds: public bounds (low, high), each a number or one for each column.
        account: an account of a `wane.ledger.Ledger`, which the release is entered in first.
        seed_voids_privacy: a seed makes the result repeatable and voids its certificate.
        feature_norm: rows beyond, measured in columns mapped from their bounds to [-1, 1], are
            scaled down.  None: the norm that no such row exceeds, so `feature_bounds` are needed.

    Attributes:
        mean_: the release.
        certificate_: what is claimed of it; `save` writes it as a page to sign.
        run_: the description that ran.
        n_features_in_: number of columns.

    Example:
        >>> import numpy as np
        >>> from wane.learn import PrivateMean
        >>> ages = np.linspace(20.0, 60.0, 5000).reshape(-1, 1)
        >>> model = PrivateMean(epsilon=1.0, feature_bounds=(0.0, 100.0)).fit(ages)
        >>> bool(abs(model.mean_[0] - 40.0) < 2.0)
        True
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    adjacency: Adjacency = Adjacency.ZERO_OUT
    rows_per_person: int = 1
    feature_norm: float | None = None
    feature_bounds: Any = None
    account: Any = None
    seed_voids_privacy: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate the mean privately; `y` is ignored.  Refusals come before any noise."""
        ready = self._prepare(X)
        run = ready.certificate.run
        certificate = ready.certificate.void(ready.voids)
        with entered(self.account, certificate):
            end = descend(run, ready.gradients, generator=generator(self.seed_voids_privacy))
        self.mean_ = ready.scaler.in_columns(end.ravel())
        self.run_ = run
        self.certificate_ = certificate
        return self

    def _product(self) -> str:
        return f"the mean of {self.mean_.size} columns"

    def _circumstances(self) -> Circumstances:
        return conduct_of_mean(self)

    def _prepare(self, X: Any) -> PreparedMean:
        """Check everything, calibrate and certify; draws no noise."""
        check_target(self.epsilon, self.delta, self.adjacency)
        check_rows_per_person(self.rows_per_person, alone=True)
        seeded = seed_voids(self.seed_voids_privacy)
        X = validated(self, X, dtype=np.float64)
        rows, columns = X.shape
        if self.feature_norm is None and self.feature_bounds is None:
            raise InvalidDescription(
                "feature_norm or feature_bounds must be given, got neither; a mean without bounds "
                "cannot be private."
            )
        norm = math.sqrt(columns) if self.feature_norm is None else self.feature_norm
        scaler, read = feature_scaler(norm, self.feature_bounds, X)
        require_enough_records(
            rows,
            columns,
            epsilon=share_of_one_row(self.epsilon, self.delta, self.rows_per_person),
            delta=self.delta,
            adjacency=self.adjacency,
        )
        link: Loss = Squared() if columns == 1 else MultiSquared(columns)
        run = NoisyDescent(
            objective=link.objective(1.0, scaler.feature_norm, 0.0),
            records=rows,
            steps=1,
            step_size=1.0,
            noise=NoiseMultiplier(1.0),
            adjacency=self.adjacency,
        )
        voids = read + seeded + surrounding_voids()
        points = scaler(X)
        gradients = LinearSums(
            np.ones((rows, 1)),
            points[:, 0] if columns == 1 else points,
            link,
            feature_norm=1.0,
            gradient_bound=run.objective.gradient_bound,
        )
        return PreparedMean(scaler, gradients, self._calibrated(run), voids)

    def _calibrated(self, run: NoisyDescent) -> Certificate:
        """Return the certificate of the run whose noise protects a person with all rows."""
        found = planned_for_persons(
            lambda share: calibrate(run, epsilon=share, delta=self.delta).certificate.run,
            epsilon=self.epsilon,
            delta=self.delta,
            rows_per_person=self.rows_per_person,
        )
        return certify(found).for_persons(self.rows_per_person)
