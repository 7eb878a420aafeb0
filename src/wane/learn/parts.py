"""Fit where rows are kept in parts: what is done to a part, and what is known of all of them.

A part is read by a blank copy of the estimator, which holds neither seed nor start nor account of
the one that is fitted.  A part may be read again, from a file or by a graph that is computed anew;
so every sum carries a mark of the rows it was made from, which is compared with what was found
before the fit was planned.  One record in place of many would cost more than was certified.

Reading never raises for what rows hold: a refusal comes back as a value,
in words without any of theirs, so that nothing that runs the work elsewhere can log the rows.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.learn.base import KINDS, PrivateLinearModel
from wane.learn.bounding import Bounding
from wane.learn.inputs import FromData, Task, validated
from wane.learn.scaling import FeatureScaler
from wane.run.descent import Rows
from wane.run.linear import LinearSums
from wane.run.parts import Evaluate, PartedSums, reserve

STAYS = (
    "account",
    "checkpoint",
    "progress",
    "release_noise",
    "seed_voids_privacy",
    "warm_start",
)
"""Arguments of an estimator that a reader of rows has no business with."""
WHOLE = {
    "curvature": "the average's curvature is found with all rows at hand",
    "tune_on": "call tuned(), to which their number is enough, and fit what it returns",
}
"""Arguments for rows in one piece, and why."""
T = TypeVar("T")
Model = TypeVar("Model", bound=PrivateLinearModel)


@dataclass(frozen=True)
class Refusal:
    """Why a part cannot be used, in words that quote no row."""

    words: str


@dataclass(frozen=True)
class Mark:
    """What tells the rows of a part from others: how many they are, and a keyed hash of them."""

    rows: int
    digest: bytes = field(repr=False)


@dataclass(frozen=True)
class Marked:
    """A part's sums of bounded gradients, and the mark of its rows."""

    sums: LinearSums
    mark: Mark

    def __sizeof__(self) -> int:
        """With the records, as for the sums themselves."""
        return object.__sizeof__(self) + self.sums.__sizeof__()

    def __call__(self, parameters: Array, rows: Rows) -> MarkedSum:
        """Return the sum over these rows, with the mark of all of them."""
        return MarkedSum(self.sums(parameters, rows), self.mark)


@dataclass(frozen=True)
class MarkedSum:
    """A sum of bounded gradients, and the mark of the rows that it was made from."""

    total: Array
    mark: Mark

    def of(self, expected: Mark) -> Array:
        """Return the sum if it is of the rows that the fit was planned for."""
        require_same_rows(self.mark, expected)
        return self.total


def require_same_rows(found: Mark, expected: Mark) -> None:
    """Refuse rows that are not those the fit was planned for."""
    if found != expected:
        raise InvalidDescription(
            "data must not change during a fit, got other rows in some part; keep the collection "
            "or the file as it is, and make a graph that gives the same rows whenever it is "
            "computed."
        )


@dataclass(frozen=True)
class Facts:
    """What is public about a part, or about all of them: sizes, names, and the loss.

    Attributes:
        sizes: number of rows of each part.
        columns: number of features.
        names: of the features, if they have any.
        task: how targets are read, without targets.
        marks: of the rows of each part, under the fit's own key.
    """

    sizes: tuple[int, ...]
    columns: int
    names: tuple[str, ...] | None
    task: Task
    marks: tuple[Mark, ...]

    def alike(self, other: Facts) -> bool:
        """Return whether two parts belong to the same table."""
        return (self.columns, self.names, self.task.link, self.task.unit) == (
            other.columns,
            other.names,
            other.task.link,
            other.task.unit,
        )


