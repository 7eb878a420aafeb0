"""Long powers of sparse walks face eigenvalues that they do not use, and balls of many digits."""

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy import sparse

from wane.mechanisms import MarkovKernel
from wane.theorems.kernel import classes, clusters, kernels, low_rank, matrices, pairs, powers
from wane.theorems.kernel.balance import Balance
from wane.theorems.kernel.known import Known
from wane.theorems.kernel.turns import TurnedWalk

STATES = 500


def lazy_walk(*, cycle: bool) -> np.ndarray:
    """Stay with probability 1/2, else go left or right; a line stays put at its ends."""
    rows = 0.5 * np.eye(STATES) + 0.25 * np.eye(STATES, k=1) + 0.25 * np.eye(STATES, k=-1)
    if cycle:
        rows[0, -1] = rows[-1, 0] = 0.25
    else:
        rows[0, 0] = rows[-1, -1] = 0.75
    return rows


def exact_power(times: int, *, cycle: bool) -> np.ndarray:
    """The power by its known eigenvectors, cosines, in long doubles."""
    k = np.arange(STATES, dtype=np.longdouble)
    pi = np.longdouble("3.14159265358979323846264338327950288")
    if cycle:
        eigenvalues = ((1 + np.cos(2 * pi * k / STATES)) / 2) ** times
        row = np.cos(2 * pi * (np.outer(k, k) % STATES) / STATES) @ eigenvalues / STATES
        return np.stack([np.roll(row, i) for i in range(STATES)])
    eigenvalues = ((1 + np.cos(pi * k / STATES)) / 2) ** times
    waves = np.cos(pi * np.outer(2 * k + 1, k) / (2 * STATES)) * np.sqrt(np.longdouble(2) / STATES)
    waves[:, 0] = 1 / np.sqrt(np.longdouble(STATES))
    return (waves * eigenvalues) @ waves.T


def refuse(base: object, times: int) -> object:
    assert isinstance(base, TurnedWalk), "the power was made by squaring whole matrices"
    return squared(base, times)


squared = powers.raised


@pytest.mark.parametrize("cycle", [True, False])
@pytest.mark.parametrize("times", [10**5, 10**5 + 777, 10**6, 10**9])
def test_long_powers_are_within_their_error_of_the_truth(monkeypatch, cycle, times):
    monkeypatch.setattr(powers, "raised", refuse)
    made = MarkovKernel(sparse.csr_array(lazy_walk(cycle=cycle))).power(times)
    exact = exact_power(times, cycle=cycle)
    assert made.lost_mass == 0.0
    assert np.max(np.abs(made.matrix - exact) / made.matrix) <= made.relative_error < 1e-3
    far = STATES // 2 if cycle else STATES - 1
    apart = float(np.maximum(exact[0] - exact[far], 0).sum())
    # Long doubles know the difference of the rows to about 1e-17 a state.
    assert apart - 1e-14 <= made.dobrushin <= apart + 5.0 * made.relative_error
    assert times < 10**9 or made.dobrushin < 1e-100


def test_few_rows_bound_their_own_error():
    """The bounds cover a matrix that is not of low rank as well, and say how bad it is."""
    rng = np.random.default_rng(3)
    low = rng.dirichlet(np.full(400, 0.1), size=20)
    rows = rng.dirichlet(np.full(20, 0.3), size=400) @ low
    few = low_rank.FewRows.of(rows, relative=0.0, lost=0.0)
    assert few is not None and 20 <= len(few.chosen) < 60
    precise = rows.astype(np.longdouble)
    left = np.abs(precise - few.weights.astype(np.longdouble) @ few.rows.astype(np.longdouble))
    assert left.sum(axis=1).max() <= few.error < 1e-9
    assert np.all(left.max(axis=0) <= few.columns)
    exact = {1: precise, 2: precise @ precise, 3: precise @ precise @ precise}
    for times in (1, 2, 3):
        core, reached = few.power(times)
        wrong = few.weights.astype(np.longdouble) @ core.small @ few.rows - exact[reached]
        assert np.abs(wrong).sum(axis=1).max() <= core.error < 1e-8
        assert np.all(np.abs(wrong).max(axis=0) <= core.columns)
        assert np.all(core.columns <= 1e-8 * few.largest)
        assert np.all(exact[reached].max(axis=0) <= core.largest * (1.0 + 1e-15))
    assert np.any(core.largest < 0.9 * few.largest), "columns of powers are seen to be lower"
    made, error = few.applied(few.power(1)[0], [(rows, 0.0, 0.0)])
    assert np.all(np.abs(made - exact[2]).max(axis=0) <= error)
    assert low_rank.FewRows.of(np.eye(400), relative=0.0, lost=0.0) is None


