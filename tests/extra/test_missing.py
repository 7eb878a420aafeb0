"""A bridge without its library says what to install."""

import importlib
import sys

import pytest

from wane.errors import MissingExtra


@pytest.mark.parametrize(
    "module, library", [("torch", "torch"), ("opacus", "opacus"), ("opacus_head", "torch")]
)
def test_the_cure_is_named(monkeypatch, module, library):
    for name in ("torch", "opacus", "opacus_head"):
        monkeypatch.delitem(sys.modules, f"wane.extra.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=rf"install wane\[{library}\]"):
        importlib.import_module(f"wane.extra.{module}")
