"""What an installation without extras brings along."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import wane

HEAVY = {
    "attrs",
    "dp-accounting",
    "torch",
    "opacus",
    "jax",
    "dask",
    "distributed",
    "pandas",
    "scikit-learn",
    "pyarrow",
}


def names(requirements):
    return {re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0].lower() for line in requirements}


def test_plain_wane_pulls_in_none_of_the_heavy_libraries():
    plain = [line for line in requires("wane") if "extra ==" not in line]
    assert "numpy" in names(plain)
    assert not HEAVY & names(plain)


def test_extras_bring_them():
    project = tomllib.loads((Path(wane.__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert not HEAVY & names(project["project"]["dependencies"])
    assert "dask" in names(extras["dask"])
