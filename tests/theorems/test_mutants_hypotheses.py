"""Hypotheses at their edges: one phase of several, one record more, one step size too long."""

import math
from dataclasses import replace
from functools import partial

import pytest

from runs import make_run
from wane.certificates import certify
from wane.describe import (
    Fact,
    FactKind,
    GradientNoise,
    Objective,
    Phase,
    PublicRecords,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.chain import Direction, Overdamped, Question, Reference, Target, Underdamped
from wane.describe.domains import MCP, Diameter
from wane.describe.facts import Facts
from wane.errors import Unreachable
from wane.theorems import chain_hypotheses, hypotheses
from wane.theorems.chain_hypotheses import about, largest_contracting_step
from wane.theorems.lemmas.letters import kinetic_letters_of
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Answers, ask

BENT = Objective(gradient_bound=1.0, smoothness=0.5)
SMALL = {"records": 20, "steps": 4, "step_size": 0.5, "noise": GradientNoise(1.0)}
small = partial(make_run, **SMALL)


def phases(*made, **changes):
    return make_run(schedule=Schedule(list(made)), **({"records": 20} | changes))


def test_one_silent_phase_of_two_is_enough_to_refuse():
    """Whichever it is; a silent cool-down tells nothing of records, but hides no distance."""
    loud, silent = Phase(2, 0.5, GradientNoise(1.0)), Phase(2, 0.4, GradientNoise(0.0))
    for made, place in (((loud, silent), "phase 2"), ((silent, loud), "phase 1")):
        run = phases(*made)
        for asked in (hypotheses.noisy, hypotheses.always_noisy):
            found = asked(run)
            assert found.holds is False and place in found.because
    cool = phases(loud, replace(silent, cool_down=True))
    assert hypotheses.noisy(cool).holds is True
    assert hypotheses.always_noisy(cool).holds is False
    assert hypotheses.always_noisy(phases(loud)).holds is True


def test_one_faint_phase_of_two_leaves_the_range_of_doubles():
    """Its variance, the square of both numbers, is what must be one."""
    loud, faint = Phase(2, 0.5, GradientNoise(1.0)), Phase(2, 0.4, GradientNoise(1e-146))
    found = hypotheses.always_noisy(phases(loud, faint))
    assert found.holds is False and "phase 2" in found.because
    audible = Phase(2, 0.4, GradientNoise(1e-144))
    assert hypotheses.always_noisy(phases(loud, audible)).holds is True


def test_a_hundred_thousand_batches_and_no_more():
    run = make_run(records=100_000, batches=ShuffledOnce(1))
    assert hypotheses.few_positions(run).holds is True
    assert hypotheses.few_positions(replace(run, records=100_001)).holds is False


def test_a_prox_that_may_jump_names_the_longest_step():
    found = hypotheses.certified_prox(small(domain=MCP(weight=1.0, shape=0.25)))
    assert found.holds is False
    assert "below 0.25" in found.because and found.remedy == "step_size < 0.25"


def test_a_stated_constant_is_no_better_than_the_last_noise():
    """To nine digits: the last step adds a variance of (0.5)^2."""
    run = small()
    for k, held in ((4.0, True), (4.0 * (1 + 9e-10), True), (4.0 * (1 + 1.1e-9), False)):
        facts = Facts((Fact.of(run, FactKind.LOG_SOBOLEV, k),))
        assert hypotheses.log_sobolev_constant(run, facts).holds is held
    run = phases(Phase(2, 0.5, GradientNoise(1.0)), Phase(2, 0.5, GradientNoise(2.0)))
    for k, held in ((1.0, True), (1.1, False)):
        facts = Facts((Fact.of(run, FactKind.LOG_SOBOLEV, k),))
        assert hypotheses.log_sobolev_constant(run, facts).holds is held


def test_whole_gradients_that_are_bounded_belong_to_no_quadratic():
    """Where only their difference is bounded a quadratic attains the bound."""
    rules = hypotheses.flattest_direction_rules
    curved = Objective(gradient_difference_bound=1.0, smoothness=0.5, strong_convexity=0.1)
    assert rules(small(objective=curved)).holds is True
    flat = Objective(gradient_bound=1.0, smoothness=0.5, strong_convexity=0.0)
    assert rules(small(objective=flat)).holds is True
    assert rules(small(objective=flat, domain=Diameter(1.0))).holds is False
    assert rules(small(objective=curved, step_size=4.0)).holds is False
    assert rules(small(objective=BENT)).holds is False
    assert rules(small(objective=replace(flat, clipped=True))).holds is False


def test_public_records_need_constants_of_their_own():
    """For as long as their gradients may change by any amount, no distance is known."""
    made = (Phase(2, 0.5, GradientNoise(1.0)), Phase(2, 0.5, GradientNoise(1.0), public=True))
    for theirs, known, rounded in (
        (Objective(), False, False),
        (Objective(gradient_bound=1.0), True, False),
        (Objective(smoothness=0.5), True, True),
    ):
        public = PublicRecords(records=5, objective=theirs)
        run = phases(*made, public=public, domain=Diameter(1.0), objective=BENT)
        assert (hypotheses.known_modulus(run).holds is True) is known
        assert (hypotheses.smooth(run).holds is True) is rounded
    found = hypotheses.known_modulus(
        phases(*made, public=PublicRecords(records=5, objective=Objective()), objective=BENT)
    )
    assert found.holds is None and "public record" in found.because


def test_batches_of_fixed_size_may_lack_one_record():
    """Strongly convex losses contract less without it: not at all in batches of one."""
    round_ = Objective(gradient_bound=1.0, gradient_difference_bound=0.1, smoothness=0.5)
    curved = replace(round_, gradient_bound=None, strong_convexity=0.1)
    for size, held in ((1, False), (2, True)):
        run = small(objective=curved, batches=WithoutReplacement(size))
        assert hypotheses.bounded_distance(run).holds is held


# chains


WAY = Direction.CHAIN_FIRST
HEAVY = Underdamped(Target(1.0, 2.0, 2), 0.01, 100, friction=2.0)
LIGHT = replace(HEAVY, friction=0.9)
LONG = replace(HEAVY, step_size=0.5)


def test_questions_are_about_one_kind_of_chain_and_one_reference():
    chain = Overdamped(Target(1.0, 2.0, 2), 0.01, 100)
    asked = about(Overdamped, Reference.TARGET)
    assert asked(Question(chain, 2.0, WAY, reference=Reference.TARGET))
    assert not asked(Question(chain, 2.0, WAY, reference=Reference.DIFFUSION))
    assert not asked(Question(HEAVY, 2.0, WAY, reference=Reference.TARGET))


def test_friction_and_steps_that_bring_chains_together():
    short = chain_hypotheses.short_kinetic_step
    assert short(Question(HEAVY, 2.0, WAY)).holds is True
    found = short(Question(LIGHT, 2.0, WAY))
    least = float(found.remedy.split()[-1])
    assert math.sqrt(3.0) <= least <= math.sqrt(3.0) * (1.0 + 2e-15) and least**2 >= 3.0
    found = short(Question(LONG, 2.0, WAY))
    assert found.holds is False and found.remedy.startswith("step_size <= ")


def test_the_longest_step_contracts_and_a_longer_one_does_not():
    most = largest_contracting_step(kinetic_letters_of(LONG))
    short = chain_hypotheses.short_kinetic_step
    assert short(Question(replace(HEAVY, step_size=most), 2.0, WAY)).holds is True
    assert short(Question(replace(HEAVY, step_size=most * 1.001), 2.0, WAY)).holds is False
    with pytest.raises(Unreachable, match="friction"):
        largest_contracting_step(kinetic_letters_of(LIGHT))


# theorems in words


def test_the_least_conclusion_and_the_nearest_theorem_are_named():
    answers = certify(small(objective=replace(BENT, ridge=0.5), batches=WithoutReplacement(5)))
    found = Answers(small(), ask(small(), THEOREMS))
    least = found.least(lambda guarantee: guarantee.epsilon(1e-5))
    assert all(
        least.conclusion.epsilon(1e-5) <= each.conclusion.epsilon(1e-5) for each in found.applicable
    )
    lines = found.explained(str, lambda guarantee: guarantee.epsilon(1e-5))
    shown = [line for line in lines if line.startswith("  yes ")]
    assert least.theorem.name in shown[0]
    order = [v.conclusion.epsilon(1e-5) for v in found.applicable]
    assert len(shown) == len(order)
    assert answers.obstacles
    refused = Answers(small(), tuple(v for v in found.verdicts if v not in found.applicable))
    fewest = min(len(v.obstacles) for v in refused.obstacles)
    (nearest, *_) = [v for v in refused.obstacles if len(v.obstacles) == fewest]
    with pytest.raises(Exception, match=f"nearest is {nearest.theorem.name}"):
        _ = refused.required


def test_a_theorem_is_summed_up_by_its_first_line():
    (found,) = [t for t in THEOREMS if t.name == "gaussian_composition"]
    assert found.summary == (
        "Every use of a record is one Gaussian mechanism, and their squares add up."
    )
    assert replace(found, formula=lambda run: run).summary == ""
