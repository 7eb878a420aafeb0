"""What the mutation check (docs/mutation.md) found untested: hypotheses, edges and roundings."""

from dataclasses import replace

import pytest

from runs import make_run
from wane.certificates import certify
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    Fact,
    FactKind,
    FullBatch,
    GradientNoise,
    Iterates,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import MCP, Ball, Unbounded
from wane.theorems import hypotheses as conditions
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies, Facts, Refuses

BY_NAME = {a.name: a for a in THEOREMS if a.of is NoisyDescent}
STATEMENTS = {
    name: value.statement for name, value in vars(conditions).items() if hasattr(value, "statement")
}


def without(field: str):
    return lambda run: replace(run, objective=replace(run.objective, **{field: None}))


def changed(**changes):
    return lambda run: replace(run, **changes)


def phases(run: NoisyDescent, made) -> NoisyDescent:
    bare = {"steps": None, "step_size": None, "noise": None, "cool_down": 0}
    return replace(run, schedule=Schedule(made), **bare)


def alternating(count: int):
    """Neighbouring phases differ, so that they are not merged."""
    return lambda run: phases(
        run, [Phase(1, 0.5 + 0.1 * (i % 2), GradientNoise(1.0)) for i in range(count)]
    )


BREAK = {
    "bounded_gradient": without("gradient_bound"),
    "smooth": without("smoothness"),
    "noisy": changed(noise=GradientNoise(0.0)),
    "always_noisy": changed(noise=GradientNoise(0.0)),
    "fixed_order": changed(batches=Poisson(5)),
    "secret_order": changed(batches=Cyclic(5)),
    "poisson_batches": changed(batches=Cyclic(5)),
    "fixed_size_batches": changed(batches=Cyclic(5)),
    "full_batch": changed(batches=Cyclic(5)),
    "last_iterate": changed(release=Iterates((1,))),
    "some_hidden": changed(release=EveryIterate()),
    "records_stay_in_place": changed(adjacency=Adjacency.ADD_REMOVE, batches=Cyclic(5)),
    "size_is_public": changed(adjacency=Adjacency.ADD_REMOVE),
    "certified_prox": changed(domain=MCP(weight=1.0, shape=0.5)),
    "nonexpansive_prox": changed(domain=MCP(weight=1.0, shape=4.0)),
    "bounded_domain": changed(domain=Unbounded()),
    "bounded_distance": changed(domain=Unbounded()),
    "short_schedule": alternating(5001),
    "one_phase": alternating(2),
    "simple_pattern": lambda run: replace(alternating(2)(run), batches=Cyclic(5)),
    "few_positions": changed(records=100_001, batches=ShuffledOnce(1)),
    "spare_records": changed(batches=WithoutReplacement(20)),
    "known_modulus": changed(objective=Objective(gradient_bound=1.0, ridge=2.0)),
    "convex_losses": without("strong_convexity"),
    "log_sobolev_constant": lambda run: run,  # and its fact is of another run, see `asked`
    "average_smoothness": lambda run: run,
    "flattest_direction_rules": changed(domain=Ball(radius=1.0)),
}