@dataclass(frozen=True)
class Reader:
    """Reads the rows of a part as the estimator would; a pure function, free of secrets."""

    kind: type[PrivateLinearModel]
    arguments: dict[str, Any]
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, estimator: object) -> Reader:
        """Return the reader of this estimator, if everything public about it is declared."""
        if not isinstance(estimator, PrivateLinearModel):
            raise InvalidDescription(
                f"estimator must be a private linear model, got {type(estimator).__name__}."
            )
        estimator._check_declared()
        known = {each.name: getattr(estimator, each.name) for each in fields(estimator)}
        for name, instead in WHOLE.items():
            if known[name] is not None:
                raise InvalidDescription(
                    f"{name} must be None for rows in parts, got one; {instead}."
                )
        for name, value in known.items():
            if isinstance(value, FromData):
                raise InvalidDescription(
                    f"{name} must be declared for rows in parts, got FROM_DATA; no part shows what "
                    "all of them hold."
                )
        arguments = {k: v for k, v in known.items() if k not in STAYS}
        return cls(type(estimator), arguments, secrets.token_bytes(32))

    def facts(self, rows: Any, targets: Any) -> Facts | Refusal | None:
        """Return what is public about a part, or why it is refused; None if it has no rows."""
        return quietly(lambda: self._facts(rows, targets))

    def sums(self, bounding: Bounding, rows: Any, targets: Any) -> Marked | Refusal:
        """Return the part's sums of bounded gradients, with the mark of its rows."""
        return quietly(lambda: self._sums(bounding, rows, targets))

    def _facts(self, rows: Any, targets: Any) -> Facts | None:
        blank = self.kind(**self.arguments)
        if not len(rows) and not len(targets):
            return None
        X, y = validated(blank, rows, targets, dtype=KINDS, **blank._validation)
        task = blank._task(y)
        mark = self._mark(X, task)
        names = getattr(blank, "feature_names_in_", None)
        named = None if names is None else tuple(names.tolist())
        return Facts((len(X),), X.shape[1], named, replace(task, targets=np.empty(0)), (mark,))

    def _sums(self, bounding: Bounding, rows: Any, targets: Any) -> Marked:
        blank = self.kind(**self.arguments)
        X, y = validated(blank, rows, targets, dtype=KINDS, **blank._validation)
        task = blank._task(y)
        return Marked(bounding(X, task.targets), self._mark(X, task))

    def _mark(self, rows: NDArray[Any], task: Task) -> Mark:
        made = hashlib.blake2b(key=self.key, digest_size=32, person=b"wane-part")
        for values in (rows, np.asarray(task.targets)):
            kept = np.ascontiguousarray(values)
            made.update(f"{kept.shape} {kept.dtype}\n".encode())
            made.update(kept.data)
        return Mark(len(rows), made.digest())


def quietly(work: Callable[[], T]) -> T | Refusal:
    """Do the work; what goes wrong with it is told in words of ours alone."""
    try:
        return work()
    except InvalidDescription as error:
        return Refusal(str(error))
    except MemoryError:
        return Refusal("Each part must fit into memory several times, got too large a one.")
    except Exception as error:  # other libraries' messages may quote a cell
        return Refusal(
            "X must hold finite numbers and y one target for each row, got something else in some "
            f"part ({type(error).__name__}); correct the rows, or leave such out by a public rule."
        )


def accepted(found: T | Refusal) -> T:
    """Return what was found, or raise the refusal."""
    if isinstance(found, Refusal):
        raise InvalidDescription(found.words)
    return found


def together(parts: Iterable[Facts]) -> Facts:
    """Return what is public about all parts, or refuse them."""
    filled = list(parts)
    if not filled:
        raise InvalidDescription("X must have at least one row, got none.")
    if not all(filled[0].alike(part) for part in filled):
        raise InvalidDescription(
            "All parts must have the same columns and targets, got several kinds."
        )
    sizes = tuple(size for part in filled for size in part.sizes)
    return replace(filled[0], sizes=sizes, marks=tuple(m for part in filled for m in part.marks))


def fit_parts(
    estimator: Model,
    facts: Facts,
    evaluator: Callable[[Bounding], Evaluate],
    *,
    in_order: bool,
) -> Model:
    """Fit the estimator to parts, whose sums `evaluator` returns once it knows how to bound them.

    `in_order`: rows are cheap to read only in the order they have.
    """
    estimator.n_features_in_ = facts.columns
    if facts.names is not None:
        estimator.feature_names_in_ = np.asarray(facts.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    scaler = FeatureScaler.from_bounds(
        estimator.feature_norm, estimator.feature_bounds, facts.columns
    )

    def sums(plain: Bounding) -> PartedSums:
        bounding = replace(plain, reserve=reserve(facts.sizes))
        rows = facts.columns + (bounding.intercept > 0.0)
        outputs = bounding.link.outputs
        evaluate = evaluator(bounding)
        if estimator.checkpoint is not None and not hasattr(evaluate, "fingerprint"):
            raise InvalidDescription(
                "checkpoint must be None for rows on other machines, got one: nothing here could "
                "tell whether the rows are the same when the run is taken up again."
            )
        return PartedSums(
            facts.sizes,
            evaluate,
            shape=(rows,) if outputs == 1 else (rows, outputs),
            objective=bounding.objective,
        )

    shape = (sum(facts.sizes), facts.columns)
    ready = estimator._prepared(facts.task, scaler, shape, sums, in_order=in_order)
    return estimator._finish(ready)
