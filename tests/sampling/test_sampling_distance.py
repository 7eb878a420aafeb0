"""Distance certificates of Langevin chains: questions, refusals, plans, invariances."""

import importlib.util
import inspect
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import wane
from wane.audit import langevin_law as law
from wane.certificates.analyse import TabulatedCurve, certify_closeness, certify_distance
from wane.describe.chain import (
    Diffusion,
    Direction,
    NormalStart,
    Overdamped,
    PointStart,
    Question,
    Reference,
    Target,
    Underdamped,
    distance_bound,
    largest_overdamped_step,
    largest_underdamped_step,
)
from wane.errors import InvalidDescription, NoTheoremApplies, Unreachable
from wane.sampling.distance_plan import Friction, plan_closeness, plan_sampling
from wane.theorems.langevin import girsanov
from wane.theorems.lemmas.letters import kinetic_letters_of, letters_of, minus_log_cos
from wane.theorems.lemmas.shifted_girsanov import Free, Grouping, ShiftedGirsanov
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Refuses

BOUNDS = [theorem for theorem in THEOREMS if theorem.of is Question]
ROOT = Path(wane.__file__).parents[2]
TARGET = Target(1.0, 4.0, 10, laplacian_lipschitz=0.0)
CHAIN = Overdamped(TARGET, 1e-3, 8000, NormalStart(0.25, 0.0))
KINETIC = Underdamped(TARGET, 1e-3, 30_000, 2.3, start=NormalStart(0.25, 0.0))


# descriptions


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Target(None, 1.0, 1), "strong_convexity must be a number"),
        (lambda: Target(1.0, None, 1), "smoothness must be a number.*declare a proven constant"),
        (lambda: Target(2.0, 1.0, 1), "strong_convexity must be at most 1"),
        (lambda: Target(0.0, 1.0, 0), "dimension must be at least 1"),
        (lambda: Target(1.0, 1.0, 1, gradient_bound=2.0), "gradient_bound must be None"),
        (lambda: replace(CHAIN, steps=0), "steps must be at least 1"),
        (lambda: replace(CHAIN, temperature=0.0), "temperature must be > 0"),
        (lambda: replace(KINETIC, friction=0.0), "friction must be > 0"),
        (lambda: NormalStart(0.0), "variance must be > 0.*PointStart"),
        (lambda: PointStart(-1.0), "distance must be at least 0"),
    ],
)
def test_impossible_descriptions_are_refused(make, says):
    with pytest.raises(InvalidDescription, match=says):
        make()


def test_an_unstable_step_is_refused_with_the_largest_stable_one():
    largest = largest_overdamped_step(TARGET)
    with pytest.raises(InvalidDescription, match=re.escape(repr(largest))):
        replace(CHAIN, step_size=0.5)
    replace(CHAIN, step_size=largest)
    most = largest_underdamped_step(TARGET, 2.3, 1.0)
    with pytest.raises(InvalidDescription, match=re.escape(repr(most))):
        replace(KINETIC, step_size=1.001 * most)
    replace(KINETIC, step_size=most)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(1e-2, 1e2), st.floats(1e-2, 1e2))
def test_the_stability_limit_is_where_the_exact_law_runs_away(L, friction, mass):
    most = largest_underdamped_step(Target(0.0, L, 1), friction, mass)

    def radius(eta, curvature):
        step = law.frozen_gradient_step(
            curvature, friction=friction, velocity_variance=mass, step_size=eta
        )
        trace, determinant = (
            step.matrix.trace(),
            float(step.matrix[0, 0] * step.matrix[1, 1] - step.matrix[0, 1] * step.matrix[1, 0]),
        )
        root = complex(trace * trace / 4 - determinant) ** 0.5
        return max(abs(trace / 2 + root), abs(trace / 2 - root))

    for share in (0.01, 0.3, 1.0):
        assert radius(0.99 * most, share * L) < 1.0
    assert radius(1.01 * most, L) > 1.0


