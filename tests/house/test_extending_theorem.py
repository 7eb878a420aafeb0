"""A stranger's theorem: met by exact members, refused at its edges, caught if it is halved."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

import wane
from runs import make_run
from wane.describe import Adjacency
from wane.describe.domains import Ball
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies

PLACE = Path(__file__).parents[2] / "examples" / "extending" / "theorem" / "geometric.py"


@pytest.fixture(scope="module")
def stranger():
    return runpy.run_path(str(PLACE), run_name="geometric")


def violations(theorem, members) -> list[float]:
    """What exact members exceed of what is claimed, as quotients."""
    ratios = []
    for run, exact in members:
        verdict = theorem(run)
        assert isinstance(verdict, Applies), verdict.obstacles
        ratios.append(exact / verdict.guarantee.mu)
    assert max(ratios) > 0.999, "no member comes near the bound"
    return [ratio for ratio in ratios if ratio > 1.0]


def test_no_exact_member_is_above_it(stranger):
    assert violations(stranger["geometric_last_iterate"], stranger["members"](300)) == []


def test_half_of_it_is_caught(stranger):
    theorem = stranger["geometric_last_iterate"]

    def half(run):
        return wane.GaussianDP(theorem.formula(run).mu / 2.0)

    assert violations(replace(theorem, formula=half), stranger["members"](20))


CURVED = wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0, ridge=0.2)
RUN = make_run(objective=CURVED)
EDGES = {
    "replaces_one": (RUN, replace(RUN, adjacency=Adjacency.ZERO_OUT)),
    "no_prox": (RUN, replace(RUN, domain=Ball(1.0))),
    "contracts": (RUN, replace(RUN, step_size=2.0)),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(stranger, name):
    inside, outside = EDGES[name]
    assert stranger[name](inside).holds is True
    refusal = stranger[name](outside)
    assert refusal.holds is False and refusal.because and refusal.remedy
    assert not isinstance(stranger["geometric_last_iterate"](outside), Applies)


def test_it_is_asked_beside_the_others_and_agrees_with_the_joint_programme(stranger):
    mine = stranger["geometric_last_iterate"]
    found = {
        v.theorem.name: v.guarantee.mu
        for v in wane.certify(RUN, theorems=(*THEOREMS, mine)).applicable
        if v.theorem.name in ("last_iterate", mine.name)
    }
    assert found[mine.name] == pytest.approx(found["last_iterate"], rel=1e-9)
