"""The reference names things that exist, and every public room has a place in it."""

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = re.findall(r"^::: (\S+)", (ROOT / "docs" / "reference.md").read_text(), re.M)


@pytest.mark.parametrize("name", NAMES)
def test_what_it_names_exists(name):
    if name.startswith("wane.extra."):
        assert (ROOT / "src" / Path(*name.split("."))).with_suffix(".py").exists() or (
            ROOT / "src" / Path(*name.split("."))
        ).is_dir()
        return
    assert pkgutil.resolve_name(name).__doc__


@pytest.mark.parametrize(
    "room", ["learn", "tables", "sampling", "mechanisms", "ledger", "report", "extra"]
)
def test_every_room_is_in_it(room):
    assert sum(name.startswith(f"wane.{room}") for name in NAMES) >= 3
