"""Every verifier of a descent against its theorem, which shares no code with it, and its refusals.

A verifier that proves too little calls honest documents unverified; one that proves too much lets
false ones pass.  Both show here: the two computations agree from both sides, at whole numbers of
steps, schedules, releases and batches, and where a hypothesis fails the verifier proves nothing.
"""

import math
from dataclasses import dataclass, replace

import pytest

pytest.importorskip("flint")

from runs import make_run
from wane.balls.arithmetic import PRECISION, ball, bits, top
from wane.balls.bounds import Bound, Gaussian, Searched
from wane.balls.lemmas.sampled_steps import SURE, PairOrder
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    Fact,
    FactKind,
    GradientNoise,
    Iterates,
    LossForm,
    Objective,
    Phase,
    Poisson,
    PublicRecords,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import MCP, Ball, Diameter, Unbounded
from wane.guarantees import Pair
from wane.theorems.composition import verifier as composing
from wane.theorems.composition.verifier import MOST_SHOWN
from wane.theorems.modulus.verifier import _timeline
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies, Facts
from wane.verify.judge import verifiers

BY_NAME = {theorem.name: theorem for theorem in THEOREMS}
REPLACED, ZERO = Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT
CURVED = Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0, ridge=0.05)
STEEP = Objective(gradient_bound=1.0, strong_convexity=0.0)
BENT = Objective(gradient_bound=1.0, smoothness=1.0)


def small(**changes):
    base = {"records": 20, "steps": 7, "step_size": 0.7, "noise": GradientNoise(0.5)}
    return make_run(**(base | changes))


def phases(*made, **changes):
    return make_run(schedule=Schedule(list(made)), **({"records": 20} | changes))


def several(**changes):
    """Two step sizes and two noises, and a cool-down between them."""
    return phases(
        Phase(3, 0.7, GradientNoise(0.5)),
        Phase(2, 0.4, GradientNoise(0.3), cool_down=True),
        Phase(5, 0.3, GradientNoise(0.8)),
        **changes,
    )


NARROW = {"records": 10, "step_size": 0.1, "domain": Diameter(0.1)}
GAUSSIAN = {
    "gaussian_composition": [
        small(),
        small(batches=Cyclic(6)),
        small(batches=ShuffledOnce(5), adjacency=REPLACED),
        several(),
        several(batches=Cyclic(4), objective=CURVED),
    ],
    "last_iterate": [
        small(objective=CURVED),
        small(objective=CURVED, adjacency=REPLACED, steps=1),
        small(objective=CURVED, batches=Cyclic(6)),
        small(objective=CURVED, release=Iterates((2, 5))),
        several(objective=CURVED),
        several(objective=CURVED, batches=Cyclic(4)),
    ],
    "last_iterate_bounded": [
        small(objective=CURVED, domain=Ball(radius=0.2)),
        small(domain=Diameter(0.3), batches=Cyclic(6), steps=40),
        several(domain=Diameter(0.3)),
        small(domain=Diameter(0.05), release=Iterates((2, 5))),
    ],
    "last_iterate_modulus": [
        small(objective=STEEP, **NARROW, steps=200),
        small(objective=STEEP, **NARROW, batches=Cyclic(5), steps=201),
        small(objective=BENT, **NARROW, steps=150),
        several(objective=STEEP, domain=Diameter(0.05)),
        small(objective=replace(STEEP, gradient_bound=1e-3), domain=Diameter(0.1)),
    ],
}


def facts_of(run, value=1e-6):
    return Facts(tuple(Fact.of(run, kind, value) for kind in FactKind))


@pytest.mark.parametrize(
    ("name", "place"), [(name, i) for name, runs in GAUSSIAN.items() for i in range(len(runs))]
)
def test_gaussian_bounds_agree_from_both_sides(name, place):
    run = GAUSSIAN[name][place]
    claimed = BY_NAME[name](run).guarantee.mu
    with bits(PRECISION):
        bound = verifiers()[name](run)
        found = bound.searched() if isinstance(bound, Searched) else bound
        proven = float(found.mu)
    assert proven <= claimed * (1.0 + 1e-15)
    assert proven >= claimed * (1.0 - (1e-3 if isinstance(bound, Searched) else 1e-9))


