"""Finite kernels: by brute force, with the search, the powers, and bad matrices."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from wane.describe import matrices as described_matrices
from wane.errors import InvalidDescription
from wane.guarantees import ComposedDP, GaussianDP
from wane.mechanisms import AmplifiedGuarantee, MarkovKernel
from wane.theorems.kernel import amplification, powers
from wane.theorems.kernel.pairs import Gap, largest_gap

EXACT = 1e-12
ROUNDING = 1e-15


def subsets(n):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


EVENTS = {n: subsets(n) for n in range(2, 7)}


def brute_delta(first, second, epsilon):
    """The largest first(E) - e^epsilon second(E) over all events E."""
    events = EVENTS[len(first)]
    return float(np.max(events @ first - math.exp(epsilon) * (events @ second)))


def both(first, second, epsilon):
    return max(brute_delta(first, second, epsilon), brute_delta(second, first, epsilon))


def random_rows(rng, rows, columns):
    made = rng.dirichlet(np.full(columns, rng.choice([0.2, 1.0, 5.0])), size=rows)
    if rng.random() < 0.3:  # some zeros, never a whole row
        made = np.where(rng.random(made.shape) < 0.3, 0.0, made)
        made[made.sum(axis=1) == 0.0, 0] = 1.0
        made /= made.sum(axis=1, keepdims=True)
    return made


@pytest.mark.parametrize("block", range(10))
def test_random_mechanisms_never_exceed_the_claim(block):
    rng = np.random.default_rng([7, block])
    for _ in range(500):
        states, outputs = rng.integers(2, 6, size=2)
        kernel = random_rows(rng, states, outputs)
        first, second = random_rows(rng, 2, states)
        made = MarkovKernel(kernel)
        at = float(rng.choice([0.0, rng.exponential(0.5), rng.exponential(2.0)]))
        before = min(1.0, max(0.0, both(first, second, at)))
        after = both(first @ kernel, second @ kernel, at)
        assert math.isfinite(after)
        claim = made.amplified_profile([at], [before])[0]
        assert after <= claim + ROUNDING * math.exp(at) * 4

        epsilon = float(rng.exponential(1.0))
        delta = min(1.0, max(0.0, both(first, second, epsilon)))
        claims = made.amplify(epsilon=epsilon, delta=delta)
        for point in vars(claims).values():
            truth = both(first @ kernel, second @ kernel, point.epsilon)
            assert truth <= point.delta + ROUNDING * math.exp(point.epsilon) * 4
            exact = made.amplified_delta(point.epsilon, epsilon=epsilon, delta=delta)
            assert exact <= point.delta * (1 + EXACT) + ROUNDING


def two_point_worst(at, epsilon, delta):
    """The input laws of two states for which the exact formula is an equality."""
    if at < epsilon:
        e = math.exp(epsilon)
        return np.array([[e + delta, 1 - delta], [1 - delta, e + delta]]) / (1 + e)
    return np.array([[delta, 1 - delta], [0.0, 1.0]])


@pytest.mark.parametrize("block", range(10))
def test_exact_formula_is_attained(block):
    rng = np.random.default_rng([8, block])
    for _ in range(500):
        states, outputs = rng.integers(2, 6, size=2)
        kernel = random_rows(rng, states, outputs)
        epsilon, delta = float(rng.exponential(1.0)), float(rng.choice([0.0, 1e-3, rng.random()]))
        at = float(rng.choice([0.0, epsilon / 2, epsilon, 1.5 * epsilon]))
        claim = MarkovKernel(kernel).amplified_delta(at, epsilon=epsilon, delta=delta)
        first, second = two_point_worst(at, epsilon, delta)
        assert both(first, second, epsilon) <= delta + EXACT
        attained = 0.0
        for x, other in itertools.permutations(range(states), 2):
            rows = kernel[[x, other]]
            attained = max(attained, brute_delta(first @ rows, second @ rows, at))
        assert attained <= claim + ROUNDING * math.exp(at) * 4
        assert claim == pytest.approx(attained, abs=EXACT)


def test_renyi_shrinks_as_claimed():
    rng = np.random.default_rng(9)
    for _ in range(400):
        states, outputs = rng.integers(2, 6, size=2)
        kernel = rng.dirichlet(np.ones(outputs), size=states)
        p, q = rng.dirichlet(np.ones(states), size=2)
        order = 1.0 + float(rng.exponential(3.0))

        def divergence(a, b, order=order):
            return math.log(float(np.sum(a**order * b ** (1 - order)))) / (order - 1)

        claim = amplification.renyi_by_dobrushin(
            MarkovKernel(kernel).dobrushin, order, max(0.0, divergence(p, q))
        )
        assert divergence(p @ kernel, q @ kernel) <= claim + 1e-12


def test_implications_run_from_ultra_to_threshold():
    rng = np.random.default_rng(10)
    for _ in range(300):
        made = MarkovKernel(random_rows(rng, *rng.integers(2, 6, size=2)))
        chain = [made.ultra_mixing, made.doeblin.coefficient, *made.dobrushin_curve([0, 0.5, 2])]
        assert all(a >= b - 1e-14 for a, b in itertools.pairwise(chain))


def test_coefficients_are_not_below_exact_rationals():
    rng = np.random.default_rng(11)
    for _ in range(60):
        rows = random_rows(rng, 3, 4)
        made = MarkovKernel(rows)
        exact = [[Fraction(v) for v in row] for row in rows]
        exact = [[v / sum(row) for v in row] for row in exact]
        pairs = list(itertools.permutations(exact, 2))
        dobrushin = max(sum(max(a - b, 0) for a, b in zip(p, q, strict=True)) for p, q in pairs)
        least = [min(column) for column in zip(*exact, strict=True)]
        most = [max(column) for column in zip(*exact, strict=True)]
        doeblin = 1 - sum(least)
        ultra = max((b - a) / b for a, b in zip(least, most, strict=True) if b > 0)
        for raised, truth in (
            (made.dobrushin, dobrushin),
            (made.doeblin.coefficient, doeblin),
            (made.ultra_mixing, ultra),
        ):
            assert truth <= Fraction(raised) <= truth + Fraction(1e-14)


@pytest.mark.parametrize("states", [130, 300])
@pytest.mark.parametrize("kind", ["spiky", "flat", "walk", "blocks"])
def test_search_finds_the_worst_pair(states, kind):
    rng = np.random.default_rng(12)
    rows = big_rows(rng, states, kind)
    hint = None
    for m in (1.0, 1.3, 4.0, 1e3):
        table = np.array([np.maximum(row - m * rows, 0.0).sum(axis=1) for row in rows])
        np.fill_diagonal(table, 0.0)
        found = largest_gap(rows, m, hint)
        assert found.value == pytest.approx(table.max(), rel=1e-13, abs=0.0)
        assert found.value == pytest.approx(table[found.first, found.second], rel=1e-13, abs=0.0)
        hint = found


def big_rows(rng, states, kind):
    if kind == "spiky":
        return rng.dirichlet(np.full(states, 0.1), size=states)
    if kind == "flat":
        return rng.dirichlet(np.full(states, 5.0), size=states)
    if kind == "walk":
        return MarkovKernel(lazy_walk(states)).power(states * states // 8).matrix
    rows = rng.dirichlet(np.full(states, 0.5), size=states)
    rows[: states // 2, states // 2 :] *= 1e-3
    return rows / rows.sum(axis=1, keepdims=True)


def lazy_walk(n):
    rows = 0.5 * np.eye(n) + 0.25 * np.eye(n, k=1) + 0.25 * np.eye(n, k=-1)
    rows[0, 0] = rows[-1, -1] = 0.75
    return rows


def test_a_hint_from_elsewhere_does_no_harm():
    rows = big_rows(np.random.default_rng(13), 130, "spiky")
    assert largest_gap(rows, 1.0, Gap(0.0, 500, 3)).value == largest_gap(rows, 1.0).value


def exact_power(rows, times):
    exact = [[Fraction(v) for v in row] for row in rows]
    exact = [[v / sum(row) for v in row] for row in exact]
    result = exact
    for _ in range(times - 1):
        result = [
            [
                sum(a * b for a, b in zip(row, column, strict=True))
                for column in zip(*exact, strict=True)
            ]
            for row in result
        ]
    return result


def test_powers_enclose_the_exact_rational_power():
    rng = np.random.default_rng(14)
    for times in (2, 3, 7, 12):
        rows = rng.dirichlet(np.ones(3), size=3)
        made, exact = MarkovKernel(rows).power(times), exact_power(rows, times)
        for stored, truth in zip(made.matrix.ravel(), itertools.chain(*exact), strict=True):
            assert abs(Fraction(stored) - truth) <= Fraction(made.relative_error) * truth
        truth = max(
            sum(max(a - b, 0) for a, b in zip(p, q, strict=True))
            for p, q in itertools.permutations(exact, 2)
        )
        assert truth <= Fraction(made.dobrushin) <= truth * (1 + Fraction(1e-9)) + Fraction(1e-13)


def test_tiny_entries_are_dropped_on_the_safe_side():
    rows = [[1 - 1e-100, 1e-100], [1e-100, 1 - 1e-100]]
    made = MarkovKernel(rows).power(4)
    assert made.dobrushin == 1.0
    sharp = MarkovKernel([[1.0, 1e-200], [0.0, 1.0]])
    squared = sharp.power(2)
    assert squared.lost_mass > 0.0
    assert squared.ultra_mixing == 1.0
    assert squared.dobrushin <= 1.0


def test_small_coefficients_of_powers_are_not_lost_in_rounding():
    made = MarkovKernel([[0.9, 0.1], [0.2, 0.8]]).power(400)
    truth = 0.7**400
    assert truth <= made.dobrushin <= truth * (1 + 1e-9)
    assert 0.0 < MarkovKernel([[0.9, 0.1], [0.2, 0.8]]).power(10**6).dobrushin < 1e-300


def test_powers_beyond_all_digits_claim_only_what_the_factors_prove():
    slow = MarkovKernel([[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]])
    for times in (10**9, 10**18, 10**40):
        made = slow.power(times)
        truth = math.exp(times * math.log1p(-2e-9))
        assert truth <= made.dobrushin <= 1.0
        assert made.dobrushin > 0.0
        assert not made.forgets_everything  # though its rounded rows may agree
        assert 0.0 < made.ultra_mixing <= 1.0
    stuck = MarkovKernel(np.eye(3)).power(10**40)
    assert stuck.dobrushin == 1.0


def test_product_rules():
    rng = np.random.default_rng(15)
    for _ in range(200):
        first = MarkovKernel(random_rows(rng, 3, 4))
        second = MarkovKernel(random_rows(rng, 4, 3))
        joined = first.then(second)
        for at in (0.0, 0.3, 1.0):
            g = first.dobrushin_at(at)
            moved = second.coefficients([amplification.threshold(at, g)])[0]
            assert joined.dobrushin_at(at) <= amplification.chained(g, moved) + 1e-14
        assert joined.doeblin.coefficient <= (
            first.doeblin.coefficient * second.doeblin.coefficient + 1e-14
        )


def test_forgetting_everything_is_perfect():
    made = MarkovKernel([[0.2, 0.8]] * 3)
    assert made.forgets_everything
    assert made.dobrushin == made.ultra_mixing == made.doeblin.coefficient == 0.0
    after = made.amplify(epsilon=3.0, delta=0.5)
    assert after.exact.delta == 0.0
    again = MarkovKernel(np.full((3, 3), 1 / 3)).then(MarkovKernel(np.eye(3)))
    assert again.dobrushin == 0.0
    single = MarkovKernel([[0.5, 0.5]])
    assert single.dobrushin == 0.0


def test_identity_changes_nothing():
    made = MarkovKernel(np.eye(3))
    assert made.dobrushin == made.doeblin.coefficient == made.ultra_mixing == 1.0
    assert made.doeblin.witness is None
    assert made.amplified_delta(0.7, epsilon=0.7, delta=0.01) == pytest.approx(0.01, rel=1e-12)


def test_zero_delta_stays_zero_and_positive_stays_positive():
    made = MarkovKernel([[0.9, 0.1], [0.2, 0.8]])
    assert made.amplified_delta(1.0, epsilon=1.0, delta=0.0) == 0.0
    tiny = MarkovKernel(np.eye(2)).amplified_delta(1.0, epsilon=1.0, delta=5e-324)
    assert tiny > 0.0
    assert amplification.by_dobrushin(0.5, 1.0, 5e-324).delta > 0.0


def test_large_epsilons_do_not_overflow():
    made = MarkovKernel([[0.9, 0.1], [0.2, 0.8]])
    after = made.amplify(epsilon=1e4, delta=1e-300)
    assert after.exact.delta == 0.0
    assert after.doeblin.epsilon <= 1e4
    assert made.dobrushin_at(1e6) == 0.0
    assert made.amplified_delta(0.0, epsilon=1e4, delta=0.0) == pytest.approx(0.7, rel=1e-12)


def test_sparse_and_dense_agree():
    rng = np.random.default_rng(16)
    rows = random_rows(rng, 40, 40)
    rows[rows < 0.02] = 0.0
    rows /= rows.sum(axis=1, keepdims=True)
    dense, thin = MarkovKernel(rows), MarkovKernel(sparse.coo_matrix(rows))
    assert thin.dobrushin == pytest.approx(dense.dobrushin, rel=1e-13)
    assert thin.doeblin.coefficient == pytest.approx(dense.doeblin.coefficient, rel=1e-13)
    assert thin.ultra_mixing == pytest.approx(dense.ultra_mixing, rel=1e-13)
    assert thin.power(3).dobrushin == pytest.approx(dense.power(3).dobrushin, rel=1e-12)
    assert thin.then(dense).dobrushin == pytest.approx(dense.power(2).dobrushin, rel=1e-12)
    assert dense.then(thin).dobrushin == pytest.approx(dense.power(2).dobrushin, rel=1e-12)


def test_large_sparse_kernels_need_no_dense_matrix():
    n = 20_000
    walk = sparse.diags_array(
        [np.full(n - 1, 0.25), np.r_[0.75, np.full(n - 2, 0.5), 0.75], np.full(n - 1, 0.25)],
        offsets=[-1, 0, 1],
    )
    made = MarkovKernel(walk)
    assert made.dobrushin == 1.0
    assert made.doeblin.coefficient == 1.0
    columns = np.c_[np.zeros(n, dtype=int), np.arange(n)].ravel()
    star = sparse.csr_array((np.full(2 * n, 0.5), (np.repeat(np.arange(n), 2), columns)))
    with pytest.raises(InvalidDescription, match="merge states"):
        MarkovKernel(star).dobrushin  # noqa: B018
    assert MarkovKernel(star).doeblin.coefficient == pytest.approx(0.5)
    constant = sparse.csr_array((np.ones(n), (np.arange(n), np.zeros(n, dtype=int))), shape=(n, 2))
    assert MarkovKernel(constant).forgets_everything


def test_a_guarantee_goes_through_a_kernel():
    before, kernel = GaussianDP(1.0), MarkovKernel.randomized_response(1.0)
    after = AmplifiedGuarantee(before, kernel)
    assert after.delta(0.3) <= before.delta(0.3) * kernel.dobrushin * (1 + 1e-12)
    assert after.delta(1.0) == 0.0
    assert after.epsilon(1e-6) <= 1.0
    assert after.renyi(4.0) < before.renyi(4.0)
    assert after.group(2).delta(0.3) > after.delta(0.3)
    assert isinstance(after.repeat(3), ComposedDP)
    assert after.repeat(1) is after
    assert after.compose(before).epsilon(1e-5) <= before.compose(before).epsilon(1e-5) * 1.3
    assert before.compose(after).renyi(3.0) == pytest.approx(before.renyi(3.0) + after.renyi(3.0))


def test_files_of_every_kind(tmp_path):
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    np.savetxt(tmp_path / "k.csv", rows, delimiter=",")
    np.save(tmp_path / "k.npy", rows)
    np.savez(tmp_path / "one.npz", rows)
    np.savez(tmp_path / "named.npz", matrix=rows, other=rows[0])
    sparse.save_npz(tmp_path / "thin.npz", sparse.csr_matrix(rows))
    for name in ("k.csv", "k.npy", "one.npz", "named.npz", "thin.npz"):
        made = MarkovKernel.read(str(tmp_path / name))
        assert made.dobrushin == pytest.approx(0.7, rel=1e-12), name


BAD = {
    "not a number": [[0.5, math.nan], [0.5, 0.5]],
    "infinite": [[math.inf, 0.0], [0.5, 0.5]],
    "negative": [[1.5, -0.5], [0.5, 0.5]],
    "row 1 must sum": [[0.5, 0.5], [0.5, 0.4]],
    "equal length": [[0.5, 0.5], [1.0]],
    "words": [["a", "b"], ["c", "d"]],
    "complex": [[1j, 0.0], [0.5, 0.5]],
    "empty": [],
    "a number": 1.0,
    "a vector": [0.5, 0.5],
    "no columns": np.zeros((2, 0)),
    "cube": np.zeros((2, 2, 2)),
    "none": None,
    "sparse nan": sparse.csr_matrix([[0.5, math.nan], [0.5, 0.5]]),
    "sparse row": sparse.csr_matrix([[0.5, 0.5], [0.0, 0.4]]),
    "sparse complex": sparse.csr_matrix([[1j, 0.0], [0.5, 0.5]]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_matrices_are_refused_in_one_line(name):
    with pytest.raises(InvalidDescription) as refusal:
        MarkovKernel(BAD[name])
    assert "\n" not in str(refusal.value)
    if "row" in name and "sparse" not in name:
        assert "row 1" in str(refusal.value)


def test_the_tolerance_of_row_sums_is_the_stated_one():
    off = described_matrices.ROW_SUM_TOLERANCE
    assert MarkovKernel([[0.5, 0.5 + 0.9 * off], [0.5, 0.5]]).dobrushin < off
    with pytest.raises(InvalidDescription, match=r"row 0 must sum to 1 within 1e-09"):
        MarkovKernel([[0.5, 0.5 + 1.1 * off], [0.5, 0.5]])


@pytest.mark.parametrize(
    "call",
    [
        lambda k: k.power(0),
        lambda k: k.power(2.0),
        lambda k: k.power(True),
        lambda k: k.then(MarkovKernel(np.eye(3))),
        lambda k: k.dobrushin_at(-0.1),
        lambda k: k.dobrushin_at(math.nan),
        lambda k: k.amplify(epsilon=1.0, delta=1.5),
        lambda k: k.amplify(epsilon=-1.0, delta=0.5),
        lambda k: k.amplified_profile([1.0], [-0.1]),
        lambda k: MarkovKernel([[0.5, 0.5]]).power(2),
        lambda k: MarkovKernel.randomized_response(1.0, choices=1),
    ],
)
def test_bad_questions_are_refused(call):
    with pytest.raises(InvalidDescription):
        call(MarkovKernel([[0.9, 0.1], [0.2, 0.8]]))


class Counted:
    """An exponent that counts the products made."""

    made = 0

    def __init__(self, exponent):
        self.exponent = exponent

    def then(self, following):
        Counted.made += 1
        return Counted(self.exponent + following.exponent)

    def settled(self, times):
        return None


@pytest.mark.parametrize("times", [1, 2, 3, 5, 6, 7, 11, 15, 63, 100, 1023, 12345, 10**6])
def test_powers_use_few_products(times):
    Counted.made = 0
    assert powers.raised(Counted(1), times).exponent == times
    binary = len(bin(times)) - 3 + bin(times).count("1") - 1
    assert Counted.made <= binary
    if times == 10**6:
        assert Counted.made == 24


def test_settled_powers_agree_with_long_products():
    rng = np.random.default_rng(17)
    for _ in range(20):
        rows = rng.dirichlet(np.ones(4), size=4)
        made = MarkovKernel(rows).power(10**5)
        exact = np.linalg.matrix_power(rows, 2000)
        assert np.max(np.abs(made.matrix / exact - 1.0)) <= made.relative_error + 1e-11
        assert 0.0 < made.dobrushin < 1e-200
    slow = MarkovKernel([[1 - 1e-4, 1e-4], [2e-4, 1 - 2e-4]]).power(10**5)
    truth = math.exp(10**5 * math.log1p(-3e-4))
    assert truth * (1 - 1e-9) <= slow.dobrushin <= truth * 1.001 + 1e-13


def test_powers_of_fractions_are_raised():
    for base, times in ((0.5, 10), (0.9, 1000), (0.999999, 10**7), (0.3, 500), (1e-300, 3)):
        truth = Fraction(base) ** times if times < 2000 else None
        found = amplification.power_up(base, times)
        assert found > 0.0
        if truth is not None:
            assert truth <= Fraction(found)
        if found > 1e-300:
            assert found == pytest.approx(math.exp(times * math.log(base)), rel=1e-9)
    assert amplification.power_up(0.0, 3) == 0.0
    assert amplification.power_up(1.0, 3) == 1.0
