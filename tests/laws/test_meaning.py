"""Every predicate refutes the exact constant times (1 - 1e-6), and never the constant itself."""

import math
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from laws.catalogue import CATALOGUE, Drawn, measured
from laws.loss_cases import Quadratic, Sum, Wave, parabola
from wane.audit.meaning import PREDICATES, Start, Truth, judge
from wane.audit.suprema import clip
from wane.describe import LossForm
from wane.describe.constants import CONSTANTS
from wane.describe.domains import Box, Ridge
from wane.describe.objective import Objective

SEEDS = range(3)
LESS = 1e-6


def exact_objective(drawn: Drawn, **changes):
    """What a description holds, without the checks that would refuse a false one.

    In dimension one, and for linear predictors, a clipped loss may be described after clipping; it
    is so described only if the family says that its constants are those.
    """
    exact = dict(drawn.exact)
    holder = exact.pop("holder", None)
    if holder is not None:
        exact |= {"holder_exponent": holder[0], "holder_constant": holder[1]}
    silent = {f.name: f.default for f in fields(Objective)} | {"gradient_difference_bound": None}
    shape = {"clipped": drawn.clip is not None}
    if drawn.clip is None or drawn.extra.get("clamped"):
        shape |= {"form": LossForm(drawn.shape), "dimension": drawn.dimension}
    return SimpleNamespace(**(silent | shape | exact | changes))


def truth(name: str, drawn: Drawn, **changes) -> Truth:
    return PREDICATES[f"objective.{name}"](exact_objective(drawn, **changes), drawn.family)


def test_every_constant_has_a_predicate_and_every_predicate_a_constant():
    assert set(PREDICATES) == set(CONSTANTS)
    for constant in CONSTANTS.values():
        assert constant.sentence.endswith(".") and constant.formula and constant.undeclared


def test_every_field_of_an_objective_has_a_definition():
    named = {c.name for c in CONSTANTS.values() if c.of == "objective"}
    assert {f.name for f in fields(Objective)} - {"log_sobolev"} <= named


UPPER = ("gradient_bound", "gradient_difference_bound", "smoothness")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_upper_bounds(name, seed):
    drawn = CATALOGUE[name](np.random.default_rng(seed))
    for constant in UPPER:
        value = drawn.exact.get(constant)
        if value is None or (constant == "gradient_bound" and drawn.clip is not None):
            continue
        assert truth(constant, drawn) is not Truth.REFUTED, constant
        if value > 0:
            less = {constant: value * (1 - LESS)}
            assert truth(constant, drawn, **less) is Truth.REFUTED, constant


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_strong_convexity(name, seed):
    drawn = CATALOGUE[name](np.random.default_rng(seed))
    m = drawn.exact.get("strong_convexity")
    if m is None:
        return  # not known in closed form: measured only
    assert truth("strong_convexity", drawn) is not Truth.REFUTED
    more = {"strong_convexity": m + LESS * (abs(m) or 1.0)}
    assert truth("strong_convexity", drawn, **more) is Truth.REFUTED


@pytest.mark.parametrize("name", ["hills", "parabolas", "hubers", "powers", "absolute"])
def test_hoelder(name):
    drawn = CATALOGUE[name](np.random.default_rng(1))
    H = drawn.exact["holder"][1]
    assert truth("holder_constant", drawn) is not Truth.REFUTED
    assert truth("holder_constant", drawn, holder_constant=H * (1 - LESS)) is Truth.REFUTED


@pytest.mark.parametrize("name", ["wells", "stacked_wells"])
def test_dissipativity(name):
    for seed in SEEDS:
        drawn = CATALOGUE[name](np.random.default_rng(seed))
        lam, kappa = drawn.exact["dissipativity"]
        assert truth("dissipativity", drawn) is not Truth.REFUTED
        less = {"dissipativity": (lam * (1 - LESS), kappa)}
        assert truth("dissipativity", drawn, **less) is Truth.REFUTED


ON_THE_LINE = [n for n, f in CATALOGUE.items() if f(np.random.default_rng(0)).dimension == 1]


UNPROVEN = {
    ("parabolas_everywhere", "gradient_difference_bound"),  # two infinite slopes have no difference
    ("steep_hidden", "smoothness"),  # a cell at the clamp holds both sides of it
    ("wells", "gradient_difference_bound"),  # cells too wide for a small difference
}


