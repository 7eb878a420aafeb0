"""Diagnostics are releases: they work on what is marked public, and on nothing else."""

import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.losses import Logistic
from wane.run import seeded_generator_voids_privacy
from wane.sampling import (
    DiagnosticsAreReleases,
    GaussianPotential,
    Overdamped,
    OverdampedRun,
    Public,
    PublicPaths,
    effective_sample_size,
    linear_posterior,
    plot_trace,
    public_paths,
    split_r_hat,
)

POTENTIAL = GaussianPotential([1.0, 10.0], np.zeros(2))
CHAIN = Overdamped(POTENTIAL.target, 0.05, 1500)


def paths(seed=0, **settings):
    return public_paths(
        CHAIN, Public(POTENTIAL), generator=seeded_generator_voids_privacy(seed), **settings
    )


def test_paths_keep_every_so_many_positions():
    kept = paths(chains=3, every=10)
    assert kept.positions.shape == (3, 150, 2)
    with pytest.raises(InvalidDescription, match="every"):
        paths(every=2000)


def test_slow_coordinates_have_fewer_effective_samples():
    pytest.importorskip("arviz")
    kept = paths(chains=4)
    slow, fast = effective_sample_size(kept)
    assert 50 < slow < fast < 6500
    assert np.all(np.abs(split_r_hat(kept) - 1.0) < 0.1)


def test_separated_chains_show_in_r_hat():
    pytest.importorskip("arviz")
    kept = paths(chains=4)
    apart = PublicPaths(kept.positions + 5.0 * np.arange(4)[:, None, None])
    assert np.all(split_r_hat(apart) > 1.5)


def test_trace_plots():
    pytest.importorskip("arviz")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = plot_trace(paths(chains=2, every=50))
    assert axes.size == 2
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("ask", [effective_sample_size, split_r_hat, plot_trace])
@pytest.mark.parametrize("given", [np.zeros((2, 10, 3)), Public(np.zeros((2, 10, 3))), None])
def test_unmarked_paths_are_refused_with_the_reason(ask, given):
    with pytest.raises(DiagnosticsAreReleases, match="a release that no certificate covers"):
        ask(given)


def test_private_posteriors_are_refused():
    rng = np.random.default_rng(0)
    potential = linear_posterior(
        rng.standard_normal((20, 2)),
        np.sign(rng.standard_normal(20)),
        Logistic(),
        feature_norm=1.0,
        prior_precision=1.0,
    )
    run = OverdampedRun(posterior=potential.posterior, step_size=0.5, steps=5)
    generator = seeded_generator_voids_privacy(0)
    with pytest.raises(DiagnosticsAreReleases, match="public or synthetic"):
        public_paths(run.chain, potential, generator=generator)
    marked = public_paths(run.chain, Public(potential), generator=generator)
    assert marked.positions.shape == (4, 5, 2)


def test_paths_have_three_axes():
    with pytest.raises(InvalidDescription, match="axes chain, draw and coordinate"):
        PublicPaths(np.zeros((3, 2)))
