"""The same number by two roads."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from laws.strategies import runs
from laws.test_registry import laws
from wane import certify, mu_by_position, mu_of_group
from wane.describe import Cyclic, EveryIterate, Iterates, Schedule
from wane.theorems.joint_programme.statement import last_iterate
from wane.theorems.lemmas import positions as records

EXACT = 1e-9


def programme(run) -> float | None:
    verdicts = {v.analysis.name: v for v in certify(run).applicable}
    return verdicts["last_iterate"].guarantee.mu if "last_iterate" in verdicts else None


@laws
@given(runs(complete=True, sampled=False))
def test_pooling_blocks_equals_pooling_arrays(run):
    if isinstance(run.release, EveryIterate | Iterates) or programme(run) is None:
        return
    one = records.hidden(run)
    few, records.FEW_ROWS = records.FEW_ROWS, 0
    try:
        other = records.hidden(run)
    finally:
        records.FEW_ROWS = few
    assert one == pytest.approx(other, rel=EXACT)


@laws
@given(runs(complete=True, sampled=False))
def test_splitting_phases_changes_nothing(run):
    before = programme(run)
    if before is None:
        return
    split = []
    for phase in run.plan:
        first = phase.repeat // 2
        for count in (first, phase.repeat - first):
            if count:
                split.append(type(phase)(count, phase.step_size, phase.noise, phase.cool_down))
    fields = {name: getattr(run, name) for name in run.__dataclass_fields__}
    fields |= {"schedule": Schedule(split), "steps": None, "step_size": None, "noise": None}
    other = programme(type(run)(**(fields | {"cool_down": 0})))
    assert before == pytest.approx(other, rel=EXACT)


@laws
@given(runs(complete=True, sampled=False))
def test_the_worst_position_is_the_guarantee(run):
    if programme(run) is None:
        return
    assert np.max(records.hidden_by_position(run)) == pytest.approx(records.hidden(run), rel=EXACT)


@laws
@given(runs(complete=True, sampled=False), st.data())
def test_groups(run, data):
    """One record: its position.  A group: at most the sum, and the sum if in one batch."""
    if isinstance(run.release, EveryIterate) or programme(run) is None:
        return
    alone = np.sqrt(records.hidden_by_position(run))
    some = data.draw(st.lists(st.integers(0, run.steps_per_epoch - 1), min_size=1, max_size=4))
    assert mu_of_group(run, some[:1]) == pytest.approx(alone[some[0]], rel=EXACT)
    assert mu_of_group(run, some) <= sum(alone[b] for b in some) * (1 + EXACT)
    together = mu_of_group(run, [some[0]] * 3)
    assert together == pytest.approx(3 * alone[some[0]], rel=EXACT)
    assert together <= certify(run, [last_iterate]).group(3).mu * (1 + EXACT)


def test_a_spread_group_costs_less_than_the_sum(run_with):
    run = run_with(batches=Cyclic(100), steps=10)
    alone = mu_by_position(run)
    assert mu_of_group(run, [0, 9]) < 0.9 * (alone[0] + alone[9])
    assert mu_of_group(run, []) == 0.0
    assert math.isfinite(mu_of_group(run, range(10)))