def test_what_factors_and_short_powers_lack_is_in_the_error_of_few_rows():
    """The matrix that is seen is not the kernel: it is off by a fraction, and lacks some mass."""
    rng = np.random.default_rng(4)
    low = rng.dirichlet(np.full(300, 0.2), size=8)
    kernel = rng.dirichlet(np.full(8, 0.4), size=300) @ low
    exact = np.linalg.matrix_power(kernel.astype(np.longdouble), 6)
    for relative, lost in ((1e-6, 0.0), (0.0, 1e-6), (1e-7, 1e-5)):
        seen = kernel * (1.0 - relative * rng.random(kernel.shape))
        dropped = seen < np.minimum(lost / 300, 1.0)
        seen[dropped] = 0.0
        factor = kernel * (1.0 + relative * rng.uniform(-1.0, 0.0, kernel.shape))
        few = low_rank.FewRows.of(seen, relative=2.0 * relative, lost=lost)
        if few is None:
            continue
        core, reached = few.power(5)
        assert reached == 5
        made, error = few.applied(core, [(factor, 2.0 * relative, 0.0)])
        assert np.all(np.abs(made - exact).max(axis=0) <= error)


@pytest.mark.parametrize("m", [1.0, 1.3, 20.0])
def test_rows_that_are_the_first_one_turned_give_the_largest_gap_of_all_pairs(m):
    """Walks on a circle, with noise below the tolerance and above it, face all pairs."""
    rng = np.random.default_rng(5)
    first = rng.dirichlet(np.ones(120))
    rows = np.stack([np.roll(first, i) for i in range(120)])
    for noise in (0.0, 1e-9, 1e-3):
        shaken = rows * (1.0 + noise * rng.uniform(-1.0, 1.0, rows.shape))
        exact = np.maximum(shaken[:, None, :] - m * shaken[None, :, :], 0.0).sum(axis=2)
        np.fill_diagonal(exact, 0.0)
        found = pairs.largest_gap(shaken, m, tolerance=1e-8).value
        assert exact.max() * (1.0 - 1e-13) <= found <= exact.max() * (1.0 + 1e-8) + 3e-8 * m


def test_rows_near_the_first_one_turned_are_never_below_their_largest_gap():
    """Shaken so that no pair with the first row is as far apart as another one."""
    places, shaken = np.arange(128), 1e-7
    first = 1.0 + 0.5 * np.cos(2.0 * np.pi * places / 128)
    rows = np.stack([np.roll(first / first.sum(), i) for i in range(128)])
    rows[40:90] *= 1.0 + shaken
    rows[30] *= 1.0 + shaken
    rows[94] *= 1.0 - shaken
    exact = np.maximum(rows[:, None, :] - rows[None, :, :], 0.0).sum(axis=2).max()
    assert exact <= pairs.largest_gap(rows, 1.0, tolerance=1e-6).value <= exact * (1.0 + 1e-6)


def circulant(rng, high, wide):
    """A walk on a torus with a few random jumps, reversible or not."""
    row = np.zeros((high, wide))
    for _ in range(3):
        row[rng.integers(high), rng.integers(wide)] += rng.random()
    row /= row.sum()
    turned = [np.roll(row, (i, j), (0, 1)).reshape(-1) for i in range(high) for j in range(wide)]
    return np.stack(turned)


