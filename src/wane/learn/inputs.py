"""What `fit` is given, and from where: checked before anything is planned or drawn.

Nothing public is read from private data without being asked for.  scikit-learn quotes cells and
prints whole arrays in some messages, and numpy warns of a cell that leaves the floats: here a
complaint keeps only the words that are known to name no value.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import validation
from sklearn.utils.multiclass import check_classification_targets

from wane import arguments
from wane.describe import Adjacency
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.learn.scaling import FeatureScaler
from wane.losses import Loss
from wane.randomness import noise_generator
from wane.tables.encode import LARGEST_WHOLE

Labels = NDArray[Any]


class DataDependentWarning(UserWarning):
    """Something public was read from the private data, so no certificate holds."""


class FromData(Enum):
    """The explicit wish to read classes or bounds from the data: for public data only."""

    FROM_DATA = "from-data"


FROM_DATA = FromData.FROM_DATA
"""Given as `classes=`, `feature_bounds=` or `target_bound=`; voids the certificate."""


class TooFewRecords(Unreachable, InvalidDescription):
    """So few rows that the noise drowns everything they could say."""


def read_from_data(name: str) -> str:
    """Warn that `name` was read from the data, and return the reason why privacy is void."""
    reason = f"{name} was read from the data, so the model shows it without noise"
    warnings.warn(
        f"{reason}; the certificate is void. Declare {name} unless the data are public.",
        DataDependentWarning,
        stacklevel=2,
    )
    return reason


def require_enough_records(
    records: int, parameters: int, *, epsilon: float, delta: float, adjacency: Adjacency
) -> None:
    """Refuse a fit whose noise must be longer than any gradient; uses public numbers only.

    One release of the average of vectors of norm C among n records needs noise of deviation
    k C / (n mu) in each of p directions, k being 1 or 2 by adjacency: its length is about
    sqrt(p) k C / (n mu).  Where that is more than C, not even one gradient can be seen.
    """
    mu = GaussianDP.from_target(epsilon=epsilon, delta=delta).mu
    needed = adjacency.sensitivity(1.0) * math.sqrt(parameters) / mu if mu > 0.0 else math.inf
    if records < needed:
        shown = f"{math.ceil(needed)}" if math.isfinite(needed) else "infinitely many"
        raise TooFewRecords(
            f"Too few rows: epsilon={epsilon:g} at delta={delta:g} with {parameters} parameters "
            f"needs at least {shown} rows, got n_samples = {records}; give more rows, fewer "
            "columns or a larger epsilon."
        )


ADJACENCIES = (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE)
Voids = tuple[str, ...]
"""Why a certificate is void, one sentence each; empty if it is not."""


def check_target(epsilon: object, delta: object, adjacency: object) -> None:
    """Refuse a privacy target that means nothing here."""
    arguments.real("epsilon", epsilon, above=0.0)
    arguments.real("delta", delta, above=0.0, cure="Gaussian noise gives no pure guarantee")
    arguments.real("delta", delta, most=0.5, cure="delta is a probability of failure")
    if adjacency not in ADJACENCIES:
        names = " or ".join(str(a) for a in ADJACENCIES)
        raise InvalidDescription(
            f"adjacency must be {names}, got {adjacency!r:.60}; the number of rows is public here."
        )


def seed_voids(seed: object) -> Voids:
    """Return what a seed does to privacy; None is no seed."""
    if seed is None:
        return ()
    arguments.whole("seed_voids_privacy", seed, least=0)
    return ("the noise came from a seed, so whoever knows the seed can subtract it",)


def generator(seed: int | None) -> np.random.Generator:
    """Return the source of noise: one that nobody can repeat, unless there is a seed."""
    return noise_generator(seed)


def feature_scaler(norm: Any, bounds: Any, rows: NDArray[Any]) -> tuple[FeatureScaler, Voids]:
    """Return the declared scaler; looks at the rows only if `FROM_DATA` asks for it."""
    columns = rows.shape[1]
    if not isinstance(bounds, FromData):
        return FeatureScaler.from_bounds(norm, bounds, columns), ()
    reason = read_from_data("feature_bounds")
    return FeatureScaler.from_bounds(norm, range_of(rows), columns), (reason,)


def range_of(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the smallest and largest value of each column, widened where they agree."""
    low, high = values.min(axis=0), values.max(axis=0)
    return np.where(low < high, low, low - 0.5), np.where(low < high, high, high + 0.5)


