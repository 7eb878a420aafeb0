"""Audits of the trainers and samplers themselves, on real gradient sums."""

import numpy as np
import pytest

from wane import Adjacency, GradientNoise, InvalidDescription, NoisyDescent, certify
from wane.audit.measured import audit_release, replay
from wane.losses import Logistic, Squared
from wane.run import LinearSums, descend
from wane.sampling import (
    OverdampedRun,
    UnderdampedRun,
    certify_samples,
    certify_underdamped,
    draw,
    linear_posterior,
)

ROWS = 20
TRIALS = 4000

RUN = NoisyDescent(
    objective=Squared().objective(1.0, 1.0, 0.5),
    records=ROWS,
    steps=12,
    step_size=0.6,
    noise=GradientNoise(0.06),
    adjacency=Adjacency.ZERO_OUT,
)


def records(target: float, bound: float | None) -> LinearSums:
    """One record far off, the others still."""
    features, targets = np.zeros((ROWS, 2)), np.zeros(ROWS)
    features[0, 0], targets[0] = 1.0, target
    return LinearSums(features, targets, Squared(), feature_norm=1.0, gradient_bound=bound)


class Lying:
    """Sums that claim a bound which they do not keep."""

    def __init__(self, inner: LinearSums, claimed: float) -> None:
        self.inner, self.gradient_bound = inner, claimed
        self.records, self.shape = inner.records, inner.shape

    def __call__(self, parameters, rows):
        return self.inner(parameters, rows)


def audited(present, absent, seed):
    return audit_release(
        lambda generator: descend(RUN, present, generator=generator),
        lambda generator: descend(RUN, absent, generator=generator),
        trials=TRIALS,
        seed=seed,
    )


def test_the_trainer_with_clipping_is_not_caught():
    evidence = audited(records(50.0, 1.0), records(0.0, 1.0), seed=1)
    assert not evidence.refutes(certify(RUN).best().guarantee)
    assert evidence.mu > 0.8 * certify(RUN).mu  # and the audit is not blind


def test_forgotten_clipping_is_caught():
    unclipped = Lying(records(50.0, 1000.0), claimed=1.0)
    evidence = audited(unclipped, records(0.0, 1.0), seed=2)
    assert evidence.refutes(certify(RUN).best().guarantee)
    assert not replay(RUN, unclipped, records(0.0, 1.0)).as_declared


def test_the_runner_refuses_sums_that_admit_a_larger_bound():
    with pytest.raises(InvalidDescription, match="gradient_bound"):
        descend(RUN, records(50.0, 1000.0), generator=np.random.default_rng(0))


def posterior(label: float):
    """One record with a label, the others without features."""
    features, labels = np.zeros((ROWS, 2)), np.ones(ROWS)
    features[0, 0], labels[0] = 1.0, label
    return linear_posterior(
        features,
        labels,
        Logistic(),
        feature_norm=1.0,
        prior_precision=2.0,
        temperature=0.5,
        adjacency=Adjacency.REPLACE_ONE,
    )


@pytest.mark.slow
@pytest.mark.parametrize("cheap", [False, True], ids=["real", "too little noise"])
def test_the_samplers_are_audited(cheap):
    """Overdamped: the real one passes, one at a quarter of the temperature does not."""
    present, absent = posterior(1.0), posterior(-1.0)
    run = OverdampedRun(posterior=present.posterior, step_size=0.2, steps=30)
    guarantee = certify_samples(run).best().guarantee
    ran = run
    if cheap:
        cold = linear_posterior(
            np.zeros((ROWS, 2)),
            np.ones(ROWS),
            Logistic(),
            feature_norm=1.0,
            prior_precision=2.0,
            temperature=0.5 / 16.0,
            adjacency=Adjacency.REPLACE_ONE,
        )
        ran = OverdampedRun(posterior=cold.posterior, step_size=0.2, steps=30)
    evidence = audit_release(
        lambda generator: draw(ran, present.sums, generator=generator),
        lambda generator: draw(ran, absent.sums, generator=generator),
        trials=3000,
        seed=3,
    )
    assert evidence.refutes(guarantee) is cheap


@pytest.mark.slow
def test_the_underdamped_sampler_is_not_caught():
    present, absent = posterior(1.0), posterior(-1.0)
    run = UnderdampedRun(posterior=present.posterior, step_size=0.1, steps=40, friction=2.5)
    evidence = audit_release(
        lambda generator: draw(run, present.sums, generator=generator),
        lambda generator: draw(run, absent.sums, generator=generator),
        trials=2000,
        seed=4,
    )
    assert not evidence.refutes(certify_underdamped(run).best().guarantee)
