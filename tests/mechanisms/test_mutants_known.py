"""How well powers of kernels are known: error bounds against fractions, and their edges."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import sparse

from wane.errors import InvalidDescription
from wane.theorems.kernel import amplification, low_rank, matrices, powers
from wane.theorems.kernel.known import NO_DIGITS, Known
from wane.theorems.kernel.pairs import UNIT, rounding
from wane.theorems.kernel.turns import TurnedWalk

mp = mpmath.mp.clone()
mp.dps = 40


@pytest.mark.parametrize("first", [0.0, 1e-12, 0.01, 0.2])
@pytest.mark.parametrize("second", [0.0, 1e-9, 0.1])
def test_errors_of_products(first, second):
    for terms in (1, 7, 1000):
        exact = (1 + mp.mpf(first)) * (1 + mp.mpf(second)) * (1 + mp.mpf(rounding(terms))) - 1
        made = Known(first, 0.25).times(Known(second, 0.125), terms=terms, dropped=0.0625)
        # 1 + ... - 1 may lose three of the eight roundings that `rounding` has to spare
        assert exact - 3 * UNIT <= made.relative_error <= exact * (1 + mp.mpf("2e-6")) + 3 * UNIT
        lost = (1 + mp.mpf(first)) * (1 + mp.mpf(second)) * mp.mpf("0.4375")
        assert lost * 1.005 <= made.lost_mass <= lost * 1.011
        assert not made.says_nothing


def test_errors_beyond_one_half_say_nothing():
    barely = Known(0.25, 0.0).times(Known(0.1999, 0.0), terms=1, dropped=0.0)
    assert 0.499 < barely.relative_error < 0.5
    vague = Known(0.25, 0.0).times(Known(0.2001, 0.0), terms=1, dropped=0.0)
    assert vague.relative_error == NO_DIGITS and vague.says_nothing
    assert not Known(NO_DIGITS / 2, 0.0).says_nothing
    assert Known(0.1, 0.9).times(Known(0.1, 0.5), terms=1, dropped=0.0).lost_mass == 1.0
    assert Known(0.0, 0.0).times(Known(0.0, 0.0), terms=1, dropped=0.0).lost_mass == 0.0


def test_the_spread_of_columns():
    """((1 + r) b + lost)/((1 - r) a) - 1 for the worst column, if it is at most eight times r."""
    least, most = np.array([0.25, 0.5]), np.array([0.2505, 0.5002])
    for r, lost in ((0.01, 0.0), (0.01, 1e-4), (0.0005, 0.0)):
        exact = ((1 + mp.mpf(r)) * mp.mpf(0.2505) + mp.mpf(lost)) / ((1 - mp.mpf(r)) * mp.mpf(0.25))
        found = Known(r, lost).spread(least, most)
        assert exact - 1 <= found <= (exact - 1) * (1 + mp.mpf("2e-6"))
    # eight times what is known anyway, and no more
    for r, beyond in ((0.01, False), (0.0002, True)):
        assert (Known(r, 0.0).spread(least, most) is None) is beyond
    assert Known(1.0, 0.0).spread(least, most) is None
    assert Known(0.999, 0.0).spread(least, most) is None
    assert Known(0.01, 0.0).spread(np.array([0.0, 0.5]), most) is None
    assert Known(0.0, 0.0).spread(least, least) == 0.0


def test_lost_mass_is_an_error_of_entries_that_are_much_larger():
    made = Known(0.01, 1e-6).absorbing(1e-3)
    exact = mp.mpf(0.01) + mp.mpf(1e-6) / mp.mpf(1e-3)
    assert exact <= made.relative_error <= exact * (1 + mp.mpf("1e-14")) and made.lost_mass == 0.0
    for least in (0.0, 1e-5, 9.9e-5):
        assert Known(0.01, 1e-6).absorbing(least) == Known(0.01, 1e-6)
    assert Known(0.01, 1e-6).absorbing(1.01e-4).lost_mass == 0.0


def test_what_a_row_exceeds_the_least_entries_by():
    row, least = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.1])
    for r, lost in ((0.0, 0.0), (0.01, 0.0), (0.01, 0.125), (0.25, 0.0)):
        exact = mp.fsum(
            max((1 + mp.mpf(r)) * mp.mpf(p) - (1 - mp.mpf(r)) * mp.mpf(q), mp.mpf(0))
            for p, q in zip(row.tolist(), least.tolist(), strict=True)
        ) + mp.mpf(lost)
        found = Known(r, lost).doeblin(row, least)
        assert exact * (1 - mp.mpf("1e-16")) <= found <= exact * (1 + mp.mpf("1e-14"))
    assert Known(0.0, 1.0).doeblin(row, least) == 1.0
    assert Known(3.0, 0.0).doeblin(row, least) == 1.0
    assert rounding(3) == pytest.approx(11 * 1.01 * 2.0**-53, rel=1e-12, abs=0.0)


# few rows in place of all


def exact_rows(matrix):
    return [[Fraction(x) for x in row] for row in np.asarray(matrix).tolist()]


def multiplied(first, second):
    columns = list(zip(*second, strict=True))
    return [
        [sum((a * b for a, b in zip(row, c, strict=True)), Fraction(0)) for c in columns]
        for row in first
    ]


def distance(first, second):
    """The largest sum of absolute differences of a row."""
    return max(
        sum(abs(a - b) for a, b in zip(one, other, strict=True))
        for one, other in zip(first, second, strict=True)
    )


def low_rank_kernel(rng, size=10, rank=3):
    return rng.dirichlet(np.ones(rank), size=size) @ rng.dirichlet(np.ones(size), size=rank)


@pytest.mark.parametrize("seed", range(4))
def test_a_matrix_of_low_rank_is_known_within_its_error(seed):
    rng = np.random.default_rng(seed)
    matrix = low_rank_kernel(rng)
    for given in (0.0, 1e-6):
        few = low_rank.FewRows.of(matrix, relative=0.0, lost=given)
        assert len(few.chosen) in (3, 4) and few.weights.shape == (10, len(few.chosen))
        assert np.array_equal(few.rows, matrix[few.chosen])
        true = exact_rows(matrix)
        off = distance(true, multiplied(exact_rows(few.weights), exact_rows(few.rows)))
        assert off + Fraction(given) <= few.error <= given * (1 + 1e-8) + 1e-12
    assert given < few.error


def test_the_room_for_rounding_is_as_large_as_is_said():
    """With exact weights nothing is left but the room: rounding(k + 2) (|Z| |S| + |M|)."""
    matrix = np.tile([[0.5, 0.25, 0.25]], (5, 1))
    few = low_rank.FewRows.of(matrix, relative=0.0, lost=0.0)
    assert len(few.chosen) == 1 and few.weights.ravel().tolist() == pytest.approx([1.0] * 5)
    off = float(np.abs(matrix - few.weights @ few.rows).sum(axis=1).max())
    room = rounding(3) * 2.0
    assert off + room * 0.99 <= few.error <= off * 1.01 + room * 1.01
    assert low_rank.norm(np.array([[0.5, -0.5], [0.25, 0.0]])) == 1.0 + rounding(2)


@pytest.mark.parametrize("times", [1, 2, 3, 5, 6])
def test_powers_through_few_rows_are_within_their_error(monkeypatch, times):
    monkeypatch.setattr(low_rank, "_BLOCK", 5)
    rng = np.random.default_rng(times)
    matrix = low_rank_kernel(rng) * 0.4 + 0.6 * np.kron(np.eye(2), np.full((5, 5), 0.2))
    few = low_rank.FewRows.of(matrix, relative=0.0, lost=0.0)
    core, reached = few.power(times)
    assert reached == times and core.small.shape == (len(few.chosen),) * 2
    true = power = exact_rows(matrix)
    for _ in range(times - 1):
        power = multiplied(power, true)
    small, weights, rows = map(exact_rows, (core.small, few.weights, few.rows))
    off = distance(power, multiplied(weights, multiplied(small, rows)))
    assert off <= core.error <= 1e-11
    # the same times T, which is known up to relative errors and what is lost of its rows
    for factors, exact in (([], power), ([(matrix, 0.0, 0.0)], multiplied(true, power))):
        made, error = few.applied(core, factors)
        for j in range(10):
            worst = max(abs(exact[i][j] - Fraction(float(made[i, j]))) for i in range(10))
            assert worst <= error[j] <= 1e-10
    shaken = matrix * (1.0 + 1e-6 * rng.uniform(-1.0, 1.0, size=matrix.shape))
    made, error = few.applied(core, [(shaken, 1.1e-6, 0.0)])
    off = np.abs(made - np.array(exact, dtype=float)).max(axis=0)
    assert np.all(off <= error) and np.all(error <= 1e-4)
    assert np.all(few.applied(core, [(shaken, 1.1e-6, 1e-3)])[1] > error)


def test_errors_of_powers_add_up_as_is_said():
    """e + f + e f for the factors, and |Z| |D| |S| for the rounding of the small product.

    Of each column: what the second lacks, e times what is in it at most, and the same rounding.
    """
    few = low_rank.FewRows.of(low_rank_kernel(np.random.default_rng(1)), relative=0.0, lost=0.0)
    z, s, kept = low_rank.norm(few.weights), low_rank.norm(few.rows), len(few.chosen)
    columns, largest = np.linspace(0.0, 0.3, 10), np.linspace(0.5, 0.1, 10)
    for e, f in ((0.25, 0.5), (1e-3, 0.0), (0.0, 1e-3), (0.0, 0.0)):
        first = low_rank.Core(np.eye(kept), e, 7.0 + columns, 7.0 + largest)
        made = few._product(first, low_rank.Core(np.eye(kept), f, columns, largest))
        between, wrong = few._between
        norms = low_rank.norm(np.eye(kept)) ** 2
        doubt = wrong + 2.1 * rounding(kept) * (low_rank.norm(between) + wrong)
        exact = e + f + e * f + z * s * doubt * norms
        assert exact * (1 + 5e-10) <= made.error <= exact * (1 + 2e-9)
        single = columns + e * (largest + columns) + z * doubt * norms * few.rows.max(axis=0)
        assert np.all(single * (1 + 5e-10) <= made.columns)
        assert np.all(made.columns <= single * (1 + 2e-9))
        assert np.array_equal(made.largest, largest)


def test_what_rounding_adds_to_products_with_few_rows():
    """|Z| rounding (|G| |S| + |G S|), column by column, and what the factors and T^k lack."""
    few = low_rank.FewRows.of(low_rank_kernel(np.random.default_rng(2)), relative=0.0, lost=0.0)
    kept, none = len(few.chosen), np.zeros(10)
    core = low_rank.Core(np.eye(kept) * 2.0, 0.0, none, none)
    _, error = few.applied(core, [])
    z, g = low_rank.norm(few.weights), low_rank.norm(core.small)
    most = few.rows.max(axis=0)
    exact = z * rounding(kept) * (g * most + 2.0 * most)
    assert np.all(error >= exact) and np.all(error <= exact * 1.02)
    _, more = few.applied(low_rank.Core(core.small, 0.0, none + 0.25, none), [])
    assert more == pytest.approx(error + 0.25, rel=1e-8)
    _, more = few.applied(core, [(np.eye(10), 0.25, 0.125)])
    wrong = (0.25 + 0.125) * 1.25 * z * 1.01
    assert more == pytest.approx(wrong * 2.0 * most, rel=1e-6)


def test_products_in_blocks_and_the_bound_on_their_error(monkeypatch):
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(4, 23)), rng.normal(size=(23, 6))
    for block in (1, 5, 23, 64):
        monkeypatch.setattr(low_rank, "_BLOCK", block)
        made, error = low_rank._in_blocks(first, second)
        exact = multiplied(exact_rows(first), exact_rows(second))
        assert distance(exact, exact_rows(made)) <= error
        terms = low_rank.norm(np.abs(first) @ np.abs(second))
        blocks = math.ceil(23 / block)
        assert error == pytest.approx(terms * rounding(block + blocks), rel=1e-12)


def test_powers_end_once_their_rows_agree():
    matrix = 0.01 * np.kron(np.eye(2), np.full((7, 7), 1 / 7)) + 0.99 / 14
    few = low_rank.FewRows.of(matrix, relative=0.0, lost=0.0)
    core, reached = few.power(1000)
    assert 4 <= reached <= 8  # 0.01^k is below 1e-7 from the fourth power on
    rows = core.small @ few.rows
    assert np.all(rows.max(axis=0) - rows.min(axis=0) <= 1e-7 * rows.min(axis=0))
    assert low_rank.FewRows.of(np.eye(low_rank._SKETCH), relative=0.0, lost=0.0) is None


# walks that look the same from everywhere


def walk(row, known=None):
    shape = np.asarray(row).shape
    size = int(np.prod(shape))
    turned = [np.roll(row, np.unravel_index(i, shape), axis=(0, 1)).ravel() for i in range(size)]
    return TurnedWalk.of(sparse.csr_array(np.stack(turned)), known or Known(0.0, 0.0))


LAZY = np.array([[0.5, 0.25, 0.0, 0.0, 0.25]])


def test_walks_are_read_with_the_error_of_their_turns():
    made = walk(LAZY, Known(0.125, 0.0625))
    exact = (0.125 + 1.1 * 16.0 * UNIT) * 1.125
    assert np.array_equal(made.row, LAZY) and made.known.lost_mass == 0.0625
    assert made.known.relative_error == pytest.approx(exact, rel=1e-12)
    assert made.ceiling == 1.0
    rows = made.all_rows()
    rows[2, 2] *= 1.0 + 40.0 * UNIT
    assert TurnedWalk.of(sparse.csr_array(rows), Known(0.0, 0.0)) is None
    rows = made.all_rows()
    rows[2, 2] *= 1.0 + 8.0 * UNIT
    assert TurnedWalk.of(sparse.csr_array(rows), Known(0.0, 0.0)) is not None
    uneven = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])
    assert TurnedWalk.of(sparse.csr_array(uneven), Known(0.0, 0.0)) is None


@pytest.mark.parametrize("shape", [(1, 6), (2, 4), (3, 3)])
def test_products_of_walks_carry_errors_ceilings_and_dust(shape):
    rng = np.random.default_rng(sum(shape))
    row = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    one = walk(row, Known(1e-9, 1e-12))
    two = one.then(one)
    assert np.allclose(two.all_rows(), one.all_rows() @ one.all_rows(), rtol=1e-13, atol=0.0)
    wanted = one.known.times(one.known, terms=row.size + 2, dropped=0.0)
    assert two.known == wanted
    least = 1.0 - row.size * row.min()
    assert least**2 <= two.ceiling <= (least + 1e-8) ** 2
    dusty = np.zeros(shape)
    dusty.flat[0], dusty.flat[1] = 1.0, 1e-200
    made = walk(dusty).then(walk(dusty))
    assert made.row.flat[0] == 1.0 and made.row.flat[1] == 0.0
    assert made.known.lost_mass >= 2 * row.size * matrices.TINY
    assert made.ceiling == 1.0


def test_walks_that_are_no_longer_known_keep_their_sum():
    vague = TurnedWalk(LAZY * 0.5, Known(0.9, 0.0))
    made = vague.then(vague)
    assert made.known.says_nothing and made.row.sum() == pytest.approx(1.0)
    sure = TurnedWalk(LAZY * 0.5, Known(0.0, 0.0))
    assert sure.then(sure).row.sum() == pytest.approx(0.25)


def test_walks_settle_at_their_spread():
    row = np.full((1, 4), 0.25) + 1e-4 * np.array([[1.0, -1.0, 1.0, -1.0]])
    made = TurnedWalk(row, Known(1e-3, 0.0), ceiling=0.5).settled(3)
    spread = Known(1e-3, 0.0).spread(np.array([row.min()]), np.array([row.max()]))
    assert made.known == Known(spread, 0.0) and np.array_equal(made.row, row)
    doeblin = Known(1e-3, 0.0).doeblin(row.reshape(-1), np.full(4, row.min()))
    assert made.ceiling == pytest.approx(doeblin**3, rel=1e-9)
    assert TurnedWalk(row, Known(1e-5, 0.0)).settled(3) is None
    capped = TurnedWalk(np.array([[0.5, 0.5]]), Known(0.25, 0.0), ceiling=0.125).settled(2)
    assert capped.ceiling == pytest.approx(0.125**2, rel=1e-9)


# matrices and powers


def test_entries_terms_and_columns_are_counted_alike():
    rows = np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])
    for form in (rows, sparse.csr_array(rows)):
        assert matrices.most_terms(form) == 3 and matrices.most_terms(form[:2]) == 2
        assert matrices.column_minima(form).tolist() == [0.0, 0.0, 0.0]
        assert matrices.column_maxima(form).tolist() == [0.5, 1.0, 0.5]
        assert matrices.dense_row(form, 2).tolist() == [0.25, 0.25, 0.5]
        assert np.array_equal(matrices.dense(form), rows)
        assert not matrices.rows_agree(form) and matrices.rows_agree(form[:1])
    same = sparse.csr_array(np.tile([[0.5, 0.0, 0.5]], (3, 1)))
    assert matrices.rows_agree(same)
    moved = sparse.csr_array(np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]))
    weighed = sparse.csr_array(np.array([[0.5, 0.0, 0.5], [0.25, 0.0, 0.75]]))
    assert not matrices.rows_agree(moved) and not matrices.rows_agree(weighed)


def test_disjoint_rows_are_seen_in_sparse_matrices_only():
    far = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    assert matrices.has_disjoint_rows(sparse.csr_array(far))
    assert not matrices.has_disjoint_rows(far)
    assert not matrices.has_disjoint_rows(sparse.csr_array(far[:2]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_dust_is_dropped_below_its_limit_and_counted(form):
    tiny = matrices.TINY
    kept, lost = matrices.flushed(form(np.array([[1.0, tiny / 2, 0.0], [tiny / 4, 1.0, tiny * 2]])))
    assert np.array_equal(matrices.dense(kept), [[1.0, 0.0, 0.0], [0.0, 1.0, tiny * 2]])
    assert lost == 3 * tiny
    clean = form(np.array([[1.0, 0.0], [0.5, 0.5]]))
    assert matrices.flushed(clean)[0] is clean and matrices.flushed(clean)[1] == 0.0


def test_matrices_are_thinned_and_filled_where_it_pays():
    assert sparse.issparse(matrices.thinned(np.eye(20)))
    half = np.eye(20) + 0.5 * np.eye(20, k=1)
    assert not sparse.issparse(matrices.thinned(half))
    assert matrices.thinned(half) is half
    thin = sparse.csr_array(np.eye(20))
    assert matrices.thinned(thin) is thin
    assert sparse.issparse(matrices.product(thin, thin))
    for one, other in ((thin, half), (half, thin), (half, half)):
        made = matrices.product(one, other)
        assert isinstance(made, np.ndarray) and made.flags.c_contiguous
        exact = matrices.dense(one) @ matrices.dense(other)
        assert np.allclose(made, exact, rtol=1e-15, atol=0.0)


def test_matrices_too_large_to_be_dense_are_refused(monkeypatch):
    monkeypatch.setattr(matrices, "MOST_DENSE", 12)
    assert matrices.dense(sparse.csr_array(np.ones((3, 4)))).shape == (3, 4)
    with pytest.raises(InvalidDescription, match="at most 12 entries"):
        matrices.dense(sparse.csr_array(np.ones((13, 1))))
    assert matrices.dense(np.ones((13, 1))).shape == (13, 1)
    assert sparse.issparse(
        matrices.product(sparse.csr_array(np.ones((4, 4))), sparse.csr_array(np.ones((4, 4))))
    )


class Exponent:
    """A power that settles from some exponent on."""

    def __init__(self, value, limit=None):
        self.value, self.limit, self.asked = value, limit, None

    def then(self, following):
        return Exponent(self.value + following.value, self.limit)

    def settled(self, times):
        if self.limit is None or self.value < self.limit:
            return None
        made = Exponent(self.value * times, self.limit)
        made.asked = (self.value, times)
        return made


@pytest.mark.parametrize("times", [*range(1, 70), 255, 256, 0b110110111, 10**6 + 3])
def test_every_power_is_reached(times):
    assert powers.raised(Exponent(1), times).value == times
    made = powers.raised(Exponent(1, limit=4), times)
    if times >= 4:  # what has settled stands for so many of itself, and never for more
        assert made.asked is not None
        value, asked = made.asked
        assert value >= 4 and value * asked <= times < value * (asked + 1)
    else:
        assert made.asked is None and made.value == times


def test_powers_of_numbers_are_raised():
    for base in (0.0, 1e-200, 0.3, 0.999, 1.0):
        for times in (1, 2, 50):
            exact = mp.mpf(base) ** times
            assert exact <= amplification.power_up(base, times) <= exact * (1 + 1e-9) + 1e-319
