"""Reference values, as JSON beside this file: name -> list of inputs with their value."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "data"
TEN_DIGITS = 1e-9
"""The vectors are printed with ten significant digits."""


@cache
def load(sheet: str) -> dict[str, Any]:
    return json.loads((HERE / f"{sheet}.json").read_text())


def cases(sheet: str, name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", load(sheet)[name], ids=str)