@pytest.mark.parametrize(("declared", "average"), [(0.28, 0.1), (0.27, 0.5), (None, 0.26)])
def test_an_average_bends_no_more_than_its_records_nor_than_was_stated(declared, average):
    """Its last iterate is that of copies of one record with the least of both curvatures."""
    convex = replace(STEEP, smoothness=declared, ridge=0.05)
    run = small(objective=convex, step_size=6.0)
    least = average if declared is None else min(declared, average)
    copies = replace(run, objective=replace(convex, smoothness=least))
    expected = BY_NAME["last_iterate"](copies).guarantee.mu
    assert expected < BY_NAME["gaussian_composition"](run).guarantee.mu
    facts = facts_of(run, average)
    assert BY_NAME["averaged_last_iterate"](run, facts).guarantee.mu == expected
    with bits(PRECISION):
        proven = float(verifiers()["averaged_last_iterate"](run, average).mu)
        assert verifiers()["averaged_last_iterate"](run, None) is None
    assert proven == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("m", [-0.1, 0.3])
def test_an_average_is_not_flatter_than_the_flattest_record(m):
    """Nor is anything proven where records may bend downwards."""
    bent = Objective(gradient_difference_bound=1.0, smoothness=0.5, strong_convexity=m)
    run = small(objective=bent)
    with bits(PRECISION):
        assert verifiers()["averaged_last_iterate"](run, 0.2) is None
        exactly = verifiers()["averaged_last_iterate"](run, 0.3)
    assert (exactly is not None) is (m == 0.3)


def test_clipped_records_are_averaged_only_if_clipping_keeps_them_gradients():
    for form, proven in ((LossForm.GLM, True), (LossForm.GENERAL, False)):
        clipped = Objective(
            gradient_bound=1.0, smoothness=0.5, strong_convexity=0.0, clipped=True, form=form
        )
        with bits(PRECISION):
            found = verifiers()["averaged_last_iterate"](small(objective=clipped), 0.2)
        assert (found is not None) is proven


def test_bounds_in_a_set_matter_where_they_are_compared():
    """Else a verifier that forgot the set would prove the same."""
    for name, without, place in (
        ("last_iterate_bounded", "last_iterate", 1),
        ("last_iterate_modulus", "gaussian_composition", 0),
    ):
        run = GAUSSIAN[name][place]
        assert BY_NAME[name](run).guarantee.mu < 0.9 * BY_NAME[without](run).guarantee.mu


@pytest.mark.parametrize("steps", [1, 4, 7, 40])
@pytest.mark.parametrize("size", [20, 10, 7, 1])
def test_the_record_that_is_used_last_is_used_once_an_epoch(steps, size):
    """Step by step, counted from the end."""
    run = small(batches=Cyclic(size), steps=steps)
    shown = [used for _, count, used in _timeline(run) for _ in range(count)]
    period = math.ceil(20 / size)
    assert shown == [(steps - 1 - t) % period == 0 for t in range(steps)]
    full = several()
    assert _timeline(full) == [(phase, phase.repeat, phase.uses_records) for phase in full.plan]


class Recorder:
    """What a verifier asks of the builder of accounts, which is tested by itself."""

    def bound(self, steps, directions):
        """Return a bound that remembers them."""
        return Recorded(tuple(steps), directions)


@dataclass(frozen=True)
class Recorded(Bound):
    steps: tuple
    directions: tuple
    used: object = None
    shown: object = None

    def delta(self, epsilon):
        raise NotImplementedError


SAMPLED = {
    "poisson_composition": [
        small(batches=Poisson(4), adjacency=REPLACED),
        small(batches=Poisson(4), adjacency=ZERO),
        small(batches=Poisson(4), adjacency=Adjacency.ADD_REMOVE),
        several(batches=Poisson(4)),
    ],
    "fixed_size_composition": [
        small(batches=WithoutReplacement(4), adjacency=REPLACED),
        small(batches=WithoutReplacement(4), adjacency=ZERO),
        several(batches=WithoutReplacement(4)),
    ],
}
ORDERS = {
    Pair.REPLACE: {PairOrder.REPLACE},
    Pair.ADD_OR_REMOVE: {PairOrder.REMOVE, PairOrder.ADD},
    Pair.FIXED_SIZE: {PairOrder.FIXED},
}


