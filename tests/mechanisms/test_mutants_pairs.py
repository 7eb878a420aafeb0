"""The search for the worst pair of rows: all pairs in fractions, and bounds that rule pairs out."""

from fractions import Fraction

import numpy as np
import pytest

from wane.theorems.kernel import clusters, pairs
from wane.theorems.kernel.pairs import Gap, largest_gap, rounding


def table(rows, multiplier, scaled=None):
    """Sums of (P - m Q)_+ for all ordered pairs, in fractions; m Q as rounded if it is given."""
    exact = [[Fraction(p) for p in row] for row in np.asarray(rows).tolist()]
    m = Fraction(multiplier)
    others = [[m * q for q in row] for row in exact]
    if scaled is not None:
        others = [[Fraction(q) for q in row] for row in scaled.tolist()]
    return [
        [sum(max(p - q, Fraction(0)) for p, q in zip(a, b, strict=True)) for b in others]
        for a in exact
    ]


def largest(rows, multiplier):
    gaps = table(rows, multiplier)
    return max(gaps[i][j] for i in range(len(gaps)) for j in range(len(gaps)) if i != j)


def random_rows(rng, kind, n):
    if kind == "flat":
        return rng.dirichlet(np.ones(n), size=n)
    if kind == "sharp":
        return rng.dirichlet(np.full(n, 0.1), size=n)
    if kind == "few":
        laws = rng.dirichlet(np.ones(n), size=2)
        return laws[rng.integers(0, 2, n)]
    if kind == "turned":
        first = rng.dirichlet(np.ones(n))
        return np.stack([np.roll(first, i) for i in range(n)])
    if kind == "disjoint":
        return np.eye(n)[rng.permutation(n)]
    return rng.dirichlet(np.ones(3), size=n + 2)  # neither square nor wide


KINDS = ("flat", "sharp", "few", "turned", "disjoint", "tall")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{}, {"_SMALL": 0}, {"_SMALL": 0, "_PATIENCE": 0}])
def test_the_largest_of_all_pairs_is_found(monkeypatch, kind, settings):
    for name, value in settings.items():
        monkeypatch.setattr(pairs, name, value)
    monkeypatch.setattr(clusters, "_LEAF", 2)
    monkeypatch.setattr(pairs, "_BLOCK", 7)
    rng = np.random.default_rng(KINDS.index(kind))
    for n in (2, 3, 5, 9):
        rows = random_rows(rng, kind, n)
        hint = None
        for m in (1.0 - 1e-9, 1.0, 1.2, 3.0, 50.0):
            exact = largest(rows, m)
            for tolerance in (0.0, 1e-7):
                found = largest_gap(rows, m, hint, tolerance)
                assert exact * (1 - Fraction(1, 10**14)) <= found.value
                assert found.value <= exact * (1 + Fraction(1, 10**14)) * (1 + Fraction(tolerance))
                assert 0 <= max(found.first, found.second) < len(rows)
            hint = found
            if exact > 0:
                gaps = table(rows, m)
                own = gaps[found.first][found.second]
                assert own >= exact * (1 - Fraction(1, 10**6)), "the pair that is named has it"


def test_small_matrices_name_their_pair():
    rows = np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
    assert largest_gap(rows, 1.0) == Gap(0.5, 0, 2)
    assert largest_gap(rows[::-1], 1.5) == Gap(0.5, 0, 2)
    assert largest_gap(rows, 2.0) == Gap(0.5, 2, 0)
    assert largest_gap(rows[:1], 1.0) == Gap(0.0, 0, 0)
    assert largest_gap(rows[:2], 1.0) == Gap(0.25, 0, 1)


def test_no_pair_is_apart_beyond_the_largest_ratio(monkeypatch):
    monkeypatch.setattr(pairs, "_SMALL", 0)
    rows = np.array([[0.05, 0.35, 0.2, 0.2, 0.2], *[[0.45, 0.1375, 0.1375, 0.1375, 0.1375]] * 4])
    # one column alone exceeds eight times its least entry
    assert largest_gap(rows, 8.0).value == pytest.approx(0.05, rel=1e-12)
    assert largest_gap(rows, 9.5) == Gap(0.0, 0, 1)
    assert largest_gap(np.full((4, 4), 0.25), 1.0).value == 0.0


def test_disjoint_rows_end_the_search_and_what_nearly_is_disjoint_counts_as_such(monkeypatch):
    monkeypatch.setattr(pairs, "_SMALL", 0)
    searched = []
    search = pairs._search
    monkeypatch.setattr(pairs, "_search", lambda *a: searched.append(1) or search(*a))
    rows = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    assert largest_gap(rows, 2.0) == Gap(1.0, 0, 2) and not searched
    near = rows + np.array([[-1e-7, 0.0, 1e-7]] * 3) * [[1.0], [0.0], [0.0]]
    assert largest_gap(near, 1.0, tolerance=1e-6).value == pytest.approx(1.0, rel=1e-12)
    assert not searched
    assert largest_gap(near, 1.0).value == pytest.approx(1.0 - 1e-7, rel=1e-12)
    assert searched