def adversary(rng, kind):
    """A small kernel of which something goes wrong in a careless power."""
    n = int(rng.integers(2, 9))
    if kind == "circle":
        return circulant(rng, 1, n)
    if kind == "torus":
        return circulant(rng, 3, n)
    if kind == "periodic":
        return np.roll(np.eye(n), 1, axis=1)
    if kind == "nearly reducible":
        rows = np.kron(np.eye(2), rng.dirichlet(np.ones(n), size=n))
        tiny = 10.0 ** -rng.uniform(3.0, 14.0)
        return (1.0 - tiny) * rows + tiny * np.roll(np.eye(2 * n), 1, axis=1)
    if kind == "doubly stochastic":
        shares = rng.dirichlet(np.ones(3))
        return sum(share * np.eye(n)[rng.permutation(n)] for share in shares)
    if kind == "tiny probabilities":
        rows = rng.dirichlet(np.full(n, 0.01), size=n) + 1e-300
        return rows / rows.sum(axis=1, keepdims=True)
    if kind == "from class to class":
        sizes = rng.integers(1, 4, size=int(rng.integers(2, 4)))
        place = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        rows = rng.dirichlet(np.full(len(place), 0.3), size=len(place)) + 1e-3
        rows *= np.equal.outer((place + 1) % len(sizes), place)
        return rows / rows.sum(axis=1, keepdims=True)
    if kind in ("detailed balance", "detailed balance without rest"):
        weights = rng.random((n, n)) ** 9 * (rng.random((n, n)) < 0.6) + 0.1 * np.eye(n, k=1)
        weights += weights.T
        weights *= kind == "detailed balance" or np.add.outer(np.arange(n), np.arange(n)) % 2 == 1
        return weights / weights.sum(axis=1, keepdims=True)
    rows = np.diag(rng.random(n)) + np.diag(rng.random(n - 1), 1) + np.diag(rng.random(n - 1), -1)
    return rows / rows.sum(axis=1, keepdims=True)


KINDS = (
    "circle",
    "torus",
    "periodic",
    "nearly reducible",
    "doubly stochastic",
    "tiny probabilities",
    "birth and death",
    "from class to class",
    "detailed balance",
    "detailed balance without rest",
)


def power_in_balls(rows, times):
    """The power of the kernel that was given, its rows divided by their exact sums."""
    entries = [[flint.fmpq(*float(p).as_integer_ratio()) for p in row] for row in rows]
    divided = [[p / sum(row, flint.fmpq(0)) for p in row] for row in entries]
    made = flint.arb_mat(flint.fmpq_mat(divided)) ** times
    return [[made[i, j] for j in range(len(rows))] for i in range(len(rows))]


def excess(value):
    return max(float(value.mid()), 0.0)


def assert_enclosed(made, exact):
    """Entries and coefficients obey what the kernel says of itself."""
    stored = made.matrix.toarray() if sparse.issparse(made.matrix) else made.matrix
    r, most = made.relative_error, 1.0 + 1e-12
    n = len(exact)
    for i in range(n):
        lost = 0.0
        for p, q in zip(exact[i], stored[i].tolist(), strict=True):
            assert r >= 1.0 or (1.0 - r) * q * (1.0 - 1e-15) <= float(p.mid())
            lost += excess(p - flint.arb((1.0 + r) * (1.0 + 1e-15)) * flint.arb(q))
        assert lost <= made.lost_mass * most + 1e-300
    columns = list(zip(*exact, strict=True))
    least = [min(column) for column in columns]
    apart = max(excess(sum(p - q for p, q in zip(exact[0], least, strict=True))), 0.0)
    assert apart <= made.doeblin_coefficient * most
    reached = [(a, max(column)) for a, column in zip(least, columns, strict=True)]
    ratio = max(excess(1 - a / b) for a, b in reached if b > 0)
    assert ratio <= made.ultra_mixing * most
    for m, found in zip((1.0, 1.5, 1e6), made.coefficients([1.0, 1.5, 1e6]), strict=True):
        for one in exact:
            for other in exact:
                pairs_of_entries = zip(one, other, strict=True)
                assert sum(excess(p - m * q) for p, q in pairs_of_entries) <= found * most


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forced", [False, True])
def test_powers_of_difficult_kernels_are_enclosed(monkeypatch, kind, forced):
    monkeypatch.setattr(flint.ctx, "prec", 4000)
    if forced:  # few rows and turned rows serve large sparse kernels only
        monkeypatch.setattr(kernels, "_MANY", 2)
        monkeypatch.setattr(kernels, "_LONG", 4)
        monkeypatch.setattr(kernels, "_FEW_TIMES", 2)
        monkeypatch.setattr(kernels, "_SOON", 2)
        monkeypatch.setattr(matrices, "_WIDE", 0.0)
        monkeypatch.setattr(pairs, "_SMALL", 0)
        monkeypatch.setattr(pairs, "_PATIENCE", 1)
        monkeypatch.setattr(clusters, "_LEAF", 2)
        monkeypatch.setattr(matrices, "_STRIP", 2)
        monkeypatch.setattr(kernels.matrices, "thinned", sparse.csr_array)
    rng = np.random.default_rng(KINDS.index(kind))
    for times in (1, 2, 3, 7, 13, 31, 127, 1024, 10**9, 10**18):
        rows = adversary(rng, kind)
        assert_enclosed(MarkovKernel(rows).power(times), power_in_balls(rows, times))