LIPSCHITZ = [
    "bounded_gradient",
    "smooth",
    "fixed_order",
    "records_stay_in_place",
    "some_hidden",
    "certified_prox",
]
SAMPLED = [
    "bounded_gradient",
    "last_iterate",
    "short_schedule",
    "always_noisy",
    "nonexpansive_prox",
    "known_modulus",
    "bounded_distance",
]
COVERED = [
    "bounded_gradient",
    "last_iterate",
    "bounded_domain",
    "short_schedule",
    "always_noisy",
    "nonexpansive_prox",
    "known_modulus",
]
FIXED_SIZE = ["fixed_size_batches", "size_is_public", "spare_records"]
OF_ONE_RUN = ("log_sobolev_constant", "average_smoothness")
FULL, POISSON, FIXED = FullBatch(), Poisson(5), WithoutReplacement(5)
NEEDS = {
    "gaussian_composition": (
        FULL,
        ["bounded_gradient", "fixed_order", "records_stay_in_place"],
    ),
    "poisson_composition": (
        POISSON,
        ["bounded_gradient", "poisson_batches", "noisy"],
    ),
    "fixed_size_composition": (
        FIXED,
        ["bounded_gradient", "fixed_size_batches", "size_is_public", "noisy"],
    ),
    "last_iterate": (FULL, LIPSCHITZ),
    "averaged_last_iterate": (
        FULL,
        [
            "bounded_gradient",
            "full_batch",
            "convex_losses",
            "some_hidden",
            "certified_prox",
            "average_smoothness",
        ],
    ),
    "last_iterate_bounded": (FULL, [*LIPSCHITZ, "bounded_domain", "short_schedule"]),
    "secret_order": (
        ShuffledOnce(5),
        [*LIPSCHITZ, "secret_order", "last_iterate", "few_positions"],
    ),
    "last_iterate_modulus": (
        FULL,
        ["fixed_order", "records_stay_in_place", "simple_pattern", *COVERED],
    ),
    "poisson_last_iterate": (POISSON, ["poisson_batches", *SAMPLED]),
    "fixed_size_last_iterate": (FIXED, [*FIXED_SIZE, *SAMPLED]),
    "poisson_contraction": (POISSON, ["poisson_batches", *COVERED]),
    "fixed_size_contraction": (FIXED, [*FIXED_SIZE, *COVERED]),
    "log_sobolev_dynamics": (
        FULL,
        [
            "bounded_gradient",
            "full_batch",
            "last_iterate",
            "noisy",
            "one_phase",
            "log_sobolev_constant",
        ],
    ),
}


def fitting(batches) -> NoisyDescent:
    """A run to which all theorems for these batches apply."""
    return make_run(
        records=20,
        steps=4,
        step_size=1.0,
        noise=GradientNoise(1.0),
        batches=batches,
        domain=Ball(radius=1.0),
    )


def asked(name: str, run: NoisyDescent, *, of_another: bool = False):
    """The theorem's answer, with facts of this run or of one a step longer."""
    about = replace(run, steps=run.steps + 1) if of_another else run
    facts = Facts(tuple(Fact.of(about, kind, 1e-6) for kind in FactKind))
    return BY_NAME[name](run, facts)


def test_every_theorem_has_its_hypotheses_written_down_here():
    assert set(NEEDS) == set(BY_NAME)
    for name, (_, needs) in NEEDS.items():
        assert BY_NAME[name].title.startswith(name)
        found = [c.statement for c in BY_NAME[name].assumes]
        assert sorted(found) == sorted(STATEMENTS[n] for n in needs)


@pytest.mark.parametrize(
    ("name", "hypothesis"), [(name, h) for name, (_, needs) in NEEDS.items() for h in needs]
)
def test_a_theorem_refuses_a_run_that_breaks_one_of_its_hypotheses(name, hypothesis):
    run = fitting(NEEDS[name][0])
    assert isinstance(asked(name, run), Applies)
    broken = BREAK[hypothesis](run)
    verdict = asked(name, broken, of_another=hypothesis in OF_ONE_RUN)
    assert isinstance(verdict, Refuses)
    assert STATEMENTS[hypothesis] in {f.statement for f in verdict.obstacles}


@pytest.mark.parametrize("hypothesis", ["last_iterate", "flattest_direction_rules"])
def test_last_iterate_says_when_it_is_tight(hypothesis):
    tight = BY_NAME["last_iterate"].tight_when
    run = replace(fitting(FULL), domain=Unbounded())
    assert all(condition(run).holds is True for condition in tight)
    broken = BREAK[hypothesis](run)
    assert [c.statement for c in tight if c(broken).holds is not True] == [STATEMENTS[hypothesis]]


def test_a_temperature_that_underflows_is_a_refusal():
    tiny = NoisyDescent(
        objective=Objective(gradient_bound=1e-300),
        records=20,
        steps=1,
        step_size=1e-300,
        noise=GradientNoise(1e-300),
    )
    facts = [Fact.of(tiny, FactKind.LOG_SOBOLEV, 1e-6)]
    refused = certify(tiny, facts=facts).obstacles
    (found,) = [v for v in refused if v.analysis.name == "log_sobolev_dynamics"]
    assert "range of doubles" in found.obstacles[-1].because