def test_hints_of_other_matrices_are_left_aside(monkeypatch):
    monkeypatch.setattr(pairs, "_SMALL", 0)
    rows = np.random.default_rng(3).dirichlet(np.ones(6), size=6)
    wanted = largest_gap(rows, 1.1)
    for hint in (Gap(9.0, 6, 0), Gap(9.0, 0, 6), Gap(9.0, 5, 5), Gap(9.0, 99, 99)):
        assert largest_gap(rows, 1.1, hint) == wanted


def test_a_pair_that_neither_end_can_improve():
    rng = np.random.default_rng(8)
    for n in (3, 8, 20):
        rows = rng.dirichlet(np.full(n, 0.4), size=n)
        for m in (1.0, 1.7):
            best = pairs._climb(rows, m * rows, None)
            gaps = np.maximum(rows[:, None, :] - m * rows[None, :, :], 0.0).sum(axis=2)
            np.fill_diagonal(gaps, -1.0)
            assert best.first != best.second
            assert best.value == pytest.approx(gaps[best.first, best.second], rel=1e-13)
            assert best.value >= gaps[best.first].max() * (1 - 1e-13)
            assert best.value >= gaps[:, best.second].max() * (1 - 1e-13)


def test_gaps_of_one_row_are_those_of_the_table(monkeypatch):
    rng = np.random.default_rng(2)
    rows = rng.dirichlet(np.ones(5), size=11)
    for block in (1, 5, 12, 10**6):
        monkeypatch.setattr(pairs, "_BLOCK", block)
        exact = np.maximum(rows[:, None, :] - 1.3 * rows[None, :, :], 0.0).sum(axis=2)
        for i in (0, 4, 10):
            assert pairs.gaps_from(rows[i], 1.3 * rows).tolist() == pytest.approx(exact[i].tolist())
            assert pairs.gaps_to(rows, 1.3 * rows[i]).tolist() == pytest.approx(
                exact[:, i].tolist()
            )


@pytest.mark.parametrize("m", [1.0, 1.5, 6.0])
def test_every_form_bounds_every_pair_and_is_sharp_somewhere(m):
    """a[i] + b[j] is no less than the divergence; of equal rows the bounds by pivots are exact."""
    rng = np.random.default_rng(5)
    rows = rng.dirichlet(np.full(6, 0.7), size=6)
    scaled = m * rows
    exact = table(rows, m, scaled)
    forms = list(pairs._forms(rows, scaled, m, Gap(0.0, 0, 3)))
    assert len(forms) == 6
    for a, b in forms:
        for i in range(6):
            for j in range(6):
                assert exact[i][j] <= Fraction(float(a[i])) + Fraction(float(b[j]))
    least, most = rows.min(axis=0), rows.max(axis=0)
    to_least, from_most = forms[4][0], forms[5][1]
    assert to_least.tolist() == pytest.approx(np.maximum(rows - m * least, 0).sum(axis=1).tolist())
    assert from_most.tolist() == pytest.approx(np.maximum(most - scaled, 0).sum(axis=1).tolist())
    assert not forms[4][1].any() and not forms[5][0].any()
    for number, pivot in ((0, 0.5 * (rows[0] + rows[3])), (2, rows.mean(axis=0))):
        a, b = forms[number]
        assert a.tolist() == pytest.approx(np.maximum(rows - pivot, 0).sum(axis=1).tolist())
        assert b.tolist() == pytest.approx(np.maximum(pivot - scaled, 0).sum(axis=1).tolist())
        a, b = forms[number + 1]
        assert a.tolist() == pytest.approx(np.maximum(rows - m * pivot, 0).sum(axis=1).tolist())
        assert b.tolist() == pytest.approx((m * np.maximum(pivot - rows, 0).sum(axis=1)).tolist())


def test_pairs_that_no_form_rules_out_are_named_and_few_others():
    rng = np.random.default_rng(6)
    rows = rng.dirichlet(np.ones(30), size=30)
    rows[3], rows[17] = rows[3] ** 4 / (rows[3] ** 4).sum(), rows[17] ** 4 / (rows[17] ** 4).sum()
    exact = np.maximum(rows[:, None, :] - rows[None, :, :], 0.0).sum(axis=2)
    np.fill_diagonal(exact, 0.0)
    for best in (exact.max() * 0.999, np.sort(exact.reshape(-1))[-40]):
        gap = Gap(best, *map(int, np.unravel_index(exact.argmax(), exact.shape)))
        forms = pairs._forms(rows, rows, 1.0, gap)
        found = {
            (i, int(j)) for i, others in pairs._likely_pairs(forms, 30, [best]) for j in others
        }
        above = set(zip(*map(np.ndarray.tolist, np.nonzero(exact > best)), strict=True))
        assert above <= found and all(i != j for i, j in found)
        assert len(found) <= 30 * 8
    assert not list(pairs._likely_pairs(pairs._forms(rows, rows, 1.0, gap), 30, [1.1]))


