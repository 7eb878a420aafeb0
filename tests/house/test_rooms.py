"""The map of the house: the picture and README's table are those of the code."""

import pkgutil
import re
import runpy
from pathlib import Path

import wane

ROOT = Path(wane.__file__).parents[2]
rooms = runpy.run_path(str(ROOT / "scripts" / "rooms.py"), run_name="rooms")
INSIDE = {
    "arguments",
    "arrays",
    "balls",
    "certificates",
    "cli",
    "describe",
    "documents",
    "errors",
    "guarantees",
    "numerics",
    "plots",
    "randomness",
    "report",
    "theorems",
    "verify",
    "web",
}
"""Rooms that users reach through `wane` itself or the command line."""


def test_the_picture_is_that_of_the_code():
    """Run `python scripts/rooms.py` after a room or an import between rooms has changed."""
    assert rooms["PICTURE"].read_text(encoding="utf-8") == rooms["drawn"]()


def test_every_import_goes_down():
    layers = rooms["layers"]()
    depth = {room: line for line, row in enumerate(layers) for room in row}
    for one, other in rooms["imports"](set(depth)):
        assert depth[one] < depth[other], (one, other)


def test_the_map_of_the_readme_names_every_room_of_users():
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What is in the house")[2]
    named = set(re.findall(r"(?m)^\| `wane\.(\w+)`", table.partition("\n## ")[0]))
    for name in named:
        assert hasattr(wane, name) or (ROOT / "src" / "wane" / name).is_dir(), name
    there = {info.name for info in pkgutil.iter_modules(wane.__path__)}
    there = {name for name in there if not name.startswith("_")}
    assert there - INSIDE <= named, "a package that README does not name"