@pytest.mark.parametrize(
    ("name", "place"), [(name, i) for name, runs in SAMPLED.items() for i in range(len(runs))]
)
def test_the_steps_that_are_composed_are_the_same(monkeypatch, name, place):
    """The same number of sampled steps of each mu, and the same pairs of laws."""
    run = SAMPLED[name][place]
    monkeypatch.setattr(composing, "AccountBuilder", Recorder)
    claimed = BY_NAME[name](run).guarantee.parts
    with bits(PRECISION):
        bound = verifiers()[name](run)
        assert len(bound.steps) == len(claimed)
        composed = zip(
            sorted(claimed, key=lambda row: row[0].mu),
            sorted(bound.steps, key=lambda row: float(row[0].mu)),
            strict=True,
        )
        for (step, count), (proven, times) in composed:
            assert count == times
            assert set(bound.directions) == ORDERS[step.pair]
            assert float(proven.mu) == pytest.approx(step.mu, rel=1e-12)
            assert float(proven.rate) == pytest.approx(step.rate, rel=1e-15)
        total = sum(count for _, count in claimed)
        assert float(bound.used) == pytest.approx(1.0 - (1.0 - 4 / 20) ** total, rel=1e-12)
        assert bound.shown is None


def quietest(count, noise, **changes):
    """Steps of noise one, and after them `count` whose noise hides nothing."""
    made = [Phase(2, 0.7, GradientNoise(1.0)), Phase(count, 0.7, GradientNoise(noise))]
    return phases(*made, batches=Poisson(4), adjacency=ZERO, **changes)


def test_steps_that_show_for_certain_are_counted(monkeypatch):
    """A binomial number of them used the record, one shift each, and all others did."""
    monkeypatch.setattr(composing, "AccountBuilder", Recorder)
    with bits(PRECISION):
        bound = verifiers()["poisson_composition"](quietest(3, 1e-5))
        weights = [n for n, _ in bound.shown.parts]
        costs = [float(part.mu_squared) for _, part in bound.shown.parts]
    assert weights == [16**3, 3 * 4 * 16**2, 3 * 4**2 * 16, 4**3]
    rest, square = 2 * 0.25**2, (0.25 / 1e-5) ** 2
    assert costs == [pytest.approx(rest + k * square, rel=1e-12) for k in range(4)]


def test_the_quietest_of_three_kinds_of_steps_shows_for_certain(monkeypatch):
    """The others, however many kinds they are, count as if they had used the record."""
    monkeypatch.setattr(composing, "AccountBuilder", Recorder)
    noises = (1.0, 0.5, 1e-5)
    made = [Phase(1, 0.7, GradientNoise(noise)) for noise in noises]
    with bits(PRECISION):
        bound = verifiers()["poisson_composition"](
            phases(*made, batches=Poisson(4), adjacency=ZERO)
        )
        costs = [float(part.mu_squared) for _, part in bound.shown.parts]
    rest = 0.25**2 + 0.5**2
    assert costs == [pytest.approx(rest + k * 0.25**2 * 1e10, rel=1e-12) for k in range(2)]


def test_steps_are_counted_only_if_they_are_few_and_show_for_certain(monkeypatch):
    monkeypatch.setattr(composing, "AccountBuilder", Recorder)
    certain = 0.25 / (SURE * 1.01)
    for count, noise, counted in (
        (MOST_SHOWN, certain, True),
        (MOST_SHOWN + 1, certain, False),
        (2, 0.25 / (SURE * 0.99), False),
        (1, certain, True),
    ):
        with bits(PRECISION):
            bound = verifiers()["poisson_composition"](quietest(count, noise))
        assert (bound.shown is not None) is counted


