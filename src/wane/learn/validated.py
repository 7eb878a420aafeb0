"""Rows and targets checked by scikit-learn, whose complaints are cleaned of what they quote.

scikit-learn quotes cells and prints whole arrays in some messages, and numpy warns of a cell that
leaves the floats.  Here a complaint keeps only the words that are known to name no value.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import validation

from wane.errors import InvalidDescription

_HARMLESS = re.compile(
    r"Input [Xy] contains NaN\."
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

    Sparse rows are filled up with their zeros first.
    """
    X = _filled_up(X)
    try:
        with np.errstate(all="ignore"):
            made = validation.validate_data(estimator, X, y, **options)
            if options.get("y_numeric"):
                return made[0], made[1].astype(np.float64, copy=False)
            return made
    except (ValueError, TypeError, OverflowError) as error:
        complaint = _cleaned(error)
    # out here, so that the first error, which may quote a cell, is not even kept as a context
    raise complaint


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
