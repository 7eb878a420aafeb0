"""Reading models: runs no code from the file, and certifies anew instead of believing a number."""

from __future__ import annotations

import hashlib
import json
import math
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile
from zlib import error as zlib_error

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane._version import __version__
from wane.certificates import certificate_from_fields
from wane.describe import Adjacency, NoisyDescent
from wane.describe.facts import without_facts
from wane.describe.fields import run_from_fields
from wane.describe.files import read_json, read_table
from wane.errors import InvalidDescription, reason_of
from wane.learn import models
from wane.learn.base import PrivateLinearModel
from wane.learn.classifiers import Multiclass
from wane.learn.inputs import FromData
from wane.learn.saving import FORMAT, VERSION, parameters_out
from wane.learn.scaling import FeatureScaler

Array = NDArray[Any]
DOCUMENT = "certificate.json"
MOST_BYTES = 2**30
"""Of a file, unpacked."""

ENUMS: dict[str, type[Enum]] = {kind.__name__: kind for kind in (Adjacency, Multiclass, FromData)}


def load_model(path: str | Path) -> Any:
    """Return the fitted model of a file, certified anew; what does not fit together is refused.

    If the certificate of a release lies beside the file, the file must be the one it names.
    """
    place = Path(path)
    raw = _read(place)
    bound_to_document(place, raw)
    try:
        about, coef, intercept = _content(raw, place)
        return _model(about, coef, intercept)
    except InvalidDescription as error:
        if isinstance(error, _Damaged):
            raise
        raise _Damaged(place, str(error)) from None
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise _Damaged(place, f"{type(error).__name__} at {error!s:.60}") from None


def _as_read(model: PrivateLinearModel) -> Any:
    return read_json(json.dumps(parameters_out(model)), "the model's parameters")


def require_loadable(model: PrivateLinearModel) -> None:
    """Refuse a model whose file could never be read; to be asked before its noise is drawn."""
    kept = _as_read(model)
    try:
        again = _unfitted(type(model).__name__, kept)
        same = type(again) is type(model) and _as_read(again) == kept
    except (KeyError, TypeError, ValueError):  # InvalidDescription is a ValueError
        same = False
    if not same:
        raise InvalidDescription(
            f"model must be one that a file can be read back as, got {type(model).__name__}; "
            "nothing was spent: list it in wane.learn.MODELS, and its parameters' types in "
            "wane.learn.loading."
        )


class _Damaged(InvalidDescription):
    """A file that is no model, or not a whole one."""

    def __init__(self, place: Path, why: str) -> None:
        super().__init__(f"{place} must be a model file of wane: {why}")


def _read(place: Path) -> bytes:
    """Return the bytes of a file, because numpy would leave a damaged one open."""
    try:
        return place.read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidDescription(f"{place!s:.120} cannot be read: {reason_of(error)}.") from None


def bound_to_document(place: Path, raw: bytes) -> bool:
    """Refuse a file that is not the one the certificate beside it names; False if none names it.

    Certificates of wane 0.1 name no files.
    """
    beside = place.parent / DOCUMENT
    if not beside.is_file():
        return False
    document = read_table(beside, most_bytes=MOST_BYTES)
    named = document.get("files") if isinstance(document, dict) else None
    if not isinstance(named, dict) or place.name not in named:
        return False
    if named[place.name] != hashlib.sha256(raw).hexdigest():
        raise InvalidDescription(
            f"{place!s:.120} must be the file that {DOCUMENT} names, got another; the certificate "
            "says nothing about this one."
        )
    return True


def _content(raw: bytes, place: Path) -> tuple[dict[str, Any], Array, Array]:
    """Return the three entries of the archive, of the right kinds."""
    try:
        with ZipFile(BytesIO(raw)) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > MOST_BYTES:
            raise _Damaged(place, f"it would take {size} bytes, and at most {MOST_BYTES} are read.")
        with np.load(BytesIO(raw), allow_pickle=False) as archive:
            if sorted(archive.files) != ["about", "coef", "intercept"]:
                raise _Damaged(place, "it must hold about, coef and intercept, and nothing else.")
            text, coef, intercept = (archive[n] for n in ("about", "coef", "intercept"))
    except (BadZipFile, NotImplementedError, zlib_error) as error:
        raise _Damaged(place, f"{error!s:.80}.") from None
    about = read_json(str(text), str(place))
    known = isinstance(about, dict) and about.get("format") == FORMAT
    if not known or about.get("version") != VERSION:
        raise _Damaged(place, f"it must be a {FORMAT} file of version {VERSION}.")
    for name, array in (("coef", coef), ("intercept", intercept)):
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise _Damaged(place, f"{name} must hold finite numbers in double precision.")
    return about, coef, intercept