def test_the_gradient_bounds_the_distance():
    assert distance_bound(TARGET, 3.0) == pytest.approx(3.0)
    with pytest.raises(InvalidDescription, match="strong_convexity"):
        distance_bound(Target(0.0, 1.0, 1), 3.0)


# certificates


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda b: b.name)
def test_bounds_are_documented_and_their_proofs_exist(bound):
    doc = inspect.getdoc(bound.formula) or ""
    assert doc.splitlines()[0].endswith(".")
    assert "Claim." in doc
    assert bound.summary == doc.splitlines()[0]
    assert bound.source.key == "wane"
    page, _, theorem = bound.source.place.partition(", ")
    text = (ROOT / page).read_text()
    assert f"## {theorem}" in text
    assert f"`{bound.name}`" in text


def test_proofs_name_code_that_exists():
    """Every function or class the pages name in code font is still there."""
    sources = "\n".join(p.read_text() for p in (ROOT / "src/wane").rglob("*.py"))
    for page in ("overdamped", "discretisation", "underdamped"):
        text = (ROOT / "docs" / "proofs" / f"langevin-{page}.md").read_text()
        for name in re.findall(r"`([A-Za-z_.]+)`", text):
            last = name.rpartition(".")[2]
            assert re.search(rf"\b{last}\b", sources), name


@pytest.mark.parametrize("direction", Direction)
def test_the_smallest_bound_rules(direction):
    cert = certify_distance(CHAIN, order=2.0, direction=direction)
    assert cert.best.theorem.name == "shifted_girsanov"
    assert 5e-4 < cert.value < 7.7e-4
    names = {v.theorem.name for v in cert.verdicts}
    assert names == {"shifted_girsanov", "discretisation_and_mixing"}
    assert "shifted_girsanov [wane, docs/proofs/langevin-overdamped.md" in cert.explain()
    assert cert.total_variation <= math.sqrt(cert.value / 2) * (1 + 1e-12)
    first = direction is Direction.CHAIN_FIRST
    assert (cert.transport is not None) == first
    if first:
        assert cert.transport == pytest.approx(math.sqrt(2 * cert.value))


def test_kullback_leibler_is_order_one():
    for direction in Direction:
        one = certify_distance(CHAIN, order=1.0, direction=direction).value
        two = certify_distance(CHAIN, order=2.0, direction=direction).value
        assert one < 0.6 * two


def test_refusals_name_the_hypothesis_and_the_cure():
    lost = replace(CHAIN, start=NormalStart(0.25))
    cert = certify_distance(lost, order=2.0, direction=Direction.CHAIN_FIRST)
    assert all(isinstance(v, Refuses) for v in cert.verdicts)
    assert "start.distance is not declared" in cert.explain()
    with pytest.raises(NoTheoremApplies, match="distance_bound"):
        _ = cert.value
    flat = replace(CHAIN, target=Target(0.0, 4.0, 10))
    with pytest.raises(NoTheoremApplies, match=r"strongly convex.*ridge"):
        _ = certify_distance(flat, order=2.0, direction=Direction.CHAIN_FIRST).value
    light = replace(KINETIC, friction=1.0)
    with pytest.raises(NoTheoremApplies, match=r"friction >= 2\.236"):
        _ = certify_distance(light, order=2.0, direction=Direction.CHAIN_FIRST).value
    long = replace(KINETIC, step_size=0.5)
    with pytest.raises(NoTheoremApplies, match="step_size <="):
        _ = certify_distance(long, order=2.0, direction=Direction.CHAIN_FIRST).value


def test_discretisation_alone_needs_less():
    flat = Target(0.0, 1.0, 10)
    bumpy = Target(-1.0, 1.0, 10, gradient_bound=3.0)
    asked = {"order": 2.0, "direction": Direction.CHAIN_FIRST, "reference": Reference.DIFFUSION}
    convex = certify_distance(Overdamped(flat, 1e-3, 2000, PointStart(1.0)), **asked)
    assert convex.best.theorem.name == "girsanov_convex"
    lipschitz = certify_distance(Overdamped(bumpy, 1e-3, 2000), **asked)
    assert lipschitz.best.theorem.name == "girsanov_lipschitz"
    assert lipschitz.value == pytest.approx(0.010366, rel=1e-3)
    kinetic = certify_distance(replace(KINETIC, target=flat), **asked)
    assert kinetic.best.theorem.name == "girsanov_kinetic"
    assert max(convex.value, kinetic.value) < 0.1


