"""A bridge without its library says what to install."""

import importlib
import sys

import pytest

from wane.errors import MissingExtra


@pytest.mark.parametrize("module, library", [("torch", "torch"), ("opacus", "opacus")])
def test_the_cure_is_named(monkeypatch, module, library):
    for name in [name for name in sys.modules if name.startswith("wane.extra")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=rf"install wane\[{library}\]"):
        importlib.import_module(f"wane.extra.{module}")
