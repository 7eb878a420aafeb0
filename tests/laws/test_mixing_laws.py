"""Mixing times face the exact laws of two copies of a concrete chain."""

import sys
from functools import reduce

import numpy as np
import pytest

from laws.climb import case_of, climb, counted
from laws.draw import ON_THE_LINE, Case, Shape, draw
from laws.line import QUADRATURE
from wane.describe import Adjacency
from wane.errors import NoTheoremApplies
from wane.mixing import mixing

SHAPE = Shape("full", Adjacency.REPLACE_ONE, "last", "constant")
MOST = 10**7


def apart(case: Case, steps: int) -> float:
    """The largest total variation of two copies after so many steps, over many pairs of starts."""
    line, (phase,) = case.line, case.line.plan
    period = case.run.steps_per_epoch if case.shape.batches == "cyclic" else 1
    assert steps % period == 0, "only whole passes"
    draws = [line._draws(case.first, phase, used) for used in range(period)]
    hidden = [line._kernel(draw, phase, {}, last=False) for draw in draws]
    shown = line._kernel(draws[-1], phase, {}, last=True)
    begun = reduce(np.matmul, hidden[:-1], np.eye(len(hidden[0])))
    law = np.linalg.matrix_power(begun @ hidden[-1], steps // period - 1) @ begun @ shown
    ends = law[-2:]
    gaps = [0.5 * np.abs(law - end).sum(axis=1).max() for end in ends]
    return float(max(gaps)) - QUADRATURE


def judged(case: Case, tv: float) -> float | None:
    """The quotient of exact to certified after one block, and after all of them."""
    try:
        found = mixing(case.run, tv)
    except NoTheoremApplies:
        return None
    if found.steps > MOST:
        return None
    block, whole = apart(case, found.block), apart(case, found.steps)
    assert block <= found.block_tv, (block, found, case.run)
    assert whole <= found.tv <= tv, (whole, found, case.run)
    return max(block / found.block_tv, whole / found.tv)


def drawn(rng, shape: Shape = SHAPE) -> Case | None:
    case = draw(rng, shape, str(rng.choice(ON_THE_LINE)))
    fits = case is not None and not case.line.prox.artificial and len(case.line.plan) == 1
    return case if fits else None


def run_laws(seed: int, count: int, shape: Shape = SHAPE) -> tuple[int, float]:
    rng, met, worst = np.random.default_rng(seed), 0, 0.0
    while met < count:
        case = drawn(rng, shape)
        ratio = None if case is None else judged(case, float(rng.choice([0.5, 0.1, 0.01])))
        if ratio is not None:
            met, worst = met + 1, max(worst, ratio)
    return met, worst


def test_two_copies_are_as_close_as_certified():
    met, worst = run_laws(0, 12)
    assert met >= 12 and worst > 0.1


@pytest.mark.parametrize("batches", ["poisson", "without-replacement", "cyclic"])
def test_minibatch_chains_are_as_close_as_certified(batches):
    """Batches of every size that may occur, incomplete ones included; laws average over them."""
    met, worst = run_laws(3, 6, SHAPE._replace(batches=batches))
    assert met >= 6 and worst > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("batches", ["poisson", "without-replacement", "cyclic"])
def test_many_minibatch_chains_mix_as_certified(batches):
    met, worst = run_laws(4, 60, SHAPE._replace(batches=batches))
    print(f"mixing, {batches}: met {met}, worst {worst:.6f}", file=sys.stderr)
    assert worst > 0.2


@pytest.mark.slow
def test_many_chains_mix_as_certified():
    met, worst = run_laws(1, 100)
    print(f"mixing: met {met}, worst {worst:.6f}", file=sys.stderr)
    assert worst > 0.3


@pytest.mark.slow
def test_climbing_finds_no_chain_that_mixes_more_slowly():
    def score(genes: np.ndarray) -> float:
        genes = np.array(genes)
        genes[17] = 2.0  # one phase
        case = case_of(genes, "full")
        return 0.0 if case is None else judged(case, 0.1) or 0.0

    met: list[float] = []
    climb(counted(score, met), 20, np.random.default_rng(2), 120)
    print(f"mixing, climbed: met {len(met)}, worst {max(met):.6f}", file=sys.stderr)
    assert len(met) >= 50 and max(met) > 0.1
