"""Choices tuned on public data; on private data they are refused, because the choice would leak.

Which of several settings did best on private rows is itself a release.  Counting it would cost as
much as several fits, so wane plans from public numbers instead, and tunes only where rows are
declared public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from wane.describe import check
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.learn.base import PrivateLinearModel

TIMES = (0.25, 0.5, 2.0, 4.0)
"""Without candidates of the user's own, these multiples of the planned time are tried."""


@dataclass(frozen=True, eq=False)
class PublicData:
    """Rows that anyone may see, and targets; to build one is to declare them public.

    They should resemble the private rows, and hold none of them.
    """

    X: Any
    y: Any


def tuned(
    estimator: PrivateLinearModel,
    tune_on: PublicData,
    *,
    records: int,
    candidates: Iterable[Mapping[str, Any]] | None = None,
    repeats: int = 5,
) -> PrivateLinearModel:
    """Return an unfitted copy whose choices did best on public data, for `records` private rows.

    Each candidate is a set of the estimator's parameters; the plan as it is always takes part, and
    wins ties.  A fit of m public rows shows what a fit of n private rows would do if its Gaussian
    level is n/m times as large, because the noise depends on their product alone.
    """
    if not isinstance(tune_on, PublicData):
        raise InvalidDescription(
            "tune_on must be PublicData(X, y), got something else; choosing settings by how they "
            "do on private rows would release which did best, and no certificate counts that. "
            "Leave the plan as it is, or tune on rows that are public."
        )
    n = check.whole("records", records, least=1)
    times = check.whole("repeats", repeats, least=1)
    (X, y), (X_test, y_test) = _halves(tune_on)
    trial = clone(estimator).set_params(epsilon=_stretched(estimator, n, len(X)))
    tried = [{}, *(_around_the_plan(trial, X, y) if candidates is None else candidates)]
    scores = [
        np.mean([_fitted(trial, choice, X, y).score(X_test, y_test) for _ in range(times)])
        for choice in tried
    ]
    return _copy(estimator, tried[int(np.argmax(scores))])


def _halves(data: PublicData) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    X, y = np.asarray(data.X), np.asarray(data.y)
    if len(X) != len(y) or len(X) < 4:
        raise InvalidDescription(
            f"tune_on must hold at least 4 rows and as many targets, got {len(X)} and {len(y)}."
        )
    order = np.random.default_rng(0).permutation(len(X))
    fit, judge = order[::2], order[1::2]
    return (X[fit], y[fit]), (X[judge], y[judge])


def _stretched(estimator: PrivateLinearModel, private: int, public: int) -> float:
    mu = GaussianDP.from_target(epsilon=estimator.epsilon, delta=estimator.delta).mu
    return GaussianDP(mu * private / public).epsilon(estimator.delta)


def _around_the_plan(trial: PrivateLinearModel, X: Any, y: Any) -> list[dict[str, Any]]:
    run = _fitted(trial, {}, X, y).run_
    planned = run.total_steps - run.cool_down
    return [
        {"step_size": run.step_size, "steps": max(1, round(factor * planned))} for factor in TIMES
    ]


def _copy(estimator: PrivateLinearModel, choice: Mapping[str, Any]) -> PrivateLinearModel:
    made: PrivateLinearModel = clone(estimator).set_params(**choice)
    return made


def _fitted(
    trial: PrivateLinearModel, choice: Mapping[str, Any], X: Any, y: Any
) -> PrivateLinearModel:
    return _copy(trial, choice).fit(X, y)