def test_the_diffusion_mixes():
    cert = certify_distance(
        Diffusion(TARGET, 3.0, NormalStart(0.25, 0.0)),
        order=2.0,
        direction=Direction.REFERENCE_FIRST,
    )
    assert cert.value == pytest.approx(0.03115827819, rel=1e-9)


def test_a_question_no_theorem_answers():
    diffusion = Diffusion(TARGET, 3.0, NormalStart(0.25, 0.0))
    cert = certify_distance(
        diffusion,
        order=2.0,
        direction=Direction.CHAIN_FIRST,
        reference=Reference.DIFFUSION,
    )
    with pytest.raises(NoTheoremApplies, match="another reference"):
        _ = cert.value


@pytest.mark.parametrize("temperature", [0.01, 3.0, 1e4])
def test_temperature_only_scales(temperature):
    """exp(-F/T) with step h is exp(-f), f = F/T, with step hT; friction keeps its time."""
    scaled = Target(temperature, 4.0 * temperature, 10, laplacian_lipschitz=0.0)
    hot = replace(CHAIN, target=scaled, step_size=1e-3 / temperature, temperature=temperature)
    value = certify_distance(CHAIN, order=2.0, direction=Direction.CHAIN_FIRST).value
    found = certify_distance(hot, order=2.0, direction=Direction.CHAIN_FIRST).value
    assert found == pytest.approx(value, rel=1e-6)
    hot_kinetic = replace(
        KINETIC, target=scaled, inverse_mass=1.0 / temperature, temperature=temperature
    )
    value = certify_distance(KINETIC, order=2.0, direction=Direction.CHAIN_FIRST).value
    found = certify_distance(hot_kinetic, order=2.0, direction=Direction.CHAIN_FIRST).value
    assert found == pytest.approx(value, rel=1e-6)


def test_units_of_length_do_not_matter():
    """y = s x: curvatures are divided by s^2, lengths and step sizes multiplied."""
    s = 7.0
    moved = Overdamped(
        Target(1.0 / s**2, 4.0 / s**2, 10, laplacian_lipschitz=0.0),
        1e-3 * s**2,
        8000,
        NormalStart(0.25 * s**2, 0.5 * s),
    )
    here = replace(CHAIN, start=NormalStart(0.25, 0.5))
    values = [
        certify_distance(c, order=2.0, direction=Direction.CHAIN_FIRST).value for c in (here, moved)
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-6)


def test_a_million_million_steps_cost_what_ten_thousand_do():
    blocks = [len(girsanov.FINE.cut(n)[0]) for n in (10**4, 10**12)]
    assert blocks[1] < 5 * blocks[0]
    long = replace(CHAIN, step_size=8e-12, steps=10**12)
    found = certify_distance(long, order=2.0, direction=Direction.CHAIN_FIRST).value
    assert 0.0 < found < 1e-4


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.0, 1.0),
    st.integers(1, 400),
    st.floats(2.5, 100.0),
    st.floats(0.05, 2.0),
    st.floats(0.1, 5.0),
)
def test_chords_are_never_below_every_step_by_itself(eta_L, steps, q, k1, chi):
    """With the same weights on single steps a block may only cost more."""
    x = letters_of(Overdamped(TARGET, max(0.2 * eta_L, 1e-4), steps, NormalStart(0.25, 0.0)))
    free = Free(q1=q, q2=q, k1=k1, chi=chi)
    blocks = ShiftedGirsanov(x, Grouping(2, 0.3))
    single = ShiftedGirsanov(x, Grouping(2, 0.0))
    slack = blocks._slack(1e-3, free)
    spread = [s for s, n in zip(slack, blocks.counts, strict=True) for _ in range(int(n))]
    single._slack = lambda a, free: np.array(spread)
    blocks._slack = lambda a, free: slack
    rough, exact = (at.pieces(0.5 * q, free) for at in (blocks, single))
    for name in ("A0", "C", "W"):
        assert getattr(exact, name) <= getattr(rough, name) * (1 + 1e-9)


