"""The joint programme and its closed forms against reference values."""

import math

import numpy as np
import pytest
from vectors import TEN_DIGITS, cases

from wane.theorems.lemmas import isotonic as pooling
from wane.theorems.lemmas.programme import (
    Block,
    Pool,
    Segment,
    Timeline,
    bounded_record_mu_squared,
    constant_block,
    quiet_block,
    record_mu_squared,
)

SHEET = "cyclic_and_clipping"
close = pytest.approx


def timeline(c: float, period: int, steps: int, *, tail: int = 0) -> Timeline:
    """Constant steps with unit shift and noise, then `tail` steps without data."""
    x = math.log(c)
    data = Segment(steps, x, x, 0.0, 0.0, True)
    cool = Segment(tail, x, x, 0.0, 0.0, False)
    return Timeline((data, cool) if tail else (data,), period)


@cases(SHEET, "theta")
def test_one_visit_fades(case):
    value = constant_block(0.0, math.log(case["c"]), 0.0, case["r"]).value
    assert value == close(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "K_worst")
def test_worst_record(case):
    made = timeline(case["c"], case["l"], case["T"])
    worst = record_mu_squared(made, (case["T"] - 1) % case["l"])
    assert worst == close(case["value"], rel=TEN_DIGITS)
    everyone = [record_mu_squared(made, p) for p in range(case["l"])]
    assert max(everyone) == worst
    assert worst <= case["composition"] * (1 + 1e-12)


@cases(SHEET, "K_position")
def test_record_by_position(case):
    value = record_mu_squared(timeline(case["c"], case["l"], case["T"]), case["tstar"] - 1)
    assert value == close(case["value"], rel=TEN_DIGITS, abs=0)


@cases(SHEET, "clipped_convex_K")
def test_clipped_convex(case):
    c = math.exp(-0.5 * math.log1p(-case["lamM"] / 4))
    steps = case["l"] * case["n"]
    value = record_mu_squared(timeline(c, case["l"], steps), case["l"] - 1)
    assert value == close(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "cooldown")
def test_cool_down(case):
    steps = case["l"] * case["n"]
    value = record_mu_squared(
        timeline(case["c"], case["l"], steps, tail=case["extra"]), case["l"] - 1
    )
    assert value == close(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "K_diameter")
def test_bounded_domain(case):
    made = timeline(case["c"], case["l"], case["T"])
    value = bounded_record_mu_squared(made, (case["T"] - 1) % case["l"], case["d_over_s"])
    assert value == close(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "mu2_general")
def test_general_programme(case):
    pool = Pool()
    arrays: list[tuple[float, float, float]] = []
    block = None
    if case["z0"]:
        block = Block(0.0, math.log(case["z0"]), -math.inf, 0.0)
    for s, c, sigma in zip(case["s"], case["c"], case["sigma"], strict=True):
        x, v = math.log(c), math.log(sigma)
        if s > 0:
            if block is not None:
                pool.push(block)
                arrays.append(_end(block))
            block = constant_block(math.log(s), x, v, 1)
        elif block is not None:
            block = block.then(quiet_block(x, v, 1))
    assert block is not None
    pool.push(block)
    arrays.append(_end(block))
    assert pool.mu_squared == close(case["value"], rel=TEN_DIGITS)
    columns = [np.array(column) for column in zip(*arrays, strict=True)]
    if np.all(np.isfinite(columns[1])):
        assert pooling.mu_squared(*columns) == close(case["value"], rel=TEN_DIGITS)


def _end(block: Block) -> tuple[float, float, float]:
    return (
        block.offset + block.log_shift,
        2 * block.offset + block.log_variance,
        block.log_product,
    )