@pytest.mark.parametrize("name", ON_THE_LINE)
def test_intervals_prove_what_is_true_with_room(name):
    drawn = CATALOGUE[name](np.random.default_rng(4))
    room = {k: v * 1.05 for k, v in drawn.exact.items() if k in UPPER}
    m = drawn.exact.get("strong_convexity")
    if m is not None:
        room["strong_convexity"] = m - 0.05 * abs(drawn.exact.get("smoothness", m))
    if drawn.clip is not None:
        room.pop("gradient_bound")
    for constant in room:
        proven = Truth.OPEN if (name, constant) in UNPROVEN else Truth.PROVEN
        assert truth(constant, drawn, **room) is proven, constant


@pytest.mark.parametrize("name", ["hills", "parabolas", "hubers", "powers", "absolute"])
def test_intervals_prove_hoelder_constants_with_room(name):
    drawn = CATALOGUE[name](np.random.default_rng(1))
    p, H = drawn.exact["holder"]
    more = {"holder_constant": H * (2.0 if 0 < p < 1 else 1.2)}
    assert truth("holder_constant", drawn, **more) in (Truth.PROVEN, Truth.OPEN)
    if p in (0.0, 1.0):
        assert truth("holder_constant", drawn, **more) is Truth.PROVEN


def test_intervals_prove_dissipativity_with_room():
    drawn = CATALOGUE["wells"](np.random.default_rng(0))
    lam, kappa = drawn.exact["dissipativity"]
    assert truth("dissipativity", drawn, dissipativity=(lam * 3 + 20, kappa)) is Truth.PROVEN


@pytest.mark.parametrize("name", CATALOGUE)
def test_measured_constants_are_the_exact_ones_rounded_outwards(name):
    drawn = CATALOGUE[name](np.random.default_rng(2))
    names = tuple(k for k in drawn.exact if k not in {"holder", "dissipativity"})
    for constant, value in measured(drawn, names).items():
        exact = drawn.exact[constant]
        way = -1 if constant == "strong_convexity" else 1
        assert way * (value - exact) >= -1e-12 * abs(exact), constant
        assert value == pytest.approx(exact, rel=1e-8, abs=1e-9), constant


def everywhere(name: str, p: float, H: float, m: float | None) -> Truth:
    drawn = CATALOGUE[name](np.random.default_rng(1))
    given = {"holder_exponent": p, "holder_constant": H, "strong_convexity": m}
    return truth("holder_everywhere", drawn, holder_everywhere=True, **given)


def test_hoelder_everywhere_asks_for_convexity_everywhere():
    """Convex around its thin box and Hoelder on the whole plane, but a saddle there."""
    assert everywhere("saddle", 0.6, 1.15, None) is not Truth.REFUTED
    assert everywhere("saddle", 0.6, 1.15, 0.0) is Truth.REFUTED
    assert everywhere("saddle", 0.6, 1.0, None) is Truth.REFUTED
    drawn = CATALOGUE["powers"](np.random.default_rng(1))
    assert everywhere("powers", *drawn.exact["holder"], 0.0) is not Truth.REFUTED
    hill = CATALOGUE["hills"](np.random.default_rng(1))
    H = hill.exact["holder"][1]  # a bound on the box, where the hill is finite
    assert everywhere("hills", 0.0, H, None) is Truth.REFUTED
    assert truth("holder_everywhere", hill) is Truth.PROVEN  # nothing is claimed


def of(key: str, subject, **declared) -> Truth:
    return PREDICATES[key](SimpleNamespace(**declared), subject)