@pytest.mark.parametrize("shape", [(1, 7), (2, 3), (3, 2), (3, 4)])
def test_turned_rows_are_multiplied_as_whole_matrices_are(shape):
    rng = np.random.default_rng(sum(shape))
    rows = circulant(rng, *shape)
    walk = TurnedWalk.of(sparse.csr_array(rows), Known(0.0, 0.0))
    assert walk is not None
    cubed = walk.then(walk).then(walk)
    assert np.allclose(cubed.all_rows(), rows @ rows @ rows, rtol=1e-13, atol=0.0)
    rows[0] = np.roll(rows[0], 1) if shape[0] * shape[1] > 6 else rows[0][::-1] * 0.9
    assert TurnedWalk.of(sparse.csr_array(rows), Known(0.0, 0.0)) is None


def chain_of(weights):
    """The walk that takes an edge as often as its weight says."""
    return sparse.csr_array(weights / weights.sum(axis=1, keepdims=True))


def test_squares_by_detailed_balance_are_the_squares(monkeypatch):
    monkeypatch.setattr(matrices, "_WIDE", 0.0)
    rng = np.random.default_rng(6)
    weights = rng.random((40, 40)) ** 4
    rows = chain_of(weights + weights.T)
    balance = Balance.of(rows, 1e-15)
    assert balance is not None and 2e-15 < balance.error < 1e-13
    assert np.allclose(balance.square(rows.toarray()), (rows @ rows).toarray(), rtol=1e-14)
    made = MarkovKernel(rows.toarray(), balance=balance)
    lacking = replace(made, lost_mass=1e-60)
    again, without = replace(made), replace(made, balance=None)
    squared, plain = again.then(again), without.then(without)
    assert squared.balance is not None and squared.balance.error >= 2.0 * balance.error
    assert squared.relative_error > plain.relative_error
    assert lacking.then(lacking).lost_mass >= 1e-60 * (1.0 + 40 * balance.unevenness)
    assert made.then(squared).balance is not None
    other = MarkovKernel(rows.toarray(), balance=Balance.of(rows, 1e-15))
    assert made.then(other).balance is None, "weights of two walks are not compared"


def test_walks_out_of_balance_have_none():
    line = np.diag(np.full(29, 0.25), 1) + np.diag(np.full(29, 0.25), -1) + 0.5 * np.eye(30)
    line /= line.sum(axis=1, keepdims=True)
    assert Balance.of(sparse.csr_array(line), 0.0) is not None
    shaken = line.copy()
    shaken[0, 29], shaken[29, 0] = 1e-3, 1e-3 * (1.0 + 1e-12)
    assert Balance.of(sparse.csr_array(shaken), 0.0) is None, "round the circle"
    one_way = line.copy()
    one_way[0, 29] = 0.1
    assert Balance.of(sparse.csr_array(one_way), 0.0) is None
    assert Balance.of(sparse.csr_array(np.kron(np.eye(2), line)), 0.0) is None
    steep = np.diag(np.full(29, 0.6), 1) + np.diag(np.full(29, 0.2), -1) + 0.2 * np.eye(30)
    assert Balance.of(sparse.csr_array(steep), 0.0) is None, "weights that are too uneven"
    far = np.diag(np.full(999, 0.8), 1) + np.diag(np.full(999, 0.2), -1)
    assert Balance.of(sparse.csr_array(far), 0.0) is None, "weights beyond every double"


def test_classes_are_seen_in_the_order_of_steps():
    rng = np.random.default_rng(8)
    place = rng.permutation(np.repeat([0, 1, 2], [4, 2, 5]))
    rows = rng.random((11, 11)) * np.equal.outer((place + 1) % 3, place)
    found = classes.of(sparse.csr_array(rows))
    assert found is not None and [len(states) for states in found] == [2, 5, 4]
    assert [set(place[states]) for states in found] == [{1}, {2}, {0}]
    rows[0, 0] = 1.0
    assert classes.of(sparse.csr_array(rows)) is None
    assert classes.of(sparse.csr_array(np.kron(np.eye(2), np.eye(2)[::-1]))) is None