@pytest.mark.parametrize(
    "free",
    [Free(q1=1.5, q2=2.0), Free(s=1.0), Free(u3=1.0), Free(k1=0.0), Free(nu=-1.0), Free(gm=0.0)],
)
def test_inadmissible_parameters_prove_nothing(free):
    at = ShiftedGirsanov(letters_of(CHAIN), girsanov.ROUGH)
    assert math.isinf(at.divergence(0.5, free))
    assert math.isinf(at.relative_entropy(free))


def test_at_the_edge_of_stability_nothing_is_proved():
    edge = replace(CHAIN, step_size=largest_overdamped_step(TARGET))
    assert letters_of(edge).contraction_gap < 0.0
    for order in (1.0, 2.0):
        for direction in Direction:
            assert math.isinf(certify_distance(edge, order=order, direction=direction).value)


def test_friction_that_rounds_below_its_limit_is_not_trusted():
    """The rate is the lesser of two that are equal at the limit, so a hair of friction is safe."""
    light = kinetic_letters_of(replace(KINETIC, friction=2.1))
    assert light.rate == pytest.approx(2.1 - 4.0 / 2.1)
    assert light.rate < light.mu * light.m / light.gam


# closeness and plans


def test_interpolated_closeness_is_above_the_convex_truth():
    curve = TabulatedCurve((1.5, 2.0, 5.0), (0.3, 0.4, 1.0))  # D = order/5 at these orders
    for order in (1.1, 1.5, 1.7, 2.0, 3.0, 5.0):
        assert curve(order) >= order / 5 * (1 - 1e-12)
    assert curve(2.0) == pytest.approx(0.4)
    assert math.isinf(curve(5.01))


def test_closeness_in_epsilon_and_delta():
    close = certify_closeness(CHAIN, orders=(4.0, 30.0))
    two = max(certify_distance(CHAIN, order=4.0, direction=d).value for d in Direction)
    assert close.renyi(4.0) == pytest.approx(two, rel=1e-12)
    assert 0.0 < close.epsilon(1e-6) < 1.0
    with pytest.raises(NoTheoremApplies, match="not bounded at any order from 30"):
        certify_closeness(replace(CHAIN, step_size=0.1, steps=100), orders=(30.0,))


@pytest.mark.parametrize("friction", [None, Friction()], ids=["overdamped", "underdamped"])
def test_plans_are_certified_and_no_longer_than_known(friction):
    plan = plan_sampling(
        Target(1.0, 4.0, 10, laplacian_lipschitz=0.0),
        order=2.0,
        distance=0.1,
        start=NormalStart(0.25, 0.0),
        friction=friction,
    )
    assert all(c.value <= 0.1 for c in plan.certificates)
    assert len(plan.certificates) == 2
    assert plan.chain.steps <= (400 if friction is None else 2050)
    again = certify_distance(plan.chain, order=2.0, direction=Direction.CHAIN_FIRST)
    assert again.value <= 0.1


def test_plans_know_the_temperature():
    plan = plan_sampling(
        Target(5.0, 20.0, 2, laplacian_lipschitz=0.0),
        order=2.0,
        distance=0.1,
        start=NormalStart(0.25, 0.0),
        temperature=5.0,
        directions=(Direction.REFERENCE_FIRST,),
    )
    assert plan.chain.temperature == 5.0
    assert plan.chain.steps <= 170
    assert 0.0 < plan.certificates[0].value <= 0.1


