"""Hypotheses at their edges: one phase of several, one record more, one step size too long."""

import math
from dataclasses import replace
from functools import partial

import pytest

from runs import make_run
from twins.samplers import overdamped
from wane.certificates import certify
from wane.describe import (
    Adjacency,
    Fact,
    FactKind,
    FullBatch,
    GradientNoise,
    Objective,
    Phase,
    Poisson,
    PublicRecords,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.chain import (
    Direction,
    Overdamped,
    PointStart,
    Question,
    Reference,
    Target,
    Underdamped,
)
from wane.describe.domains import MCP, Ball, Diameter, OwnProx
from wane.errors import Unreachable
from wane.theorems import chain_hypotheses, hypotheses
from wane.theorems.chain_hypotheses import about, largest_contracting_step
from wane.theorems.lemmas.letters import kinetic_letters_of
from wane.theorems.lemmas.positions import FEW_ROWS
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Answers, Facts, ask

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


def test_schedules_of_as_many_phases_as_are_looked_at():
    made = [Phase(1, 0.1 + n * 1e-6, GradientNoise(1.0)) for n in range(FEW_ROWS + 1)]
    for hypothesis in (hypotheses.short_schedule, hypotheses.known_modulus):
        assert hypothesis(phases(*made[:-1])).holds is True
        found = hypothesis(phases(*made))
        assert found.holds is False and f"{FEW_ROWS + 1} phases" in found.because


def test_who_vouches_for_a_prox_is_said():
    """Of a prox of the user's own; a ball needs nobody."""
    own = small(domain=OwnProx("mine", diameter=2.0))
    ball = small(domain=Ball(radius=1.0))
    assert hypotheses.bounded_domain(ball).because == "diameter=2"
    assert hypotheses.bounded_domain(own).because == 'diameter=2, as declared of the prox "mine"'


def test_what_is_declared_of_gradients_is_said():
    """A bound counts where a record may be absent, a difference where another takes its place."""
    bounded = hypotheses.bounded_gradient
    both = Objective(gradient_bound=2.0, gradient_difference_bound=0.5, smoothness=0.5)
    for adjacency in (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT):
        found = bounded(small(objective=both, adjacency=adjacency))
        assert found.because == "gradient_bound=2 and gradient_difference_bound=0.5, declared"
    apart = replace(both, gradient_bound=None)
    found = bounded(small(objective=apart, adjacency=Adjacency.REPLACE_ONE))
    assert found.holds is True and found.because == "gradient_difference_bound=0.5, declared"
    assert bounded(small(objective=apart, adjacency=Adjacency.ZERO_OUT)).holds is None
    alone = replace(both, gradient_difference_bound=None, clipped=True)
    assert bounded(small(objective=alone)).because == "gradient_bound=2, by clipping"
    assert bounded(small(objective=Objective(smoothness=0.5))).holds is None


def test_coins_that_choose_a_batch_need_a_bound_on_whole_gradients():
    """Where a record is in the batch and another is not, differences do not suffice."""
    apart = Objective(gradient_difference_bound=0.5, smoothness=0.5)
    chosen = small(objective=apart, adjacency=Adjacency.REPLACE_ONE, batches=Poisson(5))
    assert hypotheses.bounded_gradient(chosen).holds is None
    both = replace(apart, gradient_bound=2.0)
    assert hypotheses.bounded_gradient(replace(chosen, objective=both)).holds is True


def test_records_keep_their_places_unless_one_is_added_to_batches():
    for adjacency, batches, held in (
        (Adjacency.REPLACE_ONE, ShuffledOnce(5), True),
        (Adjacency.ADD_REMOVE, FullBatch(), True),
        (Adjacency.ADD_REMOVE, ShuffledOnce(5), False),
    ):
        run = small(adjacency=adjacency, batches=batches)
        assert hypotheses.records_stay_in_place(run).holds is held


def test_the_longest_step_must_contract():
    """Where nothing bounds the set: 1 - 5 * 0.6 is -2, whichever phase has that step."""
    round_ = Objective(gradient_bound=1.0, smoothness=0.5, strong_convexity=0.0, ridge=0.1)
    short, long = Phase(2, 0.5, GradientNoise(1.0)), Phase(2, 5.0, GradientNoise(1.0))
    for made, held in (((short,), True), ((short, long), False), ((long, short), False)):
        found = hypotheses.bounded_distance(phases(*made, objective=round_))
        assert found.holds is held


def test_the_first_silent_phase_is_named():
    silent = [Phase(2, eta, GradientNoise(0.0)) for eta in (0.5, 0.4)]
    run = phases(Phase(2, 0.3, GradientNoise(1.0)), *silent)
    for asked in (hypotheses.noisy, hypotheses.always_noisy):
        assert asked(run).because == "phase 2 has no noise"


def test_a_fact_of_another_run_is_told_from_none():
    """Both are refused, in their own words; a fact of another kind is none."""
    run, other = small(), small(records=21)
    for stated, words, held in (
        ((), "", None),
        ((Fact.of(other, FactKind.LOG_SOBOLEV, 0.1),), "stated for another run", False),
        ((Fact.of(other, FactKind.AVERAGE_SMOOTHNESS, 0.1),), "", None),
    ):
        found = hypotheses.log_sobolev_constant(run, Facts(stated))
        assert found.holds is held and words in found.because
        assert ("another run" in found.because) is (held is False)


def test_a_prox_that_may_jump_names_the_longest_step():
    found = hypotheses.certified_prox(small(domain=MCP(weight=1.0, shape=0.25)))
    assert found.holds is False
    assert "below 0.25" in found.because and found.remedy == "step_size < 0.25"


def test_the_longest_step_of_all_phases_may_make_a_prox_jump():
    """Whichever phase it is in."""
    short, long = Phase(2, 0.1, GradientNoise(1.0)), Phase(2, 0.3, GradientNoise(1.0))
    for made in ((short, long), (long, short)):
        run = phases(*made, domain=MCP(weight=1.0, shape=0.25))
        assert hypotheses.certified_prox(run).holds is False
    found = hypotheses.certified_prox(phases(short, domain=MCP(weight=1.0, shape=0.25)))
    assert found.holds is True and "1.66667" in found.because


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


def test_the_ridge_counts_in_the_flattest_direction_and_in_the_steepest():
    """step_size * (m + ridge + M + ridge) is 2.4 and 1.92; without the ridge it would be less."""
    steep = Objective(gradient_difference_bound=1.0, smoothness=1.0, strong_convexity=1.0)
    run = small(objective=replace(steep, ridge=0.5), step_size=0.8)
    assert hypotheses.flattest_direction_rules(run).holds is False
    run = small(objective=replace(steep, ridge=0.2), step_size=0.8)
    assert hypotheses.flattest_direction_rules(run).holds is True
    assert "1.92" in hypotheses.flattest_direction_rules(run).because
    run = small(objective=steep, step_size=1.0)
    assert hypotheses.flattest_direction_rules(run).holds is True, "2 itself"


def test_why_no_modulus_is_known():
    """Nothing is declared of a gradient, or a step reaches beyond the minimum of the ridge."""
    bare = Objective(gradient_difference_bound=1.0, ridge=0.1)
    found = hypotheses.known_modulus(small(objective=bare, domain=Diameter(1.0)))
    assert found.holds is None and "gradient_bound" in found.remedy
    bounded = Objective(gradient_bound=1.0, ridge=2.0)
    assert hypotheses.known_modulus(small(objective=bounded)).holds is False
    assert "step_size*ridge=1 " in hypotheses.known_modulus(small(objective=bounded)).because


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


def test_friction_is_compared_with_both_curvatures_times_the_inverse_mass():
    chain = Underdamped(Target(1.0, 3.0, 2), 0.01, 100, friction=1.0, inverse_mass=0.25)
    heavy = chain_hypotheses.heavy_friction
    assert heavy(Question(chain, 2.0, WAY)).holds is True, "1 is no less than 0.25 * 4"
    found = heavy(Question(replace(chain, friction=0.999), 2.0, WAY))
    least = float(found.remedy.split()[-1])
    assert found.holds is False and 1.0 <= least <= 1.0 + 1e-15
    assert heavy(Question(HEAVY, 2.0, WAY)).holds is True, "4 is no less than 3, though 2 is"
    light = replace(HEAVY, friction=1.6)
    assert heavy(Question(light, 2.0, WAY)).holds is False, "2.56 is less than 3"
    odd = Underdamped(Target(1.0, 2.0, 2), 0.01, 100, friction=0.9)
    least = float(heavy(Question(odd, 2.0, WAY)).remedy.split()[-1])
    assert least**2 >= 3.0, "what is asked for suffices"


def test_potentials_may_be_flat_and_not_bent_downwards():
    for m, held in ((0.5, True), (0.0, True), (-1e-9, False), (-0.5, False), (-1.5, False)):
        target = Target(m, 2.0, 2, gradient_bound=1.0 if m <= 0.0 else None)
        asked = Question(Overdamped(target, 0.01, 100), 2.0, WAY)
        assert chain_hypotheses.convex(asked).holds is held
        assert chain_hypotheses.strongly_convex(asked).holds is (m > 0.0)


def test_a_start_of_which_nothing_is_known_has_no_warm_up():
    chain = Overdamped(Target(1.0, 2.0, 2), 0.01, 100)
    for start, held in ((PointStart(0.5), True), (PointStart(0.0), True), (PointStart(), None)):
        found = chain_hypotheses.known_start(Question(replace(chain, start=start), 2.0, WAY))
        assert found.holds is held


def test_friction_that_only_balances_the_curvature_has_no_step():
    """Copies do not approach each other along the steepest direction: 2 is no more than 4/2."""
    even = Underdamped(Target(1.0, 4.0, 2), 0.01, 100, friction=2.0)
    assert kinetic_letters_of(even).rate == 0.0
    found = chain_hypotheses.short_kinetic_step(Question(even, 2.0, WAY))
    assert found.holds is False and "too light" in found.because
    with pytest.raises(Unreachable, match="friction"):
        largest_contracting_step(kinetic_letters_of(even))


def test_posteriors_need_a_bound_on_what_a_record_adds():
    assert chain_hypotheses.bounded_share(overdamped()).holds is True
    assert chain_hypotheses.bounded_share(overdamped(gradient_bound=None)).holds is None


def test_the_longest_step_of_fast_and_slow_chains():
    """Time is measured in units of the curvature: eight times the rate takes steps so much less."""
    slow = Underdamped(Target(1.0, 2.0, 2), 0.05, 100, friction=2.0)
    fast = replace(slow, target=Target(64.0, 128.0, 2), friction=16.0)
    found = [largest_contracting_step(kinetic_letters_of(chain)) for chain in (slow, fast)]
    assert found[0] == pytest.approx(8.0 * found[1], rel=1e-6)


def test_the_longest_step_depends_on_the_curvature_times_the_inverse_mass():
    chain = Underdamped(Target(1.0, 2.0, 2), 0.05, 100, friction=2.0)
    for scale in (4.0, 0.01):
        target = Target(scale, 2.0 * scale, 2)
        other = replace(chain, target=target, inverse_mass=1.0 / scale)
        found = [largest_contracting_step(kinetic_letters_of(one)) for one in (chain, other)]
        assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_without_strong_convexity_no_step_contracts():
    flat = replace(HEAVY, target=Target(0.0, 2.0, 2))
    found = chain_hypotheses.short_kinetic_step(Question(flat, 2.0, WAY))
    assert found.holds is False and "strong convexity" in found.because


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


def test_what_is_missing_is_told_from_what_fails():
    """With the cure of each."""
    silent = hypotheses.smooth(small(objective=Objective(gradient_bound=1.0)))
    words = "the losses are smooth: not declared (smoothness is not declared); try objective"
    assert silent.complaint.startswith(words)
    failing = hypotheses.bounded_domain(small()).complaint
    assert "diameter: fails (the domain is unbounded); try domain.diameter" in failing