def test_what_runs_is_compared_with_clipping():
    drawn = CATALOGUE["turned_by_clipping"](np.random.default_rng(0))
    C = drawn.clip

    def family(contribution):
        return replace(drawn.family, contribution=contribution)

    def opacus(g):
        return g * np.minimum(1, C / (np.linalg.norm(g, axis=1, keepdims=True) + 1e-6))

    clipped = exact_objective(drawn)
    predicate = PREDICATES["objective.clipped"]
    assert predicate(clipped, family(lambda g: clip(g, C))) is Truth.OPEN
    assert predicate(clipped, family(opacus)) is Truth.OPEN
    assert predicate(clipped, family(lambda g: g)) is Truth.REFUTED

    def normalised(g):
        return C * g / (np.linalg.norm(g, axis=1, keepdims=True) + 1e-30)

    def per_coordinate(g):
        return np.clip(g, -C, C)

    mixed = replace(family(normalised), losses=(Quadratic(((1.0, 0.0), (0.0, 1.0)), (0.0, 0.0)),))
    assert predicate(clipped, mixed) is Truth.REFUTED
    wide = replace(drawn.family, losses=mixed.losses, low=np.full(2, -9.0), high=np.full(2, 9.0))
    assert predicate(clipped, replace(wide, contribution=per_coordinate)) is Truth.REFUTED
    assert predicate(exact_objective(drawn, clipped=False), family(opacus)) is Truth.REFUTED
    assert predicate(clipped, drawn.family) is Truth.OPEN  # nothing to compare with


def test_shapes():
    glm = CATALOGUE["links_in_the_plane"](np.random.default_rng(0))
    turned = CATALOGUE["turned_by_clipping"](np.random.default_rng(0))
    assert truth("form", glm) is Truth.OPEN
    assert truth("form", turned, form=LossForm.GLM) is Truth.REFUTED
    assert truth("form", turned, form=LossForm.RADIAL) is Truth.REFUTED
    bowl = Drawn("bowl", (Quadratic(((2.0, 0.0), (0.0, 2.0)), (1.0, 0.0)),), 1.0, {}, dimension=2)
    assert truth("form", bowl, form=LossForm.RADIAL) is Truth.OPEN
    assert truth("form", turned) is Truth.PROVEN
    assert truth("dimension", turned, dimension=1) is Truth.REFUTED
    assert truth("dimension", turned, dimension=2) is Truth.PROVEN


def test_a_ridge_is_added_once_and_nothing_else_is():
    drawn = CATALOGUE["lines"](np.random.default_rng(0))
    shared = replace(drawn.family, shared=lambda x: 0.3 * x)
    shifted = replace(drawn.family, shared=lambda x: 0.3 * x + 1e-3)
    assert of("objective.ridge", shared, ridge=0.3) is Truth.OPEN
    assert of("objective.ridge", shared, ridge=0.3 * (1 - LESS)) is Truth.REFUTED
    assert of("objective.ridge", shifted, ridge=0.3) is Truth.REFUTED


def test_records_diameters_and_proxes():
    assert of("run.records", [(5, 0.5), (5, 0.5)], records=10, batch_size=5) is Truth.PROVEN
    assert of("run.records", [(5, 0.5), (5, 5 / 11)], records=10, batch_size=5) is Truth.REFUTED
    box = Box(-1.0, 2.0, dimension=1)
    assert of("domain.diameter", box.prox, diameter=3.0, dimension=1) is Truth.OPEN
    less = 3.0 * (1 - LESS)
    assert of("domain.diameter", box.prox, diameter=less, dimension=1) is Truth.REFUTED
    shrinks = Ridge(0.5)
    given = {"dimension": 2, "diameter": math.inf}
    assert of("domain.diameter", shrinks.prox, **given) is Truth.PROVEN
    assert of("domain.strong_convexity", shrinks.prox, strong_convexity=0.5, **given) is Truth.OPEN
    more = {"strong_convexity": 0.5 * (1 + LESS), **given}
    assert of("domain.strong_convexity", shrinks.prox, **more) is Truth.REFUTED


def test_facts_of_gaussian_laws():
    laws = [np.diag([1.0, 2.0]), np.eye(2)]
    assert of("fact.log_sobolev", laws, value=0.5) is Truth.PROVEN
    assert of("fact.log_sobolev", laws, value=0.5 * (1 + LESS)) is Truth.REFUTED


def test_an_average_is_as_smooth_as_all_its_records_together():
    """One curved record among three flat ones; the average without it is flat."""
    averages = Drawn("L14", (parabola(0.25), parabola(0.0)), None, {}).family
    key = "fact.average_smoothness"
    assert of(key, averages, value=0.25) is Truth.PROVEN
    assert of(key, averages, value=0.25 * (1 - LESS)) is Truth.REFUTED


