"""The models of wane, found by walking this package.

A model is an estimator class that states `words` for itself; its `command` and `target` say how the
command line offers it.  The command line, the loader of model files, the pages and the tests read
this table and have no list of their own.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

from wane.learn.base import PrivateLinearModel


def _found() -> tuple[type[PrivateLinearModel], ...]:
    modules = (
        import_module(f"{__package__}.{info.name}")
        for info in pkgutil.iter_modules([str(Path(__file__).parent)])
        if info.name != Path(__file__).stem
    )
    return tuple(
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, PrivateLinearModel)
        and kind.__module__ == module.__name__
        and "words" in vars(kind)
    )


MODELS = _found()
"""Every model, classifiers first."""