_HARMLESS = re.compile(
    r"Input [Xy] contains NaN\."
    r"|X and y must hold numbers, got times\."
    r"|Input [Xy] contains infinity or a value too large for dtype\('float\d+'\)\."
    r"|Complex data not supported"
    r"|Expected 2D array, got (?:1D|scalar) array instead"
    r"|Found array with dim \d+\. [^\n]*"
    r"|Found array with \d+ (?:sample|feature)\(s\) [^\n]*"
    r"|Found input variables with inconsistent numbers of samples: [^\n]*"
    r"|X has \d+ features, but [^\n]*"
    r"|y should be a 1d array, got an array of shape \([\d, ]*\) instead\."
    r"|This \w+ estimator requires y to be passed[^\n]*"
    r"|Sparse data was passed for [^\n]*"
    r"|setting an array element with a sequence\."
    r"|float\(\) argument must be a string or a real number, not '[\w.]+'"
    # names of columns are public
    r"|Feature names are only supported if all input features have string names(?s:.*)"
    r"|The feature names should match those that were passed during fit(?s:.*)"
)
MOST_CELLS = 2**29
"""Of a sparse table that is filled up: 4 GiB in double precision."""
_RESHAPE = ". Reshape your data: one row for each record, one column for each feature."


def validated(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return what `sklearn.utils.validation.validate_data` does, or refuse without a quotation.

    Sparse rows are filled up with their zeros first.  An array has the type that it was given; that
    of a data frame or a list follows from all cells, so those are read in double precision.
    """
    X = _filled_up(X)
    if not hasattr(X, "dtype"):
        options = options | {"dtype": np.float64}
    try:
        with np.errstate(all="ignore"):
            _refuse_times(X)
            made = validation.validate_data(estimator, X, y, **options)
            if options.get("y_numeric"):
                _refuse_times(made[1])
                return made[0], made[1].astype(np.float64, copy=False)
            return made
    except (ValueError, TypeError, OverflowError) as error:
        complaint = _cleaned(error)
    # out here, so that the first error, which may quote a cell, is not even kept as a context
    raise complaint


def _refuse_times(values: Any) -> None:
    """Refuse columns of times: as numbers they are counted in a unit that may hang on one cell."""
    try:
        kind = np.asarray(values[:1]).dtype.kind
    except Exception:  # whoever reads all of it refuses it
        return
    if kind in "mM":
        raise ValueError("X and y must hold numbers, got times.")


def _filled_up(X: Any) -> Any:
    """Sparse rows as an array; their shape, which is public, decides whether that is refused."""
    if not sparse.issparse(X):
        return X
    cells = math.prod(X.shape)
    if cells > MOST_CELLS:
        raise InvalidDescription(
            f"X must have at most {MOST_CELLS} cells, zeros included, if sparse, got {cells}; "
            "fit parts of it (wane.extra.dask), or reduce its columns."
        )
    return X.toarray()


def _cleaned(error: Exception) -> Exception:
    found = _HARMLESS.match(str(error))
    if found is None:
        return InvalidDescription(
            "X must hold numbers, and y a target for each row, got something that is not a number; "
            "convert or encode it first (nothing is quoted here, since the data are private)."
        )
    text = found[0]
    if text.startswith("Expected 2D"):
        text += _RESHAPE
    return TypeError(text) if isinstance(error, TypeError) else InvalidDescription(text)


_LEARNS = (
    "{name} before it in the pipeline learns from the rows, so that one record moves all of them; "
    "use wane.learn.PublicScaler, feature_bounds or a schema, which look at one record at a time"
)
_TARGETS_LEARNT = (
    "TransformedTargetRegressor changes the targets by {name}, which learns from them, so that one "
    "record moves all of them; declare target_bound instead"
)
_CALLS = (
    "{name} calls a function that may look at all rows at once; of numpy's functions of single "
    "numbers, such as numpy.tanh, it is known that they do not. Apply another one before the fit, "
    "if it changes each record by itself"
)
_SEARCHES = (
    "{name} chose the settings by how they did on private rows, a release that is not counted; "
    "tune on public rows (tune_on), or leave the plan as it is"
)
_REPEATS = (
    "{name} draws rows with repetition, so that one record may count several times; "
    "set bootstrap=False, and compose the certificates of its members"
)
_LOOKS = (
    "{name} around it may look at all rows before it hands them on, for their labels, scores or "
    "weights, so that one record may move all others; fit the model by itself"
)
_ELSEWHERE = (
    "scikit-learn ran the fit on a worker, where nothing tells what was done to the rows before; "
    "set n_jobs=None"
)
HARMLESS = frozenset(
    {
        "BaggingRegressor",
        "FixedThresholdClassifier",
        "FrozenEstimator",
        "MultiOutputClassifier",
        "MultiOutputRegressor",
        "RegressorChain",
        "VotingRegressor",
    }
)
"""What hands on rows as they are, or a part that does not depend on what they hold.

Bags of classifiers are none: they number the labels that occur, so that one record may rename all.
"""
_NO_CALLER = ("sklearn.utils.", "sklearn.base", "sklearn.externals.")
"""Modules of scikit-learn that hand on calls, and tests of estimators."""
_SCORES = "sklearn.model_selection._validation"
"""Fits parts of the rows to score them."""


def surrounding_voids() -> Voids:
    """Return why the certificate of a fit that runs now is void because of its callers.

    What stands around a fit and learns from its rows is covered by no certificate of the fit.
    scikit-learn calls `fit` from inside pipelines, searches and ensembles.  An estimator is not
    told, so the callers are looked up; only their kinds and public settings are read.  A kind that
    is not known to hand on rows as they are voids.
    """
    found: dict[str, None] = {}
    callers, elsewhere = _callers()
    for caller in callers:
        for reason in _reasons(caller):
            found[reason] = None
    if elsewhere:
        found[_ELSEWHERE] = None
    return tuple(found)


def _callers() -> tuple[list[Any], bool]:
    """Return the objects of scikit-learn whose methods are running, the nearest first.

    The second is whether its outermost frame belongs to no object, as on a worker of joblib.
    """
    callers: list[Any] = []
    elsewhere = False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        caller = frame.f_locals.get("self")
        if caller is not None and _is_known(caller):
            callers.append(caller)
            elsewhere = False
        elif module.startswith("sklearn.") and not module.startswith(_NO_CALLER):
            elsewhere = module != _SCORES
        frame = frame.f_back
    return callers, elsewhere


_JUDGED = {"Pipeline", "BaseSearchCV", "BaseEnsemble"}


def _is_known(caller: Any) -> bool:
    """Return whether it is an estimator of scikit-learn, or one that a library derived from it.

    By names, since the modules are slow to import and no caller is of one that is not.
    """
    theirs = {one.__name__ for one in type(caller).__mro__ if one.__module__.startswith("sklearn.")}
    direct = type(caller).__module__.startswith("sklearn.") and "BaseEstimator" in theirs
    return direct or bool(theirs & _JUDGED)


def _reasons(caller: Any) -> Iterator[str]:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import Pipeline

    name = type(caller).__name__
    if isinstance(caller, Pipeline):
        for _, step in caller.steps[:-1]:
            if step not in (None, "passthrough"):
                yield from _of_step(step, _LEARNS)
    elif isinstance(caller, BaseSearchCV):
        yield _SEARCHES.format(name=name)
    elif isinstance(caller, TransformedTargetRegressor):
        if caller.transformer is not None:
            yield from _of_step(caller.transformer, _TARGETS_LEARNT)
        elif not _of_single_numbers(caller.func):
            yield _CALLS.format(name=name)
    elif getattr(caller, "bootstrap", False):
        yield _REPEATS.format(name=name)
    elif name not in HARMLESS or getattr(caller, "cv", None) is not None:
        yield _LOOKS.format(name=name)


def _of_step(step: Any, learns: str) -> Iterator[str]:
    """Yield why a step before the fit, or one on its targets, voids the certificate."""
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils import get_tags

    name = type(step).__name__
    if get_tags(step).requires_fit:
        yield learns.format(name=name)
    elif isinstance(step, FunctionTransformer) and not _of_single_numbers(step.func):
        yield _CALLS.format(name=name)


def _of_single_numbers(function: Any) -> bool:
    """Return whether a function is absent, or known to change every cell by itself."""
    return function is None or isinstance(function, np.ufunc)


@dataclass(frozen=True)
class Task:
    """Targets made ready: what the loss gets, and how a linear predictor is read.

    Attributes:
        targets: one entry or row for each record.
        link: the loss.
        centre, unit: a prediction is `centre + unit * (linear predictor)`, for each output.
        classes: the public classes, of a classifier.
        voids: why there is no privacy, if there is none.
    """

    targets: NDArray[Any]
    link: Loss
    centre: tuple[float, ...] = (0.0,)
    unit: tuple[float, ...] = (1.0,)
    classes: NDArray[Any] | None = None
    voids: Voids = ()


def class_task(y: Labels, classes: Any, loss_of: Callable[[int], Loss]) -> Task:
    """Return labels made ready for a loss of so many declared classes."""
    if classes is None:
        raise InvalidDescription(
            "classes must be given, got None; list every label that may occur, since reading "
            "them from the data would show them."
        )
    if isinstance(classes, FromData):
        check_classification_targets(y)
        known = np.unique(y)
        voids: Voids = (read_from_data("classes"),)
    else:
        known, voids = _declared_labels(classes), ()
    if len(known) < 2:
        raise InvalidDescription(
            f"classes must hold at least two labels, got {len(known)} class; "
            "there is nothing to tell apart."
        )
    places = _positions(y, known)
    loss = loss_of(len(known))
    n = loss.outputs
    targets = 2.0 * places - 1.0 if n == 1 else places  # one margin: the sign is the class
    return Task(targets, loss, (0.0,) * n, (1.0,) * n, known, voids)


def _declared_labels(classes: object) -> Labels:
    try:
        given = np.asarray(classes)
        found = np.unique(given)
    except (TypeError, ValueError):
        raise InvalidDescription(
            f"classes must be labels of one type, got {classes!r:.60}."
        ) from None
    if given.ndim != 1 or found.size != given.size:
        raise InvalidDescription(
            f"classes must be a list of different labels, got {classes!r:.60}."
        )
    if any(isinstance(one, int | float) and abs(one) >= LARGEST_WHOLE for one in found.tolist()):
        raise InvalidDescription(
            f"classes must be words if they are numbers beyond 2^53, got {classes!r:.60}; one "
            "label that is no whole number would make all others the nearest doubles."
        )
    return found


def _positions(y: Labels, classes: Labels) -> NDArray[np.intp]:
    """Return each label's place among the classes; never shows a label that has none."""
    try:
        found, inverse = np.unique(y, return_inverse=True)
    except TypeError:
        raise InvalidDescription("y must hold labels of one type, got several.") from None
    places = {label: place for place, label in enumerate(classes.tolist())}
    known = [places.get(label, -1) for label in found.tolist()]
    if -1 in known:
        raise InvalidDescription(
            f"y must hold declared classes only, got a label that is none of the {len(classes)} "
            "classes; declare it, or leave such rows out by a public rule."
        )
    return np.asarray(known, dtype=np.intp)[inverse]