def without_rest(rng, n):
    """A line and a tree on which every step is to a neighbour."""
    tree = np.zeros((n, n))
    above = [int(rng.integers(0, i)) for i in range(1, n)]
    tree[np.arange(1, n), above] = 1.0
    return np.eye(n, k=1) + np.eye(n, k=-1), tree + tree.T


@pytest.mark.parametrize("times", [10**4 + 1, 10**6, 10**9])
def test_walks_without_rest_are_followed_in_rounds(times):
    for weights in without_rest(np.random.default_rng(9), 600):
        made = MarkovKernel(chain_of(weights)).power(times)
        degrees = weights.sum(axis=1)
        values, waves = np.linalg.eigh(weights / np.sqrt(np.outer(degrees, degrees)))
        exact = (
            (waves * values**times) @ waves.T * np.sqrt(np.divide.outer(1 / degrees, 1 / degrees))
        )
        assert np.abs(made.matrix - exact).max() < 1e-6
        assert np.all((made.matrix == 0.0) == (made.matrix.T == 0.0))
        assert made.dobrushin == 1.0 and made.relative_error < 1e-3


@pytest.mark.parametrize("times", [10**4, 10**6, 10**9])
def test_walks_that_drift_go_through_few_rows(monkeypatch, times):
    """Their rarest states were lost among the errors of common ones."""
    monkeypatch.setattr(powers, "raised", refuse if times > 10**4 else squared)
    n, up, down = 800, 0.25 + 1 / 800, 0.25 - 1 / 800
    steps = up * np.eye(n, k=1) + down * np.eye(n, k=-1)
    steps += np.diag(1.0 - steps.sum(axis=1))
    made = MarkovKernel(sparse.csr_array(steps)).power(times)
    # By the eigenvectors of the walk that the roots of the weights make symmetric.
    roots = np.sqrt(np.longdouble(up) / down) ** np.arange(n)
    even = (steps * np.divide.outer(roots, roots)).astype(float)
    values, waves = np.linalg.eigh((even + even.T) / 2)
    exact = (waves * values**times) @ waves.T * np.divide.outer(1 / roots, 1 / roots)
    assert np.abs(made.matrix - exact).max() < 1e-5 * exact.max()
    assert made.relative_error < 1e-3 or made.dobrushin == 1.0


