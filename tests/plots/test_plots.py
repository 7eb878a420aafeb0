"""Every plot takes an axis and returns it, and shows what it says."""

import numpy as np
import pytest

from wane import (
    Adjacency,
    Cyclic,
    GaussianDP,
    GradientNoise,
    InvalidDescription,
    NoisyDescent,
    certify,
    losses,
    plots,
)
from wane.audit.measured.evidence import evidence_of

RUN = NoisyDescent(
    objective=losses.logistic(1.0, ridge=0.05),
    records=100,
    steps=40,
    step_size=1.0,
    noise=GradientNoise(0.1),
    batches=Cyclic(10),
    adjacency=Adjacency.ZERO_OUT,
)


@pytest.fixture
def axis():
    made = plots.new_axis()
    yield made
    import matplotlib.pyplot as plt

    plt.close(made.figure)


def test_tradeoff_curves_are_the_guarantees(axis):
    assert plots.plot_tradeoff({"half": GaussianDP(0.5), "one": GaussianDP(1.0)}, axis) is axis
    half, one = (line.get_ydata() for line in axis.lines[:2])
    assert np.all(half >= one)
    assert half[100] == pytest.approx(GaussianDP(0.5).type_ii(0.5))


def test_an_audit_marks_both_directions(axis):
    scores = np.random.default_rng(0).standard_normal((2, 500))
    evidence = evidence_of(scores[0] + 1, scores[1], np.array([0.5]), confidence=0.9)
    assert plots.plot_audit(evidence, GaussianDP(1.0), axis) is axis
    assert len(axis.lines[-1].get_xdata()) == 2


def test_a_bracket_never_crosses(axis):
    assert plots.plot_bracket(certify(RUN), axis) is axis
    upper, lower = (line.get_ydata() for line in axis.lines)
    assert np.all(lower <= upper)


def test_a_plot_needs_a_known_format(tmp_path):
    evidence = evidence_of(np.ones(5), np.zeros(5), np.array([0.5]), confidence=0.9)
    with pytest.raises(InvalidDescription, match=r"\.png, \.svg or \.pdf"):
        plots.save_audit(evidence, GaussianDP(1.0), tmp_path / "audit.gif")
