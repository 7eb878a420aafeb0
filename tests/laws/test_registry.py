"""Laws that every theorem of the registry obeys."""

import math
from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from laws.strategies import positive, runs
from runs import possible
from wane import certify
from wane.describe import (
    Adjacency,
    EveryIterate,
    GradientNoise,
    IterateNoise,
    LastIterate,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    Temperature,
    WithoutReplacement,
)
from wane.describe.fields import run_from_fields, run_to_fields
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies, Refuses

EXACT = 1e-9
laws = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
fast = [a for a in THEOREMS if "composition" not in a.name or a.name.startswith("gaussian")]


SEARCHED = {"poisson_last_iterate", "fixed_size_last_iterate", "last_iterate_modulus"}
"""Their free parameters are searched for: every choice is sound, the best is not always found."""
NEGLIGIBLE = 1e-18


def slack(name: str) -> float:
    return 0.25 if name in SEARCHED else EXACT


def measure(verdict) -> float | None:
    """One number per guarantee that is cheap to compute: its Renyi divergence of order 8."""
    return verdict.guarantee.renyi(8.0) if isinstance(verdict, Applies) else None


def answers(run, analyses=THEOREMS) -> dict[str, float | None]:
    return {v.analysis.name: measure(v) for v in certify(run, analyses).verdicts}


def same(one, other, *, rel=EXACT):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert (value is None) == (other[name] is None), name
        if value is not None:
            rel = max(rel, slack(name))
            assert value == pytest.approx(other[name], rel=rel, abs=NEGLIGIBLE), name


@laws
@given(runs())
def test_refusals_say_what_stands_in_the_way(run):
    for verdict in certify(run).verdicts:
        if isinstance(verdict, Refuses):
            assert verdict.obstacles
            for obstacle in verdict.obstacles:
                assert obstacle.statement and obstacle.because
                assert obstacle.holds is not True
        else:
            value = measure(verdict)
            assert value is not None and value >= 0 and not math.isnan(value)


@laws
@given(runs(), st.sampled_from([0.01, 0.5, 3.0, 1000.0]))
def test_units_do_not_matter(run, k):
    """Scaling the losses by k and the steps by 1/k describes the same algorithm."""
    o = run.objective
    scaled = replace(
        o,
        gradient_bound=o.gradient_bound and k * o.gradient_bound,
        gradient_difference_bound=o.gradient_difference_bound and k * o.gradient_difference_bound,
        smoothness=None if o.smoothness is None else k * o.smoothness,
        strong_convexity=None if o.strong_convexity is None else k * o.strong_convexity,
        ridge=k * o.ridge,
    )

    def moved(noise):
        match noise:
            case GradientNoise(value):
                return GradientNoise(k * value)
            case Temperature(value):
                return Temperature(k * value)
        return noise

    phases = [Phase(p.repeat, p.step_size / k, moved(p.noise), p.cool_down) for p in run.plan]
    domain = run.domain
    if domain.strong_convexity != 0 or domain.kind in ("lasso", "elastic-net"):
        return  # a penalty is a loss too, and would have to be scaled
    other = replace(
        run,
        objective=scaled,
        schedule=Schedule(phases),
        steps=None,
        step_size=None,
        noise=None,
        cool_down=0,
    )
    same(answers(run), answers(other), rel=1e-8)


@laws
@given(runs())
def test_replace_one_is_zero_out_at_twice_the_bound(run):
    run = replace(run, adjacency=Adjacency.REPLACE_ONE)
    stds = run.gradient_noise_stds
    phases = [
        Phase(p.repeat, p.step_size, GradientNoise(float(s)), p.cool_down)
        for p, s in zip(run.plan, stds, strict=True)
    ]
    base = replace(
        run, schedule=Schedule(phases), steps=None, step_size=None, noise=None, cool_down=0
    )
    difference = run.gradient_sensitivity * run.batch_size
    if run.objective.clipped and difference < 2 * run.objective.gradient_bound:
        return  # clipping elsewhere is another algorithm
    objective = replace(
        base.objective, strong_convexity=min(run.objective.strong_convexity or 0.0, 0.0)
    )
    base = replace(base, objective=objective)
    doubled = replace(objective, gradient_bound=difference, gradient_difference_bound=None)
    other = replace(base, objective=doubled, adjacency=Adjacency.ZERO_OUT)
    # a modulus uses the bound itself, not only the sensitivity
    names = {"gaussian_composition", "last_iterate", "last_iterate_bounded", "secret_order"}
    ours = [a for a in fast if a.name in names]
    same(answers(base, ours), answers(other, ours))