def test_circles_and_tori_are_told_from_what_is_none():
    rng = np.random.default_rng(7)
    first = rng.dirichlet(np.ones(12))
    assert list(pairs.shapes(12)) == [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2)]
    assert list(pairs.shapes(7)) == [(1, 7)] and list(pairs.shapes(2)) == [(1, 2)]
    for shape in pairs.shapes(12):
        row = first.reshape(shape)
        rows = np.stack([pairs.turned(row, i).reshape(-1) for i in range(12)])
        high, wide = shape
        for i, j in ((0, 5), (7, 3), (11, 11)):
            place = (j // wide - i // wide) % high * wide + (j % wide - i % wide) % wide
            assert rows[i, j] == first[place]
        made, spread = pairs._all_turned(rows, 1e-9)
        assert np.array_equal(made, rows) and spread == 0.0
        shaken = rows * (1.0 + 1e-7 * np.eye(12)[::-1])
        made, spread = pairs._all_turned(shaken, 1e-6)
        assert np.max(np.abs(shaken / made - 1.0)) <= spread <= 1.1e-7
        assert pairs._all_turned(shaken, 1e-8) is None
        assert pairs._all_turned(rows, 0.0) is None
        assert pairs._all_turned(rows[:-1], 1e-9) is None
    holes = np.stack([np.roll([0.5, 0.0, 0.5, 0.0], i) for i in range(4)])
    assert pairs._all_turned(holes, 1e-9)[1] == 0.0
    filled = holes + 1e-12 * (holes == 0.0)
    filled[0] = holes[0]
    assert pairs._all_turned(filled, 1e-9) is None, "what has no probability has none when turned"


@pytest.mark.parametrize("m", [1.0, 2.0])
def test_one_row_stands_for_all_that_are_nearly_the_same_turned(m):
    rng = np.random.default_rng(9)
    first = rng.dirichlet(np.full(8, 0.5))
    turns = np.stack([np.roll(first, i) for i in range(8)])
    for spread in (0.0, 1e-7, 1e-2):
        for _ in range(20):
            rows = turns * (1.0 + spread * rng.choice([-1.0, 1.0], (8, 8)))
            found = pairs._from_first_row(turns, m, spread)
            assert found.first == 0 and 1 <= found.second < 8
            assert largest(rows, m) <= Fraction(found.value) * (1 + Fraction(1, 10**13))
        exact = float(largest(turns, m))
        assert found.value <= exact * (1 + spread) + 8 * m * spread + 1e-14 * m


# clusters


def crowd(rng, n, m):
    rows = rng.dirichlet(np.full(5, 0.5), size=n)
    rows[n // 2 :] = rows[: n - n // 2] * (1.0 + 1e-3 * rng.random((n - n // 2, 5)))
    return rows, m * rows


def all_clusters(cluster):
    yield cluster
    for part in cluster.parts:
        yield from all_clusters(part)


@pytest.mark.parametrize("m", [1.0, 1.4, 9.0])
def test_clusters_hold_their_rows_less_what_all_share(monkeypatch, m):
    monkeypatch.setattr(clusters, "_LEAF", 3)
    rows, scaled = crowd(np.random.default_rng(1), 25, m)
    shared = np.minimum(rows, scaled).min(axis=0)
    whole = clusters.Cluster.of(rows, scaled)
    seen = list(all_clusters(whole))
    assert len(seen) > 8 and sorted(whole.numbers) == list(range(25))
    for one in seen:
        assert np.allclose(one.left, rows[one.numbers] - shared, rtol=0.0, atol=1e-16)
        assert np.allclose(one.right, scaled[one.numbers] - shared, rtol=0.0, atol=1e-16 * m)
        assert one.left.min() >= 0.0 and one.right.min() >= 0.0
        for entries, (least, most) in (
            (one.left, one.left_range),
            (one.right, one.right_range),
        ):
            assert np.all(least <= entries.min(axis=0)) and np.all(most >= entries.max(axis=0))
            assert np.all(least >= entries.min(axis=0) * (1 - 1e-14))
            assert np.all(most <= entries.max(axis=0) * (1 + 1e-14))
        if one.parts:
            inner = np.concatenate([part.numbers for part in one.parts])
            assert len(one.parts) == 2 and inner.tolist() == one.numbers.tolist()
            assert min(len(part.numbers) for part in one.parts) >= len(one.numbers) // 8 + 1
        else:
            assert len(one.numbers) <= 3


@pytest.mark.parametrize("m", [1.0, 1.4, 9.0])
def test_signs_bound_all_pairs_of_two_clusters_and_nearly_reach_them(monkeypatch, m):
    monkeypatch.setattr(clusters, "_LEAF", 2)
    rows, scaled = crowd(np.random.default_rng(2), 16, m)
    exact, error = table(rows, m, scaled), 4.0 * rounding(5)
    whole = clusters.Cluster.of(rows, scaled)
    for one in all_clusters(whole):
        for other in all_clusters(whole):
            signs = clusters.Signs.of(one, other)
            a, b = signs.ends(error)
            made = signs.table(error)
            doubt = float(signs.doubt.sum())
            lowest, highest = one.left.min(axis=0), one.left.max(axis=0)
            low, high = other.right.min(axis=0), other.right.max(axis=0)
            sure = (lowest >= high) | (highest <= low)
            assert np.all(signs.doubt[sure] <= 1e-14)
            assert np.all(signs.doubt <= np.minimum(high - lowest, highest - low).clip(0) + 1e-14)
            for i, first in enumerate(one.numbers):
                for j, second in enumerate(other.numbers):
                    gap = exact[first][second]
                    assert gap <= Fraction(float(a[i])) - Fraction(float(b[j]))
                    assert gap <= Fraction(float(made[i, j]))
                    assert float(a[i] - b[j]) <= float(gap) + doubt + 1e-13 * m
                    assert float(made[i, j]) <= float(gap) + 1e-13 * m


def test_likely_pairs_of_clusters_are_few_and_hold_all_above_the_best(monkeypatch):
    monkeypatch.setattr(clusters, "_LEAF", 4)
    for seed in range(4):
        rows, scaled = crowd(np.random.default_rng(seed), 48, 1.1)
        exact = np.maximum(rows[:, None, :] - scaled[None, :, :], 0.0).sum(axis=2)
        np.fill_diagonal(exact, 0.0)
        best = exact.max() * 0.98
        found = [
            (i, int(j))
            for i, others in clusters.likely_pairs(rows, scaled, [best], rounding(5))
            for j in others
        ]
        above = set(zip(*map(np.ndarray.tolist, np.nonzero(exact > best)), strict=True))
        assert above <= set(found) and all(i != j for i, j in found)
        assert len(found) <= 200
        beyond = clusters.likely_pairs(rows, scaled, [exact.max() * 1.001], rounding(5))
        assert not list(beyond) or len(list(beyond)) <= 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1.0 - 1e-9, 1.0, 1.3, 1e6])
