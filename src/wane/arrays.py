"""The types of arrays that wane passes around: one name for each, wherever it is used."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Numbers in double precision, of any shape."""

Mask: TypeAlias = NDArray[np.bool_]
"""One truth value for each entry."""
