"""What a notebook shows of mechanisms: short words, one picture, files."""

import json
from dataclasses import replace

import numpy as np
import pytest

import wane
from wane.certificates import certify
from wane.mechanisms import (
    IteratedLaplace,
    KernelRelease,
    MarkovKernel,
    NestedRelease,
    PrivacyTarget,
    calibrated_brownian,
    calibrated_ornstein_uhlenbeck,
)
from wane.report import html_page

TARGET = PrivacyTarget(epsilon=1.0, delta=1e-5)
PLAIN = calibrated_ornstein_uhlenbeck(TARGET, sensitivity=1.0, norm_bound=10.0, dimension=12)
SAID = wane.StatedRelease(name="a mean", source="us", adjacency="zero-out", mu=1.0)
KERNEL = np.full((40, 40), 1 / 80) + np.eye(40) / 2


def declared():
    return replace(PLAIN, adjacency="zero-out")


MECHANISMS = {
    "ou": declared,
    "brownian": lambda: replace(
        calibrated_brownian(TARGET, sensitivity=1.0, dimension=3), adjacency="replace-one"
    ),
    "nested": lambda: NestedRelease.for_mu(declared(), {"team": 1.0, "all": 0.1}),
    "laplace": lambda: IteratedLaplace(1.0, 1.0, 2.0, adjacency="zero-out"),
    "kernel": lambda: KernelRelease(before=SAID, matrix=KERNEL),
}


@pytest.mark.parametrize("made", MECHANISMS.values(), ids=MECHANISMS)
def test_a_mechanism_shows_and_writes_its_certificate(made, tmp_path):
    mechanism = made()
    assert len(repr(mechanism).splitlines()) <= 5
    epsilon = certify(mechanism).epsilon(1e-5)
    assert json.loads(mechanism.to_json())["epsilon"] == epsilon
    assert wane.report.shown(epsilon) in mechanism._repr_html_()
    assert "<svg" in mechanism._repr_html_()
    mechanism.save(tmp_path / "certificate.html", delta=1e-6)
    page = (tmp_path / "certificate.html").read_text(encoding="utf-8")
    assert page == html_page(json.loads(mechanism.to_json(1e-6)))
    assert "composition" not in page.partition("Annex C")[0]


def test_without_an_adjacency_it_says_what_is_missing():
    assert "adjacency" in PLAIN._repr_html_()
    with pytest.raises(wane.errors.InvalidDescription, match="adjacency must be declared"):
        PLAIN.to_json()


def test_a_kernel_is_short():
    assert len(repr(MarkovKernel(KERNEL))) < 100


def test_a_mechanism_is_drawn():
    pytest.importorskip("matplotlib")
    assert declared().plot().lines
