"""Documents of posterior samples are verified, and none of them once it was tampered with."""

import copy
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

pytest.importorskip("flint")

from trust.documents import check, document_of, failures, rehashed, valid
from trust.sealed import sealed
from trust.tally import COUNTS
from wane.certificates import Certificate
from wane.describe import Adjacency, Cyclic, EveryIterate, GradientNoise, Objective
from wane.describe.domains import Ball
from wane.describe.samples import SamplesOfDescent
from wane.errors import InvalidDescription
from wane.sampling import Losses, OverdampedRun, Posterior, certify_samples
from wane.verify import Outcome, verify
from wane.verify.claims import contradictions, described_run

HERE = Path(__file__).parents[2]


def sampled_document(run, certificate=None, delta=1e-6):
    """As `wane sample` writes it, the chains described."""
    made = certificate or certify_samples(run)
    return document_of(made, delta=delta)


CONVEX = Losses(
    objective=Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
    dimension=3,
    laplacian_lipschitz=0.1,
    height_at_start=0.7,
)
CURVED = replace(
    CONVEX,
    objective=Objective(gradient_bound=1.0, smoothness=0.3, strong_convexity=0.0),
    shared_curvature=0.2,
    laplacian_lipschitz=None,
)
BOUNDED = Losses(
    objective=Objective(gradient_bound=100.0, smoothness=1.0, strong_convexity=-0.5),
    dimension=2,
    range_of_loss=0.1,
    height_at_start=0.1,
)
ZERO, REPLACED = Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE
SAMPLERS = {
    "one convex": (CONVEX, ZERO, 10.0, 0.05, 5000, 1, {"gibbs_transfer"}),
    "several convex": (CONVEX, REPLACED, 10.0, 0.05, 5000, 7, {"gibbs_transfer"}),
    "a strongly convex": (CURVED, ZERO, 1.0, 0.01, 5000, 2, {"gibbs_transfer"}),
    "a bounded one": (BOUNDED, ZERO, 100.0, 1e-4, 10**5, 1, {"gibbs_transfer", "range_transfer"}),
    "bounded, replaced": (BOUNDED, REPLACED, 100.0, 1e-4, 10**5, 3, {"range_transfer"}),
    "too rough": (CONVEX, ZERO, 10.0, 3.0, 3, 1, set()),
}


def sampled_run(name):
    known, adjacency, prior, step_size, steps, samples, _ = SAMPLERS[name]
    posterior = Posterior(
        losses=known, records=50, prior_precision=prior, temperature=1.0, adjacency=adjacency
    )
    return OverdampedRun(posterior=posterior, step_size=step_size, steps=steps, samples=samples)


def lower_transfer(document):
    for row in document["verdicts"]:
        if row["theorem"].endswith("transfer") and row["applies"]:
            row["epsilon"] *= 0.9


@pytest.mark.parametrize("name", SAMPLERS)
def test_samples_are_computed_again(name):
    document = sampled_document(sampled_run(name))
    valid(document)
    rows = [r for r in document["verdicts"] if r["applies"] and r["theorem"].endswith("transfer")]
    assert SAMPLERS[name][-1] <= {r["theorem"] for r in rows}
    check(document)


@pytest.mark.slow
def test_closeness_is_searched_in_short_blocks_of_steps():
    """What a search finds best in long blocks may be worse in short ones than where it began."""
    known = Losses(
        objective=Objective(smoothness=2.3984422010130455, strong_convexity=0.7195326603039136),
        dimension=2,
        height_at_start=1.0,
        range_of_loss=0.001,
    )
    posterior = Posterior(
        losses=known, records=10, prior_precision=1.0, temperature=23.69195662618299, adjacency=ZERO
    )
    check(
        sampled_document(
            OverdampedRun(
                posterior=posterior, step_size=2.097474742425872e-06, steps=1_599_830, samples=4
            )
        )
    )


@pytest.mark.slow
def test_the_best_order_may_lie_in_a_second_valley():
    """Between the orders of a grid, where two pairs of orders are about equally good on it."""
    known = Losses(
        objective=Objective(
            gradient_difference_bound=8 / 3, smoothness=4 / 3, strong_convexity=0.4
        ),
        dimension=300,
        height_at_start=0.11,
        range_of_loss=0.001,
    )
    posterior = Posterior(
        losses=known, records=300, prior_precision=4 / 3, temperature=1.0, adjacency=REPLACED
    )
    run = OverdampedRun(
        posterior=posterior, step_size=2.5644800318131076e-05, steps=1_213_614, samples=50
    )
    check(sampled_document(run))


def test_samples_by_the_range_of_the_loss():
    document = sampled_document(sampled_run("a bounded one"))
    assert document["theorem"] == "range_transfer"
    assert verify(document).verified
    less = copy.deepcopy(document)
    for row in (less, *less["releases"], *less["curve"]):
        row["epsilon"] *= 0.9
    lower_transfer(less)
    less = sealed(less)
    assert not contradictions(less, described_run(less))
    found = verify(less)
    assert not found.verified and found.count(Outcome.NOT_VERIFIED) > 10


