"""Statistics people publish: means, counts, histograms, covariances and quantiles of a table.

Bounds and categories come from the public schema and never from the rows; so do sensitivities.
"""

from wane._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