def _model(about: dict[str, Any], coef: Array, intercept: Array) -> Any:
    model = _unfitted(about["estimator"], about["parameters"])
    model.n_features_in_ = arguments.whole("columns", about["columns"], least=1)
    model.scaler_ = _scaler(about["scaler"], about["columns"])
    if "classes" in about:
        model.classes_ = _classes(model, about["classes"])
    if "column_names" in about:
        model.feature_names_in_ = _names(about["column_names"], about["columns"])
    _check_shapes(model, coef, intercept)
    model.coef_, model.intercept_ = coef, intercept if intercept.ndim else float(intercept)
    model.run_ = run_from_fields(without_facts(about["run"]))
    model.release_noise_ = model.release_noise
    model.n_iter_ = model.run_.total_steps
    model.certificate_ = _certificate(about, model)
    return model


def _unfitted(name: str, parameters: dict[str, Any]) -> Any:
    """Return the model of this name, before it was fitted."""
    kind = next((kind for kind in models.MODELS if kind.__name__ == name), None)
    if kind is None:
        raise InvalidDescription(f"it holds an unknown estimator, {name!r:.60}.")
    return kind(**{key: _parameter_in(value) for key, value in parameters.items()})


def _scaler(given: dict[str, Any], columns: int) -> FeatureScaler:
    made = FeatureScaler(**{name: _frozen(value) for name, value in given.items()})
    for bound in (made.low, made.high):
        if bound is None:
            continue
        if not isinstance(bound, tuple) or len(bound) != columns:
            raise InvalidDescription("scaler must have one bound for each column.")
        for value in bound:
            arguments.real("scaler", value)
    return made


def _classes(model: Any, given: list[Any]) -> Array:
    """Return the classes, which are those that were declared, in order."""
    found = np.asarray(given)
    declared = getattr(model, "classes", None)
    if isinstance(declared, list):
        wanted = np.unique(np.asarray(declared))
        if found.shape != wanted.shape or not (found == wanted).all():
            raise InvalidDescription("classes must be those that were declared, in order.")
    if found.ndim != 1 or found.size < 2 or np.unique(found).size != found.size:
        raise InvalidDescription("classes must be different labels, at least two.")
    return found


def _names(given: list[Any], columns: int) -> Array:
    if len(given) != columns or not all(isinstance(name, str) for name in given):
        raise InvalidDescription("column_names must be one name for each column.")
    return np.asarray(given, dtype=object)


def _check_shapes(model: Any, coef: Array, intercept: Array) -> None:
    """As many coefficients as columns, for as many outputs as there are classes or targets."""
    rows = np.atleast_2d(coef)
    outputs = rows.shape[0]
    if hasattr(model, "classes_"):
        count = model.classes_.size
        outputs = 1 if count == 2 else count
    wanted = (outputs, model.n_features_in_)
    if coef.ndim > 2 or rows.shape != wanted or np.atleast_1d(intercept).shape != (outputs,):
        raise InvalidDescription(
            f"coef must have the shape {wanted} and intercept {outputs} numbers, got "
            f"{coef.shape} and {intercept.shape}."
        )


def _certificate(about: dict[str, Any], model: Any) -> Any:
    """The certificate of the releases; it must agree with the seed, the run and its own epsilon."""
    made = certificate_from_fields(about)
    if model.seed_voids_privacy is not None and not made.void_because:
        raise InvalidDescription("its noise came from a seed, and nothing says that this voids it.")
    runs = [p.description for p in made.parts if isinstance(p.description, NoisyDescent)]
    if runs and runs[-1] != model.run_:
        raise InvalidDescription("its run must be the last of its releases.")
    said = about["certificate"]
    delta = arguments.real("certificate.delta", said["delta"], least=0.0, most=1.0)
    stated = math.inf if said["epsilon"] is None else arguments.real("epsilon", said["epsilon"])
    epsilon = made.epsilon(delta)
    # another version may prove more; what grew since is told as it is computed now
    if about.get("wane") == __version__ and epsilon < stated * (1.0 - 1e-6):
        raise InvalidDescription(
            f"it says epsilon {stated:g} at delta {delta:g}, and its releases give {epsilon:g}."
        )
    return made


def _parameter_in(value: Any) -> Any:
    return ENUMS[value["enum"]](value["value"]) if isinstance(value, dict) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
