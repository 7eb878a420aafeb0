"""A bridge without its library says what to install."""

import importlib
import sys

import pytest

from wane.errors import MissingExtra


@pytest.mark.parametrize(
    "module, missing, library",
    [
        ("torch", "torch", "torch"),
        ("opacus", "torch", "opacus"),
        ("dp_accounting", "dp_accounting", "dp-accounting"),
        ("onnx", "onnx", "onnx"),
        ("mlflow", "mlflow", "mlflow"),
    ],
)
def test_the_cure_is_named(monkeypatch, module, missing, library):
    for name in [name for name in sys.modules if name.startswith("wane.extra")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=rf"install wane\[{library}\]"):
        importlib.import_module(f"wane.extra.{module}")
