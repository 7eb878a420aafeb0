"""Blocks of equal steps and the pool that joins them, against fifty digits."""

import math
import random
from dataclasses import replace

import pytest
from staircases import least_cost, mp, near, stretch

from wane.theorems.lemmas.programme import (
    LEAST,
    Block,
    Pool,
    constant_block,
    log_geometric_sum,
    quiet_block,
)

# blocks


@pytest.mark.parametrize("ratio", [0.0, 1e-300, 1e-19, 1e-9, 0.3, 30.0])
@pytest.mark.parametrize("count", [1, 2, 3, 1000, 10**12])
def test_geometric_sums_over_their_largest_term(ratio, count):
    y = mp.mpf(ratio)
    exact = mp.log(count if y == 0 else mp.expm1(-count * y) / mp.expm1(-y))
    for sign in (1.0, -1.0):
        assert log_geometric_sum(sign * ratio, count) == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("drift", [-2.0, -0.1, 0.0, 1e-12, 0.1, 2.0])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_blocks_of_equal_steps_say_what_they_do_to_distance_and_variance(drift, length):
    shift, noise = 0.7, -0.4
    block = constant_block(shift, drift, noise, length)
    quiet = quiet_block(drift, noise, length)
    w = v = mp.mpf(0)
    for s, c, sigma in stretch(shift, drift, noise, length):
        w, v = c * w + s, c * c * v + sigma**2
    distance = block.offset + block.log_shift
    variance = 2.0 * block.offset + block.log_variance
    assert distance == pytest.approx(float(mp.log(w)), abs=1e-13)
    assert variance == pytest.approx(float(mp.log(v)), abs=1e-13)
    assert block.log_product == quiet.log_product == pytest.approx(drift * length, abs=1e-13)
    assert block.log_slope == pytest.approx(float(mp.log(w / v)), abs=1e-13)
    assert near(block.value, w * w / v, "1e-13")
    assert quiet.value == 0.0 and quiet.log_variance == block.log_variance
    thrice = block.repeated(3)
    one = block.then(block).then(block)
    for made in (thrice, one):
        assert made.log_product == pytest.approx(3 * drift * length, abs=1e-12)
        assert made.value == pytest.approx(one.value, rel=1e-12)
        assert made.log_slope == pytest.approx(one.log_slope, abs=1e-12)
    assert block.repeated(1) is block
    for still in (quiet.then(quiet), quiet.repeated(2)):
        assert still.value == 0.0 and still.log_shift == -math.inf
        assert still.log_product == pytest.approx(2 * drift * length, abs=1e-12)


def test_values_beyond_the_doubles():
    assert Block(0.0, 355.0, 0.5, 0.0).value == math.inf
    assert 1e307 < Block(0.0, 354.5, 0.0, 0.0).value < math.inf, "e^709 is still a double"
    assert Block(0.0, -500.0, 0.0, 0.0).value == LEAST
    assert Block(3.0, -math.inf, 0.0, 0.0).value == 0.0


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_a_value_is_never_below_the_exact_one_however_large_its_logarithms(scale):
    """The rounding of every logarithm, of every offset and of the exponential is covered."""
    draw = random.Random(int(scale))
    for _ in range(150):
        blocks = []
        for _ in range(3):
            shift = draw.uniform(-1.0, 1.0) * min(scale, 1e3)
            even = 2.0 * shift + draw.uniform(-3.0, 3.0)
            product = draw.uniform(-1.0, 1.0) * scale
            blocks.append(Block(draw.uniform(-1.0, 1.0) * scale, shift, even, product))
        one, two, three = blocks
        two = replace(two, offset=one.offset + two.log_product + draw.uniform(-1.0, 1.0))
        S = [mp.exp(mp.mpf(b.offset) + mp.mpf(b.log_shift)) for b in (one, two)]
        U = [mp.exp(2 * mp.mpf(b.offset) + mp.mpf(b.log_variance)) for b in (one, two)]
        G = mp.exp(two.log_product)
        exact = (S[0] * G + S[1]) ** 2 / (U[0] * G**2 + U[1])
        found = one.then(two).value
        assert near(found, exact, 1e-13 * (10.0 + scale)) or exact < LEAST
        assert near(three.value, value_of(three), 1e-13 * (10.0 + scale)) or value_of(three) < LEAST


def value_of(block):
    return mp.exp(2 * mp.mpf(block.log_shift) - mp.mpf(block.log_variance))


def test_doubt_of_large_offsets_counts_only_where_both_sides_do():
    """And it is handed on, through pooling and repetition, but not added up."""
    far = Block(1e6, 0.0, 0.0, 0.0).then(Block(0.0, 300.0, 600.0, 0.0))
    assert far.doubt < 1e-15, "one side is gone"
    quiet = Block(0.0, -math.inf, 600.0, 0.0)
    assert Block(1e6, 0.0, 0.0, 0.0).then(quiet).doubt < 1e-15, "and has no shift either"
    half = Block(5e5, 150.0, 300.0, 0.0).then(Block(5e5 + 300.0, -150.0, -300.0, 0.0))
    assert 1e-10 < half.doubt < 1e-8, "both sides are equal"
    assert half.then(Block(-1e9, 0.0, 0.0, 0.0)).doubt == pytest.approx(half.doubt, abs=1e-12)
    assert half.repeated(4).doubt == half.doubt
    assert Block(0.0, -math.inf, 0.0, 0.0).then(Block(0.0, 0.0, 0.0, 0.0)).doubt < 1e-15
    assert half.then(replace(half, doubt=7e-10)).doubt >= max(half.doubt, 7e-10)


@pytest.mark.parametrize("seed", range(24))
def test_a_pool_is_the_programme_of_its_steps(seed):
    draw = random.Random(seed)
    pool, steps = Pool(), []
    for _ in range(draw.randint(1, 7)):
        drift = draw.choice([-0.4, -0.05, 0.0, 0.02, 0.1, 0.5])
        row = (draw.uniform(-2.0, 2.0), drift, draw.uniform(-1.0, 1.0), draw.randint(1, 4))
        count = draw.choice([0, 1, 1, 2, 5, 30])
        pool.push(constant_block(*row), count)
        steps += stretch(*row) * count
    pool.push(constant_block(0.0, 0.0, 0.0, 1), -1)
    exact = least_cost(steps) if steps else mp.mpf(0)
    assert near(pool.mu_squared, exact) or exact == 0


@pytest.mark.parametrize("drift", [1e-3, 0.03, 0.2])
@pytest.mark.parametrize("steep", [-1.0, 2.0, 4.0, 6.0])
def test_equal_expanding_blocks_pool_in_part(drift, steep):
    """Copies that stay apart among themselves are taken one side at a time, just so many."""
    copies, first, last = (0.0, drift, 0.0, 1), (steep, 0.1, 0.0, 2), (-steep, 0.1, 0.0, 2)
    for rows in ([(copies, 50), (last, 1)], [(first, 1), (last, 1), (copies, 50)]):
        pool, steps = Pool(), []
        for row, count in rows:
            pool.push(constant_block(*row), count)
            steps += stretch(*row) * count
        assert near(pool.mu_squared, least_cost(steps))


def test_a_pool_beyond_the_doubles_is_infinite():
    pool = Pool()
    for shift in (300.0, 400.0):
        pool.push(Block(0.0, shift, -200.0, 1000.0))
    assert pool.mu_squared == math.inf
    assert Pool().mu_squared == 0.0
