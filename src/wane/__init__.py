"""wane: hidden-state differential privacy, for iterations of which only the end is seen."""

from wane._lazy import attach
from wane._version import __version__  # noqa: F401  (read by packaging and users)

__getattr__, __dir__, __all__ = attach(__name__, __file__)
