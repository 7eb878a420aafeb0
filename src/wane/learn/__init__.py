"""Private linear models that run exactly what was certified.

The estimators follow scikit-learn's conventions and need it (extra `learn`); the planner does not,
so each name is imported at its first use.
"""

from wane._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