def test_affinities_bound_the_divergence_of_every_pair(kind, m):
    rows = random_rows(np.random.default_rng(5), kind, 12)
    exact, bounds = table(rows, m), pairs.by_affinity(rows, m)
    assert bounds.shape == (len(rows), len(rows))
    for i, gaps in enumerate(exact):
        for j, gap in enumerate(gaps):
            assert gap <= Fraction(bounds[i, j])


def test_affinities_of_rows_that_share_everything_or_nothing():
    for m in (1.0, 3.0):
        bounds = pairs.by_affinity(np.eye(4), m)
        wanted = np.where(np.eye(4) > 0.0, 1.0 / (1.0 + m), 1.0)  # the one is m/(1 + m) short of 1
        assert np.all(np.abs(bounds - wanted) < 1e-13)


def test_affinities_save_most_pairs_of_rows_that_have_hardly_met(monkeypatch):
    """Before a grid is crossed all its far corners are nearly as bad."""
    line = np.eye(20, k=1) + np.eye(20, k=-1)
    grid = np.kron(line, np.eye(20)) + np.kron(np.eye(20), line) + np.eye(400)
    rows = np.linalg.matrix_power(grid / grid.sum(axis=1, keepdims=True), 30)
    looked_at = []
    gaps_from = pairs.gaps_from

    def counted(row, scaled):
        looked_at.append(len(scaled))
        return gaps_from(row, scaled)

    monkeypatch.setattr(pairs, "gaps_from", counted)
    found = largest_gap(rows, 1.0, tolerance=1e-12)
    assert 0.999 < found.value < 1.0
    saving = sum(looked_at)
    looked_at.clear()
    monkeypatch.setattr(pairs, "by_affinity", lambda rows, m: np.ones((len(rows), len(rows))))
    assert largest_gap(rows, 1.0, tolerance=1e-12) == found
    assert saving < 0.3 * sum(looked_at)
