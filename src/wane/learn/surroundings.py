"""What stands around a fit and learns from its rows, which no certificate of the fit covers.

scikit-learn calls `fit` from inside pipelines, searches and ensembles.  An estimator is not told,
so the callers are looked up; only their kinds and public settings are read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from wane.learn.inputs import Voids

_LEARNS = (
    "{name} before it in the pipeline learns from the rows, so that one record moves all of them; "
    "use wane.learn.PublicScaler, feature_bounds or a schema, which look at one record at a time"
)
_SEARCHES = (
    "{name} chose the settings by how they did on private rows, a release that is not counted; "
    "tune on public rows (tune_on), or leave the plan as it is"
)
_REPEATS = (
    "{name} draws rows with repetition, so that one record may count several times; "
    "set bootstrap=False, and compose the certificates of its members"
)


def surrounding_voids() -> Voids:
    """Return why the certificate of a fit that runs now is void because of its callers."""
    found: dict[str, None] = {}
    for caller in _callers():
        for reason in _reasons(caller):
            found[reason] = None
    return tuple(found)


def _callers() -> Iterator[Any]:
    """Yield the objects of scikit-learn whose methods are running, the nearest first."""
    frame = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self")
        if caller is not None and type(caller).__module__.startswith("sklearn."):
            yield caller
        frame = frame.f_back  # type: ignore[assignment]


def _reasons(caller: Any) -> Iterator[str]:
    from sklearn.ensemble import BaseEnsemble
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import Pipeline

    name = type(caller).__name__
    if isinstance(caller, Pipeline):
        for _, step in caller.steps[:-1]:
            if step not in (None, "passthrough") and _learns_from_rows(step):
                yield _LEARNS.format(name=type(step).__name__)
    elif isinstance(caller, BaseSearchCV):
        yield _SEARCHES.format(name=name)
    elif isinstance(caller, BaseEnsemble) and getattr(caller, "bootstrap", False):
        yield _REPEATS.format(name=name)


def _learns_from_rows(step: Any) -> bool:
    from sklearn.utils import get_tags

    return bool(get_tags(step).requires_fit)