def test_plans_for_epsilon_and_delta():
    plan = plan_closeness(
        Target(1.0, 2.0, 2, laplacian_lipschitz=0.0),
        epsilon=1.0,
        delta=1e-3,
        start=NormalStart(0.5, 0.0),
    )
    order = plan.order
    converted = max(c.value for c in plan.certificates)
    converted += math.log1p(-1 / order) - math.log(1e-3 * order) / (order - 1)
    assert converted <= 1.0


def test_plans_are_refused_with_the_cure():
    known = {"order": 2.0, "distance": 0.1}
    with pytest.raises(NoTheoremApplies, match="ridge"):
        plan_sampling(Target(0.0, 1.0, 1), start=PointStart(1.0), **known)
    with pytest.raises(NoTheoremApplies, match="distance_bound"):
        plan_sampling(TARGET, start=PointStart(), **known)
    with pytest.raises(InvalidDescription, match="distance must be > 0"):
        plan_sampling(TARGET, start=PointStart(0.0), order=2.0, distance=0.0)
    with pytest.raises(Unreachable, match="steps"):
        plan_sampling(Target(1e-9, 1.0, 10**6), start=PointStart(1e3), order=50.0, distance=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "dimension", "third", "smooth"),
    [(1000, 2, 7180, 73_700), (1000, 100, 56_600, 5_740_000), (10_000, 10, 458_000, 44_600_000)],
)
def test_private_logistic_posteriors_need_no_more_steps_than_known(
    records, dimension, third, smooth
):
    """Ridge one, rows of norm at most one, tempered for (1, 1e-6): order 2, distance 0.1."""
    temperature = 4.2247
    smoothness = 1.0 + records / (4.0 * temperature)
    lipschitz = records / (6.0 * math.sqrt(3.0) * temperature)
    for declared, most in ((lipschitz, third), (None, smooth)):
        plan = plan_sampling(
            Target(1.0, smoothness, dimension, laplacian_lipschitz=declared),
            order=2.0,
            distance=0.1,
            start=NormalStart(1.0 / smoothness, 0.0),
        )
        assert plan.chain.steps <= most


@pytest.mark.slow
def test_the_looseness_table_is_current():
    spec = importlib.util.spec_from_file_location("t", ROOT / "docs" / "tables_sampling.py")
    tables = importlib.util.module_from_spec(spec)
    sys.modules["t"] = tables  # dataclasses look their module up
    spec.loader.exec_module(tables)
    page = (ROOT / "docs" / "sampling-looseness.md").read_text()
    assert page.startswith(tables.TITLE)
    lines = [line for line in page.splitlines() if line.startswith("| ")][2:]
    assert len(lines) == len(tables.INSTANCES)
    for case, line in zip(tables.INSTANCES[:2], lines, strict=False):
        cells = [cell.split()[0] for cell in line.strip("| ").split(" | ")]
        assert int(cells[4]) == tables.exact_steps(case)
        assert int(cells[8]) == tables.exact_kinetic_steps(case)
        for place, options in ((5, {"third": 0.0}), (6, {}), (9, {"friction": Friction()})):
            planned = tables.planned_steps(case, **options)
            assert planned == pytest.approx(int(cells[place]), rel=0.03)


def test_figure_one_is_beaten_in_every_row():
    from wane_papers.sampler.discretisation import certified_figure_one
    from wane_papers.sampler.printed import figure_one

    ours, theirs = certified_figure_one((10,)), figure_one((10,))
    assert ours["row"] == theirs["row"]
    for mine, proved in zip(ours["certified_step_size"], theirs["proved_step_size"], strict=True):
        assert mine > 50 * proved


def test_minus_log_cos_keeps_its_digits_near_a_right_angle():
    """The square of the sine is one there to all digits, and its logarithm was an error."""
    for gap in (1e-3, 1e-6, 1e-9):
        angle = 0.5 * math.pi - gap
        with mpmath.workdps(40):
            exact = -mpmath.log(mpmath.cos(mpmath.mpf(angle)))
            assert abs(minus_log_cos(angle) / exact - 1) < 1e-14
    assert minus_log_cos(math.nextafter(0.5 * math.pi, 0.0)) > 35.0