@laws
@given(runs(), st.floats(1.0, 100.0))
def test_more_noise_never_hurts_and_never_changes_what_applies(run, factor):
    before, after = answers(run), answers(run.noise_scaled(factor))
    for name, value in before.items():
        assert (value is None) == (after[name] is None), name
        if value is not None:
            assert after[name] <= value * (1 + slack(name)) + NEGLIGIBLE, name


@laws
@given(runs(), st.sampled_from(["smoothness", "strong_convexity", "dimension"]))
def test_saying_less_never_helps(run, name):
    silent = replace(run, objective=replace(run.objective, **{name: None}))
    before, after = answers(run), answers(silent)
    for theorem, value in after.items():
        if value is not None:
            assert before[theorem] is not None, theorem
            assert before[theorem] <= value * (1 + slack(theorem)) + NEGLIGIBLE, theorem


@laws
@given(runs(sampled=False))
def test_releasing_more_never_helps(run):
    """Last only <= some <= every, for the best bound."""
    order = [replace(run, release=LastIterate()), run, replace(run, release=EveryIterate())]
    values = [
        min((v for v in answers(r, fast).values() if v is not None), default=math.inf)
        for r in order
    ]
    assert values[0] <= values[1] * (1 + EXACT)
    assert values[1] <= values[2] * (1 + EXACT)


@laws
@given(runs(complete=True, sampled=False))
def test_hiding_never_costs_more_than_composition(run):
    made = answers(run, fast)
    if made["last_iterate"] is not None:
        assert made["last_iterate"] <= made["gaussian_composition"] * (1 + EXACT)
    if made["last_iterate_bounded"] is not None:
        assert made["last_iterate_bounded"] <= made["last_iterate"] * (1 + EXACT)


@laws
@given(runs(complete=True, sampled=False))
def test_one_step_is_one_gaussian(run):
    one = NoisyDescent(
        objective=possible(run.objective),
        records=run.records,
        steps=1,
        step_size=0.1,
        noise=GradientNoise(2.0),
        batches=run.batches,
        adjacency=Adjacency.REPLACE_ONE,
    )
    mu = one.gradient_sensitivity / 2.0
    for name in ("gaussian_composition", "last_iterate"):
        assert answers(one, fast)[name] == pytest.approx(8 * mu**2 / 2, rel=EXACT)


@laws
@given(runs())
def test_descriptions_survive_a_file(run):
    assert run_from_fields(run_to_fields(run)) == run


@laws
@given(runs(sampled=False), st.integers(1, 5))
def test_more_steps_never_help(run, more):
    if run.schedule is not None:
        return
    longer = replace(run, steps=run.steps + more)
    before, after = answers(run, fast), answers(longer, fast)
    assert before["gaussian_composition"] is None or (
        before["gaussian_composition"] <= after["gaussian_composition"] * (1 + EXACT)
    )


@given(positive, positive, st.integers(1, 100), positive)
def test_noise_conventions_agree(step_size, s, size, bound):
    def std(noise) -> float:
        run = NoisyDescent(
            objective=Objective(gradient_bound=bound),
            records=size,
            steps=1,
            step_size=step_size,
            noise=noise,
        )
        return float(run.gradient_noise_stds[0])

    for noise in (
        GradientNoise(s),
        NoiseMultiplier(s * size / bound),
        IterateNoise(s * step_size),
        Temperature(s**2 * step_size / 2),
    ):
        assert std(noise) == pytest.approx(s, rel=1e-12)
        assert std(noise.scaled(3.0)) == pytest.approx(3 * s, rel=1e-12)


def test_every_field_of_an_objective_is_documented():
    words = set(Objective.__doc__.replace(",", " ").replace(":", " ").split())
    assert {f.name for f in fields(Objective)} <= words


EXTREME = [1e-300, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e300]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    runs(),
    st.sampled_from(EXTREME),
    st.sampled_from(EXTREME),
    st.sampled_from(EXTREME),
    st.sampled_from([1, 10**5, 10**12]),
)
def test_extreme_numbers_give_a_number_or_a_refusal(run, bound, step_size, noise, steps):
    sampled = isinstance(run.batches, Poisson | WithoutReplacement)
    assume(not (sampled and steps > 10**5 and noise <= bound))  # billions of epsilon, in minutes
    extreme = NoisyDescent(
        objective=possible(replace(run.objective, gradient_bound=bound), run.domain.diameter),
        records=run.records,
        steps=steps,
        step_size=step_size,
        noise=GradientNoise(noise),
        batches=run.batches,
        domain=run.domain,
        adjacency=run.adjacency,
    )
    made = certify(extreme)
    if made.applicable:
        epsilon = made.epsilon(1e-5)
        assert epsilon >= 0 and not math.isnan(epsilon)
        lower = made.lower_bound_epsilon(1e-5)
        assert lower is None or lower <= epsilon * (1 + EXACT)
