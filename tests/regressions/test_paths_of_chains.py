"""Chains of one's own along a path, and values that are not those of the drift that runs."""

import dataclasses
import json
import math

import numpy as np
import pytest

import wane
from wane.describe.fields import description_from_fields, description_to_fields
from wane.errors import InvalidDescription
from wane.mechanisms import DiffusionMechanism, NestedRelease


def pulled(slope: float, **changes: object) -> DiffusionMechanism:
    known: dict[str, object] = {"sensitivity": 1.0, "time": 1.0, "steps": 1} | changes
    return DiffusionMechanism(
        drift=lambda x: -slope * x,
        drift_lipschitz=slope,
        drift_contraction=slope,
        adjacency="zero-out",
        **known,  # type: ignore[arg-type]
    )


def measured_mu(plan: NestedRelease, level: str, draws: int = 1500) -> float:
    """The distance of the means of two linear Gaussian laws, which one seed shows, in deviations.

    Whoever draws `level` draws the levels before it as well, as a reader's publisher does.
    """
    shown = np.array(
        [
            [float(plan.open(s, seed_voids_privacy=seed).publish(level)) for s in (0.0, 4096.0)]
            for seed in range(draws)
        ]
    )
    apart = abs(float(np.mean(shown[:, 1] - shown[:, 0]))) / 4096.0
    return apart / float(shown[:, 0].std())


@pytest.mark.parametrize("slope", [4.0 / 3.0, 1.0, 0.4, 1.7])
def test_a_level_costs_what_its_reader_learns_of_the_chain_that_was_drawn(slope: float) -> None:
    """Where a step of the full size overshoots, half a step forgets less than a whole one."""
    process = pulled(slope, sensitivity=1.0, time=1.0, steps=2)
    plan = NestedRelease(process, {"first": 1.0, "second": 1.5, "last": 2.5})
    for level in plan.levels:
        claim = plan.guarantee(level).mu
        assert claim == wane.certify(plan.seen_by([level])).mu
        assert measured_mu(plan, level) <= claim * 1.1 + 1e-4


def test_levels_between_two_steps_are_refused_wherever_they_come_from() -> None:
    """Claimed 5.2e-8 of a chain of steps of 0.75, drawn with steps of 1 and 0.5: 0.1005."""
    process = pulled(4.0 / 3.0)
    with pytest.raises(InvalidDescription, match=r"whole numbers of steps of 1, got 1\.5; take 2"):
        NestedRelease(process, {"team": 1.0, "everybody": 1.5})
    plan = NestedRelease(process, {"team": 1.0, "everybody": 2.0})
    fields = json.loads(json.dumps(description_to_fields(plan)))
    assert description_from_fields(fields).levels == plan.levels
    fields["levels"]["everybody"] = 1.5
    with pytest.raises(InvalidDescription, match="whole numbers of steps"):
        description_from_fields(fields)


def test_a_path_costs_no_more_than_its_mechanism() -> None:
    """Claimed 3.2e-8; a path that was shown at 1.5 took two steps of 0.75: 0.0495."""
    process = pulled(1.0)
    with pytest.raises(InvalidDescription, match="whole numbers of steps"):
        process.path(0.0, [1.5])
    for times in ([2.0], [1.0, 3.0], [7.0, 2.0]):
        assert process.mu_at(min(times)) <= process.mu + 1e-7  # the charge for more roundings
        one, other = (process.path(s, times, seed_voids_privacy=1) for s in (0.0, 100.0))
        assert one == other  # a step of the full size forgets where it started


def test_steps_of_a_path_are_those_of_one_chain_however_far_it_goes() -> None:
    """Times that double arithmetic rounds are whole steps; what is drawn has the very same size."""
    process = pulled(0.3, time=0.7, steps=7)
    late = 100_003 * process.step_size
    assert process.steps_until(late) == 100_003
    assert process.cut(late) == (100_003, process.step_size)
    assert process.steps_until(late + 0.5 * process.step_size) is None
    assert process.cut(0.75)[0] == 8
    assert math.isclose(process.cut(0.75)[1], 0.75 / 8)
    plan = NestedRelease.for_mu(process, {"team": 0.3, "everybody": 0.05})
    assert plan.guarantee("everybody").mu <= 0.05
    assert plan.guarantee("team").mu <= 0.3


def test_values_of_another_drift_are_refused() -> None:
    """Claimed epsilon 0.9968 without a delta, which is that of no drift at all."""
    known = {
        "sensitivity": 1.0,
        "time": 0.5,
        "steps": 16,
        "low": -1.0,
        "high": 1.0,
        "drift_lipschitz": 3.0,
        "adjacency": "zero-out",
    }
    turning = DiffusionMechanism(drift=lambda x: np.sin(3.0 * x), **known)
    with pytest.raises(InvalidDescription, match="drift_values must be the drift"):
        DiffusionMechanism(drift=turning.drift, drift_values=np.zeros(201), **known)
    read = turning.tabulated(200)
    assert wane.certify(read).epsilon(0.0) > 1.2
    with pytest.raises(InvalidDescription, match="drift_values must be the drift"):
        dataclasses.replace(read, drift=np.zeros_like)
    again = DiffusionMechanism(drift=turning.drift, drift_values=read.drift_values, **known)
    assert wane.certify(again).epsilon(0.0) == wane.certify(read).epsilon(0.0)