def test_batches_of_all_records_are_gaussian_steps():
    """Replace-one: either version is used at every step, so that they are two shifts apart."""
    for adjacency, shift in ((ZERO, 1.0), (REPLACED, 2.0), (Adjacency.ADD_REMOVE, 1.0)):
        run = small(batches=Poisson(20), adjacency=adjacency)
        with bits(PRECISION):
            found = float(verifiers()["poisson_composition"](run).mu)
        assert found == pytest.approx(math.sqrt(7.0) * shift / (20 * 0.5), rel=1e-12)


PROFILES = {
    "secret_order": [
        small(objective=CURVED, batches=ShuffledOnce(6)),
        small(objective=CURVED, batches=ShuffledOnce(5), domain=Ball(radius=0.2), steps=9),
    ],
    "poisson_contraction": [
        small(batches=Poisson(4), domain=Diameter(0.1), adjacency=adjacency)
        for adjacency in Adjacency
    ]
    + [
        several(batches=Poisson(4), domain=Diameter(0.1)),
        small(batches=Poisson(20), domain=Diameter(0.1)),
    ],
    "fixed_size_contraction": [
        small(batches=WithoutReplacement(4), domain=Diameter(0.1), adjacency=adjacency)
        for adjacency in (Adjacency.ZERO_OUT, REPLACED)
    ]
    + [several(batches=WithoutReplacement(4), domain=Diameter(0.1))],
    "log_sobolev_dynamics": [
        small(noise=GradientNoise(2.0)),
        small(noise=GradientNoise(2.0), steps=60, adjacency=ZERO),
    ],
}
NEARNESS = {
    "secret_order": 1e-9,
    "poisson_contraction": 1e-6,
    "fixed_size_contraction": 1e-9,
    "log_sobolev_dynamics": 1e-6,
}


@pytest.mark.parametrize(
    ("name", "place"), [(name, i) for name, runs in PROFILES.items() for i in range(len(runs))]
)
def test_profiles_agree_from_both_sides(name, place):
    run, near = PROFILES[name][place], NEARNESS[name]
    k = 0.05 if name == "log_sobolev_dynamics" else 1e-6
    guarantee = BY_NAME[name](run, facts_of(run, k)).guarantee
    with bits(PRECISION):
        bound = verifiers()[name](run, k)
        for epsilon in (0.0, 0.1, 0.4):
            if name == "log_sobolev_dynamics" and epsilon == 0.0:
                continue  # a Renyi curve says nothing at epsilon = 0 unless it is searched
            proven, claimed = float(top(bound.delta(ball(epsilon)))), guarantee.delta(epsilon)
            assert claimed > 1e-12, "a comparison of nothing"
            assert claimed * (1.0 - near) <= proven <= claimed * (1.0 + near)


# refusals


def changed(**changes):
    return lambda run: replace(run, **changes)


def without(field):
    return lambda run: replace(run, objective=replace(run.objective, **{field: None}))


def in_two(run):
    bare = {"steps": None, "step_size": None, "noise": None}
    made = [Phase(3, 0.7, GradientNoise(0.5)), Phase(4, 0.6, GradientNoise(0.5))]
    return replace(run, schedule=Schedule(made), **bare)


