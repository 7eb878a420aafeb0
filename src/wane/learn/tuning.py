"""Choices tuned on public data; on private data they are refused, because the choice would leak.

Which of several settings did best on private rows is itself a release.  Counting it would cost as
much as several fits, so wane plans from public numbers instead, and tunes only where rows are
declared public.  Trials touch neither the account nor the checkpoint of the fit that follows, and
their noise comes from fixed seeds, since public rows need none: the choice can be repeated.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from wane import arguments
from wane.errors import InvalidDescription, PrivacyWarning
from wane.guarantees import GaussianDP
from wane.randomness import public_generator

if TYPE_CHECKING:
    from wane.learn.base import PrivateLinearModel

ALONE = {
    "account": None,
    "checkpoint": None,
    "curvature": None,
    "progress": False,
    "release_noise": None,
    "tune_on": None,
}
"""What a trial on public rows must not share with the fit on private ones."""
SHARED = ("account", "checkpoint", "warm_start")
"""What a copy has in common with the estimator, where scikit-learn's clone would copy it too."""
FIXED = ("epsilon", "delta", "adjacency", "rows_per_person", "seed_voids_privacy", *ALONE)
"""What no candidate may change: the target is not a setting, nor is who counts it."""
TIMES = (0.25, 0.5, 2.0, 4.0)
"""Without candidates of the user's own, these multiples of the planned time are tried."""


@dataclass(frozen=True, eq=False)
class PublicData:
    """Rows that anyone may see, and targets; to build one is to declare them public.

    They should resemble the private rows, and hold none of them.

    Attributes:
        X, y: rows of features, and targets.
        name: what the certificate calls them, for instance the name of their file.
    """

    X: Any
    y: Any
    name: str = "rows declared public"

    @property
    def sha256(self) -> str:
        """The hash of rows and targets that certificates name; the rows are public, so is it."""
        made = hashlib.sha256()
        for part in (self.X, self.y):
            values = np.ascontiguousarray(part)
            made.update(repr((values.dtype.str, values.shape)).encode())
            made.update(
                values.astype(str).tobytes() if values.dtype.hasobject else values.tobytes()
            )
        return made.hexdigest()

    @property
    def statement(self) -> str:
        """What a certificate says about settings that were tuned on these rows."""
        return (
            f"Settings were tuned on {self.name}, which whoever made the release declares public "
            f"and to hold none of the private records ({len(self.X)} rows, SHA-256 {self.sha256})."
        )


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
    require_public(tune_on)
    n = arguments.whole("records", records, least=1)
    times = arguments.whole("repeats", repeats, least=1)
    (X, y), (X_test, y_test) = _halves(tune_on)
    level = _stretched(estimator, n, len(X))
    trial = _copy(estimator, ALONE | {"epsilon": level, "seed_voids_privacy": 0})
    tried = [{}, *(_around_the_plan(trial, X, y) if candidates is None else candidates)]
    _refuse_other_targets(tried)

    def score(choice: Mapping[str, Any], seed: int) -> float:
        with warnings.catch_warnings():  # the fit that follows has its own
            warnings.simplefilter("ignore", PrivacyWarning)
            model = _copy(trial, {**choice, "seed_voids_privacy": seed}).fit(X, y)
        return float(model.score(X_test, y_test))

    scores = [np.mean([score(choice, seed) for seed in range(times)]) for choice in tried]
    return _copy(estimator, {"tune_on": None, **tried[int(np.argmax(scores))]})


def require_public(tune_on: object) -> None:
    """Refuse rows that nobody declared public."""
    if not isinstance(tune_on, PublicData):
        raise InvalidDescription(
            "tune_on must be PublicData(X, y), got something else; choosing settings by how they "
            "do on private rows would release which did best, and no certificate counts that. "
            "Leave the plan as it is, or tune on rows that are public."
        )


def refuse_private(tune_on: PublicData, X: Any, y: Any) -> None:
    """Refuse public rows that are the private ones, hold them all, or are taken from them.

    A few coarse cells occur in any two tables, so that parts of a table are told from chance by
    their rows being mostly distinct.
    """
    private, public = _counted(X, y), _counted(tune_on.X, tune_on.y)
    same = private == public
    apart = len(public) > 0.5 * public.total()
    if same or (apart and (private <= public or public <= private)):
        raise InvalidDescription(
            "tune_on must hold none of the private records, got a table that is, contains or is "
            "part of the private one; which settings do best on private rows is a release that no "
            "certificate counts. Leave the plan as it is, or tune on rows that are public."
        )


def _counted(X: Any, y: Any) -> Counter[tuple[Any, ...]]:
    """Return how often each row occurs together with its target."""
    filled = X.toarray() if hasattr(X, "toarray") else X
    rows, targets = np.asarray(filled).tolist(), np.asarray(y).tolist()
    return Counter((*map(str, row), str(target)) for row, target in zip(rows, targets, strict=True))


def _halves(data: PublicData) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    X, y = np.asarray(data.X), np.asarray(data.y)
    if len(X) != len(y) or len(X) < 4:
        raise InvalidDescription(
            f"tune_on must hold at least 4 rows and as many targets, got {len(X)} and {len(y)}."
        )
    order = public_generator(0).permutation(len(X))
    fit, judge = order[::2], order[1::2]
    return (X[fit], y[fit]), (X[judge], y[judge])


def _stretched(estimator: PrivateLinearModel, private: int, public: int) -> float:
    mu = GaussianDP.from_target(epsilon=estimator.epsilon, delta=estimator.delta).mu
    return GaussianDP(mu * private / public).epsilon(estimator.delta)


def _around_the_plan(trial: PrivateLinearModel, X: Any, y: Any) -> list[dict[str, Any]]:
    run = trial._prepare(X, y).run
    planned = run.total_steps - run.cool_down
    return [
        {"step_size": run.step_size, "steps": max(1, round(factor * planned))} for factor in TIMES
    ]


def _refuse_other_targets(candidates: Iterable[Mapping[str, Any]]) -> None:
    found = sorted({name for choice in candidates for name in choice if name in FIXED})
    if found:
        raise InvalidDescription(
            f"candidates must leave {', '.join(found)} alone, got other values; a target is stated "
            "by whoever is responsible for the records, and not tuned."
        )


def _copy(estimator: PrivateLinearModel, choice: Mapping[str, Any]) -> PrivateLinearModel:
    """Return an unfitted copy with these choices."""
    shared = {name: getattr(estimator, name) for name in SHARED}
    made: PrivateLinearModel = clone(estimator).set_params(**{**shared, **choice})
    return made
