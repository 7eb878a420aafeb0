"""Extreme descriptions: every theorem gives a number or a refusal, and never claims too much.

Without CI set the draws are new each time; the seed of a failure is in its message.
"""

import contextlib
import os
import random
import warnings

import pytest

import wane
from wane.certificates.parts import epsilon_of, power_of
from wane.describe import Adjacency, EveryIterate, LastIterate
from wane.describe.domains import Ball, Ridge, Unbounded
from wane.describe.facts import Fact, FactKind
from wane.describe.noise import GradientNoise, IterateNoise, NoiseMultiplier, Temperature
from wane.errors import InvalidDescription
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies, FactHypothesis, Facts

SIZES = (1e-300, 1e-150, 1e-30, 1e-3, 0.5, 1.0, 2.0, 1e3, 1e30, 1e150, 1e300)
DRAWS = 400
START = 0 if os.environ.get("CI") else random.randrange(10**9)
NOISES = (GradientNoise, IterateNoise, NoiseMultiplier, Temperature)

OF_DESCENTS = [t for t in THEOREMS if t.of is wane.NoisyDescent]


def drawn(seed: int) -> wane.NoisyDescent:
    """A description of numbers that nobody would choose; refused if it contradicts itself."""
    draw = random.Random(seed)
    size = lambda: draw.choice(SIZES)  # noqa: E731
    said = {
        "smoothness": draw.choice([0.0, size()]),
        "strong_convexity": draw.choice([0.0, size(), -size()]),
        "ridge": size(),
        "clipped": True,
        "dimension": draw.choice([1, 2, 10]),
    }
    said = {name: value for name, value in said.items() if draw.random() < 0.5}
    if draw.random() < 0.3:
        said |= {"holder_exponent": draw.choice([0.0, 0.5, 1.0]), "holder_constant": size()}
    if draw.random() < 0.2:
        said |= {"dissipativity": (size(), size())}
    records = draw.choice([1, 2, 10, 1000, 10**6])
    batch = draw.choice([b for b in (1, 2, 10, 1000) if b <= records])
    kinds = (wane.Cyclic, wane.ShuffledOnce, wane.Poisson, wane.WithoutReplacement)
    return wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=size(), **said),
        records=records,
        steps=draw.choice([1, 2, 100, 10**5, 10**12]),
        step_size=size(),
        noise=draw.choice(NOISES)(size()),
        batches=draw.choice([wane.FullBatch(), *(kind(batch) for kind in kinds)]),
        domain=draw.choice([Unbounded(), Ball(size()), Ball(1.0), Ridge(size())]),
        adjacency=draw.choice(list(Adjacency)),
        release=draw.choice([LastIterate(), LastIterate(), EveryIterate()]),
    )


def drawn_runs() -> list[tuple[int, wane.NoisyDescent]]:
    made = []
    for seed in range(START, START + DRAWS):
        with contextlib.suppress(InvalidDescription):
            made.append((seed, drawn(seed)))
    return made


def stated(run: wane.NoisyDescent, seed: int) -> Facts:
    """Facts of every kind, which theorems may use if they are possible."""
    constant = random.Random(seed + 1).choice(SIZES)
    return Facts(tuple(Fact.of(run, kind, constant) for kind in FactKind))


@pytest.mark.parametrize("theorem", OF_DESCENTS, ids=lambda a: a.name)
def test_a_formula_overflows_but_never_refuses(theorem):
    """A formula that meets its hypotheses may raise ArithmeticError, and nothing else."""
    met = 0
    for seed, run in drawn_runs():
        facts = stated(run, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            verdict = theorem(run, facts)
            if any(f.holds is not True for f in verdict.findings):
                continue
            met += 1
            asked = [c for c in theorem.assumes if isinstance(c, FactHypothesis)]
            with contextlib.suppress(ArithmeticError):
                theorem.formula(run, *(c.value(run, facts) for c in asked))
    needs_facts = any(isinstance(c, FactHypothesis) for c in theorem.assumes)
    if START == 0 and not needs_facts:  # other draws may miss the few that a theorem applies to
        assert met >= 3, f"{theorem.name} was met {met} times"


@pytest.mark.parametrize("theorem", OF_DESCENTS, ids=lambda a: a.name)
def test_every_answer_is_a_number_and_none_claims_pure_privacy(theorem):
    for seed, run in drawn_runs():
        verdict = theorem(run, stated(run, seed))
        if not isinstance(verdict, Applies):
            continue
        guarantee, where = verdict.guarantee, f"seed {seed}"
        assert epsilon_of(guarantee, 1e-5) >= 0.0, where
        assert 0.0 <= power_of(guarantee, 1e-3) <= 1.0, where
        with contextlib.suppress(ArithmeticError):
            assert guarantee.delta(1e6) > 0.0, where
        with contextlib.suppress(ArithmeticError):
            assert guarantee.renyi(8.0) > 0.0, where


def test_a_time_that_overflows_is_refused_by_the_theorem_alone():
    """`certify` ended with "time must be a finite number, got inf"."""
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0),
        records=10,
        steps=10**12,
        step_size=1e300,
        noise=GradientNoise(1e-300),
    )
    fact = Fact.of(run, FactKind.LOG_SOBOLEV, 1e-3)
    found = wane.certify(run, facts=(fact,))
    assert found.epsilon(1e-5) > 0.0
    assert "log_sobolev_dynamics" in [verdict.analysis.name for verdict in found.obstacles]