def test_tampered_samplers_are_refused():
    document = sampled_document(sampled_run("several convex"))
    assert verify(document).verified
    for change in (
        lower_transfer,
        lambda d: d["sampler"].update(samples=6),
        lambda d: d["sampler"].update(dimension=1),
        lambda d: d["sampler"].update(laplacian_lipschitz=0.0),
        lambda d: d["sampler"].update(height_at_start=0.0),
        lambda d: d.pop("sampler"),
        rehashed,
    ):
        changed = copy.deepcopy(document)
        change(changed)
        assert not verify(sealed(changed)).verified
        COUNTS["tampered certificates refused"] += 1
    for bad in ({"samples": 0}, {"kind": "underdamped"}, {"dimension": 1.5}, {"more": 1}):
        with pytest.raises(InvalidDescription):
            verify(document | {"sampler": document["sampler"] | bad})


@pytest.mark.parametrize(
    "changed",
    [
        {"batches": Cyclic(10)},
        {"release": EveryIterate()},
        {"domain": Ball(5.0)},
        {"noise": GradientNoise(0.3)},
        {"cool_down": 1},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_another_descent_is_no_chain_on_a_posterior(changed):
    """The theorems by way of the posterior would speak of other chains than those that ran."""
    run = sampled_run("one convex")
    assert SamplesOfDescent.of(run.descent, run.sampler).descent == run.descent
    with pytest.raises(InvalidDescription, match="unconstrained chains at one temperature"):
        SamplesOfDescent.of(replace(run.descent, **changed), run.sampler)


def test_a_sampler_of_more_samples_proves_less():
    """The numbers of one sample are not those of two, even under the fingerprint of two."""
    one, two = (sampled_document(replace(sampled_run("one convex"), samples=k)) for k in (1, 2))
    names = ("description", "sampler", "configuration_sha256")
    found = verify(sealed(one | {name: two[name] for name in names}))
    assert not found.contradictions and not found.verified


def test_samples_without_a_sampler_are_not_called_verified():
    """Unless the descent by itself proves as much, as it does for the convex ones."""

    def without(name):
        (part,) = certify_samples(sampled_run(name)).parts
        return document_of(Certificate((replace(part, sampled=None),)))

    assert verify(without("one convex")).verified
    found = verify(without("a bounded one"))
    assert not found.verified and not found.count(Outcome.TOO_SMALL)
    assert any(row.why.endswith("range_transfer is not computed again") for row in failures(found))


def power(low, high):
    return st.floats(low, high).map(lambda place: 10.0**place)


@st.composite
def sampled_runs(draw):
    """Posteriors of all shapes, with chains that are long enough to be close to them."""
    smoothness, bent = draw(power(-2, 1)), draw(st.sampled_from([0.0, 0.3, 1.0, -0.4]))
    objective = Objective(
        gradient_bound=draw(power(-1, 2)) if bent <= 0.0 else None,
        gradient_difference_bound=draw(power(-1, 2) if bent > 0.0 else st.none() | power(-1, 2)),
        smoothness=smoothness,
        strong_convexity=bent * smoothness,
    )
    known = Losses(
        objective=objective,
        dimension=draw(st.sampled_from([1, 2, 10, 300])),
        laplacian_lipschitz=draw(st.sampled_from([None, smoothness])),
        height_at_start=draw(st.none() | power(-2, 0)),
        range_of_loss=draw(st.none() | power(-3, -1)),
    )
    posterior = Posterior(
        losses=known,
        records=draw(st.sampled_from([10, 300, 10**5])),
        prior_precision=draw(power(0, 3)),
        temperature=draw(power(-1, 2)),
        adjacency=draw(st.sampled_from([ZERO, REPLACED])),
    )
    step_size = draw(power(-6, -1)) / posterior.target.smoothness
    steps = round(draw(power(0.5, 1.5)) / (step_size * posterior.target.strong_convexity))
    return OverdampedRun(
        posterior=posterior,
        step_size=step_size,
        steps=max(steps, 1),
        samples=draw(st.sampled_from([1, 4, 50])),
    )


@pytest.mark.slow
def test_random_samplers_are_verified():
    @settings(
        derandomize=True,
        max_examples=20,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def each(data):
        try:
            run = data.draw(sampled_runs())
        except InvalidDescription:  # not strongly convex
            return
        found = verify(sampled_document(run))
        assert found.verified, (failures(found), found.contradictions)
        COUNTS["random samplers verified"] += 1

    each()


def test_the_example_of_a_private_posterior():
    pytest.importorskip("sklearn")
    example = runpy.run_path(str(HERE / "examples" / "private_posterior.py"))
    rows = np.random.default_rng(0).uniform(example["LOW"], example["HIGH"], (300, 5))
    labels = (rows[:, 0] > 15.0).astype(int)
    model = example["sampled"](rows, labels, step_size=0.1, steps=2000)
    check(document_of(model.certificate_, delta=example["DELTA"]))
    check(sampled_document(model.sampling_, model.certificate_, example["DELTA"]))