BREAK = {
    "a bound": without("gradient_bound"),
    "smoothness": without("smoothness"),
    "noise": changed(noise=GradientNoise(0.0)),
    "full batches": changed(batches=Cyclic(5)),
    "a fixed order": changed(batches=Poisson(5)),
    "Poisson batches": changed(batches=WithoutReplacement(5)),
    "batches of fixed size": changed(batches=Poisson(5)),
    "one order": changed(batches=Cyclic(5)),
    "places": changed(adjacency=Adjacency.ADD_REMOVE, batches=Cyclic(5)),
    "a public size": changed(adjacency=Adjacency.ADD_REMOVE),
    "the last iterate alone": changed(release=Iterates((1,))),
    "something hidden": changed(release=EveryIterate()),
    "a certified prox": changed(domain=MCP(weight=1.0, shape=0.5)),
    "a prox that does not expand": changed(domain=MCP(weight=1.0, shape=4.0)),
    "a bounded set": changed(domain=Unbounded()),
    "spare records": changed(batches=WithoutReplacement(20)),
    "equal steps": in_two,
    "a simple pattern": lambda run: replace(in_two(run), batches=Cyclic(5)),
    "convex losses": without("strong_convexity"),
    "a number": lambda run: run,
}
HIDDEN = ["a bound", "smoothness", "a fixed order", "places", "something hidden"]
COVERED = ["a bound", "noise", "the last iterate alone", "a prox that does not expand"]
FULL, POISSON, FIXED = None, Poisson(5), WithoutReplacement(5)
NEEDS = {
    "gaussian_composition": (FULL, ["a bound", "a fixed order", "places"]),
    "poisson_composition": (POISSON, ["a bound", "Poisson batches"]),
    "fixed_size_composition": (FIXED, ["a bound", "batches of fixed size", "a public size"]),
    "last_iterate": (FULL, [*HIDDEN, "a certified prox"]),
    "averaged_last_iterate": (
        FULL,
        [
            "a bound",
            "full batches",
            "convex losses",
            "something hidden",
            "a certified prox",
            "a number",
        ],
    ),
    "last_iterate_bounded": (FULL, [*HIDDEN, "a bounded set"]),
    "secret_order": (ShuffledOnce(5), [*HIDDEN, "one order", "the last iterate alone"]),
    "last_iterate_modulus": (
        FULL,
        [*COVERED, "a fixed order", "places", "a bounded set", "a simple pattern"],
    ),
    "poisson_last_iterate": (POISSON, [*COVERED, "Poisson batches"]),
    "fixed_size_last_iterate": (
        FIXED,
        [*COVERED, "batches of fixed size", "a public size", "spare records"],
    ),
    "poisson_contraction": (POISSON, [*COVERED, "Poisson batches", "a bounded set"]),
    "fixed_size_contraction": (
        FIXED,
        [*COVERED, "batches of fixed size", "a public size", "spare records", "a bounded set"],
    ),
    "log_sobolev_dynamics": (
        FULL,
        ["a bound", "full batches", "the last iterate alone", "noise", "equal steps", "a number"],
    ),
}


def fitting(batches):
    kind = {} if batches is None else {"batches": batches}
    return small(domain=Ball(radius=1.0), steps=4, step_size=1.0, **kind)


def is_proven(name, run, k=0.25):
    """Whether the verifier gives a bound, and a finite one if it is a number."""
    with bits(PRECISION):
        bound = verifiers()[name](run, k)
        return (
            bool(bound.mu_squared.is_finite()) if isinstance(bound, Gaussian) else bound is not None
        )


@pytest.mark.parametrize(("name", "need"), [(n, h) for n, (_, hs) in NEEDS.items() for h in hs])
def test_a_verifier_proves_nothing_where_a_hypothesis_fails(monkeypatch, name, need):
    monkeypatch.setattr(composing, "AccountBuilder", Recorder)
    run = fitting(NEEDS[name][0])
    assert is_proven(name, run)
    assert not is_proven(name, BREAK[need](run), None if need == "a number" else 0.25)
    if need == "a number":
        assert isinstance(BY_NAME[name](run, facts_of(run, 0.25)), Applies)


def test_every_phase_needs_a_modulus():
    """Public records of which nothing is declared may drive two runs apart by any distance."""
    made = [Phase(2, 0.5, GradientNoise(1.0)), Phase(2, 0.5, GradientNoise(1.0), public=True)]
    for theirs, known in ((Objective(gradient_bound=1.0), True), (Objective(), False)):
        run = phases(
            *made,
            public=PublicRecords(records=5, objective=theirs),
            domain=Diameter(0.1),
            batches=Poisson(4),
        )
        assert is_proven("poisson_last_iterate", run) is known


def test_one_silent_phase_proves_nothing_of_a_bounded_set():
    """Whichever of two it is."""
    loud, silent = Phase(2, 0.5, GradientNoise(1.0)), Phase(2, 0.4, GradientNoise(0.0))
    with bits(PRECISION):
        for made, known in (((loud, loud), True), ((loud, silent), False), ((silent, loud), False)):
            run = phases(*made, domain=Diameter(0.1))
            found = verifiers()["last_iterate_modulus"](run, None)
            assert (found is not None) is known