def test_constants_of_potentials():
    bowl = Quadratic(((2.0, 0.0), (0.0, 3.0)), (1.0, 0.0))
    family = Drawn("bowl", (bowl,), None, {}, dimension=2).family
    for key, exact, wrong in (
        ("strong_convexity", 2.0, 2.0 * (1 + LESS)),
        ("smoothness", 3.0, 3.0 * (1 - LESS)),
    ):
        assert of(f"target.{key}", family, **{key: exact}) is Truth.PROVEN
        assert of(f"target.{key}", family, **{key: wrong}) is Truth.REFUTED
    key = "laplacian_lipschitz"
    assert of(f"target.{key}", family, laplacian_lipschitz=0.0) is Truth.OPEN
    wave = Drawn("wave", (Wave(2.0, 1.0),), None, {}).family
    assert of("target.gradient_bound", wave, gradient_bound=2.0) is Truth.PROVEN
    assert of("target.gradient_bound", wave, gradient_bound=2.0 * (1 - LESS)) is Truth.REFUTED
    for place in ("target", "losses"):
        assert of(f"{place}.{key}", wave, laplacian_lipschitz=2.0) is Truth.OPEN
        assert of(f"{place}.{key}", wave, laplacian_lipschitz=2.0 * (1 - LESS)) is Truth.REFUTED
    start = Start(np.zeros(2), np.array([-0.5, 0.0]))
    assert of("start.distance", start, distance=0.5) is Truth.PROVEN
    assert of("start.distance", start, distance=0.5 * (1 - LESS)) is Truth.REFUTED


def test_values_of_remainders():
    waves = Drawn("waves", (Wave(2.0, 1.0),), None, {}).family
    assert of("losses.range_of_loss", waves, range_of_loss=4.0) is Truth.OPEN
    assert of("losses.range_of_loss", waves, range_of_loss=4.0 * (1 - LESS)) is Truth.REFUTED
    assert of("losses.height_at_start", waves, height_at_start=2.0) is Truth.OPEN
    assert of("losses.height_at_start", waves, height_at_start=2.0 * (1 - LESS)) is Truth.REFUTED
    steeper = Drawn("waves", (Sum((Wave(2.0, 1.0), parabola(0.3))),), None, {}).family
    assert of("losses.shared_curvature", (steeper, waves), shared_curvature=0.3) is Truth.OPEN
    less = 0.3 * (1 - LESS)
    assert of("losses.shared_curvature", (steeper, waves), shared_curvature=less) is Truth.REFUTED
    with pytest.raises(TypeError, match="know their value"):
        glm = CATALOGUE["links_in_the_plane"](np.random.default_rng(0)).family
        of("losses.range_of_loss", glm, range_of_loss=1.0)


def test_statistics_and_drifts():
    values = [(np.array([0.0, 3.0]), np.array([4.0, 0.0]))]
    assert of("statistic.sensitivity", values, sensitivity=5.0) is Truth.OPEN
    assert of("statistic.sensitivity", values, sensitivity=5.0 * (1 - LESS)) is Truth.REFUTED
    for name in ("drift_lipschitz", "spread_lipschitz"):
        given = {"low": -4.0, "high": 4.0}
        assert of(f"diffusion.{name}", np.sin, **given, **{name: 1.0}) is Truth.OPEN
        assert of(f"diffusion.{name}", np.sin, **given, **{name: 1 - LESS}) is Truth.REFUTED

        def barrier(x):  # height 8, width 7.3e-4, seen by no coarse grid
            return 8.0 * np.exp(-(((x + 0.0985) / 7.3e-4) ** 2))

        assert of(f"diffusion.{name}", barrier, **given, **{name: 9000.0}) is Truth.REFUTED


def test_an_objective_is_judged_constant_by_constant():
    drawn = CATALOGUE["hills"](np.random.default_rng(0))
    a, C = drawn.exact["smoothness"], drawn.exact["gradient_bound"]
    false = Objective(gradient_bound=C, smoothness=a * 0.5, dimension=1)
    made = judge(false, drawn.family)
    assert made["smoothness"] is Truth.REFUTED
    assert made["gradient_bound"] is not Truth.REFUTED
    assert set(made) == {"gradient_bound", "smoothness", "dimension"}