def restless(rng, n):
    """A long walk on a line without rest: each row has an opposite, all of them nearly as bad."""
    steps = 0.5 * np.eye(n, k=1) + 0.5 * np.eye(n, k=-1)
    steps[0, 0] = steps[-1, -1] = 0.5
    return np.abs(np.linalg.matrix_power(steps, n * n // 4))


def crowds(rng, n):
    """Few laws that most rows agree with up to rounding, or up to a millionth."""
    laws = rng.dirichlet(np.full(n, 0.2), size=3)
    return laws[rng.integers(0, 3, n)] * (1.0 + 10.0 ** -rng.uniform(6, 16, (n, 1)) * rng.random(n))


def nearly_the_same(rng, n):
    return np.tile(rng.dirichlet(np.full(n, 0.05)), (n, 1)) * (1.0 + 1e-12 * rng.random((n, n)))


def without_likeness(rng, n):
    return rng.dirichlet(np.full(n, 0.3), size=n)


ROWS = (restless, crowds, nearly_the_same, without_likeness)


def exact_gaps(rows, scaled):
    """Sums of (P - mQ)_+ for all pairs of rows P and multiples mQ, in fractions."""
    ones = [[Fraction(p) for p in row] for row in rows.tolist()]
    others = [[Fraction(q) for q in row] for row in scaled.tolist()]
    return [
        [
            sum((max(p - q, Fraction(0)) for p, q in zip(one, other, strict=True)))
            for other in others
        ]
        for one in ones
    ]


@pytest.mark.parametrize("make", ROWS)
@pytest.mark.parametrize("m", [1.0 - 1e-9, 1.0, 1.3, 20.0])
def test_clusters_rule_out_no_pair_above_the_best(monkeypatch, make, m):
    """Whatever the best value is, each pair above it is looked at, and bounds hold for each."""
    monkeypatch.setattr(clusters, "_LEAF", 3)
    rng = np.random.default_rng(ROWS.index(make))
    rows = make(rng, 20)
    scaled = m * rows
    exact, error = exact_gaps(rows, scaled), pairs.rounding(20)
    values = sorted(exact[i][j] for i in range(20) for j in range(20) if i != j)
    for best in (values[-1], values[-20], values[len(values) // 2], values[0] / 2):
        threshold = [float(best) * (1.0 - 1e-15)]
        seen = {
            (first, int(other))
            for first, others in clusters.likely_pairs(rows, scaled, threshold, error)
            for other in others
        }
        above = {(i, j) for i in range(20) for j in range(20) if i != j and exact[i][j] > best}
        assert above <= seen
    whole = clusters.Cluster.of(rows, scaled)
    assert sorted(whole.numbers) == list(range(20))
    queue = [(one, other) for one in whole.parts for other in whole.parts]
    for one, other in queue:
        signs = clusters.Signs.of(one, other)
        a, b = signs.ends(4.0 * error)
        table = signs.table(4.0 * error)
        for i, first in enumerate(one.numbers):
            for j, second in enumerate(other.numbers):
                gap = exact[first][second]
                assert gap <= Fraction(a[i]) - Fraction(b[j]) and gap <= Fraction(table[i, j])
        queue.extend((part, other) for part in one.parts)


@pytest.mark.parametrize("make", ROWS)
@pytest.mark.parametrize("patience", [0, 1, 4])
def test_the_search_by_turns_finds_the_largest_gap(monkeypatch, make, patience):
    monkeypatch.setattr(pairs, "_SMALL", 0)
    monkeypatch.setattr(pairs, "_PATIENCE", patience)
    rows = make(np.random.default_rng(11), 60)
    for m in (1.0, 1.4):
        gaps = np.maximum(rows[:, None, :] - m * rows[None, :, :], 0.0).sum(axis=2)
        np.fill_diagonal(gaps, 0.0)
        for tolerance in (0.0, 1e-6):
            found = pairs.largest_gap(rows, m, tolerance=tolerance).value
            most = gaps.max() * (1.0 + 1e-13)
            assert gaps.max() * (1.0 - 1e-13) <= found <= most * (1.0 + tolerance) + 1e-300


def test_clusters_save_nearly_all_pairs_of_a_restless_walk(monkeypatch):
    """Bounds by pivots leave most of them."""
    rows = restless(np.random.default_rng(0), 400)
    looked_at = []
    gaps_from = pairs.gaps_from

    def counted(row, scaled):
        looked_at.append(len(scaled))
        return gaps_from(row, scaled)

    monkeypatch.setattr(pairs, "gaps_from", counted)
    pairs.largest_gap(rows, 1.0, tolerance=1e-6)
    assert sum(looked_at) < 400 * 40


def test_products_of_banded_matrices_leave_out_zeros_only(monkeypatch):
    monkeypatch.setattr(matrices, "_STRIP", 4)
    rng = np.random.default_rng(2)
    for width, empty in ((1, 3), (3, 0), (30, 29), (5, 28)):
        near = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) <= width
        first, second = (rng.random((30, 30)) * near for _ in range(2))
        first[empty], second[29 - empty] = 0.0, 0.0
        for one, other in ((first, second), (first, first), (second, first[:, :17])):
            exact = np.einsum("ik,kj->ij", one, other)
            made = matrices.product(one, other)
            assert np.allclose(made, exact, rtol=1e-14, atol=0.0)


@pytest.mark.parametrize("kind", ["mixed", "with tiny laws"])
def test_one_row_serves_for_all_once_everything_is_forgotten(monkeypatch, kind):
    """Kernels that forget at least a third at every step, and that know so only by products."""
    monkeypatch.setattr(flint.ctx, "prec", 4000)
    monkeypatch.setattr(kernels, "_MANY", 2)
    rng = np.random.default_rng(len(kind))
    for n in (2, 3, 6):
        rows = 0.6 * rng.dirichlet(np.ones(n), size=n) + 0.4 * rng.dirichlet(np.ones(n))
        if kind == "with tiny laws":
            rows[:, -1] = 10.0 ** -rng.uniform(120.0, 140.0, n)
        rows /= rows.sum(axis=1, keepdims=True)
        made = MarkovKernel(rows)
        assert made._forgotten(2) is None, "two steps do not forget so much"
        for times in (1000, 10**9):
            alike = made._forgotten(times)
            assert alike is not None and np.all(alike.matrix == alike.matrix[0])
            assert alike.relative_error < 1e-11
            assert_enclosed(alike, power_in_balls(rows, times))
