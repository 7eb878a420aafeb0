"""Mistakes that raised bare errors of Python are answered in words that name the cure."""

from __future__ import annotations

import pytest

import wane
from wane.describe.chain import Direction, Underdamped
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.sampling import PointStart, Target, certify_distance

RUN = wane.NoisyDescent(
    objective=wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
    records=100,
    steps=10,
    step_size=0.1,
    noise=wane.GradientNoise(0.1),
)


def test_a_group_is_a_list_of_batches() -> None:
    with pytest.raises(InvalidDescription, match=r"batches must list .* certify\(run\).group"):
        wane.mu_of_group(RUN, 3)  # type: ignore[arg-type]


def test_an_event_is_made_of_a_run_by_its_function() -> None:
    bridge = pytest.importorskip("wane.extra.dp_accounting")
    with pytest.raises(InvalidDescription, match=r"event_of\(run\)"):
        bridge.HiddenStateDpEvent(RUN)
    assert bridge.event_of(RUN).run == RUN


@pytest.mark.parametrize("direction", list(Direction))
def test_light_friction_is_named(direction: Direction) -> None:
    """It said "no value between 0 and 0 satisfies the condition"."""
    target = Target(strong_convexity=1.0, smoothness=4.0, dimension=2)
    chain = Underdamped(target, 0.01, 1000, friction=2.0, start=PointStart(1.0))
    made = certify_distance(chain, order=2.0, direction=direction)
    with pytest.raises(NoTheoremApplies, match="friction"):
        _ = made.value
